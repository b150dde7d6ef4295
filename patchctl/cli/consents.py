"""The options by which the operator allows more than the usual; they exist on the command line alone."""

from __future__ import annotations

from typing import Annotated

import typer

from patchctl.commands import Consent
from patchctl.errors import UsageError

AllowRunning = Annotated[
    bool, typer.Option("--allow-running", help="Although a process younger than ten minutes may still be loading.")
]
PurgeCaches = Annotated[
    bool, typer.Option("--purge-caches", help="After a change: remove what vLLM compiled from the old files.")
]
CacheUser = Annotated[
    str | None,
    typer.Option("--cache-user", metavar="NAME", help="With --purge-caches: this user's; the default is your own."),
]


def consent(
    *, allow_running: bool, purge_caches: bool, cache_user: str | None, **others: bool | str | int | None
) -> Consent:
    """Return what was allowed as one value; ``others`` are options that decide too, by their parameter names.

    Raises:
        UsageError: a user's caches are named, but none are to be purged.
    """
    if cache_user is not None and not purge_caches:
        raise UsageError("cache-user-without-purge", "--cache-user says whose caches --purge-caches removes")
    given: dict[str, bool | str | int | None] = dict(others)
    given |= {"allow_running": allow_running, "purge_caches": purge_caches, "cache_user": cache_user}
    return Consent(
        allow_running=allow_running,
        purge_caches=purge_caches,
        cache_user=cache_user,
        decisions=decisions(**given),
    )


def decisions(**given: bool | str | int | None) -> tuple[str, ...]:
    """Return options that were given, by their parameter names, as they are written on the command line."""
    return tuple(_words(name, value) for name, value in given.items() if value not in (None, False))


def _words(name: str, value: bool | str | int | None) -> str:
    option = f"--{name.replace('_', '-')}"
    return option if value is True else f"{option}={value}"
