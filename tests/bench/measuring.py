"""Times and peak memory of rivals that take turns, so that whatever else the machine does hits all of them."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.environments import without_decisions

Act = Callable[[], object]
MIB = 1 << 20


PEAK = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
"""
"""A small parent: a child starts with the peak of whoever forked it."""


def environ(cache: Path | None = None) -> dict[str, str]:
    """The environment of every measured process: byte code is kept, and no setting of the caller's decides."""
    found = without_decisions(os.environ)
    return found if cache is None else found | {"XDG_CACHE_HOME": str(cache)}


def run_child(
    command: Sequence[str], *, where: Path | None = None, codes: Sequence[int] = (0,), cache: Path | None = None
) -> None:
    """Run once, output dropped; a process that does not do its work would be no measure, so its code is checked."""
    done = subprocess.run(
        command, env=environ(cache), cwd=where, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )
    if done.returncode not in codes:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}")


def peak_of(command: Sequence[str], *, where: Path | None = None, cache: Path | None = None) -> int:
    """Run once more and return the peak of resident memory in bytes."""
    line = [sys.executable, "-c", PEAK, *command]
    return int(subprocess.run(line, env=environ(cache), cwd=where, capture_output=True, check=True).stdout)


def python(*arguments: str) -> list[str]:
    """The command line of this interpreter."""
    return [sys.executable, *arguments]


class Taken(NamedTuple):
    """What one act took: seconds by the clock, and seconds of processor time, its children's included."""

    wall: float
    cpu: float


def in_turn(
    acts: Mapping[str, Act], rounds: int, *, before: Act | None = None, warm: bool = True
) -> dict[str, list[Taken]]:
    """Measure every act, ``rounds`` times in turn.

    Args:
        acts: name -> what is measured.
        rounds: how often each.
        before: called, unmeasured, before each act.
        warm: a first round that is not measured warms byte code and disk cache.
    """
    taken: dict[str, list[Taken]] = {name: [] for name in acts}
    for number in range(rounds + warm):
        for name, act in acts.items():
            if before is not None:
                before()
            started, spent = time.perf_counter(), _cpu()
            act()
            if number >= warm:
                taken[name].append(Taken(wall=time.perf_counter() - started, cpu=_cpu() - spent))
    return taken


def _cpu() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def print_times(title: str, taken: Mapping[str, Sequence[Taken]], *, against: Sequence[str] = ()) -> None:
    """Print median and best by the clock, the least processor time, and the ratios of the last two to ``against``.

    On a busy machine the processor time is the better measure of whatever does not wait for the disk.
    """
    heads = "".join(f"  / {name} (cpu)" for name in against)
    print(f"\n{title}\n{'':<50}{'rounds':>7}{'median':>13}{'best':>13}{'cpu':>13}{heads}", flush=True)
    least = {name: (min(one.wall for one in all_), min(one.cpu for one in all_)) for name, all_ in taken.items()}
    for name, all_ in taken.items():
        wall, cpu = least[name]
        times = "".join(
            f"{seconds * 1000:>10.1f} ms" for seconds in (statistics.median(one.wall for one in all_), wall, cpu)
        )
        ratios = "".join(
            f"{f'{wall / least[other][0]:.2f} ({cpu / least[other][1]:.2f})':>{len(other) + 10}}" for other in against
        )
        print(f"{name:<50}{len(all_):>7}{times}{ratios}", flush=True)


def print_peaks(title: str, peaks: Mapping[str, int], *, start: str = "", size: int = 0) -> None:
    """Print peak memory; with a size, what lies above that of ``start`` in multiples of ``size`` bytes."""
    print(f"\n{title}{f' (of {size / MIB:.1f} MiB)' if size else ''}")
    for name, peak in peaks.items():
        times = f"{(peak - peaks[start]) / size:>8.1f} times" if size else ""
        print(f"{name:<50}{peak / MIB:>7.1f} MiB{times}")


def available(module: str) -> bool:
    """Tell whether a rival of the bench extra is installed; say so when it is not."""
    from importlib.util import find_spec

    if find_spec(module) is not None:
        return True
    print(f"{module}: not installed, its rows are left out (pip install -e '.[bench]')")
    return False
