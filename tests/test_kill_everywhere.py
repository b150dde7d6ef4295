"""C33: SIGKILL before every call to the file system of ``apply`` and ``revert``, and ten kills of every recovery.

Finer than ``test_kill.py``, which counts requests to change something: here every call counts, also those that only
look, because what a process has read and not yet acted on is a state of its own. The interpreter announces some calls
to audit hooks; the others are wrapped in ``os``. All of it happens in forked children, so this process stays clean.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from patchctl.transaction import recover
from tests.conftest import LONG, TABLES
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, tree
from tests.sites import make_site
from tests.test_kill import BASE, CHANGING, HIGH, LOW, litter
from tests.test_kill_mending import ledger
from tests.transaction_tree import do_not_wait_for_the_disk, in_child

pytestmark = pytest.mark.slow

ANNOUNCED = CHANGING | {"open", "os.listdir", "os.scandir", "os.getxattr", "os.listxattr", "os.removexattr"}
WRAPPED = ("stat", "lstat", "fstat", "readlink", "access", "fstatvfs", "read", "write", "fsync", "close")
"""Calls that no audit hook hears of."""

RECOVERY_KILLS = 10
STOPS = 170
"""Stop points of one verb: every call that changes something or waits for the disk, and as many others as are missing,
evenly spaced. A long run stops at every call there is."""

LOOKING = {"open to read", "os.listdir", "os.scandir", "os.getxattr", "os.listxattr", "os.read", "os.close"}
LOOKING |= {"os.stat", "os.lstat", "os.fstat", "os.readlink", "os.access", "os.fstatvfs"}

PATHS = ("vllm/one.py", "vllm/two.py", "vllm/three.py")


class Picture(NamedTuple):
    """What a settled site is made of: its files, and its ledger but for the times in it."""

    files: dict[str, tuple[Any, ...]]
    ledger: object


class Tally(NamedTuple):
    """The figures of one verb, for the end of the run."""

    stops: Counter[str]
    ends: Counter[str]
    recoveries: Counter[str]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    do_not_wait_for_the_disk(monkeypatch)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Two entries over three files, one of them shared."""
    site = make_site(tmp_path, dict.fromkeys(PATHS, BASE))
    registry = make_registry(tmp_path / "registry")
    add_entry(registry, "a-first", make_diff({PATHS[0]: (BASE, LOW), PATHS[1]: (BASE, LOW)}))
    add_entry(registry, "b-second", make_diff({PATHS[0]: (BASE, HIGH), PATHS[2]: (BASE, HIGH)}))
    return Desk(site=site, registry=registry)


def watch(act: Callable[[int, str], None]) -> None:
    """Call ``act`` with number and name of every call to the file system, before it is made; for this process."""
    seen = 0

    def one(name: str) -> None:
        nonlocal seen
        seen += 1
        act(seen, name)

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            one("open to write" if isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR) else "open to read")
        elif event in ANNOUNCED:
            one(event)

    sys.addaudithook(hook)
    for name in WRAPPED:
        setattr(os, name, _wrapped(name, one))


def _wrapped(name: str, one: Callable[[str], None]) -> Callable[..., Any]:
    real = getattr(os, name)

    def wrapped(*arguments: Any, **keywords: Any) -> Any:
        one(f"os.{name}")
        return real(*arguments, **keywords)

    return wrapped


def die_at(number: int) -> Callable[[int, str], None]:
    def act(seen: int, _name: str) -> None:
        if seen == number:
            os.kill(os.getpid(), signal.SIGKILL)

    return act


