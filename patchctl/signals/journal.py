"""Reads the journal's export format (``journalctl -o export``) entry by entry.

The format: https://systemd.io/JOURNAL_EXPORT_FORMATS. A field is ``NAME=text`` on a line, or a line ``NAME``, eight
bytes of length (little endian), so many bytes, and a line feed; an empty line ends the entry. A field with bytes in it
may hold what looks like an entry, so entries are read one after the other and never searched for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from patchctl.signals.envelopes import journal_line
from patchctl.signals.values import Line

_TEXT_ENTRY = re.compile(rb"(?:[A-Z0-9_]+=[^\n]*\n)+\n")
_FIELDS = (b"MESSAGE", b"__REALTIME_TIMESTAMP", b"_PID", b"_SYSTEMD_UNIT", b"CONTAINER_NAME", b"SYSLOG_IDENTIFIER")
_LENGTH = 8
_LARGEST = 1 << 18
"""Bytes of a field that are kept."""
_MOST_STREAMS = 256
_REMEMBERED = 4096


class JournalReader:
    """Takes bytes, gives lines; it keeps the entry that is not whole yet, and the last message of each process."""

    __slots__ = ("_before", "_begun", "_data", "_dropping", "_fields", "_skip")

    def __init__(self) -> None:
        self._data = b""
        self._fields: dict[bytes, bytes] = {}
        self._skip = 0
        self._begun = self._dropping = False
        self._before: dict[bytes, bytes] = {}

    def feed(self, data: bytes) -> Iterator[tuple[Line, bytes]]:
        """Give the lines of the entries that are whole now, each with the line before it of the same process."""
        self._data += data
        at = 0
        while True:
            # Once an entry: it looks as far as the entry goes, which may be to the end of a log that has no other.
            whole = None if self._begun or self._skip or self._dropping else _TEXT_ENTRY.match(self._data, at)
            if whole is not None:
                self._fields = _fields_of(whole[0])
                at = whole.end() - 1
            cut = self._skip or self._dropping  # a line feed is the end of what is left out, not of the entry
            end = self._step(at)
            if end is None:
                break
            self._begun = bool(cut) or self._data[at:end] != b"\n"
            if not self._begun:
                yield from self._entry()
            at = end
        self._data = self._data[at:] if not self._dropping else b""

    def finish(self) -> Iterator[tuple[Line, bytes]]:
        """Give the line of the last entry, if the end of the log cut it off behind its message."""
        yield from self._entry()
        self._data, self._skip = b"", 0
        self._begun = self._dropping = False

    def _step(self, at: int) -> int | None:
        """Take one field, or the end of an entry, at ``at``; return where the next one is. None: more is needed."""
        data = self._data
        if self._skip:
            taken = min(self._skip, len(data) - at)
            self._skip -= taken
            return at + taken if taken else None
        line_end = data.find(b"\n", at)
        if line_end < 0:
            self._dropping = self._dropping or len(data) - at > _LARGEST
            return None
        if self._dropping:
            self._dropping = False
            return line_end + 1
        if line_end == at:
            return at + 1
        name, equals, value = data[at:line_end].partition(b"=")
        if equals:
            self._keep(name, value)
            return line_end + 1
        return self._sized(name, line_end + 1)

    def _sized(self, name: bytes, at: int) -> int | None:
        if len(self._data) < at + _LENGTH:
            return None
        size = int.from_bytes(self._data[at : at + _LENGTH], "little")
        if size > _LARGEST:
            self._skip = size + 1
            return at + _LENGTH
        end = at + _LENGTH + size
        if len(self._data) <= end:
            return None
        self._keep(name, self._data[at + _LENGTH : end])
        return end + 1

    def _keep(self, name: bytes, value: bytes) -> None:
        if name in _FIELDS:
            self._fields[name] = value[:_LARGEST]

    def _entry(self) -> Iterator[tuple[Line, bytes]]:
        fields = {
            name.decode("ascii"): value.decode("utf-8", "surrogateescape") for name, value in self._fields.items()
        }
        self._fields = {}
        line = journal_line(fields)
        if line is None:
            return
        yield line, self._before.get(line.stream, b"\n")
        if line.stream not in self._before and len(self._before) >= _MOST_STREAMS:
            self._before.clear()
        kept = line.text[:_REMEMBERED].replace(b"\n", b" ") + (b"\r" if line.text.endswith(b"\r") else b"")
        self._before[line.stream] = b"\n" + kept + b"\n"


def _fields_of(entry: bytes) -> dict[bytes, bytes]:
    found = {}
    text = b"\n" + entry
    for name in _FIELDS:
        at = text.find(b"\n" + name + b"=")
        if at >= 0:
            begin = at + len(name) + 2
            found[name] = text[begin : text.find(b"\n", begin)]
    return found
