"""What the benchmark works on: released vLLM trees, and the diffs that git makes between them."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path
from typing import NamedTuple

from patchctl.diff import parse_diff
from patchctl.errors import DiffError
from tests.bench.measuring import environ
from tests.wheels import slim_wheel

OLD, NEW, FAR = "0.24.0", "0.25.0", "0.22.0"
"""NEW against OLD is a whole-release diff; against FAR it is a large one."""

LARGE = 10_500_000
"""Bytes of the large diff."""


class Between(NamedTuple):
    """Two trees and the diff between them.

    Attributes:
        site: the old release, installed: its files and its dist-info.
        sections: the diff, one section a file.
    """

    site: Path
    sections: tuple[bytes, ...]

    @property
    def diff(self) -> bytes:
        """The whole diff."""
        return b"".join(self.sections)

    @property
    def paths(self) -> tuple[str, ...]:
        """The path that each section names, relative to the site."""
        return tuple(path_of(section) for section in self.sections)


def make_between(scratch: Path, old: str, new: str, *, most: int | None = None) -> Between:
    """Extract two releases and let git make the diff, renames as deletion and addition, dist-info left out.

    Sections that patchctl refuses are left out.

    Args:
        scratch: where; must be outside any git repository, below which ``git apply`` passes over files in silence.
        old: release.
        new: release.
        most: bytes of the diff at most; whole sections are kept.
    """
    site = _extract(scratch, old)
    for name, tree in (("a", site), ("b", _extract(scratch, new))):
        (scratch / name).unlink(missing_ok=True)
        (scratch / name).symlink_to(tree)
    command = [
        "git",
        "diff",
        "--no-index",
        "--no-renames",
        "--no-color",
        "--no-ext-diff",
        "--src-prefix=",
        "--dst-prefix=",
    ]
    out = subprocess.run([*command, "a/vllm", "b/vllm"], cwd=scratch, env=environ(), capture_output=True, check=False)
    if out.returncode != 1:
        raise SystemExit(f"git diff: {out.stderr.decode()}")
    first, *others = out.stdout.split(b"\ndiff --git ")
    sections = [first + b"\n", *(b"diff --git " + other + b"\n" for other in others)]
    sections[-1] = sections[-1][:-1]
    sections = [section for section in sections if _is_accepted(section)]
    if most is not None:
        while sum(map(len, sections)) > most:
            sections.pop()
    return Between(site=site, sections=tuple(sections))


def path_of(section: bytes) -> str:
    """Return the path that a section names, relative to the site; git names the side that is there twice."""
    return section.split(b"\n", 1)[0].rsplit(b" ", 1)[1].partition(b"/")[2].decode()


def describe(between: Between) -> str:
    """Say how large the diff is."""
    diff = between.diff
    hunks = diff.count(b"\n@@ ")
    return f"{len(diff) / 1e6:.1f} MB, {len(between.sections)} files, {hunks} hunks"


def _is_accepted(section: bytes) -> bool:
    """A file of one line that changes has no context; patchctl refuses that, and nothing is measured on a refusal."""
    try:
        parse_diff(section)
    except DiffError:
        return False
    return True


def _extract(scratch: Path, version: str) -> Path:
    tree = scratch / version
    if not tree.exists():
        with zipfile.ZipFile(slim_wheel(version)) as archive:
            archive.extractall(tree)
    return tree
