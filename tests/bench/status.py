"""``status --json`` on an installed real vLLM 0.20.0 against an empty typer app: ``python -m tests.bench.status``.

Both run in the same interpreter, taking turns, so that whatever else the machine does hits both. Printed are the
medians, their ratio, and the peak memory of each. Nothing is asserted: a time is not a fact about the code.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.environments import make_environment, without_decisions
from tests.wheels import WheelUnavailableError, slim_wheel

ROUNDS = 25
EMPTY = """
import typer
app = typer.Typer()
@app.command()
def one() -> None: ...
@app.command()
def two() -> None: ...
app()
"""


def measure(command: Sequence[str], environ: dict[str, str]) -> tuple[float, int]:
    """Run once; return wall-clock seconds and peak resident memory in KiB."""
    started = time.perf_counter()
    with subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return time.perf_counter() - started, usage.ru_maxrss


def main() -> int:
    """Measure and print; return 1 where the wheel cannot be had."""
    with tempfile.TemporaryDirectory() as scratch:
        try:
            wheel = slim_wheel("0.20.0")
        except WheelUnavailableError as error:
            print(f"no measurement: {error}", file=sys.stderr)
            return 1
        site = make_environment(Path(scratch) / "venv", wheel)
        environ = without_decisions(os.environ)
        ours = [sys.executable, "-m", "patchctl", "status", "--json", "--site", str(site)]
        peer = [sys.executable, "-c", EMPTY, "one"]
        results: dict[str, list[tuple[float, int]]] = {"patchctl status --json": [], "empty typer app": []}
        for _ in range(ROUNDS):
            for name, command in zip(results, (ours, peer), strict=True):
                results[name].append(measure(command, environ))
    medians = {}
    for name, runs in results.items():
        medians[name] = statistics.median(seconds for seconds, _ in runs)
        memory = max(memory for _, memory in runs) / 1024
        print(f"{name:<24} {medians[name] * 1000:7.1f} ms median of {ROUNDS}   peak {memory:5.1f} MiB")
    ratio, base = medians.values()
    print(f"ratio {ratio / base:.2f} (aim: 1.50 or less)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
