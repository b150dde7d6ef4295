"""The plain records of ``hits``, one fact a line."""

from __future__ import annotations

from collections.abc import Iterator

from patchctl.commands.hits import Incidence
from patchctl.render.hits.words import day_text, days_of, hour_text, stamp_text
from patchctl.signals import EntryCount


def hits_records(found: Incidence) -> Iterator[tuple[str, ...]]:
    """Return the fields of plain records."""
    counted = found.counted
    source = "given" if found.given_requests is not None else "access-lines"
    total = "-" if found.requests is None else str(found.requests)
    long = (f"long-lines={counted.long_lines}",) if counted.long_lines else ()
    logs = f"count={len(found.logs)}", f"bytes={counted.size}", f"clock={counted.clock}", f"scope={found.scope}"
    yield "logs", *logs, *long
    yield "requests", f"total={total}", f"source={source}"
    for name, count in counted.requests:
        yield "requests", f"count={count}", f"instance={name}"
    for entry in counted.entries:
        yield from _entry(entry, found)


def _entry(count: EntryCount, found: Incidence) -> Iterator[tuple[str, ...]]:
    rate = found.rate(count.hits)
    yield (
        "hits",
        count.id,
        f"hits={count.hits:g}" if count.hits != int(count.hits) else f"hits={count.hits:.0f}",
        f"lines={count.lines}",
        f"ranks={count.ranks}",
        f"per-thousand={'-' if rate is None else f'{rate:.6g}'}",
        f"first={stamp_text(count.first) or '-'}",
        f"last={stamp_text(count.last) or '-'}",
        f"undated={count.undated}",
        *(() if count.complete else ("complete=no",)),
    )
    for label, rows in (("kind", count.kinds), ("instance", count.instances), ("process", count.writers)):
        for name, lines in rows:
            yield "count", count.id, f"lines={lines}", f"{label}={name}"
    for day, lines in days_of(count):
        yield "count", count.id, f"lines={lines}", f"day={day_text(day)}"
    for hour, lines in count.hours:
        yield "count", count.id, f"lines={lines}", f"hour={hour_text(hour)}"
    for group, number in count.numbers:
        yield "number", count.id, group, *(f"{key}={value}" for key, value in number._asdict().items())
    if count.mismatch is not None:
        named = (f"{name}={value}" for name, value in zip(count.mismatch.names, count.mismatch.values, strict=True))
        at = f"at={stamp_text(count.mismatch.stamp) or '-'}"
        yield "mismatch", count.id, f"difference={count.mismatch.difference}", *named, at
    for spike in count.spikes:
        yield "spike", count.id, f"hour={hour_text(spike.hour)}", f"lines={spike.lines}", f"limit={spike.limit:.2f}"
    for reason, lines in count.passed_over:
        yield "passed", count.id, f"lines={lines}", f"reason={reason}"
