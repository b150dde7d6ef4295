"""Lines of a file and where blocks of lines occur in them, in time linear in the file and the blocks.

One block is searched as bytes: since CPython 3.10 that is linear also where text repeats (two-way search).
A block occurs only where it begins and ends with whole lines. Nothing is known here about hunks or their order.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from io import BytesIO
from itertools import accumulate

from patchctl.match.automaton import find_all

LISTED = 10
"""How many occurrences of a block are told apart; more are not looked for."""

MANY = 16
"""From this number of blocks on, one pass over the lines for all is cheaper than one search of the bytes for each."""

Block = tuple[bytes, ...]
"""Lines with their line ends; only the last may lack its newline."""


CHUNK = 1024
"""Bytes of a file between two places whose line number is known; a line is found from the place before it."""


class Text:
    """The bytes of one file, which has lines that end at newlines alone. Line numbers count from 0 here.

    It is not split: most blocks stand where they are expected, and then nothing but a few offsets is asked for.
    """

    __slots__ = ("_marks", "_shifted", "content", "count")

    def __init__(self, content: bytes) -> None:
        self.content = content
        newlines = (content.count(b"\n", at, at + CHUNK) for at in range(0, len(content), CHUNK))
        self._marks = list(accumulate(newlines, initial=0))
        self.count = self._marks[-1] + (not content.endswith(b"\n") and content != b"")
        self._shifted: bytes | None = None

    def start(self, line: int) -> int:
        """Return the offset in bytes at which ``line`` begins; for a line past the end, the length of the content."""
        if line >= self.count:
            return len(self.content)
        if line <= 0:
            return 0
        # the line begins behind the newline number ``line``, counted from 1
        chunk = bisect_left(self._marks, line) - 1
        end = (chunk + 1) * CHUNK
        rest = self.content[chunk * CHUNK : end].split(b"\n", line - self._marks[chunk])[-1]
        return min(end, len(self.content)) - len(rest)

    def holds(self, block: Block, line: int) -> bool:
        """Tell whether ``block`` stands at ``line``."""
        if not 0 <= line <= self.count - len(block):
            return False
        joined = b"".join(block)
        start = self.start(line)
        return self.content.startswith(joined, start) and self._ends_a_line(joined, start)

    def find(self, blocks: Sequence[Block], low: int, high: int) -> list[tuple[int, ...]]:
        """Return for each block the first ``LISTED`` lines at which it stands between the lines ``low`` and ``high``.

        A block stands between them when it begins at ``low`` or below and ends at ``high`` or above it. Overlapping
        occurrences count.
        """
        if len(blocks) < MANY:
            return [self._find_one(block, low, high) for block in blocks]
        # a stream of bytes ends its lines at newlines alone
        lines = BytesIO(self.content[self.start(low) : self.start(high)]).readlines()
        # nearly every block that does not occur has a line that does not
        known = set(lines)
        likely = [at for at, block in enumerate(blocks) if known.issuperset(block)]
        if len(likely) < MANY:
            found = {at: self._find_one(blocks[at], low, high) for at in likely}
        else:
            places = find_all([blocks[at] for at in likely], lines, LISTED)
            found = {at: tuple(low + line for line in of) for at, of in zip(likely, places, strict=True)}
        return [found.get(at, ()) for at in range(len(blocks))]

    def _find_one(self, block: Block, low: int, high: int) -> tuple[int, ...]:
        if not block[-1].endswith(b"\n"):
            # only the end of the file ends a line without newline; looking for more would take quadratic time
            line = self.count - len(block)
            return (line,) if line >= low and high == self.count and self.holds(block, line) else ()
        if self._shifted is None:
            # with a newline in front of everything, every hit of newline + block begins a line
            self._shifted = b"\n" + self.content
        needle = b"\n" + b"".join(block)
        end = self.start(high) + 1
        found: list[int] = []
        at = self._shifted.find(needle, self.start(low), end)
        while at != -1 and len(found) < LISTED:
            found.append(self._line_at(at))
            at = self._shifted.find(needle, at + 1, end)
        return tuple(found)

    def _ends_a_line(self, joined: bytes, start: int) -> bool:
        return joined.endswith(b"\n") or start + len(joined) == len(self.content)

    def _line_at(self, offset: int) -> int:
        """Return the line that begins at ``offset``."""
        chunk = offset // CHUNK
        return self._marks[chunk] + self.content.count(b"\n", chunk * CHUNK, offset)
