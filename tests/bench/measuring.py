"""Times and peak memory of rivals that take turns, so that whatever else the machine does hits all of them."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

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


def in_turn(
    acts: Mapping[str, Act], rounds: int, *, before: Act | None = None, warm: bool = True
) -> dict[str, list[float]]:
    """Seconds of every act, ``rounds`` times in turn.

    Args:
        acts: name -> what is measured.
        rounds: how often each.
        before: called, unmeasured, before each act.
        warm: a first round that is not measured warms byte code and disk cache.
    """
    seconds: dict[str, list[float]] = {name: [] for name in acts}
    for number in range(rounds + warm):
        for name, act in acts.items():
            if before is not None:
                before()
            started = time.perf_counter()
            act()
            if number >= warm:
                seconds[name].append(time.perf_counter() - started)
    return seconds


def print_times(title: str, seconds: Mapping[str, Sequence[float]], *, against: Sequence[str] = ()) -> None:
    """Print the median and the best of each, and the ratio of its best to the best of those ``against``."""
    heads = "".join(f"  / {name}" for name in against)
    print(f"\n{title}\n{'':<50}{'rounds':>7}{'median':>13}{'best':>13}{heads}", flush=True)
    for name, taken in seconds.items():
        times = f"{statistics.median(taken) * 1000:>10.1f} ms{min(taken) * 1000:>10.1f} ms"
        ratios = "".join(f"{min(taken) / min(seconds[other]):>{len(other) + 4}.2f}" for other in against)
        print(f"{name:<50}{len(taken):>7}{times}{ratios}", flush=True)


def print_peaks(title: str, peaks: Mapping[str, int], *, start: str, size: int) -> None:
    """Print peak memory, and what lies above that of ``start`` in multiples of ``size`` bytes."""
    print(f"\n{title} (of {size / MIB:.1f} MiB)")
    for name, peak in peaks.items():
        above = peak - peaks[start]
        print(f"{name:<44}{peak / MIB:>7.1f} MiB{above / size:>8.1f} times")


def available(module: str) -> bool:
    """Tell whether a rival of the bench extra is installed; say so when it is not."""
    from importlib.util import find_spec

    if find_spec(module) is not None:
        return True
    print(f"{module}: not installed, its rows are left out (pip install -e '.[bench]')")
    return False
