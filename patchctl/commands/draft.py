"""Plan a proposal: the edits, the ledger's last, and what they mean. Reads at most; nothing is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from patchctl.commands.allowed import editable_refusals
from patchctl.commands.judging import Scene
from patchctl.commands.place import NOTHING_ELSE, Allowed, Clock
from patchctl.commands.proposal import Proposal, Step
from patchctl.commands.report import Change
from patchctl.commands.stack import kept_steps
from patchctl.diff import ChangeKind
from patchctl.errors import Problem
from patchctl.ledger import LEDGER_PATH, encode_ledger, is_stored, patch_path, read_ledger_bytes, read_patch
from patchctl.model import EditKind, FileEdit, LedgerState, Receipt, Retirement, sha256_hex
from patchctl.plan import Layer, Plan, Refusal, build_plan
from patchctl.transaction import missing_directories
from patchctl.verdict import Need


class Draft(NamedTuple):
    """A proposal that was planned.

    Attributes:
        edits: in the order of writing, the ledger's last; empty: nothing to do, or refused.
        change: what they would do.
        refused: what cannot be done, and why.
        blocked: because of that nothing is done at all.
        notes: sentences for the operator.
        promises_check: as of the proposal.
        asks_registry: as of the proposal.
        state: what would be recorded; empty when nothing is to be done or it was refused.
        kept: bytes that the new ledger names and no edit brings.
    """

    edits: tuple[FileEdit, ...]
    change: Change
    refused: tuple[Problem, ...]
    blocked: bool
    notes: tuple[str, ...]
    promises_check: bool
    asks_registry: bool
    state: LedgerState = LedgerState()
    kept: tuple[bytes, ...] = ()


def make_draft(
    scene: Scene,
    proposal: Proposal,
    clock: Clock,
    *,
    max_offset: int | None = None,
    allowed: Allowed = NOTHING_ELSE,
) -> Draft:
    """Plan ``proposal`` in ``scene``.

    Args:
        scene: what is there.
        proposal: what is wanted.
        clock: the time.
        max_offset: as of :func:`patchctl.plan.build_plan`.
        allowed: which places beyond the site may be edited.
    """
    scene = _on_new_bases(scene, proposal)
    steps, refused = list(proposal.steps), list(proposal.refused)
    fixed = {found.id for found in scene.assessments if found.need is Need.FIXED}
    originals = {step.layer.id: step for step in kept_steps(scene)}
    while True:
        leaving = _leaving(scene, proposal, steps)
        staying = [step for step in steps if step.layer.id not in leaving]
        plan = build_plan(
            [step.layer for step in staying],
            scene.site,
            leaving=leaving,
            unknown=[id_ for id_ in scene.unknown if id_ not in leaving],
            satisfied=fixed,
            held=tuple(scene.site.ledger.holds),
            now=clock.now,
            missing_dirs=_missing_dirs(scene, staying),
            max_offset=max_offset,
        )
        layers = [step.layer for step in staying]
        refusals = (*plan.refusals, *editable_refusals(scene, layers, leaving, plan.edits, allowed))
        if not refusals:
            break
        refused += [_problem(refusal) for refusal in refusals]
        dropped = _dropped(steps, proposal, refusals)
        if proposal.strict or not dropped:
            return _blocked(proposal, refused)
        refused += _unsaid(dropped, refusals)
        proposal = proposal._replace(
            leaving=tuple(id_ for id_ in proposal.leaving if id_ not in dropped),
            retirements=tuple(it for it in proposal.retirements if it.id not in dropped),
        )
        steps = _without(dropped, steps, originals)
    refused += [_would_change(edit) for edit in plan.edits if proposal.adopts]
    if (proposal.strict and refused) or (proposal.adopts and plan.edits):
        return _blocked(proposal, refused)
    # What goes in the same change needs no excuse for not coming in.
    refused = [problem for problem in refused if problem.patch not in leaving]
    return _settled(scene, proposal, staying, leaving, plan, tuple(refused))


def _on_new_bases(scene: Scene, proposal: Proposal) -> Scene:
    return scene._replace(site=scene.site._replace(bases={**scene.site.bases, **proposal.bases}))


def _would_change(edit: FileEdit) -> Problem:
    message = f"{edit.path} would change, and adopting changes no file"
    return Problem(code="does-not-fit", message=message, hint="patchctl status", path=edit.path)


def _blocked(proposal: Proposal, refused: Sequence[Problem]) -> Draft:
    return Draft(
        edits=(),
        change=Change(state="none"),
        refused=tuple(refused),
        blocked=True,
        notes=proposal.notes,
        promises_check=proposal.promises_check,
        asks_registry=proposal.asks_registry,
    )


def _dropped(steps: Sequence[Step], proposal: Proposal, refusals: Sequence[Refusal]) -> set[str]:
    """What a bare change goes on without: the refused entries, and all that came in because of them.

    Where an entry that merely stays no longer fits, those that come into its file are to blame. Empty: nobody is, and
    then nothing is done at all.
    """
    moved = {step.layer.id: step.layer for step in steps if step.layer.moved}
    dropped = set()
    for refusal in refusals:
        if refusal.id in moved or refusal.id in proposal.leaving:
            dropped.add(refusal.id)
        else:
            dropped |= {layer.id for layer in moved.values() if refusal.path in _paths(layer)}
    while True:
        wider = {layer.id for layer in moved.values() if dropped & set(layer.requires)}
        if wider <= dropped:
            return dropped
        dropped |= wider


def _without(dropped: set[str], steps: Sequence[Step], originals: Mapping[str, Step]) -> list[Step]:
    """The stack without what was dropped: who cannot be renewed, brought back or taken out keeps what stands of it.

    ``originals`` has the step of every receipt in ledger order; one that was to leave goes back to its place there.
    """
    kept = {step.layer.id: originals.get(step.layer.id) if step.layer.id in dropped else step for step in steps}
    order, rank = list(kept), list(originals)
    for id_ in (it for it in originals if it in dropped and it not in kept):
        later = [other for other in order if other not in originals or rank.index(other) > rank.index(id_)]
        order.insert(order.index(later[0]) if later else len(order), id_)
        kept[id_] = originals[id_]
    return [step for id_ in order if (step := kept[id_]) is not None]


def _unsaid(dropped: set[str], refusals: Sequence[Refusal]) -> list[Problem]:
    """What stays out only because of another entry must be said too: it did not land."""
    said = {refusal.id for refusal in refusals}
    return [
        Problem(code="stays-out", message=f"{id_} did not go in: what it belongs with could not", patch=id_)
        for id_ in sorted(dropped - said)
    ]


def _paths(layer: Layer) -> set[str]:
    return {path for source in layer.diffs for file in source.files for path in file.paths}


def _leaving(scene: Scene, proposal: Proposal, steps: Sequence[Step]) -> tuple[str, ...]:
    recorded = {receipt.id for receipt in scene.site.ledger.receipts}
    replaced = [id_ for step in steps if step.layer.moved for id_ in step.layer.takes_out if id_ in recorded]
    return tuple(dict.fromkeys((*proposal.leaving, *replaced)))


def _missing_dirs(scene: Scene, steps: Sequence[Step]) -> dict[str, tuple[str, ...]]:
    return {
        file.path: missing_directories(scene.target.site, file.path)
        for step in steps
        if step.layer.moved
        for source in step.layer.diffs
        for file in source.files
        if file.kind in {ChangeKind.ADD, ChangeKind.RENAME} and not _unreachable(scene, file.path)
    }


def _unreachable(scene: Scene, path: str) -> bool:
    """A link or a file stands where a directory should: the plan refuses the entry and says so."""
    return path in scene.site.snapshot.problems


def _problem(refusal: Refusal) -> Problem:
    return Problem(
        code=refusal.code,
        message=f"{refusal.id}: {refusal.path}: {refusal.reason}"
        if refusal.path
        else f"{refusal.id}: {refusal.reason}",
        hint=refusal.hint or f"patchctl status {refusal.id} shows what is there, patchctl show {refusal.id} the diff",
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
) -> Draft:
    """Everything fits: put the ledger's edit behind the files' edits."""
    old = scene.site.ledger
    state = LedgerState(
        receipts=_receipts(scene, proposal, steps, leaving),
        files=plan.files,
        holds=proposal.holds,
        retirements=(*_retired_before(old, steps), *proposal.retirements),
        last_second=plan.last_second,
        baselines=old.baselines,
    )
    change = _change(scene, proposal, steps, leaving, plan)
    same = not plan.edits and encode_ledger(state) == encode_ledger(old._replace(sha256=None))
    if same and not _lost(scene, plan.kept):
        edits: tuple[FileEdit, ...] = ()
    else:
        edits = (*plan.edits, *_stored_diffs(scene, steps), _ledger_edit(scene, state))
    return Draft(
        edits=edits,
        change=change,
        refused=refused,
        blocked=False,
        notes=proposal.notes,
        promises_check=proposal.promises_check,
        asks_registry=proposal.asks_registry,
        state=state,
        kept=plan.kept if edits else (),
    )


def _lost(scene: Scene, kept: Sequence[bytes]) -> bool:
    """Whether one of the bases and results to be kept is not in the store: then it is written, if nothing else is."""
    return any(not is_stored(scene.target.site, sha256_hex(data)) for data in kept)


def _retired_before(old: LedgerState, steps: Sequence[Step]) -> tuple[Retirement, ...]:
    """What was retired and comes in again is another matter from now on."""
    again = {step.layer.id for step in steps if step.layer.moved}
    return tuple(it._replace(over=True) if it.id in again else it for it in old.retirements)


def _receipts(scene: Scene, proposal: Proposal, steps: Sequence[Step], leaving: Sequence[str]) -> tuple[Receipt, ...]:
    """In the order of the stack, which is the order of folding from now on; what could not be judged comes first.

    Where entries are set aside nothing comes in, so that the order stays as it is.
    """
    if proposal.aside:
        staying = [it for it in scene.site.ledger.receipts if it.id in proposal.aside or it.id not in leaving]
        return tuple(it._replace(set_aside=proposal.aside.get(it.id, it.set_aside)) for it in staying)
    inside = {step.layer.id for step in steps}
    unjudged = [it for it in scene.site.ledger.receipts if it.id not in inside and it.id not in leaving]
    if not {receipt.id for receipt in unjudged} <= set(scene.unknown):
        raise AssertionError("a recorded entry got lost on the way: nothing may be written")
    return (*unjudged, *(step.receipt for step in steps))


def _change(scene: Scene, proposal: Proposal, steps: Sequence[Step], leaving: tuple[str, ...], plan: Plan) -> Change:
    retired = tuple(retirement.id for retirement in proposal.retirements)
    before, after = scene.site.ledger.holds, proposal.holds
    moved = tuple(step.layer.id for step in steps if step.layer.moved)
    return Change(
        state="planned",
        applied=() if proposal.adopts else moved,
        adopted=moved if proposal.adopts else (),
        reverted=tuple(id_ for id_ in leaving if id_ not in retired and id_ not in proposal.aside),
        retired=retired,
        set_aside=tuple(id_ for id_ in leaving if id_ in proposal.aside),
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
    before, after = read_ledger_bytes(scene.target.site), encode_ledger(state)
    if before == after:
        # The ledger's new hash is the commit point, so it must be another one: the same change of a mode, made again
        # within a second, would leave every fact as it was.
        after = encode_ledger(state._replace(last_second=state.last_second + 1))
    kind = EditKind.ADD if before is None else EditKind.MODIFY
    return FileEdit(path=LEDGER_PATH, kind=kind, before=before, after=after)
