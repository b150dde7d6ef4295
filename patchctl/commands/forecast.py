"""What becomes of every entry in an upgrade: pure, from the environment as it is and the candidate as it is judged.

The fate of a patch, the state of the fixes, and what protects afterwards stay three facts. Nothing is read here; where
moved code went is added by ``moves``.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from typing import NamedTuple

from patchctl.build import MatchRule
from patchctl.commands.judging import Scene
from patchctl.commands.moves import Moved
from patchctl.commands.stack import distributions_of
from patchctl.evidence import FixFinding, FixStatus
from patchctl.match import Fit
from patchctl.model import FileEdit, FixRole
from patchctl.verdict import Action, Assessment, Need, Verdict


class Fate(str, Enum):
    """What becomes of the patch itself; the first that fits, in this order."""

    UNKNOWN = "unknown"
    UNTOUCHED = "untouched"
    NOT_CONCERNED = "not-concerned"
    HELD = "held"
    ADVICE = "advice"
    RETIRES = "retires"
    REPLACED = "replaced"
    UNMATCHED = "unmatched"
    APPLIED = "applied"
    VANISHES = "vanishes"
    NEEDS_RECUT = "needs-recut"
    NEEDS_PORT = "needs-port"
    PRESENT = "present"
    BLOCKED = "blocked"
    APPLIES = "applies"
    APPLIES_WITH_OFFSET = "applies-with-offset"


class Protection(str, Enum):
    """What stands between the service and the bug after the upgrade, a bare ``apply`` and a bare ``retire``.

    PATCH: the patch is in. UPSTREAM: every fix is proven, or the build carries the change. LOST: neither. NONE:
    neither, and nobody wanted it (held, advice only). UNKNOWN: the candidate does not answer.
    """

    PATCH = "patch"
    UPSTREAM = "upstream"
    LOST = "lost"
    NONE = "none"
    UNKNOWN = "unknown"


class Forecast(NamedTuple):
    """One entry in one upgrade.

    Attributes:
        id: of the entry.
        now: how it stands in the environment; None: nothing could be said of it.
        there: how it stands in the candidate, with what is applied now out; None: nothing could be said of it.
        fate: what becomes of the patch.
        protection: what protects afterwards.
        reason: why it cannot be told, where that is so.
        moved: where code went that its diff changes and that is not in its file there.
        rest: where the candidate carries a part of the change: the edits that would be left to make.
    """

    id: str
    now: Assessment | None
    there: Assessment | None
    fate: Fate
    protection: Protection
    reason: str | None = None
    moved: tuple[Moved, ...] = ()
    rest: tuple[FileEdit, ...] = ()

    @property
    def shown(self) -> Assessment:
        """The assessment in the candidate, or the one here where there is none."""
        found = self.there or self.now
        if found is None:
            raise ValueError(f"{self.id} was judged nowhere")
        return found

    @property
    def applied(self) -> bool:
        """It is in now, by our receipt."""
        return self.now is not None and self.now.verdict is Verdict.APPLIED


PATCHED = frozenset({Fate.APPLIED, Fate.PRESENT, Fate.APPLIES, Fate.APPLIES_WITH_OFFSET})
"""After the upgrade the patch is in."""

STUCK = frozenset({Fate.UNMATCHED, Fate.VANISHES, Fate.NEEDS_RECUT, Fate.NEEDS_PORT, Fate.BLOCKED})
"""A person has to do something before the patch can be in."""

_BY_FIT = {
    Fit.MISSING: Fate.VANISHES,
    Fit.PARTIAL: Fate.NEEDS_RECUT,
    Fit.CONFLICT: Fate.NEEDS_PORT,
    Fit.UNDECIDED: Fate.NEEDS_PORT,
}
_WORST_FIRST = (
    FixStatus.CONTRADICTED,
    FixStatus.UNKNOWN,
    FixStatus.MOVED,
    FixStatus.ABSENT,
    FixStatus.CLAIMED,
    FixStatus.PROVEN,
)


def forecast(now: Scene, there: Scene, brought: Collection[str], displaced: Collection[str]) -> tuple[Forecast, ...]:
    """Return what becomes of every entry that is applied, wanted or held, now or there, in registry order.

    So does one that somebody brought in by hand, and one that matches no build there while its diff fits: a check would
    fail for it.

    Args:
        now: the environment.
        there: the environment as the upgrade leaves it, with what is displaced marked as set aside.
        brought: names of the distributions that the candidate brings; others of ``there`` stay as they are.
        displaced: ids that are recorded here and must be out for the upgrade.
    """
    found = []
    for id_ in _ids(now, there):
        here, then = now.find(id_), there.find(id_)
        if _concerns(here, then):
            stays = then is not None and id_ not in displaced and not distributions_of(then) & set(brought)
            found.append(_forecast(id_, here, then, there, stays=stays))
    by_id = {one.id: one for one in found}
    return tuple(_with_replacement(one, by_id) for one in found)


def _ids(now: Scene, there: Scene) -> list[str]:
    """Ids in registry order; those that only the ledger knows, or of which nothing is known there, come last."""
    ids = [found.id for scene in (there, now) for found in scene.in_registry_order()]
    order = {entry.id: number for number, entry in enumerate(there.registry.entries)}
    return sorted(dict.fromkeys(ids), key=lambda id_: order.get(id_, len(order)))


def _concerns(now: Assessment | None, there: Assessment | None) -> bool:
    known = [found for found in (now, there) if found is not None]
    if any(found.case.receipt is not None or found.need in {Need.WANTED, Need.HELD} for found in known):
        return True
    return (now is not None and by_hand(now)) or (there is not None and there.need is Need.UNKNOWN_BUILD)


def by_hand(now: Assessment) -> bool:
    """Return whether a change that somebody made without a record is in the files, for a build that the entry names."""
    return now.verdict is Verdict.PRESENT and now.need is not Need.FIXED and now.case.rule is not MatchRule.NONE


def _forecast(id_: str, now: Assessment | None, there: Assessment | None, scene: Scene, *, stays: bool) -> Forecast:
    if there is None:
        said = next((problem.message for problem in scene.errors if problem.patch == id_), None)
        reason = said or "the candidate gives no answer"
        return Forecast(id=id_, now=now, there=None, fate=Fate.UNKNOWN, protection=Protection.UNKNOWN, reason=reason)
    fate, why = _fate(there, scene, stays=stays)
    return Forecast(id=id_, now=now, there=there, fate=fate, protection=_protection(fate, now, there), reason=why)


def _fate(found: Assessment, there: Scene, *, stays: bool) -> tuple[Fate, str | None]:
    """What becomes of a patch, and why, where only this table knows it."""
    names = distributions_of(found)
    if not names & set(there.target.distributions):
        return Fate.NOT_CONCERNED, f"{' and '.join(sorted(names))} will not be installed there"
    if stays:
        return Fate.UNTOUCHED, f"the candidate does not bring {' or '.join(sorted(names))}: nothing changes"
    comes_back = found.action is Action.APPLY  # also what is held in, or applied although it is fixed
    if not comes_back and (found.need is Need.HELD or found.case.hold is not None):
        return Fate.HELD, None
    if found.verdict is None:
        return Fate.ADVICE, None
    if comes_back:
        return _fate_by_fit(found), None
    if found.need is Need.FIXED:
        return Fate.RETIRES, None
    if found.case.replaced_by is not None:
        return Fate.REPLACED, None
    if found.case.rule is MatchRule.NONE:
        return Fate.UNMATCHED, None
    if found.verdict is Verdict.APPLIED:
        return Fate.APPLIED, None
    return _fate_by_fit(found), None


def _fate_by_fit(found: Assessment) -> Fate:
    if found.fit in _BY_FIT and not any(file.obstacle for file in found.files):
        return _BY_FIT[found.fit]
    if found.action is Action.ADOPT:
        return Fate.PRESENT
    if found.action is not Action.APPLY and found.need is not Need.OPTIONAL:
        return Fate.BLOCKED
    return Fate.APPLIES if largest_offset(found) is None else Fate.APPLIES_WITH_OFFSET


def _protection(fate: Fate, now: Assessment | None, there: Assessment) -> Protection:
    if there.need is Need.FIXED:
        return Protection.UPSTREAM
    if fate is Fate.UNTOUCHED:
        return Protection.PATCH if now is not None and now.verdict is Verdict.APPLIED else Protection.NONE
    if fate in STUCK or (now is not None and by_hand(now) and there.need is Need.OPTIONAL):
        # what is optional comes back only where a record says that it was in
        return Protection.LOST
    return Protection.PATCH if fate in PATCHED and there.need is not Need.OPTIONAL else Protection.NONE


def _with_replacement(found: Forecast, by_id: dict[str, Forecast]) -> Forecast:
    """What takes an entry's place protects in its stead."""
    if found.fate is not Fate.REPLACED:
        return found
    other = by_id.get(found.shown.case.replaced_by or "")
    return found._replace(protection=other.protection if other is not None else Protection.LOST)


def largest_offset(found: Assessment) -> tuple[int, str] | None:
    """Return the offset of the hunk that lies farthest from its stated line, and its file; None: all are exact."""
    offsets = [(hunk.offset, file.path) for file in found.files for hunk in file.hunks if hunk.offset]
    return max(offsets, key=lambda it: abs(it[0]), default=None)


def counted_fixes(found: Assessment) -> tuple[FixFinding, ...]:
    """Return the fixes that must be in before the patch may go."""
    return tuple(finding for finding in found.case.fixes if finding.fix.role is FixRole.FIXES)


def worst_fix(found: Assessment) -> FixStatus | None:
    """Return the status of the fix that keeps the patch longest; None: the entry names no fix."""
    statuses = {finding.status for finding in counted_fixes(found)}
    return next((status for status in _WORST_FIRST if status in statuses), None)
