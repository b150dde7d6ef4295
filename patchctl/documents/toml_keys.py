"""Where each key of a TOML document stands: tomllib gives values without positions.

One pass over the text that builds no values. It accepts at least what tomllib accepts and stops quietly at the first
thing that is not TOML: naming that error is tomllib's business, and so are the values. It holds the nesting cap too.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

from patchctl.documents.values import TOML_DEPTH, KeyPath

MAX_KEY = 256

_BLANK = re.compile(r"[ \t]*")
_BLANK_LINES = re.compile(r"[ \t\n]*(?:#[^\n]*(?:\n[ \t\n]*|\Z))*")
_REST_OF_LINE = re.compile(r"[ \t]*(?:#[^\n]*)?(?:\n|\Z)")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}\n#]+")
_STRING_ENDS = {
    '"""': re.compile(r'\\.|"{3,5}', re.DOTALL),
    "'''": re.compile(r"'{3,5}"),
    '"': re.compile(r'\\.|"|\n'),
    "'": re.compile(r"'|\n"),
}


class KeyPositions(NamedTuple):
    """Lines of the keys, table headers and array items of one document.

    Attributes:
        lines: key path -> 1-based line where it first stands.
        too_deep: line on which keys or values nest too deep or a key is longer than ``MAX_KEY``; None: nowhere.
    """

    lines: Mapping[KeyPath, int]
    too_deep: int | None = None

    def line(self, path: KeyPath) -> int:
        """Return the line of ``path``, or of the nearest thing around it; 1 when there is nothing."""
        while path:
            if path in self.lines:
                return self.lines[path]
            path = path[:-1]
        return 1

    def line_of(self, key: str) -> int:
        """Return the line of a key path written as :func:`key_text` writes it, or of the nearest thing around it."""
        return self.lines_of((key,))[0]

    def lines_of(self, keys: Iterable[str]) -> list[int]:
        """Return what :meth:`line_of` does for each of ``keys``; the lines are gone through once."""
        written = {key_text(path): line for path, line in self.lines.items()}
        return [_line_around(key, written) for key in keys]


def _line_around(key: str, written: Mapping[str, int]) -> int:
    """Return the line of the longest beginning of ``key``, up to a dot or a bracket, that is written."""
    while key not in written:
        end = max(key.rfind("."), key.rfind("["))
        if end < 0:
            return 1
        key = key[:end]
    return written[key]


