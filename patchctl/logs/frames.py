"""Tells whether zstd data is there to its end, from the frames and blocks that it is made of; nothing is decoded.

The package zstandard reads a stream in bounded pieces, and takes the end of its input for the end of the data. The
format: RFC 8878, sections 3.1.1 and 3.1.2.
"""

from __future__ import annotations

_MAGIC = 0xFD2FB528
_SKIPPABLE, _SKIPPABLE_MASK = 0x184D2A50, 0xFFFFFFF0
_DICTIONARY = (0, 1, 2, 4)
_CONTENT = (0, 2, 4, 8)
_RUN = 1
"""The type of a block that is one byte, many times."""
_CHECKSUM = 4


class Frames:
    """Follows the data as it goes by, in pieces of any size."""

    __slots__ = ("_checksum", "_held", "_next", "_skip", "broken")

    def __init__(self) -> None:
        self._held = b""
        self._skip = 0
        self._next = "magic"
        self._checksum = False
        self.broken = False

    @property
    def whole(self) -> bool:
        """The data ends where a frame ends, as far as its structure can be followed."""
        return self.broken or (self._next == "magic" and not self._skip and not self._held.strip(b"\0"))

    def feed(self, data: bytes) -> None:
        """Take the next piece."""
        at = 0
        while at < len(data) and not self.broken:
            if self._skip:
                taken = min(self._skip, len(data) - at)
                self._skip -= taken
                at += taken
                continue
            wanted = self._wanted() - len(self._held)
            self._held += data[at : at + wanted]
            at += wanted
            if len(self._held) == self._wanted():
                self._step()

    def _wanted(self) -> int:
        """Bytes that tell what comes next."""
        return {"magic": 4, "size": 4, "descriptor": 1, "block": 3}[self._next]

    def _step(self) -> None:
        held, self._held = int.from_bytes(self._held, "little"), b""
        if self._next == "magic":
            self._begin(held)
        elif self._next == "size":
            self._skip, self._next = held, "magic"
        elif self._next == "descriptor":
            single = held >> 5 & 1
            self._checksum = bool(held >> 2 & 1)
            content = _CONTENT[held >> 6] or single
            self._skip, self._next = (1 - single) + _DICTIONARY[held & 3] + content, "block"
        else:
            last, kind, size = held & 1, held >> 1 & 3, held >> 3
            self._skip = 1 if kind == _RUN else size
            if last:
                self._skip += _CHECKSUM * self._checksum
                self._next = "magic"

    def _begin(self, magic: int) -> None:
        if magic == _MAGIC:
            self._next = "descriptor"
        elif magic & _SKIPPABLE_MASK == _SKIPPABLE:
            self._next = "size"
        else:
            self.broken = True  # what is behind the last frame is none: the decoder has its own say
