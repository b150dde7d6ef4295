"""Need and action: two decision tables, read from the top; the first row that fits answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from patchctl.build import MatchRule
from patchctl.evidence import FixStatus
from patchctl.match import Fit
from patchctl.model import FixRole
from patchctl.verdict.departing import arrival_words, comes_back, retired_words, upgrade_words
from patchctl.verdict.facts import Action, Assessment, Case, FileFinding, Need, Verdict
from patchctl.verdict.fold import misfit_words

_STATES = (
    (Fit.PRESENT, "is in", "are in"),
    (Fit.APPLICABLE, "could go in", "could go in"),
    (Fit.UNDECIDED, "fits both ways", "fit both ways"),
    (Fit.CONFLICT, "fits neither way", "fit neither way"),
)
_MODES: dict[Fit | None, str] = {
    None: "",
    Fit.PRESENT: "the mode is changed already; ",
    Fit.APPLICABLE: "the mode is not changed yet; ",
}
_NUMBERS = 12
"""How many hunks are listed by number."""


def need_of(case: Case, fit: Fit | None, files: Sequence[FileFinding]) -> Need:
    """Whether the entry ought to be in.

    Args:
        case: the entry.
        fit: what its diffs look like here, where that is not our own doing; None: not judged, or our own doing.
        files: the findings behind ``fit``.
    """
    matched = case.rule is not MatchRule.NONE
    if is_fixed(case, files):
        return Need.FIXED
    if case.hold is not None:
        return Need.HELD
    if case.receipt is not None:
        return Need.WANTED
    if case.replaced_by is not None:
        return Need.NOT_CONCERNED
    # What was retired was applied by somebody, who would have it back where the fix is not.
    if matched and case.patch is not None and (case.patch.default or case.retirement is not None):
        return Need.WANTED
    if matched:
        return Need.OPTIONAL
    return Need.UNKNOWN_BUILD if fit is Fit.APPLICABLE and not case.incomplete else Need.NOT_CONCERNED


def is_fixed(case: Case, files: Sequence[FileFinding]) -> bool:
    """Every fix is proven in the base bytes, or the build itself carries the change (files that equal RECORD)."""
    fixes = [finding for finding in case.fixes if finding.fix.role is FixRole.FIXES]
    if fixes and all(finding.status is FixStatus.PROVEN for finding in fixes):
        return True
    return bool(files) and all(file.built_in for file in files)


def action_of(assessment: Assessment, neighbours: Mapping[str, Assessment]) -> Assessment:
    """Return the assessment with its action, and the reason where the action changes it."""
    action, reason = _action(assessment, neighbours)
    return assessment._replace(action=action, reason=reason or assessment.reason)


def _action(found: Assessment, neighbours: Mapping[str, Assessment]) -> tuple[Action, str | None]:
    case = found.case
    if _returns(found) and blocked_by(found, neighbours) is None:
        return Action.APPLY, f"{_why_returns(found)}, and it was in: {found.reason}; to bring it back: patchctl apply"
    if found.need is Need.FIXED:
        return _fixed_action(found)
    if found.need is Need.HELD:
        return Action.NONE, _held_reason(found)
    if found.need is Need.UNKNOWN_BUILD:
        return Action.PORT, f"the diff fits these bytes, but the entry does not name this build: {case.reason}"
    if found.need is not Need.WANTED:
        return Action.NONE, f"replaced by {case.replaced_by}" if case.replaced_by else None
    if found.verdict is None:
        return Action.NONE, "advice only; see its avoidance"
    if case.receipt is not None and case.replaced_by is not None:
        return _replaced_action(found, neighbours)
    return _stranger_action(found) or _wanted_action(found, neighbours)


def _returns(found: Assessment) -> bool:
    """It is held, or fixed, and comes back all the same."""
    free = found.verdict is Verdict.LOST and not any(file.obstacle for file in found.files)
    return free and comes_back(found.case, found.need, found.fit)


def _why_returns(found: Assessment) -> str:
    hold = found.case.hold
    return f"held: {hold.reason}" if hold is not None else "applied although fixed (--despite-fix)"


def _fixed_action(found: Assessment) -> tuple[Action, str | None]:
    receipt, hold = found.case.receipt, found.case.hold
    if receipt is None:
        return Action.NONE, _fixed_reason(found)
    if hold is not None:
        return Action.NONE, f"{_held_reason(found)}; {_fixed_reason(found)}"
    if receipt.despite_fix and found.verdict is not Verdict.LOST:
        return Action.NONE, f"applied although fixed (--despite-fix); {_fixed_reason(found)}"
    return Action.RETIRE, _fixed_reason(found)


def _replaced_action(found: Assessment, neighbours: Mapping[str, Assessment]) -> tuple[Action, str | None]:
    """A recorded entry whose place another one takes: it goes when that one comes in."""
    replacement = found.case.replaced_by or ""
    if found.verdict in {Verdict.DRIFTED, Verdict.MISSING}:
        return Action.INSPECT, None
    other = neighbours.get(replacement)
    if other is not None and other.case.receipt is not None:
        return (
            Action.INSPECT,
            f"replaced by {replacement}, which is applied too; to take it out: patchctl revert {found.id}",
        )
    return Action.NONE, f"replaced by {replacement}, which takes it out when applied"


def _wanted_action(found: Assessment, neighbours: Mapping[str, Assessment]) -> tuple[Action, str | None]:
    verdict, case = found.verdict, found.case
    if verdict is Verdict.APPLIED:
        if not case.newer or case.patch is None or case.receipt is None:
            return Action.NONE, None
        blocker = blocked_by(found, neighbours)
        if blocker is not None:
            return Action.INSPECT, f"revision {case.patch.revision} cannot come in: {blocker}"
        action = Action.APPLY if found.fit is Fit.APPLICABLE else Action.PORT
        return action, f"revision {case.receipt.revision} is applied, {case.patch.revision} is current"
    if verdict is Verdict.DRIFTED or any(file.obstacle for file in found.files):
        return Action.INSPECT, None
    if verdict is Verdict.LOST and case.incomplete:
        return Action.INSPECT, f"{found.reason}: revert it, or reinstall the distribution"
    if case.receipt is not None and case.rebuilt and case.rule is MatchRule.NONE:
        return Action.PORT, f"it was applied to another build and does not name this one: {case.reason}"
    blocker = blocked_by(found, neighbours)
    if blocker is not None:
        return Action.INSPECT, blocker
    if found.fit is Fit.PRESENT:
        return Action.ADOPT, "the change is in the files, but nobody recorded it: the files differ from RECORD"
    if found.fit is Fit.APPLICABLE and verdict is not Verdict.MISSING:
        return Action.APPLY, _due_again(found)
    return Action.PORT, misfit(found)


def _stranger_action(found: Assessment) -> tuple[Action, str] | None:
    """A recorded entry of which another registry has something newer, or alone has something: the operator decides."""
    receipt, namesake = found.case.receipt, found.case.namesake
    if receipt is None or namesake is None:
        return None
    newer = found.verdict is Verdict.APPLIED and namesake.revision > receipt.revision
    if not newer and not (found.verdict is Verdict.LOST and found.case.rebuilt):
        return None
    has = f"{namesake.registry} has revision {namesake.revision}"
    came = f"revision {receipt.revision} came from {receipt.registry}"
    return Action.INSPECT, f"{has}, but {came}; to take it over: patchctl apply {found.id}"


def _due_again(found: Assessment) -> str | None:
    """Why it is to come in, where it was in before."""
    receipt = found.case.receipt
    if receipt is None:
        return retired_words(found)
    if receipt.set_aside is not None:
        return f"{found.reason}{arrival_words(found.case, receipt.set_aside)}; to bring it back: patchctl apply"
    return f"{found.reason}; due again" if found.case.rebuilt else None


def misfit(found: Assessment) -> str | None:
    """Return in words where the entry's diff first fails to fit; None when it fits."""
    for file in found.files:
        if file.fit is Fit.PARTIAL and file.meeting is not None:
            report = file.meeting.report
            return f"{file.path}: {_MODES[report.mode]}{states_words(report.hunks)}"
        words = misfit_words(file.reason, file.hunks, file.old_path)
        if words is not None:
            return f"{file.path}, {words}" if words.startswith("hunk") else f"{file.path}: {words}"
        if file.fit is Fit.UNDECIDED:
            return f"{file.path}: it cannot be told whether the change is in"
    return None