def key_text(path: KeyPath) -> str:
    """Write a key path as messages show it: ``fix[1].evidence[0].contains``, quoted where TOML wants quotes."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
            continue
        name = part if _BARE_KEY.fullmatch(part) else '"' + part.replace("\\", "\\\\").replace('"', '\\"') + '"'
        text += f".{name}" if text else name
    return text


def locate_keys(text: str, depth: int = TOML_DEPTH) -> KeyPositions:
    """Find the keys of a TOML document.

    Args:
        text: the document; only its part before the first syntax error is looked at.
        depth: how deep keys or values may nest.
    """
    scan = _Scan(text.replace("\r\n", "\n"), depth)
    with suppress(_StopError):
        scan.document()
    return KeyPositions(lines=scan.lines, too_deep=scan.too_deep)


class _StopError(Exception):
    """Not TOML, or past a cap: nothing behind this place is looked at."""


class _Scan:
    """The pass: ``at`` is the place in the text, ``lines`` what was found so far."""

    def __init__(self, text: str, most: int) -> None:
        self.text = text
        self.most = most
        self.at = 0
        self.lines: dict[KeyPath, int] = {}
        self.too_deep: int | None = None
        self._table_counts: dict[KeyPath, int] = {}
        self._newlines = [found.start() for found in re.finditer("\n", text)]

    def document(self) -> None:
        table: KeyPath = ()
        while True:
            self._skip(_BLANK_LINES)
            if self.at >= len(self.text):
                return
            if self._peek() == "[":
                table = self._header()
            else:
                self._assignment(table)
            self._take(_REST_OF_LINE)

    def _header(self) -> KeyPath:
        """``[a.b]`` or ``[[a.b]]``; returns the path of the table that follows."""
        line = self._line()
        of_array = self.text.startswith("[[", self.at)
        self._expect("[[" if of_array else "[")
        parts = self._key()
        self._expect("]]" if of_array else "]")
        path: KeyPath = ()
        for position, part in enumerate(parts, start=1):
            path = self._note((*path, part), line)
            if of_array and position == len(parts):
                self._table_counts[path] = self._table_counts.get(path, 0) + 1
            if path in self._table_counts:
                # A header below an array of tables speaks of the array's last table.
                path = self._note((*path, self._table_counts[path] - 1), line)
        return path

    def _assignment(self, table: KeyPath) -> None:
        line = self._line()
        path = table
        for part in self._key():
            path = self._note((*path, part), line)
        self._expect("=")
        self._skip(_BLANK)
        self._value(path)

    def _key(self) -> list[str]:
        """A dotted key; leaves the place behind the blanks that follow it."""
        parts = []
        while True:
            self._skip(_BLANK)
            parts.append(self._key_part())
            if len(parts) > self.most or len(parts[-1]) > MAX_KEY:
                self._stop_too_deep()
            self._skip(_BLANK)
            if self._peek() != ".":
                return parts
            self.at += 1

    def _key_part(self) -> str:
        start = self.at
        if self._peek() not in {'"', "'"}:
            return self._take(_BARE_KEY)
        quote = self._peek()
        self._string(quote)
        inner = self.text[start + 1 : self.at - 1]
        return _unescape(inner) if quote == '"' and "\\" in inner else inner

    def _value(self, path: KeyPath) -> None:
        first = self._peek()
        if first in {'"', "'"}:
            self._string(first * 3 if self.text.startswith(first * 3, self.at) else first)
        elif first == "[":
            self._array(path)
        elif first == "{":
            self._inline_table(path)
        else:
            self._take(_SCALAR)

    def _array(self, path: KeyPath) -> None:
        self.at += 1
        index = 0
        while True:
            self._skip(_BLANK_LINES)
            if self._peek() == "]":
                break
            self._value(self._note((*path, index), self._line()))
            index += 1
            if not self._comma():
                break
        self._expect("]")

    def _inline_table(self, path: KeyPath) -> None:
        self.at += 1
        while True:
            # TOML 1.1 lets an inline table span lines; tomllib decides whether this one may.
            self._skip(_BLANK_LINES)
            if self._peek() == "}":
                break
            self._assignment(path)
            if not self._comma():
                break
        self._expect("}")

    def _comma(self) -> bool:
        self._skip(_BLANK_LINES)
        if self._peek() != ",":
            return False
        self.at += 1
        return True

    def _string(self, quotes: str) -> None:
        """Step over a string that opens with ``quotes``."""
        self.at += len(quotes)
        for found in _STRING_ENDS[quotes].finditer(self.text, self.at):
            if found[0] == "\n":
                raise _StopError
            if found[0][0] == quotes[0]:
                self.at = found.end()
                return
        raise _StopError

    def _note(self, path: KeyPath, line: int) -> KeyPath:
        if len(path) > self.most:
            self._stop_too_deep()
        self.lines.setdefault(path, line)
        return path

    def _stop_too_deep(self) -> None:
        self.too_deep = self._line()
        raise _StopError

    def _line(self) -> int:
        return bisect_right(self._newlines, self.at - 1) + 1

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _expect(self, token: str) -> None:
        if not self.text.startswith(token, self.at):
            raise _StopError
        self.at += len(token)

    def _skip(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self.text, self.at)
        self.at = found.end() if found is not None else self.at

    def _take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if found is None:
            raise _StopError
        self.at = found.end()
        return found[0]


_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b", '"': '"', "\\": "\\"}
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|x([0-9A-Fa-f]{2})|(.))")


def _unescape(inner: str) -> str:
    """Resolve the escapes of a quoted key; what is no escape stays, since tomllib refuses it."""

    def plain(found: re.Match[str]) -> str:
        number = found[1] or found[2] or found[3]
        if number is None:
            return _ESCAPES.get(found[4], found[0])
        return chr(int(number, 16)) if int(number, 16) <= sys.maxunicode else found[0]

    return _ESCAPE.sub(plain, inner)
