"""Two neighbouring releases surveyed: every case on every base, counted, and every broken rule written down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from patchctl.match import Fit, splice
from tests.corpus.cases import Case, Tree, cases_between, older, tree
from tests.corpus.lineage import Lines, lineage
from tests.corpus.outcomes import (
    UNEXPLAINED,
    Answer,
    answers,
    compared,
    difference,
    judged,
    reason,
    three_way,
    trust,
    trust_present,
)
from tests.corpus.tools import TOOLS, Made

RIGHT, PATCHED = "right base", "patched"
AT_ONCE = 2000
"""Cases per process; bounds the memory and the scratch space."""


@dataclass(slots=True, kw_only=True)
class Figures:
    """Counts of one scope on one base.

    Attributes:
        answers: what the engine said.
        compared: (tool, how it compares) of both tools.
        classes: (tool, class of the difference, what the merge says about the tool's result).
        trusted: why our results on drifted bases are right, and where "present" is not.
    """

    answers: Counter[str] = field(default_factory=Counter)
    compared: Counter[tuple[str, str]] = field(default_factory=Counter)
    classes: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    trusted: Counter[str] = field(default_factory=Counter)

    def add(self, other: Figures) -> None:
        """Count the other's cases too."""
        self.answers.update(other.answers)
        self.compared.update(other.compared)
        self.classes.update(other.classes)
        self.trusted.update(other.trusted)


@dataclass(slots=True, kw_only=True)
class Survey:
    """All counts, by (base, scope), and one line for every case that breaks a rule."""

    figures: dict[tuple[str, str], Figures] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)

    def at(self, base: str, *, alone: bool) -> Figures:
        """The figures of files or of lone hunks on a base."""
        return self.figures.setdefault((base, "hunks" if alone else "files"), Figures())

    def add(self, other: Survey) -> None:
        """Take the other's counts in."""
        for key, figures in other.figures.items():
            self.figures.setdefault(key, Figures()).add(figures)
        self.broken += other.broken


def survey(old: str, new: str, folder: Path, *, every: int = 1) -> Survey:
    """Survey the changes from release ``old`` to ``new``; of ``every`` N changed files one."""
    out = Survey()
    base, target = tree(old), tree(new)
    paths = sorted(path for path in base.keys() | target.keys() if base.get(path) != target.get(path))[::every]
    cases = cases_between(_only(base, paths), _only(target, paths), folder / "diff")
    for row in _answers(cases, base, folder, drifted=False):
        _on_right_base(out, row)
    for row in _answers(cases, target, folder, drifted=False):
        _on_patched(out, row)
    for steps, version in older(old):
        ancient = tree(version)
        lines = lineage(_only(base, paths), _only(ancient, paths), folder / "lines")
        name = f"{steps} older"
        for row in _answers(cases, ancient, folder, drifted=True):
            _on_drifted(out, row, name, lines.get(row.case.file.path, {}), folder)
    return out


def _only(files: Tree, paths: Sequence[str]) -> dict[str, bytes]:
    return {path: files[path] for path in paths if path in files}


def _answers(cases: Sequence[Case], files: Mapping[str, bytes], folder: Path, *, drifted: bool) -> Iterator[Answer]:
    asked = [case for case in cases if not drifted or files.get(case.file.path) != case.old]
    for at in range(0, len(asked), AT_ONCE):
        part = asked[at : at + AT_ONCE]
        yield from answers(part, [files.get(case.file.path) for case in part], folder / "apply")


def _count(figures: Figures, row: Answer, merge: Made | None) -> str | None:
    """Count a row; return what is unexplained about it."""
    figures.answers[reason(row.report)] += 1
    unexplained = None
    for tool in TOOLS:
        figures.compared[tool, compared(row.ours, row.by(tool))] += 1
        which = difference(row, tool)
        if which is not None:
            figures.classes[tool, which, judged(row.by(tool), merge)] += 1
        if which == UNEXPLAINED:
            unexplained = f"{tool} differs"
    return unexplained


def _note(out: Survey, base: str, row: Answer, what: str | None) -> None:
    if what is not None:
        hunk = f" hunk at {row.case.file.hunks[0].old_start}" if row.case.alone else ""
        out.broken.append(f"{base}: {row.case.file.path}{hunk}: {what}; {row.report}")


def _on_right_base(out: Survey, row: Answer) -> None:
    """Exact, and the bytes of the release."""
    want = Made(content=row.case.new)
    _note(out, RIGHT, row, _count(out.at(RIGHT, alone=row.case.alone), row, want))
    match = row.report.forward
    if not match.exact or splice(row.case.file, row.content, match) != row.case.new:
        _note(out, RIGHT, row, "not exact")
    elif row.report.fit is not Fit.APPLICABLE and not row.report.reverse.fits:
        _note(out, RIGHT, row, "not applicable")


def _on_patched(out: Survey, row: Answer) -> None:
    """Never put in again."""
    _note(out, PATCHED, row, _count(out.at(PATCHED, alone=row.case.alone), row, Made(content=row.content)))
    if row.report.fit is Fit.APPLICABLE:
        _note(out, PATCHED, row, "would be applied twice")
    elif row.report.fit is Fit.PRESENT and not row.case.alone:
        back = splice(row.case.file, row.content, row.report.reverse)
        _note(out, PATCHED, row, None if back == row.case.old else "reverted to something else")


def _on_drifted(out: Survey, row: Answer, base: str, lines: Lines, folder: Path) -> None:
    """Right by the merge or by the older tree, or of a named class; what is called present really is."""
    figures = out.at(base, alone=row.case.alone)
    done = row.ours is not None or row.git is not None or row.gnu is not None or row.report.fit is Fit.PRESENT
    merge = three_way(row, folder / "merge") if done else None
    _note(out, base, row, _count(figures, row, merge))
    if row.content is None or row.case.old is None:
        return
    if row.ours is not None and row.case.new is not None:
        why = trust(row, merge, lines)
        figures.trusted[why] += 1
        _note(out, base, row, "wrong" if why == UNEXPLAINED else None)
    elif row.report.fit is Fit.PRESENT:
        why = trust_present(row, merge)
        if why != "merge":
            figures.trusted[why] += 1
        _note(out, base, row, "called present, but a merge changes the file" if why == UNEXPLAINED else None)
