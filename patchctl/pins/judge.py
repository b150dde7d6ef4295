"""Is an environment as a lock file says? Assessments in, one finding a pin out.

The assessments are made with the lock in the registry's place: its entries are the default ones, and no others. What a
newer registry has besides plays no part in any finding.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import Enum
from typing import NamedTuple

from patchctl.build import MatchRule
from patchctl.errors import Problem
from patchctl.patch import Patch
from patchctl.pins.values import Lock, LockedHold, Pin
from patchctl.verdict import Action, Assessment, Need, Verdict

_SHOWN = 12
"""Digits of a digest that tell two apart for people; errors have them all."""


class PinState(str, Enum):
    """How a pinned entry stands."""

    APPLIED = "applied"
    FIXED = "fixed"
    HELD = "held"
    DUE = "due"
    STUCK = "stuck"
    NO_MATCH = "no-match"
    OTHER_REVISION = "other-revision"
    OTHER_DIFF = "other-diff"
    UNKNOWN = "unknown"


FINE = frozenset({PinState.APPLIED, PinState.FIXED, PinState.HELD})
"""The states that a gate lets pass."""

_CODES = {
    PinState.DUE: "pin-due",
    PinState.STUCK: "pin-stuck",
    PinState.NO_MATCH: "pin-no-match",
    PinState.OTHER_REVISION: "pin-other-revision",
    PinState.OTHER_DIFF: "pin-other-diff",
    PinState.UNKNOWN: "pin-unknown",
}


class PinFinding(NamedTuple):
    """One pinned entry: how it stands, and why, in words."""

    pin: Pin
    state: PinState
    reason: str


class Extra(NamedTuple):
    """An entry that is in and not pinned; ``hold`` is why the operator of this machine holds it there, or None."""

    id: str
    hold: str | None


class Review(NamedTuple):
    """An environment seen through a lock file.

    Attributes:
        file: the lock file's path, as it was given.
        findings: one for each pin, by id.
        held: what the lock holds out.
        extra: what is in and not pinned, by id.
        new: default entries of the registry that matter here and that the lock does not know.
    """

    file: str
    findings: tuple[PinFinding, ...]
    held: tuple[LockedHold, ...] = ()
    extra: tuple[Extra, ...] = ()
    new: tuple[str, ...] = ()

    @property
    def failing(self) -> tuple[PinFinding, ...]:
        """The findings that a gate does not let pass."""
        return tuple(finding for finding in self.findings if finding.state not in FINE)


def review(
    lock: Lock,
    assessments: Iterable[Assessment],
    *,
    file: str,
    defaults: Collection[str] = (),
    distribution: str | None = None,
) -> Review:
    """Compare an environment with a lock.

    Args:
        lock: what is pinned.
        assessments: of every entry, with the lock's as the default ones.
        file: the lock's path, for people.
        defaults: ids that the registry itself marks as default.
        distribution: normalised name; look at pins about this one alone. None: at all.
    """
    by_id = {found.id: found for found in assessments}
    pins = [pin for pin in sorted(lock.pins) if distribution in {None, *(diff.distribution for diff in pin.diffs)}]
    strangers = [found for id_, found in sorted(by_id.items()) if id_ not in lock.ids]
    strangers = [found for found in strangers if _is_about(found, distribution)]
    known = {held.id for held in lock.holds}
    return Review(
        file=file,
        findings=tuple(judge_pin(pin, by_id.get(pin.id)) for pin in pins),
        held=tuple(sorted(lock.holds)),
        extra=tuple(
            Extra(id=found.id, hold=found.case.hold.reason if found.case.hold is not None else None)
            for found in strangers
            if found.case.receipt is not None and found.verdict is not Verdict.LOST
        ),
        new=tuple(found.id for found in strangers if found.id in defaults and found.id not in known and _waits(found)),
    )


def _is_about(found: Assessment, distribution: str | None) -> bool:
    case = found.case
    named = set(case.patch.distributions) if case.patch is not None else set()
    return distribution in {None, *named, *(diff.distribution for diff in case.recorded)}


def _waits(found: Assessment) -> bool:
    """It would be wanted here, were there no lock: nobody has decided about it yet."""
    if found.case.receipt is not None or found.verdict is None:
        return False
    return found.need in {Need.OPTIONAL, Need.UNKNOWN_BUILD}


def judge_pin(pin: Pin, found: Assessment | None) -> PinFinding:
    """Return how a pinned entry stands; the first that fits, from the top.

    Args:
        pin: the pin.
        found: the entry's assessment; None: neither registry nor ledger has it in working order.
    """
    if found is None:
        return PinFinding(pin, PinState.UNKNOWN, "this registry does not have it in working order")
    changed = _changed(pin, found.case.patch)
    if changed is not None:
        return PinFinding(pin, PinState.OTHER_DIFF, changed)
    # What was taken out for an upgrade is to come back, although a hold or a proven fix keeps others out.
    returns = found.action is Action.APPLY
    if found.need is Need.FIXED and not returns:
        return PinFinding(pin, PinState.FIXED, found.reason)
    if found.case.hold is not None and not returns:
        return PinFinding(pin, PinState.HELD, f"held on this machine: {found.case.hold.reason}")
    return _applied(pin, found) or _to_come(pin, found, found.case.patch)


def _changed(pin: Pin, patch: Patch | None) -> str | None:
    """A diff of the pinned revision that is not the pinned one, whatever build it is for: the registry broke its word.

    A diff under a new name is none of these: a variant for one more build needs no new revision.
    """
    if patch is None or patch.revision != pin.revision:
        return None
    pinned = {(it.distribution, it.diff): it.sha256 for it in pin.diffs}
    for variant in patch.variants:
        sha256 = pinned.get((variant.distribution, variant.diff or ""))
        if (
            sha256 is not None
            and variant.sha256 != sha256
            and not pin.allows(variant.distribution, str(variant.sha256))
        ):
            return (
                f"{variant.diff} was changed without a new revision: the lock pins sha256 {sha256}, this registry "
                f"has {variant.sha256}, both as revision {pin.revision}"
            )
    return None


def _applied(pin: Pin, found: Assessment) -> PinFinding | None:
    """What is in decides, whatever the registry has besides; None: it is not in, or only an older revision is."""
    receipt, patch = found.case.receipt, found.case.patch
    if receipt is None or found.verdict is not Verdict.APPLIED:
        return None
    if receipt.revision != pin.revision:
        if patch is not None and receipt.revision < pin.revision == patch.revision:
            return None
        reason = f"revision {receipt.revision} is applied, the lock pins {pin.revision}"
        return PinFinding(pin, PinState.OTHER_REVISION, reason)
    for diff in receipt.diffs:
        if not pin.allows(diff.distribution, diff.sha256):
            pinned = ", ".join(it.sha256[:_SHOWN] for it in pin.diffs if it.distribution == diff.distribution) or "none"
            reason = f"the applied diff of {diff.distribution} is {diff.sha256}, the lock pins {pinned}"
            return PinFinding(pin, PinState.OTHER_DIFF, reason)
    return PinFinding(pin, PinState.APPLIED, "in, as pinned")


def _to_come(pin: Pin, found: Assessment, patch: Patch | None) -> PinFinding:
    """It is not in: may the registry's own entry come in for it?"""
    if patch is None:
        return PinFinding(pin, PinState.UNKNOWN, f"this registry does not have it, and it is not in: {found.reason}")
    if patch.revision != pin.revision:
        reason = f"the lock pins revision {pin.revision}; this registry has {patch.revision}"
        return PinFinding(pin, PinState.OTHER_REVISION, reason)
    if not patch.variants or all(variant.diff is None for variant in patch.variants):
        return PinFinding(pin, PinState.UNKNOWN, "in this registry it is advice only: there is nothing to apply")
    if found.case.rule is MatchRule.NONE:
        return PinFinding(pin, PinState.NO_MATCH, f"it is not meant for this build: {found.case.reason}")
    for diff in found.case.diffs:
        if not pin.allows(diff.distribution, diff.sha256):
            reason = (
                f"for this build the registry has {diff.name} with sha256 {diff.sha256}, which the lock does not pin"
            )
            return PinFinding(pin, PinState.OTHER_DIFF, reason)
    if found.action is Action.APPLY:
        return PinFinding(pin, PinState.DUE, f"it is not in yet: {found.reason}")
    word = found.verdict.value if found.verdict is not None else "-"
    return PinFinding(pin, PinState.STUCK, f"it is not in ({word}, {found.action.value}): {found.reason}")


def problem_of(finding: PinFinding, file: str) -> Problem:
    """Return a finding that does not pass as a problem, with what to do.

    Args:
        finding: of a state that is not in ``FINE``.
        file: the lock's path.
    """
    from patchctl.model.shell import shell_word  # late: only where something is wrong

    id_ = finding.pin.id
    anew = "patchctl lock writes the lock file anew, once the environment is as it should be"
    hints = {
        PinState.DUE: f"patchctl apply --locked {shell_word(file)}",
        PinState.STUCK: f"patchctl status {id_} shows what is there",
        PinState.NO_MATCH: f"if it need not be in here: patchctl hold {id_} --reason REASON",
        PinState.OTHER_REVISION: f"name the registry that has revision {finding.pin.revision}; or {anew}",
        PinState.OTHER_DIFF: f"name the registry that the lock was made with; or {anew}",
        PinState.UNKNOWN: f"name the registry that has it: --registry DIR; or {anew}",
    }
    message = f"{id_}: {finding.reason}"
    return Problem(code=_CODES[finding.state], message=message, hint=hints[finding.state], patch=id_)
