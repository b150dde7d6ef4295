"""Finer than steps: a transaction killed, or failed by the system, at every single call that it makes to the system.

The interpreter announces such calls to audit hooks; a hook cannot be removed, so each attempt has a process of its own.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from patchctl.errors import PatchctlError, TransactionError
from patchctl.model import FileEdit
from patchctl.transaction import journal_state, recover
from tests.transaction_tree import (
    LEDGER_PATH,
    do_not_wait_for_the_disk,
    in_child,
    kill_at,
    litter,
    make_tree,
    picture,
    run,
    the_edits,
)

CALLS = {
    "open",
    "os.chmod",
    "os.chown",
    "os.link",
    "os.listdir",
    "os.mkdir",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.symlink",
    "os.utime",
    "fcntl.flock",
}
REFUSED, FAILED = 2, 3
STRIDE = 3
"""Every third call keeps the suite fast and meets every kind of call; 1 tries them all (two minutes)."""


def few_edits() -> list[FileEdit]:
    """One change, one addition in new directories, one deletion, one change of mode, the record, and the ledger."""
    change, _, _, addition, deletion, mode, _, record, last = the_edits()
    return [change, addition, deletion, mode, record, last]


def watch(at_call: int, act: Callable[[], None]) -> list[int]:
    """Do ``act`` before the ``at_call``-th call to the system from now on; returns the running count."""
    count = [0]

    def hook(event: str, _arguments: object) -> None:
        if event in CALLS:
            count[0] += 1
            if count[0] == at_call:
                act()

    sys.addaudithook(hook)
    return count


def number_of_calls(site: Path, action: Callable[[], object]) -> int:
    """Return how many calls to the system ``action`` makes."""
    reading, writing = os.pipe()

    def count_them() -> None:
        count = watch(0, lambda: None)
        action()
        os.write(writing, b"%d" % count[0])

    assert in_child(count_them) == 0, site
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        return int(stream.read())


def fresh(start: Path, where: Path) -> Path:
    shutil.rmtree(where, ignore_errors=True)
    return Path(shutil.copytree(start, where, symlinks=True))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    do_not_wait_for_the_disk(monkeypatch)


@pytest.fixture
def start(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "start")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fail() -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_c19_a_kill_before_any_call_leaves_all_old_or_all_new(start: Path, tmp_path: Path) -> None:
    site = fresh(start, tmp_path / "site")
    total = number_of_calls(site, lambda: run(site, few_edits()))
    old, new = picture(start), picture(site)
    assert total > 100
    seen = set()
    for call in range(1, total + 1, STRIDE):
        fresh(start, site)

        def attempt(call: int = call) -> None:
            watch(call, die)
            run(site, few_edits())

        assert in_child(attempt) == -signal.SIGKILL
        recover(str(site))
        committed = (site / LEDGER_PATH).exists()
        seen.add(committed)
        assert picture(site) == (new if committed else old), call
        assert litter(site) == [], call
    assert seen == {False, True}


@pytest.mark.parametrize("undo", ["kept", "lost"])
def test_c19_a_recovery_killed_before_any_call_is_done_by_the_next_one(start: Path, tmp_path: Path, undo: str) -> None:
    site = tmp_path / "site"

    def half_done() -> None:
        fresh(start, site)
        in_child(lambda: run(site, few_edits(), kill_at("ledger")))
        if undo == "lost":
            shutil.rmtree(site / ".patchctl/tmp")

    half_done()
    total = number_of_calls(site, lambda: recover(str(site)))
    old = picture(start)
    assert picture(site) == old
    for call in range(1, total + 1, STRIDE):
        half_done()

        def attempt(call: int = call) -> None:
            watch(call, die)
            recover(str(site))

        assert in_child(attempt) == -signal.SIGKILL
        recover(str(site))
        assert picture(site) == old, call
        assert litter(site) == [], call


def test_an_error_of_any_call_is_rolled_back_or_comes_too_late(start: Path, tmp_path: Path) -> None:
    site = fresh(start, tmp_path / "site")
    total = number_of_calls(site, lambda: run(site, few_edits()))
    old, new = picture(start), picture(site)
    for call in range(1, total + 1, STRIDE):
        fresh(start, site)

        def attempt(call: int = call) -> None:
            watch(call, fail)
            try:
                run(site, few_edits())
            except PatchctlError as error:
                os._exit(FAILED if isinstance(error, TransactionError) else REFUSED)

        ended = in_child(attempt)
        assert ended in {0, REFUSED, FAILED}, (call, ended)
        committed = (site / LEDGER_PATH).exists()
        assert committed == (ended == 0), call
        # Only cleaning up after the commit may be left to the next command.
        state = journal_state(str(site))
        assert state is None or committed, call
        assert picture(site) == (new if committed else old), call
        recover(str(site))
        assert picture(site) == (new if committed else old), call
        assert litter(site) == [], call
