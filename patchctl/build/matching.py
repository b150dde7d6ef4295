"""Does this build fit this rule, and why or why not: an exact build beats a label, a label beats a range."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from patchctl.build.identity import BuildId, find_build, parse_build
from patchctl.build.labels import glob_fits
from patchctl.build.versions import clause_bound, kinship, read_specifier, read_version, refusing, variety
from patchctl.model.entry import BuildRule


class MatchRule(str, Enum):
    """Why a variant was taken for a build; ASSUMED is the operator's word and is never answered here."""

    EXACT = "exact"
    LABEL = "label"
    RANGE = "range"
    ASSUMED = "assumed"
    NONE = "none"


_RANK = {MatchRule.EXACT: 3, MatchRule.LABEL: 2, MatchRule.RANGE: 1, MatchRule.NONE: 0}


class _Miss(Enum):
    """How near a build came to a rule; of several rules only the nearest misses are told."""

    FAR = 0
    VERSION = 1
    EXACT = 2
    LABEL = 3


class MatchOutcome(NamedTuple):
    """Whether a build fits, and why in words, for yes and for no.

    Attributes:
        rule: what made it fit; NONE: nothing did.
        reason: a clause without full stop; it holds text from METADATA and from the registry as it stands there.
        tie: indices of the rules of equal rank between which :func:`choose` cannot decide; a registry error.
    """

    rule: MatchRule
    reason: str
    tie: tuple[int, ...] = ()


def match_rule(rule: BuildRule, build: BuildId) -> MatchOutcome:
    """Return whether ``build`` fits ``rule``: its exact builds first, then its range together with its label."""
    return _judge(rule, build)[1]


def choose(rules: Sequence[BuildRule], build: BuildId) -> tuple[int | None, MatchOutcome]:
    """Return the index of the rule that fits best (exact, then label, then range) and why.

    The index is None when none fits (the reason tells the nearest misses), and when several fit equally well: then
    ``tie`` names them, and the registry is in error.
    """
    judged = [_judge(rule, build) for rule in rules]
    best = max((_RANK[outcome.rule] for _, outcome in judged), default=0)
    if best == 0:
        nearest = max((miss.value for miss, _ in judged), default=0)
        near = [
            (rule, outcome.reason) for rule, (miss, outcome) in zip(rules, judged, strict=True) if miss.value == nearest
        ]
        reasons = dict.fromkeys(reason for _, reason in near)
        alike = nearest == _Miss.LABEL.value and not any(_exact_miss(rule.builds, build) for rule, _ in near)
        if alike and len(reasons) > 1:
            return None, _no(_only_labels([rule for rule, _ in near], build))
        return None, _no("; ".join(reasons) or "there is no variant")
    fitting = [index for index, (_, outcome) in enumerate(judged) if _RANK[outcome.rule] == best]
    first = judged[fitting[0]][1]
    if len(fitting) == 1:
        return fitting[0], first
    names = " and ".join(f"variant[{index}]" for index in fitting)
    reason = f"{names} fit {build.raw} equally well ({first.rule.value}): the registry must tell them apart"
    return None, MatchOutcome(rule=MatchRule.NONE, reason=reason, tie=tuple(fitting))


def claims(specifier: str | None, build: BuildId) -> bool:
    """Return whether ``specifier`` holds for the public version of ``build``.

    None claims nothing, of an invalid build string nothing can be claimed, and a specifier that cannot be read (see
    ``specifier_problem``) holds for nothing.
    """
    if specifier is None or build.public is None:
        return False
    clauses, version = read_specifier(specifier), read_version(build.public)
    return clauses is not None and version is not None and not refusing(clauses, version)


def _judge(rule: BuildRule, build: BuildId) -> tuple[_Miss, MatchOutcome]:
    index = find_build(rule.builds, build)
    if index is not None:
        name = rule.builds[index]
        how = "is named exactly" if name == build.raw else f"is the named build {name}"
        return _Miss.FAR, MatchOutcome(rule=MatchRule.EXACT, reason=f"{build.raw} {how}")
    if build.public is None:
        reason = f"{build.raw!r} is no PEP 440 version: only its exact name or the files themselves can decide"
        return _Miss.FAR, _no(reason)
    near = _exact_miss(rule.builds, build)
    if rule.versions is None:
        names = ", ".join(rule.builds) or "nothing"
        return (_Miss.EXACT, _no(near)) if near else (_Miss.FAR, _no(f"no exact build: only {names} is named"))
    missed = _version_miss(rule.versions, build.public)
    if missed is not None:
        miss, reason = missed
        return (_Miss.EXACT, _no(f"{reason}; {near}")) if near else (miss, _no(reason))
    return _judge_label(rule, build, near)


