"""The verb that tells others of an environment: ``report``. It writes the file that it is given, and nothing else."""

from __future__ import annotations

from typing import Annotated

import typer

from patchctl.cli.options import Common, with_common
from patchctl.cli.runner import run
from patchctl.commands import Clock, Place, Report
from patchctl.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add this verb to ``app``."""
    app.command("report", short_help="A page about the environment, for others to read.")(report)


@with_common
def report(
    common: Common,
    shape: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="md, html, cyclonedx or openvex.", show_default=False)
    ] = "md",
    into: Annotated[
        str | None, typer.Option("--into", metavar="FILE", help="Put the banner between this file's markers.")
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", metavar="FILE", help="Write this file instead of standard output.")
    ] = None,
) -> None:
    """Print a page about this environment: a README's banner, a web page, a bill of materials, or what CVEs mean."""

    def command(place: Place, clock: Clock) -> Report:
        from patchctl.commands.describe import Destination, describe, publish
        from patchctl.render.pages import SHAPES, page_of

        if shape not in SHAPES:
            raise UsageError("unknown-format", f"no format is called {shape!r}", hint=f"one of {', '.join(SHAPES)}")
        if into is not None and (output is not None or shape != "md"):
            excluded = "--output" if output is not None else f"--format {shape}"
            raise UsageError("two-places", f"--into and {excluded} exclude each other")
        found = describe(place, clock, whole=shape == "html")
        text = page_of(found, shape) if found.journal is None else None
        return publish(place, found, shape, text, Destination(into=into, output=output))

    run("report", common, command)
