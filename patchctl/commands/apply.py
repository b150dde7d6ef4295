"""``apply``: bring entries in. Named ones land together or not at all; bare, each due entry stands alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from patchctl.build import MatchRule
from patchctl.commands.change import carry_out
from patchctl.commands.judging import Scene
from patchctl.commands.place import NO_CONSENT, NOTHING_ELSE, Allowed, Clock, Consent, Place
from patchctl.commands.proposal import Proposal, Step
from patchctl.commands.report import Report
from patchctl.commands.stack import concerns, kept_steps, named_assessments
from patchctl.errors import Problem
from patchctl.model import Receipt, ReceiptDiff, RegistryPlace
from patchctl.patch import Patch
from patchctl.plan import Layer
from patchctl.verdict import DUE, Action, Assessment, Need, Verdict, blocked_by, explained

_STUCK = DUE - {Action.APPLY}


def apply(
    place: Place,
    clock: Clock,
    ids: Sequence[str] = (),
    *,
    everything: bool = False,
    despite_fix: bool = False,
    assume_build: str | None = None,
    max_offset: int | None = None,
    dry_run: bool = False,
    wait: float = 0.0,
    consent: Consent = NO_CONSENT,
    allowed: Allowed = NOTHING_ELSE,
) -> Report:
    """Bring entries in.

    Args:
        place: where.
        clock: when.
        ids: entries to bring in, all or nothing; empty: every wanted one that is due, each on its own merits.
        everything: with no ``ids``: the optional ones too.
        despite_fix: also where the installed bytes prove the fix.
        assume_build: the build string to match the named entries with, instead of the detected one.
        max_offset: how far a hunk may lie from where its diff states, in lines; None: any distance.
        dry_run: plan only.
        wait: seconds to wait for another patchctl.
        consent: what the operator allows beyond the usual.
        allowed: which places beyond the site may be edited.
    """

    def propose(scene: Scene) -> Proposal:
        if ids:
            return _named(scene, ids, clock, despite_fix=despite_fix)
        return _bare(scene, clock, place.distribution, everything=everything)

    assumed: Mapping[str, str] = dict.fromkeys(ids, assume_build) if assume_build is not None else {}
    return carry_out(
        "apply",
        place._replace(taking=frozenset(ids)),
        clock,
        propose,
        named=ids,
        assumed=assumed,
        max_offset=max_offset,
        dry_run=dry_run,
        wait=wait,
        consent=consent,
        allowed=allowed,
    )


def _named(scene: Scene, ids: Sequence[str], clock: Clock, *, despite_fix: bool) -> Proposal:
    chosen, refused, notes = [], [], []
    named = named_assessments(scene, ids)
    for found in named:
        if found.verdict is Verdict.APPLIED and not found.case.newer and not _takes_over(scene, found):
            notes.append(f"{found.id} is applied already; nothing about it changes")
            continue
        problem = refusal_of(scene, found, despite_fix=despite_fix)
        if problem is None:
            chosen.append(found)
        else:
            refused.append(problem)
    for found in chosen:
        for other in named:
            if other.id in found.case.replaces:
                refused.append(replaced_problem(other.id, found.id))
    return stack_with(scene, chosen, refused, notes, clock, strict=True, despite_fix=despite_fix)


def _takes_over(scene: Scene, found: Assessment) -> bool:
    """Another registry than the recorded one has the entry, with the same diffs: it is recorded as the one it is of."""
    receipt, patch = found.case.receipt, found.case.patch
    if receipt is None or patch is None or found.case.rule is MatchRule.NONE:
        return False
    here = scene.registry.place_of(patch)
    known = receipt.registry is not None and receipt.registry.is_same(here)
    due = {(diff.distribution, diff.sha256, diff.strip) for diff in found.case.due}
    same = receipt.revision == patch.revision and due == {
        (it.distribution, it.sha256, it.strip) for it in receipt.diffs
    }
    return same and not known


def _bare(scene: Scene, clock: Clock, distribution: str | None, *, everything: bool) -> Proposal:
    chosen, refused = [], []
    for found in scene.in_registry_order():
        if not concerns(found, distribution):
            continue
        if found.action is Action.APPLY:
            chosen.append(found)
        elif found.action in _STUCK:
            refused.append(_stands_in_the_way(found))
        elif everything and found.need is Need.OPTIONAL and found.verdict is not None:
            problem = refusal_of(scene, found, despite_fix=False)
            if problem is None:
                chosen.append(found)
            else:
                refused.append(problem)
    return stack_with(scene, chosen, refused, [], clock, strict=False, despite_fix=False)


def refusal_of(scene: Scene, found: Assessment, *, despite_fix: bool) -> Problem | None:
    """Why an entry that somebody asked for must not go in; None: it may."""
    id_ = found.id
    if found.verdict is None:
        message = f"{id_} is advice only: there is nothing to apply"
        return Problem(code="advice-only", message=message, hint=f"patchctl show {id_}", patch=id_)
    returns = found.action is Action.APPLY and found.need in {Need.FIXED, Need.HELD}
    if found.need is Need.FIXED and not (despite_fix or returns):
        message = f"{id_} is not needed: {found.reason}"
        hint = f"patchctl apply {id_} --despite-fix applies it all the same"
        return Problem(code="fixed", message=message, hint=hint, patch=id_)
    if found.case.hold is not None and not returns:
        reason = found.case.hold.reason if found.case.hold is not None else ""
        message = f"{id_} is held: {reason}"
        return Problem(code="held", message=message, hint=f"patchctl unhold {id_}", patch=id_)
    if found.case.replaced_by is not None:
        return replaced_problem(id_, found.case.replaced_by)
    # What was applied to this very build may come back, whatever became of its registry entry.
    strange = found.case.receipt is None or found.case.rebuilt
    if found.case.rule is MatchRule.NONE and strange:
        message = f"{id_} is not meant for this build: {found.case.reason}"
        hint = f"if the detection is wrong: patchctl apply {id_} --assume-build BUILD"
        return Problem(code="no-match", message=message, hint=hint, patch=id_)
    blocker = blocked_by(found, {other.id: other for other in scene.assessments})
    if blocker is not None:
        return Problem(code="blocked", message=f"{id_}: {blocker}", patch=id_)
    if found.action in _STUCK:
        return _stands_in_the_way(found)
    return None


def replaced_problem(old: str, new: str) -> Problem:
    """Return the refusal of an entry whose place another one takes."""
    return Problem(code="replaced", message=f"{old} is replaced by {new}", hint=f"patchctl apply {new}", patch=old)


def _stands_in_the_way(found: Assessment) -> Problem:
    found = explained(found, named=True)
    shown = any(file.explanation for file in found.files)
    look = f"patchctl status {found.id} shows the lines" if shown else "look at the file"
    hints = {
        Action.ADOPT: f"patchctl adopt {found.id} takes the change over as it is",
        Action.INSPECT: f"{look}; to keep the edit: patchctl revert {found.id} --keep-edits; to give it up: "
        "patchctl restore FILE --from WHEEL, or reinstall the distribution",
        Action.PORT: f"patchctl status {found.id} shows what the files have instead, and what to do",
    }
    hint = hints.get(found.action)
    if found.need is Need.UNKNOWN_BUILD:
        hint = "name this build in the entry's builds, versions or label; if the detection is wrong: "
        hint += f"patchctl apply {found.id} --assume-build BUILD"
    if found.action is Action.INSPECT and found.verdict is not Verdict.DRIFTED:
        hint = None
    return Problem(
        code=f"needs-{found.action.value}",
        message=f"{found.id} did not go in ({found.verdict.value if found.verdict else '-'}): {found.reason}",
        hint=hint,
        patch=found.id,
        path=found.files[0].path if len(found.files) == 1 else None,
    )


def stack_with(
    scene: Scene,
    chosen: Sequence[Assessment],
    refused: list[Problem],
    notes: list[str],
    clock: Clock,
    *,
    strict: bool,
    despite_fix: bool,
) -> Proposal:
    """Return the stack with the chosen entries and what they require; arguments as of :class:`Proposal`."""
    wanted = _with_required(scene, chosen)
    if not strict:
        # Of an old entry and the one that takes its place only the latter comes in, and the old one is no failure.
        superseded = {id_ for found in wanted for id_ in found.case.replaces}
        wanted = [found for found in wanted if found.id not in superseded]
        refused = [problem for problem in refused if problem.patch not in superseded]
    moved = {found.id: moved_step(scene, found, clock, despite_fix=despite_fix) for found in wanted}
    kept = {step.layer.id: step for step in kept_steps(scene, but=moved)}
    return Proposal(
        steps=tuple(_in_order(scene, kept | moved)),
        holds=scene.site.ledger.holds,
        refused=tuple(refused),
        strict=strict,
        promises_check=not strict,
        asks_registry=True,
        notes=tuple(notes),
    )


def _in_order(scene: Scene, steps: Mapping[str, Step]) -> list[Step]:
    """Receipts in ledger order, then the new ones, each behind what it requires."""
    recorded = [receipt.id for receipt in scene.site.ledger.receipts]
    ordered: dict[str, Step] = {}

    def place(id_: str) -> None:
        if id_ in ordered or id_ not in steps:
            return
        for needed in steps[id_].layer.requires:
            place(needed)
        ordered[id_] = steps[id_]

    for id_ in (*recorded, *steps):
        place(id_)
    return list(ordered.values())


def _with_required(scene: Scene, chosen: Sequence[Assessment]) -> list[Assessment]:
    """The chosen entries in registry order, each behind what it requires and is not in yet.

    What may not be applied by itself is not brought in for another's sake either; the plan then says what is missing.
    """
    ordered: list[Assessment] = []

    def visit(found: Assessment) -> None:
        for needed in found.case.requires:
            other = scene.find(needed)
            if other is None or other in ordered or other.verdict is Verdict.APPLIED:
                continue
            if other in chosen or refusal_of(scene, other, despite_fix=False) is None:
                visit(other)
        if found not in ordered:
            ordered.append(found)

    for found in chosen:
        visit(found)
    return ordered


def _place_of(scene: Scene, patch: Patch, clock: Clock) -> RegistryPlace:
    """Where an entry comes from, as it is recorded: under a fixed time the same wherever a build is made."""
    place = scene.registry.place_of(patch)
    return place._replace(path=None if clock.fixed else place.path, real=None)


def moved_step(scene: Scene, found: Assessment, clock: Clock, *, despite_fix: bool = False) -> Step:
    """Return the step that brings an entry in, or renews it, with the receipt to record."""
    case = found.case
    diffs = case.due
    old = case.receipt
    patch = case.patch
    stays = old is not None and (old.set_aside is None or not case.rebuilt)
    receipt = Receipt(
        id=found.id,
        kind=patch.kind.value if patch is not None else old.kind if old is not None else "",
        title=patch.title if patch is not None else old.title if old is not None else "",
        revision=patch.revision if patch is not None else old.revision if old is not None else 0,
        diffs=tuple(
            ReceiptDiff(
                distribution=diff.distribution,
                diff=diff.name,
                sha256=diff.sha256,
                strip=diff.strip,
                build=scene.target.distributions[diff.distribution].build,
                rule=diff.rule.value,
            )
            for diff in diffs
        ),
        requires=case.requires,
        conflicts=patch.conflicts if patch is not None else old.conflicts if old is not None else (),
        assumed=case.assumed,
        despite_fix=despite_fix and found.need is Need.FIXED,
        applied_at=clock.stamp,
        registry=_place_of(scene, patch, clock) if patch is not None else old.registry if old is not None else None,
    )
    return Step(
        layer=Layer(
            id=found.id,
            diffs=diffs,
            moved=True,
            requires=case.requires,
            conflicts=patch.conflicts if patch is not None else (),
            takes_out=case.replaces,
            returns=old is not None and old.set_aside is not None,
        ),
        # what was said of another build does not hold for this one
        receipt=receipt._replace(despite_fix=True) if old is not None and old.despite_fix and stays else receipt,
    )
