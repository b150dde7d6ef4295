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
        environ: the process environment; decides where neither ``site`` nor ``python`` is given.
        pycache_prefix: PYTHONPYCACHEPREFIX of the target's interpreter; None: its byte code lies beside its sources.
        origin: the environment variable that ``site`` or ``python`` came from; None: the command line.
    """

    site: str | None = None
    python: str | None = None
    registries: tuple[str, ...] = ()
    distribution: str | None = None
    environ: Mapping[str, str] = MappingProxyType({})
    pycache_prefix: str | None = None
    origin: str | None = None


class Allowed(NamedTuple):
    """Which places beyond the environment's own site may be edited: the operator's word, for one command.

    Attributes:
        editable: files of editable installs, which lie outside the site, may be edited.
        base: a site that belongs to the base installation may be edited.
    """

    editable: bool = False
    base: bool = False


NOTHING_ELSE = Allowed()


class Clock(NamedTuple):
    """The time of the command: ``now`` in whole seconds since the epoch, ``stamp`` the same as ISO 8601 with ``Z``.

    Both come from SOURCE_DATE_EPOCH where it is set, so that image builds stay reproducible.
    """

    now: int
    stamp: str
