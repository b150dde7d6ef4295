"""Processes in their shapes: JSON, one record a line, and what a person reads, grouped by user."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from patchctl.commands.report import ProcessReport
from patchctl.model.history import Moment
from patchctl.model.processes import Age, ProcessFact

_SECOND = 1_000_000_000
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_STYLES = {Age.STALE: "bold yellow", Age.FRESH: "green", Age.UNKNOWN: "yellow"}


def processes_document(report: ProcessReport, *, timed: bool) -> dict[str, Any]:
    """Return what was seen as plain values; ``timed``: with the times that only ``ps`` tells."""
    now = report.census.now
    return {
        "recorded": report.recorded,
        "transaction": report.transaction,
        **({"changed_at": report.changed} if timed else {}),
        "seen": [
            {
                "pid": process.pid,
                "parent": process.parent,
                "uid": process.uid,
                "user": report.logins.get(process.uid),
                "age": age.value,
                "mapped": process.mapped,
                "command": process.command,
                **({"started_at": started_text(process, now), "seconds": _seconds(process, now)} if timed else {}),
            }
            for process, age in report.judged
        ],
        "blocked": [
            {"uid": uid, "user": report.logins.get(uid), "count": count} for uid, count in report.census.blocked.items()
        ],
        "unanswered": report.census.unanswered,
        "hidden": report.census.hidden,
        "complete": report.census.complete,
    }


def process_records(report: ProcessReport, *, timed: bool) -> Iterator[tuple[str, ...]]:
    """Return the fields of plain records: one for each process, and from ``ps`` one for each user whose are hidden."""
    for process, age in report.judged:
        times = (f"started={started_text(process, report.census.now)}",) if timed else ()
        yield (
            "process",
            str(process.pid),
            f"age={age.value}",
            f"user={user_text(report, process.uid)}",
            f"parent={process.parent}",
            *times,
            f"mapped={'yes' if process.mapped else 'no'}",
            f"command={process.command}",
        )
    for uid, count in report.census.blocked.items() if timed else ():
        yield "blocked", user_text(report, uid), f"count={count}"


def process_lines(report: ProcessReport) -> Iterator[tuple[str, str, int]]:
    """Return (text, style, level) for a terminal, the processes of one user together."""
    for uid in dict.fromkeys(process.uid for process, _ in report.judged):
        yield f"{user_text(report, uid)}:", "bold", 0
        for process, age in report.judged:
            if process.uid == uid:
                since = _duration(_seconds(process, report.census.now))
                yield f"{age.value:<8}{process.pid:>8}  {since:>7}  {process.command}", _STYLES[age], 1


def user_text(report: ProcessReport, uid: int) -> str:
    """Return the name of a user, where there is one."""
    return report.logins.get(uid) or f"uid-{uid}"


def _seconds(process: ProcessFact, now: Moment) -> int:
    return max(now.boottime_ns - process.start_ns, 0) // _SECOND


def started_text(process: ProcessFact, now: Moment) -> str:
    """Return when a process began, in UTC, ISO 8601 with ``Z``."""
    from datetime import datetime, timezone

    second = (now.realtime_ns - (now.boottime_ns - process.start_ns)) // _SECOND
    return datetime.fromtimestamp(second, tz=timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _duration(seconds: int) -> str:
    size, unit = next((it for it in _UNITS if seconds >= it[0]), _UNITS[-1])
    return f"{seconds // size} {unit}"
