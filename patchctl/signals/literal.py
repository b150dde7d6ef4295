"""A text that every match of a regular expression contains, so that most lines need no regular expression at all.

Only what is certain is taken: letters, digits and harmless punctuation that stand outside groups, classes and
alternatives, and that no quantifier makes optional. Where nothing is certain there is no text.
"""

from __future__ import annotations

import re

_SAFE = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 :,._-()/=#@!;%")
"""Bytes that no container format escapes: JSON keeps them as they are."""
_SHORTEST = 4
_OPTIONAL = "*?{"
_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]*\}|[0-9]{1,3})")
_FLAGS = re.compile(r"\(\?[aiLmsux]")


def required_literal(pattern: str) -> bytes:
    """Return the longest text that is certain to stand in every match; empty: none is."""
    if _FLAGS.match(pattern):
        return b""  # ``(?i)`` and ``(?x)`` change what the characters mean
    runs = _runs(pattern)
    best = max((run.strip() for run in runs or ()), key=len, default=b"")
    return best if len(best) >= _SHORTEST else b""


def _runs(pattern: str) -> list[bytes] | None:
    """Split into certain texts; None: an alternative at the top, so that nothing is certain."""
    runs, run, at = [], bytearray(), 0
    while at < len(pattern):
        char = pattern[at]
        if char == "|":
            return None
        literal, end = _atom(pattern, at)
        quantifier = pattern[end : end + 1]
        certain = literal is not None and literal in _SAFE and quantifier not in set(_OPTIONAL)
        if certain and literal is not None:
            run.append(literal)
        if not certain or quantifier == "+":
            runs.append(bytes(run))
            run.clear()
        at = _past_quantifier(pattern, end)
    runs.append(bytes(run))
    return runs


def _atom(pattern: str, at: int) -> tuple[int | None, int]:
    """Return the byte that the atom at ``at`` stands for (None: none for certain), and where it ends."""
    char = pattern[at]
    if char == "\\":
        escaped = pattern[at + 1 : at + 2]
        if escaped.isalnum() or not escaped.isascii() or not escaped:
            return None, _past_escape(pattern, at)
        return ord(escaped), at + 2
    if char == "[":
        return None, _past_class(pattern, at)
    if char == "(":
        return None, _past_group(pattern, at)
    return (ord(char) if char not in ".^$)" and char.isascii() else None), at + 1


def _past_escape(pattern: str, at: int) -> int:
    r"""``\d`` is two characters; ``\x41``, ``\u00e4``, ``\N{...}``, ``\101`` and back-references are more."""
    found = _ESCAPE.match(pattern, at)
    return found.end() if found is not None else at + 2


def _past_quantifier(pattern: str, at: int) -> int:
    if pattern[at : at + 1] == "{":
        closing = pattern.find("}", at)
        at = closing + 1 if closing >= 0 else at + 1
    elif pattern[at : at + 1] in {"*", "+", "?"}:
        at += 1
    else:
        return at
    return at + 1 if pattern[at : at + 1] in {"?", "+"} else at


def _past_class(pattern: str, at: int) -> int:
    at += 2 if pattern[at + 1 : at + 2] == "^" else 1
    at += 1 if pattern[at : at + 1] == "]" else 0
    while at < len(pattern) and pattern[at] != "]":
        at += 2 if pattern[at] == "\\" else 1
    return at + 1


def _past_group(pattern: str, at: int) -> int:
    depth = 0
    while at < len(pattern):
        if pattern[at] == "[":
            at = _past_class(pattern, at)
            continue
        depth += {"(": 1, ")": -1}.get(pattern[at], 0)
        at += 2 if pattern[at] == "\\" else 1
        if depth == 0:
            return at
    return at
