"""Fold the wanted entries over the base bytes; every file whose outcome differs from now is an edit.

Apply, revert, re-apply after a reinstall, a newer revision and "nothing to do" are this one function: only the stack
differs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from patchctl.diff import FileDiff
from patchctl.match import Match
from patchctl.model import Content, EditKind, FileEdit, FileFact, FileMeta, sha256_hex
from patchctl.plan.rules import Layer, Refusal, broken_rules
from patchctl.verdict import Base, BaseKind, SiteFacts, fold_diffs, misfit_words, outside, standing

_PERMISSIONS = 0o777


class Plan(NamedTuple):
    """What to write and what to record.

    Attributes:
        edits: by path; empty when every file is already as wanted.
        files: the file facts of the ledger afterwards.
        landed: ids of the stack that fit, in fold order.
        refusals: the others, with the reason; with any of them the caller decides whether to go on.
        last_second: for the ledger: the latest modification time given so far, in whole seconds.
    """

    edits: tuple[FileEdit, ...]
    files: Mapping[str, FileFact]
    landed: tuple[str, ...]
    refusals: tuple[Refusal, ...]
    last_second: int


@dataclass(slots=True)
class _Folded:
    """The stack while it grows: what each path becomes, who touched it, whose file it is."""

    contents: dict[str, Content | None]
    entries: dict[str, tuple[str, ...]]
    owners: dict[str, str]


def build_plan(
    stack: Sequence[Layer],
    site: SiteFacts,
    *,
    leaving: Sequence[str],
    unknown: Sequence[str] = (),
    satisfied: Collection[str] = (),
    held: Collection[str] = (),
    now: int,
    missing_dirs: Mapping[str, tuple[str, ...]],
    max_offset: int | None = None,
) -> Plan:
    """Plan how to get from the files as they are to the wanted stack.

    Args:
        stack: every entry that shall be in or keeps its receipt, in fold order.
        site: the environment; its bases cover every path of the stack and of the ledger.
        leaving: ids whose receipts go.
        unknown: ids that were applied, but what was applied cannot be read any more: their files are left alone.
        satisfied: ids that upstream has: nobody need bring them in.
        held: ids that must not be moved.
        now: the time, in whole seconds since the epoch.
        missing_dirs: for a path that may be added, the directories that will have to be made, deepest first.
        max_offset: how far, in lines, a hunk of a moved entry may lie from where its diff states; None: any distance.

    Only files that the change concerns are planned at all: an entry that merely stays is folded where it shares a file
    with one that comes, goes or is renewed.
    """
    folded = _Folded(contents={}, entries={}, owners={})
    concerned = _concerned(stack, site, leaving)
    landed: list[str] = []
    refusals = list(broken_rules(stack, leaving=leaving, satisfied=satisfied, held=held, unknown=unknown))
    refused = {refusal.id for refusal in refusals}
    for layer in stack:
        if layer.id in refused:
            continue
        part = layer if layer.moved else _standing_part(layer, site, concerned)
        refusal = _foreign_file(part, site, unknown) or _fold_layer(part, site, folded, max_offset)
        if refusal is None:
            landed.append(layer.id)
        else:
            refusals.append(refusal)
    # A renewed entry leaves the files that only its old revision touched.
    gone = {*leaving, *(layer.id for layer in stack if layer.moved)}
    refusals.extend(_stuck_leavers(gone, site, unknown))
    second = _fresh_second(site, folded, now)
    edits, files = [], {}
    for path in sorted({*site.ledger.files, *folded.contents}):
        old = site.ledger.files.get(path)
        if old is not None and path not in concerned:
            files[path] = old
            continue
        fact = _new_fact(path, old, site, folded, gone, missing_dirs)
        edit = _edit(path, old, fact, site, folded, second)
        if fact is not None:
            files[path] = fact
        if edit is not None:
            edits.append(edit)
    fresh = any(edit.mtime_ns == second * 1_000_000_000 for edit in edits)
    last = second if fresh else site.ledger.last_second
    return Plan(edits=tuple(edits), files=files, landed=tuple(landed), refusals=tuple(refusals), last_second=last)


def _concerned(stack: Sequence[Layer], site: SiteFacts, leaving: Sequence[str]) -> set[str]:
    """The files that an entry which comes, goes or is renewed touches, before or after."""
    going = {layer.id for layer in stack if layer.moved} | set(leaving)
    concerned = {path for path, fact in site.ledger.files.items() if going & set(fact.entries)}
    concerned |= {path for layer in stack if layer.moved for file in _files(layer) for path in file.paths}
    # the two names of a rename are planned together
    pairs = [set(file.paths) for layer in stack for file in _files(layer) if file.old_path is not None]
    while any(pair & concerned and not pair <= concerned for pair in pairs):
        concerned |= {path for pair in pairs if pair & concerned for path in pair}
    return concerned


def _files(layer: Layer) -> list[FileDiff]:
    return [file for source in layer.diffs for file in source.files]


def _standing_part(layer: Layer, site: SiteFacts, concerned: set[str]) -> Layer:
    diffs = standing(site, layer.id, layer.diffs)
    parts = (diff._replace(files=tuple(file for file in diff.files if file.path in concerned)) for diff in diffs)
    return layer._replace(diffs=tuple(part for part in parts if part.files))


def _foreign_file(layer: Layer, site: SiteFacts, unknown: Sequence[str]) -> Refusal | None:
    """A file of the entry that is not ours to touch."""
    for source in layer.diffs:
        for file in source.files:
            for path in file.paths:
                reason = _not_ours(path, site, unknown)
                if reason is not None:
                    return Refusal(id=layer.id, path=path, reason=reason)
            reason = outside(site, source.distribution, file)
            if reason is not None:
                return Refusal(id=layer.id, path=file.path, reason=reason)
    return None


def _not_ours(path: str, site: SiteFacts, unknown: Sequence[str]) -> str | None:
    base, fact = site.bases[path], site.ledger.files.get(path)
    if base.kind is BaseKind.FOREIGN:
        return base.reason or "edited by someone else"
    lost = [id_ for id_ in fact.entries if id_ in unknown] if fact is not None else []
    if lost:
        return f"it carries {lost[0]}, whose applied diff cannot be read any more"
    return site.snapshot.problems.get(path)


def _fold_layer(layer: Layer, site: SiteFacts, folded: _Folded, max_offset: int | None) -> Refusal | None:
    """Put one entry on top; leaves ``folded`` alone unless all of it fits."""
    diffs = [(source.distribution, file) for source in layer.diffs for file in source.files]
    fold = fold_diffs(
        [file for _, file in diffs],
        lambda path: folded.contents[path] if path in folded.contents else site.base_content(path),
        max_offset=max_offset if layer.moved else None,
    )
    if not fold.fits:
        return _why_not(layer, [file for _, file in diffs], fold.matches)
    folded.contents.update(fold.contents)
    for distribution, path in ((distribution, path) for distribution, file in diffs for path in file.paths):
        if layer.id not in folded.entries.get(path, ()):
            folded.entries[path] = (*folded.entries.get(path, ()), layer.id)
        folded.owners[path] = distribution
    return None


def _why_not(layer: Layer, files: Sequence[FileDiff], matches: Sequence[Match]) -> Refusal:
    file, match = next((file, match) for file, match in zip(files, matches, strict=True) if not match.fits)
    reason = misfit_words(match.reason, match.hunks) or "its diff does not fit"
    if not layer.moved:
        reason += f"; {layer.id} stands on lines that would change: revert it too"
    return Refusal(id=layer.id, path=file.path, reason=reason)


def _stuck_leavers(leaving: Collection[str], site: SiteFacts, unknown: Sequence[str]) -> list[Refusal]:
    """An entry cannot leave a file whose other content is somebody's edit, or an entry that nobody can fold."""
    refusals = []
    for path, fact in sorted(site.ledger.files.items()):
        base = site.bases[path]
        uninstalled = fact.distribution not in site.distributions and site.live_content(path) is None
        if base.kind is BaseKind.FOREIGN and not uninstalled:
            reason = base.reason or "edited by someone else"
            refusals += [Refusal(id=id_, path=path, reason=reason) for id_ in fact.entries if id_ in leaving]
        elif base.kind is BaseKind.RECORDED:
            stay = [id_ for id_ in fact.entries if id_ in unknown and id_ not in leaving]
            if stay:
                reason = f"it carries {stay[0]}, whose applied diff cannot be read any more: take that out too"
                refusals += [Refusal(id=id_, path=path, reason=reason) for id_ in fact.entries if id_ in leaving]
    return refusals


