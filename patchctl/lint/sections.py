"""The sections of a diff that the gate let through: is their place certain, and are they about the distribution?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from patchctl.diff import ChangeKind, FileDiff, Hunk
from patchctl.lint.values import Finding, ParsedDiff, error, in_diff, warning
from patchctl.model.modules import exclude_each_other

WHOLE_CONTEXT = 3
"""Context lines on either side of a change, as every tool gives them unless told otherwise."""

TELLING = 32
"""Characters besides white space that the old side of a hunk should have, for it to stand at one place alone. Measured
by eye: one line such as ``rows = encoder_output[start:end]`` is enough, a line with a closing bracket is not."""

OUTSIDE = frozenset(
    {"benchmarks", "build", "dist", "doc", "docs", "example", "examples", "scripts", "src", "test", "tests", "tools"}
)
"""Directories of a source tree that no distribution should install at the top of a site."""

OF_A_SOURCE_TREE = frozenset({"conftest.py", "setup.py", "noxfile.py", "versioneer.py"})


def section_findings(parsed: ParsedDiff) -> Iterator[Finding]:
    """Return what is odd in the sections of an entry's own diff."""
    lines = parsed.given.data.split(b"\n")
    for file in parsed.files:
        for path in file.paths:
            problem = top_level_problem(path)
            if problem is not None:
                hint = "name files as they lie below site-packages; `strip` drops what comes before"
                yield in_diff(warning("outside-package", f"{path} {problem}", hint=hint), parsed.given, file.line)
        found = (*_crowded(file, parsed.files), *_dated(file, lines), *_line_ends(file), *_thin(file))
        yield from (in_diff(finding, parsed.given, finding.line) for finding in found)


def top_level_problem(path: str) -> str | None:
    """Return why a path is hardly one of an installed package, as the end of a sentence; None: it may well be one."""
    top, slash, _ = path.partition("/")
    if slash and top.lower() in OUTSIDE:
        return f"lies in `{top}`, which belongs to a source tree, not to site-packages"
    if slash and not top.isidentifier():
        return f"lies in `{top}`, which is no name of a package"
    if not slash and (top in OF_A_SOURCE_TREE or not top.endswith((".py", ".pyi"))):
        return "is a file of a source tree, not of a package"
    return None


def _crowded(file: FileDiff, files: Sequence[FileDiff]) -> Iterator[Finding]:
    """A module or package that is added beside one of its name: Python imports one alone."""
    if file.kind not in {ChangeKind.ADD, ChangeKind.RENAME}:
        return
    for other in files:
        later = other.kind in {ChangeKind.ADD, ChangeKind.RENAME} and other.line > file.line  # told of the second one
        if other.kind is not ChangeKind.DELETE and not later and exclude_each_other(file.path, other.path):
            message = f"of {file.path}, which the diff adds, and {other.path} Python imports one alone"
            hint = "let the diff delete the one whose place the other takes"
            yield error("shadowed-module", message, hint=hint)._replace(line=file.line)
            return


def _dated(file: FileDiff, lines: Sequence[bytes]) -> Iterator[Finding]:
    """Time stamps change the digest of a diff that is cut again from the same edit."""
    end = file.hunks[0].line if file.hunks else file.line
    for number in range(file.line, end):
        line = lines[number - 1]
        _, tab, stamp = line.partition(b"\t")
        if line.startswith((b"--- ", b"+++ ")) and tab and re.search(rb"[0-9]{4}", stamp):
            hint = "cut it with diff --label, or take the stamp and the tab before it away"
            finding = warning("dated-header", "the header of a file has a time stamp: the same edit", hint=hint)
            message = "the header has a time stamp: cut again from the same edit the diff has another digest"
            yield finding._replace(message=message, line=number)
            return


def _line_ends(file: FileDiff) -> Iterator[Finding]:
    """CRLF is right for a build that ships it, and an accident everywhere else."""
    for hunk in file.hunks:
        rows = [(at, row) for at, row in enumerate(hunk.body, start=hunk.line + 1) if not row.startswith(b"\\")]
        crlf = [at for at, row in rows if row.endswith(b"\r\n")]
        if not crlf:
            continue
        mixed = len(crlf) < len(rows)
        some = "some lines of the hunk end in CRLF, others do not" if mixed else "the lines of the hunk end in CRLF"
        message = f"{some}: it fits only a file that has the same line ends"
        yield warning("crlf", message, hint="leave it where the build ships such a file")._replace(line=crlf[0])
        return


def _thin(file: FileDiff) -> Iterator[Finding]:
    if file.kind in {ChangeKind.ADD, ChangeKind.DELETE}:
        return
    for hunk in file.hunks:
        problem = _thinness(hunk, last=hunk is file.hunks[-1])
        if problem is not None:
            message = f"hunk {hunk.number} of {file.path} {problem}: it may fit at several places, or at a wrong one"
            yield warning("thin-context", message, hint="cut it with more context: diff -U5")._replace(line=hunk.line)


def _thinness(hunk: Hunk, *, last: bool) -> str | None:
    """Return what is too little about a hunk's context, as the middle of a sentence; None: it is enough.

    A hunk at the beginning or the end of a file has no more lines to show. Where a file ends, a diff does not say:
    the last hunk is taken to be there when it has whole context above.
    """
    at_start = hunk.old_start == 1
    at_end = not hunk.old_lines[-1].endswith(b"\n") or (last and (hunk.leading >= WHOLE_CONTEXT or at_start))
    if not hunk.leading and not at_start:
        return "has no context above its change"
    if not hunk.trailing and not at_end:
        return "has no context below its change"
    telling = sum(len(line.translate(None, b" \t\r\n")) for line in set(hunk.old_lines))
    whole = (hunk.leading >= WHOLE_CONTEXT or at_start) and (hunk.trailing >= WHOLE_CONTEXT or at_end)
    if telling < TELLING and not (at_start and at_end) and not whole:
        return f"shows {telling} characters of the file"
    return None
