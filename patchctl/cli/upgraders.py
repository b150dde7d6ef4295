"""The verb that looks ahead: what an upgrade would mean. It only reads."""

from __future__ import annotations

from typing import Annotated

import typer

from patchctl.cli.options import Common, with_common
from patchctl.cli.runner import run

_Candidates = Annotated[
    list[str],
    typer.Argument(
        metavar="CANDIDATE...", help="Wheel files, directories of extracted wheels, environments, or interpreters."
    ),
]


def register(app: typer.Typer) -> None:
    """Add this verb to ``app``."""
    app.command("preflight", short_help="What an upgrade would mean for every entry.")(preflight)


@with_common
def preflight(common: Common, candidates: _Candidates) -> None:
    """Say what becomes of every entry in an upgrade to each candidate, and how to make it; exit 1 if one is lost."""
    from patchctl.commands.preflight import preflight as act

    run("preflight", common, lambda place, _: act(place, candidates, detailed=common.verbose))
