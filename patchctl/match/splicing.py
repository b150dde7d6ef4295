"""The bytes of a file after its hunks went in, or came out."""

from __future__ import annotations

from patchctl.diff import ChangeKind, FileDiff
from patchctl.match.text import Text
from patchctl.match.values import Direction, Match


def splice(diff: FileDiff, content: bytes | None, match: Match) -> bytes | None:
    """Return the content after ``diff`` is applied in the direction of ``match``; None: the file is gone.

    Of a rename: the content that goes to the other name.

    Args:
        diff: changes to one file.
        content: the bytes that ``match`` was found in; None: the file is not there.
        match: a match that fits.

    Raises:
        ValueError: the match does not fit, or was found in other bytes.
    """
    if not match.fits or len(match.hunks) != len(diff.hunks):
        raise ValueError(f"{diff.path}: the match does not fit")
    if diff.kind not in {ChangeKind.ADD, ChangeKind.DELETE}:
        return _spliced(diff, content, match)
    whole = b"".join(line for hunk in diff.hunks for line in hunk.old_lines + hunk.new_lines)
    appears = (diff.kind is ChangeKind.ADD) is (match.direction is Direction.FORWARD)
    before, after = (None, whole) if appears else (whole, None)
    if content != before:
        raise ValueError(f"{diff.path}: the match was found in other bytes")
    return after


def _spliced(diff: FileDiff, content: bytes | None, match: Match) -> bytes:
    if content is None:
        raise ValueError(f"{diff.path}: the match was found in other bytes")
    forward = match.direction is Direction.FORWARD
    text = Text(content)
    pieces: list[bytes] = []
    done = 0
    for hunk, place in zip(diff.hunks, match.hunks, strict=True):
        old, new = (hunk.old_lines, hunk.new_lines) if forward else (hunk.new_lines, hunk.old_lines)
        # a match is only a value: it is held against the bytes again before they are replaced
        start = -1 if place.line is None else text.start(place.line - 1)
        if place.line is None or not text.holds(old, place.line - 1) or start < done:
            raise ValueError(f"{diff.path}: the match was found in other bytes")
        pieces += [content[done:start], *new]
        done = start + sum(map(len, old))
    pieces.append(content[done:])
    return b"".join(pieces)
