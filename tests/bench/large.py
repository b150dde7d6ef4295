"""(d) Parsing a large diff, in one process."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.bench.measuring import available, in_turn, peak_of, print_peaks, print_times, python
from tests.bench.trees import Between, describe
from tests.bench.worker import WORK


def bench_large(scratch: Path, between: Between, rounds: int) -> None:
    """Parse with ourselves and with every library that is there."""
    file = scratch / "large.diff"
    file.write_bytes(between.diff)
    parsers = {"patchctl": "parse", "unidiff": "parse_unidiff"}
    parsers |= {"whatthepatch": "parse_whatthepatch"} if available("whatthepatch") else {}
    parsers |= {"patch-ng": "parse_patch_ng"} if available("patch_ng") else {}
    acts = {name: partial(WORK[what], str(file), "") for name, what in parsers.items()}
    print_times(f"(d) parse of a large diff ({describe(between)})", in_turn(acts, rounds), against=("unidiff",))
    command = python("-m", "tests.bench.worker")
    peaks = {what: peak_of([*command, what, str(file)]) for what in ("nothing", *parsers.values())}
    print_peaks("(d) peak memory against the diff", peaks, start="nothing", size=len(between.diff))
