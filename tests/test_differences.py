"""What docs/differences.md says about git, patch and us beyond the counts, one row after the other."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from patchctl.diff import parse_diff
from patchctl.errors import DiffError
from patchctl.match import Fit, judge_fit, splice
from tests.corpus.tools import environment
from tests.test_match_differential import git, gnu, needs_git, needs_patch

pytestmark = [needs_git, needs_patch]

BASE = b"a\nb\nc\nd\ne\n"
DONE = b"a\nb\nC\nd\ne\n"
PAIR = b"--- a/f\n+++ b/f\n"
HUNK = b"@@ -2,3 +2,3 @@\n b\n-c\n+C\n d\n"
LATER = b"@@ -5,2 +5,3 @@\n e\n+f\n g\n"


def ours(content: bytes, diff: bytes) -> bytes | str | None:
    """The bytes we make; else the code of the refusal, or the state of the file."""
    try:
        (file,) = parse_diff(diff)
    except DiffError as error:
        return error.problem.code
    report = judge_fit(file, content)
    return splice(file, content, report.forward) if report.fit is Fit.APPLICABLE else report.fit.value


def test_text_between_hunks(tmp_path: Path) -> None:
    content = b"a\nb\nc\nd\ne\ng\n"
    diff = PAIR + HUNK + b"text\n" + LATER
    assert gnu(tmp_path / "gnu", content, diff) == b"a\nb\nC\nd\ne\ng\n"
    assert git(tmp_path / "git", content, diff) is None
    assert ours(content, diff) == "leftover"


def test_an_insertion_without_context(tmp_path: Path) -> None:
    diff = PAIR + b"@@ -2,0 +3 @@\n+X\n"
    assert gnu(tmp_path / "gnu", BASE, diff) == b"a\nb\nX\nc\nd\ne\n"
    assert git(tmp_path / "git", BASE, diff) in {None, BASE + b"X\n"}
    assert ours(BASE, diff) == "no-context"


def test_a_final_newline_that_the_diff_does_not_have(tmp_path: Path) -> None:
    diff = PAIR + b"@@ -4,2 +4,2 @@\n-d\n+D\n e\n\\ No newline at end of file\n"
    assert gnu(tmp_path / "gnu", BASE, diff) is None
    assert git(tmp_path / "git", BASE, diff) == b"a\nb\nc\nD\ne"
    assert ours(BASE, diff) == "conflict"


def test_a_deletion_that_only_the_new_name_tells(tmp_path: Path) -> None:
    diff = b"diff --git a/f b/f\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    assert gnu(tmp_path / "gnu", b"a\n", diff) == b""
    assert not (tmp_path / "gnu" / "f").exists()
    git(tmp_path / "git", b"a\n", diff)
    assert [path.name for path in (tmp_path / "git").rglob("*")] == ["dev", "null"]
    assert ours(b"a\n", diff) is None


def test_a_diff_that_was_converted_to_crlf(tmp_path: Path) -> None:
    diff = (PAIR + HUNK).replace(b"\n", b"\r\n")
    assert ours(BASE, diff) == "crlf-headers"
    assert git(tmp_path / "git", BASE, diff) is None


def test_a_second_time(tmp_path: Path) -> None:
    assert gnu(tmp_path / "gnu", DONE, PAIR + HUNK) is None
    assert git(tmp_path / "git", DONE, PAIR + HUNK) is None
    assert ours(DONE, PAIR + HUNK) == "present"
    (tmp_path / "f").write_bytes(DONE)
    command = ["patch", "-p1", "--batch", "--silent"]
    done = subprocess.run(command, cwd=tmp_path, input=PAIR + HUNK, check=False, capture_output=True)
    assert (done.returncode, (tmp_path / "f").read_bytes()) == (0, BASE)


def test_below_a_git_checkout(tmp_path: Path) -> None:
    variables = environment(tmp_path)
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True, env=variables)
    site = tmp_path / "site"
    site.mkdir()
    (site / "f").write_bytes(BASE)
    diff = b"diff --git a/f b/f\n" + PAIR + HUNK
    done = subprocess.run(["git", "apply", "-"], cwd=site, input=diff, env=variables, check=False, capture_output=True)
    assert (done.returncode, (site / "f").read_bytes()) == (0, BASE)


def test_a_file_that_is_filled_or_emptied(tmp_path: Path) -> None:
    filled = PAIR + b"@@ -0,0 +1 @@\n+a\n"
    assert gnu(tmp_path / "gnu", b"", filled) == b"a\n"
    assert git(tmp_path / "git", b"", filled) == b"a\n"
    assert ours(b"", filled) == "no-context"


@pytest.mark.parametrize("tool", [git, gnu])
def test_failure_half_way(tmp_path: Path, tool: object) -> None:
    (tmp_path / "tool").mkdir()
    diff = PAIR + HUNK + b"@@ -9,2 +9,3 @@\n y\n+f\n z\n"
    assert callable(tool)
    assert tool(tmp_path / "tool", BASE, diff) is None
    # the tool that stops half way leaves the first hunk in
    assert (tmp_path / "tool" / "f").read_bytes() == (BASE if tool is git else DONE)
    assert ours(BASE, diff) == "conflict"
