"""``ps``: which processes of the environment run code from before the last change."""

from __future__ import annotations

import os

from patchctl.commands.locating import locate
from patchctl.commands.place import Place
from patchctl.commands.report import ProcessReport, Report
from patchctl.commands.running import look
from patchctl.commands.status import unfinished_problems
from patchctl.errors import Outcome, Problem
from patchctl.model.processes import Age


def ps(place: Place) -> Report:
    """List the processes of the environment.

    ATTENTION when one of them runs old code; where none was found to, but not all could be told, CANNOT_ANSWER.
    """
    target, journal = locate(place)
    found = look(place, target.site)
    unseen = _unseen(found)
    outcome = _outcome(found)
    return Report(
        command="ps",
        outcome=outcome if journal is None else outcome.worse(Outcome.UNFINISHED),
        target=target,
        journal=journal,
        processes=found,
        notes=_notes(found),
        warnings=() if unseen is None else (unseen,),
        errors=unfinished_problems(journal),
    )


def _outcome(found: ProcessReport) -> Outcome:
    if found.of_age(Age.STALE):
        return Outcome.ATTENTION
    whole = found.census.whole and not found.of_age(Age.UNKNOWN)
    # Where nothing was changed there is no old code that anybody could run.
    return Outcome.OK if whole or not found.recorded else Outcome.CANNOT_ANSWER


def _notes(found: ProcessReport) -> tuple[str, ...]:
    stale, unknown = found.of_age(Age.STALE), found.of_age(Age.UNKNOWN)
    if not found.recorded:
        return ("no change of this environment is recorded: every process runs what is there",)
    notes = []
    if stale:
        verb = "processes run" if len(stale) > 1 else "process runs"
        notes.append(f"{len(stale)} {verb} the code from before the last change: restart to take effect")
    if unknown:
        verb = "processes run" if len(unknown) > 1 else "process runs"
        notes.append(
            f"{len(unknown)} more {verb} this environment's interpreter since before the last change; nothing shows"
            " whether they loaded the old code"
        )
    if not notes:
        seen = "none of the processes that can be inspected" if not found.census.whole else "no process"
        notes.append(f"{seen} runs the code from before the last change")
    return tuple(notes)


def _unseen(found: ProcessReport) -> Problem | None:
    """Return what stayed out of sight, so that nobody takes "none found" for "none there"; None: nothing did."""
    census = found.census
    if census.whole:
        return None
    parts = [f"{count} of {found.logins.get(uid, f'uid {uid}')}" for uid, count in census.blocked.items()]
    parts += [f"{census.unanswered} that did not answer in time"] if census.unanswered else []
    if parts:
        message = f"cannot inspect {census.unseen} process{'es' if census.unseen != 1 else ''}: {', '.join(parts)}"
    else:
        message = "cannot inspect the processes of others: they are not shown here"
    hint = "run it as root, or as the user of the service" if os.geteuid() != 0 else None
    return Problem(code="cannot-inspect", message=message, hint=hint)
