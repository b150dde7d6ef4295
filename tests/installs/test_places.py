"""Disks that are full, read-only, mounted over or failing, and users who read what root wrote."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from patchctl.errors import PatchctlError, TransactionError
from patchctl.transaction import journal_state, recover
from patchctl.transaction.causes import remedy
from tests.installs.making import BASE, FILES, NEW, PATCHED, PATH, clean_environ, desk_on, make_entries
from tests.running import Desk, tree
from tests.sites import make_site
from tests.test_transaction_calls import CALLS, few_edits
from tests.transaction_tree import do_not_wait_for_the_disk, in_child, litter, make_tree, picture, run, the_edits

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount and to become another user")
NOBODY = 65534


@contextmanager
def mounted(where: Path, *arguments: str) -> Iterator[None]:
    """Mount something at ``where``; skips where the kernel or the container does not allow it."""
    where.mkdir(exist_ok=True)
    done = subprocess.run(["mount", *arguments, str(where)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"cannot mount here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(where)], check=True)


@pytest.fixture
def public() -> Iterator[Path]:
    """A directory that other users can reach; pytest's own are closed to them."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


# --- what root writes under umask 077


@root_only
def test_c18_what_root_applies_under_umask_077_another_user_imports(public: Path) -> None:
    python = "/usr/bin/python3"
    if not Path(python).exists():
        pytest.skip("there is no interpreter here that another user may run")
    site = make_site(public, FILES, name="small", build="1.0")
    for path in (site, *site.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    registry = make_entries(public)
    command = f"umask 077 && exec {sys.executable} -m patchctl apply --site {site} --registry {registry}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, env=clean_environ())
    assert done.returncode == 0, done.stderr
    show = "import small.a, small.new.fresh as f, os; print(os.geteuid(), small.a.VALUE, f.FRESH)"
    environ = clean_environ(PYTHONPATH=str(site), PYTHONDONTWRITEBYTECODE="1")
    read = subprocess.run(
        [python, "-c", show],
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )
    assert read.stdout == f"{NOBODY} 2 1\n", read.stderr
    readable = ["sh", "-c", f"find {site}/.patchctl -type f ! -name lock -exec cat {{}} + >/dev/null"]
    assert subprocess.run(readable, user=NOBODY, group=NOBODY, extra_groups=[], check=False).returncode == 0


# --- full disks


@root_only
@pytest.mark.parametrize("level", range(30))
def test_c20_a_disk_filled_to_any_level_leaves_the_tree_intact(tmp_path: Path, level: int) -> None:
    """C34: 30 levels, from one page free to just less than what is asked for; the exit code is never 0."""
    where = tmp_path / "disk"
    with mounted(where, "-t", "tmpfs", "-o", "size=4m", "none"):
        desk = Desk(site=make_site(where, FILES, name="small", build="1.0"), registry=make_entries(tmp_path))
        before = tree(desk.site)
        needed = space_needed(desk)
        leave_free(where, 4096 + (needed - 8192) * level // 29)
        done = desk.run("apply")
        assert done.code != 0
        assert "free" in done.err
        assert "hint:" in done.err
        assert tree(desk.site) == before
        assert litter(desk.site) == []
        (where / "filler").unlink()
        assert desk.run("apply").code == 0


def space_needed(desk: Desk) -> int:
    """Return the bytes that the refusal on a full disk asks for."""
    leave_free(desk.site.parent, 4096)
    done = desk.run("apply")
    (desk.site.parent / "filler").unlink()
    found = re.search(r"(\d+) are needed", done.err)
    assert found is not None, done.err
    return int(found[1])


def leave_free(where: Path, wanted: int) -> None:
    status = os.statvfs(where)
    rest = status.f_bfree * status.f_frsize - wanted
    (where / "filler").write_bytes(bytes(max(rest, 0)))


@root_only
def test_c20_a_disk_that_fills_at_any_step_is_rolled_back(tmp_path: Path) -> None:
    """Whoever looked found room; then somebody else took it, down to the last byte, before any step."""
    where = tmp_path / "disk"
    steps: list[str] = []
    plain = tmp_path / "plain"
    plain.mkdir()
    run(make_tree(plain), the_edits(), steps.append)
    failed = set()
    with mounted(where, "-t", "tmpfs", "-o", "size=2m", "none"):
        for wanted in (it for it in steps if it not in {"open", "lock", "preflight"}):
            subprocess.run(["rm", "-rf", str(where / "site"), str(where / "filler")], check=True)
            site = make_tree(where)
            before = picture(site)

            def fill(step: str, wanted: str = wanted) -> None:
                if step == wanted:
                    leave_free(where, 0)

            problem = None
            try:
                run(site, the_edits(), fill)
            except TransactionError as error:
                problem = error.problem
            if problem is None:
                continue  # nothing more was written: the disk may be as full as it likes
            failed.add(wanted.partition(":")[0])
            assert problem.code == "rolled-back"
            assert "No space left" in problem.message
            assert "free some space" in (problem.hint or "")
            assert picture(site) == before
            assert litter(site) == []
    assert {"object-before", "object-after", "journal-prepare", "temp"} <= failed


# --- mounts


@root_only
@pytest.mark.parametrize("what", ["file", "file in a mounted directory"])
def test_c22_a_bind_mounted_file_is_refused_before_any_write(tmp_path: Path, what: str) -> None:
    site = make_site(tmp_path, FILES, name="small", build="1.0")
    desk = desk_on(site, tmp_path)
    source = tmp_path / "source.py"
    source.write_bytes(BASE)
    inside = mounted(site / "small", "--bind", str(site / "small")) if what != "file" else nullcontext()
    with inside:
        done = subprocess.run(["mount", "--bind", str(source), str(site / PATH)], capture_output=True, check=False)
        if done.returncode != 0:
            pytest.skip("cannot mount here")
        try:
            before = tree(site, but=())
            done_ = desk.run("apply")
            assert done_.code == 1
            assert "is a mount point of its own" in done_.err
            assert tree(site, but=()) == before
            assert source.read_bytes() == BASE
        finally:
            subprocess.run(["umount", str(site / PATH)], check=True)


@root_only
def test_c22_a_bind_mounted_directory_is_patched_where_it_is(tmp_path: Path) -> None:
    site = make_site(tmp_path, FILES, name="small", build="1.0")
    desk = desk_on(site, tmp_path)
    elsewhere = tmp_path / "elsewhere"
    (site / "small").rename(elsewhere)
    with mounted(site / "small", "--bind", str(elsewhere)):
        before = tree(site)
        assert desk.run("apply").code == 0
        assert (elsewhere / PATH.partition("/")[2]).read_bytes() == PATCHED
        assert desk.run("revert", "--all").code == 0
        assert tree(site) == before


@root_only
def test_c22_a_mount_on_the_file_under_another_name_of_the_site_is_rolled_back_with_a_remedy(tmp_path: Path) -> None:
    """Mounts are listed under the names they were made with; the kernel knows better."""
    site = make_site(tmp_path, FILES, name="small", build="1.0")
    source = tmp_path / "source.py"
    source.write_bytes(BASE)
    alias = tmp_path / "alias"
    with mounted(alias, "--bind", str(site)):
        subprocess.run(["mount", "--make-private", str(alias)], check=True)
        subprocess.run(["mount", "--bind", str(source), str(site / PATH)], check=True)
        try:
            before = tree(alias)
            done = desk_on(alias, tmp_path).run("apply")
            assert done.code in {1, 4}
            assert "mount" in done.err
            assert tree(alias) == before
            assert litter(alias, recorded=True) == []
        finally:
            subprocess.run(["umount", str(site / PATH)], check=True)


@root_only
def test_c22_a_read_only_mount_anywhere_is_found_before_any_write(tmp_path: Path) -> None:
    site = make_site(tmp_path, FILES, name="small", build="1.0")
    desk = desk_on(site, tmp_path)
    with mounted(site / "small", "--bind", str(site / "small")):
        subprocess.run(["mount", "-o", "remount,bind,ro", str(site / "small")], check=True)
        done = desk.run("apply")
        assert done.code == 1
        assert "Read-only file system" in done.err
        assert "mount it read-write" in done.err
        assert (site / PATH).read_bytes() == BASE
        assert litter(site) == []


@root_only
def test_c21_read_only_in_mid_commit_is_rolled_back_after_the_remount(tmp_path: Path) -> None:
    """The package's mount turns read-only between two replacements, so that roll-back cannot work either."""
    site = make_tree(tmp_path)
    with mounted(site / "other", "--bind", str(site / "other")):
        before = picture(site)

        def turn(step: str) -> None:
            if step == "replace:2":
                subprocess.run(["mount", "-o", "remount,bind,ro", str(site / "other")], check=True)

        with pytest.raises(TransactionError) as caught:
            run(site, the_edits(), turn)
        assert "Read-only file system" in str(caught.value)
        assert "mount it read-write" in (caught.value.problem.hint or "")
        state = journal_state(str(site))
        assert state is not None
        assert not state.committed
        with pytest.raises(TransactionError) as caught:
            recover(str(site))
        assert "patchctl recover" in (caught.value.problem.hint or "")
        subprocess.run(["mount", "-o", "remount,bind,rw", str(site / "other")], check=True)
        recovered = recover(str(site))
        assert recovered is not None
        assert not recovered.committed
        assert picture(site) == before
        assert litter(site) == []


@root_only
def test_c21_a_file_system_that_aborts_in_mid_commit_is_rolled_back_after_the_next_mount(tmp_path: Path) -> None:
    """A real disk error turns ext4 read-only under everybody's feet, the journal and the ledger included."""
    image, where = tmp_path / "image", tmp_path / "disk"
    with image.open("wb") as stream:
        stream.truncate(16 << 20)
    made = subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], capture_output=True, check=False)
    if made.returncode != 0:
        pytest.skip("no mkfs.ext4 here")
    options = ("-o", "loop,errors=remount-ro", str(image))
    with mounted(where, *options):
        site = make_tree(where)
        before = picture(site)

        def abort(step: str) -> None:
            if step == "replace:2":
                subprocess.run(["mount", "-o", "remount,abort", str(where)], check=False, capture_output=True)

        os.sync()

        def attempt() -> None:
            try:
                run(site, the_edits(), abort)
            except TransactionError:
                os._exit(7)

        ended = in_child(attempt)
        if ended == 0:
            pytest.skip("this kernel does not abort a file system on request")
        assert ended == 7
    with mounted(where, *options):
        assert journal_state(str(site)) is not None
        recover(str(site))
        assert picture(site) == before
        assert litter(site) == []


