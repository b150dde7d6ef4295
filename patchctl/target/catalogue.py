"""Every distribution of a site directory, those that cannot be read included; and what no installer would leave.

``finding`` looks for distributions by name and stops at what is ambiguous; here nothing stops the list.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from patchctl.errors import TargetError
from patchctl.model.target import Distribution
from patchctl.target.distributions import read_distribution
from patchctl.target.holdings import Holding, find_holdings, normal_name
from patchctl.target.reading import open_site

_METADATA = (".dist-info", ".egg-info", ".egg-link", ".egg")


class Shelf(NamedTuple):
    """One distribution of a site, as far as it can be read.

    Attributes:
        name: normalised.
        build: full version string; of several, those of all, separated by a comma.
        infos: its metadata directories, relative to the site; more than one is an ambiguity.
        distribution: in full; None where ``reason`` says why not.
        reason: why it cannot be read.
    """

    name: str
    build: str
    infos: tuple[str, ...]
    distribution: Distribution | None = None
    reason: str | None = None


def list_distributions(site: str) -> tuple[Shelf, ...]:
    """Return every distribution in ``site`` (absolute), by name.

    Raises:
        TargetError: the site directory itself cannot be read.
    """
    by_name: dict[str, list[Holding]] = {}
    broken: list[Shelf] = []
    for spelled in sorted(_spelled(site)):
        try:
            holdings = find_holdings(site, {spelled})
        except TargetError as error:
            broken.append(Shelf(name=spelled, build="", infos=(), reason=error.problem.message))
            continue
        for holding in holdings:
            if holding not in by_name.setdefault(holding.name, []):
                by_name[holding.name].append(holding)
    shelves = [_shelf(site, name, holdings) for name, holdings in by_name.items()]
    shelves += [shelf for shelf in broken if shelf.name not in by_name]
    return tuple(sorted(shelves, key=lambda shelf: shelf.name))


def nameless(site: str) -> tuple[str, ...]:
    """Return metadata directories without a name in them, and leftovers (``~``) of interrupted installs, sorted.

    Raises:
        TargetError: the site directory itself cannot be read.
    """
    shelves = list_distributions(site)
    known = {info for shelf in shelves for info in shelf.infos}
    unread = {shelf.name for shelf in shelves if not shelf.infos}

    def is_nobodys(entry: str) -> bool:
        return entry.endswith(".dist-info") and entry not in known and _spelling(entry) not in unread

    return tuple(sorted(entry for entry in _entries(site) if entry.startswith("~") or is_nobodys(entry)))


def _entries(site: str) -> list[str]:
    root_fd = open_site(site)
    try:
        return os.listdir(root_fd)
    finally:
        os.close(root_fd)


def _spelled(site: str) -> set[str]:
    return {_spelling(entry) for entry in _entries(site) if entry.endswith(_METADATA) and not entry.startswith("~")}


def _spelling(entry: str) -> str:
    return normal_name(entry.rpartition(".")[0].partition("-")[0])


def _shelf(site: str, name: str, holdings: list[Holding]) -> Shelf:
    infos = tuple(holding.info for holding in holdings)
    build = ", ".join(dict.fromkeys(holding.build for holding in holdings))
    if len(holdings) > 1:
        reason = f"it is recorded more than once ({' and '.join(infos)}); which one the files are from is unknown"
        return Shelf(name=name, build=build, infos=infos, reason=reason)
    try:
        return Shelf(name=name, build=build, infos=infos, distribution=read_distribution(site, holdings[0]))
    except TargetError as error:
        return Shelf(name=name, build=build, infos=infos, reason=error.problem.message)
