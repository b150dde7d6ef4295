"""What a measured process of our own runs: ``python -m tests.bench.worker WHAT DIFF [TREE]``.

Nothing is imported here but what the work needs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path


def nothing(_diff: str, _tree: str) -> None:
    """Load what the engine needs, and stop: where memory starts from."""
    import patchctl.diff
    import patchctl.match  # noqa: F401


def check(diff: str, tree: str) -> None:
    """Parse, read every file, and judge both directions: what a verdict rests on."""
    from patchctl.diff import parse_diff
    from patchctl.match import Fit, judge_fit

    for file in parse_diff(Path(diff).read_bytes()):
        path = Path(tree) / file.path
        content = path.read_bytes() if path.exists() else None
        if judge_fit(file, content).fit is not Fit.APPLICABLE:
            raise SystemExit(file.path)


def apply(diff: str, tree: str) -> None:
    """Parse, place and splice, in memory."""
    from patchctl.diff import parse_diff
    from patchctl.match import locate, splice

    for file in parse_diff(Path(diff).read_bytes()):
        path = Path(tree) / file.path
        content = path.read_bytes() if path.exists() else None
        splice(file, content, locate(file, content))


def parse(diff: str, _tree: str) -> None:
    """Parse with patchctl."""
    from patchctl.diff import parse_diff

    parse_diff(Path(diff).read_bytes())


def parse_unidiff(diff: str, _tree: str) -> None:
    """Parse with unidiff, fed without loss."""
    from unidiff.patch import PatchSet

    PatchSet(Path(diff).read_bytes().decode("latin-1"))


def parse_whatthepatch(diff: str, _tree: str) -> None:
    """Parse with whatthepatch, which wants text."""
    whatthepatch = import_module("whatthepatch")
    list(whatthepatch.parse_patch(Path(diff).read_bytes().decode("latin-1")))


def parse_patch_ng(diff: str, _tree: str) -> None:
    """Parse with patch-ng."""
    patch_ng = import_module("patch_ng")
    patch_ng.fromstring(Path(diff).read_bytes())


def check_whatthepatch(diff: str, tree: str) -> None:
    """Parse with whatthepatch and apply in memory, its only way to check; it splits lines as text does."""
    whatthepatch = import_module("whatthepatch")
    for file in whatthepatch.parse_patch(Path(diff).read_bytes().decode("latin-1")):
        name = (file.header.old_path if file.header.old_path != "/dev/null" else file.header.new_path)[2:]
        path = Path(tree) / name
        if file.changes and path.exists() and file.header.new_path != "/dev/null":
            whatthepatch.apply_diff(file, path.read_bytes().decode("latin-1").split("\n"))


def check_patch_ng(diff: str, tree: str) -> None:
    """Parse with patch-ng and look whether the old side of every modified file is there."""
    patch_ng = import_module("patch_ng")
    found = patch_ng.fromstring(Path(diff).read_bytes())
    for file in found.items:
        path = Path(tree) / file.source.decode().removeprefix("a/")
        if path.exists():
            found._match_file_hunks(str(path), file.hunks)


WORK: dict[str, Callable[[str, str], None]] = {
    work.__name__: work
    for work in (
        nothing,
        check,
        apply,
        parse,
        parse_unidiff,
        parse_whatthepatch,
        parse_patch_ng,
        check_whatthepatch,
        check_patch_ng,
    )
}


if __name__ == "__main__":
    what, the_diff, *rest = sys.argv[1:]
    WORK[what](the_diff, rest[0] if rest else "")
