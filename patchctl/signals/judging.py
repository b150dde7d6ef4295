r"""Is a line that has the text of a signal this signal?

Whoever may send a prompt may send the text of a signal, and some of it ends in logs. So the text counts only where
vLLM's own prefix comes right before it, from a source file that the entry's diff changes, at the beginning of the
message. A message of several lines has the prefix before each of them; the later ones are told by

- the line before, of the same prefix to the last character, which ends in a carriage return;
- or, where a carriage return did not survive, by a line of that prefix whose message begins otherwise: one place in the
  source writes one kind of message.

What no reader of text can tell: a whole forged line that some process prints raw, without a logger.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from patchctl.signals.envelopes import Envelope, unwrap
from patchctl.signals.headers import HeaderForm
from patchctl.signals.values import TOO_SLOW, Header, Line, Watch

Search: TypeAlias = Callable[[str, str], "tuple[bool, Mapping[str, str] | None]"]
"""Matches a pattern at the start of a text; gives whether there was an answer in time, and the groups of the match."""

_LINES_BACK = 16
_TRIES = 4
_SAME = 8
"""Bytes of a signal's beginning that are enough to know it by."""
_FURTHEST = 32_768
"""Bytes before a line in which the line that it may continue is looked for."""


class Verdict(NamedTuple):
    """What became of a line: the groups of the signal, or why it is none."""

    groups: Mapping[str, str] | None
    why: str = ""


class Past:
    """What stands before a line, in the bytes of a log: asked only for a line that reads like a signal.

    Args:
        data: whole lines; what is looked for lies before ``start``.
        start: where the line begins.
        envelope: of the log.
        latest: as :func:`unwrap` takes it.
    """

    __slots__ = ("_data", "_envelope", "_latest", "_start")

    def __init__(self, data: bytes | bytearray, start: int, envelope: Envelope, latest: int) -> None:
        self._data, self._start, self._envelope, self._latest = data, start, envelope, latest

    def line_before(self, stream: bytes) -> Line | None:
        """Return the last line before that is of the same stream; None: none is near."""
        end = self._start - 1
        for _ in range(_LINES_BACK):
            if end <= 0:
                return None
            begin = self._data.rfind(b"\n", 0, end) + 1
            line = unwrap(self._envelope, bytes(self._data[begin:end]), self._latest)
            if line is not None and line.stream == stream:
                return line
            end = begin - 1
        return None

    def line_with(self, raw: bytes, form: HeaderForm) -> tuple[Line, Header] | None:
        """Return the last line before that begins with this very prefix; None: none is near."""
        lowest, end = max(self._start - _FURTHEST, 0), self._start
        for _ in range(_TRIES):
            at = self._data.rfind(raw, lowest, end) if raw else -1
            if at < 0:
                return None
            begin = self._data.rfind(b"\n", 0, at) + 1
            line_end = self._data.find(b"\n", at)
            line = unwrap(self._envelope, bytes(self._data[begin:line_end]), self._latest)
            header = form.read(line.text) if line is not None else None
            if line is not None and header is not None and header.raw == raw:
                return line, header
            end = at
        return None


class Judge:
    """Judges the lines of one log; it remembers the last continuation, for those that follow it.

    Args:
        form: reads the logger's prefix.
        search: matches a pattern, with a deadline.
    """

    __slots__ = ("_continued", "_form", "_search")

    def __init__(self, form: HeaderForm, search: Search) -> None:
        self._form, self._search = form, search
        self._continued = b""

    def judge(self, watch: Watch, line: Line, past: Past) -> tuple[Verdict, Header | None]:
        """Return what the line is to ``watch``, and its prefix where it has one."""
        header = self._form.read(line.text)
        if header is None:
            return Verdict(groups=None, why="not-at-start"), None
        if watch.files and header.file not in watch.files:
            return Verdict(groups=None, why="other-source"), header
        answered, groups = self._match(watch, header)
        if not answered:
            return Verdict(groups=None, why=TOO_SLOW), header
        if groups is None:
            return Verdict(groups=None, why="not-at-start"), header
        if self._continues(watch, line, header, past):
            self._continued = header.raw
            return Verdict(groups=None, why="continuation"), header
        return Verdict(groups=groups), header

    def _continues(self, watch: Watch, line: Line, header: Header, past: Past) -> bool:
        before = past.line_before(line.stream)
        if before is not None and before.partial:
            return True
        if not header.raw:
            return False  # a JSON line is a whole message
        if before is not None and before.text.endswith(b"\r"):
            other = self._form.read(before.text)
            if other is not None and other.raw == header.raw:
                return True
        found = past.line_with(header.raw, self._form)
        if found is None:
            return False
        earlier, its_header = found
        if earlier.text.endswith(b"\r") or header.raw == self._continued:
            return True
        return not self._begins_alike(watch, its_header)

    def _begins_alike(self, watch: Watch, header: Header) -> bool:
        """Tell whether a message may come from the place in the source that writes the signal."""
        if watch.literal and watch.pattern.encode().startswith(watch.literal):
            return header.message.startswith(watch.literal[:_SAME])  # the rest may be damaged
        answered, groups = self._match(watch, header)
        return answered and groups is not None

    def _match(self, watch: Watch, header: Header) -> tuple[bool, Mapping[str, str] | None]:
        return self._search(watch.pattern, header.message.decode("utf-8", "surrogateescape"))
