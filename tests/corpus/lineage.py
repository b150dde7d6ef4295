"""Which line of an older file a line of a newer one comes from: the real older tree as second opinion on places.

Made from git's diff between the two releases, read by the short reader of ``tests.fuzz``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from patchctl.diff import FileDiff, Hunk
from patchctl.match import HunkPlace, Match
from tests.corpus.tools import git_diff
from tests.diffs import split
from tests.fuzz.reader import read_diff

Lines = dict[int, int]


def lineage(newer: Mapping[str, bytes], older: Mapping[str, bytes], folder: Path) -> dict[str, Lines]:
    """Path -> line of the newer file -> line of the older one, both from 0, for lines that did not change."""
    found = {}
    for file in read_diff(git_diff(newer, older, folder, "--unified=0", "--histogram")):
        if file.old is None or file.new is None:
            continue
        path = file.new.partition(b"/")[2].decode()
        lines: Lines = {}
        here, there = 0, 0
        for hunk in file.hunks:
            old_count, new_count = len(split(hunk.old)), len(split(hunk.new))
            start = hunk.old_start - (1 if old_count else 0)
            lines.update(zip(range(here, start), range(there, there + start - here), strict=True))
            here, there = start + old_count, hunk.new_start - (1 if new_count else 0) + new_count
        rest = newer[path].count(b"\n") + 1 - here
        lines.update(zip(range(here, here + rest), range(there, there + rest), strict=True))
        found[path] = lines
    return found


def same_lines(file: FileDiff, match: Match, lines: Lines) -> bool | None:
    """Whether every hunk of a forward match was placed where its own lines come from; None: nobody knows.

    Looked at are the lines that go away, and where lines are put in, those beside them. Context further off may be a
    blank line of another place.
    """
    told = [
        line == lines[own]
        for hunk, place in zip(file.hunks, match.hunks, strict=True)
        for own, line in _decisive(hunk, place)
        if own in lines
    ]
    return all(told) if told else None


def _decisive(hunk: Hunk, place: HunkPlace) -> Iterator[tuple[int, int]]:
    assert place.line is not None
    row = 0
    tags = [line[:1] if line != b"\n" else b" " for line in hunk.body if not line.startswith(b"\\")]
    for at, tag in enumerate(tags):
        beside = b"+" in tags[max(at - 1, 0) : at + 2]
        if tag == b"-" or (tag == b" " and beside):
            yield hunk.old_start - 1 + row, place.line - 1 + row
        row += tag != b"+"
