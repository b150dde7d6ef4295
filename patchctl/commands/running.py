"""Which processes run what: the look at them that ``ps``, ``status`` and the writing verbs share.

A look costs milliseconds and may see only a part; it never fails the verb that takes it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from patchctl.commands.author import login_of
from patchctl.commands.place import Place
from patchctl.commands.report import ProcessReport
from patchctl.disk import look_below
from patchctl.errors import PatchctlError, Problem
from patchctl.ledger import LEDGER_PATH, last_change, read_ledger
from patchctl.model.history import Moment
from patchctl.model.processes import Age, ProcessFact
from patchctl.processes import changed_at, judge_processes, line_of, read_moment, scan

LOADING_NS = 600 * 1_000_000_000
"""A process younger than this may still be loading: a large model takes minutes until every module is imported."""

_SECOND = 1_000_000_000
_MINUTE = 60
_MOST = 40
"""Python processes that a status looks into: about a quarter of a millisecond each."""
_BUDGET = 0.25
"""Seconds after which a status gives up, on a machine where even that takes long."""
_MOST_NAMED = 20


class Since(NamedTuple):
    """The last change of the site's files.

    Attributes:
        recorded: there was one.
        boottime_ns: when, in CLOCK_BOOTTIME of this boot; None: before it, or never.
        transaction: its id; None: the history does not have it.
        at: when, as the history says.
    """

    recorded: bool
    boottime_ns: int | None
    transaction: str | None = None
    at: str | None = None


def last_changed(site: str, now: Moment) -> Since:
    """Return the last change of files that is recorded for ``site``; without history the ledger's own time counts."""
    stored = last_change(site)
    if stored is not None:
        at = changed_at(stored.record.moment, stored.placed_ns, now)
        return Since(recorded=True, boottime_ns=at, transaction=stored.record.transaction, at=stored.record.at)
    try:
        if not read_ledger(site).files:
            return Since(recorded=False, boottime_ns=None)
        placed = look_below(site, LEDGER_PATH)
    except PatchctlError:
        placed = None
    if placed is None:
        return Since(recorded=False, boottime_ns=None)
    return Since(recorded=True, boottime_ns=changed_at(None, placed.st_ctime_ns, now))


def look(place: Place, site: str) -> ProcessReport:
    """Look at all processes and judge those of ``site``."""
    now = read_moment(place.proc, place.boottime_ns)
    since = last_changed(site, now)
    census = scan(site, now, proc=place.proc, skip={os.getpid()})
    return ProcessReport(
        judged=judge_processes(census, since.boottime_ns),
        census=census,
        recorded=since.recorded,
        transaction=since.transaction,
        changed=since.at,
        logins=_logins({*(process.uid for process in census.found), *census.blocked}),
    )


def still_running(place: Place, site: str) -> tuple[str, ...]:
    """Say in a sentence, for a status, that processes run old code; nothing where none does. Milliseconds at most."""
    try:
        now = read_moment(place.proc, place.boottime_ns)
        since = last_changed(site, now)
        if since.boottime_ns is None:
            return ()
        census = scan(
            site, now, proc=place.proc, skip={os.getpid()}, before_ns=since.boottime_ns, most=_MOST, budget=_BUDGET
        )
    except OSError:
        return ()
    stale = [process for process, age in judge_processes(census, since.boottime_ns) if age is Age.STALE]
    if stale:
        few = "" if census.complete else "at least "
        verb = "processes still run" if len(stale) > 1 else "process still runs"
        return (f"{few}{len(stale)} {verb} the code from before the last change: patchctl ps; restart to take effect",)
    if not census.complete:
        return ("whether processes still run the code from before the last change: patchctl ps",)
    return ()


def restart_note(report: ProcessReport, *, aside: bool = False) -> tuple[str, ...]:
    """Say after a change which processes must be restarted for it; ``aside``: not before the upgrade is done."""
    stale = report.of_age(Age.STALE)
    if not stale:
        return ()
    verb = "processes still run" if len(stale) > 1 else "process still runs"
    advice = "restart after the upgrade" if aside else "restart to take effect"
    return (f"{len(stale)} {verb} the old code, {advice}: {_named(stale)}",)


def loading_problem(place: Place, site: str) -> Problem | None:
    """Return why files must not change now: a process of the environment may still be loading; None: none is.

    This process and those that it came from do not count: whoever runs patchctl waits for it.
    """
    now = read_moment(place.proc, place.boottime_ns)
    census = scan(site, now, proc=place.proc, skip=line_of(os.getpid(), place.proc))
    young = [process for process in census.found if now.boottime_ns - process.start_ns < LOADING_NS]
    if not young:
        return None
    who = f"{len(young)} processes" if len(young) > 1 else "a process"
    verb = "are" if len(young) > 1 else "is"
    return Problem(
        code="still-loading",
        message=f"{who} of this environment {verb} younger than ten minutes and may still be loading: old and new code"
        " would be mixed",
        hint=f"wait, or say --allow-running: {_named(young, now)}",
    )


def _named(processes: Sequence[ProcessFact], now: Moment | None = None) -> str:
    shown = [
        f"{process.pid} ({_age(now.boottime_ns - process.start_ns)}, {_first_word(process)})"
        if now is not None
        else f"{process.pid} ({_first_word(process)})"
        for process in processes[:_MOST_NAMED]
    ]
    more = len(processes) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _first_word(process: ProcessFact) -> str:
    return process.command.partition(" ")[0].rpartition("/")[2] or "-"


def _age(age_ns: int) -> str:
    seconds = max(age_ns, 0) // _SECOND
    return f"{seconds} s old" if seconds < _MINUTE else f"{seconds // _MINUTE} min old"


def _logins(uids: Iterable[int]) -> dict[int, str]:
    return {uid: name for uid in sorted(uids) if (name := login_of(uid)) is not None}
