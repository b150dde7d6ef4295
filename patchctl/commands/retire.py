"""``retire``: take out what the installed bytes prove fixed, and record the proof."""

from __future__ import annotations

from collections.abc import Sequence

from patchctl.commands.change import carry_out
from patchctl.commands.judging import Scene
from patchctl.commands.place import NO_CONSENT, NOTHING_ELSE, Allowed, Clock, Consent, Place
from patchctl.commands.proposal import Proposal
from patchctl.commands.report import Report
from patchctl.commands.stack import concerns, kept_steps, named_assessments
from patchctl.errors import Problem
from patchctl.evidence import FixStatus
from patchctl.model import FixRole, ProvenFix, Retirement
from patchctl.verdict import Action, Assessment, Need


def retire(
    place: Place,
    clock: Clock,
    ids: Sequence[str] = (),
    *,
    dry_run: bool = False,
    wait: float = 0.0,
    consent: Consent = NO_CONSENT,
    allowed: Allowed = NOTHING_ELSE,
) -> Report:
    """Retire entries.

    Args:
        place: where.
        clock: when.
        ids: entries to retire; naming one whose fixes are not all proven is refused. Empty: every one that is due.
        dry_run: plan only.
        wait: seconds to wait for another patchctl.
        consent: what the operator allows beyond the usual.
        allowed: which places beyond the site may be edited.
    """

    def propose(scene: Scene) -> Proposal:
        if ids:
            asked = named_assessments(scene, ids)
        else:
            due = [found for found in scene.in_registry_order() if found.action is Action.RETIRE]
            asked = [found for found in due if concerns(found, place.distribution)]
        refused = [problem for found in asked if (problem := _refusal(found)) is not None]
        going = [found for found in asked if _refusal(found) is None and found.case.receipt is not None]
        leaving = [found.id for found in going]
        return Proposal(
            steps=tuple(kept_steps(scene, but=leaving)),
            leaving=tuple(leaving),
            holds=scene.site.ledger.holds,
            retirements=tuple(_retirement(scene, found, clock) for found in going),
            refused=tuple(refused),
            strict=bool(ids),
            asks_registry=True,
            notes=tuple(
                f"{found.id} is not applied: there is nothing to retire"
                for found in asked
                if found.need is Need.FIXED and found.case.receipt is None
            ),
        )

    return carry_out(
        "retire",
        place._replace(taking=frozenset(ids)),
        clock,
        propose,
        named=ids,
        dry_run=dry_run,
        wait=wait,
        consent=consent,
        allowed=allowed,
    )


def _refusal(found: Assessment) -> Problem | None:
    """Why an entry must not be retired; None: its fixes are proven, and nobody holds it."""
    if found.need is not Need.FIXED:
        return _unproven(found)
    if found.case.hold is not None:
        message = f"{found.id} is held: {found.case.hold.reason}"
        return Problem(code="held", message=message, hint=f"patchctl unhold {found.id}", patch=found.id)
    return None


def _unproven(found: Assessment) -> Problem:
    open_fixes = [
        f"{finding.fix.ref} is {finding.status.value}"
        for finding in found.case.fixes
        if finding.fix.role is FixRole.FIXES and finding.status is not FixStatus.PROVEN
    ]
    why = "; ".join(open_fixes) or "it names no fix that could be proven"
    message = f"{found.id} cannot be retired: {why}"
    hint = f"patchctl revert {found.id} takes it out without proof"
    return Problem(code="not-proven", message=message, hint=hint, patch=found.id)


def _retirement(scene: Scene, found: Assessment, clock: Clock) -> Retirement:
    receipt = found.case.receipt
    names = [diff.distribution for diff in receipt.diffs] if receipt is not None else []
    installed = {name: scene.target.distributions[name] for name in names if name in scene.target.distributions}
    proven = [
        ProvenFix(ref=finding.fix.ref, evidence=tuple(item.reason for item in finding.items))
        for finding in found.case.fixes
        if finding.status is FixStatus.PROVEN and finding.fix.role is FixRole.FIXES
    ]
    if not proven:
        proven = [ProvenFix(ref="build", evidence=(found.reason,))]
    return Retirement(
        id=found.id,
        revision=receipt.revision if receipt is not None else 0,
        builds={name: distribution.build for name, distribution in installed.items()},
        fingerprints={name: distribution.fingerprint for name, distribution in installed.items()},
        fixes=tuple(proven),
        retired_at=clock.stamp,
    )