def _judge_label(rule: BuildRule, build: BuildId, near: str | None) -> tuple[_Miss, MatchOutcome]:
    """Judge the label of a build whose public version is in the range."""
    fits = f"{build.public} is in {rule.versions}"
    version = read_version(build.raw)
    if version is not None and variety(version) == "pre-release":
        fits += f" (as a pre-release of {version.base_version})"
    if rule.label == "any" and build.label is not None:
        return _Miss.FAR, MatchOutcome(rule=MatchRule.RANGE, reason=f"{fits}, and any label will do: {build.label}")
    if rule.label in {"any", "none"} and build.label is None:
        return _Miss.FAR, MatchOutcome(rule=MatchRule.RANGE, reason=f"{fits} and has no label")
    globs = () if isinstance(rule.label, str) else rule.label
    if build.label is None:
        how = f"it has no label, and only the labels {', '.join(globs)} are meant"
    elif not globs:
        how = f"it has the label {build.label}, and only builds without a label are meant"
    elif (glob := next((glob for glob in globs if glob_fits(glob, build.label)), None)) is not None:
        reason = f"{fits} and its label {build.label} fits {glob}"
        return _Miss.FAR, MatchOutcome(rule=MatchRule.LABEL, reason=reason)
    else:
        how = f"its label {build.label} is not {'' if len(globs) == 1 else 'one of '}{', '.join(globs)}"
    reason = f"{fits}, but {how}"
    return _Miss.LABEL, _no(f"{reason}; {near}" if near else reason)


def _only_labels(rules: Sequence[BuildRule], build: BuildId) -> str:
    """Say once of several rules that the label is all that keeps a build from fitting."""
    globs = ", ".join(dict.fromkeys(glob for rule in rules if not isinstance(rule.label, str) for glob in rule.label))
    if build.label is None:
        how = f"it has no label, and only the labels {globs} are meant"
    elif globs:
        how = f"its label {build.label} is none of {globs}"
    else:
        how = f"it has the label {build.label}, and only builds without a label are meant"
    return f"{how}; the versions would fit"


def _version_miss(versions: str, public: str) -> tuple[_Miss, str] | None:
    """Return how and why ``public`` is outside ``versions``; None: it is inside."""
    specifier, version = read_specifier(versions), read_version(public)
    if specifier is None or version is None:
        return _Miss.FAR, f"{versions!r} is no version specifier"
    clauses = refusing(specifier, version)
    if not clauses:
        return None
    outside = f"{public} is not in {versions}"
    if version.release == (0, 1) and version.is_devrelease:
        return _Miss.VERSION, f"{outside}: a build made without tags calls itself so, whatever its age"
    for clause in clauses:
        kin = kinship(version, clause_bound(clause))
        if kin is not None:
            return _Miss.VERSION, f"{outside}: it is a {kin} of {version.base_version}, and {clause} leaves it out"
    return _Miss.FAR, outside


def _exact_miss(builds: tuple[str, ...], build: BuildId) -> str | None:
    """Return what tells ``build`` from the named build of its public version that is most like it; None: none is."""
    version = read_version(build.public or "")
    named = [(name, parse_build(name)) for name in builds]
    alike = [(name, _segments(it)) for name, it in named if it.valid and read_version(it.public or "") == version]
    if not alike:
        return None
    ours = _segments(build)
    name, theirs = max(alike, key=lambda pair: _common(ours, pair[1]))
    common = _common(ours, theirs)
    how = f"this label is {build.label}"
    if not ours:
        how = "this build has no label"
    elif theirs and common == len(theirs):
        how = f"this label goes on with {'.'.join(ours[common:])}"
    elif common == len(ours):
        how = f"this label stops at {build.label}"
    return f"no exact build: {name} is named, {how}"


def _segments(build: BuildId) -> list[str]:
    return build.label.split(".") if build.label else []


def _common(ours: list[str], theirs: list[str]) -> int:
    """Count the label segments that are equal from the left."""
    pairs = enumerate(zip(ours, theirs, strict=False))
    return next((index for index, (mine, other) in pairs if mine != other), min(len(ours), len(theirs)))


def _no(reason: str) -> MatchOutcome:
    return MatchOutcome(rule=MatchRule.NONE, reason=reason)
