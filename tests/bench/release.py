"""(b) A whole-release diff: checked, and applied with everything that makes it last."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.bench.measuring import available, in_turn, peak_of, print_peaks, print_times, python, run_child
from tests.bench.trees import Between, describe
from tests.bench.worker import WORK
from tests.registries import add_entry, make_registry


def bench_check(scratch: Path, between: Between, rounds: int) -> None:
    """Check as whole processes, then in one process."""
    file, site = scratch / "release.diff", str(between.site)
    file.write_bytes(between.diff)
    _prove_that_the_rivals_look(file, scratch, between)
    registry = make_registry(scratch / "release")
    add_entry(registry, "release", between.diff)
    place = ["--site", site, "--registry", str(registry)]
    worker = ("-m", "tests.bench.worker")
    acts: dict[str, Callable[[], object]] = {
        "engine: parse, read, judge": lambda: run_child(python(*worker, "check", str(file), site)),
        "patchctl check": lambda: run_child(python("-m", "patchctl", "check", *place), codes=(1,)),
        "git apply --check": lambda: run_child(["git", "apply", "--check", str(file)], where=between.site),
        "patch --dry-run": lambda: run_child(["patch", "--dry-run", "-sp1", "-i", str(file)], where=between.site),
    }
    title = f"(b) check of a whole-release diff ({describe(between)}), whole processes"
    print_times(title, in_turn(acts, rounds), against=("git apply --check", "patch --dry-run"))
    inside = {"patchctl: parse, read, judge": "check", "patchctl: parse, read, splice": "apply"}
    inside |= {"whatthepatch: parse, read, apply": "check_whatthepatch"} if available("whatthepatch") else {}
    inside |= {"patch-ng: parse, read, match": "check_patch_ng"} if available("patch_ng") else {}
    acts = {name: partial(WORK[what], str(file), site) for name, what in inside.items()}
    print_times("(b) the same in one process", in_turn(acts, max(3, rounds // 3)), against=(next(iter(acts)),))
    touched = sum((between.site / path).stat().st_size for path in between.paths if (between.site / path).exists())
    peaks = {what: peak_of(python(*worker, what, str(file), site)) for what in ("nothing", *inside.values())}
    print_peaks(
        "(b) peak memory against diff and touched files", peaks, start="nothing", size=touched + len(between.diff)
    )


def _prove_that_the_rivals_look(file: Path, scratch: Path, between: Between) -> None:
    """``git apply`` below a repository passes over every file and exits 0: then its time would mean nothing."""
    wrong = scratch / "wrong"
    shutil.copytree(between.site, wrong)
    first = next(path for path in between.paths if (wrong / path).exists())
    (wrong / first).write_bytes(b"something else\n")
    for command in (["git", "apply", "--check", str(file)], ["patch", "--dry-run", "-sp1", "-i", str(file)]):
        run_child(command, where=wrong, codes=(1,))
    shutil.rmtree(wrong)


def bench_apply(scratch: Path, between: Between, rounds: int) -> None:
    """Apply one registry entry through the command line; the rivals patch a copy and call fsync themselves."""
    registry = make_registry(scratch / "release")
    add_entry(registry, "release", between.diff)
    site = scratch / "apply-site"
    sections = scratch / "sections"
    sections.mkdir(exist_ok=True)
    for number, section in enumerate(between.sections):
        (sections / str(number)).write_bytes(section)
    (scratch / "release.diff").write_bytes(between.diff)

    def fresh() -> None:
        shutil.rmtree(site, ignore_errors=True)
        shutil.copytree(between.site, site)
        os.sync()  # what the copy left to be written must not be paid by whoever calls fsync first

    def loop() -> None:
        for number, path in enumerate(between.paths):
            _patch(site, sections / str(number))
            _sync_file(site / path)
            _sync(site / path.rpartition("/")[0])

    def whole() -> None:
        _patch(site, scratch / "release.diff")
        for path in between.paths:
            _sync_file(site / path)
        for directory in dict.fromkeys(path.rpartition("/")[0] for path in between.paths):
            _sync(site / directory)

    command = ["apply", "release", "--site", str(site), "--registry", str(registry)]
    acts: dict[str, Callable[[], object]] = {
        "patchctl apply": lambda: run_child(python("-m", "patchctl", *command)),
        "patch loop, fsync of file and directory": loop,
        "one patch, then fsync of each file and directory": whole,
    }
    title = f"(b) apply of a whole-release diff ({describe(between)}), with every fsync"
    print_times(title, in_turn(acts, rounds, before=fresh, warm=False), against=list(acts)[1:])
    shutil.rmtree(site)


def _patch(site: Path, diff: Path) -> None:
    subprocess.run(["patch", "-sp1", "-i", str(diff)], cwd=site, check=True)


def _sync_file(path: Path) -> None:
    if path.exists():
        _sync(path)


def _sync(path: Path) -> None:
    """A directory that ``patch`` removed because it was empty is nobody's to sync."""
    if not path.exists():
        return
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)
