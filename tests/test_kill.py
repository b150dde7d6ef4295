"""SIGKILL and SIGTERM at every change of the file system, end to end: the next command finds all-old or all-new.

An audit hook counts what the process asks of the file system and kills it at the n-th request; so no step of a
transaction can be forgotten here, and none needs to be named.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, tree
from tests.sites import make_site

pytestmark = pytest.mark.slow

BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 31))
LOW = BASE.replace(b"line_5 = 1\n", b"line_5 = five\n")
HIGH = BASE.replace(b"line_25 = 1\n", b"line_25 = twenty_five\n")
MOVES = (
    b"diff --git a/vllm/tool.py b/vllm/tool.py\nold mode 100644\nnew mode 100755\n"
    b"diff --git a/vllm/before.py b/vllm/moved/after.py\nrename from vllm/before.py\nrename to vllm/moved/after.py\n"
)
NEWER = b"another = 1\n"
CHANGING = {
    "os.rename", "os.link", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.chown", "os.utime", "os.truncate",
    "os.setxattr", "os.symlink", "fcntl.flock",
}  # fmt: skip


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Two entries over three files, two of them shared; others are added, removed, renamed, made executable."""
    files = {"vllm/one.py": BASE, "vllm/sub/two.py": BASE, "vllm/three.py": BASE, "vllm/old.py": b"old = 1\n"}
    files |= {"vllm/tool.py": b"tool = 1\n", "vllm/before.py": b"moved = 1\n"}
    site = make_site(tmp_path, files)
    registry = make_registry(tmp_path / "registry")
    first = {"vllm/one.py": (BASE, LOW), "vllm/sub/two.py": (BASE, LOW), "vllm/new/four.py": (None, b"four = 4\n")}
    second = {"vllm/one.py": (BASE, HIGH), "vllm/three.py": (BASE, HIGH), "vllm/old.py": (b"old = 1\n", None)}
    add_entry(registry, "a-first", make_diff(first) + MOVES)
    add_entry(registry, "b-second", make_diff(second))
    return Desk(site=site, registry=registry)


def count_requests(act: Callable[[int], None]) -> Callable[[str, tuple[Any, ...]], None]:
    """Return an audit hook that calls ``act`` with the number of each request to change the file system."""
    seen = 0

    def hook(event: str, args: tuple[Any, ...]) -> None:
        nonlocal seen
        writes = event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR)
        if writes or event in CHANGING:
            seen += 1
            act(seen)

    return hook


def in_child(desk: Desk, verb: Sequence[str], act: Callable[[int], None]) -> int:
    """Run a verb in a forked process under an audit hook; return the wait status as an exit code."""
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            sys.addaudithook(count_requests(act))
            code = desk.run(*verb).code
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def kill_at(number: int, number_of: signal.Signals) -> Callable[[int], None]:
    def act(seen: int) -> None:
        if seen == number:
            os.kill(os.getpid(), number_of)

    return act


def litter(desk: Desk) -> list[str]:
    """Everything below the state directory that a settled site does not have."""
    state = desk.site / ".patchctl"
    settled = {"format", "lock", "ledger.json", "objects", "patches", "history"}
    return [path.name for path in state.iterdir() if path.name not in settled] if state.is_dir() else []


