"""Where a command works and when: explicit arguments, set once in ``cli``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Place(NamedTuple):
    """Which environment and which registry.

    Attributes:
        site: directory given with ``--site``.
        python: interpreter given with ``--python``.
        registries: directories given with ``--registry``; empty: the bundled registry.
        distribution: look at this distribution alone.
        wanted: ids of the entries that a lock file pins: they count as the default ones, and no others; None: the
            registry says which are.
        taking: ids that the operator named, or a lock file pins: what is recorded of them may be taken over by the
            entry of that id in another registry.
        owners: uids that may own what is read of a registry, and that alone may change it; None: anybody. Set by a
            verb that writes, as root.
        environ: the process environment; decides where neither ``site`` nor ``python`` is given.
        pycache_prefix: PYTHONPYCACHEPREFIX of the target's interpreter; None: its byte code lies beside its sources.
        origin: the environment variable that ``site`` or ``python`` came from; None: the command line.
        handed_over: there are signs that ``environ`` is another user's: nothing is kept or removed where it says that
            the caller's own files are.
        cwd: the working directory, absolute; None: it is gone.
        proc: where the kernel shows its processes, absolute.
        boottime_ns: CLOCK_BOOTTIME in nanoseconds; None: the clock is asked when it is needed.
    """

    site: str | None = None
    python: str | None = None
    registries: tuple[str, ...] = ()
    distribution: str | None = None
    wanted: frozenset[str] | None = None
    taking: frozenset[str] = frozenset()
    owners: frozenset[int] | None = None
    environ: Mapping[str, str] = MappingProxyType({})
    pycache_prefix: str | None = None
    origin: str | None = None
    handed_over: bool = False
    cwd: str | None = None
    proc: str = "/proc"
    boottime_ns: int | None = None


class Consent(NamedTuple):
    """What the operator allows beyond the usual, for one command.

    Attributes:
        allow_running: files may change under a process that may still be loading them.
        purge_caches: remove what was compiled from the old files.
        cache_user: whose caches; None: those of whoever runs the command.
        decisions: these and other options that decide, as they were given, for the history; those of :class:`Allowed`
            are not among them.
    """

    allow_running: bool = False
    purge_caches: bool = False
    cache_user: str | None = None
    decisions: tuple[str, ...] = ()


NO_CONSENT = Consent()
"""Nothing beyond the usual."""


class Allowed(NamedTuple):
    """Which places beyond the environment's own site may be edited: the operator's word, for one command.

    Attributes:
        editable: files of editable installs, which lie outside the site, may be edited.
        base: a site that belongs to the base installation may be edited.
    """

    editable: bool = False
    base: bool = False

    @property
    def decisions(self) -> tuple[str, ...]:
        """The options by which it was given, for the history."""
        given = (("--allow-editable", self.editable), ("--allow-base", self.base))
        return tuple(option for option, is_given in given if is_given)


NOTHING_ELSE = Allowed()
"""The environment's own site, and nothing beyond it."""


class Clock(NamedTuple):
    """The time of the command.

    Attributes:
        now: in whole seconds since the epoch.
        stamp: the same as ISO 8601 with ``Z``. Both come from SOURCE_DATE_EPOCH where it is set, so that image builds
            stay reproducible.
        fixed: they do.
        started_ns: when the command really began, in nanoseconds since the epoch; 0: not known.
    """

    now: int
    stamp: str
    fixed: bool = False
    started_ns: int = 0
