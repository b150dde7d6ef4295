"""File names in headers: unquoted, stripped, checked, and compared with each other.

Every name a section gives is judged (``---``, ``+++``, both of ``diff --git``, both of a rename), because a checker
that looks at one and a writer that uses another is an old hole (CVE-2015-1395).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from patchctl.diff.source import shown
from patchctl.errors import DiffError
from patchctl.model.paths import LONGEST_PATH, path_problem

LONGEST_HEADER = 16384
"""Bytes of a line with names: two quoted names of the longest path."""

_ESCAPES = {
    b"a": b"\a",
    b"b": b"\b",
    b"t": b"\t",
    b"n": b"\n",
    b"v": b"\v",
    b"f": b"\f",
    b"r": b"\r",
    b'"': b'"',
    b"\\": b"\\",
}
_QUOTED = rb'"((?:[^"\\]|\\(?:[abtnvfr"\\]|[0-3][0-7]{2}))*)"'
_EPOCH = rb"(1970-01-01|1969-12-31) ([0-2][0-9]):([0-5][0-9]):00(?:\.0+)?(?: ([-+])([0-2][0-9]):?([0-5][0-9]))?"
_EPOCH_C = rb"Thu Jan (?: 1|01) 00:00:00 1970(?: [-+]0000)?"
_ABSENT = (b"(nonexistent)", b"(revision 0)")


class HeaderName(NamedTuple):
    """The name of a ``---`` or ``+++`` line.

    Attributes:
        raw: unquoted, not stripped; None for ``/dev/null``.
        absent: the time stamp says that the file is not there on this side (the epoch; Subversion's words for it).
        at: index of its line in the diff.
    """

    raw: bytes | None
    absent: bool
    at: int


def read_name(text: bytes, at: int) -> HeaderName:
    """Return the name that follows ``--- `` or ``+++ ``; ``text`` is the rest of that line.

    Raises:
        DiffError: overlong, or broken quoting.
    """
    if len(text) > LONGEST_HEADER:
        raise DiffError("bad-name", "the name in a header line is too long", line=at + 1)
    if text.startswith(b'"'):
        raw, rest = unquote(text, at)
        if rest.strip() and not rest.startswith(b"\t"):
            raise DiffError("bad-name", f"text after the quoted name: {shown(text)}", line=at + 1)
        return HeaderName(raw=raw, absent=_says_absent(rest.strip()), at=at)
    raw, _, stamp = text.partition(b"\t")
    return HeaderName(raw=None if raw == b"/dev/null" else raw, absent=_says_absent(stamp.strip()), at=at)


def unquote(text: bytes, at: int) -> tuple[bytes, bytes]:
    """Undo git's quoting (C escapes and three octal digits); return the name and what follows the closing quote.

    Raises:
        DiffError: no closing quote, or an unknown escape.
    """
    found = re.match(_QUOTED, text)
    if found is None:
        raise DiffError("bad-name", f"the quoting of a name is broken: {shown(text)}", line=at + 1)
    return re.sub(rb"\\([0-3][0-7]{2}|.)", _unescaped, found[1]), text[found.end() :]


def _unescaped(found: re.Match[bytes]) -> bytes:
    escape = found[1]
    return _ESCAPES[escape] if escape in _ESCAPES else bytes([int(escape, 8)])


def stripped_path(raw: bytes, strip: int, at: int) -> str:
    """Return ``raw`` without its first ``strip`` components, decoded, once every rule about names holds.

    Raises:
        DiffError: ``bad-name``, ``strip`` (too few components) or ``unsafe-path``.
    """
    try:
        name = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise DiffError("bad-name", f"the name {shown(raw)} is not valid UTF-8", line=at + 1) from None
    if name.startswith("/"):
        raise DiffError("unsafe-path", f"{shown(raw)} is absolute", line=at + 1)
    parts = name.split("/")
    if len(parts) <= strip:
        message = f"{shown(raw)} has no {strip} leading component(s) to strip"
        raise DiffError("strip", message, hint="give the strip level the diff was made with", line=at + 1)
    path = "/".join(parts[strip:])
    problem = "contains '..'" if ".." in parts else path_problem(path) or _native_problem(path)
    if problem is not None:
        raise DiffError("unsafe-path", f"{shown(raw)} {problem}", line=at + 1)
    return path


def _native_problem(path: str) -> str | None:
    """Hunks of machine code can be read by nobody, and beside a source of its name it is what Python would import."""
    native = re.search(r"\.(?:so(?:\.[0-9]+)*|pyd|dll|dylib)$", path, re.IGNORECASE)
    return "is machine code, which no diff may bring or change" if native else None


def agree_with_git_header(text: bytes, old: str, new: str, strip: int, at: int) -> bool:
    """Tell whether the names of a ``diff --git`` line are ``old`` and ``new`` once stripped.

    ``text`` is the rest of the line.
    """
    first_wanted, second_wanted = old.encode(), new.encode()
    if text.startswith(b'"'):
        first, rest = unquote(text, at)
        if _drop(first, strip) != first_wanted or not rest.startswith(b" "):
            return False
        _check_stripped(first, first_wanted, at)
        return _is_name(rest[1:], second_wanted, strip, at)
    # a blank may also be part of a name, but only one split leaves the wanted name in front
    after = _drop(text, strip)
    if after is None or not after.startswith(first_wanted + b" "):
        return False
    _check_stripped(text[: len(text) - len(after) + len(first_wanted)], first_wanted, at)
    return _is_name(after[len(first_wanted) + 1 :], second_wanted, strip, at)


def name_of_git_header(text: bytes, strip: int, at: int) -> bytes | None:
    """Return the first name of a ``diff --git`` line, not stripped, when both are the same file; None otherwise.

    Blanks between two unquoted names are told from blanks within them by the two being equal.
    """
    if text.startswith(b'"'):
        first, rest = unquote(text, at)
        path = _drop(first, strip)
        return first if path and rest.startswith(b" ") and _is_name(rest[1:], path, strip, at) else None
    after = _drop(text, strip)
    if after is None:
        return None
    prefix = len(text) - len(after)
    # at most one split fits: a later one makes the first name longer and what the second one leaves shorter
    for found in re.finditer(b" ", after[:LONGEST_PATH]):
        if _is_name(after[found.end() :], after[: found.start()], strip, at):
            return text[: prefix + found.start()]
    return None


def _is_name(text: bytes, wanted: bytes, strip: int, at: int) -> bool:
    name, rest = unquote(text, at) if text.startswith(b'"') else (text, b"")
    if rest or _drop(name, strip) != wanted:
        return False
    _check_stripped(name, wanted, at)
    return True


def _check_stripped(name: bytes, wanted: bytes, at: int) -> None:
    """Refuse a name of a ``diff --git`` line for what is stripped from it: it would mean another file elsewhere."""
    stripped = name[: len(name) - len(wanted)]
    if stripped.startswith(b"/") or b".." in stripped.split(b"/"):
        problem = "is absolute" if stripped.startswith(b"/") else "contains '..'"
        raise DiffError("unsafe-path", f"{shown(name)} {problem}", line=at + 1)


def _drop(raw: bytes, strip: int) -> bytes | None:
    parts = raw.split(b"/", strip)
    return parts[strip] if len(parts) > strip else None


def _says_absent(stamp: bytes) -> bool:
    if stamp in _ABSENT or re.fullmatch(_EPOCH_C, stamp):
        return True
    found = re.fullmatch(_EPOCH, stamp)
    if found is None:
        return False
    day, hours, minutes, sign, zone_hours, zone_minutes = found.groups()
    local = (int(hours) * 60 + int(minutes)) - (1440 if day == b"1969-12-31" else 0)
    zone = (int(zone_hours or 0) * 60 + int(zone_minutes or 0)) * (-1 if sign == b"-" else 1)
    return local == zone
