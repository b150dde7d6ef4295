"""A second reading of a diff, short and trusting: what ``patchctl.diff`` accepts has to mean the same here.

It follows the counts of the ``@@`` lines and nothing else, checks nothing, and shares no code with the parser.
"""

from __future__ import annotations

import re
from typing import NamedTuple

EXTENDED = re.compile(
    rb"(?:old|new|new file|deleted file) mode |index |(?:dis)?similarity index |(?:rename|copy) (?:from|to) "
)
RANGES = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
SIMPLE = {b"n": 10, b"t": 9, b"r": 13, b"a": 7, b"b": 8, b"f": 12, b"v": 11, b'"': 34, b"\\": 92}


class ReadHunk(NamedTuple):
    """First old and new line as written, and both sides as bytes."""

    old_start: int
    new_start: int
    old: bytes
    new: bytes


class ReadFile(NamedTuple):
    """Names as bytes, unquoted, not stripped; None for ``/dev/null`` and where no line gives one."""

    old: bytes | None
    new: bytes | None
    git: bytes | None
    hunks: tuple[ReadHunk, ...]


def read_diff(data: bytes) -> list[ReadFile]:
    """Read ``data``, which somebody else has found good."""
    lines = [*data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), b"", b""]
    files = []
    at, git = 0, None
    while at < len(lines) - 2:
        if lines[at].startswith(b"diff --git "):
            head = at + 1
            while EXTENDED.match(lines[head]):
                head += 1
            git = lines[at][11:]
            paired = lines[head].startswith(b"--- ")
            if head > at + 1 and not paired:
                files.append(ReadFile(old=None, new=None, git=git, hunks=()))
                git = None
            at = head
        elif lines[at].startswith(b"--- ") and lines[at + 1].startswith(b"+++ "):
            names = _name(lines[at][4:]), _name(lines[at + 1][4:])
            hunks, at = _hunks(lines, at + 2)
            files.append(ReadFile(old=names[0], new=names[1], git=git, hunks=hunks))
            git = None
        else:
            at += 1
    return files


def _hunks(lines: list[bytes], at: int) -> tuple[tuple[ReadHunk, ...], int]:
    hunks = []
    while found := RANGES.match(lines[at]):
        old_start, old_left, new_start, new_left = (1 if part is None else int(part) for part in found.groups())
        old, new = bytearray(), bytearray()
        last = b""
        at += 1
        while old_left or new_left or lines[at].startswith(b"\\ "):
            tag, text = lines[at][:1] or b" ", lines[at][1:] + b"\n"
            if tag == b"\\":
                tag = last
                if tag != b"+":
                    del old[-1:]
                if tag != b"-":
                    del new[-1:]
            else:
                if tag != b"+":
                    old += text
                    old_left -= 1
                if tag != b"-":
                    new += text
                    new_left -= 1
            last = tag
            at += 1
        hunks.append(ReadHunk(old_start=old_start, new_start=new_start, old=bytes(old), new=bytes(new)))
    return tuple(hunks), at


def _name(text: bytes) -> bytes | None:
    if text.startswith(b'"'):
        return unquoted(text)
    name = text.split(b"\t")[0]
    return None if name == b"/dev/null" else name


def unquoted(text: bytes) -> bytes:
    """The bytes between two quotes, C escapes undone; what follows the second quote is left out."""
    out = bytearray()
    at = 1
    while text[at : at + 1] != b'"':
        if text[at : at + 1] != b"\\":
            out += text[at : at + 1]
            at += 1
        elif text[at + 1 : at + 2].isdigit():
            out.append(int(text[at + 1 : at + 4], 8))
            at += 4
        else:
            out.append(SIMPLE[text[at + 1 : at + 2]])
            at += 2
    return bytes(out)
