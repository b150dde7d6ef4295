"""Originals and results kept by their hashes: written first, named when all of them are on the disk.

What is swapped for what is in ``swap``; what nobody names any more is dropped in ``unnamed``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from patchctl.disk import NotRegularError
from patchctl.model.files import sha256_hex
from patchctl.model.layout import object_path
from patchctl.transaction.files import exists, write_new
from patchctl.transaction.names import OBJECTS, TMP
from patchctl.transaction.opening import OpenSite, open_state_directory
from patchctl.transaction.swap import live_state
from patchctl.transaction.unsynced import Unsynced


def write_object(site: OpenSite, transaction: str, data: bytes, unsynced: Unsynced) -> str | None:
    """Write ``data`` to be kept under its hash, which is returned; None: it is there and intact, or written already.

    :func:`place_objects` lets it take its name.
    """
    sha256 = sha256_hex(data)
    try:
        if live_state(site.root, object_path(sha256)).sha256 == sha256:
            return None
    except NotRegularError:
        pass  # replaced, as a damaged one is; a directory in its place makes that fail
    tmp = open_state_directory(site, (TMP, transaction))
    try:
        if exists(tmp, sha256):
            return None
        write_new(tmp, sha256, data, site.looks, unsynced.add)
    finally:
        os.close(tmp)
    return sha256


def place_objects(site: OpenSite, transaction: str, objects: Iterable[str]) -> None:
    """Let objects take their names and bring these to the disk, once all are there whole.

    Args:
        site: the opened site.
        transaction: whose tmp directory holds them.
        objects: hashes of what :func:`write_object` wrote, and what is on the disk.
    """
    with Unsynced() as directories:
        tmp = open_state_directory(site, (TMP, transaction))
        try:
            for sha256 in sorted(objects):
                target = open_state_directory(site, (OBJECTS, sha256[:2]), directories.add)
                try:
                    os.replace(sha256, sha256, src_dir_fd=tmp, dst_dir_fd=target)
                    directories.add(target)
                finally:
                    os.close(target)
        finally:
            os.close(tmp)
        directories.settle()
