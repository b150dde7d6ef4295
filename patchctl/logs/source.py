"""The compressed bytes of a log as a file, and gzip with the interface that the other decoders have."""

from __future__ import annotations

from collections.abc import Iterator

from patchctl.logs.frames import Frames

_GZIP_ALONE = 31
_STEP = 1 << 16


class Source:
    """Blocks as a file that is read forward, and back within the block that was read last.

    Args:
        head: what was read already.
        raw: the blocks behind it.
    """

    __slots__ = ("_at", "_data", "_raw")

    def __init__(self, head: bytes, raw: Iterator[bytes]) -> None:
        self._data, self._raw, self._at = head, raw, 0

    def read(self, size: int) -> bytes:
        """Return at most so many bytes; empty at the end."""
        if self._at >= len(self._data):
            self._data, self._at = next(self._raw, b""), 0
        piece = self._data[self._at : self._at + size]
        self._at += len(piece)
        return piece

    def back(self, size: int) -> None:
        """Give back the last bytes of what :meth:`read` returned last."""
        self._at -= size

    def behind_padding(self, size: int) -> bytes:
        """Go over zero bytes; return as many bytes behind them, which are still to be read. Empty: the end comes."""
        while not (rest := self._data[self._at : self._at + _STEP].lstrip(b"\0")):
            self._at += _STEP
            if self._at >= len(self._data):
                self._data, self._at = next(self._raw, b""), 0
                if not self._data:
                    return b""
        self._at += len(self._data[self._at : self._at + _STEP]) - len(rest)
        while len(self._data) - self._at < size and (more := next(self._raw, b"")):
            self._data, self._at = self._data[self._at :] + more, 0
        return self._data[self._at : self._at + size]


class Watched:
    """A source whose bytes pass by :class:`Frames`, as the package zstandard reads it."""

    __slots__ = ("_frames", "_source")

    def __init__(self, source: Source, frames: Frames) -> None:
        self._source, self._frames = source, frames

    def read(self, size: int) -> bytes:
        """Return at most so many bytes; empty at the end."""
        piece = self._source.read(size)
        self._frames.feed(piece)
        return piece


class Gunzip:
    """One member of a gzip file."""

    __slots__ = ("_decoder", "_full", "_tail")

    def __init__(self) -> None:
        import zlib

        self._decoder = zlib.decompressobj(_GZIP_ALONE)
        self._tail, self._full = b"", False

    @property
    def eof(self) -> bool:
        """The member is at its end."""
        return self._decoder.eof

    @property
    def unused_data(self) -> bytes:
        """What was given and belongs to the next member."""
        return self._decoder.unused_data

    @property
    def needs_input(self) -> bool:
        """Nothing more comes out of what was given."""
        return not self._tail and not self._full

    def decompress(self, data: bytes, most: int) -> bytes:
        """Return at most so many bytes."""
        block = self._decoder.decompress(self._tail + data, most)
        self._tail, self._full = self._decoder.unconsumed_tail, len(block) == most
        return block
