"""Against ``git apply`` and ``patch --fuzz=0`` on generated cases, in every case where the three have to agree.

They have to agree on the base the diff was made from. On a base that moved, where our rule gives a place, it is the
place they take too; where a block is nowhere, they find none either. They may go further than we do: they take the
nearest of several places, and we refuse to guess.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from patchctl.diff import FileDiff, parse_diff
from patchctl.errors import DiffError
from patchctl.match import Direction, locate, splice
from tests.diffs import NO_NEWLINE, split, unified

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
needs_patch = pytest.mark.skipif(shutil.which("patch") is None, reason="GNU patch is not installed")
generated = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

LINE = st.sampled_from([b"a", b"b", b"c", b"", b"x\r", b"\x0c", b"\xff", b"-- d", b"++ e", b"@@ -1 +1 @@", b"\ttab "])
NUMBERED = st.integers(0, 60).map(lambda number: b"line %d" % number)
CONTENT = st.builds(
    lambda rows, end: b"\n".join(rows) + end,
    st.lists(LINE | NUMBERED, max_size=40),
    st.sampled_from([b"\n", b"\n", b""]),
)
LONG = st.lists(st.integers(0, 40), min_size=15, max_size=60).map(
    lambda rows: b"".join(b"line %d\n" % row for row in rows)
)
EDITS = st.lists(st.tuples(st.integers(0, 200), st.sampled_from(["drop", "put", "change"])), min_size=1, max_size=5)


def edited(content: bytes, edits: Sequence[tuple[int, str]], word: bytes) -> bytes:
    """``content`` with some of its lines dropped, changed, or a line put in front of them."""
    rows = split(content)
    for at, what in edits:
        place = at % (len(rows) + 1)
        if what == "put":
            rows.insert(place, word + b" put\n")
        elif place < len(rows):
            rows[place : place + 1] = [] if what == "drop" else [word + b" changed\n"]
    return b"".join(row if row.endswith(b"\n") or row is rows[-1] else row + b"\n" for row in rows)


def run(command: list[str], folder: Path, content: bytes, diff: bytes) -> bytes | None:
    """What the tool makes of file ``f``; None when it refuses."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "f").write_bytes(content)
    # no repository above, no configuration: git apply would skip files or convert line ends in silence
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    environment |= {"GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    done = subprocess.run(command, cwd=folder, input=diff, capture_output=True, env=environment, check=False)
    if done.returncode != 0:
        return None
    return (folder / "f").read_bytes() if (folder / "f").exists() else b""


def git(folder: Path, content: bytes, diff: bytes, *options: str) -> bytes | None:
    return run(["git", "apply", "-p1", "--whitespace=nowarn", *options, "-"], folder, content, diff)


def gnu(folder: Path, content: bytes, diff: bytes, *options: str) -> bytes | None:
    command = ["patch", "-p1", "--fuzz=0", "--binary", "--batch", "--forward", "--silent", "--reject-file=-"]
    return run([*command, "--no-backup-if-mismatch", *options], folder, content, diff)


def parsed(old: bytes, new: bytes) -> tuple[bytes, FileDiff] | None:
    diff = unified(old, new, "f")
    try:
        (file,) = parse_diff(diff)
    except DiffError:
        return None
    return diff, file


@needs_git
@needs_patch
@generated
@given(CONTENT, EDITS)
def test_all_three_agree_on_the_right_base(tmp_path: Path, old: bytes, edits: list[tuple[int, str]]) -> None:
    new = edited(old, edits, b"ours")
    case = parsed(old, new)
    if case is None:
        return
    diff, file = case
    match = locate(file, old)
    assert match.exact
    assert splice(file, old, match) == new
    assert git(tmp_path / "git", old, diff) == new
    assert gnu(tmp_path / "gnu", old, diff) == new
    # patch would also detect the reversal by itself; -R asks for it
    assert git(tmp_path / "git", new, diff, "-R") == old
    assert gnu(tmp_path / "gnu", new, diff, "-R") == old


@needs_git
@needs_patch
@generated
@given(
    CONTENT | LONG, EDITS, EDITS.map(lambda edits: edits[:2]), st.sampled_from([Direction.FORWARD, Direction.REVERSE])
)
def test_where_we_find_a_place_on_a_moved_base_the_others_find_the_same(
    tmp_path: Path, old: bytes, edits: list[tuple[int, str]], drift: list[tuple[int, str]], direction: Direction
) -> None:
    new = edited(old, edits, b"ours")
    case = parsed(old, new)
    if case is None:
        return
    diff, file = case
    moved = edited(old if direction is Direction.FORWARD else new, drift, b"theirs")
    options = [] if direction is Direction.FORWARD else ["-R"]
    match = locate(file, moved, direction)
    by_git, by_gnu = git(tmp_path / "git", moved, diff, *options), gnu(tmp_path / "gnu", moved, diff, *options)
    # git takes a last line without newline for the beginning of any line, and drops newlines that way
    git_is_exact = NO_NEWLINE not in diff
    if match.fits:
        made = splice(file, moved, match)
        assert by_git == made or not git_is_exact
        # patch ties a hunk with less trailing than leading context to the end of the file, even with some context left
        assert by_gnu == made or (by_gnu is None and any(hunk.trailing < hunk.leading for hunk in file.hunks))
    elif any(place.reason == "not-found" for place in match.hunks):
        assert by_git is None or not git_is_exact


@needs_git
@generated
@given(CONTENT, EDITS)
def test_git_diffs_are_read_as_git_means_them(tmp_path: Path, old: bytes, edits: list[tuple[int, str]]) -> None:
    new = edited(old, edits, b"ours")
    folder = tmp_path / "trees"
    for name, content in (("a", old), ("b", new)):
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "f").write_bytes(content)
    command = ["git", "diff", "--no-index", "--text", "--no-prefix", "a", "b"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    try:
        files = parse_diff(done.stdout)
    except DiffError as error:
        code = error.problem.code
        accepted = (code == "empty" and old == new) or code == "no-context"
        if not accepted:
            raise
        return
    (file,) = files
    match = locate(file, old)
    assert match.exact
    assert splice(file, old, match) == new
