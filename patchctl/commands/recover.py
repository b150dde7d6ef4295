"""``recover``: finish or roll back an unfinished transaction. Every writing verb does the same first."""

from __future__ import annotations

from functools import partial

from patchctl.commands.change import recovery_notes
from patchctl.commands.place import Clock, Place
from patchctl.commands.recording import Recorder
from patchctl.commands.report import Change, Report
from patchctl.commands.scene import gather, unfinished_site
from patchctl.model import Target
from patchctl.target import editable_grafts
from patchctl.transaction import JournalState, LockedSite, refuse_untrusted
from patchctl.transaction import recover as settle


def recover(place: Place, clock: Clock, *, dry_run: bool = False, wait: float = 0.0, leave: bool = False) -> Report:
    """Finish or roll back what a killed transaction left.

    Args:
        place: where.
        clock: when.
        dry_run: say what would be done.
        wait: seconds to wait for another patchctl.
        leave: give an unfinished transaction up without touching the files of a distribution.
    """

    def trust(target: Target) -> None:
        refuse_untrusted(target.site)

    unfinished = unfinished_site(place, trust)
    if unfinished is None:
        scene = gather(place, trust=trust)
        target, journal, warnings = scene.target, scene.journal, scene.warnings
    else:
        target, journal, warnings = *unfinished, ()
    if dry_run and journal is not None:
        verb = "its last steps would be finished" if journal.committed else _undone(leave=leave)
        change = Change(state="planned", id=journal.transaction, paths=journal.paths)
        note = f"an unfinished transaction ({journal.transaction}) is there; {verb}"
        return Report(command="recover", target=target, change=change, notes=(note,), warnings=warnings)
    # Even without a journal a killed process may have left temporary files; where there are none nothing is written.
    recovered = None
    if not dry_run:
        keep = partial(
            _record, Recorder(target.site, "recover", place, clock, decisions=("--leave-files",) if leave else ())
        )
        grafts = _grafts(target, journal)
        prefix = place.pycache_prefix
        recovered = settle(target.site, wait=wait, pycache_prefix=prefix, settled=keep, grafts=grafts, leave=leave)
    if recovered is None:
        return Report(command="recover", target=target, notes=("nothing to recover",), warnings=warnings)
    state = "finished" if recovered.committed else "rolled-back"
    change = Change(state=state, id=recovered.transaction, paths=recovered.paths)
    return Report(command="recover", target=target, change=change, notes=recovery_notes(recovered))


def _undone(*, leave: bool) -> str:
    return "it would be given up, and its files left as they are" if leave else "it would be rolled back"


def _record(recorder: Recorder, held: LockedSite) -> None:
    if held.recovered is not None:
        recorder.recovered(held, held.recovered)


def _grafts(target: Target, journal: JournalState | None) -> dict[str, str]:
    """Where editable installs of the site have their packages: the transaction may have been about them."""
    return {} if journal is None else editable_grafts(target.site)
