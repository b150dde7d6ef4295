"""Instructions that hostile inputs cost at growing sizes, under callgrind: ``python -m tests.bench.limits [WORD...]``.

Lines of Python are counted in ``tests/test_linear.py``; this also sees what libraries written in C do. Printed are the
instructions of each shape (those whose name holds every WORD; default all) at three sizes, without those of the start,
and the last growth: about 2 is linear, about 4 quadratic. A shape takes up to a minute.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from contextlib import suppress

from patchctl.errors import PatchctlError
from tests.hostile import SHAPES

SIZES = (20_000, 40_000, 80_000)
CHILD = "--child"


def run_shape(name: str, size: int, times: int) -> None:
    """Make the shape, and run it ``times`` times; the difference of 1 and 0 is its work."""
    action = SHAPES[name](size)
    for _ in range(times):
        with suppress(PatchctlError, ValueError):
            action()


def instructions(name: str, size: int, times: int) -> int:
    """How many instructions a process executes that makes the shape and runs it ``times`` times."""
    arguments = ["-m", "tests.bench.limits", CHILD, name, str(size), str(times)]
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable]
    done = subprocess.run([*valgrind, *arguments], capture_output=True, text=True, check=True)
    found = re.search(r"Collected : ([0-9]+)", done.stderr)
    if found is None:
        raise SystemExit(f"callgrind counted nothing: {done.stderr[-500:]}")
    return int(found[1])


def main(words: list[str]) -> None:
    """Print one line a shape."""
    if shutil.which("valgrind") is None:
        raise SystemExit("valgrind is not installed")
    print(f"{'shape':58}{''.join(f'{size:>13}' for size in SIZES)}  growth")
    for name in SHAPES:
        if all(word in name for word in words):
            counts = [instructions(name, size, 1) - instructions(name, size, 0) for size in SIZES]
            print(
                f"{name:58}{''.join(f'{count:>13}' for count in counts)}{counts[2] / max(1, counts[1]):>8.2f}",
                flush=True,
            )


if __name__ == "__main__":
    if sys.argv[1:2] == [CHILD]:
        run_shape(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        main(sys.argv[1:])
