"""The way to a file that the operator named: each directory is opened below the last one, each link judged and read.

The kernel's own walk follows whatever link is there. Where root is to write, another user's link would choose the
place. What lies at the end, and which places are out of bounds, is not known here.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection
from typing import NamedTuple

from patchctl.disk.others import doubt_about

_PLACE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_LINKS = 40
"""As many as the kernel follows (path_resolution(7))."""


class StrangeLinkError(OSError):
    """A link on the way belongs to another user, who could lead the caller anywhere.

    Attributes:
        link: where it lies, absolute or as far as the caller named it.
        uid: whose it is.
    """

    def __init__(self, link: str, uid: int) -> None:
        super().__init__(errno.ELOOP, "is a symbolic link of another user", link)
        self.link, self.uid = link, uid


class _Link(NamedTuple):
    text: str
    uid: int


def open_way(path: str, owners: Collection[int] | None, *, through: bool) -> tuple[int, str]:
    """Walk to the directory that holds ``path`` and return (a descriptor of it, the last component).

    A link of one of ``owners`` is followed, and so is one in a directory in which they alone may put anything. A link's
    text is read of what was looked at, so that nobody can put another one between the two.

    Args:
        path: absolute, or relative to the working directory.
        owners: uids; None: every link is followed, as the kernel does.
        through: a link in the last place is followed too; otherwise it is for the caller to see.

    Raises:
        StrangeLinkError: a link of somebody else is on the way.
        OSError: a directory is not there or may not be entered; it is no name of a file; too many links.
    """
    waiting = _parts(path)
    current, seen = _start(path)
    followed = 0
    try:
        while waiting:
            part = waiting.pop()
            link = _link_at(current, part) if waiting or through else None
            if link is not None:
                where = f"{seen}{part}"
                if owners is not None and link.uid not in owners and _others_write(current, seen, owners):
                    raise StrangeLinkError(where, link.uid)
                followed += 1
                if followed > _MOST_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), where)
                waiting += _parts(link.text)
                if link.text.startswith("/"):
                    os.close(current)
                    current, seen = _start("/")
            elif waiting:
                following = os.open(part, _PLACE | os.O_DIRECTORY, dir_fd=current)
                os.close(current)
                current, seen = following, f"{seen}{part}/"
            else:
                return os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=current), _name(part)
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    finally:
        os.close(current)


def _start(path: str) -> tuple[int, str]:
    top = "/" if path.startswith("/") else "."
    return os.open(top, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC), top.removeprefix(".")


def _parts(path: str) -> list[str]:
    """The components, the first one last."""
    return [part for part in reversed(path.split("/")) if part not in {"", "."}]


def _name(part: str) -> str:
    if part == "..":
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), part)
    return part


def _link_at(directory: int, name: str) -> _Link | None:
    """The link that is there; None: something else, or nothing."""
    try:
        fd = os.open(name, _PLACE, dir_fd=directory)
    except FileNotFoundError:
        return None
    try:
        status = os.fstat(fd)
        return _Link(os.readlink("", dir_fd=fd), status.st_uid) if stat.S_ISLNK(status.st_mode) else None
    finally:
        os.close(fd)


def _others_write(directory: int, path: str, owners: Collection[int]) -> bool:
    """Whether anybody else may put something into the directory, which is open without any right to it."""
    status = os.fstat(directory)
    return doubt_about(status, path, owners, place=f"/proc/self/fd/{directory}", group=False) is not None
