"""Read a file at the end of such a walk: a regular one, and never through a link."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from patchctl.disk.walking import NotRegularError, Root, describe, open_parent

LARGEST = 64 << 20
"""Bytes; what is larger is not read into memory."""

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_BLOCK = 1 << 18
_LARGE = 1 << 30
_MOST_STATED = 64
"""Times what is on the disk; file systems that compress make less of source and machine code."""
_SECTOR = 512
_NOT_WORTH_A_LOOK = 1 << 16
_NO_XATTRS = frozenset({errno.ENOTSUP, errno.ENOSYS})
_NEVER_CARRIED = frozenset({"security.capability", "security.ima", "security.evm"})


class SparseError(NotRegularError):
    """A file says that it is large, and hardly any of it is on the disk."""


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


def read_below(
    root_fd: Root, path: str, *, limit: int = LARGEST, look: Callable[[int], None] | None = None
) -> tuple[bytes, os.stat_result] | None:
    """Return the bytes and status of the regular file at ``path``; None when nothing is there.

    Args:
        root_fd: where ``path`` starts.
        path: POSIX, relative, without ``..``.
        limit: largest size in bytes that is read.
        look: gets the descriptor before anything is read, and raises what is raised.

    Raises:
        NotRegularError: a link, directory, FIFO or device is there, or the file is larger than ``limit``.
        OSError: the system refused (permission, input/output error).
    """
    fd = _open_file(root_fd, path)
    if fd is None:
        return None
    try:
        if look is not None:
            look(fd)
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


def digests_of(fd: int, algorithms: Collection[str]) -> dict[str, str]:
    """Return the hexadecimal digests of an open file from where it stands to its end, however large it is.

    A few blocks of memory are used, and hashlib lets other threads run while it works on one.

    Args:
        fd: descriptor, open for reading.
        algorithms: names that ``hashlib.new`` knows; empty: nothing is read.

    Raises:
        SparseError: a hole costs nothing to make, and one of terabytes keeps whoever hashes it for hours.
        OSError: the system refused.
    """
    hashes = {name: hashlib.new(name, usedforsecurity=False) for name in algorithms}
    if not hashes:
        return {}
    _refuse_sparse(os.fstat(fd))
    block = memoryview(bytearray(_BLOCK))
    while count := os.readv(fd, [block]):
        for running in hashes.values():
            running.update(block[:count])
    return {name: running.hexdigest() for name, running in hashes.items()}


def refuse_hole(fd: int) -> None:
    """Refuse an open text of some size with a hole in it, which is none: for ``look`` of :func:`read_below`.

    Thousands of them, of the largest size that is read, take no place, and minutes to read.

    Raises:
        NotRegularError: it has a hole. A file system that knows of none says that there is none.
    """
    size = os.fstat(fd).st_size
    if size <= _NOT_WORTH_A_LOOK:
        return
    try:
        hole = os.lseek(fd, 0, os.SEEK_HOLE)
    except OSError:
        hole = size
    os.lseek(fd, 0, os.SEEK_SET)
    if hole < size:
        raise NotRegularError(errno.EINVAL, "has a hole in it, as no text has", None)


def _refuse_sparse(status: os.stat_result) -> None:
    size, stored = status.st_size, status.st_blocks * _SECTOR
    if size > _LARGE and size > _MOST_STATED * stored:
        raise SparseError(errno.EFBIG, f"was not hashed: of its {size:,} bytes {stored:,} are on the disk", None)


def open_regular(parent: int, name: str, path: str) -> tuple[int, os.stat_result]:
    """Return a descriptor for reading of the regular file ``name`` in the directory ``parent``, and its status.

    Args:
        parent: descriptor of the directory, from ``open_parent``; it stays open.
        name: one component.
        path: what messages call the file.

    Raises:
        FileNotFoundError: nothing is there.
        NotRegularError: a link, directory, FIFO or device is there.
        OSError: the system refused (permission, input/output error).
    """
    # Opening is not free of effects: it wakes whoever waits at a FIFO, and some devices act on it.
    mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
    if stat.S_ISLNK(mode):
        raise NotRegularError(errno.ELOOP, "is a symbolic link", path)
    if not stat.S_ISREG(mode):
        raise NotRegularError(errno.EINVAL, "is not a regular file", path)
    try:
        fd = os.open(name, _FILE, dir_fd=parent)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENXIO, errno.ENODEV}:
            raise NotRegularError(error.errno, describe(parent, name), path) from None
        raise
    try:
        return fd, _regular_status(fd, path)
    except BaseException:
        os.close(fd)
        raise


def _open_file(root_fd: Root, path: str) -> int | None:
    try:
        parent, name = open_parent(root_fd, path)
    except FileNotFoundError:
        return None
    try:
        return open_regular(parent, name, path)[0]
    except FileNotFoundError:
        return None
    finally:
        os.close(parent)


def _regular_status(fd: int, path: str) -> os.stat_result:
    status = os.fstat(fd)
    # Looked at before fdopen, which refuses a directory with an error of its own and leaves it open.
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularError(errno.EINVAL, "is not a regular file", path)
    return status


def read_open(fd: int, path: str, limit: int) -> tuple[bytes, os.stat_result]:
    """Return bytes and status of an open file; ``path`` is for messages. Raises as :func:`read_below`."""
    status = _regular_status(fd, path)
    if status.st_size > limit:
        raise NotRegularError(errno.EFBIG, f"is larger than {limit} bytes", path)
    with os.fdopen(fd, "rb", closefd=False) as stream:
        # Asking for the limit itself would allocate it, however small the file is.
        return stream.read(status.st_size + 1), status
