"""``lock``: write down which entries this environment carries, so that others carry just the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from patchctl.commands.judging import Scene
from patchctl.commands.lock_file import write_lock
from patchctl.commands.output import bounds_of
from patchctl.commands.place import Place
from patchctl.commands.report import Report
from patchctl.commands.scene import gather
from patchctl.commands.stack import concerns
from patchctl.commands.status import unfinished_problems
from patchctl.commands.warnings import behind_registry
from patchctl.errors import LockFileError, Outcome, Problem
from patchctl.pins import (
    Lock,
    LockedHold,
    LockedRegistry,
    Pin,
    PinnedDiff,
    PinState,
    encode_lock,
    parse_lock,
    problem_of,
    review,
)
from patchctl.verdict import DUE, Action, Assessment, Need, Verdict


class LockWritten(NamedTuple):
    """A lock that was made.

    Attributes:
        path: where it was written, as it was given; None: it is printed.
        lock: what it says.
        data: its bytes.
        changed: the file is another one than before; None without a file.
    """

    path: str | None
    lock: Lock
    data: bytes
    changed: bool | None = None


def lock(place: Place, output: str) -> Report:
    """Pin what is applied here, or would be by a bare ``apply``, and what is held.

    Args:
        place: where.
        output: the file, absolute or relative to the working directory; ``-``: print it.

    Raises:
        PatchctlError: no answer, or the file cannot be written.
    """
    scene = gather(place)
    report = Report(command="lock", target=scene.target, journal=scene.journal, warnings=scene.warnings)
    if scene.journal is not None:
        return report._replace(outcome=Outcome.UNFINISHED, errors=unfinished_problems(scene.journal))
    if scene.errors:
        # Whether a broken entry belongs into the lock nobody can tell.
        return report._replace(outcome=Outcome.CANNOT_ANSWER, errors=scene.errors)
    about = [found for found in scene.in_registry_order() if concerns(found, place.distribution)]
    unsettled = tuple(_unsettled(found) for found in about if found.action in DUE and found.action is not Action.APPLY)
    if unsettled:
        return report._replace(outcome=Outcome.ATTENTION, errors=unsettled)
    made = _lock_of(scene, about)
    changed_diffs = [it for it in review(made, about, file=output).failing if it.state is PinState.OTHER_DIFF]
    if changed_diffs:
        errors = tuple(problem_of(finding, output) for finding in changed_diffs)
        return report._replace(outcome=Outcome.ATTENTION, errors=errors)
    data = _encoded(made, output)
    warnings = (*scene.warnings, *(problem for found in about if (problem := _behind(found)) is not None))
    report = report._replace(notes=_notes(about), warnings=warnings)
    if output == "-":
        return report._replace(locking=LockWritten(path=None, lock=made, data=data), alone="lock")
    changed = write_lock(output, data, bounds_of(place, scene.target))
    return report._replace(locking=LockWritten(path=output, lock=made, data=data, changed=changed))


def _encoded(made: Lock, path: str) -> bytes:
    """The bytes of the file, which are read back: nobody is left with a lock file that cannot be used."""
    data = encode_lock(made)
    _, problems = parse_lock(data, file=path)
    if problems:
        message = f"what is in here cannot be written as a lock file: {problems[0].message}"
        raise LockFileError("cannot-lock", message, hint=problems[0].hint)
    return data


def _unsettled(found: Assessment) -> Problem:
    message = f"{found.id} cannot be pinned before it is settled ({found.action.value}): {found.reason}"
    hint = f"patchctl status {found.id} says what it needs; to leave it out: patchctl hold {found.id} --reason REASON"
    return Problem(code="not-settled", message=message, hint=hint, patch=found.id)


def _lock_of(scene: Scene, about: Sequence[Assessment]) -> Lock:
    chosen = {found.id: found for found in about if _belongs(found)}
    # What another one replaces here goes when that comes in.
    chosen = {id_: found for id_, found in chosen.items() if found.case.replaced_by not in chosen}
    waiting = list(chosen.values())
    while waiting:  # what a pinned entry requires would come in with it
        for id_ in waiting.pop().case.requires:
            other = scene.find(id_)
            if other is not None and id_ not in chosen and other.need is not Need.FIXED and other.verdict is not None:
                chosen[id_] = other
                waiting.append(other)
    holds = [found for found in about if found.case.hold is not None and found.id not in chosen]
    return Lock(
        pins=tuple(_pin(found) for found in chosen.values()),
        holds=tuple(LockedHold(id=it.id, reason=it.case.hold.reason) for it in holds if it.case.hold is not None),
        registries=tuple(LockedRegistry(name=root.name, revision=root.revision) for root in scene.registry.roots),
    )


def _belongs(found: Assessment) -> bool:
    """It is in, or a bare ``apply`` would bring it in."""
    return found.action is Action.APPLY or found.verdict is Verdict.APPLIED


def _pin(found: Assessment) -> Pin:
    case = found.case
    receipt, patch = case.receipt, case.patch
    if receipt is not None and (found.verdict is Verdict.APPLIED or patch is None):
        revision = receipt.revision
        diffs = tuple(PinnedDiff(it.distribution, it.diff, it.sha256) for it in receipt.diffs)
    else:
        revision = patch.revision if patch is not None else 1
        diffs = tuple(PinnedDiff(it.distribution, it.name, it.sha256) for it in case.due)
    if patch is not None and patch.revision == revision:
        every = tuple(PinnedDiff(it.distribution, it.diff or "", it.sha256 or "") for it in patch.variants)
        # Where the registry's are not those that were applied, only these are known to be what is in.
        digests = {(it.distribution, it.sha256) for it in every}
        diffs = every if all((it.distribution, it.sha256) in digests for it in diffs) else diffs
    return Pin(id=found.id, revision=revision, diffs=diffs, hold=case.hold.reason if case.hold is not None else None)


def _behind(found: Assessment) -> Problem | None:
    patch, receipt = found.case.patch, found.case.receipt
    if found.verdict is not Verdict.APPLIED or not found.case.newer or patch is None or receipt is None:
        return None
    return behind_registry(found.id, receipt.revision, patch.revision)


def _notes(about: Sequence[Assessment]) -> tuple[str, ...]:
    out = [found for found in about if not _belongs(found) and found.case.hold is None]
    fixed = ", ".join(found.id for found in out if found.need is Need.FIXED)
    return (f"not pinned, because proven fixed in this build: {fixed}",) if fixed else ()
