"""Walk to a file below a directory by descriptor: every directory on the way is a real one."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from patchctl.model.paths import place_problem

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DEEPEST = 100
"""Directories within each other that a walk enters: no package has so many, and each costs a descriptor."""


class NotRegularError(OSError):
    """Something is at the path, but not a regular file reached through real directories."""


class Roots(NamedTuple):
    """A site of which some top-level names lie elsewhere: the packages of an editable install.

    Attributes:
        site: descriptor of the site directory.
        grafts: top-level name -> descriptor of the directory that really holds it.
    """

    site: int
    grafts: Mapping[str, int]

    def of(self, path: str) -> int:
        """Return the descriptor that ``path`` (POSIX, relative) starts from."""
        return self.grafts.get(path.partition("/")[0], self.site)


Root = int | Roots
"""Where a path starts: one directory, or a site with some packages elsewhere."""


def open_root(root: str) -> int:
    """Return a descriptor of the directory ``root`` (absolute; its own links are followed: the caller chose it)."""
    return os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def open_parent(root_fd: Root, path: str) -> tuple[int, str]:
    """Walk to the directory that holds ``path`` and return (its descriptor, the last component).

    Args:
        root_fd: where ``path`` starts; its descriptors stay open.
        path: POSIX, relative; it may end in ``.``, for a directory itself.

    Raises:
        FileNotFoundError: a directory on the way is not there.
        NotRegularError: a component on the way is a link or no directory, or it is no path below a directory.
    """
    # Here everything passes that is read or written below a site: nothing climbs, whoever forgot to look.
    problem = None if path == "." else place_problem(path.removesuffix("/."))
    if problem is not None:
        raise NotRegularError(errno.EINVAL, problem, path)
    *parents, name = path.split("/")
    current = os.dup(root_fd.of(path) if isinstance(root_fd, Roots) else root_fd)
    try:
        for part in parents:
            current = _step(current, part, path)
    except BaseException:
        os.close(current)
        raise
    return current, name


def _step(current: int, part: str, path: str) -> int:
    """Open directory ``part`` below ``current``, which is closed on success."""
    try:
        following = os.open(part, _DIRECTORY, dir_fd=current)
    except OSError as error:
        # Linux answers ENOTDIR for a link opened with O_DIRECTORY | O_NOFOLLOW, ELOOP elsewhere.
        if error.errno in {errno.ELOOP, errno.ENOTDIR}:
            raise NotRegularError(
                error.errno, f"the directory {part!r} on its way {describe(current, part)}", path
            ) from None
        raise
    os.close(current)
    return following


def walk_below(root_fd: int, top: str) -> Iterator[tuple[str, list[str], list[str], int]]:
    """Walk a directory and what is below it from the top down, through real directories alone.

    ``os.fwalk`` opens before it looks: a FIFO in the place of its top keeps it waiting for ever, a link leads it out.

    Args:
        root_fd: where ``top`` starts; it stays open.
        top: POSIX, relative, without ``..``.

    Yields:
        The directory's path, relative to ``root_fd``; the names of the directories in it, of which the caller may take
        some out; all other names, links among them; and its descriptor, which is closed afterwards.

    Raises:
        OSError: ``top`` is no real directory, or may not be entered. What may not be entered below it is left out.
    """
    parent, name = open_parent(root_fd, top)
    try:
        fd = os.open(name, _DIRECTORY, dir_fd=parent)
    finally:
        os.close(parent)
    yield from _walk(fd, top, _DEEPEST)


def _walk(fd: int, path: str, depth: int) -> Iterator[tuple[str, list[str], list[str], int]]:
    """Walk an open directory, and close it."""
    try:
        with os.scandir(fd) as entries:
            kinds = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        inside = [name for name, is_directory in kinds if is_directory]
        yield path, inside, [name for name, is_directory in kinds if not is_directory], fd
        for name in inside if depth else ():
            try:
                following = os.open(name, _DIRECTORY, dir_fd=fd)
            except OSError:
                continue
            yield from _walk(following, f"{path}/{name}", depth - 1)
    finally:
        os.close(fd)


def describe(parent: int, name: str) -> str:
    """Return what is wrong with ``name``, as a phrase that follows a path."""
    try:
        mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
    except OSError:
        return "changed while it was read"
    return "is a symbolic link" if stat.S_ISLNK(mode) else "is not what it should be"


def look_below(site: str, path: str) -> os.stat_result | None:
    """Return the status of what is at ``path`` itself, a link included; None: nothing, or nothing that can be seen.

    Args:
        site: the directory, absolute.
        path: POSIX, relative; what lies behind a link is not seen.
    """
    try:
        root_fd = open_root(site)
    except OSError:
        return None
    try:
        parent, name = open_parent(root_fd, path)
        try:
            return os.stat(name, dir_fd=parent, follow_symlinks=False)
        finally:
            os.close(parent)
    except OSError:
        return None
    finally:
        os.close(root_fd)
