"""Counts in constant memory: every table has a limit, and what no longer fits is counted as ``other``.

Which lines count is not decided here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from patchctl.signals.civil import HOUR
from patchctl.signals.spikes import find_spikes
from patchctl.signals.values import Counted, EntryCount, Mismatch, Number, Stamp, Watch

OTHER = "other"
"""The label of what found no place in a table."""
UNTOLD = "-"
_MOST_KINDS = 20
_MOST_INSTANCES = 200
_MOST_WRITERS = 50
_MOST_CELLS = 500
_MOST_RANKS = 1024
_MOST_NUMBERS = 8
_MOST_HOURS = 20_000
"""Two years and a quarter."""
_LONGEST_LABEL = 200
_MOST_DIGITS = 18
_PAIR = 2
_RANK = re.compile(r"_TP(\d{1,5})(?![0-9])")
_RANKS = re.compile(r"(?:_(?:DP|PP|PCP|TP|DCP|EP)?\d+)+$")
_ONE_A_MODEL = ("EngineCore", "APIServer")
"""Processes of which a model has one, whatever its tensor parallelism."""


class Hit(NamedTuple):
    """One line that counts.

    Attributes:
        groups: of the pattern, those that took part.
        stamp: when it was written.
        instance: which server wrote it.
        process: name of the process.
    """

    groups: Mapping[str, str]
    stamp: Stamp | None
    instance: str
    process: str | None


class _EntryTally:
    """What is counted of one entry so far."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.lines = self.undated = self.single = 0
        self.kinds: dict[str, int] = {}
        self.instances: dict[str, int] = {}
        self.cells: dict[tuple[str, str], int] = {}
        self.writers: dict[str, int] = {}
        self.ranks: dict[str, int] = {}
        self.hours: dict[int, int] = {}
        self.passed: dict[str, int] = {}
        self.numbers: dict[str, Number] = {}
        self.kind_group: str | None = None
        self.first: Stamp | None = None
        self.last: Stamp | None = None
        self.mismatch: Mismatch | None = None

    def add(self, hit: Hit) -> None:
        self.lines += 1
        instance = _count(self.instances, hit.instance, _MOST_INSTANCES)
        kind = self._add_groups(hit)
        cell = (kind, instance) if (kind, instance) in self.cells or len(self.cells) < _MOST_CELLS else (OTHER, OTHER)
        self.cells[cell] = self.cells.get(cell, 0) + 1
        self._add_writer(hit.process)
        if hit.stamp is None:
            self.undated += 1
            return
        hour = hit.stamp.second // HOUR
        if hour in self.hours or len(self.hours) < _MOST_HOURS:
            self.hours[hour] = self.hours.get(hour, 0) + 1
        else:
            self.undated += 1
        if self.first is None or hit.stamp.second < self.first.second:
            self.first = hit.stamp
        if self.last is None or hit.stamp.second >= self.last.second:
            self.last = hit.stamp

    def _add_writer(self, process: str | None) -> None:
        name = process or UNTOLD
        _count(self.writers, _RANKS.sub("", name) or name, _MOST_WRITERS)
        rank = _RANK.search(name)
        if rank is not None:
            _count(self.ranks, rank[1], _MOST_RANKS)
        elif name.startswith(_ONE_A_MODEL):
            self.single += 1

    def _add_groups(self, hit: Hit) -> str:
        """Count what the groups hold; return the kind."""
        pair: list[tuple[str, int]] = []
        words: list[str] = []
        for name, value in hit.groups.items():
            if value.isascii() and value.isdecimal() and len(value) <= _MOST_DIGITS:
                self._add_number(name, int(value))
                pair.append((name, int(value)))
            else:
                words.append(name)
        kind = "kind" if "kind" in hit.groups else words[0] if words else None
        if len(pair) == _PAIR:
            names, values = zip(*pair, strict=True)
            found = Mismatch(names=names, values=values, stamp=hit.stamp)
            if self.mismatch is None or abs(found.difference) > abs(self.mismatch.difference):
                self.mismatch = found
        if kind is None:
            return UNTOLD
        self.kind_group = self.kind_group or kind
        return _count(self.kinds, hit.groups[kind], _MOST_KINDS)

    def _add_number(self, name: str, value: int) -> None:
        known = self.numbers.get(name)
        if known is not None:
            self.numbers[name] = Number(
                lines=known.lines + 1,
                total=known.total + value,
                least=min(known.least, value),
                most=max(known.most, value),
            )
        elif len(self.numbers) < _MOST_NUMBERS:
            self.numbers[name] = Number(lines=1, total=value, least=value, most=value)

    def result(self, given_ranks: int | None) -> EntryCount:
        hits, ranks, source = self._hits(given_ranks)
        return EntryCount(
            id=self.watch.id,
            title=self.watch.title,
            lines=self.lines,
            hits=hits,
            ranks=ranks,
            ranks_from=source,
            kinds=_most_first(self.kinds),
            kind_group=self.kind_group,
            instances=_most_first(self.instances),
            cells=tuple((kind, instance, lines) for (kind, instance), lines in sorted(self.cells.items())),
            writers=_most_first(self.writers),
            hours=tuple(sorted(self.hours.items())),
            undated=self.undated,
            first=self.first,
            last=self.last,
            numbers=tuple(self.numbers.items()),
            mismatch=self.mismatch,
            spikes=find_spikes(self.hours),
            passed_over=_most_first(self.passed),
        )

    def _hits(self, given: int | None) -> tuple[float, int, str]:
        """How often the patch worked: each tensor-parallel rank wrote its own line."""
        if given is not None:
            return self.single + (self.lines - self.single) / given, given, "given"
        ranked, seen = sum(self.ranks.values()), len(self.ranks)
        if seen > 1:
            return self.lines - ranked + ranked / seen, seen, "seen"
        return float(self.lines), 1, "none"


