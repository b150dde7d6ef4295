"""Finds candidates in the bytes of one log, block by block, and has them judged and counted.

A block is searched for the watches' literals with ``bytes.find``; only a line that has one is looked at. Before the
fresh bytes of a block lie some that were searched already: what a candidate may continue stands there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from patchctl.signals.access import MARK, RequestCounter, is_request
from patchctl.signals.envelopes import Envelope, recognise, unwrap
from patchctl.signals.headers import HeaderForm, stamp_of
from patchctl.signals.journal import JournalReader
from patchctl.signals.judging import Judge, Past, Search
from patchctl.signals.records import LONGEST_LINE
from patchctl.signals.tally import Hit, Tally
from patchctl.signals.values import Header, Line, Stamp, Watch

CONTEXT = 1 << 16
AT_ONCE = 1 << 20
"""Bytes that are searched together, however small the pieces are in which they come."""
_ENOUGH_TO_RECOGNISE = 1 << 13
_PORT_MARK = b"Starting vLLM "
_PORT_PATTERN = r"Starting vLLM (?:API )?server(?: \d+)? on \w+://.*?:(?P<port>\d{1,5})(?:\D|$)"
_PORT = Watch(id="port", title="", pattern=_PORT_PATTERN, literal=_PORT_MARK)
_PARTIALS = (b" stdout P ", b" stderr P ")
_BEFORE_A_MESSAGE = (b"] ", b"m ", b'"')
"""The logger's prefix, its coloured prefix, and a string of JSON end so: enough to leave most forgeries aside."""
_PORT_NUMBER = -1
_PARTIAL_NUMBER = -2


class Wanted(NamedTuple):
    """What a scanner looks for, and how.

    Attributes:
        watches: the signals.
        form: reads the logger's prefix.
        search: matches a pattern, with a deadline.
        by: what tells instances apart: ``file``, ``port`` or ``pid``.
        requests: access lines are counted too.
    """

    watches: Sequence[Watch]
    form: HeaderForm
    search: Search
    by: str = "file"
    requests: bool = True


