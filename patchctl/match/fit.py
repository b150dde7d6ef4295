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


def judge_fit(diff: FileDiff, content: bytes | None, *, pristine: bool | None = None) -> FitReport:
    """Tell from the bytes alone whether ``diff`` is present in one file.

    Args:
        diff: changes to one file.
        content: the file's bytes; None: the file is not there.
        pristine: the bytes equal what RECORD lists, so nobody patched them; None: not known. It only breaks a tie.
    """
    text = None if content is None else Text(content)
    forward = locate_in(diff, text, Direction.FORWARD)
    reverse = locate_in(diff, text, Direction.REVERSE)
    fit = _judge(diff, content, forward, reverse, pristine=pristine is True)
    return FitReport(fit=fit, forward=forward, reverse=reverse)


def _judge(diff: FileDiff, content: bytes | None, forward: Match, reverse: Match, *, pristine: bool) -> Fit:
    if content is None and diff.kind is not ChangeKind.ADD:
        return Fit.MISSING
    if forward.fits and reverse.fits:
        return _break_tie(diff, content or b"", forward, reverse, pristine=pristine)
    if reverse.fits:
        return Fit.PRESENT
    if forward.fits:
        return Fit.UNDECIDED if _resembles_result(forward, reverse) else Fit.APPLICABLE
    report = FitReport(fit=Fit.CONFLICT, forward=forward, reverse=reverse)
    return Fit.PARTIAL if {Fit.PRESENT, Fit.APPLICABLE} <= set(report.hunks) else Fit.CONFLICT


def _break_tie(diff: FileDiff, content: bytes, forward: Match, reverse: Match, *, pristine: bool) -> Fit:
    is_old, is_new = _has_blob(content, diff.old_blob), _has_blob(content, diff.new_blob)
    if is_old != is_new:
        return Fit.APPLICABLE if is_old else Fit.PRESENT
    if forward.exact != reverse.exact:
        return Fit.APPLICABLE if forward.exact else Fit.PRESENT
    return Fit.APPLICABLE if pristine else Fit.UNDECIDED


def _resembles_result(forward: Match, reverse: Match) -> bool:
    """Tell whether a hunk would go in away from its stated line while its result stands somewhere already.

    That is what a patched file looks like which has a second copy of the code.
    """
    return any(
        preimage.offset and postimage.reason != "not-found"
        for preimage, postimage in zip(forward.hunks, reverse.hunks, strict=True)
    )


def _has_blob(content: bytes, blob: str | None) -> bool:
    """Tell whether git would name ``content`` by ``blob``, a sha1 id or the beginning of one."""
    if blob is None or len(blob) < SHORTEST_BLOB:
        return False
    # git's object format, not a protection: both sides have been compared byte for byte already
    digest = hashlib.sha1(b"blob %d\x00" % len(content) + content, usedforsecurity=False)
    return digest.hexdigest().startswith(blob)
