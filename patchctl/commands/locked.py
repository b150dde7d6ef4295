"""What ``check``, ``status`` and ``apply`` share under a lock file: it says which entries are the default ones."""

from __future__ import annotations

from typing import NamedTuple

from patchctl.commands.judging import Scene
from patchctl.commands.lock_file import doubts_about, read_lock
from patchctl.commands.place import Place
from patchctl.commands.report import Report
from patchctl.commands.trusted import callers
from patchctl.commands.warnings import unpinned
from patchctl.disk.others import Doubt
from patchctl.errors import Outcome
from patchctl.pins import FINE, Lock, PinFinding, PinState, Review, problem_of, review
from patchctl.verdict import Action, Assessment, explained

_ON_STDOUT = frozenset({PinState.DUE, PinState.STUCK})
"""What the entry itself says, as without a lock; the other failures are between lock and registry."""


class Gate(NamedTuple):
    """A lock file that was read.

    Attributes:
        path: as it was given.
        lock: what it says.
        place: where to look, with the pinned entries as the default ones.
        doubt: who else than root, and whoever had it called, may change the file that was read.
    """

    path: str
    lock: Lock
    place: Place
    doubt: Doubt | None = None


def open_gate(place: Place, path: str) -> Gate:
    """Read a lock file.

    Raises:
        LockFileError: it cannot be read, or something in it is wrong.
    """
    lock, doubt = read_lock(path, callers(place))
    return Gate(path=path, lock=lock, doubt=doubt, place=place._replace(wanted=lock.ids, taking=lock.ids))


def review_of(gate: Gate, scene: Scene) -> Review:
    """Compare what was gathered at ``gate.place`` with the lock."""
    return review(
        gate.lock,
        scene.assessments,
        file=gate.path,
        defaults=scene.registry.defaults,
        distribution=gate.place.distribution,
    )


def check_locked(gate: Gate, scene: Scene, *, strict: bool) -> Report:
    """Judge the pinned entries alone: what the registry has besides is no matter, broken or not.

    Args:
        gate: the lock.
        scene: gathered at its place; no transaction is open.
        strict: count advice too: what is held, can be retired, or is in and not pinned.
    """
    found = review_of(gate, scene)
    errors = tuple(problem for problem in scene.errors if problem.patch in gate.lock.ids)
    broken = {problem.patch for problem in errors}
    outcome = Outcome.ATTENTION if found.failing or (strict and _advice(found, scene)) else Outcome.OK
    errors += tuple(
        problem_of(finding, gate.path)
        for finding in found.failing
        if finding.state not in _ON_STDOUT and finding.pin.id not in broken
    )
    ids = [finding.pin.id for finding in found.findings]
    pinned = tuple(it for it in scene.in_registry_order() if it.id in ids)
    return Report(
        command="check",
        outcome=outcome.worse(Outcome.CANNOT_ANSWER) if broken else outcome,
        target=scene.target,
        assessments=tuple(explained(it, named=False) for it in as_pinned(pinned, found)),
        named=tuple(ids),
        review=found,
        warnings=(
            *doubts_about(gate.path, site=scene.target.site),
            *(it for it in scene.warnings if it.patch is None or it.patch in gate.lock.ids),
            *(unpinned(extra.id) for extra in found.extra if extra.hold is None),
        ),
        errors=errors,
    )


def status_locked(gate: Gate, scene: Scene, report: Report) -> Report:
    """Return a status report of ``scene`` with what the lock says of it."""
    found = review_of(gate, scene)
    warnings = (*doubts_about(gate.path, site=scene.target.site), *report.warnings)
    return report._replace(review=found, assessments=as_pinned(report.assessments, found), warnings=warnings)


def as_pinned(assessments: tuple[Assessment, ...], found: Review) -> tuple[Assessment, ...]:
    """Return assessments as they are under the lock: of a pinned entry that stands as pinned nothing is due."""
    findings = {finding.pin.id: finding for finding in found.findings}
    return tuple(_under(findings.get(it.id), it) for it in assessments)


def _under(finding: PinFinding | None, found: Assessment) -> Assessment:
    if finding is None or finding.state not in FINE or found.action in {Action.NONE, Action.RETIRE}:
        return found
    return found._replace(action=Action.NONE, reason=finding.reason)


def _advice(found: Review, scene: Scene) -> bool:
    ids = {finding.pin.id for finding in found.findings}
    retire = any(it.action is Action.RETIRE for it in scene.assessments if it.id in ids)
    held = any(finding.state is PinState.HELD for finding in found.findings)
    return retire or held or bool(found.extra or found.held)
