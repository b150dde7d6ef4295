"""Places and formats may come from the environment; decisions never do.

A variable that could decide (``PATCHCTL_DRY_RUN=1``) is refused rather than ignored: whoever set it believes in it.
Where the environment may be another user's, a variable never selects a registry, since ``sudo -E`` would carry it over.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from patchctl.cli.callers import handed_over
from patchctl.cli.options import Common
from patchctl.commands import Clock, Place
from patchctl.commands.author import login_uid
from patchctl.errors import UsageError
from patchctl.model.shell import shell_word

_LATEST = 1 << 32
"""Seconds: byte code has the time of its source in 32 bits, and some file systems know no later one."""

_MOST_DIGITS = 20
_SHOWN = 60

_PLACES = ("PATCHCTL_SITE", "PATCHCTL_PYTHON", "PATCHCTL_REGISTRY", "PATCHCTL_NO_COLOR")


_OPTION = "--"
_DEFAULT = "default"


class Settings(NamedTuple):
    """Where to work, and where that was said.

    Attributes:
        place: the answer.
        no_color: nothing is tinted.
        sources: every setting: (name, value, source).
        by_variables: of these, what is told whether somebody asks or not: what variables said that another user may
            have handed over, and to root always where the answer itself does not name them.
    """

    place: Place
    no_color: bool
    sources: tuple[tuple[str, str, str], ...]
    by_variables: tuple[tuple[str, str, str], ...] = ()


def resolve(common: Common, environ: Mapping[str, str]) -> Settings:
    """Combine the command line with the environment.

    Raises:
        UsageError: a variable tries to decide, or to select a registry where it may be another user's.
    """
    _refuse_decisions(environ)
    uid = os.geteuid()
    sign = handed_over(environ, uid, login_uid())
    sources: list[tuple[str, str, str]] = []
    site, python = common.site, common.python
    if site is None and python is None:
        site = _from(environ, "PATCHCTL_SITE", "site", sources)
        python = None if site is not None else _from(environ, "PATCHCTL_PYTHON", "python", sources)
    else:
        name, value = ("site", site) if site is not None else ("python", python)
        sources.append((name, str(value), f"--{name}"))
    chosen_by = sources[0][2] if sources and sources[0][2].startswith("PATCHCTL_") else None
    registries = common.registry
    if registries:
        sources += [("registry", folder, "--registry") for folder in registries]
    else:
        given = _from(environ, "PATCHCTL_REGISTRY", "registry", sources)
        if given is not None and sign is not None:
            raise UsageError(
                "registry-under-sudo",
                f"PATCHCTL_REGISTRY does not select a registry {sign}",
                hint=f"if it is the one you mean, name it: --registry {shell_word(given)}",
            )
        registries = tuple(folder for folder in (given or "").split(os.pathsep) if folder)
        if not registries:
            sources.append(("registry", "bundled", _DEFAULT))
    for name, variable in (("byte code", "PYTHONPYCACHEPREFIX"), ("time", "SOURCE_DATE_EPOCH")):
        _from(environ, variable, name, sources)
    place = Place(
        site=site,
        python=python,
        registries=registries,
        distribution=_normal(common.distribution) if common.distribution is not None else None,
        environ=environ,
        pycache_prefix=environ.get("PYTHONPYCACHEPREFIX") or None,
        origin=chosen_by,
        cwd=_working_directory(),
        handed_over=sign is not None,
    )
    no_color = common.no_color or bool(environ.get("PATCHCTL_NO_COLOR")) or bool(environ.get("NO_COLOR"))
    carried = tuple(it for it in sources if not it[2].startswith(_OPTION) and it[2] != _DEFAULT)
    unsaid = tuple(it for it in carried if it[0] not in {"site", "python"})
    return Settings(
        place=place,
        no_color=no_color or environ.get("TERM") == "dumb",
        sources=tuple(sources),
        by_variables=carried if sign is not None else unsaid if uid == 0 else (),
    )


def clock(environ: Mapping[str, str], now: float) -> Clock:
    """Return the time of this command: SOURCE_DATE_EPOCH where it is set, else ``now`` (seconds since the epoch).

    Raises:
        UsageError: SOURCE_DATE_EPOCH is no whole number of seconds.
    """
    from datetime import datetime, timezone

    given = environ.get("SOURCE_DATE_EPOCH")
    # int() reads more than the specification of that variable writes: blanks, underscores, digits of every script.
    if given and not (given.isascii() and given.isdigit() and len(given) <= _MOST_DIGITS):
        raise _bad_epoch(given)
    second = int(given) if given else int(now)
    if not 0 <= second < _LATEST:
        raise _bad_epoch(given or str(second))
    stamp = datetime.fromtimestamp(second, tz=timezone.utc)
    return Clock(
        now=second,
        stamp=stamp.strftime("%Y-%m-%dT%H:%M:%SZ"),
        fixed=bool(given),
        started_ns=int(now * 1_000_000_000),
    )


def _bad_epoch(given: str) -> UsageError:
    message = f"SOURCE_DATE_EPOCH is not a time in whole seconds from 1970 to 2106: {given[:_SHOWN]!r}"
    return UsageError("bad-epoch", message, hint="digits alone: date +%s")


def _working_directory() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109  # a loaded pathlib costs more than the call
    except OSError:
        return None  # somebody removed it


def _normal(name: str) -> str:
    """The name of a distribution as it is compared (PEP 503)."""
    import re

    return re.sub(r"[-_.]+", "-", name).lower()


def _from(environ: Mapping[str, str], variable: str, name: str, sources: list[tuple[str, str, str]]) -> str | None:
    value = environ.get(variable) or None
    if value is not None:
        sources.append((name, value, variable))
    return value


def _refuse_decisions(environ: Mapping[str, str]) -> None:
    for variable in environ:
        if variable.startswith("PATCHCTL_") and variable not in _PLACES:
            raise UsageError(
                "decision-in-environment",
                f"{variable} is set, but it is none of {', '.join(_PLACES)}: decisions are taken on the command line",
                hint=f"unset {variable}; say the option where you mean it",
            )
