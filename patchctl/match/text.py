"""Lines of a file and where blocks of lines occur in them, in time linear in the file and the blocks.

One block is searched as bytes: since CPython 3.10 that is linear also where text repeats (two-way search).
A block occurs only where it begins and ends with whole lines. Nothing is known here about hunks or their order.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from patchctl.match.automaton import find_all

LISTED = 10
"""How many occurrences of a block are told apart; more are not looked for."""

MANY = 16
"""From this number of blocks on, one pass over the lines for all is cheaper than one search of the bytes for each."""

Block = tuple[bytes, ...]
"""Lines with their line ends; only the last may lack its newline."""


class Text:
    """The bytes of one file, split into lines at newlines alone. Line numbers count from 0 here."""

    __slots__ = ("_ends", "_lines", "_shifted", "content", "count")

    def __init__(self, content: bytes) -> None:
        self.content = content
        self._lines = content.split(b"\n")
        self._ends = list(accumulate(map(len, self._lines), initial=0))
        self.count = len(self._lines) - (self._lines[-1] == b"")
        self._shifted: bytes | None = None

    def start(self, line: int) -> int:
        """Return the offset in bytes at which ``line`` begins; for a line past the end, the length of the content."""
        if line >= self.count:
            return len(self.content)
        # the sum leaves out the newline of each line before
        return self._ends[line] + line

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
        lines = [line + b"\n" for line in self._lines[low:high]]
        if high == self.count and lines and not self.content.endswith(b"\n"):
            lines[-1] = lines[-1][:-1]
        return [tuple(low + line for line in found) for found in find_all(blocks, lines, LISTED)]

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
        return bisect_right(range(self.count), offset, key=self.start) - 1
