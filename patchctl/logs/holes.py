"""Reads on in a file and passes over its holes: places where nothing was ever written, which read as zeros.

A log gets one when it is truncated under a writer that goes on where it was (logrotate's ``copytruncate``, a writer
without O_APPEND), and whoever makes one of terabytes pays nothing for it. One NUL stands for a hole and the zeros
around it, so that what is before it and what is behind it are no line together.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

BLOCK = 1 << 16
"""Bytes of a piece: small enough that memory for it is not asked of the kernel, and given back, each time."""
_NUL = b"\0"
_SECTOR = 512


def read_on(fd: int, begun: bytes = b"") -> Iterator[tuple[bytes, int]]:
    """Give what is in an open file from where it stands to its end, piece by piece.

    Args:
        fd: its descriptor; a pipe has no holes.
        begun: the last bytes that were read of it; they are given too, and not counted.

    Yields:
        A piece, which may be empty, and how many bytes of the file it stands for.

    Raises:
        OSError: reading failed.
    """
    behind_hole = False
    data, count = begun, 0
    if not data:
        data = os.read(fd, BLOCK)
        count = len(data)
    while data:
        if behind_hole:
            data = data.lstrip(_NUL)  # a hole ends where a block of the file system does
        text = data.rstrip(_NUL)
        # Logs have no zeros: none of this costs anything where nothing is odd.
        passed = _pass(fd, len(data) - len(text)) if len(text) < len(data) or not data else 0
        if passed:
            data = text if behind_hole and not text else text + _NUL
        behind_hole = bool(passed) or (behind_hole and not data)
        yield data, count + passed
        data = os.read(fd, BLOCK)
        count = len(data)


def _pass(fd: int, zeros: int) -> int:
    """Go over the hole that begins among the last ``zeros`` bytes that were read; return how far. 0: there is none."""
    status = os.fstat(fd)
    if status.st_blocks * _SECTOR >= status.st_size:
        return 0
    at = os.lseek(fd, 0, os.SEEK_CUR)
    target = at
    try:
        hole = os.lseek(fd, at - zeros, os.SEEK_HOLE)
        if hole <= at:
            target = max(at, _data_behind(fd, hole, status.st_size))
    except OSError:
        pass  # a file system without holes, or a pipe that says it has a size
    finally:
        os.lseek(fd, target, os.SEEK_SET)
    return target - at


def _data_behind(fd: int, hole: int, end: int) -> int:
    """Return where data begins again; ``end``, asked for earlier, where none did when it was looked for."""
    try:
        return os.lseek(fd, hole, os.SEEK_DATA)
    except OSError as error:
        if error.errno == errno.ENXIO:
            return end
        raise
