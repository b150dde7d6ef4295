"""The verbs that write. Each has ``--dry-run``: plan and show, write nothing."""

from __future__ import annotations

from typing import Annotated

import typer

from patchctl.cli.consents import AllowRunning, CacheUser, PurgeCaches, consent
from patchctl.cli.options import AllowBase, AllowEditable, Common, DryRun, Ids, Locked, SomeIds, Wait, with_common
from patchctl.cli.runner import run
from patchctl.commands import Allowed, Clock, Place, Report
from patchctl.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the writing verbs to ``app``."""
    for name, verb, brief in (
        ("apply", apply, "Bring in what is due, or the named entries."),
        ("revert", revert, "Take entries out, byte for byte."),
        ("hold", hold, "Keep entries as they are, in or out."),
        ("unhold", unhold, "Take holds back."),
        ("retire", retire, "Take out what is proven fixed."),
        ("recover", recover, "Settle an unfinished transaction."),
    ):
        app.command(name, short_help=brief)(verb)


@with_common
def apply(
    common: Common,
    ids: Ids = None,
    everything: Annotated[bool, typer.Option("--all", help="The optional entries too.")] = False,
    despite_fix: Annotated[
        bool, typer.Option("--despite-fix", help="With ID: apply although the installed bytes prove the fix.")
    ] = False,
    assume_build: Annotated[
        str | None,
        typer.Option("--assume-build", metavar="BUILD", help="With ID: the detected build string is wrong, use this."),
    ] = None,
    locked: Locked = None,
    max_offset: Annotated[
        int | None,
        typer.Option("--max-offset", metavar="LINES", min=0, help="Refuse hunks further than this from their line."),
    ] = None,
    allow_running: AllowRunning = False,
    purge_caches: PurgeCaches = False,
    cache_user: CacheUser = None,
    allow_editable: AllowEditable = False,
    allow_base: AllowBase = False,
    dry_run: DryRun = False,
    wait: Wait = 0.0,
) -> None:
    """Bring entries in: the named ones, all or nothing; without ID every wanted one that is due."""
    from patchctl.commands.apply import apply as act

    def command(place: Place, clock: Clock) -> Report:
        if ids and everything:
            raise UsageError("all-with-ids", "--all and entries by id exclude each other")
        if not ids and (despite_fix or assume_build is not None):
            raise UsageError("decision-without-id", "--despite-fix and --assume-build need the entries by id")
        if locked is not None and (ids or everything):
            raise UsageError("locked-with-ids", "with --locked the lock file says which entries come in")
        agreed = consent(
            allow_running=allow_running,
            purge_caches=purge_caches,
            cache_user=cache_user,
            despite_fix=despite_fix,
            assume_build=assume_build,
            locked=locked,
            max_offset=max_offset,
        )
        allowed = Allowed(editable=allow_editable, base=allow_base)
        if locked is not None:
            from patchctl.commands.apply_locked import apply_locked

            return apply_locked(
                place, clock, locked, max_offset=max_offset, dry_run=dry_run, wait=wait, consent=agreed, allowed=allowed
            )
        return act(
            place,
            clock,
            ids or (),
            everything=everything,
            despite_fix=despite_fix,
            assume_build=assume_build,
            max_offset=max_offset,
            dry_run=dry_run,
            wait=wait,
            consent=agreed,
            allowed=allowed,
        )

    run("apply", common, command)


@with_common
def revert(
    common: Common,
    ids: Ids = None,
    everything: Annotated[bool, typer.Option("--all", help="Every applied entry.")] = False,
    hold_reason: Annotated[
        str | None,
        typer.Option("--hold", metavar="REASON", help="Also keep a bare apply from bringing them back."),
    ] = None,
    keep_edits: Annotated[
        bool, typer.Option("--keep-edits", help="Out of files that somebody edited since, too; the edits stay.")
    ] = False,
    allow_running: AllowRunning = False,
    purge_caches: PurgeCaches = False,
    cache_user: CacheUser = None,
    allow_editable: AllowEditable = False,
    allow_base: AllowBase = False,
    dry_run: DryRun = False,
    wait: Wait = 0.0,
) -> None:
    """Take entries out, byte for byte."""
    from patchctl.commands.revert import revert as act

    def command(place: Place, clock: Clock) -> Report:
        if ids and everything:
            raise UsageError("all-with-ids", "--all and entries by id exclude each other")
        if not ids and not everything:
            raise UsageError("ids-or-all", "name the entries to revert, or say --all", hint="patchctl status")
        reason = hold_reason if hold_reason is None else _one_line(hold_reason)
        return act(
            place,
            clock,
            ids or (),
            everything=everything,
            hold=reason,
            keep_edits=keep_edits,
            dry_run=dry_run,
            wait=wait,
            consent=consent(
                allow_running=allow_running,
                purge_caches=purge_caches,
                cache_user=cache_user,
                keep_edits=keep_edits,
            ),
            allowed=Allowed(editable=allow_editable, base=allow_base),
        )

    run("revert", common, command)


@with_common
def hold(
    common: Common,
    ids: SomeIds,
    reason: Annotated[str, typer.Option("--reason", metavar="REASON", help="Why; shown in every status.")],
    allow_base: AllowBase = False,
    dry_run: DryRun = False,
    wait: Wait = 0.0,
) -> None:
    """Keep entries as they are, in or out, whatever the registry says."""
    from patchctl.commands.hold import hold as act

    run(
        "hold",
        common,
        lambda place, clock: act(
            place,
            clock,
            ids,
            reason=_one_line(reason),
            dry_run=dry_run,
            wait=wait,
            allowed=Allowed(base=allow_base),
        ),
    )


@with_common
def unhold(
    common: Common, ids: SomeIds, allow_base: AllowBase = False, dry_run: DryRun = False, wait: Wait = 0.0
) -> None:
    """Take holds back."""
    from patchctl.commands.hold import unhold as act

    allowed = Allowed(base=allow_base)
    run("unhold", common, lambda place, clock: act(place, clock, ids, dry_run=dry_run, wait=wait, allowed=allowed))


@with_common
def retire(
    common: Common,
    ids: Ids = None,
    candidate: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="CANDIDATE",
            help="Before an upgrade to this wheel, directory or environment: set aside all that is applied.",
        ),
    ] = None,
    allow_running: AllowRunning = False,
    purge_caches: PurgeCaches = False,
    cache_user: CacheUser = None,
    allow_editable: AllowEditable = False,
    allow_base: AllowBase = False,
    dry_run: DryRun = False,
    wait: Wait = 0.0,
) -> None:
    """Take out what the installed bytes prove fixed, and record the proof; without ID whatever is due for it."""

    def command(place: Place, clock: Clock) -> Report:
        if ids and candidate is not None:
            message = "--for takes out all that is applied, so it goes with no entries by id"
            raise UsageError("ids-with-for", message, hint="patchctl revert takes out single entries")
        allowed = Allowed(editable=allow_editable, base=allow_base)
        consented = consent(
            allow_running=allow_running, purge_caches=purge_caches, cache_user=cache_user, **{"for": candidate}
        )
        if candidate is not None:
            from patchctl.commands.retire_for import retire_for

            return retire_for(place, clock, candidate, dry_run=dry_run, wait=wait, consent=consented, allowed=allowed)
        from patchctl.commands.retire import retire as act

        return act(place, clock, ids or (), dry_run=dry_run, wait=wait, consent=consented, allowed=allowed)

    run("retire", common, command)


@with_common
def recover(
    common: Common,
    dry_run: DryRun = False,
    wait: Wait = 0.0,
    leave: Annotated[
        bool, typer.Option("--leave-files", help="Touch no file: another build was installed over it since.")
    ] = False,
) -> None:
    """Finish or roll back an unfinished transaction; every writing verb does it first."""
    from patchctl.commands.recover import recover as act

    run("recover", common, lambda place, clock: act(place, clock, dry_run=dry_run, wait=wait, leave=leave))


def _one_line(reason: str) -> str:
    text = " ".join(reason.split())
    if not text:
        raise UsageError("empty-reason", "a hold needs a reason", hint='for example: --reason "waiting for 0.26"')
    return text
