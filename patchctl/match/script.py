"""How the lines at one place differ from the lines that a diff expects there: a small edit script.

It is bounded: long runs of lines and long lines are cut, and whatever was cut is said. Which place that is, is found
by ``nearest``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import groupby
from typing import NamedTuple

AROUND = 3
"""Equal lines shown on each side of a difference."""

RUN_LINES = 20
"""Expected, found or changed lines shown of one run."""

SCRIPT_LINES = 120
"""Lines shown of one script."""

LINE_BYTES = 400
"""Bytes shown of one line."""

_BEFORE_DIFFERENCE = 100
_NOT_WORTH_IT = 2
_UTF8_TAIL, _UTF8_TAIL_MASK = 0x80, 0xC0


class Mark(str, Enum):
    """EQUAL: expected and found. EXPECTED: not found. FOUND: not expected. SKIPPED: lines that are not shown."""

    EQUAL = "equal"
    EXPECTED = "expected"
    FOUND = "found"
    SKIPPED = "skipped"


class Remark(str, Enum):
    """All that tells an expected line from the one found: its line end, or white space."""

    LINE_END = "line-end"
    WHITE_SPACE = "white-space"


class ScriptLine(NamedTuple):
    """One line of a script.

    Attributes:
        mark: what it is.
        text: the bytes with their line end; at most ``LINE_BYTES`` of them. Empty for SKIPPED.
        line: 1-based line of the file; None for EXPECTED and SKIPPED.
        remark: for EXPECTED and FOUND: all that tells the two lines apart.
        cut_before: how many bytes of the line are not shown before ``text``.
        cut_after: how many are not shown behind it.
        skipped: for SKIPPED: how many lines are not shown.
    """

    mark: Mark
    text: bytes = b""
    line: int | None = None
    remark: Remark | None = None
    cut_before: int = 0
    cut_after: int = 0
    skipped: int = 0


def compare(
    expected: Sequence[bytes], found: Sequence[bytes], pairs: Sequence[tuple[int, int]], first: int
) -> tuple[ScriptLine, ...]:
    """Return the script that leads from ``expected`` to ``found``.

    Args:
        expected: lines with their line ends.
        found: the lines of the place.
        pairs: (expected line, found line) that belong together, both counted from 0 and rising; their lines are
            equal, or differ in white space or line end alone.
        first: 1-based line of the file at which ``found`` begins.
    """
    lines: list[ScriptLine] = []
    row = place = 0
    # lines that belong together but differ are shown like all other differences, so they end no run
    equal = [(a, b) for a, b in pairs if expected[a] == found[b]]
    similar = {a: b for a, b in pairs if expected[a] != found[b]}
    for at, there in (*equal, (len(expected), len(found))):
        lines += _difference(expected, found, range(row, at), range(place, there), similar, first)
        if at < len(expected):
            lines.append(_cut(Mark.EQUAL, found[there], line=first + there))
        row, place = at + 1, there + 1
    return _shortened(lines)


def only_expected(expected: Sequence[bytes]) -> tuple[ScriptLine, ...]:
    """Return the script of lines that are found nowhere."""
    return compare(expected, (), (), 1)


def _remark(expected: bytes, found: bytes) -> Remark:
    """What tells two lines of a pair apart."""
    same_text = expected.rstrip(b"\r\n") == found.rstrip(b"\r\n")
    return Remark.LINE_END if same_text else Remark.WHITE_SPACE


def _difference(
    expected: Sequence[bytes],
    found: Sequence[bytes],
    rows: range,
    places: range,
    similar: dict[int, int],
    first: int,
) -> Iterator[ScriptLine]:
    """One run of expected lines, then what is found in their place."""
    partner = {row: similar[row] for row in rows if row in similar}
    remarks = {row: _remark(expected[row], found[place]) for row, place in partner.items()}
    back = {place: row for row, place in partner.items()}
    for number, row in enumerate(rows):
        other = partner.get(row, places[number] if number < len(places) else None)
        against = found[other] if other is not None else b""
        yield _cut(Mark.EXPECTED, expected[row], against=against, remark=remarks.get(row))
    for number, place in enumerate(places):
        other = back.get(place, rows[number] if number < len(rows) else None)
        against = expected[other] if other is not None else b""
        remark = remarks.get(back.get(place, -1))
        yield _cut(Mark.FOUND, found[place], against=against, line=first + place, remark=remark)


def _cut(
    mark: Mark, text: bytes, *, against: bytes = b"", line: int | None = None, remark: Remark | None = None
) -> ScriptLine:
    """One line, of a long one the part where it begins to differ from ``against``."""
    if len(text) <= LINE_BYTES:
        return ScriptLine(mark=mark, text=text, line=line, remark=remark)
    start = _whole_letter(text, max(0, _first_difference(text, against) - _BEFORE_DIFFERENCE) if against else 0)
    start = min(start, _whole_letter(text, len(text) - LINE_BYTES))
    stop = _whole_letter(text, start + LINE_BYTES)
    return ScriptLine(
        mark=mark, text=text[start:stop], line=line, remark=remark, cut_before=start, cut_after=len(text) - stop
    )


def _first_difference(text: bytes, against: bytes) -> int:
    return next((at for at, (one, other) in enumerate(zip(text, against, strict=False)) if one != other), 0)


def _whole_letter(text: bytes, at: int) -> int:
    """Return ``at``, or where the letter begins that a cut there would halve."""
    for start in range(at, max(at - 4, -1), -1):
        if start >= len(text) or text[start] & _UTF8_TAIL_MASK != _UTF8_TAIL:
            return start
    return at


def _shortened(lines: Sequence[ScriptLine]) -> tuple[ScriptLine, ...]:
    kept: list[ScriptLine] = []
    runs = [(mark, list(run)) for mark, run in groupby(lines, key=lambda line: line.mark)]
    for number, (mark, run) in enumerate(runs):
        if mark is Mark.EQUAL:
            kept += _without_middle(run, 0 if number == 0 else AROUND, 0 if number == len(runs) - 1 else AROUND)
        else:
            kept += _without_middle(run, RUN_LINES, 0)
    if len(kept) <= SCRIPT_LINES:
        return tuple(kept)
    rest = sum(line.skipped or 1 for line in kept[SCRIPT_LINES:])
    return (*kept[:SCRIPT_LINES], ScriptLine(mark=Mark.SKIPPED, skipped=rest))


def _without_middle(run: Sequence[ScriptLine], head: int, tail: int) -> list[ScriptLine]:
    """The run without what is neither in its first ``head`` nor its last ``tail`` lines; two lines are not worth it."""
    left_out = len(run) - head - tail
    if left_out <= _NOT_WORTH_IT:
        return list(run)
    return [*run[:head], ScriptLine(mark=Mark.SKIPPED, skipped=left_out), *run[len(run) - tail :]]
