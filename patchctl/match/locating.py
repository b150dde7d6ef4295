"""The rule of placing: a whole block, byte for byte, where the diff states it or at the one place it can mean.

There is no fuzz and no leniency about blanks or line ends. All hunks at their stated lines is ``exact`` and needs no
search. Otherwise every hunk must occur once, in the order of the diff; one that occurs several times may still be
told by the hunks around it, else the answer is ``ambiguous``, never the nearest guess.
"""

from __future__ import annotations

from patchctl.diff import ChangeKind, FileDiff
from patchctl.match.placing import Piece, place_all
from patchctl.match.text import Text
from patchctl.match.values import Direction, HunkPlace, Match
from patchctl.model import OWNER_EXECUTES


def locate(
    diff: FileDiff,
    content: bytes | None,
    direction: Direction = Direction.FORWARD,
    *,
    occupied: bool = False,
    executable: bool | None = None,
    max_offset: int | None = None,
) -> Match:
    """Find the place of every hunk of ``diff``.

    Args:
        diff: changes to one file.
        content: the file's bytes; None: the file is not there. Of a rename: what is at the name that this direction
            takes the file from.
        direction: which side of the hunks to look for.
        occupied: of a rename: something is at the name that this direction brings the file to.
        executable: whether the file's owner may execute it, for a diff that changes that; None: unknown, and then the
            mode decides nothing.
        max_offset: largest accepted distance in lines from the stated line; None: any.
    """
    text = None if content is None else Text(content)
    return _bounded(locate_in(diff, text, direction, occupied=occupied, executable=executable), max_offset)


def locate_in(
    diff: FileDiff,
    text: Text | None,
    direction: Direction,
    *,
    occupied: bool = False,
    executable: bool | None = None,
) -> Match:
    """Do what :func:`locate` does for a text that is split already."""
    if diff.kind in {ChangeKind.ADD, ChangeKind.DELETE}:
        return _locate_whole_file(diff, text, direction)
    if text is None:
        return _refused(diff, direction, "file-missing")
    pieces = [_piece(diff, index, direction, text) for index in range(len(diff.hunks))]
    reason = "file-exists" if occupied else _mode_reason(diff, direction, executable)
    return Match(direction=direction, hunks=place_all(pieces, text), reason=reason)


def _mode_reason(diff: FileDiff, direction: Direction, executable: bool | None) -> str | None:
    expected = diff.old_mode if direction is Direction.FORWARD else diff.mode
    if diff.old_mode is None or expected is None or executable is None:
        return None
    return None if executable is bool(expected & OWNER_EXECUTES) else "mode-differs"


def _piece(diff: FileDiff, index: int, direction: Direction, text: Text) -> Piece:
    hunk = diff.hunks[index]
    forward = direction is Direction.FORWARD
    block = hunk.old_lines if forward else hunk.new_lines
    stated = (hunk.old_start if forward else hunk.new_start) - 1
    # git's anchors: a diff has less context than asked for only where the file begins or ends
    anchors = []
    if stated == 0:
        anchors.append(0)
    if hunk.trailing == 0:
        anchors.append(text.count - len(block))
    return Piece(number=hunk.number, block=block, stated=stated, anchors=tuple(anchors))


def _locate_whole_file(diff: FileDiff, text: Text | None, direction: Direction) -> Match:
    """Judge a file that is added or deleted: it must be absent, or equal to the diff's text as a whole."""
    expects_absence = (diff.kind is ChangeKind.ADD) is (direction is Direction.FORWARD)
    if expects_absence:
        reason = None if text is None else "file-exists"
    elif text is None:
        reason = "file-missing"
    else:
        whole = b"".join(line for hunk in diff.hunks for line in hunk.old_lines + hunk.new_lines)
        reason = None if text.content == whole else "content-differs"
    if reason is not None:
        return _refused(diff, direction, reason)
    return Match(
        direction=direction,
        hunks=tuple(HunkPlace(number=hunk.number, line=1, offset=0) for hunk in diff.hunks),
    )


def _refused(diff: FileDiff, direction: Direction, reason: str) -> Match:
    places = tuple(HunkPlace(number=hunk.number, reason="not-found") for hunk in diff.hunks)
    return Match(direction=direction, hunks=places, reason=reason)


def _bounded(match: Match, max_offset: int | None) -> Match:
    if max_offset is None or match.largest_offset <= max_offset:
        return match
    return match._replace(hunks=tuple(_bounded_place(place, max_offset) for place in match.hunks))


def _bounded_place(place: HunkPlace, max_offset: int) -> HunkPlace:
    if place.reason is None and place.offset is not None and abs(place.offset) > max_offset:
        return place._replace(reason="too-far")
    return place
