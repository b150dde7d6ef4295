"""Carry out a change: propose, plan in memory, and only then lock, plan again, and run one transaction.

Nothing to do, a refusal and a dry run all end before the lock is taken and before anything is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from patchctl.commands.place import Clock, Place
from patchctl.commands.proposal import Proposal, Step
from patchctl.commands.report import Change, Report
from patchctl.commands.scene import Scene, gather
from patchctl.diff import ChangeKind
from patchctl.errors import Outcome, Problem, TransactionError
from patchctl.ledger import LEDGER_PATH, STATE_DIR, encode_ledger, patch_path, read_ledger_bytes, read_patch
from patchctl.model import EditKind, FileEdit, LedgerState, Receipt
from patchctl.plan import Plan, Refusal, build_plan
from patchctl.transaction import Recovery, locked, missing_directories


class _Draft(NamedTuple):
    """A proposal that was planned: the edits, ledger last, and what they mean."""

    edits: tuple[FileEdit, ...]
    change: Change
    refused: tuple[Problem, ...]
    blocked: bool
    notes: tuple[str, ...]


def carry_out(
    command: str,
    place: Place,
    clock: Clock,
    propose: Callable[[Scene], Proposal],
    *,
    named: Sequence[str] = (),
    assumed: Mapping[str, str] | None = None,
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
        dry_run: stop after planning.
        wait: seconds to wait for another patchctl.

    Raises:
        PatchctlError: no answer, busy, interrupted, or the transaction failed and was rolled back.
    """
    scene = gather(place, assumed=assumed)
    if scene.journal is None:
        draft = _draft(scene, propose(scene), clock)
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
    prefix = place.environ.get("PYTHONPYCACHEPREFIX") or None
    with locked(scene.target.site, wait=wait, pycache_prefix=prefix) as opened:
        scene = gather(place, assumed=assumed)
        draft = _draft(scene, propose(scene), clock)
        notes = (*recovery_notes(opened.recovered), *draft.notes)
        draft = draft._replace(notes=notes)
        if draft.blocked or not draft.edits:
            return _untouched(command, scene, draft, named)
        commit = opened.run(draft.edits)
    change = draft.change._replace(state="committed", id=commit.id)
    draft = draft._replace(notes=(*draft.notes, *commit.notes))
    return _report(command, gather(place), draft, change, named)


def recovery_notes(recovery: Recovery | None) -> tuple[str, ...]:
    """Say in words what opening a site with an unfinished transaction did."""
    if recovery is None:
        return ()
    done = "its last steps were finished" if recovery.committed else "it was rolled back"
    return (f"an unfinished transaction ({recovery.transaction}) was found; {done}", *recovery.notes)


def _untouched(command: str, scene: Scene, draft: _Draft, named: Sequence[str]) -> Report:
    notes = draft.notes
    if not draft.blocked and not draft.refused:
        notes = (*notes, "nothing to do")
    return _report(command, scene, draft._replace(notes=notes), None, named)


def _report(command: str, scene: Scene, draft: _Draft, change: Change | None, named: Sequence[str]) -> Report:
    outcome = Outcome.ATTENTION if draft.refused else Outcome.OK
    # A bare apply that exits 0 promises that an immediate check exits 0, and check counts what is broken.
    bare = command == "apply" and not named
    if any(bare or problem.patch in named for problem in scene.errors):
        outcome = outcome.worse(Outcome.CANNOT_ANSWER)
    touched = {*draft.change.applied, *draft.change.reverted, *draft.change.retired, *draft.change.held}
    touched |= {*named, *draft.change.unheld, *(problem.patch for problem in draft.refused if problem.patch)}
    return Report(
        command=command,
        outcome=outcome,
        target=scene.target,
        assessments=tuple(found for found in scene.in_registry_order() if found.id in touched),
        named=tuple(named),
        everything=True,
        change=change,
        notes=draft.notes,
        warnings=scene.warnings,
        errors=(*scene.errors, *draft.refused),
    )


def _draft(scene: Scene, proposal: Proposal, clock: Clock) -> _Draft:
    steps, refused = list(proposal.steps), list(proposal.refused)
    while True:
        leaving = _leaving(proposal, steps)
        kept = [step for step in steps if step.layer.id not in leaving]
        plan = build_plan(
            [step.layer for step in kept],
            scene.site,
            leaving=leaving,
            unknown=[id_ for id_ in scene.unknown if id_ not in leaving],
            now=clock.now,
            missing_dirs=_missing_dirs(scene, kept),
        )
        if not plan.refusals:
            break
        refused += [_problem(refusal) for refusal in plan.refusals]
        dropped = _dropped(steps, plan.refusals)
        if proposal.strict or not dropped:
            return _Draft(edits=(), change=Change(state="none"), refused=tuple(refused), blocked=True, notes=())
        steps = [step for step in steps if step.layer.id not in dropped]
    if proposal.strict and refused:
        return _Draft(edits=(), change=Change(state="none"), refused=tuple(refused), blocked=True, notes=proposal.notes)
    return _settled(scene, proposal, kept, leaving, plan, tuple(refused))


