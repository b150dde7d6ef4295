"""Put diffs over bytes, in memory, all or nothing for one entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from patchctl.diff import FileDiff
from patchctl.match import LISTED, Direction, Fit, FitReport, HunkPlace, Match, judge_fit, locate, splice
from patchctl.model import Content

_FILE_REASONS = {
    "file-missing": "there is no such file",
    "file-exists": "there is such a file already",
    "content-differs": "the file is not the one that the diff removes",
    "mode-differs": "the mode of the file is not the one that the diff changes",
}


Read = Callable[[str], Content | None]
"""What is at a path, relative to the site; None: no file."""


class Fold(NamedTuple):
    """The outcome of folding one entry's diffs.

    Attributes:
        matches: one per diff, in order; where each hunk was placed, or why not.
        contents: path -> the file afterwards (None: removed); empty unless every diff fits.
        fits: every hunk of every diff has its place.
    """

    matches: tuple[Match, ...]
    contents: dict[str, Content | None]
    fits: bool


def fold_diffs(diffs: Sequence[FileDiff], read: Read, *, max_offset: int | None = None) -> Fold:
    """Apply ``diffs`` in order over what ``read`` gives for a path.

    ``max_offset`` bounds how many lines a hunk may lie from where its diff states.
    """
    contents: dict[str, Content | None] = {}
    matches = []

    def now(path: str) -> Content | None:
        return contents[path] if path in contents else read(path)

    for diff in diffs:
        before, target = now(diff.paths[0]), now(diff.path)
        match = locate(
            diff,
            None if before is None else before.data,
            occupied=diff.old_path is not None and target is not None,
            executable=None if before is None else before.executable,
            max_offset=max_offset,
        )
        matches.append(match)
        if match.fits:
            contents |= changed(diff, before, match)
    fits = all(match.fits for match in matches)
    return Fold(matches=tuple(matches), contents=contents if fits else {}, fits=fits)


def fit_of(diff: FileDiff, read: Read) -> FitReport:
    """Judge ``diff`` over what ``read`` gives for its paths."""
    found = read(diff.path)
    source = read(diff.old_path) if diff.old_path is not None else None
    there = found or source
    return judge_fit(
        diff,
        None if found is None else found.data,
        source=None if source is None else source.data,
        executable=None if there is None else there.executable,
    )


def changed(diff: FileDiff, before: Content | None, match: Match) -> dict[str, Content | None]:
    """Return what one diff that fits makes of its file, under each of its names; None: no file.

    Args:
        diff: changes to one file.
        before: the file that ``match`` was found in.
        match: a match that fits, in either direction.
    """
    forward = match.direction is Direction.FORWARD
    origin, goal = (diff.paths[0], diff.path) if forward else (diff.path, diff.paths[0])
    data = splice(diff, None if before is None else before.data, match)
    mode = diff.mode if forward else diff.old_mode
    after = None if data is None else (before or Content(data=data)).changed_to(mode)._replace(data=data)
    return {origin: None, goal: after}


def misfit_words(reason: str | None, hunks: Sequence[HunkPlace], renamed: str | None = None) -> str | None:
    """Return in words why a diff does not fit a file; None when it does.

    Args:
        reason: of the file as a whole.
        hunks: the place of each hunk, or why it has none.
        renamed: the name that a rename takes the file from; whoever shows these words names the new one.
    """
    if reason == "file-missing" and renamed is not None:
        return f"{renamed}, which is to be renamed to it, is not there"
    if reason is not None:
        return _FILE_REASONS.get(reason, reason)
    for hunk in hunks:
        if hunk.reason is not None:
            return f"hunk {hunk.number}: {hunk_words(hunk)}"
    return None


def hunk_words(place: HunkPlace) -> str:
    """Return in words why a hunk has no place, with the lines where it might have been meant to go."""
    lines = lines_words(place.candidates)
    if place.reason == "ambiguous":
        return f"its lines stand at several places{': ' + lines if lines else ''}"
    if place.reason == "out-of-order":
        return f"its lines stand only where a neighbouring hunk leaves no room{': ' + lines if lines else ''}"
    if place.reason == "too-far" and place.line is not None and place.offset is not None:
        return f"its lines stand at line {place.line}, {abs(place.offset)} lines from where the diff states"
    return "its lines are not in the file"


def lines_words(lines: Sequence[int]) -> str:
    """Return ``line 4``, or ``lines 4, 9 and 12``; where more were not looked for, it says so."""
    if len(lines) >= LISTED:
        return f"lines {', '.join(map(str, lines))} and perhaps more"
    *most, last = map(str, lines or ("",))
    return f"lines {', '.join(most)} and {last}" if most else f"line {last}" if last else ""


def taken_out(diffs: Sequence[FileDiff], read: Read) -> dict[str, Content | None]:
    """Return path -> the file without the changes that ``diffs`` made to it, the last first; only what differs.

    Where nobody recorded what was applied, an entry's own change must not be taken for upstream's: what fits in
    reverse is put back before the bytes are asked whether a fix is in them.
    """
    contents: dict[str, Content | None] = {}

    def now(path: str) -> Content | None:
        return contents[path] if path in contents else read(path)

    for diff in reversed(diffs):
        report = fit_of(diff, now)
        if report.fit is Fit.PRESENT:
            contents |= changed(diff, now(diff.path), report.reverse)
    return contents
