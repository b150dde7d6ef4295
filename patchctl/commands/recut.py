"""What is left of a diff where a build carries a part of it: the edits that a diff cut again would make. Pure.

Whether the rest is still needed is for a person to find out; nothing is ever applied of it by itself.
"""

from __future__ import annotations

from patchctl.diff import ChangeKind, FileDiff
from patchctl.match import Fit, judge_fit
from patchctl.model import EditKind, FileEdit
from patchctl.verdict import Assessment, SiteFacts, fold_diffs

_SETTLED = {Fit.PRESENT, Fit.APPLICABLE}


def rest_of(found: Assessment, site: SiteFacts) -> tuple[FileEdit, ...]:
    """Return the edits of the hunks that could go in, over the files as the build has them.

    Empty where a hunk is in neither state, where files would change their names or modes, or where the entry is about
    several distributions: then a person has to cut it.

    Args:
        found: an entry that is in these files in part.
        site: the files.
    """
    files = [file for diff in found.case.due for file in diff.files]
    if len(found.case.due) != 1 or any(file.kind is not ChangeKind.MODIFY or file.mode is not None for file in files):
        return ()
    rest = []
    for file in files:
        base = site.base_content(file.path)
        if base is None:
            return ()
        states = judge_fit(file, base.data).hunks
        if not set(states) <= _SETTLED:
            return ()
        rest.append(_without(file, states))
    wanted = [file for file in rest if file.hunks]
    fold = fold_diffs(wanted, site.base_content)
    edits = []
    for file in wanted if fold.fits else ():
        before, after = site.base_content(file.path), fold.contents[file.path]
        if before is not None and after is not None:
            edits.append(FileEdit(path=file.path, kind=EditKind.MODIFY, before=before.data, after=after.data))
    return tuple(edits)


def _without(file: FileDiff, states: tuple[Fit, ...]) -> FileDiff:
    """The diff of a file without the hunks that are in."""
    hunks = zip(file.hunks, states, strict=True)
    return file._replace(hunks=tuple(hunk for hunk, state in hunks if state is Fit.APPLICABLE))
