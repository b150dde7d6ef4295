"""What is looked for in logs, and what is found there: values. How lines are read and counted is not here."""

from __future__ import annotations

from typing import NamedTuple

TOO_SLOW = "too-slow"
"""Why a line does not count of which nobody knows whether it should."""


class Watch(NamedTuple):
    """One signal to look for.

    Attributes:
        id: of the entry.
        title: of the entry.
        pattern: regular expression, matched at the start of a message.
        literal: bytes that stand in every line which the pattern matches; empty: none is known.
        files: names of the source files that may write it, as the logger shows them, without directories; empty: any.
    """

    id: str
    title: str
    pattern: str
    literal: bytes
    files: frozenset[str] = frozenset()


class Stamp(NamedTuple):
    """When a line was written.

    Attributes:
        second: since 1970-01-01 00:00; of the clock that the line shows where ``utc`` is false.
        utc: the line says its zone, so that ``second`` counts in UTC.
    """

    second: int
    utc: bool


class Line(NamedTuple):
    """One line without what a container runtime or a log daemon put before it.

    Attributes:
        text: what the process wrote, without the line end; a carriage return at the end stays.
        stamp: when, as the prefix says; None: it does not.
        stream: which output of which container the line belongs to; lines of one stream follow each other.
        name: of the service, container or unit; None: the prefix does not say.
        pid: of the process, as the prefix says.
        partial: the line goes on in the next one of this stream.
    """

    text: bytes
    stamp: Stamp | None = None
    stream: bytes = b""
    name: str | None = None
    pid: str | None = None
    partial: bool = False


class Header(NamedTuple):
    """What vLLM's logger puts before a message.

    Attributes:
        level: such as ``WARNING``.
        file: name of the source file, without directories; None: the format does not show it.
        message: of the line.
        process: name of the process that wrote it, such as ``Worker_TP0``; None: the format does not show it.
        pid: of that process.
        when: year, month, day, hour, minute, second and zone as they are written; None: not given.
        raw: the header's own bytes, up to the message.
    """

    level: str
    file: str | None
    message: bytes
    process: str | None = None
    pid: str | None = None
    when: tuple[bytes | None, ...] | None = None
    raw: bytes = b""


class Number(NamedTuple):
    """The values of one group that captured whole numbers, in so many lines."""

    lines: int
    total: int
    least: int
    most: int


class Mismatch(NamedTuple):
    """The line whose two numbers differ most.

    Attributes:
        names: of the two groups.
        values: of that line.
        stamp: when it was written.
    """

    names: tuple[str, str]
    values: tuple[int, int]
    stamp: Stamp | None

    @property
    def difference(self) -> int:
        """The second number less the first one."""
        return self.values[1] - self.values[0]


class Spike(NamedTuple):
    """An hour that stands out: more lines than ``limit``, which the other hours give."""

    hour: int
    lines: int
    limit: float


class EntryCount(NamedTuple):
    """What was counted of one entry.

    Attributes:
        id: of the entry.
        title: of the entry.
        lines: log lines that are its signal.
        hits: how often the patch worked: lines of tensor-parallel ranks count once for all of them.
        ranks: how many ranks wrote each of those lines.
        ranks_from: ``given``, ``seen`` (in the names of the processes) or ``none`` (one line is one hit).
        kinds: what the lines say of themselves -> lines, most first; empty: nothing.
        kind_group: the group of the pattern that gives the kinds.
        instances: instance -> lines, most first.
        cells: kind, instance and lines, ``-`` for a kind where there is none.
        writers: process name, without numbers of ranks -> lines.
        hours: hours since 1970 -> lines, in order.
        undated: lines without a time.
        first: when the first of them was written, by time.
        last: when the last one was.
        numbers: group -> its values.
        mismatch: the largest difference of two numbers.
        spikes: hours that stand out.
        passed_over: why lines that have the text do not count -> how many.
    """

    id: str
    title: str
    lines: int
    hits: float
    ranks: int
    ranks_from: str
    kinds: tuple[tuple[str, int], ...]
    kind_group: str | None
    instances: tuple[tuple[str, int], ...]
    cells: tuple[tuple[str, str, int], ...]
    writers: tuple[tuple[str, int], ...]
    hours: tuple[tuple[int, int], ...]
    undated: int
    first: Stamp | None
    last: Stamp | None
    numbers: tuple[tuple[str, Number], ...]
    mismatch: Mismatch | None
    spikes: tuple[Spike, ...]
    passed_over: tuple[tuple[str, int], ...]

    @property
    def complete(self) -> bool:
        """Every line that has the text was judged; else the counts are the least that there may have been."""
        return TOO_SLOW not in dict(self.passed_over)


class Counted(NamedTuple):
    """What was counted in all logs.

    Attributes:
        entries: in registry order.
        requests: access lines of requests to the model, by instance, most first.
        size: bytes read, after decompression.
        long_lines: lines longer than is read; the rest of each was skipped.
        clock: ``utc``, ``as-written`` (the logs do not say their zone), ``mixed`` or ``none``.
    """

    entries: tuple[EntryCount, ...]
    requests: tuple[tuple[str, int], ...]
    size: int
    long_lines: int
    clock: str
