"""Why a diff does not fit a file, for whoever has to port it: what was expected, and what stands there instead.

Explaining decides nothing; the answers of ``judge_fit`` stand. How much of it is shown belongs to ``render``.
"""

from __future__ import annotations

from typing import NamedTuple

from patchctl.diff import ChangeKind, FileDiff, Hunk
from patchctl.match.line_ends import LineEnds, fits_without_line_ends
from patchctl.match.nearest import Index, Nearest, find_nearest
from patchctl.match.scope import headings
from patchctl.match.script import RUN_LINES, Mark, ScriptLine, compare, only_expected
from patchctl.match.values import Direction, Fit, FitReport, HunkPlace, Match

EXPLAINED = 20
"""For how many hunks of a file the nearest place is looked up."""

_LINES_OF_CHANGE = 2 * RUN_LINES


class Scope(NamedTuple):
    """Where in the source a line stands: 1-based line of the file, and the headings around it, the outermost first."""

    line: int
    headings: tuple[bytes, ...]


class HunkExplanation(NamedTuple):
    """One hunk of a diff that does not fit.

    Attributes:
        number: of the hunk, from 1.
        state: what it says by itself: PRESENT, APPLICABLE, UNDECIDED (both sides have a place) or CONFLICT.
        before: the place of its preimage, or why there is none.
        after: the same of its postimage.
        stated: 1-based line of the file at which the diff states the side that was compared.
        diff_line: 1-based line of its ``@@`` in the diff.
        change: what it does: the first lines of its body, each with its tag.
        change_cut: how many lines of the body are not in ``change``.
        side: which side was compared with the file: the one that comes nearer; FORWARD is the preimage.
        size: how many lines that side has.
        line: 1-based first line of the nearest place; None: none of the side's lines is in the file, or the hunk was
            not compared, because its lines stand somewhere or because there are too many hunks.
        length: how many lines the nearest place has.
        equal: how many lines of the side stand there as expected.
        beyond: the nearest place lies outside the room that the neighbouring hunks leave.
        script: what differs there; without a nearest place only what was expected; empty when not compared.
        scopes: where in the source the lines are that the answers above name.
    """

    number: int
    state: Fit
    before: HunkPlace
    after: HunkPlace
    stated: int
    diff_line: int
    change: tuple[bytes, ...]
    change_cut: int
    side: Direction = Direction.FORWARD
    size: int = 0
    line: int | None = None
    length: int = 0
    equal: int = 0
    beyond: bool = False
    script: tuple[ScriptLine, ...] = ()
    scopes: tuple[Scope, ...] = ()


class Explanation(NamedTuple):
    """Why a diff does not fit one file.

    Attributes:
        line_ends: it would fit if line ends were ignored; then nothing else is said.
        whole: of a file that is added or deleted: what differs from the file that was expected, from the first
            differing line on.
        hunks: of a file that is changed: every hunk, in order.
        left_out: how many hunks without a place were not compared with the file.
    """

    line_ends: LineEnds | None = None
    whole: tuple[ScriptLine, ...] = ()
    hunks: tuple[HunkExplanation, ...] = ()
    left_out: int = 0


def explain(diff: FileDiff, content: bytes | None, report: FitReport) -> Explanation:
    """Say why ``diff`` does not fit.

    Args:
        diff: changes to one file.
        content: the bytes that it was judged on; None: the file is not there, and there is nothing to add. Nor is
            there where both names of a rename are taken.
        report: the judgement, of any fit.
    """
    if content is None or (diff.kind is ChangeKind.RENAME and report.forward.reason == "file-exists"):
        return Explanation()
    line_ends = fits_without_line_ends(diff, content) if report.fit is Fit.CONFLICT else None
    if line_ends is not None:
        return Explanation(line_ends=line_ends)
    if diff.kind in {ChangeKind.ADD, ChangeKind.DELETE}:
        return Explanation(whole=_whole(diff, content))
    states = report.hunks
    lost = [number for number, state in enumerate(states) if _is_lost(report, number, state)]
    compared = set(lost[:EXPLAINED])
    index = Index(content)
    hunks = []
    for number in range(len(diff.hunks)):
        found = _outline(diff.hunks[number], report, number, states[number])
        found = _compared(number, found, diff, report, index) if number in compared else found
        # the first few are read; looking back from all of them would not be linear
        hunks.append(_with_scopes(found, index) if number < EXPLAINED or number in compared else found)
    return Explanation(hunks=tuple(hunks), left_out=len(lost) - len(compared))


def _with_scopes(found: HunkExplanation, index: Index) -> HunkExplanation:
    places = [found.before.line, found.after.line, *found.before.candidates, *found.after.candidates, found.line]
    lines = sorted({line for line in places if line is not None})
    scopes = [Scope(line=line, headings=headings(index.lines, line - 1)) for line in lines]
    return found._replace(scopes=tuple(scope for scope in scopes if scope.headings))


