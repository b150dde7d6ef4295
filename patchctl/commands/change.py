"""Carry a change out: propose, plan in memory, and only then lock, plan again, and run one transaction.

Nothing to do, a refusal and a dry run all end before the lock is taken and before anything is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from patchctl.commands.aftermath import with_aftermath
from patchctl.commands.allowed import refuse_shared
from patchctl.commands.draft import Draft, make_draft
from patchctl.commands.judging import Scene
from patchctl.commands.place import NO_CONSENT, NOTHING_ELSE, Allowed, Clock, Consent, Place
from patchctl.commands.proposal import Proposal
from patchctl.commands.recording import Recorder
from patchctl.commands.report import Change, Report
from patchctl.commands.running import loading_problem
from patchctl.commands.scene import gather
from patchctl.commands.selection import Parsed
from patchctl.commands.stack import concerns
from patchctl.commands.trusted import refuse_registry, with_owners
from patchctl.errors import InterruptedByError, Outcome, PatchctlError, Problem, TransactionError
from patchctl.model import Target
from patchctl.target import editable_grafts
from patchctl.transaction import Commit, Interruption, LockedSite, Recovery, held_signals, locked, refuse_untrusted
from patchctl.verdict import DUE, explained

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
    consent: Consent = NO_CONSENT,
    allowed: Allowed = NOTHING_ELSE,
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
        consent: what the operator allows beyond the usual.
        allowed: which places beyond the environment's own site may be edited.

    Raises:
        PatchctlError: no answer, refused as a whole, busy, interrupted, or the transaction failed and was rolled back.
    """

    def trust(target: Target) -> None:
        refuse_untrusted(target.site, target.grafts if allowed.editable else {})
        refuse_registry(place)

    scene = gather(place, assumed=assumed, files=files, trust=trust)
    if scene.journal is None:
        draft = make_draft(scene, propose(scene), clock, max_offset=max_offset, allowed=allowed)
        draft = _refuse_loading(draft, place, scene, consent)
        if draft.blocked or not draft.edits:
            return with_aftermath(_untouched(command, scene, draft, named), place, consent)
        refuse_shared(scene.target, allowed)
        if dry_run:
            return with_aftermath(_report(command, scene, draft, draft.change, named), place, consent)
    elif dry_run:
        raise TransactionError(
            "unfinished-transaction",
            "an unfinished transaction is there: its roll-back comes first",
            hint="patchctl recover",
        )
    writing = _Writing(command, with_owners(place), clock, propose, named, assumed, max_offset, files, consent, allowed)
    writing.known = scene.parsed()
    return writing.run(scene.target.site, wait, _grafts(scene, allowed))


