"""``hits`` against ``grep -c`` on a generated log: ``python -m tests.bench.hits [SIZE]``, 1 GB unless given (``200M``).

Printed are times by the clock and of the processor, their ratios, the peak of memory on the log and on a quarter of it,
and whether the counts equal those that the log was made with, and those of an anchored ``grep``; for the plain log, and
for the same packed with gzip and zstd. A wrong count is an error, a time is none.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.bench.hits_log import LITERAL, PATTERN, Truth, make_log
from tests.bench.measuring import Act, Taken, in_turn, peak_of, print_peaks, print_times, python
from tests.environments import without_decisions
from tests.registries import add_entry, make_diff, make_registry

ROUNDS = 3
ANCHORED = r"^\(Worker_TP[01] pid=\d+\) WARNING \d\d-\d\d \d\d:\d\d:\d\d \[(?:utils|gpu_model_runner)\.py:\d+\] "
REQUEST = r'^\(APIServer pid=\d+\) INFO: +\S+ - "POST /v1/chat/completions HTTP/1\.1" \d'
REQUESTS = "grep -cP access lines"
UNITS = {"K": 10**3, "M": 10**6, "G": 10**9}


def size_of(text: str) -> int:
    """Read a size such as ``200M``."""
    return int(float(text[:-1]) * UNITS[text[-1].upper()]) if text[-1].upper() in UNITS else int(text)


def registry_for(where: Path) -> Path:
    """Make a registry with the one entry whose signal the log has."""
    registry = make_registry(where)
    lines = b"a\nb\nc\n", b"a\nB\nc\n"
    files = ("vllm/model_executor/models/utils.py", "vllm/v1/worker/gpu_model_runner.py")
    add_entry(registry, "mm-placeholder", make_diff(dict.fromkeys(files, lines)), signal={"log": PATTERN})
    return registry


def hits_command(log: Path, registry: Path, *options: str) -> list[str]:
    """The command line whose work is measured."""
    return python("-m", "patchctl", "hits", "--all", "--registry", str(registry), "--json", *options, str(log))


def check(command: Sequence[str], truth: Truth, log: Path) -> None:
    """Hold the counts against the truth and against grep."""
    done = subprocess.run(command, capture_output=True, env=without_decisions(os.environ), check=True)
    (found,) = json.loads(done.stdout)["hits"]["entries"]
    assert {row["kind"]: row["lines"] for row in found["kinds"]} == dict(truth.kinds)
    assert {row["hour"][5:13].replace("T", " "): row["lines"] for row in found["hours"]} == dict(truth.hours)
    assert json.loads(done.stdout)["hits"]["requests"]["total"] == truth.requests
    if log.suffix == ".log":
        assert found["lines"] == grep(log, ANCHORED + PATTERN)
        assert truth.requests == grep(log, REQUEST)


def grep(log: Path, pattern: str) -> int:
    """Count with grep."""
    return int(subprocess.run(["grep", "-cP", pattern, str(log)], capture_output=True, check=True).stdout)


def silently(command: Sequence[str]) -> None:
    """Run once; the output is taken, since grep stops at the first hit when nobody reads it."""
    subprocess.run(command, stdout=subprocess.PIPE, env=without_decisions(os.environ), check=True)


def ratio(taken: dict[str, list[Taken]], name: str, against: str) -> str:
    """Best against best, by the clock and by the processor."""
    walls = [min(one.wall for one in taken[it]) for it in (name, against)]
    cpus = [min(one.cpu for one in taken[it]) for it in (name, against)]
    return f"{walls[0] / walls[1]:.2f} by the clock, {cpus[0] / cpus[1]:.2f} of the processor"


def main() -> int:
    """Measure and print."""
    size = size_of(sys.argv[1]) if len(sys.argv) > 1 else 10**9
    with tempfile.TemporaryDirectory() as scratch:
        where = Path(scratch)
        registry = registry_for(where / "registry")
        log, small = where / "vllm.log", where / "small.log"
        truth = make_log(log, size)
        make_log(small, size // 4)
        signal, requests = ["grep", "-cP", PATTERN, str(log)], ["grep", "-cP", REQUEST, str(log)]
        commands = {
            "grep -cP signal": signal,
            REQUESTS: requests,
            "hits --requests N (the signal alone)": hits_command(log, registry, "--requests", "1000"),
            "hits (signal and requests)": hits_command(log, registry),
        }
        print(
            f"{truth.size / 1e6:.0f} MB, {sum(truth.kinds.values())} hits, {truth.forged} forged, "
            f"{truth.requests} requests, {grep(log, LITERAL.decode())} lines with the text"
        )
        check(commands["hits (signal and requests)"], truth, log)
        taken = in_turn({name: _act(command) for name, command in commands.items()}, ROUNDS)
        print_times("plain log", taken)
        print(
            f"the signal alone: {ratio(taken, 'hits --requests N (the signal alone)', 'grep -cP signal')} of grep"
            " (aim: 3.00 or less)"
        )
        both = [
            Taken(*map(sum, zip(*pair, strict=True)))
            for pair in zip(taken["grep -cP signal"], taken[REQUESTS], strict=True)
        ]
        taken["both greps"] = both
        print(
            f"signal and requests: {ratio(taken, 'hits (signal and requests)', 'both greps')} of both greps,"
            f" {ratio(taken, 'hits (signal and requests)', 'grep -cP signal')} of the first"
        )
        peaks = {
            "the whole log": peak_of(hits_command(log, registry)),
            "a quarter": peak_of(hits_command(small, registry)),
        }
        for tool, suffix in (("gzip", "gz"), ("zstd", "zst"), ("xz", "xz")):
            packed = where / f"packed.log.{suffix}"
            packed.write_bytes(subprocess.run([tool, "-1", "-c", str(log)], capture_output=True, check=True).stdout)
            packed_log = hits_command(packed, registry)
            check(packed_log, truth, packed)
            peaks[f"packed with {tool}"] = peak_of(packed_log)
        print_peaks("peak memory", peaks)
        print("all counts equal those of the generator and of the anchored grep")
    return 0


def _act(command: Sequence[str]) -> Act:
    return lambda: silently(command)


if __name__ == "__main__":
    sys.exit(main())
