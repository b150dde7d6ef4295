"""Is a diff in these bytes already, can it go in, or can nobody tell?

Both directions are tried, always. Trying one first and believing it is how a patch is applied twice, or taken for
applied where it only resembles its surroundings.
"""

from __future__ import annotations

import hashlib

from patchctl.diff import ChangeKind, FileDiff
from patchctl.match.locating import locate_in
from patchctl.match.text import Text
from patchctl.match.values import Direction, Fit, FitReport, Match

SHORTEST_BLOB = 7
"""Hexadecimal digits of a git blob id below which it says nothing; 7 is what git abbreviates to at least."""


def judge_fit(
    diff: FileDiff, content: bytes | None, *, source: bytes | None = None, executable: bool | None = None
) -> FitReport:
    """Tell from the file alone whether ``diff`` is present in it.

    Args:
        diff: changes to one file.
        content: the bytes at its path; None: no file is there.
        source: of a rename: the bytes at its old path; None: no file is there.
        executable: whether the owner may execute the file, for a diff that changes that; None: unknown.

    That a file is as its distribution installed it breaks no tie: the build itself may carry the change.
    """
    text = None if content is None else Text(content)
    old_text = text
    if diff.kind is ChangeKind.RENAME:
        old_text = None if source is None else Text(source)
    renames, both = diff.kind is ChangeKind.RENAME, None not in (content, source)
    forward = locate_in(diff, old_text, Direction.FORWARD, occupied=renames and both, executable=executable)
    reverse = locate_in(diff, text, Direction.REVERSE, occupied=renames and both, executable=executable)
    fit = _judge(diff, old_text if text is None else text, forward, reverse)
    return FitReport(fit=fit, forward=forward, reverse=reverse)


def _judge(diff: FileDiff, text: Text | None, forward: Match, reverse: Match) -> Fit:
    if text is None and diff.kind is not ChangeKind.ADD:
        return Fit.MISSING
    if forward.fits and reverse.fits:
        return _break_tie(diff, b"" if text is None else text.content, forward, reverse)
    if reverse.fits:
        return Fit.UNDECIDED if _resembles_base(diff, forward, reverse) else Fit.PRESENT
    if forward.fits:
        return Fit.UNDECIDED if _resembles_result(diff, text, forward, reverse) else Fit.APPLICABLE
    report = FitReport(fit=Fit.CONFLICT, forward=forward, reverse=reverse)
    return Fit.PARTIAL if {Fit.PRESENT, Fit.APPLICABLE} <= {*report.hunks, report.mode} else Fit.CONFLICT


def _break_tie(diff: FileDiff, content: bytes, forward: Match, reverse: Match) -> Fit:
    is_old, is_new = has_blob(content, diff.old_blob), has_blob(content, diff.new_blob)
    if is_old != is_new:
        return Fit.APPLICABLE if is_old else Fit.PRESENT
    is_stated = _is_stated(diff, reverse)
    if forward.exact != is_stated and not _is_inside(diff, forward, reverse):
        return Fit.APPLICABLE if forward.exact else Fit.PRESENT
    return Fit.UNDECIDED


def _is_stated(diff: FileDiff, reverse: Match) -> bool:
    """Tell whether the results stand at their stated lines: without the hunks left out above them, or with them all.

    A hunk cut out of a longer diff is at its ``@@`` line as written in a tree that has the whole of it. Such a tree may
    well have the preimage at its old line, too: a function put in above its like is written as put in below the first
    half of it.
    """
    return all(place.offset == 0 for place in reverse.hunks) or all(
        place.offset == diff.shift for place in reverse.hunks
    )


def _resembles_base(diff: FileDiff, forward: Match, reverse: Match) -> bool:
    """Tell whether every result stands away from its stated line, and its preimage at several places besides.

    One place would have made the diff fit forward, and the tie undecided; further ones do not make it clearer.
    """
    several = {"ambiguous", "out-of-order", None}
    return (
        diff.kind is ChangeKind.MODIFY
        and not _is_stated(diff, reverse)
        and all(place.reason in several for place in forward.hunks)
    )


def _is_inside(diff: FileDiff, forward: Match, reverse: Match) -> bool:
    """Tell whether a hunk's exact side lies within the place of its other side.

    Where a change repeats or drops a copy of its own surroundings, the shorter side is part of the longer one, and a
    few lines of drift put it at the stated line: then being there says nothing.
    """
    for hunk, preimage, postimage in zip(diff.hunks, forward.hunks, reverse.hunks, strict=True):
        if preimage.line is None or postimage.line is None:
            continue
        old = range(preimage.line, preimage.line + len(hunk.old_lines))
        new = range(postimage.line, postimage.line + len(hunk.new_lines))
        inner, outer = (old, new) if forward.exact else (new, old)
        if outer.start <= inner.start and inner.stop <= outer.stop:
            return True
    return False


def _resembles_result(diff: FileDiff, text: Text | None, forward: Match, reverse: Match) -> bool:
    """Tell whether a hunk would go in away from its stated line while its result stands somewhere already.

    That is what a patched file looks like which has a second copy of the code. Its result is looked for anywhere, also
    where a hunk at the beginning or end of a file could not be placed.
    """
    places = zip(diff.hunks, forward.hunks, reverse.hunks, strict=True)
    shifted = [(hunk, postimage) for hunk, preimage, postimage in places if preimage.offset]
    if any(postimage.reason != "not-found" for _, postimage in shifted):
        return True
    # all in one search: one for each hunk would take the product of diff and file
    return text is not None and any(text.find([hunk.new_lines for hunk, _ in shifted], 0, text.count))


def has_blob(content: bytes, blob: str | None) -> bool:
    """Tell whether git would name ``content`` by ``blob``, a sha1 id or the beginning of one."""
    if blob is None or len(blob) < SHORTEST_BLOB:
        return False
    # git's object format, not a protection: both sides have been compared byte for byte already
    digest = hashlib.sha1(b"blob %d\x00" % len(content) + content, usedforsecurity=False)
    return digest.hexdigest().startswith(blob)
