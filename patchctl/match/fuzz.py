"""How much context GNU patch would have to forget before it took a diff that does not fit.

This is for people alone: whoever knows a diff as one that "applies" reads here why it does not. Nothing is ever
applied with fuzz. Not handed on from ``match``: hardly any run needs it.
"""

from __future__ import annotations

from typing import NamedTuple

from patchctl.diff import ChangeKind, FileDiff, Hunk
from patchctl.match.text import Text

GNU_LIMIT = 2
"""Lines of context that GNU patch drops unless it is told otherwise (``--fuzz``)."""


def fuzz_needed(diff: FileDiff, content: bytes, *, limit: int = GNU_LIMIT) -> int | None:
    """Return the least fuzz with which every hunk has a place, in order; None: no fuzz up to ``limit`` is enough.

    A place is what GNU patch takes for one: the nearest, be it one of several. So 0 does not mean that a diff fits
    here. Fuzz N drops up to N lines of context from the longer side of a hunk, and from the other side what then
    exceeds it.

    Args:
        diff: changes to one file.
        content: the file's bytes.
        limit: largest fuzz.
    """
    if diff.kind not in {ChangeKind.MODIFY, ChangeKind.RENAME}:
        return None
    text, low, offset, most = Text(content), 0, 0, 0
    for hunk in diff.hunks:
        for fuzz in range(min(limit, max(hunk.leading, hunk.trailing)) + 1):
            found = _place(hunk, text, fuzz, low, offset)
            if found is not None:
                low, offset, most = found.stop, found.offset, max(most, fuzz)
                break
        else:
            return None
    return most


class _Place(NamedTuple):
    """The line behind a block, and how far the block is from where its hunk states it."""

    stop: int
    offset: int


def _place(hunk: Hunk, text: Text, fuzz: int, low: int, offset: int) -> _Place | None:
    """Return where GNU patch would put a hunk with exactly that fuzz, from ``low`` on."""
    longest = max(hunk.leading, hunk.trailing)
    top, bottom = hunk.leading + fuzz - longest, hunk.trailing + fuzz - longest
    block = hunk.old_lines[max(0, top) : len(hunk.old_lines) - max(0, bottom)]
    stated = hunk.old_start - 1 + max(0, top)
    if not block:
        line = max(low, min(stated + offset, text.count))
        return _Place(stop=line, offset=line - stated)
    (lines,) = text.find([block], low, text.count)
    # less context than on the other side: it is at the beginning or the end of a file, until fuzz takes it off
    if top < 0:
        lines = lines[:1] if lines[:1] == (0,) else ()
    if bottom < 0:
        end = text.count - len(block)
        lines = (end,) if text.holds(block, end) and end >= low and (top >= 0 or end == 0) else ()
    nearest = min(lines, key=lambda line: abs(line - stated - offset), default=None)
    return None if nearest is None else _Place(stop=nearest + len(block), offset=nearest - stated)
