"""Does a launch meet the conditions of a trigger? What cannot be known is neither yes nor no."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from fnmatch import fnmatchcase
from typing import NamedTuple

from patchctl.advice.values import ModelNames, Surroundings
from patchctl.build import MatchRule, match_rule, parse_build
from patchctl.launch import Launch, State, json_key, option, variable
from patchctl.model import BuildRule
from patchctl.patch import Trigger

_SHOWN = 60


class Answer(Enum):
    """Whether a condition holds."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class Condition(NamedTuple):
    """One condition and what came of it.

    Attributes:
        answer: whether it holds.
        subject: the option or variable that it is about, else ``model``, ``hardware`` or ``build``.
        text: what was seen, as a clause.
    """

    answer: Answer
    subject: str
    text: str


def conditions(
    trigger: Trigger, launch: Launch | None, model: ModelNames, around: Surroundings
) -> tuple[Condition, ...]:
    """Return every condition of a trigger with its answer."""
    found = list(_around(trigger, around))
    if trigger.model:
        found.append(_model(trigger.model, model))
    if launch is None:
        asked = [*trigger.args, *trigger.json, *trigger.env]
        found += [Condition(Answer.UNKNOWN, it, "no launch is given") for it in asked]
        return tuple(found)
    found += [_option(launch, name, wanted) for name, wanted in trigger.args.items()]
    found += [_key(launch, name, key, globs) for name, keys in trigger.json.items() for key, globs in keys.items()]
    found += [_variable(launch, name, globs) for name, globs in trigger.env.items()]
    return tuple(found)


def fits_build(rule: BuildRule | None, builds: Mapping[str, str]) -> bool:
    """Return whether one of the builds fits; None fits all."""
    if rule is None or not builds:
        return True
    return any(match_rule(rule, parse_build(build)).rule is not MatchRule.NONE for build in builds.values())


def fits_chips(globs: Iterable[str], chips: tuple[str, ...] | None) -> bool:
    """Return whether one of the chips fits; no globs fit all, and chips that are not known fit."""
    wanted = tuple(globs)
    return not wanted or chips is None or any(glob_fits(glob, chip) for glob in wanted for chip in chips)


def glob_fits(glob: str, text: str) -> bool:
    """Return whether ``*`` and ``?`` make the glob the text, whatever the case of letters."""
    return fnmatchcase(text.casefold(), glob.casefold().replace("[", "[[]"))


def _around(trigger: Trigger, around: Surroundings) -> Iterator[Condition]:
    if trigger.rule is not None:
        builds = ", ".join(around.builds.values())
        if fits_build(trigger.rule, around.builds):
            yield Condition(Answer.YES, "build", f"the build is {builds}")
        else:
            yield Condition(Answer.NO, "build", f"the build {builds} is none of those that it takes")
    if trigger.hardware:
        wanted = " or ".join(trigger.hardware)
        if around.chips is None:
            yield Condition(Answer.UNKNOWN, "hardware", f"it takes {wanted}, and {around.chips_from}")
            return
        shown = ", ".join(around.chips)
        answer = Answer.YES if fits_chips(trigger.hardware, around.chips) else Answer.NO
        text = f"the hardware is {shown}" if answer is Answer.YES else f"it takes {wanted}, and the hardware is {shown}"
        yield Condition(answer, "hardware", text)


def _model(globs: Iterable[str], model: ModelNames) -> Condition:
    for name in model.names:
        if any(glob_fits(glob, name) for glob in globs):
            return Condition(Answer.YES, "model", f"the model is {name[:_SHOWN]}")
    if not model.sure:
        return Condition(Answer.UNKNOWN, "model", model.why)
    return Condition(Answer.NO, "model", f"the model is {model.names[0][:_SHOWN] if model.names else 'none of its'}")


def _option(launch: Launch, name: str, wanted: bool | tuple[str, ...]) -> Condition:
    seen = option(launch, name)
    if seen.state is State.UNKNOWN:
        return Condition(Answer.UNKNOWN, name, seen.why)
    on = seen.state is State.GIVEN and not seen.off
    if isinstance(wanted, bool):
        return Condition(_yes(on is wanted), name, f"{name} is {'given' if on else 'not given'}")
    values = seen.value if on and isinstance(seen.value, tuple) and seen.value else ("",)
    return _fitting(name, name, values, wanted, given=on)


def _key(launch: Launch, name: str, key: str, globs: tuple[str, ...]) -> Condition:
    seen = json_key(launch, name, key.split("."))
    if seen.state is State.UNKNOWN:
        return Condition(Answer.UNKNOWN, name, seen.why)
    given = seen.state is State.GIVEN
    return _fitting(name, f"{key} in {name}", (_scalar(seen.value) if given else "",), globs, given=given)


def _variable(launch: Launch, name: str, globs: tuple[str, ...]) -> Condition:
    seen = variable(launch, name)
    if seen.state is State.UNKNOWN:
        return Condition(Answer.UNKNOWN, name, seen.why)
    given = seen.state is State.GIVEN
    return _fitting(name, name, (str(seen.value) if given else "",), globs, given=given)


def _fitting(subject: str, called: str, values: Iterable[object], globs: tuple[str, ...], *, given: bool) -> Condition:
    texts = [str(value) for value in values]
    fits = any(text == "" if glob == "" else glob_fits(glob, text) for text in texts for glob in globs)
    shown = " ".join(texts)[:_SHOWN]
    seen = f"is {shown}" if shown else "is set to nothing" if given else "is not set"
    return Condition(_yes(fits), subject, f"{called} {seen}")


def _scalar(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _yes(holds: bool) -> Answer:
    return Answer.YES if holds else Answer.NO
