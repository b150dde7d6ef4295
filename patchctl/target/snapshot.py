"""The files that patches, evidence and ledger name, as they are at one moment."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping

from patchctl.disk import (
    Found,
    NotRegularError,
    Roots,
    beside,
    beside_by_stem,
    compiled_twin,
    mount_points,
    open_parent,
    read_linked,
    read_whole,
)
from patchctl.model.files import FileMeta, Link, LiveFile, sha256_hex
from patchctl.model.paths import path_problem
from patchctl.model.target import Snapshot, Target, listed_sha256
from patchctl.target.reading import is_link, open_target, why_unreadable


def read_snapshot(target: Target, paths: Iterable[str]) -> Snapshot:
    """Return every file that ``paths`` (POSIX, relative to the site) name; None where nothing is there.

    What is no regular file reached through real directories, may not be read, is too large, has no harmless name, is
    mounted by itself, or is not what Python imports because a compiled module lies beside it, is in ``problems`` with
    the reason (a phrase that follows the path), and not in ``files``. A link in a file's place is read through where it
    leads to the very bytes that RECORD lists for it (uv's symlink mode).

    Raises:
        TargetError: the site directory itself cannot be read.
    """
    files: dict[str, LiveFile | None] = {}
    problems: dict[str, str] = {}
    names: dict[str, Mapping[str, tuple[str, ...]]] = {}
    mounts = mount_points()
    grafts = target.grafts
    bases = {top: os.path.realpath(directory) for top, directory in grafts.items()}
    site = os.path.realpath(target.site)
    with open_target(target.site, grafts) as roots:
        for path in dict.fromkeys(paths):
            problem = path_problem(path)
            if problem is not None:
                problems[path] = problem
                continue
            try:
                file = _read(roots, path, target)
                problem = _ineffective(roots, path, file, names)
            except OSError as error:
                problem = why_unreadable(error)
            if f"{bases.get(path.partition('/')[0], site)}/{path}" in mounts:
                problem = "is a mount point of its own and cannot be replaced"
            if problem is None:
                files[path] = file
            else:
                problems[path] = problem
    return Snapshot(files=files, problems=problems)


def _ineffective(
    roots: Roots, path: str, file: LiveFile | None, names: dict[str, Mapping[str, tuple[str, ...]]]
) -> str | None:
    """Say that the source, there or to be added, is not what Python runs; ``names`` keeps what lies in a directory."""
    directory, _, name = path.rpartition("/")
    if directory not in names:
        try:
            parent, _ = open_parent(roots, path)
        except NotRegularError:
            return None
        except FileNotFoundError:
            names[directory] = {}
            return None
        try:
            names[directory] = beside_by_stem(os.listdir(parent))
        finally:
            os.close(parent)
    compiled = f"{name.removesuffix('.py')}.pyc"
    around = beside(names[directory], path)
    if file is None and name.endswith(".py") and compiled in around:
        return f"has no source here: there is only {compiled}, and byte code is not patched"
    twin = compiled_twin(around, path)
    return None if twin is None else f"is shadowed by {twin}: a patch on it would not be effective"


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
