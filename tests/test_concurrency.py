"""Many patchctl at once: one does it, the others say so; readers see only what is committed; dead locks are none."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, tree
from tests.sites import make_site

NAMES = ("vllm/one.py", "vllm/two.py", "vllm/three.py")
BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 31))
LOW = BASE.replace(b"line_5 = 1\n", b"line_5 = 5\n")
STOP = """
import os, signal, sys
NAME = sys.argv.pop(1)
def at(event, args):
    if event == "os.rename" and os.fsdecode(args[1]) == NAME:
        os.kill(os.getpid(), signal.SIGSTOP)
sys.addaudithook(at)
from patchctl.cli import main
main()
"""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    site = make_site(tmp_path, dict.fromkeys(NAMES, BASE), build="0.25.1")
    registry = make_registry(tmp_path / "registry")
    add_entry(registry, "three-files", make_diff(dict.fromkeys(NAMES, (BASE, LOW))))
    return Desk(site=site, registry=registry)


def start(desk: Desk, *arguments: str, script: str | None = None, first: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    program = ["-m", "patchctl"] if script is None else ["-c", script, *first]
    where = ["--site", str(desk.site), "--registry", str(desk.registry)]
    command = [sys.executable, *program, *arguments, *where]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def documents(processes: list[subprocess.Popen[str]]) -> list[tuple[int, dict[str, Any]]]:
    answers = []
    for process in processes:
        out, err = process.communicate(timeout=300)
        assert err == ""
        answers.append((process.returncode, json.loads(out)))
    return answers


@pytest.mark.slow
@pytest.mark.parametrize("wait", [(), ("--wait", "120")], ids=["at once", "waiting"])
def test_of_twenty_at_once_one_applies_and_all_others_say_nothing_to_do_or_busy(
    desk: Desk, wait: tuple[str, ...]
) -> None:
    answers = documents([start(desk, "apply", "--json", *wait) for _ in range(20)])
    committed = [found for code, found in answers if found["transaction"] is not None]
    assert len(committed) == 1
    assert committed[0]["transaction"]["state"] == "committed"
    assert committed[0]["transaction"]["applied"] == ["three-files"]
    others = [(code, found) for code, found in answers if found["transaction"] is None]
    for code, found in others:
        if code == 0:
            assert found["notes"] == ["nothing to do"]
        else:
            assert code == 5
            (problem,) = found["errors"]
            assert problem["code"] == "busy"
            assert f" on {os.uname().nodename} holds the lock" in problem["message"]
            assert problem["message"].split()[1].isdecimal()
    codes = Counter(code for code, _ in others)
    assert set(codes) <= ({0} if wait else {0, 5})
    assert [(desk.site / name).read_bytes() for name in NAMES] == [LOW] * 3
    assert desk.run("check").code == 0
    assert desk.run("verify").code == 0
    assert sorted(path.name for path in (desk.site / ".patchctl").iterdir()) == [
        "format",
        "history",
        "ledger.json",
        "lock",
        "objects",
        "patches",
    ]


@pytest.mark.slow
def test_applies_and_reverts_at_once_end_in_one_of_the_two_states(desk: Desk) -> None:
    before = tree(desk.site)
    verbs = [("apply", "--json"), ("revert", "--all", "--json")] * 6
    answers = documents([start(desk, *verb) for verb in verbs])
    assert {code for code, _ in answers} <= {0, 5}
    contents = [(desk.site / name).read_bytes() for name in NAMES]
    assert contents in ([LOW] * 3, [BASE] * 3)
    assert desk.run("revert", "--all").code == 0
    assert tree(desk.site) == before


def stopped(desk: Desk, name: str) -> subprocess.Popen[str]:
    """An apply that stands still right before ``name`` takes its place; SIGCONT lets it go on."""
    process = start(desk, "apply", "--json", script=STOP, first=(name,))
    deadline = time.monotonic() + 60
    while Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        assert time.monotonic() < deadline, "it never got there"
        assert process.poll() is None, "it ended before it got there"
        time.sleep(0.01)
    return process


def going_on(process: subprocess.Popen[str]) -> Iterator[None]:
    while process.poll() is None:
        os.kill(process.pid, signal.SIGCONT)
        yield
        time.sleep(0.01)


@pytest.mark.parametrize("name", ["one.py", "three.py", "ledger.json"])
def test_a_reader_never_sees_applied_before_the_commit(desk: Desk, name: str) -> None:
    process = stopped(desk, name)
    try:
        for verb in ("status", "check", "verify"):
            done = desk.json(verb)
            assert done.code == 4, verb
            assert done.document["patches"] == []
            assert done.document["transaction"]["state"] == "unfinished"
        busy = desk.json("apply")
        assert busy.code == 5
        assert f"process {process.pid} on {os.uname().nodename}" in busy.document["errors"][0]["message"]
        assert desk.json("apply", "--dry-run").code == 4
    finally:
        for _ in going_on(process):
            pass
        process.communicate()
    assert process.returncode == 0
    assert desk.json("status").patch("three-files")["verdict"] == "applied"


def test_one_who_waits_finds_nothing_to_do(desk: Desk) -> None:
    process = stopped(desk, "two.py")
    waiting = start(desk, "apply", "--json", "--wait", "60")
    time.sleep(0.5)
    assert waiting.poll() is None
    for _ in going_on(process):
        pass
    process.communicate()
    ((code, found),) = documents([waiting])
    assert (code, found["notes"], found["transaction"]) == (0, ["nothing to do"], None)


@pytest.mark.slow
def test_readers_in_a_loop_see_before_unfinished_and_after_in_this_order(desk: Desk) -> None:
    for _ in range(3):
        process = start(desk, "apply", "--json")
        seen: list[str] = []
        while process.poll() is None or not seen or seen[-1] != "applied":
            done = desk.json("status")
            patches = done.document["patches"]
            word = patches[0]["verdict"] if patches else done.document["transaction"]["state"]
            if word == "applied":
                # The reader began after the commit, so the record it judged by is there and whole.
                ledger = json.loads((desk.site / ".patchctl/ledger.json").read_bytes())
                assert [receipt["id"] for receipt in ledger["receipts"]] == ["three-files"]
            seen.append(word)
        order = [word for number, word in enumerate(seen) if number == 0 or seen[number - 1] != word]
        assert order in (
            ["applied"],
            ["applicable", "applied"],
            ["unfinished", "applied"],
            ["applicable", "unfinished", "applied"],
        )
        process.communicate()
        assert desk.run("revert", "--all").code == 0


@pytest.mark.attack("lock-link")
def test_a_dead_holder_holds_nothing_and_its_transaction_is_settled(desk: Desk) -> None:
    process = stopped(desk, "two.py")
    process.kill()
    process.communicate()
    note = json.loads((desk.site / ".patchctl/lock").read_bytes())
    assert note["pid"] == process.pid
    lock = desk.json("doctor").document["diagnosis"]
    assert lock["sites"][0]["lock"] == "free"
    assert "stale-lock-note" in {finding["code"] for finding in lock["findings"]}
    done = desk.json("apply")
    assert done.code == 0
    assert [problem["code"] for problem in done.document["warnings"]] == ["recovered"]
    assert [(desk.site / name).read_bytes() for name in NAMES] == [LOW] * 3


@pytest.mark.attack("lock-link")
def test_a_lock_file_of_another_boot_is_only_a_note(desk: Desk) -> None:
    assert desk.run("apply").code == 0
    note = {"host": os.uname().nodename, "pid": os.getpid(), "boot": "0" * 36, "start": 1}
    (desk.site / ".patchctl/lock").write_text(json.dumps(note))
    assert desk.run("revert", "--all").code == 0
    assert (desk.site / ".patchctl/lock").read_bytes() == b""


def test_a_copy_of_a_locked_tree_is_not_locked(desk: Desk, tmp_path: Path) -> None:
    process = stopped(desk, "one.py")
    try:
        copy = tmp_path / "copy"
        subprocess.run(["cp", "-a", str(desk.site), str(copy)], check=True)
        other = Desk(site=copy, registry=desk.registry)
        assert other.run("recover").code == 0
        assert other.run("apply").code == 0
        assert other.run("doctor").code == 0
    finally:
        for _ in going_on(process):
            pass
        process.communicate()
