"""Entries that are out although nobody reverted them: set aside for an upgrade, lost by one, or retired; in words.

What follows from it is a row of the tables in ``need``.
"""

from __future__ import annotations

from collections.abc import Mapping

from patchctl.build import BuildChange, MatchRule, change_of
from patchctl.evidence import FixStatus
from patchctl.match import Fit
from patchctl.model import FixRole, SetAside
from patchctl.verdict.facts import Assessment, Case, Need

_WAYS = {BuildChange.UPGRADE: "upgrade", BuildChange.DOWNGRADE: "downgrade"}
_OTHERWISE = "change"
_NOT_THERE = frozenset({FixStatus.ABSENT, FixStatus.CONTRADICTED})


def comes_back(case: Case, need: Need, fit: Fit | None) -> bool:
    """Return whether an entry that was set aside is to come back although it is held, or fixed.

    It was in, and taken out for the installer's sake alone: a hold says that it stays as it was, and what was applied
    with ``--despite-fix`` comes back on the build for which the operator said so.

    Args:
        case: the entry.
        need: of the entry.
        fit: what the diffs that would bring it in look like here.
    """
    receipt = case.receipt
    if receipt is None or receipt.set_aside is None or fit is not Fit.APPLICABLE:
        return False
    if case.incomplete or (case.rebuilt and case.rule is MatchRule.NONE):
        return False
    if need is Need.HELD:
        return True
    return need is Need.FIXED and case.hold is None and receipt.despite_fix and not case.rebuilt


def aside_words(mark: SetAside) -> str:
    """Say that an entry was taken out for an upgrade."""
    return f"taken out for the upgrade to {builds_words(mark.builds)} (retire --for)"


def arrival_words(case: Case, mark: SetAside) -> str:
    """Say of the upgrade that an entry was taken out for where it did not come, or not that one; empty: it came."""
    meant = {name: build for name, build in mark.builds.items() if name in case.installed}
    if all(case.installed[name] == build for name, build in meant.items()):
        return ""
    if not case.rebuilt:
        return ", which is not installed yet"
    return f", but {builds_words({name: case.installed[name] for name in meant})} is installed"


def upgrade_words(case: Case) -> str:
    """Say which upgrade or downgrade put an applied entry out, where ``case.rebuilt``."""
    receipt = case.receipt
    was = {diff.distribution: diff.build for diff in receipt.diffs} if receipt is not None else {}
    changed = {name: build for name, build in was.items() if case.installed.get(name, build) != build}
    if not changed:
        return "the installation of another wheel of the same build"
    to = {name: case.installed[name] for name in changed}
    ways = {change_of(changed[name], to[name]) for name in changed}
    what = _WAYS.get(next(iter(ways)), _OTHERWISE) if len(ways) == 1 else _OTHERWISE
    return f"the {what} from {builds_words(changed)} to {builds_words(to)}"


def builds_words(builds: Mapping[str, str]) -> str:
    """Return the build, or where there are several which distribution has which."""
    if len(builds) == 1:
        return next(iter(builds.values()))
    return " and ".join(f"{name} {build}" for name, build in builds.items()) or "an unknown build"


def retired_words(found: Assessment) -> str | None:
    """Say that an entry was retired once, and what is of that now; None: it was not, or it came in again since."""
    retirement = found.case.retirement
    if retirement is None:
        return None
    was = builds_words(retirement.builds)
    if found.need is Need.FIXED:
        return f"retired by proof in {was}"
    fixes = [finding.status for finding in found.case.fixes if finding.fix.role is FixRole.FIXES]
    now = builds_words({name: found.case.installed.get(name, "gone") for name in retirement.builds})
    if all(status in _NOT_THERE or status is FixStatus.PROVEN for status in fixes):
        return f"retired in {was}, but these bytes ({now}) do not have the fix"
    return f"retired in {was}, but in these bytes ({now}) the fix is not proven"
