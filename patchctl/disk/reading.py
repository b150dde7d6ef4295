"""Read a file at the end of such a walk: a regular one, and never through a link."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from typing import NamedTuple

from patchctl.disk.walking import NotRegularError, Root, describe, open_parent

LARGEST = 64 << 20
"""Bytes; what is larger is not read into memory."""

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NO_XATTRS = frozenset({errno.ENOTSUP, errno.ENOSYS})
_NEVER_CARRIED = frozenset({"security.capability", "security.ima", "security.evm"})


class Found(NamedTuple):
    """A file that was read.

    Attributes:
        data: its bytes.
        status: of the regular file that has them.
        xattrs: extended attributes of that file which another one may carry.
        link: text of the link in its place; None: the file itself is there.
        link_status: of that link.
    """

    data: bytes
    status: os.stat_result
    xattrs: Mapping[str, bytes]
    link: str | None = None
    link_status: os.stat_result | None = None


def read_below(root_fd: Root, path: str, *, limit: int = LARGEST) -> tuple[bytes, os.stat_result] | None:
    """Return the bytes and status of the regular file at ``path``; None when nothing is there.

    Args:
        root_fd: where ``path`` starts.
        path: POSIX, relative, without ``..``.
        limit: largest size in bytes that is read.

    Raises:
        NotRegularError: a link, directory, FIFO or device is there, or the file is larger than ``limit``.
        OSError: the system refused (permission, input/output error).
    """
    fd = _open_file(root_fd, path)
    if fd is None:
        return None
    try:
        return read_open(fd, path, limit)
    finally:
        os.close(fd)


def read_whole(root_fd: Root, path: str) -> Found | None:
    """Return the regular file at ``path`` with its extended attributes; as :func:`read_below`."""
    fd = _open_file(root_fd, path)
    if fd is None:
        return None
    try:
        data, status = read_open(fd, path, LARGEST)
        return Found(data=data, status=status, xattrs=attributes(fd))
    finally:
        os.close(fd)


def attributes(fd: int) -> dict[str, bytes]:
    """Return the extended attributes of an open file that another one may carry.

    File capabilities are never given away, and what vouches for the old bytes (IMA, EVM) is no word for the new ones.
    """
    try:
        return {key: os.getxattr(fd, key) for key in os.listxattr(fd) if key not in _NEVER_CARRIED}
    except OSError as error:
        if error.errno in _NO_XATTRS:
            return {}
        raise


def _open_file(root_fd: Root, path: str) -> int | None:
    try:
        parent, name = open_parent(root_fd, path)
    except FileNotFoundError:
        return None
    try:
        return os.open(name, _FILE, dir_fd=parent)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENXIO, errno.ENODEV}:
            raise NotRegularError(error.errno, describe(parent, name), path) from None
        raise
    finally:
        os.close(parent)


def read_open(fd: int, path: str, limit: int) -> tuple[bytes, os.stat_result]:
    """Return bytes and status of an open file; ``path`` is for messages. Raises as :func:`read_below`."""
    status = os.fstat(fd)
    # Looked at before fdopen, which refuses a directory with an error of its own and leaves it open.
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularError(errno.EINVAL, "is not a regular file", path)
    if status.st_size > limit:
        raise NotRegularError(errno.EFBIG, f"is larger than {limit} bytes", path)
    with os.fdopen(fd, "rb", closefd=False) as stream:
        # Asking for the limit itself would allocate it, however small the file is.
        return stream.read(status.st_size + 1), status
