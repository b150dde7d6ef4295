"""``preflight``: what an upgrade to each of some candidates would mean for every entry. Nothing is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from patchctl.build import BuildChange, change_of, parse_build
from patchctl.commands.forecast import STUCK, Fate, Forecast, Protection, forecast
from patchctl.commands.judging import Scene
from patchctl.commands.moves import moved_code
from patchctl.commands.place import Place
from patchctl.commands.recut import rest_of
from patchctl.commands.report import Report
from patchctl.commands.scene import gather
from patchctl.commands.stack import concerns
from patchctl.commands.status import unfinished_problems
from patchctl.commands.upcoming import Upcoming, judged_candidate
from patchctl.commands.upgrade_steps import upgrade_steps
from patchctl.commands.warnings import slow_patterns, target_warnings
from patchctl.errors import Outcome, PatchctlError, Problem
from patchctl.model import Distribution, Target
from patchctl.target import CandidateKind
from patchctl.verdict import explained


class Swap(NamedTuple):
    """What an upgrade does to one distribution.

    Attributes:
        distribution: normalised name.
        before: build string that is installed; None: it is not.
        after: build string of the candidate.
        change: how the one follows the other; None: nothing is installed.
        same_files: the candidate has the very files that RECORD lists here; None: unknown.
    """

    distribution: str
    before: str | None
    after: str
    change: BuildChange | None
    same_files: bool | None


class Prospect(NamedTuple):
    """One candidate, seen from the environment.

    Attributes:
        path: as it was given.
        kind: ``wheel``, ``directory`` or ``environment``; None: it could not be read.
        target: what it holds; None: it could not be read.
        swaps: what happens to the distributions that it brings.
        forecasts: what becomes of each entry, in registry order.
        steps: the commands of the upgrade, in order, quoted for a shell.
        notes: sentences about the upgrade as a whole.
        warnings: what is odd about the candidate.
        errors: why it, or an entry in it, could not be judged.
        detailed: it was asked where and why a patch does not fit, line by line.
        failure: how reading it ended, where it could not be read.
    """

    path: str
    kind: str | None = None
    target: Target | None = None
    swaps: tuple[Swap, ...] = ()
    forecasts: tuple[Forecast, ...] = ()
    steps: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[Problem, ...] = ()
    errors: tuple[Problem, ...] = ()
    detailed: bool = False
    failure: Outcome = Outcome.OK

    def ids(self, protection: Protection) -> tuple[str, ...]:
        """Return the entries after which the upgrade leaves that protection."""
        return tuple(found.id for found in self.forecasts if found.protection is protection)


def preflight(place: Place, candidates: Sequence[str], *, detailed: bool = False) -> Report:
    """Say what an upgrade to each candidate would mean.

    Args:
        place: the environment that would be upgraded.
        candidates: wheel files, directories, environments, or interpreters; each is judged by itself.
        detailed: say of every patch that does not fit where and why, line by line.
    """
    now = gather(place)
    if now.journal is not None:
        return Report(
            command="preflight",
            outcome=Outcome.UNFINISHED,
            target=now.target,
            journal=now.journal,
            errors=unfinished_problems(now.journal),
        )
    prospects = tuple(_prospect(place, now, path, detailed=detailed) for path in candidates)
    outcome = Outcome.CANNOT_ANSWER if now.errors else Outcome.OK
    for found in prospects:
        outcome = outcome.worse(_outcome(found))
    return Report(
        command="preflight",
        outcome=outcome,
        target=now.target,
        prospects=prospects,
        warnings=tuple(
            dict.fromkeys((*target_warnings(now.target), *(it for found in prospects for it in found.warnings)))
        ),
        errors=tuple(dict.fromkeys((*now.errors, *(it for found in prospects for it in found.errors)))),
    )


def _outcome(found: Prospect) -> Outcome:
    if found.errors or found.ids(Protection.UNKNOWN):
        return Outcome.CANNOT_ANSWER.worse(found.failure)
    return Outcome.ATTENTION if found.ids(Protection.LOST) else Outcome.OK


def _prospect(place: Place, now: Scene, path: str, *, detailed: bool) -> Prospect:
    """Judge one candidate; that it cannot be read says nothing about the others."""
    try:
        with judged_candidate(place, now, path) as upcoming:
            return _judged(place, now, upcoming)._replace(detailed=detailed)
    except PatchctlError as error:
        return Prospect(path=path, errors=(error.problem, *error.others), failure=error.outcome)


def _judged(place: Place, now: Scene, upcoming: Upcoming) -> Prospect:
    candidate, there = upcoming.candidate, upcoming.scene
    brought = candidate.tree.target.distributions
    found = tuple(
        _explained(one, there)
        for one in forecast(now, there, brought, upcoming.displaced)
        if concerns(one.shown, place.distribution)
    )
    stuck = [one.there for one in found if one.fate in STUCK and one.there is not None]
    moved = moved_code(now, stuck, candidate.tree)
    swaps = tuple(_swap(now.target.distributions.get(name), new) for name, new in brought.items())
    return Prospect(
        path=candidate.path,
        kind=candidate.kind.value,
        target=candidate.tree.target,
        swaps=swaps,
        forecasts=tuple(one._replace(moved=moved.get(one.id, ())) for one in found),
        steps=upgrade_steps(place, now, upcoming, moving=candidate.kind is CandidateKind.ENVIRONMENT),
        notes=tuple(note for swap in swaps if (note := _label_note(swap)) is not None),
        warnings=(*target_warnings(candidate.tree.target), *slow_patterns(there.assessments)),
        errors=tuple(problem for problem in there.errors if problem not in now.errors),
    )


def _explained(found: Forecast, there: Scene) -> Forecast:
    if found.fate not in STUCK or found.there is None:
        return found
    rest = rest_of(found.there, there.site) if found.fate is Fate.NEEDS_RECUT else ()
    return found._replace(there=explained(found.there, named=True), rest=rest)


def _swap(old: Distribution | None, new: Distribution) -> Swap:
    same = None
    if old is not None and None not in (old.fingerprint, new.fingerprint):
        same = old.fingerprint == new.fingerprint
    return Swap(
        distribution=new.name,
        before=old.build if old is not None else None,
        after=new.build,
        change=change_of(old.build, new.build) if old is not None else None,
        same_files=same,
    )


def _label_note(swap: Swap) -> str | None:
    """A vendor's build that gives way to another's: the number says that it is newer, not that it runs here."""
    before = parse_build(swap.before).label if swap.before is not None else None
    after = parse_build(swap.after).label
    if before is None or before == after:
        return None
    whose = f"one with the label {after}" if after is not None else "one without a label"
    return (
        f"{swap.distribution}: a build with the label {before} gives way to {whose}: "
        "find out first whether that one runs on this hardware at all"
    )