def states_words(states: Sequence[Fit]) -> str:
    """Return which hunks of a file are in, which could go in, and which neither, in words.

    Args:
        states: of each hunk, in order.
    """
    said = []
    for state, one, several in _STATES:
        numbers = [str(number) for number, other in enumerate(states, start=1) if other is state]
        shown = ", ".join(numbers[:_NUMBERS]) + (f" and {len(numbers) - _NUMBERS} more" * (len(numbers) > _NUMBERS))
        if numbers:
            said.append(f"hunk {shown} {one}" if len(numbers) == 1 else f"hunks {shown} {several}")
    return "; ".join(said)


def _held_reason(found: Assessment) -> str:
    hold = found.case.hold
    reason = f"held: {hold.reason if hold is not None else ''}"
    if found.verdict in {Verdict.LOST, Verdict.DRIFTED, Verdict.MISSING}:
        return f"{reason}; but it is {found.verdict.value}: {found.reason}"
    return reason


def blocked_by(found: Assessment, neighbours: Mapping[str, Assessment]) -> str | None:
    """Return why a neighbour keeps the entry from going in; None when none does."""
    for id_, place in found.case.trespasses:
        return f"it replaces {id_}, which came from {place}; before that: patchctl revert {id_}"
    for needed in found.case.requires:
        reason = _unmet(needed, neighbours, found)
        if reason is not None:
            return reason
    return _clash(found, neighbours)


