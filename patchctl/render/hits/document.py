"""The JSON part of ``hits``. Its times come from the logs, not from a clock."""

from __future__ import annotations

from typing import Any

from patchctl.commands.hits import Incidence
from patchctl.render.hits.words import day_text, days_of, hour_text, stamp_text
from patchctl.signals import EntryCount


def hits_document(found: Incidence) -> dict[str, Any]:
    """Return what was counted as plain values."""
    counted = found.counted
    source = "given" if found.given_requests is not None else "access-lines" if counted.requests else "none"
    return {
        "scope": found.scope,
        "by": found.by,
        "followed": found.followed,
        "logs": list(found.logs),
        "bytes": counted.size,
        "long_lines": counted.long_lines,
        "clock": counted.clock,
        "requests": {
            "total": found.requests,
            "source": source,
            "instances": [{"instance": name, "count": count} for name, count in counted.requests],
        },
        "entries": [_entry(entry, found) for entry in counted.entries],
    }


def _entry(count: EntryCount, found: Incidence) -> dict[str, Any]:
    return {
        "id": count.id,
        "title": count.title,
        "lines": count.lines,
        "hits": _whole(count.hits),
        "complete": count.complete,
        "per_thousand": found.rate(count.hits),
        "ranks": count.ranks,
        "ranks_from": count.ranks_from,
        "kind_group": count.kind_group,
        "kinds": [{"kind": kind, "lines": lines} for kind, lines in count.kinds],
        "instances": [{"instance": name, "lines": lines} for name, lines in count.instances],
        "writers": [{"process": name, "lines": lines} for name, lines in count.writers],
        "days": [{"day": day_text(day), "lines": lines} for day, lines in days_of(count)],
        "hours": [{"hour": hour_text(hour), "lines": lines} for hour, lines in count.hours],
        "undated": count.undated,
        "first": stamp_text(count.first),
        "last": stamp_text(count.last),
        "numbers": [{"group": group, **number._asdict()} for group, number in count.numbers],
        "mismatch": None
        if count.mismatch is None
        else {
            "groups": list(count.mismatch.names),
            "values": list(count.mismatch.values),
            "difference": count.mismatch.difference,
            "at": stamp_text(count.mismatch.stamp),
        },
        "spikes": [
            {"hour": hour_text(spike.hour), "lines": spike.lines, "limit": round(spike.limit, 3)}
            for spike in count.spikes
        ],
        "passed_over": [{"reason": reason, "lines": lines} for reason, lines in count.passed_over],
    }


def _whole(value: float) -> float:
    return int(value) if value == int(value) else value
