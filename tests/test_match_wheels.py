"""The engine on real code: every module that changed between two neighbouring vLLM releases."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from patchctl.diff import ChangeKind, FileDiff, Hunk, parse_diff
from patchctl.match import Direction, Fit, judge_fit, locate, splice
from patchctl.model import Content
from patchctl.verdict import fold_diffs
from tests.diffs import unified
from tests.wheels import WheelUnavailableError, slim_wheel

pytestmark = pytest.mark.wheels
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

Modules = dict[str, bytes]


def modules(version: str) -> Modules:
    try:
        wheel = slim_wheel(version)
    except WheelUnavailableError as error:
        pytest.skip(str(error))
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name.endswith(".py")}


def check_on_its_base(file: FileDiff, old: bytes | None, new: bytes | None) -> None:
    before = judge_fit(file, old)
    assert before.fit is Fit.APPLICABLE
    assert before.forward.exact
    assert splice(file, old, before.forward) == new
    after = judge_fit(file, new)
    assert after.fit is (Fit.MISSING if new is None else Fit.PRESENT)
    assert after.reverse.exact
    assert splice(file, new, after.reverse) == old


def check_one_hunk(path: str, hunk: Hunk, old: bytes) -> None:
    """A hunk cut out of its diff, its header as it was, goes in and comes out alone."""
    header = f"@@ -{hunk.old_start},{len(hunk.old_lines)} +{hunk.new_start},{len(hunk.new_lines)} @@\n"
    (file,) = parse_diff(f"--- a/{path}\n+++ b/{path}\n{header}".encode() + b"".join(hunk.body))
    forward = locate(file, old)
    assert forward.exact
    made = splice(file, old, forward)
    assert made != old
    reverse = locate(file, made, Direction.REVERSE)
    assert reverse.exact
    assert splice(file, made, reverse) == old


def test_every_modified_module_on_the_right_base() -> None:
    old, new = modules("0.25.0"), modules("0.25.1")
    changed = [path for path in old if path in new and old[path] != new[path]]
    hunks = 0
    for path in changed:
        (file,) = parse_diff(unified(old[path], new[path], path))
        check_on_its_base(file, old[path], new[path])
        for hunk in file.hunks:
            check_one_hunk(path, hunk, old[path])
        hunks += len(file.hunks)
    print(f"\n0.25.0 -> 0.25.1: {len(changed)} files, {hunks} hunks, all exact")
    assert len(changed) >= 5


def git_diff(old: Modules, new: Modules, folder: Path, *, renames: bool = False) -> bytes:
    """One git diff from ``old`` to ``new``, modules that are equal left out."""
    for name, tree in (("a", old), ("b", new)):
        for path, content in tree.items():
            if old.get(path) != new.get(path):
                (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / name / path).write_bytes(content)
    how = ["--find-renames=60%", "-l0"] if renames else ["--no-renames"]
    command = ["git", "diff", "--no-index", *how, "--no-prefix", "--full-index", "a", "b"]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).stdout


@needs_git
def test_the_git_diff_of_a_whole_release_on_the_right_base(tmp_path: Path) -> None:
    old, new = modules("0.24.0"), modules("0.25.0")
    files = parse_diff(git_diff(old, new, tmp_path))
    assert {file.path for file in files} == {path for path in old | new if old.get(path) != new.get(path)}
    for file in files:
        check_on_its_base(file, old.get(file.path), new.get(file.path))
        for hunk in file.hunks if file.kind is ChangeKind.MODIFY else ():
            check_one_hunk(file.path, hunk, old[file.path])
    kinds = Counter(file.kind.value for file in files)
    print(f"\n0.24.0 -> 0.25.0: {dict(kinds)}, {sum(len(file.hunks) for file in files)} hunks, all exact")
    assert min(kinds[kind] for kind in ("modify", "add", "delete")) > 0


@needs_git
def test_the_git_diff_of_a_whole_release_with_its_renames(tmp_path: Path) -> None:
    old, new = modules("0.23.0"), modules("0.24.0")
    # two trees beside each other: git names a rename with their folders, which a diff within one tree does not have
    diff = git_diff(old, new, tmp_path, renames=True).replace(b"\nrename from a/", b"\nrename from ")
    files = parse_diff(diff.replace(b"\nrename to b/", b"\nrename to "))
    moved = [file for file in files if file.kind is ChangeKind.RENAME]
    fold = fold_diffs(files, lambda path: Content(data=old[path]) if path in old else None)
    assert fold.fits
    after = {path: Content(data=data) for path, data in old.items()} | fold.contents
    assert {path: content.data for path, content in after.items() if content is not None} == new
    for file in moved:
        assert file.old_path is not None
        report = judge_fit(file, new[file.path])
        assert report.fit is Fit.PRESENT
        assert splice(file, new[file.path], report.reverse) == old[file.old_path]
        assert judge_fit(file, None, source=old[file.old_path]).fit is Fit.APPLICABLE
    edited = sum(bool(file.hunks) for file in moved)
    print(f"\n0.23.0 -> 0.24.0: {len(moved)} renames, {edited} of them with edits, all exact")
    assert edited > 0


@needs_git
def test_on_an_older_base_what_fits_is_what_a_three_way_merge_makes(tmp_path: Path) -> None:
    older, old, new = modules("0.23.0"), modules("0.24.0"), modules("0.25.0")
    fits = Counter[str]()
    for file in parse_diff(git_diff(old, new, tmp_path)):
        content = older.get(file.path)
        if file.kind is not ChangeKind.MODIFY or content is None or content == old[file.path]:
            continue
        report = judge_fit(file, content)
        fits[report.fit.value] += 1
        # a change that 0.24.0 made and 0.25.0 took back really is present in 0.23.0
        assert report.fit is not Fit.PRESENT or content == new[file.path]
        if not report.forward.fits:
            continue
        sides = []
        for name, side in (("current", content), ("base", old[file.path]), ("other", new[file.path])):
            (tmp_path / name).write_bytes(side)
            sides.append(str(tmp_path / name))
        merge = subprocess.run(["git", "merge-file", "-p", *sides], capture_output=True, check=False)
        # a conflict of the merge is no second opinion
        if merge.returncode == 0:
            fits["merged"] += 1
            assert splice(file, content, report.forward) == merge.stdout
    print(f"\n0.24.0 -> 0.25.0 on 0.23.0: {dict(fits)}")
    assert fits["merged"] > 100
