"""Evidence by an upstream diff: it holds when every hunk of it is in the base bytes, that is, fits in reverse."""

from __future__ import annotations

from patchctl.diff import ChangeKind, FileDiff, parse_diff
from patchctl.errors import DiffError
from patchctl.evidence.findings import ItemFinding, ItemStatus, Sought
from patchctl.evidence.installed import Installed
from patchctl.evidence.source import SourceError
from patchctl.match import Fit, judge_fit
from patchctl.model import EvidenceItem

WORST_FIRST = (ItemStatus.FAILS, ItemStatus.MOVED, ItemStatus.GONE, ItemStatus.UNKNOWN, ItemStatus.HOLDS)
"""Which of a diff's files speaks for all: the diff is in only when all of it is."""


def diff_paths(item: EvidenceItem) -> tuple[str, ...]:
    """Return the files an evidence diff names, in its order; none for other evidence or a diff that does not parse."""
    if item.diff is None:
        return ()
    try:
        return tuple(dict.fromkeys(path for file in parse_diff(item.diff) for path in file.paths))
    except DiffError:
        return ()


def paths_to_find(item: EvidenceItem) -> tuple[str, ...]:
    """Return those of :func:`diff_paths` that are there when the diff is in: without the old names of renames."""
    if item.diff is None:
        return ()
    try:
        return tuple(dict.fromkeys(file.path for file in parse_diff(item.diff)))
    except DiffError:
        return ()


def judge_diff(item: EvidenceItem, data: bytes, installed: Installed) -> ItemFinding:
    """Judge the files of a diff; the worst of them speaks for the item.

    A file that the diff removes proves nothing by not being there: such a diff never holds.
    """
    try:
        files = parse_diff(data)
    except DiffError as error:
        return ItemFinding(item=item, status=ItemStatus.UNKNOWN, reason=f"the evidence diff is broken: {error}")
    if item.file and item.file not in [file.path for file in files]:
        reason = f"the evidence diff does not change {item.file}"
        return ItemFinding(item=item, status=ItemStatus.UNKNOWN, reason=reason)
    findings = [_judge_file(item, file, installed) for file in files]
    worst = min(findings, key=lambda finding: WORST_FIRST.index(finding.status))
    if worst.status is ItemStatus.HOLDS and len(findings) > 1:
        reason = f"the upstream diff is in all of its {len(findings)} files"
        return ItemFinding(item=item, status=worst.status, reason=reason)
    return worst


def _judge_file(item: EvidenceItem, file: FileDiff, installed: Installed) -> ItemFinding:
    try:
        data = installed.data(file.path)
    except SourceError as error:
        return ItemFinding(item=item, status=ItemStatus.UNKNOWN, reason=f"{file.path} {error}")
    if data is None:
        return _missing(item, file, installed)
    if not file.hunks and file.kind in {ChangeKind.RENAME, ChangeKind.MODIFY}:
        what = "renames it: a name" if file.kind is ChangeKind.RENAME else "changes its mode: that"
        reason = f"{file.path} is there, and the upstream diff only {what} alone proves nothing"
        return ItemFinding(item=item, status=ItemStatus.UNKNOWN, reason=reason)
    # What is at the old name says nothing: upstream often leaves a module there that imports the new one.
    moved = file._replace(kind=ChangeKind.MODIFY, old_path=None) if file.kind is ChangeKind.RENAME else file
    fit = judge_fit(moved, data).fit
    if fit is Fit.PRESENT and file.kind is not ChangeKind.DELETE:
        reason = f"{file.path}: the upstream diff is in it"
        return ItemFinding(item=item, status=ItemStatus.HOLDS, reason=reason)
    if fit is Fit.UNDECIDED:
        reason = f"{file.path}: the upstream diff may or may not be in it, its hunks fit both ways"
        return ItemFinding(item=item, status=ItemStatus.UNKNOWN, reason=reason)
    reason = f"{file.path}: the upstream diff is not in it"
    return ItemFinding(item=item, status=ItemStatus.FAILS, reason=reason)


def _missing(item: EvidenceItem, file: FileDiff, installed: Installed) -> ItemFinding:
    if file.kind is ChangeKind.DELETE:
        reason = f"{file.path} is not there, and the upstream diff removes it: that alone proves nothing"
        return ItemFinding(item=item, status=ItemStatus.UNKNOWN, reason=reason)
    return installed.gone(item, (Sought(file=file.path),), f"{file.path} is not there")
