"""Carry a change out: propose, plan in memory, and only then lock, plan again, and run one transaction.

Nothing to do, a refusal and a dry run all end before the lock is taken and before anything is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from patchctl.commands.draft import Draft, make_draft
from patchctl.commands.place import Clock, Place
from patchctl.commands.proposal import Proposal
from patchctl.commands.report import Change, Report
from patchctl.commands.scene import Scene, gather
from patchctl.errors import Outcome, PatchctlError, Problem, TransactionError
from patchctl.transaction import Commit, Interruption, LockedSite, Recovery, held_signals, locked, refuse_untrusted
from patchctl.verdict import explained

Propose = Callable[[Scene], Proposal]


def carry_out(
    command: str,
    place: Place,
    clock: Clock,
    propose: Propose,
    *,
    named: Sequence[str] = (),
    assumed: Mapping[str, str] | None = None,
    max_offset: int | None = None,
    files: Sequence[str] = (),
    dry_run: bool = False,
    wait: float = 0.0,
) -> Report:
    """Bring about what ``propose`` wants, or say why not.

    Args:
        command: the verb.
        place: where.
        clock: when.
        propose: reads a scene, gives the wanted stack; called again under the lock.
        named: ids the operator named, for the report.
        assumed: entry -> build string given with ``--assume-build``.
        max_offset: how far a hunk may lie from where its diff states, in lines; None: any distance.
        files: further files to read, as of :func:`patchctl.commands.scene.gather`.
        dry_run: stop after planning.
        wait: seconds to wait for another patchctl.

    Raises:
        PatchctlError: no answer, busy, interrupted, or the transaction failed and was rolled back.
    """
    scene = gather(place, assumed=assumed, files=files)
    refuse_untrusted(scene.target.site)
    if scene.journal is None:
        draft = make_draft(scene, propose(scene), clock, max_offset=max_offset)
        if draft.blocked or not draft.edits:
            return _untouched(command, scene, draft, named)
        if dry_run:
            return _report(command, scene, draft, draft.change, named)
    elif dry_run:
        raise TransactionError(
            "unfinished-transaction",
            "an unfinished transaction is there: its roll-back comes first",
            hint="patchctl recover",
        )
    return _Writing(command, place, clock, propose, named, assumed, max_offset, files).run(scene.target.site, wait)


def recovery_notes(recovery: Recovery | None) -> tuple[str, ...]:
    """Say in words what opening a site with an unfinished transaction did."""
    if recovery is None:
        return ()
    done = "its last steps were finished" if recovery.committed else "it was rolled back"
    return (f"an unfinished transaction ({recovery.transaction}) was found; {done}", *recovery.notes)


class _Writing:
    """The part under the lock: what was found and done survives every way out of it, so that it can be reported."""

    def __init__(
        self,
        command: str,
        place: Place,
        clock: Clock,
        propose: Propose,
        named: Sequence[str],
        assumed: Mapping[str, str] | None,
        max_offset: int | None,
        files: Sequence[str],
    ) -> None:
        self.command, self.place, self.clock, self.propose = command, place, clock, propose
        self.named, self.assumed, self.max_offset, self.files = named, assumed, max_offset, files
        self.recovered: tuple[Problem, ...] = ()
        self.done: tuple[Scene, Draft, Commit] | None = None

    def run(self, site: str, wait: float) -> Report:
        """Lock, plan again, write, and report what is there afterwards."""
        try:
            report = self._locked(site, wait)
        except PatchctlError as error:
            if self.done is None and not self.recovered:
                raise
            report = self._cut_short(error)
        except KeyboardInterrupt:
            if self.done is None:
                raise
            report = self._cut_short(None)
        return report._replace(warnings=(*self.recovered, *report.warnings))

    def _locked(self, site: str, wait: float) -> Report:
        with locked(site, wait=wait, pycache_prefix=self.place.pycache_prefix) as opened:
            notes = recovery_notes(opened.recovered)
            self.recovered = tuple(Problem(code="recovered", message=note) for note in notes)
            # From here on a signal either stops everything before the first write, or comes too late to matter.
            with held_signals() as interruption:
                return self._settled(opened, interruption)

    def _settled(self, opened: LockedSite, interruption: Interruption) -> Report:
        scene = gather(self.place, assumed=self.assumed, files=self.files)
        draft = make_draft(scene, self.propose(scene), self.clock, max_offset=self.max_offset)
        if draft.blocked or not draft.edits:
            return _untouched(self.command, scene, draft, self.named)
        interruption.raise_if_any("nothing was written")
        commit = opened.run(draft.edits, kept=draft.kept)
        self.done = (scene, draft, commit)
        return self._committed(gather(self.place), draft, commit)

    def _committed(self, after: Scene, draft: Draft, commit: Commit) -> Report:
        change = draft.change._replace(state="committed", id=commit.id)
        return _report(self.command, after, draft._replace(notes=(*draft.notes, *commit.notes)), change, self.named)

    def _cut_short(self, error: PatchctlError | None) -> Report:
        """A committed transaction is never reported as a failure, and a roll-back never goes unsaid."""
        if self.done is None:
            if error is None:
                raise KeyboardInterrupt
            return Report(command=self.command, outcome=error.outcome, named=tuple(self.named), errors=(error.problem,))
        why = error.problem.message if error is not None else "interrupted"
        note = f"the change is committed, but the files were not read again ({why}): run patchctl status"
        before, draft, commit = self.done
        report = self._committed(before._replace(assessments=()), draft, commit)
        return report._replace(notes=(*report.notes, note))


def _untouched(command: str, scene: Scene, draft: Draft, named: Sequence[str]) -> Report:
    notes = draft.notes
    if not draft.blocked and not draft.refused:
        notes = (*notes, "nothing to do")
    return _report(command, scene, draft._replace(notes=notes), None, named)


def _report(command: str, scene: Scene, draft: Draft, change: Change | None, named: Sequence[str]) -> Report:
    outcome = Outcome.ATTENTION if draft.refused else Outcome.OK
    named_count = named if draft.asks_registry else ()
    if any(draft.promises_check or problem.patch in named_count for problem in scene.errors):
        outcome = outcome.worse(Outcome.CANNOT_ANSWER)
    touched = {*draft.change.applied, *draft.change.reverted, *draft.change.retired, *draft.change.held}
    touched |= {*named, *draft.change.adopted, *draft.change.unheld}
    touched |= {problem.patch for problem in draft.refused if problem.patch}
    return Report(
        command=command,
        outcome=outcome,
        target=scene.target,
        assessments=tuple(
            explained(found, named=found.id in named) for found in scene.in_registry_order() if found.id in touched
        ),
        named=tuple(named),
        everything=True,
        change=change,
        notes=draft.notes,
        warnings=scene.warnings,
        errors=(*scene.errors, *draft.refused),
    )
