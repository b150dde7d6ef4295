"""What the engine, git and patch answer to a case, and why they differ where they do.

Every difference falls into a named class. One that does not is ``unexplained``, and fails the tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from patchctl.diff import ChangeKind
from patchctl.match import Fit, FitReport, judge_fit, splice
from tests.corpus.cases import Case, section
from tests.corpus.lineage import Lines, same_lines
from tests.corpus.tools import GIT, GNU, Made, apply_all, merged
from tests.diffs import split
from tests.fuzz.oracles import occurrences

UNEXPLAINED = "unexplained"

CLASSES = {
    "in already": "the result stands in the file: we leave it alone, the tool puts it in again",
    "both readings": "preimage and result both stand in the file: we do not decide, the tool puts it in",
    "several places": "the preimage stands at several places: we do not guess, the tool takes the nearest",
    "out of order": "a hunk has its only place above the hunk before it: git puts it there, we refuse",
    "new line": "git looks first at the new line of a hunk, which the hunks left out above it have shifted",
    "nearest": "the tool takes the nearest of several places, we the one that the hunks around it leave",
    "greedy": "patch takes the nearest of several places, the wrong one, and has none for the hunks below it",
    "tied to an end": "patch ties a hunk with unequal context before and after to an end of the file",
    UNEXPLAINED: "a bug of ours, or a class that nobody has described yet",
}
"""Why we and a tool differ."""

TRUST = {
    "merge": "git merge-file makes the same bytes",
    "lines": "every hunk was placed on the very lines that its own lines come from",
    "moved": "the code has moved, so that no line can be traced; its text stands once in both releases",
    "twin": "a lone hunk whose text stands several times in its own release, and once in the older one",
    "lookalike": "a lone hunk whose own place reads differently in the older release, and another place reads like it",
    "removal": "called present: a lone hunk that only takes lines away; its context stands round other ones",
    UNEXPLAINED: "wrong",
}
"""Why an answer on a drifted base is right. Twin, lookalike and removal are not; the hunk alone cannot tell."""


class Answer(NamedTuple):
    """All answers to one case on one content.

    Attributes:
        case: the diff.
        content: what it was tried on; None: no file.
        report: the engine's answer.
        ours: what patchctl makes of it; None: it refuses, or there is nothing to do.
        git: what ``git apply`` makes of it.
        gnu: what ``patch --fuzz=0`` makes of it.
    """

    case: Case
    content: bytes | None
    report: FitReport
    ours: Made | None
    git: Made | None
    gnu: Made | None

    def by(self, tool: str) -> Made | None:
        """What ``git`` or ``patch`` makes of it."""
        return self.git if tool == "git" else self.gnu


def answers(cases: Sequence[Case], contents: Sequence[bytes | None], folder: Path) -> list[Answer]:
    """Ask all three about every case on the content beside it."""

    def diff(number: int, name: str) -> bytes:
        # both tools stop, or ask, where a file to be changed is not there
        missing = contents[number] is None and cases[number].file.kind is not ChangeKind.ADD
        return b"" if missing else section(cases[number], name)

    by_git = apply_all(GIT, folder / "git", contents, diff)
    by_gnu = apply_all(GNU, folder / "gnu", contents, diff)
    rows = []
    for case, content, git, gnu in zip(cases, contents, by_git, by_gnu, strict=True):
        report = judge_fit(case.file, content)
        applies = report.fit is Fit.APPLICABLE
        ours = Made(content=splice(case.file, content, report.forward)) if applies else None
        row = Answer(case=case, content=content, report=report, ours=ours, git=git, gnu=gnu)
        rows.append(row._replace(git=_whole(case, git), gnu=_whole(case, gnu)))
    return rows


def _whole(case: Case, made: Made | None) -> Made | None:
    """A file that was to be deleted and is still there was not deleted."""
    kept = case.file.kind is ChangeKind.DELETE and made is not None and made.content is not None
    return None if kept else made


def reason(report: FitReport) -> str:
    """The engine's answer in one word or two; why, where it refuses."""
    forward = report.forward
    if report.fit is Fit.APPLICABLE:
        return "exact" if forward.exact else "offset"
    if report.fit in {Fit.PRESENT, Fit.UNDECIDED, Fit.MISSING, Fit.PARTIAL}:
        return str(report.fit.value)
    reasons = {place.reason for place in forward.hunks} - {None}
    return next((word for word in ("not-found", "out-of-order", "ambiguous") if word in reasons), "not-found")


