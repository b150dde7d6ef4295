"""Hashes of many files below one directory, several at a time: what ``verify`` spends its time on.

Whole directories are handed to threads, large files one by one and first: hashlib lets the other threads run. A file is
never held in memory whole, no link is followed, and nothing is written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from patchctl.disk import NotRegularError, digests_of, open_parent, open_regular
from patchctl.model.listing import Look
from patchctl.target.reading import why_unreadable

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
    """

    path: str
    algorithms: tuple[str, ...]
    size: int = 0


def look_at(root_fd: int, files: Iterable[Wanted], *, progress: Callable[[int], None]) -> dict[str, Look | None]:
    """Return what is at every path of ``files``; None where nothing is.

    Args:
        root_fd: descriptor of the directory that the paths are relative to.
        files: what to look at.
        progress: called with expected bytes when they are done, in the caller's thread.
    """
    groups = _groups(files)
    found: dict[str, Look | None] = {}
    threads = min(_MOST_THREADS, os.cpu_count() or 1)
    hashed = any(wanted.algorithms for _, group in groups for wanted in group)
    if min(len(groups), threads) < _SEVERAL or not hashed:
        for group in groups:
            found.update(_look(root_fd, group))
            progress(_bytes(group))
        return found
    from concurrent.futures import ThreadPoolExecutor, as_completed

    pool = ThreadPoolExecutor(max_workers=threads)
    try:
        waiting = {pool.submit(_look, root_fd, group): group for group in groups}
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


def _look(root_fd: int, group: Group) -> dict[str, Look | None]:
    directory, files = group
    try:
        parent, _ = open_parent(root_fd, f"{directory}/." if directory else ".")
    except FileNotFoundError:
        return dict.fromkeys(wanted.path for wanted in files)
    except OSError as error:
        return {wanted.path: _unreadable(error) for wanted in files}
    try:
        return {wanted.path: _look_at(parent, wanted) for wanted in files}
    finally:
        os.close(parent)


def _look_at(parent: int, wanted: Wanted) -> Look | None:
    try:
        fd, status = open_regular(parent, wanted.path.rpartition("/")[2], wanted.path)
    except FileNotFoundError:
        return None
    except OSError as error:
        return _unreadable(error)
    try:
        return Look(size=status.st_size, mode=status.st_mode & 0o7777, digests=digests_of(fd, wanted.algorithms))
    except OSError as error:
        return _unreadable(error)
    finally:
        os.close(fd)


def _unreadable(error: OSError) -> Look:
    return Look(problem=why_unreadable(error), denied=not isinstance(error, NotRegularError))


def sizes_of(root_fd: int, paths: Sequence[str]) -> dict[str, int]:
    """Return the sizes in bytes of those of ``paths`` that are regular files; they are not opened for their bytes."""
    looks = look_at(root_fd, [Wanted(path=path, algorithms=()) for path in paths], progress=lambda _: None)
    return {path: look.size for path, look in looks.items() if look is not None and look.problem is None}
