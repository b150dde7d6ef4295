"""Judging a whole wheel against ``unzip -p`` of the members it needs: ``python -m tests.bench.wheel``.

Both run in processes of their own, warm, taking turns. Bytes are what the kernel counts as read by the process
(``rchar`` in ``/proc/PID/io``); for patchctl an answer about an empty wheel is taken off, which reads the program, the
registry and the environment alone. Nothing is asserted: a time is not a fact about the code. The whole 0.20.0 wheel
(about 250 MB) is downloaded for the run and dropped; ``python -m tests.bench.wheel WHEEL`` takes one that is there
already.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from patchctl.commands.judging import judge
from patchctl.commands.place import Place
from patchctl.commands.scene import open_registry
from patchctl.model import Claim, Distribution, LedgerState, Snapshot
from patchctl.target import opened_candidate
from patchctl.target.tree import Tree
from tests.bench.measuring import environ, python
from tests.bench.verify import whole_wheel
from tests.sites import make_site
from tests.small_wheels import make_wheel
from tests.wheels import WheelUnavailableError

ROUNDS = 9
METADATA = ("METADATA", "RECORD", "WHEEL")


class Recorder:
    """A tree that remembers which files it was asked for."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.target = tree.target
        self.asked: set[str] = set()

    def read(self, paths: Iterable[str]) -> Snapshot:
        wanted = tuple(paths)
        self.asked |= set(wanted)
        return self.tree.read(wanted)

    def search(
        self,
        distribution: Distribution,
        words: Collection[str],
        names: Collection[str],
        *,
        directories: Collection[str] | None = None,
    ) -> Mapping[str, tuple[str, ...]]:
        if words:
            sources = {path for path in distribution.record or () if path.endswith(".py")}
            self.asked |= {path for path in sources if directories is None or path.rpartition("/")[0] in directories}
        return self.tree.search(distribution, words, names, directories=directories)

    def tops(self, distribution: Distribution) -> tuple[str, ...]:
        return self.tree.tops(distribution)

    def claims(self, paths: Collection[str]) -> Mapping[str, tuple[Claim, ...]]:
        return self.tree.claims(paths)


class Run(NamedTuple):
    """One run of a process: seconds by the clock, bytes read."""

    seconds: float
    read: int


def needed(wheel: Path) -> list[str]:
    """Return the members that judging every bundled entry reads."""
    registry = open_registry(Place())
    with opened_candidate(str(wheel), names=registry.distributions, environ={}) as candidate:
        recorder = Recorder(candidate.tree)
        judge(registry, recorder, LedgerState(), stores=())
        (distribution,) = candidate.tree.target.distributions.values()
        asked = {*recorder.asked, *(f"{distribution.info}/{name}" for name in METADATA)}
    with zipfile.ZipFile(wheel) as archive:
        members = set(archive.namelist())
    return sorted((asked | {path for path in members if re.fullmatch(r"\w+/_version\.py", path)}) & members)


def measure(command: Sequence[str]) -> Run:
    """Run once and return what it took; the counters are read before the process is reaped."""
    started = time.perf_counter()
    with subprocess.Popen(command, env=environ(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        seconds = time.perf_counter() - started
        counters = Path(f"/proc/{process.pid}/io").read_text()
        _, said = process.communicate()
    if process.returncode not in {0, 1}:
        raise SystemExit(f"{command[:4]} ended with {process.returncode}: {said.decode()}")
    return Run(seconds=seconds, read=int(counters.partition("rchar: ")[2].partition("\n")[0]))


def sizes(wheel: Path, members: Collection[str]) -> str:
    """Say how large the archive, its directory and those members are."""
    with zipfile.ZipFile(wheel) as archive:
        packed = sum(archive.getinfo(name).compress_size for name in members)
        directory = wheel.stat().st_size - archive.start_dir  # where it begins
        return (
            f"{wheel.stat().st_size / 1e6:.1f} MB, {len(archive.namelist())} members: central directory "
            f"{directory / 1e6:.2f} MB, the {len(members)} members needed {packed / 1e6:.2f} MB as they are packed"
        )


def main() -> int:
    """Measure and print; return 1 where no wheel can be had."""
    with tempfile.TemporaryDirectory() as scratch:
        where = Path(scratch)
        try:
            wheel = Path(sys.argv[1]) if sys.argv[1:] else whole_wheel(where)
        except WheelUnavailableError as error:
            print(f"no measurement: {error}", file=sys.stderr)
            return 1
        size, members = wheel.stat().st_size, needed(wheel)
        print(sizes(wheel, members))
        site = make_site(where, {"vllm/__init__.py": b""}, build="0.20.0")
        empty = make_wheel(where, [("vllm/__init__.py", b"")], build="0.20.0")
        ours = [*python("-m", "patchctl", "preflight", "--json", "--site", str(site))]
        acts = {
            "patchctl preflight WHEEL": [*ours, str(wheel)],
            "patchctl preflight, of an empty wheel": [*ours, str(empty)],
            "unzip -p WHEEL MEMBER...": ["unzip", "-p", str(wheel), *members],
        }
        runs: dict[str, list[Run]] = {name: [] for name in acts}
        for number in range(ROUNDS + 1):
            for name, command in acts.items():
                run = measure(command)
                if number:  # the first round warms byte code and disk cache
                    runs[name].append(run)
    for name, all_ in runs.items():
        seconds = statistics.median(run.seconds for run in all_)
        print(f"{name:<40}{seconds * 1000:8.1f} ms median of {ROUNDS}   {all_[0].read / 1e6:8.2f} MB read")
    whole, none, unzip = (min(all_, key=lambda run: run.seconds) for all_ in runs.values())
    more = whole.read - none.read
    print(
        f"for the wheel alone: {(whole.seconds - none.seconds) * 1000:.1f} ms and {more / 1e6:.2f} MB read, unzip "
        f"{unzip.seconds * 1000:.1f} ms and {unzip.read / 1e6:.2f} MB (best rounds); of the wheel's bytes "
        f"{100 * more / size:.2f} %"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