class Scanner:
    """Reads one log, or one rotated set of logs, from its beginning.

    Args:
        wanted: what to look for.
        tally: where to count it.
        label: the name of the log, which is its instance where the lines do not say better.
        latest: seconds since 1970: when it was last written.
    """

    def __init__(self, wanted: Wanted, tally: Tally, label: str, latest: int) -> None:
        self._wanted, self._tally, self._label, self._latest = wanted, tally, label, latest
        self._judge = Judge(wanted.form, wanted.search)
        self._counter = RequestCounter()
        self._envelope: Envelope | None = None
        self._journal = JournalReader()
        self._data = bytearray(b"\n")
        self._fresh = 1
        self._skipping = False
        self._port: str | None = None
        self._leading: frozenset[int] = frozenset()

    def begin(self, latest: int) -> None:
        """Go on with the next file of a rotated set, which was last written at ``latest``."""
        if latest != self._latest and self._envelope is not None:
            self.catch_up()  # its dates without a year are of the file before
        self._latest = latest

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the log."""
        self._tally.size += len(chunk)
        if self._skipping:
            at = chunk.find(b"\n")
            if at < 0:
                return
            self._skipping, chunk = False, chunk[at + 1 :]
        self._data += chunk
        if self._envelope is None and len(self._data) > _ENOUGH_TO_RECOGNISE:
            self._recognise()
        if self._envelope is not None and len(self._data) - self._fresh >= AT_ONCE:
            self._work(final=False)

    def catch_up(self) -> None:
        """Count every whole line that is there, however few: of a log that is followed, or before its next file."""
        if self._data.rfind(b"\n") < self._fresh:
            return
        if self._envelope is None:
            self._recognise()
        self._work(final=False)

    def finish(self) -> None:
        """Count what is left: the end of the log, also of its last line."""
        if self._envelope is None:
            self._recognise()
        if self._envelope is Envelope.JOURNAL_EXPORT:
            self._work(final=True)
            self._take(self._journal.finish())
        else:
            if not self._data.endswith(b"\n"):
                self._data += b"\n"
            self._work(final=True)
        self._data, self._fresh, self._skipping = bytearray(b"\n"), 1, False

    def _recognise(self) -> None:
        self._envelope = recognise(bytes(self._data[self._fresh : self._fresh + CONTEXT]))
        if self._envelope is not Envelope.CRI:  # there a piece of a line may begin anywhere
            watches = enumerate(self._wanted.watches)
            leading = {number for number, it in watches if it.literal and it.pattern.encode().startswith(it.literal)}
            self._leading = frozenset(leading)

    def _work(self, *, final: bool) -> None:
        if self._envelope is Envelope.JOURNAL_EXPORT:
            self._take(self._journal.feed(bytes(self._data[self._fresh :])))
            self._data, self._fresh = bytearray(b"\n"), 1
            return
        end = self._data.rfind(b"\n", self._fresh) + 1
        done = self._search(self._fresh, end, final=final) if end else self._fresh
        begin = max(done, end)
        if len(self._data) - begin > LONGEST_LINE:
            if done < begin:
                self._search(done, begin, final=True)
            done = self._cut_off(begin)
        keep = max(self._data.rfind(b"\n", 0, max(done - CONTEXT, 1)), 0)
        del self._data[:keep]
        self._fresh = done - keep

    def _cut_off(self, start: int) -> int:
        """Judge the beginning of a line that is too long, and skip the rest of it."""
        self._tally.long_lines += 1
        self._skipping = True
        self._data[start + LONGEST_LINE :] = b"\n"
        return self._search(start, len(self._data), final=True)

    def _search(self, start: int, end: int, *, final: bool) -> int:
        """Count in ``data[start:end]``, whole lines; return where to go on, before ``end`` if a line is in pieces."""
        stop = end
        for begin, line_end, number in sorted(set(self._candidates(start, end))):
            if number == _PARTIAL_NUMBER:
                joined = self._joined(begin, line_end, end, final=final)
                if joined is None:
                    stop = begin
                    break
                self._judge_all(joined, begin)
            else:
                self._judge_one(number, begin, line_end)
        if self._wanted.requests:
            self._count_requests(start, stop)
        return stop

    def _candidates(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Give begin, end and number of the watch of every line that has its literal, each line once a watch."""
        marks = [(watch.literal or b"\n", number) for number, watch in enumerate(self._wanted.watches)]
        if self._wanted.by == "port":
            marks.append((_PORT_MARK, _PORT_NUMBER))
        if self._envelope is Envelope.CRI:
            marks += [(mark, _PARTIAL_NUMBER) for mark in _PARTIALS]
        if self._envelope is Envelope.JOURNAL_JSON:
            marks += [(b'"MESSAGE":[', number) for _, number in marks]
        data = self._data
        for mark, number in marks:
            leading = number in self._leading and mark == self._wanted.watches[number].literal
            at = data.find(mark, start, end)
            while at >= 0:
                line_end = data.find(b"\n", at, end)
                if leading and not data.endswith(_BEFORE_A_MESSAGE, max(at - 2, 0), at):
                    self._tally.pass_over(number, "not-at-start")
                else:
                    yield data.rfind(b"\n", 0, at) + 1, line_end, number
                at = data.find(mark, line_end + 1, end)

    def _judge_one(self, number: int, begin: int, line_end: int) -> None:
        line = self._line(begin, line_end)
        if line is None:
            if number >= 0:
                self._tally.pass_over(number, "not-at-start")
            return
        if self._envelope is Envelope.JOURNAL_JSON and number >= 0 and not self._has_text(number, line):
            return  # it was only a list of bytes, which might have had the text
        past = Past(self._data, begin, self._envelope or Envelope.PLAIN, self._latest)
        if self._envelope is Envelope.CRI:
            before = past.line_before(line.stream)
            if line.partial or (before is not None and before.partial):
                return  # judged when its pieces are joined
        self._judge_line(number, line, past)

    def _has_text(self, number: int, line: Line) -> bool:
        return self._wanted.watches[number].literal in line.text

    def _judge_all(self, line: Line, begin: int) -> None:
        past = Past(self._data, begin, Envelope.CRI, self._latest)
        if self._wanted.by == "port" and _PORT_MARK in line.text:
            self._judge_line(_PORT_NUMBER, line, past)
        for number in range(len(self._wanted.watches)):
            if line.text and self._has_text(number, line):
                self._judge_line(number, line, past)

    def _judge_line(self, number: int, line: Line, past: Past) -> None:
        watch = self._wanted.watches[number] if number >= 0 else _PORT
        verdict, header = self._judge.judge(watch, line, past)
        if number == _PORT_NUMBER:
            if verdict.groups is not None:
                self._port = verdict.groups["port"]
            return
        if verdict.groups is None or header is None:
            self._tally.pass_over(number, verdict.why)
            return
        self._tally.hit(
            number,
            Hit(
                groups=verdict.groups,
                stamp=self._stamp(line, header),
                instance=self._instance(line.name, header.pid or line.pid),
                process=header.process,
            ),
        )

    def _stamp(self, line: Line, header: Header) -> Stamp | None:
        """The time of a line: a container's own clock says its zone, the logger's does not."""
        if line.stamp is not None and line.stamp.utc:
            return line.stamp
        own = stamp_of(header, self._latest)
        return line.stamp if own is None else own

    def _joined(self, begin: int, line_end: int, end: int, *, final: bool) -> Line | None:
        """Return a line in pieces as one; None: its end is not there yet.

        Only its first piece gives it; for a later one the empty line is given.
        """
        start, first = begin, self._line(begin, line_end)
        nothing = Line(text=b"")
        if first is None or not first.partial:
            return nothing
        before = Past(self._data, begin, Envelope.CRI, self._latest).line_before(first.stream)
        if before is not None and before.partial:
            return nothing
        pieces, size = [first.text], len(first.text)
        while size < LONGEST_LINE:
            begin = line_end + 1
            if begin >= end:
                if final or end - start > LONGEST_LINE:
                    break
                return None
            line_end = self._data.find(b"\n", begin, end)
            piece = self._line(begin, line_end)
            if piece is not None and piece.stream == first.stream:
                pieces.append(piece.text)
                size += len(piece.text)
                if not piece.partial:
                    break
        return first._replace(text=b"".join(pieces), partial=False)

    def _line(self, begin: int, end: int) -> Line | None:
        return unwrap(self._envelope or Envelope.PLAIN, bytes(self._data[begin:end]), self._latest)

    def _instance(self, name: str | None, pid: str | None) -> str:
        label = name or self._label
        if self._wanted.by == "pid" and pid is not None:
            return f"pid {pid}"
        if self._wanted.by == "port" and self._port is not None:
            return f"port {self._port}"
        return label

    def _count_requests(self, start: int, end: int) -> None:
        if self._envelope is Envelope.PLAIN:
            found = self._counter.count(self._data, start, end)
            if found:
                self._tally.request(self._instance(None, None), found)
            return
        at = self._data.find(MARK, start, end)
        while at >= 0:
            begin = self._data.rfind(b"\n", 0, at) + 1
            line_end = self._data.find(b"\n", at, end)
            line = self._line(begin, line_end)
            if line is not None and is_request(line.text):
                self._tally.request(self._instance(line.name, line.pid), 1)
            at = self._data.find(MARK, line_end, end)

    def _take(self, lines: Iterator[tuple[Line, bytes]]) -> None:
        """Count the entries of a journal, each with the one before it of the same process."""
        for entry, before in lines:
            line = entry._replace(stream=b"")
            past = Past(before, len(before), Envelope.PLAIN, self._latest)
            if self._wanted.by == "port" and _PORT_MARK in line.text:
                self._judge_line(_PORT_NUMBER, line, past)
            for number in range(len(self._wanted.watches)):
                if self._has_text(number, line):
                    self._judge_line(number, line, past)
            if self._wanted.requests and MARK in line.text and is_request(line.text):
                self._tally.request(self._instance(line.name, line.pid), 1)
