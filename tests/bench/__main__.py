"""Print the tables: all of them, or those whose letters are named: ``python -m tests.bench a c``."""

from __future__ import annotations

import platform
import sys
import tempfile
from pathlib import Path

from tests.bench.large import bench_large
from tests.bench.registry import bench_registry
from tests.bench.release import bench_apply, bench_check
from tests.bench.small import bench_small
from tests.bench.trees import FAR, LARGE, NEW, OLD, make_between
from tests.wheels import WheelUnavailableError

LETTERS = "abcd"


def main(letters: str) -> int:
    """Measure and print; return 1 where a wheel cannot be had."""
    print(f"CPython {platform.python_version()}, vllm {OLD} -> {NEW}")
    with tempfile.TemporaryDirectory(prefix="patchctl-bench-") as name:
        scratch = Path(name)
        try:
            if set(letters) & set("abc"):
                between = make_between(scratch, OLD, NEW)
                if "a" in letters:
                    bench_small(scratch, between, 9)
                if "b" in letters:
                    bench_check(scratch, between, 5)
                    bench_apply(scratch, between, 2)
                if "c" in letters:
                    bench_registry(scratch, between, 5)
            if "d" in letters:
                bench_large(scratch, make_between(scratch, FAR, NEW, most=LARGE), 2)
        except WheelUnavailableError as error:
            print(f"no measurement: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    wanted = "".join(sys.argv[1:]) or LETTERS
    if not set(wanted) <= set(LETTERS):
        raise SystemExit(f"tables are named {', '.join(LETTERS)}")
    sys.exit(main(wanted))
