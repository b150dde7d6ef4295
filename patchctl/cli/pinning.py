"""The verb that writes down what an environment carries. It writes nothing in the environment."""

from __future__ import annotations

from typing import Annotated

import typer

from patchctl.cli.options import Common, with_common
from patchctl.cli.runner import run


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""
    app.command("lock", short_help="Write down which entries are in, for others.")(lock)


@with_common
def lock(
    common: Common,
    output: Annotated[
        str, typer.Option("--output", metavar="FILE", help="Where to write it; - prints it.")
    ] = "patchctl.lock",
) -> None:
    """Write patchctl.lock: which entries are in, or would come in, in which revision with which diffs; what is held."""
    from patchctl.commands.lock import lock as act

    run("lock", common, lambda place, _: act(place, output))
