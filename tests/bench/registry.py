"""(c) A registry of 1,000 entries of which 10 concern the build, against those 10 alone."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.bench.measuring import in_turn, peak_of, print_peaks, print_times, python, run_child
from tests.bench.trees import NEW, OLD, Between, path_of
from tests.registries import add_entry, make_registry

CONCERNED, OTHERS = 10, 990
_PROSE = "The rows of a request are counted in two places that can disagree; then the server raises and ends. " * 6


def bench_registry(scratch: Path, between: Between, rounds: int) -> None:
    """Of the entries that do not concern the build, half are for other builds of it and half for what is not there."""
    few, many = make_registry(scratch / "few"), make_registry(scratch / "many")
    fitting = [section for section in between.sections if _is_plain(section)]
    for registry in (few, many):
        _add(registry, "concerned", fitting[:CONCERNED], distribution="vllm", versions=f"=={OLD}")
    half = OTHERS // 2
    strange = [_aged(section) for section in fitting]
    _add(many, "other-build", _cycle(strange, half), distribution="vllm", versions=f"<{FIRST}")
    _add(many, "elsewhere", _cycle(strange, OTHERS - half), distribution="acme", versions=f">={NEW}")
    site = scratch / "registry-site"
    shutil.copytree(between.site, site)
    command = python("-m", "patchctl", "status", "--json", "--site", str(site), "--registry")
    cache = scratch / "cache"
    cache.mkdir(mode=0o700)
    alone, first, again = (
        f"status, {CONCERNED}",
        f"status, {CONCERNED + OTHERS}, first",
        f"status, {CONCERNED + OTHERS}",
    )
    commands = {
        again: (cache, [*command, str(many)]),
        first: (scratch / "nowhere", [*command, str(many)]),
        alone: (cache, [*command, str(few)]),
    }
    time.sleep(2.5)  # what was written a moment ago is not relied on
    acts = {
        name: lambda where=where, line=line: run_child(line, cache=where) for name, (where, line) in commands.items()
    }
    seconds = in_turn({name: acts[name] for name in (again, alone)}, rounds)
    seconds |= in_turn({first: acts[first]}, 1, warm=False)
    print_times("(c) status of a large registry, whole processes", seconds, against=(alone,))
    size = sum(path.stat().st_size for path in many.rglob("*") if path.is_file())
    peaks = {name: peak_of(line, cache=where) for name, (where, line) in commands.items()}
    print_peaks("(c) peak memory against the large registry", peaks, start=alone, size=size)
    shutil.rmtree(site)


FIRST = "0.10"
"""The other builds are older than this."""


def _is_plain(section: bytes) -> bool:
    """A change of a file that is there, in a few hunks which begin with context."""
    hunks = section.split(b"\n@@ ")[1:]
    if not 1 <= len(hunks) <= 8 or b"\nnew file" in section:
        return False
    return all(hunk.split(b"\n", 2)[1].startswith(b" ") for hunk in hunks)


def _aged(section: bytes) -> bytes:
    """The same diff as it would be for a build whose code is another: one context line of each hunk differs."""
    lines = section.split(b"\n")
    for at, line in enumerate(lines):
        if line.startswith(b"@@ ") and at + 1 < len(lines) and lines[at + 1].startswith(b" "):
            lines[at + 1] = b" # of an older release"
    return b"\n".join(lines)


def _cycle(diffs: Sequence[bytes], count: int) -> list[bytes]:
    return [diffs[number % len(diffs)] for number in range(count)]


def _add(registry: Path, stem: str, diffs: Sequence[bytes], *, distribution: str, versions: str) -> None:
    for number, diff in enumerate(diffs):
        path = path_of(diff)
        fixes: list[dict[str, Any]] = [
            {
                "ref": f"acme/server#{number}",
                "role": "fixes",
                "claimed": ">=99",
                "note": "what the change really does",
                "evidence": [
                    {"file": path, "contains": f"never_written_{number}(request)"},
                    {"file": path, "contains": f"never_written_{number}(rows, places)"},
                ],
            }
        ]
        add_entry(
            registry,
            f"{stem}-{number}",
            diff,
            distribution=distribution,
            variant={"versions": versions, "label": "any"},
            fixes=fixes,
            title=f"{stem}, number {number}",
            avoid=[{"args": ["--cache-rows", "0"], "when": "more than one request at a time", "cost": "no cache"}],
            signal={"log": "cache mismatch: (?P<rows>\\d+) rows for (?P<places>\\d+) places"},
            why=_PROSE,
            how=_PROSE,
            removal="When it is proven.",
        )
