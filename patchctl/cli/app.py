"""The typer application. A verb's module is imported, and its options are made, when that verb is asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from patchctl import __version__

_MODULES = {
    "status": "readers",
    "check": "readers",
    "list": "readers",
    "show": "readers",
    "verify": "examiners",
    "doctor": "examiners",
    "history": "auditors",
    "ps": "auditors",
    "report": "publishers",
    "lint": "authors",
    "preflight": "upgraders",
    "advise": "advisers",
    "hits": "observers",
    "apply": "writers",
    "revert": "writers",
    "hold": "writers",
    "unhold": "writers",
    "retire": "writers",
    "recover": "writers",
    "adopt": "menders",
    "restore": "menders",
    "lock": "pinning",
}
"""Verb -> the module of this room that registers it, in the order of the help."""

_COMPLETION = "_PATCHCTL_COMPLETE"
"""The variable by which the scripts of ``--install-completion`` ask for words, or the script itself."""


class _Verbs(MutableMapping[str, Any]):
    """Verb -> its click command, made when it is first asked for: making them all costs a tenth of a short run."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, verb: str) -> Any:
        if verb not in self._made:
            self._made[verb] = _command_of(verb, _MODULES[verb])
        return self._made[verb]

    def __setitem__(self, verb: str, command: Any) -> None:
        self._made[verb] = command

    def __delitem__(self, verb: str) -> None:
        del self._made[verb]

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)

    def __contains__(self, verb: object) -> bool:
        return verb in _MODULES


class _Group(TyperGroup):
    """The group of all verbs. What the parser says of a command line quotes words of it: they are shown escaped."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Verbs()

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the options before the verb."""
        with _shown():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Parse the rest, and run the verb."""
        with _shown():
            return super().invoke(ctx)


def _command_of(verb: str, module: str) -> Any:
    group = typer.Typer(rich_markup_mode=None, add_completion=False)
    import_module(f"patchctl.cli.{module}").register(group)
    group.registered_commands = [command for command in group.registered_commands if command.name == verb]
    return get_command(group)


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
    name="patchctl",
    cls=_Group,
    help="Keeps installed Python packages patched, safely, until upstream makes the patch unnecessary.",
    epilog="Exit codes: 0 ok, 1 attention or refused, 2 usage, 3 cannot answer, 4 unfinished transaction, 5 busy, "
    "70 a bug in patchctl, 130/143 interrupted and rolled back.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # no boxes: help and usage errors are read through pipes too
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
    if len(sys.argv) > 1:
        # A shell that completes a line gives no words. The variable left over from elsewhere would answer for the verb.
        os.environ.pop(_COMPLETION, None)
    app(prog_name="patchctl")
