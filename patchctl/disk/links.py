"""Read through a link in the last place, for a caller who knows the hash of what it must lead to."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Collection

from patchctl.disk.reading import LARGEST, Found, attributes, read_open
from patchctl.disk.walking import NotRegularError, Root, open_parent

_THROUGH = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def read_linked(
    root_fd: Root, path: str, sha256s: Collection[str], owners: Collection[int], *, limit: int = LARGEST
) -> Found:
    """Read through the symbolic link at ``path``, as uv makes them into its cache (``--link-mode=symlink``).

    The link may lead anywhere, so that it is followed only to bytes which the caller can name already: nothing is
    shown or patched that the installer did not list. As root, a link that somebody else made is not followed at all:
    he made RECORD too, and would learn by guessing hashes. Decision 0013.

    Args:
        root_fd: where ``path`` starts; directories on its way must be real.
        path: POSIX, relative, without ``..``.
        sha256s: of the bytes it may lead to, lower-case hexadecimal.
        owners: uids that the file may belong to, besides root and the caller.
        limit: largest size in bytes that is read.

    Raises:
        NotRegularError: there is no link, or it does not lead to such bytes in a regular file of such an owner.
        OSError: the system refused.
    """
    parent, name = open_parent(root_fd, path)
    try:
        link_status, link = _link(parent, name, path)
        _refuse_strange(link_status, path)
        fd = _open_through(parent, name, path, {0, os.geteuid(), *owners})
        try:
            data, status = read_open(fd, path, limit)
            xattrs = attributes(fd)
        finally:
            os.close(fd)
        if hashlib.sha256(data).hexdigest() not in sha256s:
            raise _bad_link("whose target does not have the bytes that are listed for it", path)
        again, _ = _link(parent, name, path)
    finally:
        os.close(parent)
    if (again.st_dev, again.st_ino, again.st_ctime_ns) != (
        link_status.st_dev,
        link_status.st_ino,
        link_status.st_ctime_ns,
    ):
        raise _bad_link("that changed while it was read", path)
    return Found(data=data, status=status, xattrs=xattrs, link=link, link_status=link_status)


def open_linked(parent: int, name: str, path: str, owners: Collection[int]) -> tuple[int, os.stat_result]:
    """Return a descriptor for reading of the regular file that the link ``name`` leads to, and its status.

    For a caller who hashes it: what does not have the bytes that are listed is nobody's business. As of
    :func:`read_linked`, but of any size.

    Args:
        parent: descriptor of the directory, from ``open_parent``; it stays open.
        name: one component.
        path: what messages call the file.
        owners: uids that the file may belong to, besides root and the caller.

    Raises:
        NotRegularError: it does not lead to a regular file of such an owner.
        OSError: the system refused.
    """
    _refuse_strange(os.stat(name, dir_fd=parent, follow_symlinks=False), path)
    fd = _open_through(parent, name, path, {0, os.geteuid(), *owners})
    return fd, os.fstat(fd)


def leads_to(root_fd: Root, path: str, text: str, sha256s: Collection[str], owners: Collection[int]) -> bool:
    """Return whether a link with ``text``, were it at ``path``, would be read through by :func:`read_linked`."""
    try:
        parent, _ = open_parent(root_fd, path)
        try:
            fd = _open_through(parent, text, path, {0, os.geteuid(), *owners})
        finally:
            os.close(parent)
        try:
            data, _ = read_open(fd, path, LARGEST)
        finally:
            os.close(fd)
    except (OSError, ValueError):
        return False
    return hashlib.sha256(data).hexdigest() in sha256s


def link_text(root_fd: Root, path: str) -> str | None:
    """Return the text of the symbolic link at ``path``; None when something else, or nothing, is there."""
    try:
        parent, name = open_parent(root_fd, path)
    except FileNotFoundError:
        return None
    try:
        return os.readlink(name, dir_fd=parent)
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.EINVAL}:
            return None
        raise
    finally:
        os.close(parent)


def _link(parent: int, name: str, path: str) -> tuple[os.stat_result, str]:
    status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if not stat.S_ISLNK(status.st_mode):
        raise NotRegularError(errno.EINVAL, "is no symbolic link any more", path)
    return status, os.readlink(name, dir_fd=parent)


def _refuse_strange(link: os.stat_result, path: str) -> None:
    """Refuse a link of another user for root, who may read what that user may not."""
    if os.geteuid() == 0 and link.st_uid != 0:
        raise _bad_link("of another user, which root does not follow", path)


def _open_through(parent: int, name: str, path: str, owners: Collection[int]) -> int:
    """Open what a link leads to; a device or a FIFO is never opened, not even to see that it is one."""
    try:
        place = os.open(name, os.O_PATH | os.O_CLOEXEC, dir_fd=parent)
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES}:
            raise _bad_link("that leads nowhere", path) from None
        raise
    try:
        status = os.fstat(place)
        if not stat.S_ISREG(status.st_mode):
            raise _bad_link("that leads to no regular file", path)
        if status.st_uid not in owners or status.st_mode & stat.S_IWOTH:
            raise _bad_link("to a file that somebody else may write", path)
        return os.open(f"/proc/self/fd/{place}", _THROUGH)
    except FileNotFoundError:
        raise _bad_link("that cannot be followed without /proc", path) from None
    finally:
        os.close(place)


def _bad_link(what: str, path: str) -> NotRegularError:
    return NotRegularError(errno.ELOOP, f"is a symbolic link {what}", path)
