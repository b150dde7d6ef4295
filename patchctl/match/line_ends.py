"""Would a diff fit if carriage returns before newlines did not count? Then its file has other line ends, no other code.

Nothing is ever applied on these terms; this only says what is the matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from patchctl.diff import ChangeKind, FileDiff
from patchctl.match.fit import has_blob
from patchctl.match.locating import locate
from patchctl.match.values import Direction


class LineEnd(str, Enum):
    """How the lines of a text end."""

    LF = "lf"
    CRLF = "crlf"
    MIXED = "mixed"


class LineEnds(NamedTuple):
    """A diff that fits once line ends are ignored.

    Attributes:
        side: FORWARD: it could go in; REVERSE: it is in.
        diff: line ends of the diff's lines.
        file: line ends of the file.
        crlf: how many lines of the file end in CRLF.
        lines: how many lines the file has.
        whole: the file is proven to equal, but for line ends, the one that the diff was made from (FORWARD) or leads
            to (REVERSE).
        places: 1-based lines at which the hunks stand.
        plain: the diff has no marker for a missing newline in its hunks, and no blank context line without its tag.
    """

    side: Direction
    diff: LineEnd
    file: LineEnd
    crlf: int
    lines: int
    whole: bool
    places: tuple[int, ...]
    plain: bool


def fits_without_line_ends(diff: FileDiff, content: bytes) -> LineEnds | None:
    """Return what is known of a diff that does not fit, but would if line ends were ignored; None: it would not either.

    Args:
        diff: changes to one file.
        content: the file's bytes.
    """
    if b"\r\n" not in content and not any(line.endswith(b"\r\n") for line in _lines(diff)):
        return None
    bare_diff, bare = _without(diff), content.replace(b"\r\n", b"\n")
    for side in Direction:
        match = locate(bare_diff, bare, side)
        if match.fits:
            return LineEnds(
                side=side,
                diff=_kind_of(_lines(diff)),
                file=_kind_of(_split(content)),
                crlf=content.count(b"\r\n"),
                lines=content.count(b"\n") + (not content.endswith(b"\n")),
                whole=_is_whole(diff, content, bare, side),
                places=tuple(place.line for place in match.hunks if place.line is not None),
                plain=_is_plain(diff),
            )
    return None


def _without(diff: FileDiff) -> FileDiff:
    hunks = tuple(
        hunk._replace(old_lines=_bare(hunk.old_lines), new_lines=_bare(hunk.new_lines)) for hunk in diff.hunks
    )
    return diff._replace(hunks=hunks)


def _bare(lines: Sequence[bytes]) -> tuple[bytes, ...]:
    return tuple(line[:-2] + b"\n" if line.endswith(b"\r\n") else line for line in lines)


def _lines(diff: FileDiff) -> list[bytes]:
    return [line for hunk in diff.hunks for line in (*hunk.old_lines, *hunk.new_lines)]


def _split(content: bytes) -> list[bytes]:
    return [line + b"\n" for line in content.split(b"\n")[:-1]]


def _kind_of(lines: Sequence[bytes]) -> LineEnd:
    crlf = sum(line.endswith(b"\r\n") for line in lines)
    ended = sum(line.endswith(b"\n") for line in lines)
    if crlf == 0:
        return LineEnd.LF
    return LineEnd.CRLF if crlf == ended else LineEnd.MIXED


def _is_whole(diff: FileDiff, content: bytes, bare: bytes, side: Direction) -> bool:
    """A file that is added or deleted was compared as a whole; of others the diff's index line may know the blob."""
    if diff.kind in {ChangeKind.ADD, ChangeKind.DELETE}:
        return True
    blob = diff.old_blob if side is Direction.FORWARD else diff.new_blob
    return any(has_blob(text, blob) for text in (bare, bare.replace(b"\n", b"\r\n"), content))


def _is_plain(diff: FileDiff) -> bool:
    return all(line[:1] in {b" ", b"-", b"+"} for hunk in diff.hunks for line in hunk.body)
