"""Put diffs over bytes, in memory, all or nothing for one entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from patchctl.diff import FileDiff
from patchctl.match import Match, locate, splice


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


def fold_diffs(diffs: Sequence[FileDiff], read: Callable[[str], bytes | None]) -> Fold:
    """Apply ``diffs`` in order over what ``read`` gives for a path (bytes, or None: no such file)."""
    contents: dict[str, bytes | None] = {}
    matches = []
    for diff in diffs:
        before = contents[diff.path] if diff.path in contents else read(diff.path)
        match = locate(diff, before)
        matches.append(match)
        if match.fits:
            contents[diff.path] = splice(diff, before, match)
    fits = all(match.fits for match in matches)
    return Fold(matches=tuple(matches), contents=contents if fits else {}, fits=fits)
