"""``advise``: which known bugs a launch can meet, what covers each, and the command that meets none."""

from __future__ import annotations

from collections.abc import Sequence

from patchctl.advice import Exposure, LaunchAdvice, Surroundings, advise_launch, model_directory, model_names
from patchctl.commands.hardware import surroundings
from patchctl.commands.judging import Scene
from patchctl.commands.place import Place
from patchctl.commands.report import Advice, Report
from patchctl.commands.running_launches import running_launches
from patchctl.commands.scene import gather
from patchctl.commands.sources import Found, Sources, Wanted, launches_from
from patchctl.commands.stack import concerns
from patchctl.commands.status import unfinished_problems
from patchctl.commands.unmarked import unmarked
from patchctl.commands.unread import unread_problems
from patchctl.errors import Outcome, Problem
from patchctl.processes import HIDDEN


def advise(place: Place, wanted: Wanted, *, strict: bool = False) -> Report:
    """Say which bugs of the registry each launch can meet in this environment, and how to start it without.

    ATTENTION when a launch is exposed to a bug that nothing covers. Without a launch, everything that depends on one
    is possible.

    Args:
        place: where.
        wanted: the launches that are asked about.
        strict: a bug that a launch may only possibly meet counts, and is corrected, too.
    """
    sources = launches_from(place, wanted)
    scene = gather(place)
    if scene.journal is not None:
        return _unfinished(scene)
    stale: frozenset[int] = frozenset()
    if wanted.pids or wanted.all_running:
        running, stale = running_launches(place, scene.target.site, wanted)
        sources = Sources(found=(*sources.found, *running.found), warnings=(*sources.warnings, *running.warnings))
    around = surroundings({name: it.build for name, it in scene.target.distributions.items()}, wanted.gpus)
    advised = tuple(
        unmarked(_advised(place, scene, found, around, stale, strict=strict)) for found in sources.found or (None,)
    )
    unread = unread_problems(advised)
    return Report(
        command="advise",
        outcome=_outcome(advised, unread, strict=strict),
        target=scene.target,
        advice=Advice(launches=advised, chips=around.chips, chips_from=around.chips_from),
        notes=_notes(advised, scene, strict=strict),
        warnings=(*scene.warnings, *sources.warnings, *_warnings(advised)),
        errors=(*scene.errors, *unread),
    )


def _advised(
    place: Place, scene: Scene, found: Found | None, around: Surroundings, stale: frozenset[int], *, strict: bool
) -> LaunchAdvice:
    assessments = [it for it in scene.in_registry_order() if concerns(it, place.distribution)]
    if found is None:
        return advise_launch(assessments, None, model_names(None), around)
    return advise_launch(
        assessments,
        found.launch,
        model_names(found.launch, _model_config(found)),
        around,
        source=found.source,
        strict=strict,
        stale=found.pid in stale,
    )


def _model_config(found: Found) -> str | None:
    folder = model_directory(found.launch)
    return None if folder is None or found.local is None else found.local(f"{folder}/config.json")


def _outcome(advised: Sequence[LaunchAdvice], unread: Sequence[Problem], *, strict: bool) -> Outcome:
    counted = (Exposure.EXPOSED, Exposure.POSSIBLE) if strict else (Exposure.EXPOSED,)
    due = any(advice.uncovered(exposure) for advice in advised for exposure in counted)
    outcome = Outcome.ATTENTION if due else Outcome.OK
    return outcome.worse(Outcome.CANNOT_ANSWER) if unread else outcome


def _notes(advised: Sequence[LaunchAdvice], scene: Scene, *, strict: bool) -> tuple[str, ...]:
    exposed = sum(len(advice.uncovered(Exposure.EXPOSED)) for advice in advised)
    possible = sum(len(advice.uncovered(Exposure.POSSIBLE)) for advice in advised)
    notes = []
    if exposed:
        notes.append(f"{exposed} known bug{'s' if exposed > 1 else ''} that nothing covers")
    if possible:
        counted = "" if strict else "; --strict counts what is possible"
        notes.append(f"{possible} more that may be met, and that nothing covers{counted}")
    if not notes:
        notes.append("no known bug is left uncovered" if advised[0].entries else "no entry concerns this environment")
    if any(advice.launch is None for advice in advised):
        notes.append("no launch was given: patchctl advise -- vllm serve MODEL ... says which of them it meets")
    if any(HIDDEN in word.text for advice in advised if advice.corrected for word in advice.corrected.words):
        notes.append(f"{HIDDEN} in a command stands for what looks like a secret: put it in again")
    withheld = dict.fromkeys(name for advice in advised for name in advice.withheld)
    if withheld:
        shown = ", ".join(f"${name}" for name in withheld)
        notes.append(f"{shown} in a command stand{'s' if len(withheld) == 1 else ''} for what is secret: set first")
    remedies = dict.fromkeys(
        entry.patch.id for advice in advised for entry in advice.entries if not entry.covered and entry.remedy
    )
    if remedies:
        notes.append(f"instead of avoiding: patchctl apply {' '.join(remedies)}")
    return tuple(notes)


def _warnings(advised: Sequence[LaunchAdvice]) -> tuple[Problem, ...]:
    found = []
    for advice in advised:
        told = advice.launch.warnings if advice.launch is not None else ()
        found += [Problem(code="launch", message=f"{advice.source}: {text}") for text in told]
        if advice.stale:
            message = (
                f"{advice.source} still runs the code from before the last change: no patch covers it until a restart"
            )
            found.append(Problem(code="old-code", message=message))
    return tuple(dict.fromkeys(found))


def _unfinished(scene: Scene) -> Report:
    return Report(
        command="advise",
        outcome=Outcome.UNFINISHED,
        target=scene.target,
        journal=scene.journal,
        errors=(*unfinished_problems(scene.journal), *scene.errors),
    )
