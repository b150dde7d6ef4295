"""The verbs that set right what happened to an environment outside patchctl."""

from __future__ import annotations

from typing import Annotated

import typer

from patchctl.cli.consents import AllowRunning, CacheUser, PurgeCaches, consent, decisions
from patchctl.cli.options import AllowBase, Common, DryRun, Ids, Wait, with_common
from patchctl.cli.runner import run
from patchctl.commands import Allowed, Clock, Consent, Place, Report
from patchctl.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the mending verbs to ``app``."""
    app.command("adopt", short_help="Record what is in the files already.")(adopt)
    app.command("restore", short_help="Put files back from a wheel.")(restore)


@with_common
def adopt(
    common: Common,
    ids: Ids = None,
    unproven: Annotated[
        bool, typer.Option("--unproven", help="With ID: although nothing proves what the file was like.")
    ] = False,
    assume_build: Annotated[
        str | None,
        typer.Option("--assume-build", metavar="BUILD", help="With ID: match with this build string."),
    ] = None,
    allow_base: AllowBase = False,
    dry_run: DryRun = False,
    wait: Wait = 0.0,
) -> None:
    """Record entries whose change is in the files although nobody recorded it; no file changes."""
    from patchctl.commands.adopt import adopt as act

    def command(place: Place, clock: Clock) -> Report:
        if not ids and (unproven or assume_build is not None):
            raise UsageError("decision-without-id", "--unproven and --assume-build need the entries by id")
        return act(
            place,
            clock,
            ids or (),
            unproven=unproven,
            assume_build=assume_build,
            dry_run=dry_run,
            wait=wait,
            consent=Consent(decisions=decisions(unproven=unproven, assume_build=assume_build)),
            allowed=Allowed(base=allow_base),
        )

    run("adopt", common, command)


@with_common
def restore(
    common: Common,
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Files, relative to the site or absolute below it.")
    ],
    wheel: Annotated[
        str,
        typer.Option(
            "--from", metavar="WHEEL", help="A wheel whose file has the hash that the installed RECORD lists."
        ),
    ],
    allow_running: AllowRunning = False,
    purge_caches: PurgeCaches = False,
    cache_user: CacheUser = None,
    allow_base: AllowBase = False,
    dry_run: DryRun = False,
    wait: Wait = 0.0,
) -> None:
    """Put files back as their distribution shipped them, proved by RECORD; what is applied goes in again on top."""
    from patchctl.commands.restore import restore as act

    def command(place: Place, clock: Clock) -> Report:
        return act(
            place,
            clock,
            files,
            wheel=wheel,
            dry_run=dry_run,
            wait=wait,
            consent=consent(allow_running=allow_running, purge_caches=purge_caches, cache_user=cache_user),
            allowed=Allowed(base=allow_base),
        )

    run("restore", common, command)
