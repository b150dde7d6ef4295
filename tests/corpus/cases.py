"""Cases: every change between two neighbouring releases, whole files and single hunks."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from patchctl.diff import ChangeKind, FileDiff, Hunk, parse_diff
from patchctl.errors import DiffError
from tests.corpus.tools import git_diff
from tests.diffs import split
from tests.wheels import RELEASES, slim_wheel

Tree = Mapping[str, bytes]

STEPS = (1, 2, 4, 8)
"""How many releases older the drifted bases are."""


class Case(NamedTuple):
    """One diff, and what it makes of the release it was made from.

    Attributes:
        file: the diff as the engine reads it.
        body: its ``@@`` lines and what is below them.
        alone: whether it is one hunk of several.
        shift: lines that the hunks left out above it add; its header still has them in.
        old: the file it was made from; None when it is added.
        new: the same with the diff in; None when it is deleted.
    """

    file: FileDiff
    body: bytes
    alone: bool
    shift: int
    old: bytes | None
    new: bytes | None


def tree(version: str) -> Tree:
    """The modules of a release: path -> bytes."""
    with zipfile.ZipFile(slim_wheel(version)) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name.endswith(".py")}


def older(version: str) -> Iterator[tuple[int, str]]:
    """The releases that are so and so many steps older than ``version``, where there are any."""
    at = RELEASES.index(version)
    return ((step, RELEASES[at - step]) for step in STEPS if at >= step)


MODE_LINES = {ChangeKind.ADD: "new file mode 100644\n", ChangeKind.DELETE: "deleted file mode 100644\n"}
# patch deletes an empty file only if this line says that it is gone afterwards
EMPTY = {ChangeKind.ADD: "index 0000000..e69de29\n", ChangeKind.DELETE: "index e69de29..0000000\n"}


def section(case: Case, name: str) -> bytes:
    """The case's diff for a file called ``name``, with a git header, because an empty file has no other."""
    kind = case.file.kind
    head = f"diff --git a/{name} b/{name}\n{MODE_LINES.get(kind, '')}"
    if not case.body:
        return f"{head}{EMPTY[kind]}".encode()
    old = "/dev/null" if kind is ChangeKind.ADD else f"a/{name}"
    new = "/dev/null" if kind is ChangeKind.DELETE else f"b/{name}"
    return f"{head}--- {old}\n+++ {new}\n".encode() + case.body


def cases_between(old: Tree, new: Tree, folder: Path) -> list[Case]:
    """Every file that changed, and every hunk of the files that have several.

    The diff is git's own. It is cut into files and hunks by the engine's reading, and every case is read again from
    its own bytes, without the ids of an index line: nothing but the text can decide.
    """
    cases = []
    for file in _files(git_diff(old, new, folder)):
        before, after = old.get(file.path), new.get(file.path)
        cases.append(_case(file, file.hunks, before, after, alone=False))
        if len(file.hunks) > 1:
            cases += [_lone(file, hunk, before) for hunk in file.hunks]
    return cases


def _files(diff: bytes) -> Iterator[FileDiff]:
    """The sections, one by one; an empty file that is filled, or a file that is emptied, has no context to go by."""
    # no line of a hunk begins like this
    for text in re.split(rb"^(?=diff --git )", diff, flags=re.MULTILINE)[1:]:
        try:
            yield from parse_diff(text)
        except DiffError as error:
            if error.problem.code != "no-context":
                raise


def _lone(file: FileDiff, hunk: Hunk, before: bytes | None) -> Case:
    rows = split(before or b"")
    at = hunk.old_start - 1
    assert tuple(rows[at : at + len(hunk.old_lines)]) == hunk.old_lines
    rows[at : at + len(hunk.old_lines)] = hunk.new_lines
    return _case(file, (hunk,), before, b"".join(rows), alone=True)


def _case(file: FileDiff, hunks: tuple[Hunk, ...], old: bytes | None, new: bytes | None, *, alone: bool) -> Case:
    shift = hunks[0].new_start - hunks[0].old_start if alone else 0
    body = b"".join(header(hunk) + b"".join(hunk.body) for hunk in hunks)
    case = Case(file=file, body=body, alone=alone, shift=shift, old=old, new=new)
    (read,) = parse_diff(section(case, file.path))
    return case._replace(file=read)


def header(hunk: Hunk) -> bytes:
    """The ``@@`` line of a hunk."""
    counts = hunk.old_start, len(hunk.old_lines), hunk.new_start, len(hunk.new_lines)
    return b"@@ -%d,%d +%d,%d @@\n" % counts
