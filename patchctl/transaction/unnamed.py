"""Stored objects and diffs that nobody names any more: finding them, and dropping them under the lock.

Which hashes are named is the caller's knowledge. No journal is needed: what nobody names cannot be missed, and a
removal that is cut off is simply not finished. Only names that we give are touched, and never through a link.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from typing import NamedTuple

from patchctl.disk import NotRegularError, open_root
from patchctl.errors import PatchctlError
from patchctl.model.layout import STATE_DIR, is_sha256, object_path, patch_path
from patchctl.transaction.files import names_in, open_directory, remove, remove_directory, sync
from patchctl.transaction.names import OBJECTS, PATCHES
from patchctl.transaction.opening import OpenSite

_PREFIX_LENGTH = 2


class Dropped(NamedTuple):
    """What was removed, or would be.

    Attributes:
        paths: relative to the site, sorted.
        size: bytes of all of them.
    """

    paths: tuple[str, ...] = ()
    size: int = 0


def find_unnamed(site: str, named: Collection[str]) -> Dropped:
    """Return the objects and diffs below ``site`` (absolute) whose hash is not among ``named``. Reads only.

    Raises:
        PatchctlError: ``unreadable-state``: the store may not be looked into.
    """
    try:
        root = open_root(site)
        try:
            state = open_directory(root, STATE_DIR)
        finally:
            os.close(root)
        try:
            found = list(_stored(state))
        finally:
            os.close(state)
    except (FileNotFoundError, NotRegularError):
        return Dropped()
    except OSError as error:
        raise PatchctlError("unreadable-state", f"{site}/{STATE_DIR} cannot be read: {error.strerror}") from None
    unnamed = [(path, size) for path, sha256, size in found if sha256 not in named]
    return Dropped(paths=tuple(sorted(path for path, _ in unnamed)), size=sum(size for _, size in unnamed))


def drop(site: OpenSite, named: Collection[str]) -> Dropped:
    """Remove what :func:`find_unnamed` finds; the caller holds the lock and no journal is open."""
    dropped = find_unnamed(site.site, named)
    for directory in dict.fromkeys(path.rpartition("/")[0] for path in dropped.paths):
        _drop_from(site, directory, dropped.paths)
    return dropped


def _drop_from(site: OpenSite, directory: str, paths: Collection[str]) -> None:
    *above, last = directory.split("/")[1:]
    parent = os.dup(site.state)
    try:
        for part in above:
            following = open_directory(parent, part)
            os.close(parent)
            parent = following
        held = open_directory(parent, last)
        try:
            for path in paths:
                if path.rpartition("/")[0] == directory:
                    remove(held, path.rpartition("/")[2])
            sync(held)
        finally:
            os.close(held)
        if above:
            remove_directory(parent, last)
    finally:
        os.close(parent)


def _stored(state: int) -> Iterator[tuple[str, str, int]]:
    """Yield path, hash and size of everything that is stored under the name we would give it."""
    for sha256, size in _hashed(state, PATCHES):
        yield patch_path(sha256), sha256, size
    try:
        objects = open_directory(state, OBJECTS)
    except (FileNotFoundError, NotRegularError):
        return
    try:
        for prefix in names_in(objects):
            if len(prefix) == _PREFIX_LENGTH:
                for sha256, size in _hashed(objects, prefix):
                    if sha256.startswith(prefix):
                        yield object_path(sha256), sha256, size
    finally:
        os.close(objects)


def _hashed(parent: int, name: str) -> list[tuple[str, int]]:
    try:
        held = open_directory(parent, name)
    except (FileNotFoundError, NotRegularError):
        return []
    try:
        names = [name for name in names_in(held) if is_sha256(name)]
        return [(name, os.stat(name, dir_fd=held, follow_symlinks=False).st_size) for name in names]
    finally:
        os.close(held)
