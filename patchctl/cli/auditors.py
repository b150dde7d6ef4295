"""The verbs that tell what was done to an environment and who runs it; they only read."""

from __future__ import annotations

from typing import Annotated

import typer

from patchctl.cli.options import Common, Ids, with_common
from patchctl.cli.runner import run


def register(app: typer.Typer) -> None:
    """Add these verbs to ``app``."""
    app.command("history", short_help="What was done, by whom, and when.")(history)
    app.command("ps", short_help="Which processes still run old code.")(ps)


@with_common
def history(
    common: Common,
    ids: Ids = None,
    last: Annotated[int | None, typer.Option("--last", metavar="N", min=1, help="The newest N records alone.")] = None,
) -> None:
    """Show what patchctl did to this environment, oldest first; with ID what concerns these entries."""
    from patchctl.commands.history import history as act

    run("history", common, lambda place, _: act(place, ids or (), last=last))


@with_common
def ps(common: Common) -> None:
    """List this environment's processes; exit 1 when one runs code from before the last change."""
    from patchctl.commands.ps import ps as act

    run("ps", common, lambda place, _: act(place))
