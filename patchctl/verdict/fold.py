"""Put diffs over bytes, in memory, all or nothing for one entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from patchctl.diff import FileDiff
from patchctl.match import Fit, HunkPlace, Match, judge_fit, locate, splice

_FILE_REASONS = {
    "file-missing": "there is no such file",
    "file-exists": "there is such a file already",
    "content-differs": "the file is not the one that the diff removes",
}
_HUNK_REASONS = {
    "not-found": "its lines are not in the file",
    "ambiguous": "its lines stand at several places",
    "out-of-order": "its lines stand only where a neighbouring hunk leaves no room",
    "too-far": "its lines stand too far from where the diff states",
}


class Fold(NamedTuple):
    """The outcome of folding one entry's diffs.

    Attributes:
        matches: one per diff, in order; where each hunk was placed, or why not.
        contents: path -> bytes afterwards (None: removed); empty unless every diff fits.
        fits: every hunk of every diff has its place.
    """

    matches: tuple[Match, ...]
    contents: dict[str, bytes | None]
    fits: bool


def fold_diffs(
    diffs: Sequence[FileDiff], read: Callable[[str], bytes | None], *, max_offset: int | None = None
) -> Fold:
    """Apply ``diffs`` in order over what ``read`` gives for a path (bytes, or None: no such file).

    ``max_offset`` bounds how many lines a hunk may lie from where its diff states.
    """
    contents: dict[str, bytes | None] = {}
    matches = []
    for diff in diffs:
        before = contents[diff.path] if diff.path in contents else read(diff.path)
        match = locate(diff, before, max_offset=max_offset)
        matches.append(match)
        if match.fits:
            contents[diff.path] = splice(diff, before, match)
    fits = all(match.fits for match in matches)
    return Fold(matches=tuple(matches), contents=contents if fits else {}, fits=fits)


def misfit_words(reason: str | None, hunks: Sequence[HunkPlace]) -> str | None:
    """Return in words why a diff does not fit a file; None when it does.

    Args:
        reason: of the file as a whole.
        hunks: the place of each hunk, or why it has none.
    """
    if reason is not None:
        return _FILE_REASONS.get(reason, reason)
    for hunk in hunks:
        if hunk.reason is not None:
            return f"hunk {hunk.number}: {_HUNK_REASONS.get(hunk.reason, hunk.reason)}"
    return None


def taken_out(data: bytes | None, diffs: Sequence[FileDiff]) -> bytes | None:
    """Return a file's bytes without the changes that ``diffs`` (all of this file) made to them, the last first.

    Where nobody recorded what was applied, an entry's own change must not be taken for upstream's: what fits in
    reverse is put back before the bytes are asked whether a fix is in them.
    """
    for diff in reversed(diffs):
        report = judge_fit(diff, data)
        if report.fit is Fit.PRESENT:
            data = splice(diff, data, report.reverse)
    return data
