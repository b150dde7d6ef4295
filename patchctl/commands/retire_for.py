"""``retire --for``: before an upgrade, take out what is applied, and record what is to retire and what to come back.

The installer then meets files as it left them. What becomes of each entry is decided after the upgrade, by the bytes
that are installed then; what the candidate promises is only written down.
"""

from __future__ import annotations

from patchctl.build import MatchRule
from patchctl.commands.change import carry_out
from patchctl.commands.judging import Scene
from patchctl.commands.place import NO_CONSENT, NOTHING_ELSE, Allowed, Clock, Consent, Place
from patchctl.commands.proposal import Proposal
from patchctl.commands.report import Report
from patchctl.commands.stack import kept_steps
from patchctl.commands.upcoming import Upcoming, expectation, judged_candidate, set_aside_for
from patchctl.commands.upgrade_steps import upgrade_steps
from patchctl.errors import Outcome, Problem
from patchctl.model import SetAside
from patchctl.verdict import Assessment, fits_alone


def retire_for(
    place: Place,
    clock: Clock,
    candidate: str,
    *,
    dry_run: bool = False,
    wait: float = 0.0,
    consent: Consent = NO_CONSENT,
    allowed: Allowed = NOTHING_ELSE,
) -> Report:
    """Set aside whatever is applied to the distributions that a candidate brings, all of it or nothing.

    Args:
        place: where.
        clock: when.
        candidate: path of a wheel, a directory, or an environment.
        dry_run: plan only.
        wait: seconds to wait for another patchctl.
        consent: what the operator allows beyond the usual.
        allowed: which places beyond the site may be edited.

    Raises:
        UntrustedError: ``untrusted-candidate``: as root, others may change it.
    """
    steps: tuple[str, ...] = ()

    def propose(scene: Scene) -> Proposal:
        nonlocal steps
        with judged_candidate(place, scene, candidate, trusted=True) as upcoming:
            steps = upgrade_steps(place, scene, upcoming, allowed)
            return _proposal(scene, upcoming, clock)

    report = carry_out("retire", place, clock, propose, dry_run=dry_run, wait=wait, consent=consent, allowed=allowed)
    if report.outcome is not Outcome.OK:
        return report
    return report._replace(steps=steps if dry_run else _rest(steps))


def _rest(steps: tuple[str, ...]) -> tuple[str, ...]:
    """The steps after this command itself, which is the first where something had to be taken out."""
    return steps[1:] if steps and steps[0].startswith("patchctl retire --for ") else steps


def _proposal(scene: Scene, upcoming: Upcoming, clock: Clock) -> Proposal:
    marks = {id_: _mark(scene, upcoming, id_, clock) for id_ in upcoming.displaced if id_ not in scene.unknown}
    refused = [problem for id_ in upcoming.displaced if (problem := _refusal(scene, upcoming, id_)) is not None]
    return Proposal(
        steps=tuple(kept_steps(scene, but=upcoming.displaced)),
        leaving=upcoming.displaced,
        aside=marks,
        holds=scene.site.ledger.holds,
        refused=tuple(refused),
        asks_registry=True,
        notes=tuple(f"{id_} {_what_comes(upcoming.scene.find(id_), mark)}" for id_, mark in marks.items()),
    )


_WORDS = {
    "retires": "retires after the upgrade: the candidate has the fix, proven",
    "returns": "comes back after the upgrade: it is still due there, and fits",
    "lost": "stays out after the upgrade: it does not fit there, and it is held",
}


def _what_comes(found: Assessment | None, mark: SetAside) -> str:
    other = found.case.replaced_by if found is not None else None
    if other is not None and mark.expected == "returns":
        return f"stays out after the upgrade: {other} takes its place"
    return _WORDS[mark.expected]


def _mark(scene: Scene, upcoming: Upcoming, id_: str, clock: Clock) -> SetAside:
    """The mark to record; one that says the same already keeps its time."""
    found = upcoming.scene.find(id_)
    expected = "lost" if found is None else expectation(found, upcoming.scene)
    mark = set_aside_for(upcoming.candidate, expected=expected, since=clock.stamp)
    old = next((it.set_aside for it in scene.site.ledger.receipts if it.id == id_), None)
    return old if old is not None and old._replace(since=mark.since) == mark else mark


def _refusal(scene: Scene, upcoming: Upcoming, id_: str) -> Problem | None:
    """Why an entry keeps the whole from being done; None: nothing about it does."""
    if id_ in scene.unknown:
        message = f"{id_} could not be brought back: what was applied of it cannot be read any more"
        return Problem(code="recorded-diff-gone", message=message, hint=f"patchctl revert {id_}", patch=id_)
    if id_ in scene.site.ledger.holds:
        return None
    found = upcoming.scene.find(id_)
    if found is None:
        broken = next((it for it in upcoming.scene.errors if it.patch == id_), None)
        why = broken.message if broken is not None else "it cannot be judged there"
    elif expectation(found, upcoming.scene) != "lost":
        return None
    elif found.case.rule is MatchRule.NONE and fits_alone(found):
        return _unmatched(found, upcoming.candidate.path)
    else:
        why = found.reason
    message = f"{id_} would be lost: on {upcoming.candidate.path} it is neither proven fixed nor can it go in: {why}"
    return Problem(code="would-be-lost", message=message, hint=f"port it first, {_decide(id_)}", patch=id_)


def _unmatched(found: Assessment, path: str) -> Problem:
    message = f"{found.id} would be lost: its diff fits {path}, but no variant names that build: {found.case.reason}"
    hint = f"read the code there, and widen the entry's versions, label or builds; {_decide(found.id)}"
    return Problem(code="would-be-lost", message=message, hint=hint, patch=found.id)


def _decide(id_: str) -> str:
    return (
        f"or decide: patchctl revert {id_} --hold WHY takes it out for good, patchctl hold {id_} --reason WHY lets it "
        "stay out where it does not go in"
    )
