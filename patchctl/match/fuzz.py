"""How much context GNU patch would have to forget before it took a diff that does not fit.

This is for people alone: whoever knows a diff as one that "applies" reads here why it does not. Nothing is ever
applied with fuzz. Not handed on from ``match``: hardly any run needs it.
"""

from __future__ import annotations

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
    text, settled, offset, most = Text(content), 0, 0, 0
    for hunk in diff.hunks:
        for fuzz in range(min(limit, max(hunk.leading, hunk.trailing)) + 1):
            start = _start(hunk, text, fuzz, settled, offset)
            if start is not None:
                settled = start + len(hunk.old_lines) - hunk.trailing
                offset, most = start - hunk.old_start + 1, max(most, fuzz)
                break
        else:
            return None
    return most


def _start(hunk: Hunk, text: Text, fuzz: int, settled: int, offset: int) -> int | None:
    """Return where GNU patch would take a hunk to begin with exactly that fuzz; None: nowhere.

    Lines that fuzz drops at the top count still: they have to lie in the file, at ``settled`` or below, which is the
    line behind the last change of the hunk before.
    """
    longest = max(hunk.leading, hunk.trailing)
    top, bottom = hunk.leading + fuzz - longest, hunk.trailing + fuzz - longest
    dropped = max(0, top)
    block = hunk.old_lines[dropped : len(hunk.old_lines) - max(0, bottom)]
    first, last = settled, text.count - dropped - len(block)
    # less context than on the other side: it is at the beginning or the end of the file, until fuzz takes that off
    if top < 0:
        last = min(last, 0)
    if bottom < 0:
        first = max(first, last)
    if first > last:
        return None
    expected = hunk.old_start - 1 + offset
    if not block:
        return max(first, min(expected, last))
    (lines,) = text.find([block], first + dropped, last + dropped + len(block))
    return min((line - dropped for line in lines), key=lambda start: abs(start - expected), default=None)
