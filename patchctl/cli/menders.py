"""The verbs that set right what happened to an environment outside patchctl."""

from __future__ import annotations

from typing import Annotated

import typer

from patchctl.cli.options import Common, DryRun, Ids, Wait, with_common
from patchctl.cli.runner import run
from patchctl.commands import Clock, Place, Report
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
    dry_run: DryRun = False,
    wait: Wait = 0.0,
) -> None:
    """Record entries whose change is in the files although nobody recorded it; no file changes."""
    from patchctl.commands.adopt import adopt as act

    def command(place: Place, clock: Clock) -> Report:
        if not ids and (unproven or assume_build is not None):
            raise UsageError("decision-without-id", "--unproven and --assume-build need the entries by id")
        return act(place, clock, ids or (), unproven=unproven, assume_build=assume_build, dry_run=dry_run, wait=wait)

    run("adopt", common, command)


@with_common
def restore(
    common: Common,
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Files, relative to the site or absolute below it.")
    ],
    wheel: Annotated[str, typer.Option("--from", metavar="WHEEL", help="The wheel of the build that is installed.")],
    dry_run: DryRun = False,
    wait: Wait = 0.0,
) -> None:
    """Put files back as their distribution shipped them, proved by RECORD; what is applied goes in again on top."""
    from patchctl.commands.restore import restore as act

    run("restore", common, lambda place, clock: act(place, clock, files, wheel=wheel, dry_run=dry_run, wait=wait))
