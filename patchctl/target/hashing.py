"""Hashes of many files below one directory, several at a time: what ``verify`` spends its time on.

Whole directories are handed to threads, large files one by one and first: hashlib lets the other threads run. A file is
never held in memory whole, no link is followed but to bytes that are listed, and nothing is written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from patchctl.disk import NotRegularError, SparseError, digests_of, open_linked, open_parent, open_regular
from patchctl.model.listing import Look
from patchctl.target.reading import is_link, why_unreadable

_LARGE = 8 << 20
_MOST_THREADS = 8
_SEVERAL = 2
Group = tuple[str, tuple["Wanted", ...]]


class Wanted(NamedTuple):
    """A file to look at.

    Attributes:
        path: POSIX, relative to the directory, without ``..``.
        algorithms: digests that are wanted; empty: size and mode alone.
        size: expected, in bytes; it only orders the work.
        listed: (algorithm, hexadecimal digest) of the bytes that a link in the file's place may lead to; None: a link
            is no file.
    """

    path: str
    algorithms: tuple[str, ...]
    size: int = 0
    listed: tuple[str, str] | None = None


def look_at(root_fd: int, files: Iterable[Wanted], *, progress: Callable[[int], None]) -> dict[str, Look | None]:
    """Return what is at every path of ``files``; None where nothing is.

    Args:
        root_fd: descriptor of the directory that the paths are relative to.
        files: what to look at.
        progress: called with expected bytes when they are done, in the caller's thread.
    """
    groups, owner = _groups(files), os.fstat(root_fd).st_uid
    found: dict[str, Look | None] = {}
    threads = min(_MOST_THREADS, os.cpu_count() or 1)
    hashed = any(wanted.algorithms for _, group in groups for wanted in group)
    if min(len(groups), threads) < _SEVERAL or not hashed:
        for group in groups:
            found.update(_look(root_fd, group, owner))
            progress(_bytes(group))
        return found
    from concurrent.futures import ThreadPoolExecutor, as_completed

    pool = ThreadPoolExecutor(max_workers=threads)
    try:
        waiting = {pool.submit(_look, root_fd, group, owner): group for group in groups}
        for done in as_completed(waiting):
            found.update(done.result())
            progress(_bytes(waiting[done]))
    finally:
        # An interruption must not wait for gigabytes that nobody wants any more.
        pool.shutdown(wait=True, cancel_futures=True)
    return found


def _groups(files: Iterable[Wanted]) -> list[Group]:
    """One group a directory, one a large file, the most bytes first so that no thread ends long after the others."""
    groups: dict[tuple[str, str], list[Wanted]] = {}
    for wanted in files:
        alone = wanted.path if wanted.size >= _LARGE else ""
        groups.setdefault((wanted.path.rpartition("/")[0], alone), []).append(wanted)
    made = [(directory, tuple(group)) for (directory, _), group in groups.items()]
    return sorted(made, key=_bytes, reverse=True)


def _bytes(group: Group) -> int:
    return sum(wanted.size for wanted in group[1])


def _look(root_fd: int, group: Group, owner: int) -> dict[str, Look | None]:
    directory, files = group
    try:
        parent, _ = open_parent(root_fd, f"{directory}/." if directory else ".")
    except FileNotFoundError:
        return dict.fromkeys(wanted.path for wanted in files)
    except OSError as error:
        return {wanted.path: _unreadable(error) for wanted in files}
    try:
        return {wanted.path: _look_at(parent, wanted, owner) for wanted in files}
    finally:
        os.close(parent)


def _look_at(parent: int, wanted: Wanted, owner: int) -> Look | None:
    name = wanted.path.rpartition("/")[2]
    try:
        fd, status = open_regular(parent, name, wanted.path)
    except FileNotFoundError:
        return None
    except OSError as error:
        through = wanted.listed is not None and is_link(error)
        return _look_through(parent, name, wanted, owner) if through else _unreadable(error)
    return _look_into(fd, status, wanted)


def _look_through(parent: int, name: str, wanted: Wanted, owner: int) -> Look:
    """A link counts as the file where it leads to the very bytes that are listed, as everywhere (decision 0013)."""
    try:
        fd, status = open_linked(parent, name, wanted.path, {owner})
    except OSError as error:
        return _unreadable(error)
    if wanted.listed is not None:
        # also where only sizes were asked for: nothing is said of what a link leads to but that it is the file
        wanted = wanted._replace(algorithms=tuple(dict.fromkeys((*wanted.algorithms, wanted.listed[0]))))
    look = _look_into(fd, status, wanted)
    if look.problem is None and look.digests and not {wanted.listed} & {*look.digests.items()}:
        return Look(problem="is a symbolic link whose target does not have the bytes that are listed for it")
    return look


def _look_into(fd: int, status: os.stat_result, wanted: Wanted) -> Look:
    try:
        return Look(size=status.st_size, mode=status.st_mode & 0o7777, digests=digests_of(fd, wanted.algorithms))
    except OSError as error:
        return _unreadable(error)
    finally:
        os.close(fd)


def _unreadable(error: OSError) -> Look:
    unread = isinstance(error, SparseError) or not isinstance(error, NotRegularError)
    return Look(problem=why_unreadable(error), denied=unread)


def sizes_of(root_fd: int, paths: Sequence[str]) -> dict[str, int]:
    """Return the sizes in bytes of those of ``paths`` that are regular files; they are not opened for their bytes."""
    looks = look_at(root_fd, [Wanted(path=path, algorithms=()) for path in paths], progress=lambda _: None)
    return {path: look.size for path, look in looks.items() if look is not None and look.problem is None}