class Tally:
    """Everything that is counted.

    Args:
        watches: what is looked for.
        ranks: how many tensor-parallel ranks write each line, as the operator says; None: the names tell, or nobody.
    """

    def __init__(self, watches: Sequence[Watch], ranks: int | None = None) -> None:
        self._entries = [_EntryTally(watch) for watch in watches]
        self._ranks = ranks
        self._requests: dict[str, int] = {}
        self.size = 0
        self.long_lines = 0
        self._clocks: set[bool] = set()

    def hit(self, number: int, hit: Hit) -> None:
        """Count a line of the watch with that number."""
        self._entries[number].add(hit)
        if hit.stamp is not None:
            self._clocks.add(hit.stamp.utc)

    def pass_over(self, number: int, why: str) -> None:
        """Count a line that has the text of a watch, but is no signal."""
        passed = self._entries[number].passed
        passed[why] = passed.get(why, 0) + 1

    def request(self, instance: str, count: int) -> None:
        """Count access lines."""
        _count(self._requests, instance, _MOST_INSTANCES, count)

    def result(self) -> Counted:
        """Return what was counted so far."""
        clock = "mixed" if len(self._clocks) > 1 else "utc" if True in self._clocks else "as-written"
        return Counted(
            entries=tuple(entry.result(self._ranks) for entry in self._entries),
            requests=_most_first(self._requests),
            size=self.size,
            long_lines=self.long_lines,
            clock=clock if self._clocks else "none",
        )


def _count(table: dict[str, int], label: str, most: int, count: int = 1) -> str:
    """Add to the count of ``label``; return the label under which it went."""
    label = label[:_LONGEST_LABEL]
    if label not in table and len(table) >= most:
        label = OTHER
    table[label] = table.get(label, 0) + count
    return label


def _most_first(table: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(table.items(), key=lambda item: (-item[1], item[0])))
