"""``hits`` as CSV for spreadsheets: one table, one number a row.

What a spreadsheet would take for a formula gets an apostrophe before it: kinds come out of logs. Some countries part
cells with semicolons, and a spreadsheet there begins a cell behind each, so that these places are seen to as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from patchctl.commands.hits import Incidence
from patchctl.render.escape import visible
from patchctl.render.hits.words import day_text, days_of, hour_text
from patchctl.signals import EntryCount

_COLUMNS = ("entry", "breakdown", "value", "lines", "hits", "per_thousand_requests")
_FORMULA = re.compile("(?:^|(?<=;))(?=[\\s\"']*[=+\\-@|%\uff1d\uff0b\uff0d\uff20])")
"""Where a cell begins, or might, with a sign that begins a formula; blanks and quotation marks do not hinder it."""
_NONE = "-"


def hits_csv(found: Incidence) -> str:
    """Return the table with its heading, lines ended by a line feed."""
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for entry in found.counted.entries:
        writer.writerows([neutral(cell) for cell in row] for row in _rows(entry, found))
    for name, count in found.counted.requests:
        writer.writerow(["", "requests", neutral(name), str(count), "", ""])
    return text.getvalue()


def neutral(cell: str) -> str:
    """Return a cell that no spreadsheet takes for a formula, on one line."""
    shown = visible(cell)
    return shown if shown == _NONE else _FORMULA.sub("'", shown)


def _rows(count: EntryCount, found: Incidence) -> Iterator[tuple[str, ...]]:
    rate = found.rate(count.hits)
    hits = f"{count.hits:.0f}" if count.hits == int(count.hits) else f"{count.hits:.3f}"
    yield count.id, "total", "", str(count.lines), hits, "" if rate is None else f"{rate:.6g}"
    tables = (
        ("kind", count.kinds),
        ("instance", count.instances),
        ("process", count.writers),
        ("day", tuple((day_text(day), lines) for day, lines in days_of(count))),
        ("hour", tuple((hour_text(hour), lines) for hour, lines in count.hours)),
        ("passed-over", count.passed_over),
    )
    for breakdown, rows in tables:
        for value, lines in rows:
            yield count.id, breakdown, value, str(lines), "", ""
