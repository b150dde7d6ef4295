"""How much fuzz GNU patch would need: by hand, and against the program itself."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from patchctl.diff import FileDiff, parse_diff
from patchctl.match.fuzz import fuzz_needed
from tests.registries import make_diff

OLD = b"".join(b"line %d\n" % number for number in range(1, 21))
NEW = OLD.replace(b"line 10\n", b"line ten\n")


def parsed(old: bytes, new: bytes, *, context: int = 3) -> FileDiff:
    (file,) = parse_diff(make_diff({"f": (old, new)}, context=context))
    return file


@pytest.mark.parametrize(
    ("changed", "fuzz"),
    [
        (b"line 1\n", 0),
        (b"line 7\n", 1),
        (b"line 13\n", 1),
        (b"line 8\n", 2),
        (b"line 12\n", 2),
        (b"line 9\n", None),
        (b"line 10\n", None),
    ],
)
def test_is_the_depth_at_which_context_changed(changed: bytes, fuzz: int | None) -> None:
    assert fuzz_needed(parsed(OLD, NEW), OLD.replace(changed, b"else\n")) == fuzz


def test_is_that_of_the_worst_hunk() -> None:
    new = OLD.replace(b"line 2\n", b"two\n").replace(b"line 18\n", b"eighteen\n")
    assert fuzz_needed(parsed(OLD, new), OLD.replace(b"line 5\n", b"five\n").replace(b"line 16\n", b"x\n")) == 2


def test_is_none_where_hunks_would_stand_in_another_order() -> None:
    new = OLD.replace(b"line 3\n", b"three\n").replace(b"line 17\n", b"seventeen\n")
    rows = OLD.split(b"\n")
    assert fuzz_needed(parsed(OLD, new), b"\n".join(rows[10:20] + rows[:10]) + b"\n") is None


def test_keeps_a_hunk_at_the_end_of_a_file_that_it_was_cut_from() -> None:
    """With less context than on its other side, it stands there, until fuzz makes both sides alike."""
    top = parsed(OLD, OLD.replace(b"line 2\n", b"two\n"))
    assert [fuzz_needed(top, head + OLD) for head in (b"", b"new\n")] == [0, 2]
    bottom = parsed(OLD, OLD.replace(b"line 19\n", b"nineteen\n"))
    assert [fuzz_needed(bottom, OLD + tail) for tail in (b"", b"new\n")] == [0, 2]


def test_is_none_for_a_file_that_is_added() -> None:
    (file,) = parse_diff(make_diff({"f": (None, b"new\n")}))
    assert fuzz_needed(file, b"old\n") is None


def taken(folder: Path, content: bytes, diff: bytes, fuzz: int) -> bool:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "f").write_bytes(content)
    command = ["patch", "-p1", "--batch", "--forward", f"--fuzz={fuzz}", "--no-backup-if-mismatch"]
    done = subprocess.run(command, cwd=folder, input=diff, capture_output=True, check=False, timeout=20)
    return done.returncode == 0


ROWS = st.lists(st.integers(0, 60), min_size=12, max_size=40, unique=True)
PLACES = st.lists(st.integers(0, 400), min_size=1, max_size=2)
DRIFT = st.lists(st.tuples(st.integers(0, 400), st.sampled_from(["change", "put", "drop", "repeat"])), max_size=4)


@pytest.mark.skipif(shutil.which("patch") is None, reason="GNU patch is not installed")
@settings(
    max_examples=200, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=ROWS, edits=PLACES, drift=DRIFT, context=st.integers(1, 3))
def test_is_what_gnu_patch_needs(
    tmp_path: Path, rows: list[int], edits: list[int], drift: list[tuple[int, str]], context: int
) -> None:
    lines = [b"line %d\n" % row for row in rows]
    new, now = list(lines), list(lines)
    for at in edits:
        new[at % len(new)] = b"ours %d\n" % at
    for at, how in drift:
        place = at % len(now)
        whole = {"change": [b"drift %d\n" % at], "put": [b"put %d\n" % at, now[place]], "drop": []}
        now[place : place + 1] = whole.get(how, now[max(0, place - 4) : place + 5])
    if new == lines:
        return
    diff = make_diff({"f": (b"".join(lines), b"".join(new))}, context=context)
    (file,) = parse_diff(diff)
    content = b"".join(now)
    needed = next((fuzz for fuzz in range(3) if taken(tmp_path / "run", content, diff, fuzz)), None)
    assert fuzz_needed(file, content) == needed
