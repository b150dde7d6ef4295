"""``hits`` for a terminal: a block an entry, with bars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from patchctl.commands.hits import Incidence
from patchctl.render.hits.words import (
    day_text,
    days_of,
    hits_text,
    hour_text,
    lines_text,
    mismatch_text,
    passed_text,
    ranks_text,
    remarks,
    requests_text,
    size_text,
    stamp_text,
)
from patchctl.signals import EntryCount

_BARS = "▁▂▃▄▅▆▇█"
_FULL = "█"
_SPARKS = 48
_BAR = 24
_MOST_ROWS = 12
_NAME = 44
_MOST_SPIKES = 5


def hits_lines(found: Incidence) -> Iterator[tuple[str, str, int]]:
    """Return (text, style, level) for a terminal."""
    counted = found.counted
    logs = "1 log" if len(found.logs) == 1 else f"{len(found.logs)} logs"
    yield f"{logs}, {size_text(counted.size)}; {requests_text(found)}", "", 0
    yield "", "", 0
    for entry in counted.entries:
        yield from _entry(entry, found)
    for remark in remarks(found):
        yield f"note: {remark}", "dim", 0


def _entry(count: EntryCount, found: Incidence) -> Iterator[tuple[str, str, int]]:
    yield f"{count.id}  {hits_text(count, found)}", "bold yellow" if count.lines else "bold", 0
    if count.lines:
        yield from _facts(count, found)
    for reason, lines in count.passed_over:
        yield f"not counted  {lines_text(lines)} {passed_text(reason)}", "dim", 1
    yield "", "", 0


def _facts(count: EntryCount, found: Incidence) -> Iterator[tuple[str, str, int]]:
    ranks = ranks_text(count)
    if ranks is not None:
        yield f"ranks      {ranks}", "", 1
    if count.first is not None:
        undated = f", {count.undated:,} without a time" if count.undated else ""
        yield f"when       {stamp_text(count.first)} to {stamp_text(count.last)}{undated}", "", 1
    if count.kinds:
        yield f"{count.kind_group or 'kind':<10} {', '.join(f'{kind} {lines:,}' for kind, lines in count.kinds)}", "", 1
    for group, number in count.numbers:
        yield (
            f"sum        {group} {number.total:,} in {lines_text(number.lines)}, {number.least:,} to {number.most:,}",
            "",
            1,
        )
    if count.mismatch is not None:
        yield f"largest    {mismatch_text(count.mismatch)}", "", 1
    yield from _rows(found.by, count.instances)
    if len(count.writers) > 1 or count.writers[0][0] != "-":
        yield f"process    {', '.join(f'{name} {lines:,}' for name, lines in count.writers)}", "", 1
    yield from _windows(count)
    for spike in sorted(count.spikes, key=lambda it: -it.lines)[:_MOST_SPIKES]:
        text = f"spike      {hour_text(spike.hour)}: {spike.lines:,} lines, more than {spike.limit:,.1f}"
        yield text, "bold yellow", 1


def _rows(label: str, rows: Sequence[tuple[str, int]]) -> Iterator[tuple[str, str, int]]:
    most = rows[0][1]
    for name, lines in rows[:_MOST_ROWS]:
        shown = name if len(name) <= _NAME else f"...{name[3 - _NAME :]}"
        yield f"{label:<10} {shown:<{_NAME}} {lines:>9,} {_FULL * max(_BAR * lines // most, 1)}", "", 1
        label = ""
    if len(rows) > _MOST_ROWS:
        yield f"{'':<10} and {len(rows) - _MOST_ROWS} more", "", 1


def _windows(count: EntryCount) -> Iterator[tuple[str, str, int]]:
    if not count.hours:
        return
    first, last = count.hours[0][0], count.hours[-1][0]
    each = -(-(last - first + 1) // _SPARKS)
    label = "hours" if each == 1 else f"{each} h each"
    yield f"{label:<10} {hour_text(first)} {sparkline(count.hours, each)} {hour_text(last)}", "", 1
    days = days_of(count)
    if len(days) > 1:
        yield from _rows("days", [(day_text(day), lines) for day, lines in days[-_MOST_ROWS:]])


def sparkline(hours: Sequence[tuple[int, int]], each: int) -> str:
    """Return a bar for every ``each`` hours from the first to the last; a window without a line is a blank."""
    first, last = hours[0][0], hours[-1][0]
    sums = [0] * ((last - first) // each + 1)
    for hour, lines in hours:
        sums[(hour - first) // each] += lines
    most = max(sums)
    return "".join(_BARS[(lines * len(_BARS) - 1) // most] if lines else " " for lines in sums)
