"""(a) One small patch, whole processes, on an installed real vLLM."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

from tests.bench.measuring import in_turn, peak_of, print_peaks, print_times, python, run_child
from tests.bench.trees import Between
from tests.registries import add_entry, make_registry

EMPTY = """
import typer
app = typer.Typer()
@app.command()
def one() -> None: ...
@app.command()
def two() -> None: ...
app()
"""


def bench_small(scratch: Path, between: Between, rounds: int) -> None:
    """Check a diff of one file, as an operator or a start script does."""
    number = next(at for at, section in enumerate(between.sections) if 1 <= section.count(b"\n@@ ") <= 2)
    diff, path = between.sections[number], between.paths[number]
    file = scratch / "small.diff"
    file.write_bytes(diff)
    registry = make_registry(scratch / "small")
    add_entry(registry, "one", diff)
    site = scratch / "small-site"
    shutil.copytree(between.site, site)
    place = ["--site", str(site), "--registry", str(registry)]
    ours = {
        "patchctl check": (python("-m", "patchctl", "check", *place), (1,)),
        "patchctl status --json": (python("-m", "patchctl", "status", "--json", *place), (0,)),
        "patchctl status --json, bundled registry": (
            python("-m", "patchctl", "status", "--json", "--site", str(site)),
            (0,),
        ),
        "empty typer app": (python("-c", EMPTY, "one"), (0,)),
        "python -c pass": (python("-c", "pass"), (0,)),
        "git apply --check": (["git", "apply", "--check", str(file)], (0,)),
        "patch --dry-run": (["patch", "--dry-run", "-s", "-p1", "-i", str(file)], (0,)),
    }
    acts = {name: partial(run_child, line, where=site, codes=codes) for name, (line, codes) in ours.items()}
    seconds = in_turn(acts, rounds)
    title = f"(a) one small patch ({path}, {len(diff)} bytes), whole processes"
    print_times(title, seconds, against=("empty typer app", "git apply --check", "patch --dry-run"))
    peaks = {name: peak_of(line, where=site) for name, (line, _) in ours.items()}
    print_peaks("(a) peak memory", peaks)
    shutil.rmtree(site)
