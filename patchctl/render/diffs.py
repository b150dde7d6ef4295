"""Planned edits as a unified diff, for ``apply --dry-run``.

Not by ``difflib``: on text of many equal lines it takes more than quadratic time. Lines that occur once on both sides
are matched first (the idea of "patience diff"), what equals them around it next, and between those only small pieces
are compared line by line. The result is always right; on repetitive text it may be longer than the shortest.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from patchctl.model import OWNER_EXECUTES, FileEdit
from patchctl.render.words import changed_mode

CONTEXT = 3
"""Equal lines shown around a change."""

_PLAIN, _EXECUTABLE = 0o644, 0o755
"""The two modes that git knows."""

_EMPTY = b"e69de29"
"""How git names the empty file."""

SMALL = 32
"""Lines on either side up to which two pieces are compared line by line."""


class _Change(NamedTuple):
    """Lines ``old`` to ``old_end`` of one side stand where ``new`` to ``new_end`` stand on the other; from 0."""

    old: int
    old_end: int
    new: int
    new_end: int


def edits_as_diff(edits: Iterable[FileEdit]) -> bytes:
    """Return one unified diff (bytes, readable by patch(1) with ``-p1``) of all edits, in their order."""
    out = bytearray()
    for edit in edits:
        out += _git_header(edit)
        # Lines end at \n alone: a form feed or a lone CR inside a line must not cut it.
        before, after = _lines(edit.before or b""), _lines(edit.after or b"")
        hunks = _grouped(_changes(before, after))
        if hunks:
            # patch(1) ends a name at its first blank, unless a tab follows it
            name = edit.path.encode("utf-8", "surrogateescape") + (b"\t" if " " in edit.path else b"")
            old = b"/dev/null" if edit.before is None else b"a/" + name
            new = b"/dev/null" if edit.after is None else b"b/" + name
            out += b"--- %b\n+++ %b\n" % (old, new)
        for hunk in hunks:
            out += _hunk(before, after, hunk)
    return bytes(out)


def _git_header(edit: FileEdit) -> bytes:
    """What ``---`` and ``+++`` cannot say: a mode, an executable file that is added, an empty one added or removed."""
    mode = changed_mode(edit)
    if mode is not None:
        bits = _git_mode(mode)
        extended = b"old mode 100%o\nnew mode 100%o\n" % (bits ^ 0o111, bits)
    elif edit.before is None and (edit.after == b"" or _git_mode(edit.mode) == _EXECUTABLE):
        extended = b"new file mode 100%o\n" % _git_mode(edit.mode)
        extended += b"index 0000000..%b\n" % _EMPTY if edit.after == b"" else b""
    elif edit.after is None and edit.before == b"":
        extended = b"deleted file mode 100%o\nindex %b..0000000\n" % (_git_mode(edit.before_mode), _EMPTY)
    else:
        return b""
    name = edit.path.encode("utf-8", "surrogateescape")
    return b"diff --git a/%b b/%b\n%b" % (name, name, extended)


def _git_mode(mode: int | None) -> int:
    return _EXECUTABLE if (mode or 0) & OWNER_EXECUTES else _PLAIN


def _lines(data: bytes) -> Sequence[bytes]:
    lines = data.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


def _changes(before: Sequence[bytes], after: Sequence[bytes]) -> list[_Change]:
    """Return what differs, in order; equal lines lie between."""
    changes = []
    for between in _between(_anchors(before, after), len(before), len(after)):
        piece = _trimmed(before, after, between)
        if piece.old_end - piece.old <= SMALL and piece.new_end - piece.new <= SMALL:
            changes += _small_changes(before, after, piece)
        else:
            changes.append(piece)
    return [change for change in changes if change.old < change.old_end or change.new < change.new_end]


def _anchors(before: Sequence[bytes], after: Sequence[bytes]) -> list[tuple[int, int]]:
    """Return pairs of equal lines that occur once on each side, the most that keep their order on both."""
    old, new = Counter(before), Counter(after)
    places = {line: index for index, line in enumerate(before) if old[line] == 1}
    pairs = [(places[line], index) for index, line in enumerate(after) if new[line] == 1 and line in places]
    # the longest increasing run of old places: tops[n] ends the lowest run of n + 1 pairs
    tops: list[int] = []
    lowest: list[int] = []
    previous: list[int] = []
    for number, (place, _) in enumerate(pairs):
        length = bisect_left(lowest, place)
        previous.append(tops[length - 1] if length else -1)
        if length == len(tops):
            tops.append(number)
            lowest.append(place)
        else:
            tops[length], lowest[length] = number, place
    chain = []
    number = tops[-1] if tops else -1
    while number >= 0:
        chain.append(pairs[number])
        number = previous[number]
    return chain[::-1]


def _between(anchors: Sequence[tuple[int, int]], old_end: int, new_end: int) -> Iterator[_Change]:
    """Yield the pieces before, between and after the anchors."""
    old = new = 0
    for place, index in (*anchors, (old_end, new_end)):
        yield _Change(old=old, old_end=place, new=new, new_end=index)
        old, new = place + 1, index + 1


def _trimmed(before: Sequence[bytes], after: Sequence[bytes], piece: _Change) -> _Change:
    """Take equal lines off both ends of a piece."""
    old, old_end, new, new_end = piece
    while old < old_end and new < new_end and before[old] == after[new]:
        old, new = old + 1, new + 1
    while old < old_end and new < new_end and before[old_end - 1] == after[new_end - 1]:
        old_end, new_end = old_end - 1, new_end - 1
    return _Change(old=old, old_end=old_end, new=new, new_end=new_end)


def _small_changes(before: Sequence[bytes], after: Sequence[bytes], piece: _Change) -> list[_Change]:
    """Compare two small pieces line by line; ``difflib`` is good at that."""
    import difflib

    sides = before[piece.old : piece.old_end], after[piece.new : piece.new_end]
    return [
        _Change(old=piece.old + i1, old_end=piece.old + i2, new=piece.new + j1, new_end=piece.new + j2)
        for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, *sides, autojunk=False).get_opcodes()
        if tag != "equal"
    ]


def _grouped(changes: Sequence[_Change]) -> list[list[_Change]]:
    """Put changes whose contexts meet into one hunk."""
    groups: list[list[_Change]] = []
    for change in changes:
        if groups and change.old - groups[-1][-1].old_end <= 2 * CONTEXT:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _hunk(before: Sequence[bytes], after: Sequence[bytes], changes: Sequence[_Change]) -> bytes:
    first, last = changes[0], changes[-1]
    lead = min(CONTEXT, first.old)
    tail = min(CONTEXT, len(before) - last.old_end)
    body: list[bytes] = []
    at = first.old - lead
    for change in changes:
        body += (b" " + line for line in before[at : change.old])
        body += (b"-" + line for line in before[change.old : change.old_end])
        body += (b"+" + line for line in after[change.new : change.new_end])
        at = change.old_end
    body += (b" " + line for line in before[at : at + tail])
    old = _range(first.old - lead, last.old_end + tail)
    new = _range(first.new - lead, last.new_end + tail)
    marked = (line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n" for line in body)
    return b"@@ -%b +%b @@\n" % (old, new) + b"".join(marked)


def _range(start: int, end: int) -> bytes:
    """Write the range of one side; a count of one is left out, and an empty range counts from the line before it."""
    count = end - start
    if count == 1:
        return b"%d" % (start + 1)
    return b"%d,%d" % (start + 1 if count else start, count)
