"""The verbs that only read."""

from __future__ import annotations

from typing import Annotated

import typer

from patchctl.cli.options import Common, Id, Ids, Locked, with_common
from patchctl.cli.runner import run
from patchctl.commands import Clock, Place, Report
from patchctl.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the reading verbs to ``app``."""
    app.command("status", short_help="How every entry stands, and what is due.")(status)
    app.command("check", short_help="Exit 1 when something is due; for scripts.")(check)
    app.command("list", short_help="The registry, and what is broken in it.")(list_)
    app.command("show", short_help="One entry whole, with its diffs.")(show)


@with_common
def status(
    common: Common,
    ids: Ids = None,
    everything: Annotated[bool, typer.Option("--all", help="Those that do not concern it, too.")] = False,
    locked: Locked = None,
    digest: Annotated[
        bool, typer.Option("--digest", help="Print one hash over builds, applied entries and patched files.")
    ] = False,
    oneline: Annotated[bool, typer.Option("--oneline", help="Print one line, for a prompt.")] = False,
) -> None:
    """Say how every entry that concerns this environment stands: build, verdict, fixes, need, what is due."""
    from patchctl.commands.status import status as act

    def command(place: Place, at: Clock) -> Report:
        alone = "digest" if digest else "oneline" if oneline else ""
        if alone and (ids or everything or locked is not None or (digest and oneline)):
            raise UsageError("one-answer", f"--{alone} is an answer of its own: say it without IDs and other views")
        return act(place, ids or (), everything=everything, locked=locked, alone=alone, started=at.started_ns)

    run("status", common, command)


@with_common
def check(
    common: Common,
    ids: Ids = None,
    strict: Annotated[bool, typer.Option("--strict", help="Count held, optional, advisory and retire.")] = False,
    locked: Locked = None,
    expect: Annotated[
        str | None, typer.Option("--expect", metavar="DIGEST", help="Also fail when the digest is another one.")
    ] = None,
) -> None:
    """Exit 0 when nothing is due, 1 when something is: for CI and start scripts."""
    from patchctl.commands.status import check as act

    def command(place: Place, at: Clock) -> Report:
        if ids and locked is not None:
            raise UsageError("locked-with-ids", "with --locked the lock file says which entries count")
        return act(place, ids or (), strict=strict, locked=locked, expect=expect, started=at.started_ns)

    run("check", common, command)


@with_common
def list_(common: Common) -> None:
    """List the registry's entries, and everything that is broken in it."""
    from patchctl.commands.listing import list_entries

    run("list", common, lambda place, _: list_entries(place))


@with_common
def show(common: Common, id_: Id) -> None:
    """Show one entry whole: why, how, fixes with claims and evidence, avoidance, the diff."""
    from patchctl.commands.listing import show as act

    run("show", common, lambda place, _: act(place, id_))