def _grafts(scene: Scene, allowed: Allowed) -> Mapping[str, str]:
    """What is opened beside the site: what may be edited, or whatever a transaction that was cut short is about."""
    if scene.journal is not None:
        return editable_grafts(scene.target.site)
    return scene.target.grafts if allowed.editable else {}


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
        consent: Consent,
        allowed: Allowed,
    ) -> None:
        self.command, self.place, self.clock, self.propose = command, place, clock, propose
        self.named, self.assumed, self.max_offset, self.files = named, assumed, max_offset, files
        self.consent, self.allowed = consent, allowed
        self.grafts: Mapping[str, str] = {}
        self.known: Parsed = {}
        self.said: tuple[Problem, ...] = ()
        self.done: tuple[Scene, Draft, Commit] | None = None

    def run(self, site: str, wait: float, grafts: Mapping[str, str]) -> Report:
        """Lock, plan again, write, and report what is there afterwards."""
        self.grafts = grafts
        try:
            report = self._locked(site, wait)
        except PatchctlError as error:
            if self.done is None and not self.said:
                raise
            report = self._cut_short(error)
        except KeyboardInterrupt:
            if self.done is None:
                raise
            report = self._cut_short(None)
        return with_aftermath(report._replace(warnings=(*self.said, *report.warnings)), self.place, self.consent)

    def _locked(self, site: str, wait: float) -> Report:
        prefix = self.place.pycache_prefix
        with locked(site, wait=wait, pycache_prefix=prefix, grafts=self.grafts) as opened:
            notes = recovery_notes(opened.recovered)
            self.said = tuple(Problem(code="recovered", message=note) for note in notes)
            decisions = (*self.consent.decisions, *self.allowed.decisions)
            recorder = Recorder(site, self.command, self.place, self.clock, self.named, decisions)
            if opened.recovered is not None:
                recorder.recovered(opened, opened.recovered)
            # From here on a signal either stops everything before the first write, or comes too late to matter.
            with held_signals() as interruption:
                return self._settled(opened, interruption, recorder)

    def _settled(self, opened: LockedSite, interruption: Interruption, recorder: Recorder) -> Report:
        scene = gather(self.place, assumed=self.assumed, known=self.known, files=self.files)
        proposal = self.propose(scene)
        draft = make_draft(scene, proposal, self.clock, max_offset=self.max_offset, allowed=self.allowed)
        draft = _refuse_loading(draft, self.place, scene, self.consent)
        if draft.blocked or not draft.edits:
            return _untouched(self.command, scene, draft, self.named)
        refuse_shared(scene.target, self.allowed)
        self._refuse_moved_tree(scene, draft)
        interruption.raise_if_any("nothing was written")
        commit = self._run(opened, recorder, scene, draft)
        self.done = (scene, draft, commit)
        return self._committed(gather(self.place, known=scene.parsed()), draft, commit)

    def _run(self, opened: LockedSite, recorder: Recorder, scene: Scene, draft: Draft) -> Commit:
        edits, record, trouble = recorder.with_record(scene, draft)
        if trouble is not None:
            self.said = (*self.said, trouble._replace(code="not-recorded"))
        try:
            return opened.run(edits, transaction=record.transaction, kept=draft.kept)
        except (TransactionError, InterruptedByError) as error:
            recorder.rolled_back(opened, record, error.problem.message)
            raise

    def _refuse_moved_tree(self, scene: Scene, draft: Draft) -> None:
        """An editable install that was made again elsewhere since the lock was taken would be written in the site."""
        tops = {edit.path.partition("/")[0] for edit in draft.edits}
        if any(self.grafts.get(top) != scene.target.grafts.get(top) for top in tops):
            raise PatchctlError("changing", "an editable install was made again meanwhile", hint="run it again")

    def _committed(self, after: Scene, draft: Draft, commit: Commit) -> Report:
        change = draft.change._replace(state="committed", id=commit.id)
        refused = (*draft.refused, *_left(after, draft, self.place.distribution))
        draft = draft._replace(notes=(*draft.notes, *commit.notes), refused=refused)
        return _report(self.command, after, draft, change, self.named)

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


def _refuse_loading(draft: Draft, place: Place, scene: Scene, consent: Consent) -> Draft:
    """Files do not change under a process that may still be loading them, unless the operator allows it."""
    if draft.blocked or not draft.change.edits or consent.allow_running:
        return draft
    problem = loading_problem(place, scene.target.site)
    return draft if problem is None else draft._replace(blocked=True, refused=(*draft.refused, problem))


def _left(after: Scene, draft: Draft, distribution: str | None) -> tuple[Problem, ...]:
    """What ``check`` would fail for, and nobody has said: an entry may need a person once it is back in its files."""
    if not draft.promises_check:
        return ()
    said = {problem.patch for problem in draft.refused}
    due = (it for it in after.in_registry_order() if it.action in DUE and it.id not in said)
    return tuple(
        Problem(code=f"needs-{it.action.value}", message=f"{it.id} needs more: {it.reason}", patch=it.id)
        for it in due
        if concerns(it, distribution)
    )


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
    touched |= {*named, *draft.change.adopted, *draft.change.unheld, *draft.change.set_aside}
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
