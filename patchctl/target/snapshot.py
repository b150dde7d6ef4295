"""The files that patches, evidence and ledger name, as they are at one moment."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from patchctl.disk import compiled_twin, mount_points, open_parent, read_below
from patchctl.model.files import FileMeta, LiveFile, sha256_hex
from patchctl.model.paths import path_problem
from patchctl.model.target import Snapshot, Target
from patchctl.target.reading import open_site, why_unreadable


def read_snapshot(target: Target, paths: Iterable[str]) -> Snapshot:
    """Return every file that ``paths`` (POSIX, relative to the site) name; None where nothing is there.

    What is no regular file reached through real directories, may not be read, is too large, has no harmless name, is
    mounted by itself, or is not what Python imports because a compiled module lies beside it, is in ``problems`` with
    the reason (a phrase that follows the path), and not in ``files``.

    Raises:
        TargetError: the site directory itself cannot be read.
    """
    files: dict[str, LiveFile | None] = {}
    problems: dict[str, str] = {}
    beside: dict[str, tuple[str, ...]] = {}
    mounts, base = mount_points(), os.path.realpath(target.site)
    root_fd = open_site(target.site)
    try:
        for path in dict.fromkeys(paths):
            problem = path_problem(path)
            if problem is not None:
                problems[path] = problem
                continue
            try:
                file = _read(root_fd, path)
                problem = _ineffective(root_fd, path, beside)
            except OSError as error:
                problem = why_unreadable(error)
            if f"{base}/{path}" in mounts:
                problem = "is a mount point of its own and cannot be replaced"
            if problem is None:
                files[path] = file
            else:
                problems[path] = problem
    finally:
        os.close(root_fd)
    return Snapshot(files=files, problems=problems)


def _ineffective(root_fd: int, path: str, beside: dict[str, tuple[str, ...]]) -> str | None:
    """Say that the source, there or to be added, is shadowed by an extension module.

    ``beside`` keeps each directory's names.
    """
    directory = path.rpartition("/")[0]
    if directory not in beside:
        try:
            parent, _ = open_parent(root_fd, path)
        except FileNotFoundError:
            beside[directory] = ()
            return None
        try:
            beside[directory] = tuple(os.listdir(parent))
        finally:
            os.close(parent)
    twin = compiled_twin(beside[directory], path)
    return None if twin is None else f"is shadowed by {twin}: a patch on it would not be effective"


def _read(root_fd: int, path: str) -> LiveFile | None:
    found = read_below(root_fd, path)
    if found is None:
        return None
    data, status = found
    meta = FileMeta(
        mode=stat.S_IMODE(status.st_mode), uid=status.st_uid, gid=status.st_gid, mtime_ns=status.st_mtime_ns
    )
    return LiveFile(data=data, meta=meta, sha256=sha256_hex(data))
