"""Take entries out of the files as they are: the way to a base that nobody recorded, or that a foreign edit hides.

By the rule of the engine, in reverse: whole blocks, byte for byte, where they can only mean one place. What somebody
else wrote around them stays. Which base is to be believed is not decided here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from patchctl.diff import ChangeKind, FileDiff
from patchctl.match import Fit
from patchctl.model import Content
from patchctl.verdict.base import Base, BaseKind
from patchctl.verdict.facts import SiteFacts, SourceDiff
from patchctl.verdict.fold import Read, changed, fit_of, fold_diffs, misfit_words

_NOTHING: Mapping[str, bytes] = MappingProxyType({})


class Stuck(NamedTuple):
    """What does not come out: the entry, the file (POSIX, relative to the site), and why."""

    id: str
    path: str
    reason: str


class Unfolded(NamedTuple):
    """Files without an entry.

    Attributes:
        contents: path -> the file without it (None: no file), for every path that its diffs name; empty when stuck.
        certain: the bytes alone say that it was in. Otherwise they fit it and a file without it alike, or only show
            that a file is gone: then something else must prove it.
        stuck: the first that does not come out, the last change first; None: all of it came out.
    """

    contents: Mapping[str, Content | None]
    certain: bool
    stuck: Stuck | None = None


class _Step(NamedTuple):
    contents: Mapping[str, Content | None]
    certain: bool
    reason: str | None = None


def unfold(id_: str, files: Sequence[FileDiff], read: Read, *, originals: Mapping[str, bytes] = _NOTHING) -> Unfolded:
    """Take one entry out, the last of its changes first, all or nothing.

    Args:
        id_: the entry, for the answer.
        files: its diffs, as they were applied.
        read: what is at a path.
        originals: path -> bytes that something else proves to be the file before any patch. One of them is taken where
            the engine finds no way back, and the diff makes of it just what is there.
    """
    contents: dict[str, Content | None] = {}
    certain = True

    def now(path: str) -> Content | None:
        return contents[path] if path in contents else read(path)

    for file in reversed(files):
        step = _without(file, now, originals)
        if step.reason is not None:
            return Unfolded(contents={}, certain=False, stuck=Stuck(id=id_, path=file.path, reason=step.reason))
        contents |= {path: now(path) for path in file.paths} | dict(step.contents)
        certain = certain and step.certain
    return Unfolded(contents=contents, certain=certain)


def _without(file: FileDiff, now: Read, originals: Mapping[str, bytes]) -> _Step:
    report = fit_of(file, now)
    there = now(file.path)
    if report.fit is Fit.PRESENT:
        return _Step(contents=changed(file, there, report.reverse), certain=True)
    if file.path in originals and there is not None and file.old_path is None:
        original = there.changed_to(file.old_mode)._replace(data=originals[file.path])
        again = fold_diffs([file], lambda _: original)
        if again.fits and again.contents[file.path] == there:
            return _Step(contents={file.path: original}, certain=True)
    if report.reverse.fits:
        return _Step(contents=changed(file, there, report.reverse), certain=False)
    if file.kind is ChangeKind.ADD and there is not None:
        return _Step(contents={}, certain=False, reason="the entry added the file, and its content is another one now")
    words = misfit_words(report.reverse.reason, report.reverse.hunks)
    return _Step(contents={}, certain=False, reason=words or "it cannot be told whether the change is in")


def bases_without_ours(
    site: SiteFacts, applied: Sequence[tuple[str, tuple[SourceDiff, ...]]], leaving: Collection[str]
) -> tuple[dict[str, Base], tuple[Stuck, ...]]:
    """Return new bases for the edited files that carry an entry of ``leaving``: the live bytes without all our hunks.

    Args:
        site: the environment.
        applied: every recorded entry that can be read, in fold order, with what was applied.
        leaving: ids that are to go.

    Returns:
        The bases by path, and what does not come out; with any of the latter nothing should be planned. A file that is
        gone, or is none that may be touched, stays foreign, and the plan says why.
    """
    edited = {
        path
        for path, fact in site.ledger.files.items()
        if set(fact.entries) & set(leaving) and site.bases[path].kind is BaseKind.FOREIGN and _is_there(site, path)
    }
    paths = _with_other_names(edited, applied)
    known = {id_ for id_, _ in applied}
    contents: dict[str, Content | None] = {}
    stuck = [
        Stuck(id=id_, path=path, reason="what was applied of it cannot be read any more")
        for path in sorted(paths)
        for id_ in _entries(site, path)
        if id_ not in known
    ]

    def now(path: str) -> Content | None:
        return contents[path] if path in contents else site.live_content(path)

    for id_, diffs in reversed(applied):
        inside = [file for diff in diffs for file in diff.files if paths & set(file.paths)]
        inside = [file for file in inside if id_ in _entries(site, file.path) and not _made_again(site, file)]
        found = unfold(id_, inside, now)
        if found.stuck is not None:
            stuck.append(found.stuck)
        elif not found.certain and any(file.kind is not ChangeKind.DELETE for file in inside):
            reason = "it cannot be told whether the change is still in"
            stuck.append(Stuck(id=id_, path=inside[0].path, reason=reason))
        contents |= found.contents
    return {path: new_base(now(path)) for path in paths if path not in site.snapshot.problems}, tuple(stuck)


def new_base(content: Content | None) -> Base:
    """Return the base that a plan is to rest on from now on; None: the file is not part of it."""
    if content is None:
        return Base(kind=BaseKind.NEW, data=None)
    return Base(kind=BaseKind.NEW, data=content.data, mode=content.mode)


def _is_there(site: SiteFacts, path: str) -> bool:
    return path not in site.snapshot.problems and site.live_content(path) is not None


def _entries(site: SiteFacts, path: str) -> tuple[str, ...]:
    fact = site.ledger.files.get(path)
    return fact.entries if fact is not None else ()


def _made_again(site: SiteFacts, file: FileDiff) -> bool:
    """Somebody put a file where the entry had removed one: none of our lines is in it, it is theirs as it is."""
    return file.kind is ChangeKind.DELETE and site.live_content(file.path) is not None


def _with_other_names(paths: set[str], applied: Sequence[tuple[str, tuple[SourceDiff, ...]]]) -> set[str]:
    """The two names of a rename go together."""
    pairs = [set(file.paths) for _, diffs in applied for diff in diffs for file in diff.files if file.old_path]
    found = set(paths)
    while any(pair & found and not pair <= found for pair in pairs):
        found |= {path for pair in pairs if pair & found for path in pair}
    return found