def _dropped(steps: Sequence[Step], refusals: Sequence[Refusal]) -> set[str]:
    """The refused entries of a bare change and all that require them; empty when an entry that stays is refused."""
    moved = {step.layer.id for step in steps if step.layer.moved}
    dropped = {refusal.id for refusal in refusals}
    if not dropped <= moved:
        return set()
    while True:
        wider = dropped | {step.layer.id for step in steps if step.layer.moved and dropped & set(step.requires)}
        if wider == dropped:
            return dropped
        dropped = wider


def _leaving(proposal: Proposal, steps: Sequence[Step]) -> tuple[str, ...]:
    replaced = [id_ for step in steps if step.layer.moved for id_ in step.takes_out]
    return tuple(dict.fromkeys((*proposal.leaving, *replaced)))


def _missing_dirs(scene: Scene, steps: Sequence[Step]) -> dict[str, tuple[str, ...]]:
    return {
        file.path: missing_directories(scene.target.site, file.path)
        for step in steps
        for source in step.layer.diffs
        for file in source.files
        if file.kind is ChangeKind.ADD
    }


def _problem(refusal: Refusal) -> Problem:
    return Problem(
        code="does-not-fit",
        message=f"{refusal.id}: {refusal.path}: {refusal.reason}"
        if refusal.path
        else f"{refusal.id}: {refusal.reason}",
        hint=f"patchctl status {refusal.id} shows what is there; patchctl show {refusal.id} what was expected",
        patch=refusal.id,
        path=refusal.path,
    )


def _settled(
    scene: Scene,
    proposal: Proposal,
    steps: Sequence[Step],
    leaving: tuple[str, ...],
    plan: Plan,
    refused: tuple[Problem, ...],
) -> _Draft:
    """Everything fits: put the ledger's edit behind the files' edits."""
    old = scene.site.ledger
    state = LedgerState(
        receipts=_receipts(old, steps, leaving),
        files=plan.files,
        holds=proposal.holds,
        retirements=(*old.retirements, *proposal.retirements),
        last_second=plan.last_second,
    )
    change = _change(scene, proposal, steps, leaving, plan)
    if not plan.edits and encode_ledger(state) == encode_ledger(old._replace(sha256=None)):
        return _Draft(edits=(), change=change, refused=refused, blocked=False, notes=proposal.notes)
    edits = (*plan.edits, *_stored_diffs(scene, steps), _ledger_edit(scene, state))
    return _Draft(edits=edits, change=change, refused=refused, blocked=False, notes=proposal.notes)


def _receipts(old: LedgerState, steps: Sequence[Step], leaving: Sequence[str]) -> tuple[Receipt, ...]:
    new = {step.layer.id: step.receipt for step in steps}
    stay = [new.pop(receipt.id, receipt) for receipt in old.receipts if receipt.id not in leaving]
    return (*stay, *new.values())


def _change(scene: Scene, proposal: Proposal, steps: Sequence[Step], leaving: tuple[str, ...], plan: Plan) -> Change:
    retired = tuple(retirement.id for retirement in proposal.retirements)
    before, after = scene.site.ledger.holds, proposal.holds
    return Change(
        state="planned",
        applied=tuple(step.layer.id for step in steps if step.layer.moved),
        reverted=tuple(id_ for id_ in leaving if id_ not in retired),
        retired=retired,
        held=tuple(id_ for id_ in after if after[id_] != before.get(id_)),
        unheld=tuple(id_ for id_ in before if id_ not in after),
        edits=plan.edits,
    )


def _stored_diffs(scene: Scene, steps: Sequence[Step]) -> tuple[FileEdit, ...]:
    """The diffs themselves are kept, so that revert works after the registry moved on."""
    wanted = {source.sha256: source.data for step in steps if step.layer.moved for source in step.layer.diffs}
    return tuple(
        FileEdit(path=patch_path(sha256), kind=EditKind.ADD, before=None, after=data)
        for sha256, data in sorted(wanted.items())
        if read_patch(scene.target.site, sha256) is None
    )


def _ledger_edit(scene: Scene, state: LedgerState) -> FileEdit:
    before = read_ledger_bytes(scene.target.site)
    kind = EditKind.ADD if before is None else EditKind.MODIFY
    return FileEdit(path=LEDGER_PATH, kind=kind, before=before, after=encode_ledger(state))


def own_state(path: str) -> bool:
    """Return whether ``path`` (relative to the site) belongs to patchctl itself."""
    return path.startswith(STATE_DIR + "/")
