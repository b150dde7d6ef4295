"""``history``: what patchctl did to an environment, who did it, and when."""

from __future__ import annotations

from collections.abc import Sequence

from patchctl.commands.locating import locate
from patchctl.commands.place import Place
from patchctl.commands.report import Report
from patchctl.commands.status import unfinished_problems
from patchctl.errors import Outcome
from patchctl.ledger import read_history


def history(place: Place, ids: Sequence[str] = (), *, last: int | None = None) -> Report:
    """Show the records, oldest first.

    Args:
        place: where.
        ids: those alone in which one of these entries was moved, held or named; empty: all.
        last: the newest so many of them; None: all that are kept.
    """
    target, journal = locate(place)
    found = read_history(target.site) if last is None or ids else read_history(target.site, last=last)
    records = found.records
    if journal is not None and not journal.committed:
        # Its record is in place a moment before the commit: as long as that has not come, nothing is done.
        records = tuple(stored for stored in records if stored.record.transaction != journal.transaction)
    if ids:
        records = tuple(it for it in records if set(ids) & {*it.record.named, *(e.id for e in it.record.entries)})
        records = records if last is None else records[len(records) - min(last, len(records)) :]
    notes = () if records else ("nothing is recorded",)
    if found.omitted and last is None:
        notes = (*notes, f"{found.omitted} older records are not shown")
    return Report(
        command="history",
        outcome=Outcome.UNFINISHED if journal is not None else Outcome.OK,
        target=target,
        named=tuple(ids),
        journal=journal,
        history=found._replace(records=records),
        notes=notes,
        warnings=found.problems,
        errors=unfinished_problems(journal),
    )
