"""Who runs old code: real processes that map a module of the site, and invented ones for what cannot be waited for."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from patchctl.commands import Clock, Place
from patchctl.commands.apply import apply
from patchctl.commands.ps import ps
from patchctl.commands.status import check, status
from patchctl.errors import Outcome
from patchctl.model.history import Moment
from patchctl.model.processes import Age, Census
from patchctl.processes import changed_at, judge_processes, scan
from patchctl.processes.patience import ask_all
from patchctl.render.plain import as_plain
from tests.processes_tree import FIRST_PID, KERNEL_THREAD, NOW, SECOND, ProcTree
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, on_a_terminal
from tests.sites import make_site, make_venv_layout
from tests.test_contract import live_controls

PATH = "vllm/engine.py"
BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 21))
AFTER = BASE.replace(b"line_5 = 1\n", b"line_5 = five\n")
CLOCK = Clock(now=1_800_000_000, stamp="2027-01-15T08:00:00Z")
SERVER = """
import importlib.machinery, importlib.util, os, subprocess, sys, time

def load(path):
    loader = importlib.machinery.ExtensionFileLoader("_bisect", path)
    importlib.util.module_from_spec(importlib.util.spec_from_file_location("_bisect", path, loader=loader))

load(sys.argv[1])
print("ready", flush=True)
for line in sys.stdin:
    if line == "fork\\n":
        pid = os.fork()
        if pid == 0:
            time.sleep(600)
            os._exit(0)
    else:
        child = subprocess.Popen([sys.executable, "-c", SOURCE, sys.argv[1]], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE)
        child.stdout.readline()
        pid = child.pid
    print(pid, flush=True)
