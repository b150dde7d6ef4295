"""The typer application."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from patchctl import __version__
from patchctl.cli import (
    advisers,
    auditors,
    authors,
    examiners,
    menders,
    observers,
    pinning,
    publishers,
    readers,
    upgraders,
    writers,
)


class _Verbs(TyperGroup):
    """The verbs. What the parser says of a command line quotes words of it, which may come from anywhere."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the options before the verb."""
        with _shown():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Parse the rest, and run the verb."""
        with _shown():
            return super().invoke(ctx)


@contextmanager
def _shown() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if isinstance(error, typer.BadParameter.__bases__):  # the parser's errors have no public name in typer
            from patchctl.render.escape import visible

            error.message = visible(error.message)  # type: ignore[attr-defined]
        raise


app = typer.Typer(
    cls=_Verbs,
    name="patchctl",
    help="Keeps installed Python packages patched, safely, until upstream makes the patch unnecessary.",
    epilog="Exit codes: 0 ok, 1 attention or refused, 2 usage, 3 cannot answer, 4 unfinished transaction, 5 busy, "
    "70 a bug in patchctl, 130/143 interrupted and rolled back.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # no boxes: help and usage errors are read through pipes too
    context_settings={"help_option_names": ["-h", "--help"]},
)
readers.register(app)
examiners.register(app)
auditors.register(app)
publishers.register(app)
authors.register(app)
upgraders.register(app)
advisers.register(app)
observers.register(app)
writers.register(app)
menders.register(app)
pinning.register(app)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"patchctl {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Keeps installed Python packages patched, safely, until upstream makes the patch unnecessary."""


def main() -> None:
    """Run the console script; exits with the code of the contract."""
    app(prog_name="patchctl")
