"""A transaction cut off at any step: all-old or all-new, no litter, however often recovery is cut off too."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from io import FileIO
from pathlib import Path

import pytest

from patchctl.errors import InterruptedByError, Outcome, RefusedError, TransactionError
from patchctl.ledger import object_path
from patchctl.model import sha256_hex
from patchctl.transaction import journal_state, locked, recover
from tests.transaction_tree import (
    ADDED,
    LEDGER_PATH,
    add,
    do_not_wait_for_the_disk,
    in_child,
    kill_at,
    ledger,
    litter,
    make_tree,
    modify,
    picture,
    put,
    run,
    steps_of,
    the_edits,
)

Picture = dict[str, tuple[object, ...]]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    do_not_wait_for_the_disk(monkeypatch)


@pytest.fixture
def start(tmp_path: Path) -> Path:
    """A site to be copied, with modes and times, for every step."""
    return make_tree(tmp_path / "start")


@pytest.fixture
def old(start: Path) -> Picture:
    return picture(start)


@pytest.fixture
def new(start: Path, tmp_path: Path) -> Picture:
    site = copy(start, tmp_path / "done")
    run(site, the_edits())
    return picture(site)


def copy(site: Path, where: Path) -> Path:
    where.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copytree(site, where / "site"))


def all_steps(start: Path, where: Path) -> list[str]:
    site = copy(start, where)
    return steps_of(lambda checkpoint: run(site, the_edits(), checkpoint))


def raise_at(wanted: str, error: BaseException) -> Callable[[str], None]:
    def checkpoint(step: str) -> None:
        if step == wanted:
            raise error

    return checkpoint


def finishing(step: str) -> bool:
    return step.startswith("finish-")


def test_every_kind_of_step_has_a_checkpoint(start: Path, tmp_path: Path) -> None:
    kinds = list(dict.fromkeys(step.partition(":")[0] for step in all_steps(start, tmp_path / "steps")))
    assert kinds == [
        "open",
        "lock",
        "preflight",
        "layout",
        "object-before",
        "object-after",
        "sync-objects",
        "journal-prepare",
        "directories",
        "temp",
        "undo",
        "sync-prepared",
        "journal-replace",
        "replace",
        "added",
        "deleted",
        "sync",
        "purge",
        "sync-purged",
        "ledger",
        "finish-sync",
        "finish-temps",
        "finish-prune",
        "finish-journal",
        "finish-undo",
    ]


def test_an_exception_at_any_step_leaves_all_old_and_after_the_commit_all_new(
    start: Path, tmp_path: Path, old: Picture, new: Picture
) -> None:
    for step in all_steps(start, tmp_path / "steps"):
        site = copy(start, tmp_path / step)
        if finishing(step):
            commit = run(site, the_edits(), raise_at(step, RuntimeError(step)))
            assert commit.notes == (f"cleaning up is left to the next command: {step}",)
            assert picture(site) == new
            state = journal_state(str(site))
            assert (state is not None and state.committed) == (step != "finish-undo"), step
            with locked(str(site)):
                pass
        else:
            with pytest.raises(RuntimeError, match=step):
                run(site, the_edits(), raise_at(step, RuntimeError(step)))
            assert picture(site) == old, step
            assert not (site / LEDGER_PATH).exists()
        assert litter(site) == [], step


def test_an_error_of_the_system_is_reported_as_rolled_back(start: Path, old: Picture) -> None:
    with pytest.raises(TransactionError, match=r"rolled back: No space left on device") as caught:
        run(start, the_edits(), raise_at("replace:2", OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
    assert caught.value.problem.code == "rolled-back"
    assert caught.value.outcome is Outcome.UNFINISHED
    assert picture(start) == old


def test_a_kill_at_any_step_leaves_all_old_or_all_new_to_the_next_command(
    start: Path, tmp_path: Path, old: Picture, new: Picture
) -> None:
    for step in all_steps(start, tmp_path / "steps"):
        site = copy(start, tmp_path / step)
        assert in_child(partial(run, site, the_edits(), kill_at(step))) == -signal.SIGKILL
        state = journal_state(str(site))
        recovery = recover(str(site))
        assert (recovery is None) == (state is None), step
        if state is not None and recovery is not None:
            assert recovery.committed == state.committed == finishing(step), step
            assert recovery.transaction == state.transaction
            assert recovery.paths == ("pkg/a.py", "pkg/b.py", "other/c.py", ADDED, "other/old.py", "other/tool.py")
        assert picture(site) == (new if finishing(step) else old), step
        assert litter(site) == [], step
        assert recover(str(site)) is None
        if not finishing(step):
            run(site, the_edits())
            assert picture(site) == new, step


@pytest.mark.parametrize("step", ["undo:1", "replace:0", "deleted:4", "ledger", "finish-prune", "finish-undo"])
def test_a_recovery_killed_at_any_of_its_steps_is_done_by_the_next_one(
    start: Path, tmp_path: Path, old: Picture, new: Picture, step: str
) -> None:
    killed = copy(start, tmp_path / "killed")
    assert in_child(lambda: run(killed, the_edits(), kill_at(step))) == -signal.SIGKILL

    def recovered(site: Path, checkpoint: Callable[[str], None]) -> None:
        with locked(str(site), checkpoint=checkpoint):
            pass

    counted = copy(killed, tmp_path / "counted")
    relink(killed, counted)
    steps = steps_of(lambda checkpoint: recovered(counted, checkpoint))
    assert len(steps) > (1 if step == "finish-undo" else 5)
    for cut in steps:
        site = copy(killed, tmp_path / f"cut-{cut}")
        relink(killed, site)
        for _ in range(2):
            in_child(partial(recovered, site, kill_at(cut)))
        recover(str(site))
        assert picture(site) == (new if finishing(step) else old), cut
        assert litter(site) == [], cut


def relink(killed: Path, copied: Path) -> None:
    """Give a copied tree the hard links that the original has between its files."""
    first: dict[int, Path] = {}
    for path in sorted(killed.rglob("*")):
        status = path.lstat()
        if path.is_file() and status.st_nlink > 1:
            twin = first.setdefault(status.st_ino, path)
            if twin != path:
                (copied / path.relative_to(killed)).unlink()
                os.link(copied / twin.relative_to(killed), copied / path.relative_to(killed))


def test_a_kill_before_the_ledger_is_there_rolls_back_on_the_next_run_and_says_so(start: Path, new: Picture) -> None:
    in_child(lambda: run(start, the_edits(), kill_at("ledger")))
    with locked(str(start)) as held:
        assert held.recovered is not None
        assert not held.recovered.committed
        held.run(the_edits())
    assert picture(start) == new


@pytest.mark.parametrize(
    ("number", "outcome"), [(signal.SIGTERM, Outcome.TERMINATED), (signal.SIGINT, Outcome.INTERRUPTED)]
)
def test_a_signal_at_any_step_rolls_back_and_after_the_commit_is_too_late(
    start: Path, tmp_path: Path, old: Picture, new: Picture, number: signal.Signals, outcome: Outcome
) -> None:
    handlers = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    for wanted in all_steps(start, tmp_path / "steps"):
        if wanted in {"open", "lock"}:
            continue  # not held yet: the process ends as any other would, with nothing written
        site = copy(start, tmp_path / wanted)

        def checkpoint(step: str, wanted: str = wanted) -> None:
            if step == wanted:
                os.kill(os.getpid(), number)

        if finishing(wanted):
            run(site, the_edits(), checkpoint)
        else:
            with pytest.raises(InterruptedByError) as caught:
                run(site, the_edits(), checkpoint)
            assert caught.value.outcome is outcome
        assert picture(site) == (new if finishing(wanted) else old), wanted
        assert litter(site) == [], wanted
        assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == handlers


def test_an_ignored_signal_stays_ignored(start: Path, new: Picture) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        run(start, the_edits(), lambda step: os.kill(os.getpid(), signal.SIGINT) if step == "sync" else None)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert picture(start) == new


def test_a_terminated_process_has_rolled_back(start: Path, old: Picture) -> None:
    program = """
