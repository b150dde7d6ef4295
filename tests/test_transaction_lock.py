"""One writer a site: the kernel's lock, what it says to the one who waits, and whom it keeps out."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from patchctl.errors import BusyError, Outcome, PatchctlError, RefusedError, TargetError
from patchctl.transaction import locked
from tests.transaction_tree import in_child, kill_at, make_tree, picture, run, the_edits

ROOT = Path(__file__).parent.parent
HOLDER = """
import sys
from patchctl.transaction import locked

with locked(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return make_tree(tmp_path)


def holder(site: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(site)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_process_is_told_who_holds_the_lock(site: Path) -> None:
    with holder(site) as process:
        with pytest.raises(BusyError) as caught, locked(str(site)):
            pass
        assert caught.value.outcome is Outcome.BUSY
        assert f"process {process.pid} on {socket.gethostname()}" in str(caught.value)
        process.communicate("\n")
    with locked(str(site)):
        pass


def test_waiting_ends_when_the_holder_lets_go(site: Path) -> None:
    with holder(site) as process:
        pid = os.fork()
        if pid == 0:
            time.sleep(0.3)
            os.kill(process.pid, signal.SIGKILL)
            os._exit(0)
        with locked(str(site), wait=60) as held:
            held.run(the_edits())
        os.waitpid(pid, 0)
        process.wait()


def test_waiting_ends_in_busy_when_the_time_is_up(site: Path) -> None:
    with holder(site) as process:
        start = time.monotonic()
        with pytest.raises(BusyError), locked(str(site), wait=0.2):
            pass
        assert time.monotonic() - start >= 0.2
        process.communicate("\n")


@pytest.mark.attack("lock-link")
def test_the_lock_of_a_killed_process_is_free_although_its_note_is_still_there(site: Path) -> None:
    in_child(lambda: run(site, the_edits(), kill_at("preflight")))
    assert b"pid" in (site / ".patchctl/lock").read_bytes()
    run(site, the_edits())
    assert (site / ".patchctl/lock").read_bytes() == b""


@pytest.mark.parametrize("note", [b"", b"[", b"[1]", b'{"pid": "1", "host": 3}', b"\xff" * 9000, b"[" * 4096])
def test_a_note_that_makes_no_sense_only_costs_the_name(site: Path, note: bytes) -> None:
    with holder(site) as process:
        (site / ".patchctl/lock").write_bytes(note)
        with pytest.raises(BusyError, match="another patchctl"), locked(str(site)):
            pass
        process.communicate("\n")


@pytest.mark.attack("lock-link")
def test_a_lock_file_shared_by_hard_links_is_locked_but_not_written(site: Path, tmp_path: Path) -> None:
    (site / ".patchctl").mkdir()
    outside = tmp_path / "outside"
    outside.write_bytes(b"theirs")
    os.link(outside, site / ".patchctl/lock")
    with locked(str(site)):
        assert outside.read_bytes() == b"theirs"
    assert outside.read_bytes() == b"theirs"


@pytest.mark.parametrize("kind", ["link", "fifo", "directory"])
@pytest.mark.attack("lock-link")
def test_anything_but_a_file_in_the_place_of_the_lock_is_refused(site: Path, tmp_path: Path, kind: str) -> None:
    (site / ".patchctl").mkdir()
    lock = site / ".patchctl/lock"
    outside = tmp_path / "outside"
    if kind == "link":
        lock.symlink_to(outside)
    elif kind == "fifo":
        os.mkfifo(lock)
    else:
        lock.mkdir()
    with pytest.raises(PatchctlError) as caught, locked(str(site)):
        pass
    assert caught.value.problem.code == "untrusted-site"
    assert not outside.exists()


def test_a_lock_file_removed_between_open_and_lock_is_made_anew(site: Path) -> None:
    """Otherwise this process would hold a lock that nobody else can see."""

    def remove_it_once() -> None:
        done: list[str] = []

        def hook(event: str, _arguments: object) -> None:
            if event == "fcntl.flock" and not done:
                done.append(event)
                (site / ".patchctl/lock").unlink()

        sys.addaudithook(hook)
        with locked(str(site)), pytest.raises(BusyError), locked(str(site)):
            pass
        assert done

    assert in_child(remove_it_once) == 0


def test_no_such_site(tmp_path: Path) -> None:
    with pytest.raises(TargetError) as caught, locked(str(tmp_path / "absent")):
        pass
    assert caught.value.problem.code == "no-site"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to have another user's site")
class TestAsRoot:
    """What another user can write, root must not act on."""

    @pytest.mark.parametrize("path", [".", ".patchctl", ".patchctl/journal.json", ".patchctl/tmp", ".patchctl/objects"])
    @pytest.mark.parametrize("how", ["owner", "everybody"])
    @pytest.mark.attack("strange-site")
    def test_a_site_another_user_can_write_is_refused_untouched(self, site: Path, path: str, how: str) -> None:
        (site / ".patchctl/tmp").mkdir(parents=True)
        (site / ".patchctl/objects").mkdir()
        (site / ".patchctl/journal.json").write_bytes(b"{}")
        if how == "owner":
            os.chown(site / path, 65534, 0)
        else:
            (site / path).chmod(0o777)
        before = picture(site), sorted(path.name for path in (site / ".patchctl").rglob("*"))
        with pytest.raises(PatchctlError) as caught, locked(str(site)):
            pass
        assert caught.value.problem.code == "untrusted-site"
        assert caught.value.outcome is Outcome.CANNOT_ANSWER
        hint = ("sudo -u nobody " if path == "." else "mv ") if how == "owner" else "chmod "
        assert (caught.value.problem.hint or "").startswith(hint)
        assert (picture(site), sorted(path.name for path in (site / ".patchctl").rglob("*"))) == before

    @pytest.mark.attack("strange-site")
    def test_the_owner_may_do_it(self, site: Path) -> None:
        for path in (site, *site.rglob("*")):
            os.chown(path, 65534, 65534)

        def as_owner() -> None:
            os.fchdir(inside)
            os.setgid(65534)
            os.setuid(65534)
            run(Path(), the_edits())

        inside = os.open(site, os.O_RDONLY)
        try:
            assert in_child(as_owner) == 0
        finally:
            os.close(inside)
        assert (site / "pkg/a.py").read_bytes() == b"A = 2\n"
        assert {path.stat().st_uid for path in site.rglob("*")} == {65534}

    def test_someone_who_may_not_write_is_refused_with_a_remedy(self, site: Path) -> None:
        inside = os.open(site, os.O_RDONLY)

        def as_stranger() -> None:
            os.fchdir(inside)
            os.setuid(65534)
            try:
                run(Path(), the_edits())
            except RefusedError as error:
                helpful = error.problem.code == "not-writable" and "owner" in (error.problem.hint or "")
                os._exit(7 if helpful else 8)

        try:
            assert in_child(as_stranger) == 7
        finally:
            os.close(inside)
        assert not (site / ".patchctl").exists()


SLOW_TO_SAY = """
import fcntl, json, os, sys, time

with open(sys.argv[1], "w+b", buffering=0) as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    print("held", flush=True)
    time.sleep(0.2)
    if sys.argv[2] == "says":
        lock.write(json.dumps({"pid": os.getpid(), "host": "here"}).encode())
        sys.stdin.readline()
"""


@pytest.mark.parametrize("then", ["says", "ends"])
def test_a_holder_without_a_name_is_about_to_have_one_or_to_be_gone(site: Path, then: str) -> None:
    (site / ".patchctl").mkdir()
    command = [sys.executable, "-c", SLOW_TO_SAY, str(site / ".patchctl/lock"), then]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        if then == "says":
            with pytest.raises(BusyError, match=f"process {process.pid} on here"), locked(str(site)):
                pass
        else:
            with locked(str(site)):
                pass
        process.communicate("\n")