@pytest.mark.parametrize("verb", [("apply",), ("revert", "--all")], ids=["apply", "revert"])
def test_c19_sigkill_at_every_step_leaves_all_old_or_all_new(desk: Desk, verb: tuple[str, ...]) -> None:
    undo = ("revert", "--all") if verb == ("apply",) else ("apply",)
    if verb != ("apply",):
        assert desk.run("apply").code == 0
    old = tree(desk.site)
    assert desk.run(*verb).code == 0
    new = tree(desk.site)
    assert desk.run(*undo).code == 0

    outcomes = {"old": 0, "new": 0}
    number = 0
    while True:
        number += 1
        code = in_child(desk, verb, kill_at(number, signal.SIGKILL))
        if code == 0:
            break
        assert code == -signal.SIGKILL
        for stop in (2, 5):  # recovery may be killed too, and run again
            in_child(desk, ["recover"], kill_at(stop, signal.SIGKILL))
        assert desk.run("status").code in {0, 4}
        assert desk.run("recover").code == 0
        found = tree(desk.site)
        is_old = same(found, old)
        assert is_old or same(found, new), f"mixed after request {number}"
        assert litter(desk) == [], f"litter after request {number}"
        outcomes["old" if is_old else "new"] += 1
        if not is_old:
            assert desk.run(*undo).code == 0
        assert same(tree(desk.site), old)
    print(f"{verb[0]}: killed at {number - 1} requests, {outcomes['old']} all-old, {outcomes['new']} all-new")
    assert number > 60
    assert outcomes["new"] > 0


def same(found: dict[str, tuple[Any, ...]], expected: dict[str, tuple[Any, ...]]) -> bool:
    """Equal but for modification times of files that are patched: each apply gives them a new one."""

    def without_new_times(state: dict[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
        return {path: (*facts[:3], facts[4]) for path, facts in state.items()}

    return without_new_times(found) == without_new_times(expected)


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_c31_a_signal_before_the_commit_rolls_back(desk: Desk, sent: signal.Signals) -> None:
    before = tree(desk.site)
    codes = []
    for number in range(1, 400, 7):
        code = in_child(desk, ["apply"], kill_at(number, sent))
        codes.append(code)
        if code == 0:
            break
        assert code in {128 + sent, -sent}
        assert desk.run("status").code == 0, "rolled back, nothing to recover"
        assert tree(desk.site) == before
        assert litter(desk) == []
    assert 128 + sent in codes
    assert codes[-1] == 0


def test_a_transaction_that_another_build_was_installed_over_can_be_given_up(desk: Desk) -> None:
    """At whatever step it died: the new build's files stay, and what the ledger says was never applied."""
    before = tree(desk.site)
    given_up = number = 0
    while given_up < 5:
        number += 2
        assert in_child(desk, ["apply"], kill_at(number, signal.SIGKILL)) == -signal.SIGKILL
        (desk.site / "vllm/one.py").write_bytes(NEWER)
        (desk.site / "vllm/old.py").write_bytes(NEWER)
        installed = tree(desk.site, but=(".patchctl", "__pycache__"))
        if desk.run("recover").code == 4:
            given_up += 1
            refused = desk.run("recover")
            assert "patchctl recover --leave-files" in refused.err
            assert desk.run("recover", "--leave-files", "--dry-run").code == 0
            assert tree(desk.site, but=(".patchctl", "__pycache__")) == installed
            done = desk.run("recover", "--leave-files")
            assert (done.code, "its files were left as they are" in done.out) == (0, True)
            assert litter(desk) == []
        for name in ("one", "old"):
            assert (desk.site / f"vllm/{name}.py").read_bytes() == NEWER
        assert desk.run("status").code == 0
        assert desk.json("status", "a-first").patch("a-first")["verdict"] != "applied"
        put_back(desk, before)
    assert number < 200


def put_back(desk: Desk, before: dict[str, tuple[Any, ...]]) -> None:
    """What an installer does: the files of the distribution as they were, and none that it does not bring."""
    shutil.rmtree(desk.site / ".patchctl")
    for path in tree(desk.site):
        if path not in before and (desk.site / path).is_file():
            (desk.site / path).unlink()
    files = {"one": BASE, "sub/two": BASE, "three": BASE, "old": b"old = 1\n", "tool": b"tool = 1\n"}
    for name, data in (files | {"before": b"moved = 1\n"}).items():
        (desk.site / f"vllm/{name}.py").write_bytes(data)
        (desk.site / f"vllm/{name}.py").chmod(0o644)