import sys
from pathlib import Path
from patchctl.errors import InterruptedByError
from tests.transaction_tree import run, the_edits

def checkpoint(step):
    if step == "replace:3":
        print("half-way", flush=True)
        sys.stdin.readline()

try:
    run(Path(sys.argv[1]), the_edits(), checkpoint)
except InterruptedByError as error:
    print(error, flush=True)
"""
    root = Path(__file__).parent.parent
    with subprocess.Popen(
        [sys.executable, "-c", program, str(start)],
        cwd=root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "half-way\n"
        assert picture(start) != old
        process.terminate()
        process.stdin.write("\n")  # the read goes on after the handler ran (PEP 475)
        process.stdin.close()
        assert process.wait(timeout=60) == 0
        assert process.stdout.read() == "SIGTERM: everything was rolled back\n"
    assert picture(start) == old
    assert litter(start) == []


@pytest.mark.parametrize(
    ("step", "path"),
    [
        ("journal-prepare", "pkg/b.py"),
        ("temp:0", "pkg/b.py"),
        ("undo:0", "other/c.py"),
        ("undo:1", "pkg/b.py"),
        ("journal-replace", "other/old.py"),
        ("replace:0", "pkg/b.py"),
        ("replace:1", "pkg/b.py"),
        ("replace:2", "other/c.py"),
        ("replace:4", "other/old.py"),
    ],
)
def test_a_file_changed_meanwhile_is_kept_and_all_others_go_back(
    start: Path, old: Picture, step: str, path: str
) -> None:
    def checkpoint(now: str) -> None:
        if now == step:
            put(start, path, b"FOREIGN = 1\n")

    with pytest.raises(RefusedError) as caught:
        run(start, the_edits(), checkpoint)
    assert (caught.value.problem.code, caught.value.problem.path) == ("changed-meanwhile", path)
    assert (start / path).read_bytes() == b"FOREIGN = 1\n"
    now = picture(start)
    assert {key for key in old if now.get(key) != old[key]} == {path}
    assert litter(start) == []


@pytest.mark.parametrize("step", ["preflight", "undo:5", "replace:5"])
def test_a_mode_changed_meanwhile_is_kept_and_all_others_go_back(start: Path, old: Picture, step: str) -> None:
    """An edit that names the mode it replaces is compare-and-swap in that, too: here the bytes never differ."""

    def checkpoint(now: str) -> None:
        if now == step:
            (start / "other/tool.py").chmod(0o600)

    with pytest.raises(RefusedError) as caught:
        run(start, the_edits(), checkpoint)
    assert (caught.value.problem.code, caught.value.problem.path) == ("changed-meanwhile", "other/tool.py")
    assert (start / "other/tool.py").stat().st_mode & 0o777 == 0o600
    now = picture(start)
    assert {key for key in old if now.get(key) != old[key]} == {"other/tool.py"}
    assert litter(start) == []


def test_somebody_who_writes_our_very_bytes_first_keeps_them(start: Path) -> None:
    def checkpoint(step: str) -> None:
        if step == "replace:1":
            put(start, "pkg/b.py", b"B = 2\n")

    with pytest.raises(RefusedError, match="changed it in the meantime"):
        run(start, the_edits(), checkpoint)
    assert (start / "pkg/b.py").read_bytes() == b"B = 2\n"
    assert (start / "pkg/a.py").read_bytes() == b"A = 1\n"
    assert litter(start) == []


@pytest.mark.parametrize("content", [b"FOREIGN = 1\n", b"C = 22\r\n"])
def test_before_replacing_begins_a_foreign_edit_is_no_obstacle(start: Path, old: Picture, content: bytes) -> None:
    in_child(lambda: run(start, the_edits(), kill_at("temp:1")))
    put(start, "other/c.py", content)
    assert recover(str(start)) is not None
    assert (start / "other/c.py").read_bytes() == content
    now = picture(start)
    assert {key for key in old if now.get(key) != old[key]} == {"other/c.py"}
    assert litter(start) == []


def test_a_file_that_appears_where_one_is_to_be_added_is_kept(start: Path) -> None:
    def checkpoint(step: str) -> None:
        if step == "replace:3":
            put(start, ADDED, b"THEIRS\n")

    with pytest.raises(RefusedError, match="changed it in the meantime"):
        run(start, the_edits(), checkpoint)
    assert (start / ADDED).read_bytes() == b"THEIRS\n"
    assert (start / "pkg/a.py").read_bytes() == b"A = 1\n"
    assert litter(start) == []


def test_a_foreign_edit_after_ours_stops_the_roll_back_until_it_is_settled(start: Path, old: Picture) -> None:
    in_child(lambda: run(start, the_edits(), kill_at("sync")))
    half_done = picture(start)
    put(start, "pkg/b.py", b"FOREIGN = 1\n")
    for _ in range(2):
        with pytest.raises(TransactionError) as caught:
            recover(str(start))
        assert (caught.value.problem.code, caught.value.problem.path) == ("foreign-edit", "pkg/b.py")
        assert journal_state(str(start)) is not None
        now = picture(start)
        assert {key for key in now if now[key] != half_done[key]} == {"pkg/b.py"}
    kept = start / object_path(sha256_hex(b"B = 1\n"))
    (start / "pkg/b.py").write_bytes(kept.read_bytes())
    assert recover(str(start)) is not None
    assert {path: what[-2] for path, what in picture(start).items() if len(what) > 4} == {
        path: what[-2] for path, what in old.items() if len(what) > 4
    }
    assert litter(start) == []


def test_a_roll_back_that_fails_keeps_the_journal_and_says_so(start: Path, old: Picture) -> None:
    def checkpoint(step: str) -> None:
        if step == "ledger":
            put(start, "pkg/b.py", b"FOREIGN = 1\n")
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    with pytest.raises(TransactionError, match="could not be rolled back") as caught:
        run(start, the_edits(), checkpoint)
    assert caught.value.problem.code == "foreign-edit"
    assert journal_state(str(start)) is not None
    put(start, "pkg/b.py", b"B = 1\n", mode=0o600)
    recover(str(start))
    assert picture(start) == old


def test_an_original_comes_from_the_objects_when_its_undo_is_lost(start: Path, old: Picture) -> None:
    """A tree copied in mid-transaction without its tmp directory."""
    in_child(lambda: run(start, the_edits(), kill_at("ledger")))
    shutil.rmtree(start / ".patchctl/tmp")
    assert recover(str(start)) is not None
    # The deleted file's mode and time come from the journal, its owner from the site.
    assert picture(start) == old


def test_an_original_that_is_kept_nowhere_stops_the_roll_back(start: Path) -> None:
    in_child(lambda: run(start, the_edits(), kill_at("ledger")))
    shutil.rmtree(start / ".patchctl/tmp")
    shutil.rmtree(start / ".patchctl/objects")
    with pytest.raises(TransactionError) as caught:
        recover(str(start))
    assert caught.value.problem.code == "original-lost"
    assert journal_state(str(start)) is not None


def test_undo_with_other_bytes_or_set_id_bits_is_not_taken(start: Path, old: Picture) -> None:
    in_child(lambda: run(start, the_edits(), kill_at("ledger")))
    (tmp,) = (start / ".patchctl/tmp").iterdir()
    (tmp / "0").unlink()
    (tmp / "0").write_bytes(b"EVIL = 1\n")
    (tmp / "1").chmod(0o4755)
    recover(str(start))
    assert picture(start) == old


def test_a_committed_transaction_is_only_cleaned_up_even_when_files_changed_since(start: Path) -> None:
    in_child(lambda: run(start, the_edits(), kill_at("finish-sync")))
    put(start, "pkg/b.py", b"FOREIGN = 1\n")
    recovery = recover(str(start))
    assert recovery is not None
    assert recovery.committed
    assert (start / "pkg/b.py").read_bytes() == b"FOREIGN = 1\n"
    assert litter(start) == []


def test_an_error_after_the_ledger_took_its_place_is_a_note(start: Path, new: Picture) -> None:
    """Over a network a rename can be done and its answer lost: the ledger's hash decides, not the error."""
    in_child(lambda: run(start, the_edits(), kill_at("ledger")))
    (temp,) = (start / ".patchctl").glob(".patchctl-*.tmp")
    temp.rename(start / LEDGER_PATH)
    recovery = recover(str(start))
    assert recovery is not None
    assert recovery.committed
    assert picture(start) == new
    assert litter(start) == []


