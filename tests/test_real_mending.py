"""Edited files, lost ledgers and hand-edited installations on a real vLLM that pip installed."""

from __future__ import annotations

import hashlib
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from patchctl.target import read_wheel_files
from tests.conftest import TABLES
from tests.running import Desk, tree
from tests.test_kill import in_child, kill_at
from tests.wheels import slim_wheel

pytestmark = [pytest.mark.wheels, pytest.mark.slow]

VERSION = "0.20.0"
Install = Callable[..., Path]


def patched(desk: Desk) -> list[str]:
    """Apply what the bundled registry has for this build; return the files that it changed."""
    done = desk.json("apply")
    assert done.code == 0
    return [file["path"] for file in done.document["transaction"]["files"]]


def due(desk: Desk) -> list[dict[str, Any]]:
    """What status says of the entries that a bare ``apply`` takes; those to be asked for by name are left out."""
    return [patch for patch in desk.json("status").document["patches"] if patch["need"] != "optional"]


def test_c27_a_ledger_lost_in_a_copy_is_rebuilt(installed: Install, tmp_path: Path) -> None:
    desk = Desk(site=installed(VERSION))
    pristine = tree(desk.site)
    paths = patched(desk)
    copy = tmp_path / "copy" / "site"
    shutil.copytree(desk.site, copy, symlinks=True, ignore=shutil.ignore_patterns(".patchctl"))
    moved = Desk(site=copy)
    assert moved.run("check").code == 1
    before = tree(copy)
    assert moved.run("adopt").code == 0
    assert tree(copy) == before
    assert {patch["verdict"] for patch in due(moved)} == {"applied"}
    assert moved.run("check").code == 0
    assert moved.run("revert", "--all").code == 0
    after = tree(copy)
    for path, (mode, uid, gid, _, data) in pristine.items():
        assert (after[path][0], *after[path][1:3], after[path][4]) == (mode, uid, gid, data), path
    assert set(after) == set(pristine)
    assert len(paths) > 2


def test_c23_an_edit_after_apply_is_kept_and_our_hunks_come_out(installed: Install) -> None:
    desk = Desk(site=installed(VERSION))
    pristine = tree(desk.site)
    paths = patched(desk)
    for path in paths:
        file = desk.site / path
        file.write_bytes(b"# looked at by the operator\n" + file.read_bytes() + b"# and changed\n")
    before = tree(desk.site)
    assert desk.run("revert", "--all").code == 1
    assert tree(desk.site) == before
    assert desk.run("revert", "--all", "--keep-edits").code == 0
    for path in paths:
        kept = b"# looked at by the operator\n" + pristine[path][4] + b"# and changed\n"
        assert (desk.site / path).read_bytes() == kept


def test_files_edited_by_hand_come_back_from_the_wheel(installed: Install) -> None:
    desk, wheel = Desk(site=installed(VERSION)), slim_wheel(VERSION)
    pristine = tree(desk.site)
    paths = patched(desk)
    shutil.rmtree(desk.site / ".patchctl")
    for path in paths:
        (desk.site / path).write_bytes((desk.site / path).read_bytes().replace(b"import", b"import  ", 1))
    done = desk.json("restore", *paths, "--from", str(wheel))
    assert done.code == 0
    for path in paths:
        assert (desk.site / path).read_bytes() == pristine[path][4]
    assert {patch["action"] for patch in due(desk)} == {"apply"}
    other = slim_wheel("0.21.0")
    (desk.site / paths[0]).write_bytes(b"edited\n")
    assert desk.json("restore", paths[0], "--from", str(other)).document["errors"][0]["code"] == "wheel-differs"


def test_every_file_of_the_wheel_is_read_as_pip_installed_it(installed: Install) -> None:
    site = installed(VERSION)
    files = [path for path in (site / "vllm").rglob("*") if path.is_file()]
    found = read_wheel_files(str(slim_wheel(VERSION)), [path.relative_to(site).as_posix() for path in files])
    assert len(files) > 1000
    for path in files:
        shipped = found[path.relative_to(site).as_posix()]
        assert shipped is not None
        assert shipped.data == path.read_bytes()


def facts_of(root: Path) -> dict[str, tuple[object, ...]]:
    """Everything below ``root`` but patchctl's state: mode, owner, inode, time and content of files and links."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(root.rglob("*")):
        if ".patchctl" in path.parts or (path.is_dir() and not path.is_symlink()):
            continue
        status = path.lstat()
        body = str(path.readlink()) if path.is_symlink() else hashlib.sha256(path.read_bytes()).hexdigest()
        found[str(path)] = (status.st_mode, status.st_uid, status.st_gid, status.st_ino, status.st_mtime_ns, body)
    return found


def test_c35_the_longest_way_through_all_verbs_touches_nothing_but_the_patched_files(
    installed: Install, request: pytest.FixtureRequest
) -> None:
    """Every verb that writes, a kill, an edit, a loss: bytes, inodes and times of the rest of the environment."""
    desk, wheel = Desk(site=installed(VERSION)), slim_wheel(VERSION)
    root = desk.site.parents[2]
    before = facts_of(root)
    paths = patched(desk)
    outside = {path for path in before if not is_patched(Path(path), desk.site, paths)}
    assert len(outside) > 1500

    def intact() -> None:
        after = facts_of(root)
        new = {path for path in after.keys() - before.keys() if not is_patched(Path(path), desk.site, paths)}
        assert new == set()
        changed = {path for path in outside if after.get(path) != before[path]}
        assert changed == set()

    intact()
    first = due(desk)[0]["id"]
    edited = desk.site / next(path for path in paths if str(desk.site / path) in before)
    for verb, code in (
        (["verify"], 1),  # the wheel of the tests lacks the binaries
        (["revert", first, "--hold", "later"], 0),
        (["unhold", first], 0),
        (["apply"], 0),
        (["recover"], 0),
    ):
        assert desk.run(*verb).code == code, verb
        intact()
    assert desk.run("revert", "--all").code == 0
    assert in_child(desk, ["apply"], kill_at(90, signal.SIGKILL)) == -signal.SIGKILL
    assert desk.run("recover").code == 0
    intact()
    assert desk.run("apply").code == 0
    shutil.rmtree(desk.site / ".patchctl")
    assert desk.run("adopt").code == 0
    intact()
    edited.write_bytes(b"# by hand\n" + edited.read_bytes())
    assert desk.run("revert", "--all").code == 1
    assert desk.run("revert", "--all", "--keep-edits").code == 0
    intact()
    assert desk.run("restore", str(edited.relative_to(desk.site)), "--from", str(wheel)).code == 0
    intact()
    assert desk.run("apply").code == 0
    assert desk.run("revert", "--all").code == 0
    intact()
    after = facts_of(root)
    assert {path: (*facts[:3], facts[5]) for path, facts in after.items()} == {
        path: (*facts[:3], facts[5]) for path, facts in before.items() if path in after
    }
    gone = {path for path in before.keys() - after.keys() if not path.endswith(".pyc")}
    assert gone == set()
    line = f"C35: {len(outside)} files outside the patched ones: bytes, inodes, times, owners and modes identical"
    request.config.stash.setdefault(TABLES, []).append(line)


def is_patched(path: Path, site: Path, paths: list[str]) -> bool:
    """Whether a file is one of ``paths`` or byte code of one."""
    if path.suffix == ".pyc":
        path = path.parent.parent / (path.name.partition(".")[0] + ".py")
    return path.is_relative_to(site) and str(path.relative_to(site)) in paths