# --- every error at every call

ERRORS = ["ENOSPC", "EROFS", "EACCES", "EBUSY", "EXDEV", "EDQUOT", "EIO", "EPERM"]


@pytest.mark.parametrize("name", ERRORS)
def test_every_error_at_every_call_is_all_or_nothing_and_says_cause_and_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """An error is answered with another way, a refusal or a roll-back, or it comes too late to matter."""
    code = getattr(errno, name)
    do_not_wait_for_the_disk(monkeypatch)
    start = make_tree(tmp_path / "start")
    site = tmp_path / "site"
    again(start, site)
    total = calls(lambda: run(site, few_edits()))
    old, new = picture(start), picture(site)
    kinds = set()
    for call in range(1 + ERRORS.index(name) % STRIDE, total + 1, STRIDE):
        again(start, site)
        told = failing(call, code, lambda: run(site, few_edits()))
        committed = (site / ".patchctl/ledger.json").exists()
        kinds.add((committed, told is not None))
        assert committed is (told is None), (call, told)
        recover(str(site))
        assert picture(site) == (new if committed else old), call
        assert litter(site) == [], call
        if told is not None:
            message, hint = told
            assert os.strerror(code) in message, (call, message)
            assert remedy(OSError(code, "")) in hint, (call, hint)
    assert (False, True) in kinds


