"""``verify`` of an installed vLLM 0.20.0 against ``sha256sum -c`` over its files: ``python -m tests.bench.verify``.

Both read the same files, warm, taking turns, so that whatever else the machine does hits both. Printed are the medians
and their ratio. Nothing is asserted: a time is not a fact about the code. The whole wheel (about 250 MB) is downloaded
for the run and dropped with the environment; where it cannot be had the slim one of the tests is measured, which says
less, because it has no large files. ``python -m tests.bench.verify WHEEL`` takes one that is there already.
"""

from __future__ import annotations

import base64
import csv
import io
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

ROUNDS = 9
VERSION = "0.20.0"


def whole_wheel(into: Path) -> Path:
    """Return the wheel with its binaries, or the slim one where it cannot be downloaded."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--no-cache-dir", "--dest", str(into), f"vllm=={VERSION}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        (found,) = into.glob("*.whl")
        return found
    print("the whole wheel cannot be had here: measuring the slim one", file=sys.stderr)
    return slim_wheel(VERSION)


def checksum_file(site: Path, out: Path) -> tuple[int, int]:
    """Write what ``sha256sum -c`` reads, for every hashed row whose file is there; return files and bytes."""
    (record,) = site.glob("vllm-*.dist-info/RECORD")
    lines, size = [], 0
    for path, digest, *_ in csv.reader(io.StringIO(record.read_bytes().decode(), newline="")):
        file = site / path
        if digest.startswith("sha256=") and file.is_file():
            value = base64.urlsafe_b64decode(digest.removeprefix("sha256=") + "=").hex()
            lines.append(f"{value}  {path}\n")
            size += file.stat().st_size
    out.write_text("".join(lines))
    return len(lines), size


def measure(command: Sequence[str], site: Path, environ: dict[str, str], *, may_fail: bool) -> tuple[float, int]:
    """Run once; return wall-clock seconds and peak resident memory in KiB."""
    started = time.perf_counter()
    with subprocess.Popen(command, cwd=site, env=environ, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0 and not (may_fail and process.returncode == 1):
        raise SystemExit(f"{command} ended with {process.returncode}")
    return time.perf_counter() - started, usage.ru_maxrss


def main() -> int:
    """Measure and print; return 1 where no wheel can be had."""
    with tempfile.TemporaryDirectory() as scratch:
        given = [Path(argument) for argument in sys.argv[1:]]
        try:
            wheel = given[0] if given else whole_wheel(Path(scratch))
        except WheelUnavailableError as error:
            print(f"no measurement: {error}", file=sys.stderr)
            return 1
        site = make_environment(Path(scratch) / "venv", wheel)
        slim = not (site / "vllm" / "_C.abi3.so").exists()
        files, size = checksum_file(site, Path(scratch) / "sums")
        print(f"{files} files, {size / 1e6:.0f} MB{' (slim)' if slim else ''}")
        environ = without_decisions(os.environ)
        ours = [sys.executable, "-m", "patchctl", "verify", "--json", "--site", str(site)]
        peer = ["sha256sum", "--check", "--quiet", str(Path(scratch) / "sums")]
        results: dict[str, list[tuple[float, int]]] = {"patchctl verify": [], "sha256sum -c": []}
        for _ in range(ROUNDS):
            for name, command in zip(results, (ours, peer), strict=True):
                results[name].append(measure(command, site, environ, may_fail=slim))
    medians = {}
    for name, runs in results.items():
        medians[name] = statistics.median(seconds for seconds, _ in runs)
        memory = max(memory for _, memory in runs) / 1024
        print(f"{name:<16} {medians[name] * 1000:7.0f} ms median of {ROUNDS}   peak {memory:5.1f} MiB")
    ratio, base = medians.values()
    print(f"ratio {ratio / base:.2f} (aim: 1.50 or less)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
