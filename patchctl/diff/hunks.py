"""Bodies of hunks, and the coverage gate.

A hunk is as many lines as its header counts. Every line of it has one of three tags or is a marker that speaks of the
line above it; anything else is refused, and what follows a hunk is judged by ``parse`` and ``prose``: no line is passed
over. Bytes are always taken from the diff.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import compress
from operator import itemgetter
from typing import NamedTuple

from patchctl.diff.source import bare, header_text, shown
from patchctl.diff.values import Hunk
from patchctl.errors import DiffError

_HEADER = re.compile(rb"@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+([0-9]{1,9})(?:,([0-9]{1,9}))? @@(?= |\n|\r\n|\Z)")
_OLD_TAGS = (b" ", b"-")
_NEW_TAGS = (b" ", b"+")
_first_byte = itemgetter(0)
_IS_OLD = bytes(tag in b" -" for tag in range(256))
_IS_NEW = bytes(tag in b" +" for tag in range(256))
"""For each tag whether its line is on that side."""


class HunkExtent(NamedTuple):
    """Which lines of the diff are one hunk.

    Attributes:
        at: index of the ``@@`` line.
        end: index after its last line, markers included.
        counts: old start, old length, new start, new length.
        rows: indices of the body lines, without markers.
        tags: of the body lines, one byte each: blank, ``-`` or ``+``.
        unended: indices of the body lines that a marker says have no newline.
    """

    at: int
    end: int
    counts: tuple[int, int, int, int]
    rows: Sequence[int]
    tags: bytes
    unended: frozenset[int] = frozenset()


def read_hunks(lines: list[bytes], at: int) -> tuple[tuple[Hunk, ...], int]:
    """Read the hunks that begin at index ``at``, one right below the other; return them and the index after them.

    Raises:
        DiffError: a header, count, line or marker is wrong.
    """
    hunks: list[Hunk] = []
    while at < len(lines) and lines[at].startswith(b"@@"):
        extent = measure(lines, at)
        hunks.append(hunk_of(lines, extent, len(hunks) + 1))
        at = extent.end
    return tuple(hunks), at


def measure(lines: list[bytes], at: int) -> HunkExtent:
    """Count which lines belong to the hunk whose ``@@`` line is at index ``at``.

    Raises:
        DiffError: a header, count, line or marker is wrong.
    """
    counts = _read_counts(lines, at)
    return _measure_plain(lines, at, counts) or _measure_each(lines, at, counts)


def _measure_plain(lines: list[bytes], at: int, counts: tuple[int, int, int, int]) -> HunkExtent | None:
    """Measure a hunk that has no marker and nothing wrong; None: look at each line.

    As many lines as the fuller side still lacks belong to the hunk whatever they are, so whole runs are counted.
    """
    old, new = counts[1], counts[3]
    tags = b""
    while old > 0 or new > 0:
        first = at + 1 + len(tags)
        lacking = max(old, new)
        run = bytes(map(_first_byte, lines[first : first + lacking])).replace(b"\n", b" ")
        context, removed, added = run.count(b" "), run.count(b"-"), run.count(b"+")
        if context + removed + added < lacking:
            return None
        old -= context + removed
        new -= context + added
        tags += run
    end = at + 1 + len(tags)
    if old or new or not lines[end - 1].endswith(b"\n") or (end < len(lines) and lines[end].startswith(b"\\")):
        return None
    return HunkExtent(at=at, end=end, counts=counts, rows=range(at + 1, end), tags=tags)


def _measure_each(lines: list[bytes], at: int, counts: tuple[int, int, int, int]) -> HunkExtent:
    """Measure any hunk line by line, and say which line is wrong."""
    old, new = counts[1], counts[3]
    rows: list[int] = []
    tags: list[bytes] = []
    unended: list[int] = []
    row = at + 1
    while row < len(lines):
        line = lines[row]
        if line.startswith(b"\\"):
            unended.append(_marked_row(lines, row, rows))
        elif not (old or new):
            break
        else:
            tag = _tag(lines, row)
            old -= tag in _OLD_TAGS
            new -= tag in _NEW_TAGS
            if old < 0 or new < 0:
                message = f"the hunk has more lines than its header counts: {shown(bare(line))}"
                raise DiffError("wrong-count", message, line=row + 1)
            rows.append(row)
            tags.append(tag)
        row += 1
    if old or new:
        raise DiffError("wrong-count", "the diff ends before the hunk has as many lines as it counts", line=at + 1)
    _check_ends(lines, rows, unended)
    return HunkExtent(at=at, end=row, counts=counts, rows=rows, tags=b"".join(tags), unended=frozenset(unended))


def _read_counts(lines: list[bytes], at: int) -> tuple[int, int, int, int]:
    if lines[at].startswith(b"@@@"):
        raise DiffError("combined", "a combined diff (of a merge) is not supported", line=at + 1)
    found = _HEADER.match(lines[at])
    if found is None:
        raise DiffError("bad-hunk-header", f"not a hunk header: {shown(bare(lines[at]))}", line=at + 1)
    if lines[at][found.end() :] == b"\r\n":
        header_text(lines, at)
    old_start, old, new_start, new = (1 if figure is None else int(figure) for figure in found.groups())
    if (old_start == 0 and old) or (new_start == 0 and new):
        raise DiffError("bad-hunk-header", f"lines count from 1: {shown(bare(lines[at]))}", line=at + 1)
    return old_start, old, new_start, new


def _tag(lines: list[bytes], row: int) -> bytes:
    """Return the tag of a body line: blank, ``-`` or ``+``. An empty line is a blank context line (GNU diff, git)."""
    line = lines[row]
    tag = b" " if line == b"\n" else line[:1]
    if tag in {b" ", b"-", b"+"}:
        if not line.endswith(b"\n"):
            raise DiffError("truncated", "the diff ends in the middle of a line", line=row + 1)
        return tag
    if line.startswith((b"@@", b"diff ", b"Index: ")):
        raise DiffError("wrong-count", "the hunk before has fewer lines than its header counts", line=row + 1)
    message = f"a line of a hunk begins with none of ' ', '+', '-', '\\': {shown(bare(line))}"
    raise DiffError("bad-hunk-line", message, line=row + 1)


def _marked_row(lines: list[bytes], row: int, rows: list[int]) -> int:
    """Return the body line that the marker at ``row`` is about. Its words are free: tools translate them."""
    text = bare(lines[row])
    if not text.startswith(b"\\ ") or not text[2:].strip():
        raise DiffError("unknown-marker", f"an unknown marker: {shown(text)}", line=row + 1)
    if not rows or rows[-1] != row - 1 or bare(lines[row - 1]) in {b"", b" ", b"-", b"+"}:
        raise DiffError("misplaced-marker", f"no line for this marker to speak of: {shown(text)}", line=row + 1)
    return row - 1


def _check_ends(lines: list[bytes], rows: list[int], unended: Sequence[int]) -> None:
    """A line without newline is the last of its side: anything else would glue two lines together."""
    for marked in unended:
        tag = lines[marked][:1]
        tail = [lines[row][:1] for row in rows if row > marked]
        for side in (_OLD_TAGS, _NEW_TAGS):
            if tag in side and any(later in side or later == b"\n" for later in tail):
                message = "a marker says that the file ends here, but more of it follows"
                raise DiffError("misplaced-marker", message, line=marked + 2)


def hunk_of(lines: list[bytes], extent: HunkExtent, number: int) -> Hunk:
    """Return what the lines of ``extent`` say; ``number`` is the hunk's, within its file."""
    body = lines[extent.at + 1 : extent.end]
    contents = [line[1:] or b"\n" for line in (map(lines.__getitem__, extent.rows) if extent.unended else body)]
    for row in extent.unended:
        contents[extent.rows.index(row)] = lines[row][1:-1]
    return Hunk(
        number=number,
        old_start=extent.counts[0],
        new_start=extent.counts[2],
        old_lines=tuple(compress(contents, extent.tags.translate(_IS_OLD))),
        new_lines=tuple(compress(contents, extent.tags.translate(_IS_NEW))),
        leading=len(extent.tags) - len(extent.tags.lstrip(b" ")),
        trailing=len(extent.tags) - len(extent.tags.rstrip(b" ")),
        line=extent.at + 1,
        body=tuple(body),
    )
