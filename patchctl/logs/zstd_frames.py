"""Tells whether zstd data ends where a frame ends (RFC 8878); the package zstandard does not say when it is streamed.

Lengths alone are followed: what is in the blocks, and whether it can be decoded, is the decoder's to say.
"""

from __future__ import annotations

_MAGIC = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = b"\x2a\x4d\x18"
"""The last three bytes of its magic number; of the first only the upper half is given."""
_SKIPPABLE_HEAD = 8
_BLOCK_HEAD = 3
_CHECKSUM = 4
_RUN = 1
"""The kind of a block that is one byte, however often it stands there."""
_DICTIONARY = (0, 1, 2, 4)
_CONTENT_SIZE = (0, 2, 4, 8)


class Frames:
    """Follows zstd data from its beginning, in pieces of any size."""

    __slots__ = ("_checksum", "_head", "_inside", "_skip")

    def __init__(self) -> None:
        self._head = b""
        self._skip = self._checksum = 0
        self._inside = False

    @property
    def complete(self) -> bool:
        """Whether a frame has just ended, or nothing came yet."""
        return not (self._inside or self._skip or self._head)

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        at = 0
        while at < len(data):
            if self._skip:
                step = min(self._skip, len(data) - at)
                self._skip -= step
                at += step
            else:
                self._head += data[at : at + 1]
                at += 1
                self._advance()

    def _advance(self) -> None:
        """Look whether the bytes of a head are all there."""
        head = self._head
        if self._inside:
            if len(head) == _BLOCK_HEAD:
                self._begin_block(int.from_bytes(head, "little"))
        elif head.startswith(_MAGIC) and len(head) > len(_MAGIC):
            self._begin_frame(head[-1])
        elif head[1:4] == _SKIPPABLE and len(head) == _SKIPPABLE_HEAD:
            self._skip, self._head = int.from_bytes(head[4:], "little"), b""
        elif len(head) > _SKIPPABLE_HEAD:
            self._head = head[:_SKIPPABLE_HEAD]  # no frame: the decoder complains of it

    def _begin_frame(self, descriptor: int) -> None:
        single = descriptor >> 5 & 1
        size = _CONTENT_SIZE[descriptor >> 6] or single
        self._skip = size + _DICTIONARY[descriptor & 3] + (1 - single)
        self._checksum = _CHECKSUM if descriptor >> 2 & 1 else 0
        self._inside, self._head = True, b""

    def _begin_block(self, head: int) -> None:
        last, kind, size = head & 1, head >> 1 & 3, head >> 3
        self._skip = (1 if kind == _RUN else size) + (self._checksum if last else 0)
        self._inside, self._head = not last, b""
