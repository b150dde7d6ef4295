"""Opens one log and gives its bytes in blocks, decompressed, in constant memory.

Compression is told by the first bytes, not by the name. A block is never larger than asked for, however well it was
packed; windows larger than 128 MiB are refused.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from patchctl.errors import PatchctlError
from patchctl.logs.frames import Frames
from patchctl.logs.holes import BLOCK, read_on
from patchctl.logs.source import Gunzip, Source, Watched

_WINDOW_LOG = 27
_MEMORY = 1 << 28
"""For xz: a window of 128 MiB and what its decoder needs beside it."""
_GZIP, _XZ, _ZSTD = b"\x1f\x8b", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"
_LONGEST_MAGIC = 6
_SMALL = 1 << 12
"""Bytes that a decoder is given at a time: what it leaves, because a part of the file ends there, is read again."""

Progress = Callable[[int], None]


class LogError(PatchctlError):
    """A log cannot be read, or not to its end."""


class OpenLog(NamedTuple):
    """A log that is open.

    Attributes:
        name: as it was given.
        fd: to read from.
        size: bytes on the disk; None: nobody knows.
        written: seconds since 1970: when it was last written.
        inode: device and inode; None for a pipe.
    """

    name: str
    fd: int
    size: int | None
    written: int
    inode: tuple[int, int] | None

    def close(self) -> None:
        """Close it; standard input stays open."""
        if self.fd > 0:
            os.close(self.fd)

    def blocks(self, progress: Progress) -> Iterator[bytes]:
        """Give its bytes without their compression; ``progress`` is told how many were read from the disk.

        Raises:
            LogError: reading failed, or the compressed data is damaged or ends too early; what came before was given.
        """
        raw = _raw(self, progress)
        head = b""
        while len(head) < _LONGEST_MAGIC:
            more = next(raw, b"")
            if not more:
                break
            head += more
        packed = _unpacked(self.name, head, raw)
        if packed is None:
            yield from _plain(self, head, progress)
            return
        try:
            yield from packed
        except LogError:
            raise
        except Exception as error:  # each library has errors of its own, which share no root
            raise _damaged(self.name, f"the compressed data is damaged: {error}") from error


def open_log(path: str) -> OpenLog:
    """Open a regular file; a link to one is followed, since container runtimes name logs by links.

    Raises:
        LogError: it is not there, no regular file, or may not be read.
    """
    try:
        # A FIFO must not hang the opening.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError as error:
        raise LogError("cannot-read-log", f"{path} cannot be read: {error.strerror}", path=path) from None
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        os.close(fd)
        what = "a directory" if stat.S_ISDIR(status.st_mode) else "no regular file"
        hint = "name the files, or a glob" if stat.S_ISDIR(status.st_mode) else "send it through a pipe: - reads it"
        raise LogError("cannot-read-log", f"{path} is {what}", hint=hint, path=path)
    inode = (status.st_dev, status.st_ino)
    return OpenLog(name=path, fd=fd, size=status.st_size, written=int(status.st_mtime), inode=inode)


def open_stdin() -> OpenLog:
    """Take standard input; what comes from it counts as written now."""
    return OpenLog(name="-", fd=0, size=None, written=int(time.time()), inode=None)


def _plain(log: OpenLog, head: bytes, progress: Progress) -> Iterator[bytes]:
    """Go on behind ``head`` in a log without compression; of compressed data every zero counts."""
    try:
        for piece, passed in read_on(log.fd, head):
            progress(passed)
            if piece:
                yield piece
    except OSError as error:
        raise _stopped(log, error) from None


def _raw(log: OpenLog, progress: Progress) -> Iterator[bytes]:
    while True:
        try:
            data = os.read(log.fd, BLOCK)
        except OSError as error:
            raise _stopped(log, error) from None
        if not data:
            return
        progress(len(data))
        yield data


def _unpacked(name: str, head: bytes, raw: Iterator[bytes]) -> Iterator[bytes] | None:
    source = Source(head, raw)
    if head.startswith(_GZIP):
        return _decoded(name, source, Gunzip, _GZIP)
    if head.startswith(_XZ):
        import lzma

        return _decoded(name, source, lambda: lzma.LZMADecompressor(memlimit=_MEMORY), _XZ)
    if head.startswith(_ZSTD):
        return _zstd(name, source)
    return None


def _decoded(name: str, source: Source, make: Callable[[], Any], magic: bytes) -> Iterator[bytes]:
    """Decode with objects of the interface that lzma and compression.zstd share, one for each part of the file."""
    decoder = make()
    while True:
        piece = source.read(_SMALL) if decoder.needs_input else b""
        if decoder.needs_input and not piece:
            raise _damaged(name, "the compressed data ends too early")
        block = decoder.decompress(piece, BLOCK)
        if block:
            yield block
        if decoder.eof:
            source.back(len(decoder.unused_data))
            begin = source.behind_padding(len(magic))  # as gzip itself allows
            if not begin:
                return
            if begin != magic:
                raise _damaged(name, "behind the compressed data stands something else")
            decoder = make()


def _zstd(name: str, source: Source) -> Iterator[bytes]:
    import sys

    if sys.version_info >= (3, 14):
        from compression import zstd

        options = {zstd.DecompressionParameter.window_log_max: _WINDOW_LOG}
        return _decoded(name, source, lambda: zstd.ZstdDecompressor(options=options), _ZSTD)
    try:
        import zstandard
    except ImportError:
        hint = "pip install 'patchctl[zstd]', or Python 3.14, or send it through a pipe: zstdcat FILE | patchctl hits -"
        message = f"{name} is compressed with zstd, which this Python cannot read without the package zstandard"
        raise LogError("no-zstd", message, hint=hint, path=name) from None
    decoder = zstandard.ZstdDecompressor(max_window_size=1 << _WINDOW_LOG)
    return _framed(name, decoder, source)


def _framed(name: str, decoder: Any, source: Source) -> Iterator[bytes]:
    frames = Frames()
    reader = decoder.stream_reader(Watched(source, frames), read_size=BLOCK, read_across_frames=True)
    while block := reader.read(BLOCK):
        yield block
    if not frames.whole:
        raise _damaged(name, "the compressed data ends too early")


def _stopped(log: OpenLog, error: OSError) -> LogError:
    return _damaged(log.name, f"reading stopped: {error.strerror}")


def _damaged(name: str, what: str) -> LogError:
    return LogError("log-cut-short", f"{name}: {what}; what came before was counted", path=name)
