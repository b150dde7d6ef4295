"""The options that every verb takes, and how they reach it as one value."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import typer

from patchctl.cli.again import spoken
from patchctl.commands import Place

_Site = Annotated[str | None, typer.Option("--site", metavar="DIR", help="The site directory to work on.")]
_Python = Annotated[
    str | None, typer.Option("--python", metavar="PATH", help="The interpreter whose environment to work on.")
]
_Registry = Annotated[
    list[str] | None,
    typer.Option("--registry", metavar="DIR", help="Use this registry instead of the bundled one; repeatable."),
]
_Distribution = Annotated[
    str | None, typer.Option("--distribution", metavar="NAME", help="Look at this distribution alone.")
]
_Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
_Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print errors only; the exit code is the answer.")]
_Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Say where every setting came from.")]
_NoColor = Annotated[bool, typer.Option("--no-color", help="No colour.")]


def _complete_id(incomplete: str) -> list[str]:
    """Ids that begin so, from the registry that the environment or the bundle gives."""
    from patchctl.commands.listing import entry_ids

    folders = tuple(folder for folder in os.environ.get("PATCHCTL_REGISTRY", "").split(os.pathsep) if folder)
    return [id_ for id_ in entry_ids(Place(registries=folders)) if id_.startswith(incomplete)]


Id = Annotated[str, typer.Argument(metavar="ID", help="The entry.", autocompletion=_complete_id)]
Ids = Annotated[
    list[str] | None,
    typer.Argument(metavar="[ID]...", help="Entries by id.", show_default=False, autocompletion=_complete_id),
]
SomeIds = Annotated[list[str], typer.Argument(metavar="ID...", help="Entries by id.", autocompletion=_complete_id)]
Locked = Annotated[
    str | None,
    typer.Option("--locked", metavar="FILE", help="The lock file says which entries count, in which revision."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Plan and show, write nothing.")]


def _seconds(wait: float) -> float:
    if not 0 <= wait < float("inf"):  # also keeps out "nan", which no comparison would
        raise typer.BadParameter("a number of seconds, 0 or more")
    return wait


Wait = Annotated[
    float,
    typer.Option(
        "--wait",
        metavar="SECONDS",
        callback=_seconds,
        show_default=False,
        help="Wait this long for another patchctl; the default is not to.",
    ),
]


AllowEditable = Annotated[
    bool,
    typer.Option("--allow-editable", help="Edit the source tree of an editable install, which lies outside the site."),
]
AllowBase = Annotated[
    bool,
    typer.Option("--allow-base", help="Edit the base installation that a virtual environment shares with others."),
]


class Common(NamedTuple):
    """What every verb takes, as given on the command line."""

    site: str | None
    python: str | None
    registry: tuple[str, ...]
    distribution: str | None
    json: bool
    quiet: bool
    verbose: bool
    no_color: bool
    words: tuple[str, ...] = ()
    """Verb, options and arguments, without those of the place."""


_COMMON = {
    "site": (_Site, None),
    "python": (_Python, None),
    "registry": (_Registry, None),
    "distribution": (_Distribution, None),
    "json": (_Json, False),
    "quiet": (_Quiet, False),
    "verbose": (_Verbose, False),
    "no_color": (_NoColor, False),
}


_CONTEXT = "context"
"""What typer calls its own account of the command line; of no option."""


def with_common(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the common options: typer sees them all, the verb gets them as its first argument.

    Written once, so that no verb can forget one of them.
    """
    own = list(inspect.signature(verb, eval_str=True).parameters.values())[1:]
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in _COMMON.items()
    ]
    shared.append(inspect.Parameter(_CONTEXT, inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context))

    @functools.wraps(verb)
    def wrapper(**given: Any) -> None:
        common = {name: given.pop(name) for name in _COMMON}
        common["registry"] = tuple(common["registry"] or ())
        verb(Common(**common, words=spoken(given.pop(_CONTEXT))), **given)

    wrapper.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [*(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own), *shared]
    )
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in (*own, *shared)}
    return wrapper
