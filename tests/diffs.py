"""Unified diffs for tests, written by our own short rules on top of ``difflib``, byte for byte."""

from __future__ import annotations

from difflib import SequenceMatcher

NO_NEWLINE = b"\\ No newline at end of file\n"


def split(content: bytes) -> list[bytes]:
    """Lines with their newline; nothing else ends a line."""
    *whole, rest = content.split(b"\n")
    return [line + b"\n" for line in whole] + ([rest] if rest else [])


def unified(old: bytes, new: bytes, path: str, *, context: int = 3) -> bytes:
    """A plain unified diff that turns ``old`` into ``new``; empty when they are equal."""
    before, after = split(old), split(new)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    hunks = [_hunk(before, after, group) for group in matcher.get_grouped_opcodes(context)] if old != new else []
    names = f"--- a/{path}\n+++ b/{path}\n".encode()
    return names + b"".join(hunks) if hunks else b""


def _hunk(before: list[bytes], after: list[bytes], group: list[tuple[str, int, int, int, int]]) -> bytes:
    old_from, old_to, new_from, new_to = group[0][1], group[-1][2], group[0][3], group[-1][4]
    body = []
    for tag, i1, i2, j1, j2 in group:
        if tag == "equal":
            body += [b" " + line for line in before[i1:i2]]
        else:
            body += [b"-" + line for line in before[i1:i2]]
            body += [b"+" + line for line in after[j1:j2]]
    header = f"@@ -{_range(old_from, old_to)} +{_range(new_from, new_to)} @@\n".encode()
    return header + b"".join(line if line.endswith(b"\n") else line + b"\n" + NO_NEWLINE for line in body)


def _range(start: int, stop: int) -> str:
    return f"{start + 1 if stop > start else start},{stop - start}"
