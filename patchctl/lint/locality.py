"""Does a containment stay on the failing path? Told from its hunks by rules of thumb, so that all here are warnings.

A containment may add what it likes around the failure, and take away what fails. What it takes away elsewhere, a
reader should look at: only who knows the code can say whether that line runs when nothing fails.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from keyword import iskeyword
from typing import NamedTuple

from patchctl.diff import ChangeKind, FileDiff, Hunk
from patchctl.lint.values import Finding, ParsedDiff, in_diff, warning

MOST_CHANGED = 120
"""Lines that a containment may add and remove in one file before that is worth a second look."""

MOST_LOOKED_AT = 200
"""Removed lines of one hunk that are looked at, each against all lines of the hunk."""

QUOTED = 60
"""Characters of a line that a message shows."""

_FAILING = re.compile(r"(?:raise|assert|except)\b")
_RAISES = re.compile(r"(?:raise|assert)\b")
_RAISES_AT_ONCE = re.compile(r":\s*(?:raise|assert)\b")
_CHOICE = re.compile(r"(?:if|elif|else|case)\b")
_STRING = re.compile(r"""\"[^\"]*\"|'[^']*'""")
_WORD = re.compile(r"[^\W\d]\w*")
_CLOSING = (")", "]", "}")


class _Line(NamedTuple):
    """A line of a hunk's old side: its text, whether it is removed, its 1-based line in the diff."""

    text: str
    removed: bool
    at: int

    @property
    def indent(self) -> int:
        return len(self.text) - len(self.text.lstrip())

    @property
    def code(self) -> str:
        return self.text.strip()


def locality_findings(parsed: ParsedDiff) -> Iterator[Finding]:
    """Return where a containment's diff may leave the failing path."""
    for file in parsed.files:
        for finding in (*_kind(file), *_size(file), *_removed(file)):
            yield in_diff(finding, parsed.given, finding.line)


def _kind(file: FileDiff) -> Iterator[Finding]:
    if file.kind in {ChangeKind.DELETE, ChangeKind.RENAME}:
        what = "deletes" if file.kind is ChangeKind.DELETE else "renames"
        message = f"a containment {what} {file.path or file.old_path}: does nothing else need it where it is?"
        yield warning("removed-file", message)._replace(line=file.line)


def _size(file: FileDiff) -> Iterator[Finding]:
    if file.kind in {ChangeKind.ADD, ChangeKind.DELETE}:
        return
    changed = sum(row.startswith((b"+", b"-")) for hunk in file.hunks for row in hunk.body)
    if changed > MOST_CHANGED:
        message = f"a containment changes {changed} lines of {file.path}; more than {MOST_CHANGED} are hard to review"
        yield warning("large-containment", message, hint="look whether all of it is on the failing path")._replace(
            line=file.line
        )


def _removed(file: FileDiff) -> Iterator[Finding]:
    """The first line of each hunk that is gone, and that nothing shows to be a failure."""
    if file.kind is ChangeKind.DELETE:
        return
    added = [row[1:] for hunk in file.hunks for row in hunk.body if row.startswith(b"+")]
    kept = {word for row in added for word in _words(row.decode("utf-8", "replace"))}
    for hunk in file.hunks:
        old = list(_old_side(hunk))
        removed = [index for index, line in enumerate(old) if line.removed and not _is_harmless(line, kept)]
        choices = _failing_choices(old)
        for index in removed[:MOST_LOOKED_AT]:
            if not _fails(old, index, choices):
                line = old[index]
                message = (
                    f"hunk {hunk.number} of {file.path} takes away `{line.code[:QUOTED]}`, which is in no exception"
                    " branch as far as the hunk shows: does it run when nothing fails? Look at it"
                )
                hint = "where it must go: say in `how` why behaviour stays the same when nothing fails"
                yield warning("removed-outside-failure", message, hint=hint)._replace(line=line.at)
                break


def _old_side(hunk: Hunk) -> Iterator[_Line]:
    for at, row in enumerate(hunk.body, start=hunk.line + 1):
        if not row.startswith((b"+", b"\\")):
            text = row[1:].decode("utf-8", "replace").rstrip("\r\n").expandtabs()
            yield _Line(text=text, removed=row.startswith(b"-"), at=at)


def _words(text: str) -> set[str]:
    """Return the names in a line of code; what a text between quotes says is none."""
    return {word for word in _WORD.findall(_STRING.sub("", text)) if not iskeyword(word)}


def _is_harmless(line: _Line, kept: set[str]) -> bool:
    """Whether the line says nothing, or comes back: all its names stand in added lines, as when it is wrapped."""
    if not line.code or line.code.startswith("#"):
        return True
    return _words(line.code) <= kept


def _fails(old: Sequence[_Line], index: int, choices: Collection[int]) -> bool:
    """Whether the hunk shows the line to be a failure: a raise, part of one, or in a branch that ends in one."""
    at, indent = index, old[index].indent + 1
    while at >= 0 and indent:
        line = old[at]
        if line.code and line.indent < indent:
            at = _statement(old, at)
            line = old[at]
            if at in choices or _FAILING.match(line.code):
                return True
            indent = line.indent
        at -= 1
    return False


def _statement(old: Sequence[_Line], index: int) -> int:
    """Return where the statement begins that a line with a closing bracket ends."""
    if not old[index].code.startswith(_CLOSING):
        return index
    above = (at for at in range(index - 1, -1, -1) if old[at].code and old[at].indent == old[index].indent)
    return next(above, index)


def _failing_choices(old: Sequence[_Line]) -> frozenset[int]:
    """Return the lines that open a branch of a choice in which, one level below, something is raised."""
    found: set[int] = set()
    opened: list[tuple[int, int]] = []
    for index, line in enumerate(old):
        if not line.code or line.code.startswith(_CLOSING):
            continue
        while opened and line.indent <= old[opened[-1][0]].indent:
            opened.pop()
        if opened:
            header, block = opened.pop()
            # A condition over several lines may stand deeper than the block that follows it.
            opened.append((header, min(block or line.indent, line.indent)))
            if line.indent == opened[-1][1] and _RAISES.match(line.code):
                found.add(header)
        if _CHOICE.match(line.code):
            opened.append((index, 0))
            if _RAISES_AT_ONCE.search(line.code):
                found.add(index)
    return frozenset(found)