def compared(ours: Made | None, theirs: Made | None) -> str:
    """How one tool's answer stands to ours."""
    if ours is None:
        return "both refuse" if theirs is None else "tool only"
    if theirs is None:
        return "ours only"
    return "same" if ours == theirs else "other bytes"


def difference(row: Answer, tool: str) -> str | None:
    """The class of the difference between our answer and that of ``tool``; None: there is none."""
    how = compared(row.ours, row.by(tool))
    if how in {"same", "both refuse"}:
        return None
    if how == "ours only":
        return _refused_by_patch(row) if tool == "patch" else UNEXPLAINED
    if how == "other bytes":
        if tool == "git" and row.case.shift != 0:
            return "new line"
        return "nearest" if _several(row) else UNEXPLAINED
    return _refused(row)


def _refused_by_patch(row: Answer) -> str:
    """Why patch refuses what we do."""
    hunks = row.case.file.hunks
    if len(hunks) > 1 and _several(row):
        return "greedy"
    return "tied to an end" if any(hunk.leading != hunk.trailing for hunk in hunks) else UNEXPLAINED


def _several(row: Answer) -> bool:
    """Whether the preimage of a hunk stands at several places."""
    rows = split(row.content or b"")
    return any(occurrences(hunk.old_lines, rows) > 1 for hunk in row.case.file.hunks)


def _refused(row: Answer) -> str:
    """Why we refuse what a tool does."""
    if row.report.forward.fits:
        return {Fit.PRESENT: "in already", Fit.UNDECIDED: "both readings"}.get(row.report.fit, UNEXPLAINED)
    reasons = {place.reason for place in row.report.forward.hunks} - {None}
    if reasons == {"ambiguous"}:
        return "several places"
    return "out of order" if reasons and reasons <= {"ambiguous", "out-of-order"} else UNEXPLAINED


def three_way(row: Answer, folder: Path) -> Made | None:
    """What ``git merge-file`` makes of the change between two releases and the older file; None: a conflict."""
    case = row.case
    if row.content is None or case.old is None or case.new is None:
        return None
    return merged(folder, row.content, case.old, case.new)


def trust(row: Answer, merge: Made | None, lines: Lines) -> str:
    """Why our result on a drifted base is right, as a key of TRUST. The row was applied by us."""
    if row.ours == merge:
        return "merge"
    where = same_lines(row.case.file, row.report.forward, lines)
    if where is True:
        return "lines"
    rows = split(row.case.old or b"")
    unique = all(occurrences(hunk.old_lines, rows) == 1 for hunk in row.case.file.hunks)
    if unique and where is None and merge is None:
        return "moved"
    only = [occurrences(hunk.old_lines, split(row.content or b"")) == 1 for hunk in row.case.file.hunks]
    if not row.case.alone or not all(only):
        return UNEXPLAINED
    return "lookalike" if unique else "twin"


def trust_present(row: Answer, merge: Made | None) -> str:
    """Why it is right that a drifted base has the change already, as a key of TRUST."""
    if merge == Made(content=row.content):
        return "merge"
    adds = any(line.startswith(b"+") for hunk in row.case.file.hunks for line in hunk.body)
    return UNEXPLAINED if adds or merge is not None or not row.case.alone else "removal"


def judged(made: Made | None, merge: Made | None) -> str:
    """What a three-way merge says about a tool's result: right, wrong, or nothing."""
    if merge is None:
        return "no opinion"
    return "right" if made == merge else "wrong"
