"""The command line as another user would have to say it: for a hint that works as it is printed.

sudo drops the environment, so what a variable chose is said with its option, and paths start at the root. Everything
else is said as it was, in the order in which ``--help`` lists it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import typer

from patchctl.commands import Place
from patchctl.commands.given import absolute

_PLACES = frozenset({"site", "python", "registry", "distribution"})
_CARRIED = ("PYTHONPATH", "PYTHONPYCACHEPREFIX", "SOURCE_DATE_EPOCH")
"""Variables that have no option and decide what is done."""

_FOUND_BY_SUDO = frozenset(f"{top}/{name}" for top in ("", "/usr", "/usr/local") for name in ("bin", "sbin"))


def spoken(context: typer.Context) -> tuple[str, ...]:
    """Return verb, options and arguments as they were given; without those that name a place."""
    words = [context.info_name or ""]
    arguments: list[str] = []
    for parameter in context.command.params:
        name = parameter.name or ""
        value = context.params.get(name)
        source = context.get_parameter_source(name)
        if name in _PLACES or source is None or source.name != "COMMANDLINE":
            continue
        if parameter.param_type_name == "argument":
            arguments += map(str, value if isinstance(value, list | tuple) else [value])
        else:
            words += _option(parameter, value)
    ended = ["--"] if any(argument.startswith("-") for argument in arguments) else []
    return (*words, *ended, *arguments)


def as_user(login: str, words: tuple[str, ...], place: Place, site: str) -> tuple[str, ...]:
    """Return the words of a command that does the same as another user.

    Args:
        login: name of the user, or ``#`` and the uid of one without a name.
        words: from :func:`spoken`.
        place: environment and registry as this command has them.
        site: absolute; it names the environment where neither an option nor a variable did.
    """
    variables = [f"{name}={place.environ[name]}" for name in _CARRIED if place.environ.get(name)]
    verb, *rest = words
    return (*_changing_to(login, site), *variables, *_program(), verb, *_where(place, site), *rest)


def _changing_to(login: str, site: str) -> tuple[str, ...]:
    """Sudo knows users by name, and since 1.8.30 no others; who has none owns the site with a group."""
    if not login.startswith("#"):
        return ("sudo", "-u", login)
    group = os.stat(site).st_gid  # noqa: PTH116  # a loaded pathlib costs more than the call
    return ("setpriv", f"--reuid={login[1:]}", f"--regid={group}", "--clear-groups", "env")


def _option(parameter: Any, value: Any) -> Iterator[str]:
    said = next((it for it in parameter.opts if it.startswith("--")), parameter.opts[0])
    if parameter.is_flag:
        yield said if value else parameter.secondary_opts[0]
        return
    for one in value if parameter.multiple else (value,):
        text = f"{one:g}" if isinstance(one, float) else str(one)
        # In one word, so that a value which begins with a dash is not taken for an option.
        yield from (f"{said}={text}",) if text.startswith("-") else (said, text)


def _where(place: Place, site: str) -> Iterator[str]:
    environment = _environment(place.environ)
    if place.site is not None:
        yield from ("--site", absolute(place.site, place.cwd))
    elif place.python is not None:
        yield from ("--python", absolute(place.python, place.cwd) if "/" in place.python else place.python)
    elif environment is not None:
        yield from ("--python", absolute(environment, place.cwd))
    else:
        yield from ("--site", site)
    for folder in place.registries:
        yield from ("--registry", absolute(folder, place.cwd))
    if place.distribution is not None:
        yield from ("--distribution", place.distribution)


def _environment(environ: Mapping[str, str]) -> str | None:
    return environ.get("VIRTUAL_ENV") or environ.get("CONDA_PREFIX") or None


def _program() -> tuple[str, ...]:
    """How this patchctl is called: sudo looks for programs in its own directories alone."""
    started = sys.argv[0]
    directory, _, name = started.rpartition("/")
    if started.endswith("/patchctl/__main__.py"):
        # -P keeps Python itself from looking for modules where the next user happens to be.
        return (sys.executable, *(["-P"] if sys.version_info >= (3, 11) else []), "-m", "patchctl")
    if name != "patchctl" or not directory or directory in _FOUND_BY_SUDO:
        return ("patchctl",)
    return (os.path.abspath(started),)  # noqa: PTH100  # a loaded pathlib costs more than the call
