"""The files that patches, evidence and ledger name, as they are at one moment."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from functools import partial

from patchctl.disk import (
    Found,
    NotRegularError,
    Roots,
    Surroundings,
    ineffective,
    mount_points,
    read_linked,
    read_whole,
    rivals,
)
from patchctl.model.files import FileMeta, Link, LiveFile, sha256_hex
from patchctl.model.paths import path_problem
from patchctl.model.target import Rivals, Snapshot, Target, listed_sha256
from patchctl.target.reading import is_link, open_target, why_unreadable

_NO_RIVALS = Rivals()


def read_snapshot(target: Target, paths: Iterable[str]) -> Snapshot:
    """Return every file that ``paths`` (POSIX, relative to the site) name; None where nothing is there.

    What is no regular file reached through real directories, may not be read, is too large, has no harmless name, is
    mounted by itself, or is not what Python imports because a compiled module or a package lies beside it, is in
    ``problems`` with the reason (a phrase that follows the path), and not in ``files``. A link in a file's place is
    read through where it leads to the very bytes that RECORD lists for it (uv's symlink mode).

    Raises:
        TargetError: the site directory itself cannot be read.
    """
    files: dict[str, LiveFile | None] = {}
    problems: dict[str, str] = {}
    excluding: dict[str, Rivals] = {}
    mounts = mount_points()
    grafts = target.grafts
    bases = {top: os.path.realpath(directory) for top, directory in grafts.items()}
    site = os.path.realpath(target.site)
    with open_target(target.site, grafts) as roots:
        surroundings = Surroundings(roots)
        for path in dict.fromkeys(paths):
            problem = path_problem(path)
            if problem is not None:
                problems[path] = problem
                continue
            try:
                file = _read(roots, path, target)
                look = surroundings.around(path)
                found = rivals(path, look, partial(surroundings.below, path))
                problem = ineffective(path, look, found.winners, is_there=file is not None)
            except OSError as error:
                problem = why_unreadable(error)
            if f"{bases.get(path.partition('/')[0], site)}/{path}" in mounts:
                problem = "is a mount point of its own and cannot be replaced"
            if problem is not None:
                problems[path] = problem
                continue
            files[path] = file
            if found != _NO_RIVALS:
                excluding[path] = found
    return Snapshot(files=files, problems=problems, rivals=excluding)


def _read(roots: Roots, path: str, target: Target) -> LiveFile | None:
    try:
        found = read_whole(roots, path)
    except NotRegularError as error:
        if not is_link(error):
            raise
        listed = {sha256 for it in target.distributions.values() if (sha256 := listed_sha256(it, path)) is not None}
        if not listed:
            raise
        found = read_linked(roots, path, listed, {os.fstat(roots.site).st_uid})
    return None if found is None else _live(found)


def _live(found: Found) -> LiveFile:
    place = found.link_status or found.status
    meta = FileMeta(
        mode=stat.S_IMODE(found.status.st_mode),
        uid=place.st_uid,
        gid=place.st_gid,
        mtime_ns=found.status.st_mtime_ns,
        xattrs=tuple(sorted(found.xattrs.items())),
    )
    link = None if found.link is None else Link(target=found.link, mtime_ns=place.st_mtime_ns)
    return LiveFile(data=found.data, meta=meta, sha256=sha256_hex(found.data), link=link)