def _unmet(needed: str, neighbours: Mapping[str, Assessment], found: Assessment) -> str | None:
    """Why a requirement can neither be met nor brought in, looked at to the end of the chain."""
    other = neighbours.get(needed)
    if other is None:
        return f"it requires {needed}, which the registry does not have in working order"
    if other.verdict is Verdict.APPLIED or other.need is Need.FIXED:
        return None
    if other.need not in {Need.WANTED, Need.OPTIONAL} and not _returns(other):
        return f"it requires {needed}, which is {other.need.value} here"
    if other.fit is Fit.PRESENT and found.fit is not Fit.PRESENT:
        return f"it requires {needed}, which is in, but nobody recorded it; to record it: patchctl adopt {needed}"
    if other.fit not in {Fit.APPLICABLE, Fit.PRESENT}:
        return f"it requires {needed}, which does not fit here"
    beyond = blocked_by(other, neighbours)
    return None if beyond is None else f"it requires {needed}, and that cannot come in: {beyond}"


def _clash(found: Assessment, neighbours: Mapping[str, Assessment]) -> str | None:
    case = found.case
    for other in neighbours.values():
        clash = other.id in _conflicts(case) or _keeps_out(other.case, case)
        in_the_way = other.case.receipt is not None or other.need is Need.WANTED
        if clash and other.id != found.id and in_the_way and other.id not in case.replaces:
            return f"it conflicts with {other.id}: take one out and hold it"
    return None


def _keeps_out(other: Case, case: Case) -> bool:
    """Whether ``other`` declares a conflict with ``case``; what is not in yet speaks for its own registry alone."""
    stranger = other.patch is not None and case.patch is not None and other.patch.registry != case.patch.registry
    return case.id in _conflicts(other) and (other.receipt is not None or not stranger)


def _conflicts(case: Case) -> tuple[str, ...]:
    recorded = case.receipt.conflicts if case.receipt is not None else ()
    return (*recorded, *(case.patch.conflicts if case.patch is not None else ()))


def _fixed_reason(found: Assessment) -> str:
    refs = [finding.fix.ref for finding in found.case.fixes if finding.fix.role is FixRole.FIXES]
    proven = bool(refs) and is_fixed(found.case, ())
    said = f"proven in the installed bytes: {', '.join(refs)}" if proven else "the build itself carries this change"
    if not proven:
        said += ": its files equal RECORD"
    receipt = found.case.receipt
    if receipt is None:
        retired = retired_words(found)
        return f"{retired}; {said}" if retired is not None else said
    if found.verdict is Verdict.LOST and found.case.rebuilt:
        held = found.case.hold is not None
        then = f"patchctl unhold {found.id} && patchctl retire" if held else "patchctl retire"
        return f"{upgrade_words(found.case)} brought the fix; {said}; to record it: {then}"
    return said
