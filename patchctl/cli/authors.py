"""The verbs for those who write registries; they consult no environment."""

from __future__ import annotations

from typing import Annotated

import typer

from patchctl.cli.options import Common, Ids, with_common
from patchctl.cli.runner import run


def register(app: typer.Typer) -> None:
    """Add these verbs to ``app``."""
    app.command("lint", short_help="What is wrong in a registry, for its authors.")(lint)


@with_common
def lint(
    common: Common,
    ids: Ids = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 on warnings, too.")] = False,
) -> None:
    """Judge a registry's entries and diffs; exit 1 when one has an error."""
    from patchctl.commands.lint import lint as act

    run("lint", common, lambda place, _: act(place, ids or (), strict=strict))
