"""``status`` and ``check``: judge and say; nothing is written, not even a lock."""

from __future__ import annotations

from collections.abc import Sequence

from patchctl.commands.glance import gather_glance
from patchctl.commands.judging import Scene
from patchctl.commands.place import Place
from patchctl.commands.report import Report
from patchctl.commands.scene import gather
from patchctl.commands.stack import concerns, named_assessments
from patchctl.commands.warnings import digest_warnings
from patchctl.errors import Outcome, Problem
from patchctl.patch import Kind
from patchctl.transaction import JournalState
from patchctl.verdict import DUE, Action, Assessment, Need, explained


def status(
    place: Place,
    ids: Sequence[str] = (),
    *,
    everything: bool = False,
    locked: str | None = None,
    alone: str = "",
    started: int = 0,
) -> Report:
    """Say how every entry that concerns this environment stands.

    Args:
        place: where.
        ids: show these alone, whether they concern this environment or not.
        everything: the not-concerned too.
        locked: path of a lock file to see the environment through.
        alone: ``digest`` or ``oneline``: that alone is the answer.
        started: when the command began, in nanoseconds since the epoch; 0: not known.
    """
    gate = None
    if locked is not None:
        from patchctl.commands.locked import open_gate, status_locked

        gate = open_gate(place, locked)
        place = gate.place
    scene = gather(place) if ids or everything or gate is not None else gather_glance(place, started)
    outcome = Outcome.UNFINISHED if scene.journal is not None else Outcome.OK
    if alone:
        return _brief(scene, place, outcome, alone)
    report = _report("status", scene, place, ids, outcome, everything=everything)
    if gate is not None and scene.journal is None:
        report = status_locked(gate, scene, report)
    if scene.site.ledger.sha256 is None:
        return report
    from patchctl.commands.running import still_running  # only where there was a change

    return report._replace(notes=still_running(place, scene.target.site))


def _brief(scene: Scene, place: Place, outcome: Outcome, alone: str) -> Report:
    """One line: for a prompt there are no warnings; a digest has them, since they may speak of what it rests on."""
    unfinished = unfinished_problems(scene.journal)
    report = Report(command="status", outcome=outcome, target=scene.target, journal=scene.journal, alone=alone)
    if alone == "oneline":
        shown = tuple(found for found in scene.in_registry_order() if concerns(found, place.distribution))
        return report._replace(assessments=shown, errors=(*unfinished, *scene.errors))
    if scene.journal is not None:
        return report._replace(errors=unfinished)
    from patchctl.commands.digest import digest_of

    return report._replace(digest=digest_of(scene, place.distribution), warnings=digest_warnings(scene.target))


def check(
    place: Place,
    ids: Sequence[str] = (),
    *,
    strict: bool = False,
    locked: str | None = None,
    expect: str | None = None,
    started: int = 0,
) -> Report:
    """Judge for a start script: ATTENTION when something is due, UNFINISHED for an open journal.

    Args:
        place: where.
        ids: judge these alone; empty: all.
        strict: count advice too: held, optional, advisory and retire.
        locked: path of a lock file: judge what it pins, and nothing else.
        expect: the digest that the environment must have.
        started: as of :func:`status`.
    """
    if expect is not None:
        from patchctl.commands.digest import expecting, refuse_other

        refuse_other(expect)
    gate = None
    if locked is not None:
        from patchctl.commands.locked import check_locked, open_gate

        gate = open_gate(place, locked)
        place = gate.place
    scene = gather(place) if ids or gate is not None else gather_glance(place, started)
    if scene.journal is not None:
        return _report("check", scene, place, ids, Outcome.UNFINISHED, everything=False)
    report = _judged(scene, place, ids, strict=strict) if gate is None else check_locked(gate, scene, strict=strict)
    return report if expect is None else expecting(report, scene, expect, place.distribution)


def _judged(scene: Scene, place: Place, ids: Sequence[str], *, strict: bool) -> Report:
    report = _report("check", scene, place, ids, Outcome.OK, everything=False)
    outcome = Outcome.OK
    if any(found.action in DUE or (strict and _advice(found)) for found in report.assessments):
        outcome = Outcome.ATTENTION
    if any(not ids or problem.patch in ids for problem in scene.errors):
        outcome = outcome.worse(Outcome.CANNOT_ANSWER)
    return report._replace(outcome=outcome)


def _advice(found: Assessment) -> bool:
    if found.action is Action.RETIRE or found.need is Need.HELD:
        return True
    if found.need is Need.OPTIONAL:
        return True
    patch = found.case.patch
    return found.need is Need.WANTED and patch is not None and patch.kind is Kind.ADVISORY


def _report(
    command: str, scene: Scene, place: Place, ids: Sequence[str], outcome: Outcome, *, everything: bool
) -> Report:
    shown = scene.in_registry_order()
    if scene.journal is None and ids:
        named = {found.id for found in named_assessments(scene, ids)}
        shown = tuple(found for found in shown if found.id in named)
    shown = tuple(explained(found, named=bool(ids)) for found in shown if ids or concerns(found, place.distribution))
    return Report(
        command=command,
        outcome=outcome,
        target=scene.target,
        assessments=shown,
        named=tuple(ids),
        everything=everything,
        journal=scene.journal,
        warnings=scene.warnings,
        errors=(*unfinished_problems(scene.journal), *scene.errors),
    )


def unfinished_problems(journal: JournalState | None) -> tuple[Problem, ...]:
    """Return what every verb that only reads says of an unfinished transaction."""
    if journal is None:
        return ()
    message = f"transaction {journal.transaction} is unfinished: nothing can be said of the files until it is settled"
    hint = "patchctl recover settles it, unless another patchctl is at work right now"
    return (Problem(code="unfinished-transaction", message=message, hint=hint),)
