"""Text around the file sections: what may be passed over because it cannot be part of a diff.

Mail, git-format-patch, Mercurial and DEP-3 headers announce prose (*declared* text): there a list with dashes is
harmless. In any other text a line that could be a lost piece of a diff is refused, with the reason.
"""

from __future__ import annotations

import re

from patchctl.diff.source import bare, shown
from patchctl.errors import DiffError

GIT_HEADERS = (
    b"index ",
    b"old mode ",
    b"new mode ",
    b"new file mode ",
    b"deleted file mode ",
    b"similarity index ",
    b"dissimilarity index ",
    b"rename from ",
    b"rename to ",
    b"copy from ",
    b"copy to ",
)
"""Beginnings of the lines that git puts between ``diff --git`` and ``---``."""

BINARY = (b"Binary files ", b"Binary file ", b"GIT binary patch")

_HUNK = rb"@@ -[0-9]+(,[0-9]+)? \+[0-9]+(,[0-9]+)? @@"
_OPENING = rb"From |commit [0-9a-f]{7,64}|#|(?!Index:)[A-Za-z][A-Za-z0-9-]*:(?: |\r?\n?\Z)"
_RESTART = rb"From [0-9a-f]{40}|commit [0-9a-f]{40}|# HG changeset patch"
_VERSION = rb"[0-9]+\.[0-9][0-9A-Za-z.()+ _-]*\r?\n?\Z"
_ANYWHERE = (
    (rb"@@@+ -", "combined", "a combined diff (of a merge)"),
    (rb"diff --(?:cc|combined) ", "combined", "a combined diff (of a merge)"),
    (_HUNK, "leftover", "a hunk without the header of its file"),
    (rb"\*{15}(?:\n|\Z| )", "context", "a context diff"),
)
_UNDECLARED = (
    (rb"Binary file |Cannot display: file marked as a binary", "binary", "a change to a binary file"),
    (rb"Only in [^:]+: ", "incomplete", "a file that is on one side only and was left out"),
    (rb"Property changes on: ", "mode-change", "a change of properties"),
    (rb"\*\*\* .*\n?\Z", "context", "a context diff"),
    (
        rb"[0-9]+(?:,[0-9]+)?[acd](?:[0-9]+(?:,[0-9]+)?)?\r?\n?\Z|[ad][0-9]+ [0-9]+\r?\n?\Z",
        "ed",
        "an ed or normal diff",
    ),
    (rb"[-+@\\]", "leftover", "a line that looks like part of a diff"),
    (b"|".join(GIT_HEADERS), "leftover", "a header line without its 'diff --git'"),
)


def opens_prose(lines: list[bytes]) -> bool:
    """Tell whether the diff begins like a mail, a commit or a DEP-3 header, so that prose is to be expected."""
    first = next((line for line in lines if line.strip()), b"")
    return re.match(_OPENING, first) is not None


def starts_section(lines: list[bytes], at: int) -> bool:
    """Tell whether a file section begins at index ``at``: a git header, or ``---`` with ``+++`` right below it."""
    line = lines[at]
    following = lines[at + 1] if at + 1 < len(lines) else b""
    if line.startswith(b"diff --git "):
        return following.startswith((*GIT_HEADERS, *BINARY, b"--- "))
    return line.startswith(b"--- ") and following.startswith(b"+++ ")


def pass_text(lines: list[bytes], at: int, *, declared: bool, after_section: bool, tight: bool) -> tuple[int, bool]:
    """Pass over the line at ``at``, which starts no section.

    Args:
        lines: all lines of the diff.
        at: index of the line.
        declared: prose was announced and no section came since.
        after_section: a section was read before.
        tight: the line before belongs to a section.

    Returns:
        The index to go on with, and whether prose is declared from there.

    Raises:
        DiffError: the line may be a lost piece of a diff.
    """
    line = lines[at]
    if re.match(_RESTART, line):
        return at + 1, True
    if after_section and _is_signature(lines, at):
        return at + 2, declared
    if _says_binary(line):
        raise _refusal("binary", "a change to a binary file", line, at)
    for pattern, code, what in _ANYWHERE:
        if re.match(pattern, line):
            raise _refusal(code, what, line, at)
    if not declared:
        _check_undeclared(lines, at, after_section=after_section, tight=tight)
    return at + 1, declared


def _check_undeclared(lines: list[bytes], at: int, *, after_section: bool, tight: bool) -> None:
    line = lines[at]
    if not line.strip(b"\r\n"):
        return
    if tight and line.startswith((b" ", b"+", b"-")):
        message = f"the hunk before has more lines than its header counts: {shown(bare(line))}"
        raise DiffError("wrong-count", message, line=at + 1)
    if tight and line.startswith(b"\\"):
        raise DiffError("unknown-marker", f"an unknown marker: {shown(bare(line))}", line=at + 1)
    if line.startswith((b"diff ", b"Index: ")):
        _check_announced(lines, at)
        return
    # quilt and git put a lone --- between description and diffstat
    if line in {b"---\n", b"---\r\n"} and not after_section:
        return
    for pattern, code, what in _UNDECLARED:
        if re.match(pattern, line):
            raise _refusal(code, what, line, at)
    if line.startswith(b" ") and after_section:
        raise _refusal("leftover", "a line that looks like part of a diff", line, at)
    if tight and not line.startswith(b"=== "):
        raise _refusal("leftover", "text right below a hunk, such as the end of a wrapped line", line, at)


def _check_announced(lines: list[bytes], at: int) -> None:
    """A command or ``Index:`` line announces a file; the file's section has to follow."""
    expected: tuple[bytes, ...] = (b"--- ", b"*** ", b"Files ", b"Cannot display:", *BINARY)
    follow = at + 1
    if lines[at].startswith(b"Index: "):
        if follow == len(lines) or not lines[follow].startswith(b"====="):
            return
        follow += 1
        expected += (b"diff ",)
    if follow == len(lines) or not lines[follow].startswith(expected):
        message = f"nothing follows for the file of: {shown(bare(lines[at]))}"
        raise DiffError("no-hunks", message, line=at + 1)


def _says_binary(line: bytes) -> bool:
    # not a pattern: one with two wild cards takes quadratic time on a long line
    text = line.rstrip(b"\r\n")
    return text == b"GIT binary patch" or (text.startswith((b"Binary files ", b"Files ")) and text.endswith(b" differ"))


def _is_signature(lines: list[bytes], at: int) -> bool:
    """``-- `` and git's version below it end a mail; a leftover removed line would have no version below it."""
    if lines[at] not in {b"-- \n", b"--\n", b"-- \r\n"} or at + 1 == len(lines):
        return False
    return re.match(_VERSION, lines[at + 1]) is not None


def _refusal(code: str, what: str, line: bytes, at: int) -> DiffError:
    hint = None
    if code == "leftover":
        hint = "make the diff again; prose before it may begin with a 'Description:' line"
    return DiffError(code, f"{what}: {shown(bare(line))}", hint=hint, line=at + 1)