def calls_of(action: Callable[[], object]) -> list[str]:
    """Return the names of all calls that ``action`` makes, in order; it is done, in a child."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            write, names = os.write, list[str]()
            watch(lambda _number, name: names.append(name))
            action()
            told = "\n".join(names).encode()
            while told:
                told = told[write(writing, told) :]
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        found = stream.read().decode().split("\n")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    return found


def killed_at(number: int, action: Callable[[], object]) -> bool:
    """Run ``action`` in a child that dies before call ``number``; False where it was done by then."""

    def attempt() -> None:
        watch(die_at(number))
        action()

    code = in_child(attempt)
    assert code in {0, -signal.SIGKILL}, code
    return code != 0


def fresh(begun: Path, site: Path) -> None:
    shutil.rmtree(site)
    shutil.copytree(begun, site, symlinks=True)


def look(desk: Desk) -> Picture:
    return Picture(files=tree(desk.site), ledger=ledger(desk))


def untimed(picture: Picture) -> Picture:
    """Without the modification times of what is patched: every apply gives a new one."""
    files = {path: (*facts[:3], None, facts[4]) if path in PATHS else facts for path, facts in picture.files.items()}
    return Picture(files=files, ledger=picture.ledger)


def stop_points(names: list[str]) -> list[int]:
    """Return the numbers of the calls, from the lock on, before which to kill."""
    held = range(names.index("fcntl.flock") + 1, len(names) + 1)
    changing = [number for number in held if names[number - 1] not in LOOKING]
    looking = [number for number in held if names[number - 1] in LOOKING]
    wanted = len(looking) if LONG else max(STOPS - len(changing), 20)
    spread = [looking[pick * len(looking) // wanted] for pick in range(wanted)]
    return sorted([*changing, *spread])


def kill_recovery(desk: Desk, killed: Path) -> int:
    """Kill ten recoveries one after the other, each further on; return how many had to begin from the first kill again.

    A recovery that finds most of it done has fewer calls and may end before its place; then the tree is made anew.
    """
    site = desk.site
    shutil.rmtree(killed, ignore_errors=True)
    shutil.copytree(site, killed, symlinks=True)
    total = len(calls_of(lambda: recover(str(site))))
    fresh(killed, site)
    again = 0
    for kill in range(RECOVERY_KILLS):
        place = 1 + kill * (total - 1) // (RECOVERY_KILLS - 1)
        if not killed_at(place, lambda: recover(str(site))):
            again += 1
            fresh(killed, site)
            assert killed_at(place, lambda: recover(str(site)))
    return again


@pytest.mark.parametrize("verb", [("apply",), ("revert", "--all")], ids=["apply", "revert"])
def test_c33_a_kill_before_any_call_leaves_all_old_or_all_new(
    desk: Desk, tmp_path: Path, verb: tuple[str, ...], request: pytest.FixtureRequest
) -> None:
    site, begun = desk.site, tmp_path / "begun"
    if verb != ("apply",):
        assert desk.run("apply").code == 0
    shutil.copytree(site, begun, symlinks=True)
    old = look(desk)
    assert desk.run(*verb).code == 0
    new = look(desk)
    assert new != old
    fresh(begun, site)
    names = calls_of(lambda: desk.run(*verb))
    tally = Tally(stops=Counter(), ends=Counter(), recoveries=Counter())
    for number in stop_points(names):
        fresh(begun, site)
        if not killed_at(number, lambda: desk.run(*verb)):
            continue  # the last call of all may be one that only the count made
        tally.stops[names[number - 1]] += 1
        tally.recoveries.update(killed=RECOVERY_KILLS, again=kill_recovery(desk, tmp_path / "killed"))
        assert in_child(lambda: recover(str(site))) == 0
        found = look(desk)
        is_old, is_new = found == old, untimed(found) == untimed(new)
        assert is_old or is_new, f"mixed after call {number}, {names[number - 1]}"
        assert litter(desk) == [], f"litter after call {number}, {names[number - 1]}"
        tally.ends["all old" if is_old else "all new"] += 1
    request.config.stash.setdefault(TABLES, []).extend(figures(verb[0], tally, len(names)))
    assert tally.stops.total() >= 150
    assert set(tally.ends) == {"all old", "all new"}


def figures(verb: str, tally: Tally, calls: int) -> list[str]:
    """Return what was done, as lines for the end of the run."""
    kinds = ", ".join(f"{name} {count}" for name, count in sorted(tally.stops.items()))
    ends = ", ".join(f"{count} {name}" for name, count in sorted(tally.ends.items()))
    kills = tally.recoveries
    return [
        f"C33 {verb}: SIGKILL at {tally.stops.total()} stop points of {calls} calls: {ends}, 0 mixed, 0 with litter",
        f"C33 {verb}: {kills['killed']} kills during recovery, {RECOVERY_KILLS} for each stop point",
        f"C33 {verb}: stopped before {kinds}",
    ]