def _fresh_second(site: SiteFacts, folded: _Folded, now: int) -> int:
    """A whole second that no file concerned ever had as its modification time."""
    taken = [site.ledger.last_second]
    for path in folded.contents:
        live = site.snapshot.files.get(path)
        old = site.ledger.files.get(path)
        if live is not None:
            taken.append(live.meta.mtime_ns // 1_000_000_000)
        if old is not None and old.base_mtime_ns is not None:
            taken.append(old.base_mtime_ns // 1_000_000_000)
    return max(now, *(second + 1 for second in taken))


def _new_fact(
    path: str,
    old: FileFact | None,
    site: SiteFacts,
    folded: _Folded,
    gone: set[str],
    missing_dirs: Mapping[str, tuple[str, ...]],
) -> FileFact | None:
    """What the ledger shall say of the file afterwards; None: nothing any more."""
    entries = folded.entries.get(path, ())
    if not entries:
        # Not folded: either its entries leave, or a lost or drifted entry keeps its receipt, and its fact with it.
        stays = old is not None and any(id_ not in gone for id_ in old.entries)
        return old._replace(entries=tuple(id_ for id_ in old.entries if id_ not in gone)) if old and stays else None
    base = site.bases[path]
    distribution = folded.owners[path]
    installed = site.distributions.get(distribution)
    meta = _base_meta(path, base, old, site)
    recorded = old.created_dirs if old is not None and base.kind is BaseKind.RECORDED else None
    added, result = base.data is None, folded.contents[path]
    return FileFact(
        path=path,
        distribution=distribution,
        fingerprint=installed.fingerprint if installed is not None else None,
        base=_digest(base.content),
        result=_digest(result),
        result_mode=_changed_mode(base.content, result),
        base_mode=meta.mode if meta is not None else None,
        base_mtime_ns=meta.mtime_ns if meta is not None else None,
        created_dirs=_created(path, recorded, site, missing_dirs) if added else (),
        entries=entries,
    )


def _created(
    path: str, recorded: tuple[str, ...] | None, site: SiteFacts, missing_dirs: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    """The directories on the way to an added file that patchctl made, for whichever file it made them."""
    made = {directory for fact in site.ledger.files.values() for directory in fact.created_dirs}
    made |= set(missing_dirs.get(path, ())) | set(recorded or ())
    return tuple(sorted((it for it in made if path.startswith(it + "/")), key=len, reverse=True))


def _base_meta(path: str, base: Base, old: FileFact | None, site: SiteFacts) -> FileMeta | None:
    live = site.snapshot.files.get(path)
    if base.kind is BaseKind.LIVE:
        return live.meta if live is not None else None
    if old is None or old.base_mode is None or old.base_mtime_ns is None:
        return None
    return FileMeta(mode=old.base_mode, uid=-1, gid=-1, mtime_ns=old.base_mtime_ns)


def _edit(
    path: str, old: FileFact | None, fact: FileFact | None, site: SiteFacts, folded: _Folded, second: int
) -> FileEdit | None:
    """The swap that this file needs; None when it is as wanted, or nobody's business in this plan."""
    base = site.bases[path]
    if base.kind is BaseKind.FOREIGN or path in site.snapshot.problems:
        return None
    patched = path in folded.contents
    if not patched and fact is not None:
        return None
    live = site.snapshot.files.get(path)
    before = site.live_content(path)
    after = folded.contents[path] if patched else base.content
    if before == after or (before and after and before.data == after.data and _changed_mode(before, after) is None):
        return None
    restored = old if not patched and base.kind is BaseKind.RECORDED else None
    before_mode = before.mode & _PERMISSIONS if before is not None else None
    if after is None:
        prune = old.created_dirs if old is not None and not patched else ()
        data = before.data if before is not None else None
        kind = EditKind.DELETE
        return FileEdit(path=path, kind=kind, before=data, after=None, before_mode=before_mode, prune=prune)
    if before is None or live is None:
        mtime = restored.base_mtime_ns if restored is not None else second * 1_000_000_000
        mode = restored.base_mode if restored is not None else after.mode & _PERMISSIONS
        return FileEdit(path=path, kind=EditKind.ADD, before=None, after=after.data, mode=mode, mtime_ns=mtime)
    # bytes that stay keep their time: byte code made for them is still theirs
    mtime = live.meta.mtime_ns if before.data == after.data else second * 1_000_000_000
    return FileEdit(
        path=path,
        kind=EditKind.MODIFY,
        before=before.data,
        after=after.data,
        before_mode=before_mode,
        mode=restored.base_mode if restored is not None else _changed_mode(before, after),
        mtime_ns=restored.base_mtime_ns if restored is not None else mtime,
    )


def _changed_mode(before: Content | None, after: Content | None) -> int | None:
    """The permission bits afterwards, where a file that stays becomes executable or ceases to be; None otherwise."""
    if before is None or after is None or before.executable is after.executable:
        return None
    return after.mode & _PERMISSIONS


def _digest(content: Content | None) -> str | None:
    return None if content is None else sha256_hex(content.data)