STRIDE = 5
"""Every fifth call, each error beginning at another one: together they meet them all."""


def again(start: Path, site: Path) -> None:
    import shutil

    shutil.rmtree(site, ignore_errors=True)
    shutil.copytree(start, site)


def watch(at_call: int, act: Callable[[], None]) -> list[int]:
    """Do ``act`` before the ``at_call``-th writing call; what the interpreter does not announce is wrapped."""
    count = [0]

    def one() -> None:
        count[0] += 1
        if count[0] == at_call:
            act()

    writing = {*CALLS, "os.symlink", "os.setxattr", "os.removexattr", "os.truncate"} - {"os.listdir", "fcntl.flock"}
    sys.addaudithook(lambda event, arguments: one() if event in writing and _writes(event, arguments) else None)
    for name in ("write", "fsync"):
        real = getattr(os, name)

        def wrapped(*arguments: object, real: Callable[..., object] = real) -> object:
            one()
            return real(*arguments)

        setattr(os, name, wrapped)
    return count


def _writes(event: str, arguments: tuple[object, ...]) -> bool:
    flags = arguments[2] if event == "open" else None
    return event != "open" or (isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR)))


def calls(action: Callable[[], object]) -> int:
    reading, writing = os.pipe()

    def count_them() -> None:
        write = os.write
        count = watch(0, lambda: None)
        action()
        write(writing, b"%d" % count[0])

    assert in_child(count_them) == 0
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        return int(stream.read())


def failing(at_call: int, code: int, action: Callable[[], object]) -> tuple[str, str] | None:
    """Let one call fail with ``code``; returns message and hint of the error, None where there was none."""
    reading, writing = os.pipe()
    write = os.write

    def fail() -> None:
        raise OSError(code, os.strerror(code))

    def attempt() -> None:
        watch(at_call, fail)
        try:
            action()
        except PatchctlError as error:
            write(writing, f"{error.problem.message}\0{error.problem.hint}".encode())

    assert in_child(attempt) == 0, at_call
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        told = stream.read().decode()
    return None if not told else (told.partition("\0")[0], told.partition("\0")[2])


@pytest.mark.parametrize("name", ERRORS)
def test_every_cause_has_a_remedy_of_its_own(name: str) -> None:
    said = remedy(OSError(getattr(errno, name), ""))
    others = {remedy(OSError(getattr(errno, other), "")) for other in ERRORS if other != name}
    assert said not in others
    assert said != remedy(OSError(errno.ENOMSG, ""))


def test_the_added_file_is_there_with_the_others(tmp_path: Path) -> None:
    desk = desk_on(make_site(tmp_path, FILES, name="small", build="1.0"), tmp_path)
    assert desk.run("apply").code == 0
    assert (desk.site / "small/new/fresh.py").read_bytes() == NEW
