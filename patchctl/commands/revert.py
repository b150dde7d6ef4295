"""``revert``: take entries out, byte for byte; with a hold, so that a bare ``apply`` does not bring them back."""

from __future__ import annotations

from collections.abc import Sequence

from patchctl.commands.change import carry_out
from patchctl.commands.hold import with_holds
from patchctl.commands.judging import Scene
from patchctl.commands.place import NO_CONSENT, NOTHING_ELSE, Allowed, Clock, Consent, Place
from patchctl.commands.proposal import Proposal
from patchctl.commands.report import Report
from patchctl.commands.stack import applied_diffs, concerns, kept_steps, named_assessments
from patchctl.errors import Problem
from patchctl.model import listed_sha256, sha256_hex
from patchctl.verdict import Assessment, Base, Stuck, bases_without_ours


def revert(
    place: Place,
    clock: Clock,
    ids: Sequence[str] = (),
    *,
    everything: bool = False,
    hold: str | None = None,
    keep_edits: bool = False,
    dry_run: bool = False,
    wait: float = 0.0,
    consent: Consent = NO_CONSENT,
    allowed: Allowed = NOTHING_ELSE,
) -> Report:
    """Take entries out.

    Args:
        place: where.
        clock: when.
        ids: entries to take out.
        everything: every recorded entry.
        hold: reason for which they stay out from now on.
        keep_edits: where somebody edited a file since, take the hunks out of it and leave the edit.
        dry_run: plan only.
        wait: seconds to wait for another patchctl.
        consent: what the operator allows beyond the usual.
        allowed: which places beyond the site may be edited.
    """

    def propose(scene: Scene) -> Proposal:
        recorded = [receipt.id for receipt in scene.site.ledger.receipts]
        wanted = _all(scene, place.distribution) if everything else list(dict.fromkeys(ids))
        # A receipt whose diff is gone cannot be judged, but what lies below it is recorded: it can still go.
        judged = named_assessments(scene, [id_ for id_ in wanted if id_ not in scene.unknown])
        leaving = [id_ for id_ in wanted if id_ in recorded]
        held = scene.site.ledger.holds
        notes = [f"{found.id} is not applied" for found in judged if found.case.receipt is None]
        notes += [f"{id_} is held ({held[id_].reason}) and stays out until it is not" for id_ in leaving if id_ in held]
        refused = _still_required(scene, leaving)
        bases: dict[str, Base] = {}
        if keep_edits:
            bases, stuck = bases_without_ours(scene.site, applied_diffs(scene), leaving)
            refused += tuple(_does_not_come_out(it) for it in stuck)
            kept = sorted(path for path, base in bases.items() if _is_theirs(scene, path, base))
            notes += [f"{path} keeps what somebody else wrote into it" for path in kept]
        return Proposal(
            steps=tuple(kept_steps(scene, but=leaving)),
            leaving=tuple(leaving),
            holds=held if hold is None else with_holds(scene, wanted, hold, clock),
            refused=refused,
            notes=tuple(notes),
            bases=bases,
        )

    return carry_out(
        "revert",
        place,
        clock,
        propose,
        named=ids,
        dry_run=dry_run,
        wait=wait,
        consent=consent,
        allowed=allowed,
    )


def _all(scene: Scene, distribution: str | None) -> list[str]:
    judged = [found.id for found in scene.assessments if found.case.receipt is not None]
    about = [found.id for found in scene.assessments if concerns(found, distribution)]
    return [id_ for id_ in judged if id_ in about] + (list(scene.unknown) if distribution is None else [])


def _is_theirs(scene: Scene, path: str, base: Base) -> bool:
    """Whether somebody wrote into what is left; what RECORD lists is there because our original alone got lost."""
    listed = {listed_sha256(found, path) for found in scene.target.distributions.values()}
    return base.data is not None and sha256_hex(base.data) not in listed


def _still_required(scene: Scene, leaving: Sequence[str]) -> tuple[Problem, ...]:
    """Say which entries cannot go, because an entry that stays requires them."""
    problems = []
    for found in scene.assessments:
        if found.case.receipt is None or found.id in leaving:
            continue
        for needed in found.case.receipt.requires:
            if needed in leaving:
                problems.append(_required(needed, found))
    return tuple(problems)


def _does_not_come_out(stuck: Stuck) -> Problem:
    message = f"{stuck.id} does not come out of {stuck.path}, which was edited since: {stuck.reason}"
    hint = f"undo the edit there by hand, or put the whole file back: patchctl restore {stuck.path} --from WHEEL"
    return Problem(code="does-not-come-out", message=message, hint=hint, patch=stuck.id, path=stuck.path)


def _required(needed: str, by: Assessment) -> Problem:
    message = f"{needed} cannot go: {by.id} is applied and requires it"
    return Problem(code="required", message=message, hint=f"patchctl revert {by.id} {needed}", patch=needed)
