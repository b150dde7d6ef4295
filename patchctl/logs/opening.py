"""Opens one log and gives its bytes in blocks, decompressed, in constant memory.

Compression is told by the first bytes, not by the name. A block is never larger than asked for, however well it was
packed; windows larger than 128 MiB are refused.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

from patchctl.errors import PatchctlError
from patchctl.logs.zstd_frames import Frames

BLOCK = 1 << 20
_PIECE = 1 << 16
_WINDOW_LOG = 27
_MEMORY = 1 << 28
"""For xz: a window of 128 MiB and what its decoder needs beside it."""
_GZIP, _XZ, _ZSTD = b"\x1f\x8b", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"
_LONGEST_MAGIC = 6
_AUTOMATIC_GZIP = 31

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
            yield head
            yield from raw
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


def _raw(log: OpenLog, progress: Progress) -> Iterator[bytes]:
    while True:
        try:
            data = os.read(log.fd, BLOCK)
        except OSError as error:
            raise _damaged(log.name, f"reading stopped: {error.strerror}") from None
        if not data:
            return
        progress(len(data))
        yield data


def _unpacked(name: str, head: bytes, raw: Iterator[bytes]) -> Iterator[bytes] | None:
    if head.startswith(_GZIP):
        return _gunzipped(name, head, raw)
    if head.startswith(_XZ):
        import lzma

        return _decoded(name, head, raw, lambda: lzma.LZMADecompressor(memlimit=_MEMORY), _XZ)
    if head.startswith(_ZSTD):
        return _zstd(name, head, raw)
    return None


def _gunzipped(name: str, head: bytes, raw: Iterator[bytes]) -> Iterator[bytes]:
    import zlib

    data, decoder = head, zlib.decompressobj(_AUTOMATIC_GZIP)
    while True:
        block = decoder.decompress(data, BLOCK)
        if block:
            yield block
        if decoder.eof:
            data = decoder.unused_data.lstrip(b"\0") or next(raw, b"").lstrip(b"\0")
            if not data.startswith(_GZIP[: len(data)]) or not data:
                return  # padding behind the last member, as gzip itself allows
            decoder = zlib.decompressobj(_AUTOMATIC_GZIP)
            continue
        data = decoder.unconsumed_tail or (next(raw, b"") if not block or len(block) < BLOCK else b"")
        if not data and not block:
            raise _damaged(name, "the compressed data ends too early")


def _decoded(name: str, head: bytes, raw: Iterator[bytes], make: Callable[[], Any], magic: bytes) -> Iterator[bytes]:
    """Decode with an object of the interface that lzma and compression.zstd share."""
    data, decoder = head, make()
    while True:
        block = decoder.decompress(data, BLOCK)
        if block:
            yield block
        data = b""
        if decoder.eof:
            data = decoder.unused_data.lstrip(b"\0") or next(raw, b"").lstrip(b"\0")
            if not data or not data.startswith(magic[: len(data)]):
                return
            decoder = make()
        elif decoder.needs_input:
            data = next(raw, b"")
            if not data:
                raise _damaged(name, "the compressed data ends too early")


def _zstd(name: str, head: bytes, raw: Iterator[bytes]) -> Iterator[bytes]:
    import sys

    if sys.version_info >= (3, 14):
        from compression import zstd

        options = {zstd.DecompressionParameter.window_log_max: _WINDOW_LOG}
        return _decoded(name, head, raw, lambda: zstd.ZstdDecompressor(options=options), _ZSTD)
    try:
        import zstandard
    except ImportError:
        hint = "pip install 'patchctl[zstd]', or Python 3.14, or send it through a pipe: zstdcat FILE | patchctl hits -"
        message = f"{name} is compressed with zstd, which this Python cannot read without the package zstandard"
        raise LogError("no-zstd", message, hint=hint, path=name) from None
    decoder = zstandard.ZstdDecompressor(max_window_size=1 << _WINDOW_LOG)
    return _streamed(name, decoder, _Source(head, raw))


def _streamed(name: str, decoder: Any, source: _Source) -> Iterator[bytes]:
    reader = decoder.stream_reader(cast("Any", source), read_size=_PIECE, read_across_frames=True)
    while block := reader.read(BLOCK):
        yield block
    # The package takes an end in the middle of a frame for the end.
    if not source.frames.complete:
        raise _damaged(name, "the compressed data ends too early")


class _Source:
    """The blocks as a file that the package zstandard reads."""

    def __init__(self, head: bytes, raw: Iterator[bytes]) -> None:
        self._data, self._raw = head, raw
        self.frames = Frames()

    def read(self, size: int) -> bytes:
        if not self._data:
            self._data = next(self._raw, b"")
        piece, self._data = self._data[:size], self._data[size:]
        self.frames.feed(piece)
        return piece


def _damaged(name: str, what: str) -> LogError:
    return LogError("log-cut-short", f"{name}: {what}; what came before was counted", path=name)
