"""The verbs for those who write registries; they consult no environment."""

from __future__ import annotations

from typing import Annotated

import typer

from patchctl.cli.bar import bar
from patchctl.cli.options import Common, Ids, with_common
from patchctl.cli.runner import run
from patchctl.commands import Clock, Place, Report
from patchctl.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add these verbs to ``app``."""
    app.command("lint", short_help="What is wrong in a registry, for its authors.")(lint)


@with_common
def lint(
    common: Common,
    ids: Ids = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 on warnings, too.")] = False,
    against: Annotated[
        list[str] | None,
        typer.Option(
            "--against",
            metavar="WHEEL_OR_DIR...",
            help="Try the entries on these wheels, directories and environments, which stay as they are.",
        ),
    ] = None,
    matrix: Annotated[bool, typer.Option("--matrix", help="Show every entry on every one of them.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the matrix alone, as Markdown.")] = False,
) -> None:
    """Judge a registry's entries and diffs; exit 1 when one has an error."""
    from patchctl.commands.lint import lint as act

    trees, entries = _parted(against or [], ids or [])

    def command(place: Place, _: Clock) -> Report:
        if (matrix and not trees) or (markdown and not matrix):
            needs = "--matrix needs --against" if not trees else "--markdown needs --matrix"
            raise UsageError("matrix-of-nothing", needs)
        if markdown and common.json:
            raise UsageError("two-shapes", "--markdown and --json exclude each other")
        with bar(common, "trying", counted=True) as progress:
            return act(place, entries, strict=strict, against=trees, matrix=matrix, page=markdown, progress=progress)

    run("lint", common, command)


def _parted(against: list[str], words: list[str]) -> tuple[list[str], list[str]]:
    """Return trees and ids: the shell makes ``--against *.whl`` one option and further words.

    No id holds a dot or a slash.
    """
    if not against:
        return [], words
    trees = [word for word in words if "." in word or "/" in word]
    return [*against, *trees], [word for word in words if word not in trees]
