"""Entries one by one, and all of them in one stack: for who wants to know what a registry can do on a build.

An environment asks what is due in it. A registry's author asks whether each entry fits by itself, whatever else is
wanted, and whether those that fit so fit together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from patchctl.build import MatchRule
from patchctl.match import Fit
from patchctl.model import Content
from patchctl.verdict.facts import Assessment, Case, Need, SiteFacts
from patchctl.verdict.fold import fit_of, fold_diffs, misfit_words
from patchctl.verdict.judge import assess


class Clash(NamedTuple):
    """An entry that fits by itself, and not over others.

    Attributes:
        id: of the entry.
        over: ids of those before it that change a file of it.
        reason: what does not fit, in words.
    """

    id: str
    over: tuple[str, ...]
    reason: str


def by_itself(case: Case, cases: Sequence[Case], site: SiteFacts) -> Assessment:
    """Judge one entry over the base and what it requires.

    Args:
        case: the entry.
        cases: all of them; no receipts.
        site: the files.
    """
    known = {other.id: other for other in cases}
    needed, waiting = {case.id}, [case]
    while waiting:
        for id_ in waiting.pop().requires:
            if id_ in known and id_ not in needed:
                needed.add(id_)
                waiting.append(known[id_])
    found = assess([other for other in cases if other.id in needed], site)
    return next(assessment for assessment in found if assessment.id == case.id)


def clashes(found: Sequence[Assessment], site: SiteFacts) -> tuple[Clash, ...]:
    """Return the entries that do not fit over the others, of all that match, are not fixed and fit by themselves.

    The default ones come first, then the optional ones, in the order given and each behind what it requires. Whoever
    conflicts with one before it, or is replaced, is left out.

    Args:
        found: entries as :func:`by_itself` judged them.
        site: the files.
    """
    stack = _Stack(site)
    return tuple(clash for one in _ordered(found) if (clash := stack.put(one)) is not None)


def fits_alone(found: Assessment) -> bool:
    """Return whether an entry's diffs can go in, and nothing about the files forbids it."""
    return found.fit is Fit.APPLICABLE and not any(file.obstacle for file in found.files)


def _ordered(found: Sequence[Assessment]) -> Iterator[Assessment]:
    usable = {
        one.id: one
        for one in found
        if one.case.rule is not MatchRule.NONE
        and one.need is not Need.FIXED
        and one.case.replaced_by is None
        and fits_alone(one)
    }
    done: set[str] = set()

    def visit(one: Assessment) -> Iterator[Assessment]:
        if one.id in done:
            return
        done.add(one.id)
        for id_ in one.case.requires:
            if id_ in usable:
                yield from visit(usable[id_])
        yield one

    for one in sorted(usable.values(), key=lambda one: one.need is not Need.WANTED):
        yield from visit(one)


class _Stack:
    """The base with what was put on it so far."""

    def __init__(self, site: SiteFacts) -> None:
        self._site = site
        self._contents: dict[str, Content | None] = {}
        self._inside: list[Assessment] = []

    def put(self, one: Assessment) -> Clash | None:
        """Put an entry on top; what does not fit is told, and stays out."""
        if any(_exclude(one, other) for other in self._inside):
            return None
        files = [file for diff in one.case.diffs for file in diff.files]
        for file in files:
            report = fit_of(file, self._read)
            if report.fit is not Fit.APPLICABLE:
                paths = {path for other in files for path in other.paths}
                over = tuple(other.id for other in self._inside if paths & _paths(other))
                words = misfit_words(report.forward.reason, report.forward.hunks, file.old_path)
                return Clash(id=one.id, over=over, reason=f"{file.path}: {words or report.fit.value}")
        self._contents |= fold_diffs(files, self._read).contents
        self._inside.append(one)
        return None

    def _read(self, path: str) -> Content | None:
        return self._contents[path] if path in self._contents else self._site.base_content(path)


def _paths(found: Assessment) -> set[str]:
    return {path for diff in found.case.diffs for file in diff.files for path in file.paths}


def _exclude(one: Assessment, other: Assessment) -> bool:
    conflicts = [found.case.patch.conflicts if found.case.patch is not None else () for found in (one, other)]
    return other.id in conflicts[0] or one.id in conflicts[1]
