"""Edited files, lost ledgers and hand-edited installations on a real vLLM that pip installed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from patchctl.target import read_wheel_files
from tests.running import Desk, tree
from tests.wheels import slim_wheel

pytestmark = [pytest.mark.wheels, pytest.mark.slow]

VERSION = "0.20.0"
Install = Callable[..., Path]


def patched(desk: Desk) -> list[str]:
    """Apply what the bundled registry has for this build; return the files that it changed."""
    done = desk.json("apply")
    assert done.code == 0
    return [file["path"] for file in done.document["transaction"]["files"]]


def verdicts(desk: Desk) -> set[str]:
    return {patch["verdict"] for patch in desk.json("status").document["patches"]}


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
    assert verdicts(moved) == {"applied"}
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
    assert {patch["action"] for patch in desk.json("status").document["patches"]} == {"apply"}
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