"""


def make_desk(where: Path) -> Desk:
    site = make_site(where, {PATH: BASE, "vllm/native.so": b"\x7fELF"}, build="0.25.1")
    registry = make_registry(where / "registry")
    add_entry(registry, "one", make_diff({PATH: (BASE, AFTER)}))
    return Desk(site=site, registry=registry)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return make_desk(tmp_path)


@pytest.fixture
def tree(tmp_path: Path) -> ProcTree:
    return ProcTree(tmp_path / "proc")


def place(desk: Desk, tree: ProcTree, boottime_ns: int = NOW.boottime_ns) -> Place:
    return Place(site=str(desk.site), registries=(str(desk.registry),), proc=str(tree.root), boottime_ns=boottime_ns)


def module_of_the_standard_library() -> Path:
    import importlib.util

    spec = importlib.util.find_spec("_bisect")
    if spec is None or spec.origin is None or not spec.origin.endswith(".so"):
        pytest.skip("this interpreter has its extension modules built in: no small shared object to map")
    return Path(spec.origin)


class Server:
    """A python process that maps a module of the site, and forks or spawns when told to."""

    def __init__(self, site: Path) -> None:
        module = site / "vllm" / "_native.so"
        module.write_bytes(module_of_the_standard_library().read_bytes())
        source = f"SOURCE = {SERVER!r}\n{SERVER}"
        self.process = subprocess.Popen(
            [sys.executable, "-c", source, str(module), "--api-key", "s3cr3t"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pids = [self.process.pid]
        assert self._line() == "ready\n"

    def tell(self, what: str) -> int:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        self.pids.append(int(self._line()))
        return self.pids[-1]

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def end(self) -> None:
        for pid in reversed(self.pids):
            os.kill(pid, 9)
        with self.process:
            pass


@pytest.fixture
def server(desk: Desk) -> Iterator[Server]:
    found = Server(desk.site)
    yield found
    found.end()


@pytest.mark.slow
def test_c25_a_fork_of_an_old_process_is_stale_and_a_spawn_is_fresh(desk: Desk, server: Server) -> None:
    refused = desk.json("apply")
    assert refused.code == 1
    assert [error["code"] for error in refused.document["errors"]] == ["still-loading"]
    assert str(server.process.pid) in refused.document["errors"][0]["hint"]
    assert (desk.site / PATH).read_bytes() == BASE

    done = desk.json("apply", "--allow-running")
    assert done.code == 0
    assert [found["pid"] for found in done.document["processes"]["seen"]] == [server.process.pid]
    assert any(f"restart to take effect: {server.process.pid} " in note for note in done.document["notes"])
    time.sleep(0.1)  # a process that begins in the same clock tick as the commit counts as older
    forked, spawned = server.tell("fork"), server.tell("spawn")

    found = desk.json("ps")
    assert found.code == 1
    ages = {it["pid"]: it["age"] for it in found.document["processes"]["seen"]}
    assert ages == {server.process.pid: "stale", forked: "stale", spawned: "fresh"}
    assert "s3cr3t" not in found.out
    assert "s3cr3t" not in desk.run("ps").out
    (record,) = desk.json("history").document["history"]
    assert record["decisions"] == ["--allow-running"]


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.attack("proc-hang")
def test_c26_somebody_elses_process_cannot_be_inspected_and_that_is_not_none(desk: Desk, server: Server) -> None:
    assert desk.run("apply", "--allow-running").code == 0
    open_to_all(desk.site)
    # Modules are loaded before the rights go: nobody may not read this interpreter's own.
    ps(Place(site=str(desk.site), registries=(str(desk.registry),)))

    def look() -> str:
        report = ps(Place(site=str(desk.site), registries=(str(desk.registry),)))
        found = report.processes
        assert found is not None
        return json.dumps(
            {
                "outcome": report.outcome.name,
                "pids": [process.pid for process, _ in found.judged],
                "blocked": found.census.blocked.get(0, 0),
                "warnings": [(it.code, it.message) for it in report.warnings],
                "notes": report.notes,
            }
        )

    answer = json.loads(as_nobody(look))
    assert answer["pids"] == []
    assert answer["outcome"] == "CANNOT_ANSWER"
    assert answer["blocked"] >= 1
    ((code, message),) = answer["warnings"]
    assert (code, message.partition(" process")[0].split()[:2]) == ("cannot-inspect", ["cannot", "inspect"])
    assert "none of the processes that can be inspected" in answer["notes"][0]


def open_to_all(site: Path) -> None:
    """Let others reach a temporary directory, which pytest makes for its owner alone."""
    for path in site.parents:
        if path.stat().st_uid == os.getuid() and path.stat().st_mode & 0o077 == 0 and path != Path.home():
            path.chmod(0o755)


def as_nobody(act: Callable[[], str]) -> str:
    """Return what ``act`` returns in a child that belongs to nobody."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reading)
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            os.write(writing, act().encode())
        except BaseException as error:
            os.write(writing, repr(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        text = stream.read()
    os.waitpid(pid, 0)
    return text


class TestTheTenMinutes:
    def test_c30_old_processes_are_listed_as_restart_to_take_effect(self, desk: Desk, tree: ProcTree) -> None:
        pids = range(FIRST_PID, FIRST_PID + 8)
        for pid in pids:
            tree.add(pid, age=700 + pid - FIRST_PID, mapped=desk.site / "vllm/native.so")
        report = apply(place(desk, tree), CLOCK)
        assert report.outcome is Outcome.OK
        assert (desk.site / PATH).read_bytes() == AFTER
        (note,) = (note for note in report.notes if "restart to take effect" in note)
        assert note.startswith("8 processes still run the old code")
        assert all(str(pid) in note for pid in pids)
        assert report.processes is not None
        assert {process.pid for process in report.processes.of_age(Age.STALE)} == set(pids)

    @pytest.mark.parametrize("dry_run", [True, False])
    def test_c30_a_young_one_is_a_reason_to_refuse(self, desk: Desk, tree: ProcTree, dry_run: bool) -> None:
        tree.add(FIRST_PID, age=700, mapped=desk.site / "vllm/native.so")
        tree.add(FIRST_PID + 1, age=120, mapped=desk.site / "vllm/native.so", command=("VLLM::Worker",))
        report = apply(place(desk, tree), CLOCK, dry_run=dry_run)
        assert report.outcome is Outcome.ATTENTION
        (problem,) = report.errors
        assert problem.code == "still-loading"
        assert problem.hint == f"wait, or say --allow-running: {FIRST_PID + 1} (2 min old, VLLM::Worker)"
        assert (desk.site / PATH).read_bytes() == BASE
        assert not (desk.site / ".patchctl").exists()

    def test_c30_the_flag_allows_it(self, desk: Desk, tree: ProcTree) -> None:
        tree.add(FIRST_PID, age=120, mapped=desk.site / "vllm/native.so")
        from patchctl.commands import Consent

        report = apply(place(desk, tree), CLOCK, consent=Consent(allow_running=True))
        assert report.outcome is Outcome.OK
        assert (desk.site / PATH).read_bytes() == AFTER

    def test_a_young_one_of_another_environment_is_none(self, desk: Desk, tree: ProcTree) -> None:
        tree.add(FIRST_PID, age=5, mapped="/elsewhere/site/vllm/native.so")
        tree.add(FIRST_PID + 1, age=5, mapped=f"/mnt{desk.site}/vllm/native.so")
        tree.add(FIRST_PID + 2, age=5, mapped=f"{desk.site}-other/vllm/native.so")
        tree.add(FIRST_PID + 3, age=5, mapped=f"/mnt/a {desk.site}/vllm/native.so")
        assert apply(place(desk, tree), CLOCK).outcome is Outcome.OK

    def test_what_changes_no_file_is_not_refused(self, desk: Desk, tree: ProcTree) -> None:
        from patchctl.commands.hold import hold

        tree.add(FIRST_PID, age=5, mapped=desk.site / "vllm/native.so")
        assert hold(place(desk, tree), CLOCK, ["one"], reason="x").outcome is Outcome.OK

    def test_the_interpreter_of_a_virtual_environment_counts_before_it_maps_anything(self, tmp_path: Path) -> None:
        site = make_venv_layout(tmp_path / "venv")
        tree = ProcTree(tmp_path / "proc")
        own = str(tmp_path / "venv/bin/python")
        tree.add(FIRST_PID, age=5, command=(own, "-m", "vllm"))
        tree.add(FIRST_PID + 1, age=5, command=("python", "x.py"), environ=b"A=1\0VIRTUAL_ENV=%b\0" % bytes(tmp_path))
        mark = b"VIRTUAL_ENV=" + os.fsencode(tmp_path / "venv") + b"\0"
        tree.add(FIRST_PID + 2, age=5, command=("python", "x.py"), environ=mark)
        tree.add(FIRST_PID + 3, age=5, command=("/usr/bin/python3", "x.py"), environ=mark)
        tree.add(FIRST_PID + 4, age=5, command=("../venv/bin/python3", "x.py"))
        (tree.root / str(FIRST_PID + 4) / "cwd").symlink_to(tmp_path / "work")
        found = scan(str(site), NOW, proc=str(tree.root)).found
        assert {process.pid: process.mapped for process in found} == dict.fromkeys(
            (FIRST_PID, FIRST_PID + 2, FIRST_PID + 4), False
        )


class TestAges:
    """The change was at second 1,000 before now, by the record."""

    CHANGED = NOW.boottime_ns - 1000 * SECOND

    def ages(self, desk: Desk, tree: ProcTree, changed_ns: int | None = CHANGED) -> dict[int, str]:
        census = scan(str(desk.site), NOW, proc=str(tree.root))
        return {process.pid - FIRST_PID: age.value for process, age in judge_processes(census, changed_ns)}

    def test_what_began_before_is_stale_and_after_is_fresh(self, desk: Desk, tree: ProcTree) -> None:
        tree.add(FIRST_PID, age=1001, mapped=desk.site / "vllm/native.so")
        tree.add(FIRST_PID + 1, age=999, mapped=desk.site / "vllm/native.so")
        assert self.ages(desk, tree) == {0: "stale", 1: "fresh"}
        assert self.ages(desk, tree, None) == {0: "fresh", 1: "fresh"}

    def test_a_late_fork_is_stale_also_where_its_parent_is_gone_or_maps_nothing(
        self, desk: Desk, tree: ProcTree
    ) -> None:
        so = desk.site / "vllm/native.so"
        tree.add(FIRST_PID, age=2000, mapped=so, image=b"A")
        tree.add(FIRST_PID + 1, age=10, mapped=so, image=b"A", parent=1)
        tree.add(FIRST_PID + 2, age=10, mapped=so, image=b"B", parent=FIRST_PID)
        tree.add(FIRST_PID + 3, age=2000, image=b"C")
        tree.add(FIRST_PID + 4, age=10, mapped=so, image=b"C", parent=FIRST_PID + 3)
        assert self.ages(desk, tree) == {0: "stale", 1: "stale", 2: "fresh", 4: "stale"}

    def test_an_unknown_image_is_nobodys(self, desk: Desk, tree: ProcTree) -> None:
        so = desk.site / "vllm/native.so"
        tree.add(FIRST_PID, age=2000, mapped=so, image=b"")
        tree.add(FIRST_PID + 1, age=10, mapped=so, image=b"", parent=FIRST_PID)
        assert self.ages(desk, tree) == {0: "stale", 1: "fresh"}

    def test_kernel_threads_and_the_dead_are_none(self, desk: Desk, tree: ProcTree) -> None:
        so = desk.site / "vllm/native.so"
        tree.add(FIRST_PID, age=2000, mapped=so, flags=KERNEL_THREAD)
        tree.add(FIRST_PID + 1, age=2000, mapped=so, state="Z")
        assert self.ages(desk, tree) == {}

    def test_a_replaced_file_that_is_still_mapped_counts(self, desk: Desk, tree: ProcTree) -> None:
        tree.add(FIRST_PID, age=2000, mapped=f"{desk.site}/vllm/native.so (deleted)")
        tree.add(FIRST_PID + 1, age=2000, mapped=f"{desk.site}/vllm/data with blanks.bin")
        assert self.ages(desk, tree) == {0: "stale", 1: "stale"}

    def test_a_process_of_another_file_system_is_another_environments(self, desk: Desk, tree: ProcTree) -> None:
        where = tree.add(FIRST_PID, age=2000, mapped=desk.site / "vllm/native.so")
        inside = where / "root" / str(desk.site).lstrip("/")
        inside.mkdir(parents=True)
        assert self.ages(desk, tree) == {}

    @pytest.mark.attack("proc-hang")
    def test_a_map_is_read_to_its_end_and_no_name_breaks_the_reading(self, desk: Desk, tree: ProcTree) -> None:
        where = tree.add(FIRST_PID, age=2000, name="a) S 1 (\n\udcff b")
        line = b"7f00a000-7f00b000 r-xp 00000000 08:01 1234567                    /usr/lib/other.so\n"
        own = line.replace(b"/usr/lib", os.fsencode(desk.site))
        (where / "maps").write_bytes(line * 50_000 + own)
        assert self.ages(desk, tree) == {0: "stale"}

    @pytest.mark.attack("proc-hang")
    @pytest.mark.parametrize("name", ["stat", "maps", "cmdline", "comm", "auxv", "environ"])
    def test_a_file_that_never_answers_is_waited_for_by_nobody(self, desk: Desk, tree: ProcTree, name: str) -> None:
        for pid in (FIRST_PID, FIRST_PID + 1):
            tree.add(pid, age=2000, mapped=desk.site / "vllm/native.so")
        file = tree.root / str(FIRST_PID) / name
        file.unlink()
        os.mkfifo(file)
        assert self.ages(desk, tree)[1] == "stale"

    @pytest.mark.attack("proc-hang")
    def test_a_process_that_vanishes_is_left_out(self, desk: Desk, tree: ProcTree) -> None:
        where = tree.add(FIRST_PID, age=2000, mapped=desk.site / "vllm/native.so")
        (where / "maps").unlink()
        (tree.root / str(FIRST_PID + 1)).mkdir()
        (tree.root / str(FIRST_PID + 2)).mkdir()
        (tree.root / str(FIRST_PID + 2) / "stat").write_bytes(b"5 (")
        assert self.ages(desk, tree) == {}

    @pytest.mark.attack("proc-hang")
    def test_a_pid_that_is_given_away_while_it_is_read_is_left_out(self, desk: Desk, tree: ProcTree) -> None:
        where = tree.add(FIRST_PID, age=2000, mapped=desk.site / "vllm/native.so")
        shutil.rmtree(tree.root / "1")
        watching = True

        def give_away(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal watching
            if watching and event == "open" and arguments[0] == "maps":
                watching = False
                fields = (where / "stat").read_text().split()
                (where / "stat").write_text(" ".join([*fields[:21], str(int(fields[21]) + 7), *fields[22:]]))

        sys.addaudithook(give_away)  # it cannot be taken away again, only be switched off
        try:
            assert self.ages(desk, tree) == {}
        finally:
            watching = False
        assert self.ages(desk, tree) == {0: "stale"}


class TestWhenItChanged:
    MADE = Moment(boot="b", boottime_ns=500 * SECOND, realtime_ns=2_000 * SECOND)

    @pytest.mark.parametrize(
        ("placed", "expected"),
        [(2_000, 500), (2_003, 503), (1_000, 500), (90_000, 1_100)],
        ids=["at once", "three seconds later", "the clock was put back", "touched much later"],
    )
    def test_is_the_boots_clock_and_the_time_the_change_took(self, placed: int, expected: int) -> None:
        now = Moment(boot="b", boottime_ns=9_000 * SECOND, realtime_ns=99_000 * SECOND)
        at = changed_at(self.MADE, placed * SECOND, now)
        assert at is not None
        assert at // SECOND == expected

    def test_was_in_another_boot(self) -> None:
        assert changed_at(self.MADE, 2_000 * SECOND, self.MADE._replace(boot="c")) is None

    @pytest.mark.parametrize("boot", ["b", None])
    def test_is_the_files_time_where_the_record_has_none(self, boot: str | None) -> None:
        now = Moment(boot=boot, boottime_ns=900 * SECOND, realtime_ns=10_000 * SECOND)
        at = changed_at(None, 9_900 * SECOND, now)
        assert at is not None
        assert at // SECOND == 800
        assert changed_at(None, 9_000 * SECOND, now) is None


class TestTheVerb:
    def test_without_any_change_nobody_is_stale(self, desk: Desk, tree: ProcTree) -> None:
        tree.add(FIRST_PID, age=2000, mapped=desk.site / "vllm/native.so")
        report = ps(place(desk, tree))
        assert report.outcome is Outcome.OK
        assert report.notes == ("no change of this environment is recorded: every process runs what is there",)

    def test_all_fresh_is_0_some_stale_1_and_unknown_3(self, tmp_path: Path) -> None:
        site = make_venv_layout(tmp_path / "venv")
        from tests.sites import install

        install(site, {PATH: BASE})
        registry = make_registry(tmp_path / "registry")
        add_entry(registry, "one", make_diff({PATH: (BASE, AFTER)}))
        desk, tree = Desk(site=site, registry=registry), ProcTree(tmp_path / "proc")
        assert apply(place(desk, tree, NOW.boottime_ns - 5000 * SECOND), CLOCK).outcome is Outcome.OK
        tree.add(FIRST_PID, age=100, mapped=site / "a.so")
        assert ps(place(desk, tree)).outcome is Outcome.OK
        tree.add(FIRST_PID + 1, age=9000, command=(str(tmp_path / "venv/bin/python"), "x.py"))
        report = ps(place(desk, tree))
        assert report.outcome is Outcome.CANNOT_ANSWER
        assert "nothing shows whether they loaded the old code" in report.notes[-1]
        tree.add(FIRST_PID + 2, age=9000, mapped=site / "a.so")
        assert ps(place(desk, tree)).outcome is Outcome.ATTENTION

    def test_a_hold_is_no_change_of_files(self, desk: Desk, tree: ProcTree) -> None:
        from patchctl.commands.hold import hold

        assert apply(place(desk, tree, NOW.boottime_ns - 5000 * SECOND), CLOCK).outcome is Outcome.OK
        assert hold(place(desk, tree, NOW.boottime_ns - 50 * SECOND), CLOCK, ["one"], reason="x").change is not None
        tree.add(FIRST_PID, age=100, mapped=desk.site / "vllm/native.so")
        assert ps(place(desk, tree)).outcome is Outcome.OK

    def test_without_history_the_time_of_the_ledger_counts(self, desk: Desk, tree: ProcTree) -> None:
        apply(place(desk, tree), CLOCK)
        shutil.rmtree(desk.site / ".patchctl/history")
        tree.add(FIRST_PID, age=100, mapped=desk.site / "vllm/native.so")
        report = ps(place(desk, tree))
        assert report.outcome is Outcome.ATTENTION
        assert report.processes is not None
        assert report.processes.transaction is None

    @pytest.mark.attack("proc-hang")
    def test_hidden_processes_are_not_none(self, desk: Desk, tree: ProcTree) -> None:
        apply(place(desk, tree), CLOCK)
        shutil.rmtree(tree.root / "1")
        report = ps(place(desk, tree))
        assert report.outcome is Outcome.CANNOT_ANSWER
        assert [problem.code for problem in report.warnings] == ["cannot-inspect"]

    def test_without_proc_there_is_no_answer(self, desk: Desk, tree: ProcTree, tmp_path: Path) -> None:
        apply(place(desk, tree), CLOCK)
        report = ps(place(desk, tree)._replace(proc=str(tmp_path / "none")))
        assert report.outcome is Outcome.CANNOT_ANSWER

    def test_hostile_command_lines_reach_nobody_alive(self, desk: Desk, tree: ProcTree) -> None:
        apply(place(desk, tree), CLOCK)
        command = ("\x1b[2J\x1b]0;x\x07", "a\nprocess\t1\tage=fresh", "\u202e", "\udcff", "--api-key", "s3cr3t")
        tree.add(FIRST_PID, age=2000, mapped=desk.site / "vllm/native.so", command=command)
        text = as_plain(ps(place(desk, tree)))
        assert sum(line.startswith("process\t") for line in text.split("\n")) == 1
        assert live_controls(text.encode()) == []
        assert "s3cr3t" not in text


class TestStatus:
    def test_mentions_stale_processes_and_check_does_not_look(self, desk: Desk, tree: ProcTree) -> None:
        apply(place(desk, tree), CLOCK)
        assert status(place(desk, tree)).notes == ()
        tree.add(FIRST_PID, age=2000, mapped=desk.site / "vllm/native.so")
        tree.add(FIRST_PID + 1, age=2000, mapped=desk.site / "vllm/native.so")
        (note,) = status(place(desk, tree)).notes
        assert note.startswith("2 processes still run the code from before the last change: patchctl ps")
        assert check(place(desk, tree)).notes == ()

    def test_mentions_a_late_fork_of_a_stale_one(self, desk: Desk, tree: ProcTree) -> None:
        apply(place(desk, tree, NOW.boottime_ns - 500 * SECOND), CLOCK)
        tree.add(FIRST_PID, age=2000, mapped=desk.site / "vllm/native.so", image=b"A")
        tree.add(FIRST_PID + 1, age=10, mapped=desk.site / "vllm/native.so", image=b"A", parent=FIRST_PID)
        tree.add(FIRST_PID + 2, age=10, mapped=desk.site / "vllm/native.so")
        (note,) = status(place(desk, tree)).notes
        assert note.startswith("2 processes still run")

    def test_says_nothing_where_nothing_was_changed(self, desk: Desk, tree: ProcTree) -> None:
        tree.add(FIRST_PID, age=2000, mapped=desk.site / "vllm/native.so")
        assert status(place(desk, tree)).notes == ()

    def test_works_without_proc(self, desk: Desk, tree: ProcTree, tmp_path: Path) -> None:
        apply(place(desk, tree), CLOCK)
        report = status(place(desk, tree)._replace(proc=str(tmp_path / "none")))
        assert report.outcome is Outcome.OK


@pytest.mark.attack("proc-hang")
class TestPatience:
    def test_a_question_that_hangs_is_left_behind_and_the_others_are_answered(self) -> None:
        never = threading.Event()

        def ask(number: int) -> int:
            if number in {2, 5}:
                never.wait(60)
            return number * 10

        answers = ask_all(range(7), ask, seconds=0.05)
        assert answers.given == (0, 10, 30, 40, 60)
        assert (answers.hung, answers.complete) == (2, True)
        never.set()

    def test_many_that_hang_end_it(self) -> None:
        never = threading.Event()
        answers = ask_all(range(20), lambda _: never.wait(60), seconds=0.01)
        assert (answers.given, answers.hung, answers.complete) == ((), 8, False)
        never.set()

    def test_a_budget_ends_it(self) -> None:
        answers = ask_all(range(3), lambda number: number, seconds=1, budget=-1.0)
        assert (answers.given, answers.complete) == ((), False)

    def test_what_a_question_raises_is_raised(self) -> None:
        with pytest.raises(ZeroDivisionError):
            ask_all([0], lambda number: 1 // number, seconds=1)

    def test_no_question_has_an_answer(self) -> None:
        assert ask_all([], str, seconds=1).complete


def test_a_terminal_shows_the_processes_by_user(desk: Desk) -> None:
    raw = on_a_terminal("ps", "--site", str(desk.site), "--registry", str(desk.registry))
    assert b"no change of this environment is recorded" in raw


def test_a_census_counts_what_it_did_not_see() -> None:
    census = Census(now=NOW, blocked={0: 2, 7: 1}, unanswered=1)
    assert (census.unseen, census.whole) == (4, False)
    assert Census(now=NOW).whole
    assert not Census(now=NOW, complete=False).whole


@pytest.mark.parametrize("words", [("patchctl", "apply"), ("/usr/bin/patchctl", "apply"), ("-m", "patchctl", "apply")])
def test_another_patchctl_is_no_server_that_loads(tmp_path: Path, words: tuple[str, ...]) -> None:
    site = make_venv_layout(tmp_path / "venv")
    tree = ProcTree(tmp_path / "proc")
    tree.add(FIRST_PID, age=5, command=(str(tmp_path / "venv/bin/python"), *words))
    assert scan(str(site), NOW, proc=str(tree.root)).found == ()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_what_may_not_even_be_opened_is_counted(desk: Desk, tree: ProcTree) -> None:
    where = tree.add(FIRST_PID, age=2000, mapped=desk.site / "vllm/native.so")
    open_to_all(desk.site)
    where.chmod(0)

    def look() -> str:
        return repr(dict(scan(str(desk.site), NOW, proc=str(tree.root)).blocked))

    assert look() == "{}"  # root may
    assert as_nobody(look) == "{0: 1}"
