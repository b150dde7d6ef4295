"""Temporary files beside targets that a dead transaction left and no journal speaks of any more.

Recovery removes what its journal names. What is found here outlived that: the tree was copied in mid-transaction
without ``.patchctl``, or somebody moved a journal away.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from patchctl.disk import NotRegularError, open_root, walk_below
from patchctl.errors import TargetError
from patchctl.transaction.files import parent_of, remove, sync
from patchctl.transaction.names import is_temp_name
from patchctl.transaction.opening import OpenSite


def find_litter(site: str, directories: Iterable[str]) -> tuple[str, ...]:
    """Return our temporary files in ``directories`` and below them, sorted, as paths relative to the site. Reads only.

    Args:
        site: absolute path of the site directory.
        directories: relative to the site; ``""`` is the site itself, which is not walked into.

    Raises:
        TargetError: the site cannot be read.
    """
    try:
        root = open_root(site)
    except OSError as error:
        raise TargetError("no-site", f"{site} cannot be opened: {error.strerror}") from None
    found: set[str] = set()
    try:
        for directory in directories:
            if not directory:
                found |= {name for name in os.listdir(root) if is_temp_name(name)}
                continue
            found |= _litter_below(root, directory)
    finally:
        os.close(root)
    return tuple(sorted(found))


def _litter_below(root: int, directory: str) -> set[str]:
    try:
        walk = walk_below(root, directory)
        return {f"{inside}/{name}" for inside, _, files, _ in walk for name in files if is_temp_name(name)}
    except OSError:
        return set()  # not there any more, or closed to us: then nothing of it is ours to remove


def drop_litter(site: OpenSite, paths: Iterable[str]) -> tuple[str, ...]:
    """Remove those of ``paths`` (relative to the site) that are there and have a name of ours; returns them.

    The caller holds the lock and no journal is open: whatever has such a name belongs to nobody alive.
    """
    gone = []
    for path in paths:
        if not is_temp_name(path.rpartition("/")[2]):
            continue
        try:
            with parent_of(site.root, path) as (parent, name):
                if remove(parent, name):
                    sync(parent)
                    gone.append(path)
        except (FileNotFoundError, NotRegularError):
            continue
    return tuple(gone)