def _is_lost(report: FitReport, number: int, state: Fit) -> bool:
    """The lines of neither side are in the file at all; where they stand at a wrong place, that says enough."""
    reasons = {report.forward.hunks[number].reason, report.reverse.hunks[number].reason}
    return state is Fit.CONFLICT and reasons == {"not-found"}


def _outline(hunk: Hunk, report: FitReport, number: int, state: Fit) -> HunkExplanation:
    return HunkExplanation(
        number=hunk.number,
        state=state,
        before=report.forward.hunks[number],
        after=report.reverse.hunks[number],
        stated=hunk.old_start,
        diff_line=hunk.line,
        change=hunk.body[:_LINES_OF_CHANGE],
        change_cut=max(0, len(hunk.body) - _LINES_OF_CHANGE),
    )


def _compared(number: int, found: HunkExplanation, diff: FileDiff, report: FitReport, index: Index) -> HunkExplanation:
    """Compare both sides with what is nearest to them, and keep the one that differs less; the preimage in doubt.

    Where somebody made the change in other words, or edited what was applied, the postimage is what to compare with.
    """
    before = _against(number, found, diff, report.forward, report.reverse, index)
    after = _against(number, found, diff, report.reverse, report.forward, index)
    return after if after.line is not None and _distance(after) < _distance(before) else before


def _distance(found: HunkExplanation) -> int:
    """How many lines would have to go or come; without a place, the whole block."""
    return (found.size - found.equal) + (found.length - found.equal)


def _against(
    number: int, found: HunkExplanation, diff: FileDiff, match: Match, other: Match, index: Index
) -> HunkExplanation:
    block = _block(diff.hunks[number], match.direction)
    stated = _stated(diff.hunks[number], match.direction)
    low, high, offset = _room(diff, match, other, number, len(index.lines))
    wanted = stated - 1 + offset
    nearest = find_nearest(block, index, wanted, low, high)
    beyond = nearest is None and (low, high) != (0, len(index.lines))
    if beyond:
        nearest = find_nearest(block, index, wanted, 0, len(index.lines))
    found = found._replace(side=match.direction, size=len(block), stated=stated)
    if nearest is None:
        return found._replace(script=only_expected(block))
    return _with_nearest(found, block, nearest, index)._replace(beyond=beyond)


def _with_nearest(found: HunkExplanation, block: tuple[bytes, ...], nearest: Nearest, index: Index) -> HunkExplanation:
    there = index.lines[nearest.start : nearest.stop]
    pairs = [(row, place - nearest.start) for row, place in nearest.pairs]
    return found._replace(
        line=nearest.start + 1,
        length=len(there),
        equal=sum(block[row] == there[place] for row, place in pairs),
        script=compare(block, there, pairs, nearest.start + 1),
    )


def _room(diff: FileDiff, match: Match, other: Match, number: int, count: int) -> tuple[int, int, int]:
    """Return the lines between the placed neighbours, counted from 0, and the offset of the nearest one.

    A neighbour may be placed by ``match``, or by the ``other`` direction: the file has it there either way.
    """
    low, high = 0, count
    offsets = []
    for index in range(number - 1, -1, -1):
        place = _placed(diff.hunks[index], match, other, index)
        if place is not None:
            low = place.stop
            offsets.append(place.start + 1 - _stated(diff.hunks[index], match.direction))
            break
    for index in range(number + 1, len(diff.hunks)):
        place = _placed(diff.hunks[index], match, other, index)
        if place is not None:
            high = place.start
            offsets.append(place.start + 1 - _stated(diff.hunks[index], match.direction))
            break
    return low, max(low, high), offsets[0] if offsets else 0


def _placed(hunk: Hunk, match: Match, other: Match, index: int) -> range | None:
    """The lines, counted from 0, at which either side of a hunk stands; ``match`` is asked first."""
    for found in (match, other):
        line = found.hunks[index].line
        if line is not None:
            return range(line - 1, line - 1 + len(_block(hunk, found.direction)))
    return None


def _block(hunk: Hunk, direction: Direction) -> tuple[bytes, ...]:
    return hunk.old_lines if direction is Direction.FORWARD else hunk.new_lines


def _stated(hunk: Hunk, direction: Direction) -> int:
    return hunk.old_start if direction is Direction.FORWARD else hunk.new_start


def _whole(diff: FileDiff, content: bytes) -> tuple[ScriptLine, ...]:
    """Compare a file that should be equal as a whole from where it begins to differ."""
    expected = [line for hunk in diff.hunks for line in hunk.old_lines + hunk.new_lines]
    found = Index(content).lines
    same = next((at for at, (a, b) in enumerate(zip(expected, found, strict=False)) if a != b), None)
    first = min(len(expected), len(found)) if same is None else same
    script = compare(expected[first : first + 1], found[first : first + 1], (), first + 1)
    rest = max(len(expected), len(found)) - first - 1
    return (*script, ScriptLine(mark=Mark.SKIPPED, skipped=rest)) if rest > 0 else script
