"""Why an entry's diffs do not fit here: asked for by whoever shows the entry, since most are never shown.

``match.explain`` does the work and is loaded only then.
"""

from __future__ import annotations

from patchctl.diff import FileDiff
from patchctl.match import Fit, FitReport
from patchctl.verdict.facts import Action, Assessment, FileFinding, Meeting
from patchctl.verdict.need import misfit


def meeting_of(diff: FileDiff, content: bytes | None, report: FitReport, fit: Fit) -> Meeting | None:
    """Return what there is to explain of one file; None when its diff is in, or can go in.

    Args:
        diff: changes to the file.
        content: the bytes it was judged on; None: no file is there.
        report: the judgement.
        fit: what it came to.
    """
    if fit in {Fit.PRESENT, Fit.APPLICABLE}:
        return None
    return Meeting(diff=diff, content=content, report=report)


def explained(found: Assessment, *, named: bool) -> Assessment:
    """Return the assessment with an explanation in each of its files that the diff does not fit.

    Args:
        found: an entry that is about to be shown.
        named: the operator asked for it by its id; else only what is due for porting or a look is explained.
    """
    if not (named or found.action in {Action.PORT, Action.INSPECT}) or not any(file.meeting for file in found.files):
        return found
    stuck = misfit(found)
    found = found._replace(files=tuple(_explained(file) for file in found.files))
    return found._replace(reason=_line_ends_reason(found) or found.reason) if found.reason == stuck else found


def _explained(file: FileFinding) -> FileFinding:
    # A link or a special file was never read, and its obstacle says all there is to say.
    if file.meeting is None or (file.meeting.content is None and file.obstacle is not None):
        return file
    from patchctl.match.explain import explain

    meeting = file.meeting
    return file._replace(explanation=explain(meeting.diff, meeting.content, meeting.report))


def _line_ends_reason(found: Assessment) -> str | None:
    """Where line ends are all that is wrong with a file, "its lines are not in the file" would mislead."""
    for file in found.files:
        if file.explanation is not None:
            return f"{file.path}: it would fit but for its line ends" if file.explanation.line_ends else None
    return None