def test_whatever_a_power_cut_must_not_take_is_on_the_disk_in_time(
    start: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[tuple[str, str]] = []
    replace, unlink = os.replace, os.unlink

    def at(directory: int) -> str:
        return str(Path(f"/proc/self/fd/{directory}").readlink().relative_to(start))

    def note_fsync(fd: int) -> None:
        events.append(("fsync", at(fd)))

    def note_replace(source: str, target: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        events.append(("from", f"{at(src_dir_fd)}/{source}"))
        events.append(("to", f"{at(dst_dir_fd)}/{target}"))
        replace(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    def note_unlink(name: str, *, dir_fd: int) -> None:
        events.append(("unlink", f"{at(dir_fd)}/{name}"))
        unlink(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(os, "replace", note_replace)
    monkeypatch.setattr(os, "unlink", note_unlink)
    commit = run(start, the_edits())

    first = events.index(("to", "pkg/a.py"))
    last = events.index(("to", LEDGER_PATH))
    *_, journal = (place for place, event in enumerate(events) if event == ("to", ".patchctl/journal.json"))
    for place, event in enumerate(events):
        if event[0] == "from":
            assert ("fsync", event[1]) in events[:place], "every file is on the disk before it takes its name"
    for kept in (f".patchctl/tmp/{commit.id}", "pkg", "other", "pkg/new/deep", ".patchctl/patches"):
        assert ("fsync", kept) in events[:journal], "what leads back is there before the journal says so"
    for data in (b"A = 1\n", b"OLD = 1\n", b"D = 1\n"):
        kept = object_path(sha256_hex(data))
        assert events.index(("fsync", str(Path(kept).parent))) > events.index(("to", kept))
    assert ("fsync", ".patchctl") in events[journal:first], "the journal is there before the first file is replaced"
    for changed in ("pkg", "other", "pkg/new/deep", ".patchctl/patches"):
        assert ("fsync", changed) in events[first:last], "the files are there before the ledger is"
    gone = events.index(("unlink", ".patchctl/journal.json"))
    assert ("fsync", ".patchctl") in events[last:gone], "the ledger is there before the journal goes"
    assert ("fsync", ".patchctl") in events[gone:], "the journal is gone before its undo is"


@pytest.fixture
def mount(tmp_path: Path) -> Path:
    """A file system of 3 MiB of its own."""
    where = tmp_path / "small"
    where.mkdir()
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", where], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"cannot mount a tmpfs: {error}")
    return where


def unmount(where: Path) -> None:
    subprocess.run(["umount", where], check=True)


def test_a_full_disk_at_any_step_leaves_all_old_or_all_new(
    start: Path, mount: Path, tmp_path: Path, old: Picture
) -> None:
    big = b"# " + b"x" * 99_998 + b"\n"
    edits = [
        modify("pkg/a.py", b"A = 1\n", big),
        modify("other/c.py", b"C = 1\r\n", big + b"C"),
        add(ADDED, big + b"D"),
        ledger(big + b"L"),
    ]
    filler = mount / "filler"
    failed = 0
    try:
        steps = steps_of(lambda checkpoint: run(copy(start, tmp_path / "steps"), edits, checkpoint))
        for wanted in steps[2:]:
            site = copy(start, mount)

            def checkpoint(step: str, wanted: str = wanted) -> None:
                if step == wanted:
                    fill(filler)

            code = None
            try:
                run(site, edits, checkpoint)
            except (TransactionError, RefusedError) as error:
                code = error.problem.code
            if code is None:
                assert (site / LEDGER_PATH).read_bytes() == big + b"L"
                assert (site / "pkg/a.py").read_bytes() == big
            else:
                assert code == ("no-space" if wanted == "preflight" else "rolled-back"), wanted
                assert picture(site) == old, wanted
                failed += 1
            assert litter(site) == [], wanted
            shutil.rmtree(site)
            filler.unlink(missing_ok=True)
    finally:
        unmount(mount)
    assert failed >= 10


def test_recovery_needs_no_space(start: Path, mount: Path, old: Picture) -> None:
    try:
        site = copy(start, mount)
        in_child(lambda: run(site, the_edits(), kill_at("ledger")))
        fill(mount / "filler")
        assert recover(str(site)) is not None
        assert picture(site) == old
        assert litter(site) == []
    finally:
        unmount(mount)


def test_read_only_in_mid_transaction_is_reported_and_recovered_after_a_remount(
    start: Path, mount: Path, old: Picture
) -> None:
    try:
        site = copy(start, mount)
        in_child(lambda: run(site, the_edits(), kill_at("ledger")))
        subprocess.run(["mount", "-o", "remount,ro", mount], check=True)
        assert journal_state(str(site)) is not None
        for attempt in (lambda: recover(str(site)), lambda: run(site, the_edits())):
            with pytest.raises(TransactionError) as caught:
                attempt()
            assert caught.value.problem.code == "not-writable"
            assert "recover" in (caught.value.problem.hint or "")
        subprocess.run(["mount", "-o", "remount,rw", mount], check=True)
        recover(str(site))
        assert picture(site) == old
    finally:
        unmount(mount)


def fill(filler: Path) -> None:
    with filler.open("wb", buffering=0) as stream:
        for size in (65536, 4096, 1):
            with pytest.raises(OSError, match="No space left"):
                write_forever(stream, size)


def write_forever(stream: FileIO, size: int) -> None:
    while True:
        stream.write(b"\0" * size)
