"""The files that patches, evidence and ledger name, as they are at one moment."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from patchctl.disk import read_below
from patchctl.model.files import FileMeta, LiveFile, sha256_hex
from patchctl.model.paths import path_problem
from patchctl.model.target import Snapshot, Target
from patchctl.target.reading import open_site, why_unreadable


def read_snapshot(target: Target, paths: Iterable[str]) -> Snapshot:
    """Return every file that ``paths`` (POSIX, relative to the site) name; None where nothing is there.

    What is no regular file reached through real directories, may not be read, is too large, or has no harmless name
    is in ``problems`` with the reason (a phrase that follows the path), and not in ``files``.

    Raises:
        TargetError: the site directory itself cannot be read.
    """
    files: dict[str, LiveFile | None] = {}
    problems: dict[str, str] = {}
    root_fd = open_site(target.site)
    try:
        for path in dict.fromkeys(paths):
            problem = path_problem(path)
            if problem is not None:
                problems[path] = problem
                continue
            try:
                files[path] = _read(root_fd, path)
            except OSError as error:
                problems[path] = why_unreadable(error)
    finally:
        os.close(root_fd)
    return Snapshot(files=files, problems=problems)


def _read(root_fd: int, path: str) -> LiveFile | None:
    found = read_below(root_fd, path)
    if found is None:
        return None
    data, status = found
    meta = FileMeta(
        mode=stat.S_IMODE(status.st_mode), uid=status.st_uid, gid=status.st_gid, mtime_ns=status.st_mtime_ns
    )
    return LiveFile(data=data, meta=meta, sha256=sha256_hex(data))
