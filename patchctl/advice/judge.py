"""Puts together what a launch can meet, what is in the environment, and what the command line avoids already."""

from __future__ import annotations

from collections.abc import Sequence

from patchctl.advice.conditions import Answer, Condition, conditions, fits_build, fits_chips
from patchctl.advice.values import Coverage, EntryAdvice, Exposure, LaunchAdvice, ModelNames, Surroundings, Way
from patchctl.launch import Edited, Launch, advice_problem, broken_options, edited, gives
from patchctl.patch import Avoid, Patch
from patchctl.verdict import Action, Assessment, Need, Verdict

_IN = frozenset({Verdict.APPLIED, Verdict.PRESENT})
_NOBODY_SAYS = "the entry does not say which launches can meet it"


def advise_launch(
    assessments: Sequence[Assessment],
    launch: Launch | None,
    model: ModelNames,
    around: Surroundings,
    *,
    source: str = "",
    strict: bool = False,
    stale: bool = False,
) -> LaunchAdvice:
    """Say of every entry that concerns the environment whether a launch can meet its bug, and what covers it.

    Args:
        assessments: what is known of the entries in the environment.
        launch: the launch; None: none is given, and whatever depends on it is possible.
        model: what its model is called.
        around: build and hardware.
        source: where the launch comes from, for people.
        strict: correct what is only possible, too.
        stale: it is a process that still runs the code from before the last change, so that no patch covers it.
    """
    found = [
        (it, it.case.patch) for it in assessments if it.case.patch is not None and it.need is not Need.NOT_CONCERNED
    ]
    entries = tuple(_entry(it, patch, launch, model, around, stale=stale) for it, patch in found)
    advice = LaunchAdvice(source=source, launch=launch, model=model, entries=entries, stale=stale)
    if launch is None:
        return advice
    meant = [*advice.uncovered(Exposure.EXPOSED), *(advice.uncovered(Exposure.POSSIBLE) if strict else ())]
    corrected = _corrected(launch, meant)
    if corrected is None:
        return advice._replace(remaining=tuple(entry.patch.id for entry in meant))
    left = {it.id for it, patch in found if not _entry(it, patch, corrected, model, around, stale=stale).covered}
    return advice._replace(
        corrected=corrected, remaining=tuple(entry.patch.id for entry in meant if entry.patch.id in left)
    )


def _corrected(launch: Launch, entries: Sequence[EntryAdvice]) -> Launch | None:
    """The launch with the first avoidance of each entry that can be made; None: nothing can."""
    now = launch
    for entry in entries:
        for way in entry.ways:
            if way.launch is not None:
                done = _with(now, way.avoid)
                if done.problem is None:
                    now = done.launch
                    break
    return None if now is launch else now


def _entry(
    found: Assessment, patch: Patch, launch: Launch | None, model: ModelNames, around: Surroundings, *, stale: bool
) -> EntryAdvice:
    builds = {name: around.builds[name] for name in patch.distributions if name in around.builds}
    here = around._replace(builds=builds)
    exposure, reason, missed = _exposure(patch, launch, model, here)
    ways = tuple(_way(patch, avoid, launch) for avoid in patch.avoid if _helps(avoid, here))
    return EntryAdvice(
        patch=patch,
        exposure=exposure,
        reason=reason,
        coverage=_coverage(found, exposure, missed, ways, stale=stale),
        remedy=found.action is Action.APPLY or (found.need is Need.OPTIONAL and found.verdict is Verdict.APPLICABLE),
        ways=ways,
        unread=_unread(patch, launch),
    )


def _unread(patch: Patch, launch: Launch | None) -> tuple[str, ...]:
    broken = broken_options(launch.options) if launch is not None else frozenset()
    asked = dict.fromkeys(name for trigger in patch.triggers for name in (*trigger.args, *trigger.json))
    return tuple(name for name in asked if name in broken)


def _helps(avoid: Avoid, around: Surroundings) -> bool:
    return fits_build(avoid.rule, around.builds) and fits_chips(avoid.hardware, around.chips)


def _exposure(
    patch: Patch, launch: Launch | None, model: ModelNames, around: Surroundings
) -> tuple[Exposure, str, tuple[frozenset[str], ...]]:
    """Return the worst that a trigger comes to, why, and for triggers that do not hold the subjects that fail."""
    if not patch.triggers:
        return Exposure.POSSIBLE, _NOBODY_SAYS, ()
    possible: list[str] = []
    failing: list[list[Condition]] = []
    for trigger in patch.triggers:
        judged = conditions(trigger, launch, model, around)
        unmet = [it for it in judged if it.answer is Answer.NO]
        unknown = [it.text for it in judged if it.answer is Answer.UNKNOWN]
        if unmet:
            failing.append(unmet)
        elif unknown or trigger.doubt:
            possible.append("; ".join(dict.fromkeys([*unknown, *([trigger.doubt.strip()] if trigger.doubt else [])])))
        else:
            seen = "; ".join(it.text for it in judged)
            return Exposure.EXPOSED, f"{seen}: {trigger.note.strip()}" if trigger.note else seen, ()
    missed = tuple(frozenset(it.subject for it in unmet) for unmet in failing)
    if possible:
        return Exposure.POSSIBLE, possible[0], missed
    nearest = min(failing, key=len)
    return Exposure.NOT_EXPOSED, "; ".join(it.text for it in nearest), missed


def _coverage(
    found: Assessment,
    exposure: Exposure,
    missed: Sequence[frozenset[str]],
    ways: Sequence[Way],
    *,
    stale: bool,
) -> Coverage:
    if found.need is Need.FIXED:
        return Coverage.FIXED
    if found.verdict in _IN and not stale:
        return Coverage.PATCHED
    in_force = [way for way in ways if way.in_force]
    if exposure is not Exposure.NOT_EXPOSED:
        return Coverage.AVOIDED if any(_does_something(way.avoid) for way in in_force) else Coverage.UNCOVERED
    # What keeps the bug away is the very setting that an avoidance would make.
    touched = [gives(way.avoid.args, way.avoid.remove_args) | set(way.avoid.env) for way in in_force]
    avoided = any(subjects <= options for subjects in missed for options in touched)
    return Coverage.AVOIDED if avoided else Coverage.NOT_NEEDED


def _does_something(avoid: Avoid) -> bool:
    return bool(avoid.args or avoid.env or avoid.remove_args)


def _way(patch: Patch, avoid: Avoid, launch: Launch | None) -> Way:
    if not _does_something(avoid):
        return Way(avoid=avoid)
    unsafe = advice_problem(avoid.args, avoid.env, avoid.remove_args, patch.distributions)
    if unsafe is not None:
        return Way(avoid=avoid, problem=unsafe)
    if launch is None:
        return Way(avoid=avoid)
    done = _with(launch, avoid)
    if done.problem is not None:
        return Way(avoid=avoid, problem=done.problem)
    return Way(avoid=avoid, in_force=done.launch == launch, launch=done.launch)


def _with(launch: Launch, avoid: Avoid) -> Edited:
    return edited(launch, args=avoid.args, env=avoid.env, remove=avoid.remove_args)
