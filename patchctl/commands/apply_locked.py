"""``apply --locked``: bring in just what a lock file pins, all of it or nothing.

What is in and not pinned stays, and is told: only ``revert`` and a replacement take an entry out.
"""

from __future__ import annotations

from patchctl.commands.apply import refusal_of, replaced_problem, stack_with
from patchctl.commands.change import carry_out
from patchctl.commands.judging import Scene
from patchctl.commands.lock_file import doubts_about
from patchctl.commands.locked import Gate, open_gate, review_of
from patchctl.commands.place import NO_CONSENT, NOTHING_ELSE, Allowed, Clock, Consent, Place
from patchctl.commands.proposal import Proposal
from patchctl.commands.report import Report
from patchctl.commands.trusted import refuse_lock_file
from patchctl.commands.warnings import unpinned
from patchctl.errors import Outcome, Problem
from patchctl.pins import PinState, Review, problem_of
from patchctl.verdict import Assessment


def apply_locked(
    place: Place,
    clock: Clock,
    path: str,
    *,
    max_offset: int | None = None,
    dry_run: bool = False,
    wait: float = 0.0,
    consent: Consent = NO_CONSENT,
    allowed: Allowed = NOTHING_ELSE,
) -> Report:
    """Bring in what the lock file at ``path`` pins; other arguments as of :func:`patchctl.commands.apply.apply`.

    Raises:
        PatchctlError: the lock file cannot be used; or as of ``carry_out``.
    """
    gate = open_gate(place, path)
    seen: list[Review] = []

    def propose(scene: Scene) -> Proposal:
        refuse_lock_file(place, path, gate.doubt)
        found = review_of(gate, scene)
        seen.append(found)
        return _proposal(gate, scene, found, clock)

    report = carry_out(
        "apply",
        gate.place,
        clock,
        propose,
        named=sorted(gate.lock.ids),
        max_offset=max_offset,
        dry_run=dry_run,
        wait=wait,
        consent=consent,
        allowed=allowed,
    )
    # The last one is what was acted on: under the lock everything is looked at again.
    site = report.target.site if report.target is not None else None
    report = report._replace(warnings=(*doubts_about(path, site=site), *report.warnings))
    return _told(report, seen[-1]) if seen else report


def _proposal(gate: Gate, scene: Scene, found: Review, clock: Clock) -> Proposal:
    chosen: list[Assessment] = []
    refused: list[Problem] = []
    notes = [f"{it.pin.id}: {it.reason}" for it in found.findings if it.state in {PinState.HELD, PinState.FIXED}]
    for finding in found.failing:
        assessment = scene.find(finding.pin.id)
        if finding.state is not PinState.DUE or assessment is None:
            refused.append(problem_of(finding, gate.path))
            continue
        problem = refusal_of(scene, assessment, despite_fix=False)
        if problem is None:
            chosen.append(assessment)
        else:
            refused.append(problem)
    for assessment in chosen:
        refused += [replaced_problem(id_, assessment.id) for id_ in assessment.case.replaces if id_ in gate.lock.ids]
    proposal = stack_with(scene, chosen, refused, notes, clock, strict=True, despite_fix=False)
    strangers = [step.layer.id for step in proposal.steps if step.layer.moved and step.layer.id not in gate.lock.ids]
    return proposal._replace(refused=(*proposal.refused, *map(_not_to_come, strangers)))


def _not_to_come(id_: str) -> Problem:
    message = f"{id_} is required by a pinned entry, but the lock does not pin it"
    return Problem(code="not-pinned", message=message, hint="patchctl lock pins what is required too", patch=id_)


def _told(report: Report, found: Review) -> Report:
    """The report with the review as it is afterwards; what is in and not pinned is one more reason to exit 1."""
    change = report.change
    if change is not None and change.state == "committed":
        # All or nothing: what was due is in.
        findings = tuple(
            it._replace(state=PinState.APPLIED, reason="it came in") if it.state is PinState.DUE else it
            for it in found.findings
        )
        found = found._replace(findings=findings)
    gone = change.reverted if change is not None else ()
    found = found._replace(extra=tuple(extra for extra in found.extra if extra.id not in gone))
    stray = tuple(unpinned(extra.id) for extra in found.extra if extra.hold is None)
    outcome = report.outcome.worse(Outcome.ATTENTION) if stray else report.outcome
    return report._replace(review=found, outcome=outcome, errors=(*report.errors, *stray))
