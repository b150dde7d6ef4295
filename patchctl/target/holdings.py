"""What a site directory holds of the wanted distributions: found by name, told by METADATA, nothing further read.

METADATA is read for Name and Version alone, by hand: the email package would cost more than everything else here.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from typing import NamedTuple

from patchctl.disk import open_named, owner_to_heed
from patchctl.errors import Problem, TargetError
from patchctl.model.target import row_sha256
from patchctl.target.reading import open_site, read_metadata
from patchctl.target.record import parse_record

_ENDINGS = (".dist-info", ".egg-info", ".egg-link", ".egg")


class Holding(NamedTuple):
    """A trace of a wanted distribution in a site directory.

    Attributes:
        name: normalised.
        build: full version string.
        info: name of the file or directory that says so, relative to the site.
        problem: why it cannot be read: ``build`` is then what its name says, if that says anything.
    """

    name: str
    build: str
    info: str
    problem: Problem | None = None


def normal_name(name: str) -> str:
    """Normalise a distribution name (PEP 503): lower case, runs of ``-_.`` become one ``-``."""
    return "-".join(filter(None, name.lower().replace("_", "-").replace(".", "-").split("-")))


def find_holdings(site: str, names: Collection[str] | None) -> tuple[Holding, ...]:
    """Return what ``site`` (absolute) holds of the distributions ``names`` (normalised), sorted by ``info``.

    Without ``names``: of every distribution whose metadata can be read.

    Leftovers of interrupted installs (``~llm-0.20.0.dist-info``), a dist-info without METADATA and one without a name
    are no distributions and are passed by, as pip does.

    Raises:
        TargetError: the directory cannot be read.
    """
    root_fd = open_site(site)
    try:
        return _holdings_in(root_fd, names, _ENDINGS)
    finally:
        os.close(root_fd)


def _holdings_in(root_fd: int, names: Collection[str] | None, endings: tuple[str, ...]) -> tuple[Holding, ...]:
    found = [_read_holding(root_fd, entry, names) for entry in _candidates(root_fd, names, endings)]
    return tuple(holding for holding in found if holding is not None)


def parse_headers(data: bytes) -> tuple[str | None, str | None]:
    """Return Name and Version of METADATA or PKG-INFO; what follows the first empty line is the description."""
    name = version = None
    for line in data.split(b"\n"):
        if not line.strip():
            break
        key, colon, value = line.partition(b":")
        if not colon:
            continue
        word = key.lower()
        if word == b"name" and name is None:
            name = value.decode("utf-8", "replace").strip()
        elif word == b"version" and version is None:
            version = value.decode("utf-8", "replace").strip()
    return name or None, version or None


def _candidates(root_fd: int, names: Collection[str] | None, endings: tuple[str, ...]) -> list[str]:
    """Return the entries that may be metadata of a wanted distribution, by their spelling alone."""
    found = []
    for entry in os.listdir(root_fd):
        if not entry.endswith(endings) or entry.startswith("~"):
            continue
        normal = normal_name(entry.rpartition(".")[0]) + "-"
        if names is None or any(normal.startswith(f"{name}-") for name in names):
            found.append(entry)
    return sorted(found)


def _read_holding(root_fd: int, entry: str, names: Collection[str] | None) -> Holding | None:
    try:
        name, version = _headers(root_fd, entry, names)
    except TargetError as error:
        # By the spelling it may be another distribution whose name begins alike: that one is nobody's business.
        spelt, _, rest = entry.rpartition(".")[0].partition("-")
        if names is None or normal_name(spelt) not in names:
            return None
        return Holding(name=normal_name(spelt), build=rest or "unknown", info=entry, problem=error.problem)
    if not name or not version or (names is not None and normal_name(name) not in names):
        return None
    return Holding(name=normal_name(name), build=version, info=entry)


def _headers(root_fd: int, entry: str, names: Collection[str] | None) -> tuple[str | None, str | None]:
    if entry.endswith(".egg"):
        # A zip archive or a directory, called name-version-pyX.Y.egg.
        name, _, rest = entry.removesuffix(".egg").partition("-")
        return name, rest.partition("-")[0]
    if entry.endswith(".egg-link"):
        return _linked_headers(root_fd, entry, names)
    if entry.endswith(".egg-info"):
        # Debian and conda have directories, distutils wrote plain files.
        path = f"{entry}/PKG-INFO" if is_directory(root_fd, entry) else entry
        return parse_headers(read_metadata(root_fd, path) or b"")
    return parse_headers(read_info(root_fd, entry, "METADATA") or b"")


def is_directory(root_fd: int, entry: str) -> bool:
    """Return whether ``entry`` in an open directory is a directory itself, not a link to one."""
    try:
        return stat.S_ISDIR(os.stat(entry, dir_fd=root_fd, follow_symlinks=False).st_mode)
    except OSError:
        return False


def read_info(root_fd: int, info: str, name: str) -> bytes | None:
    """Return file ``name`` of the dist-info directory ``info``; None when it is not there.

    uv's symlink mode makes links of what it takes from its cache, and writes RECORD itself: a link is read through
    where it leads to the very bytes that RECORD lists.

    Raises:
        TargetError: it is there and cannot be read.
    """
    path = f"{info}/{name}"
    try:
        return read_metadata(root_fd, path)
    except TargetError:
        record = parse_record(read_metadata(root_fd, f"{info}/RECORD", limit=64 << 20) or b"")
        listed = row_sha256((record or {}).get(path))
        if listed is None:
            raise
        return read_metadata(root_fd, path, listed={listed})


def open_egg_link(root_fd: int, entry: str) -> int | None:
    """Return a descriptor of the source tree that the first line of an egg-link names, for ``setup.py develop``.

    None: it names none, that is not there, or root may not be led there.

    Args:
        root_fd: descriptor of the site.
        entry: the egg-link, relative to it.

    Raises:
        TargetError: the egg-link cannot be read.
    """
    tree = os.fsdecode((read_metadata(root_fd, entry) or b"").partition(b"\n")[0].strip())
    if not os.path.isabs(tree):
        return None
    try:
        return open_named(tree, owner_to_heed(root_fd))
    except (OSError, ValueError):
        return None


def _linked_headers(root_fd: int, entry: str, names: Collection[str] | None) -> tuple[str | None, str | None]:
    """Return Name and Version of a ``setup.py develop`` install, which lie in its source tree."""
    tree_fd = open_egg_link(root_fd, entry)
    if tree_fd is None:
        return None, None
    try:
        # Only egg-info: a tree whose egg-link leads to itself must not be followed for ever.
        found = _holdings_in(tree_fd, names, (".egg-info",))
    finally:
        os.close(tree_fd)
    return (found[0].name, found[0].build) if found else (None, None)
