"""Fold the wanted entries over the base bytes; every file whose outcome differs from now is an edit.

Apply, revert, re-apply after a reinstall, a newer revision and "nothing to do" are this one function: only the stack
differs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from patchctl.diff import FileDiff
from patchctl.match import Match
from patchctl.model import FileEdit, FileFact
from patchctl.plan.imports import dead_additions
from patchctl.plan.outcome import Folded, fresh_second, kept_bytes, new_fact, swap_of
from patchctl.plan.rules import Layer, Refusal, broken_rules
from patchctl.verdict import BaseKind, SiteFacts, crowded, fold_diffs, misfit_words, outside, standing


class Plan(NamedTuple):
    """What to write and what to record.

    Attributes:
        edits: by path; empty when every file is already as wanted.
        files: the file facts of the ledger afterwards.
        landed: ids of the stack that fit, in fold order.
        refusals: the others, with the reason; with any of them the caller decides whether to go on.
        last_second: for the ledger: the latest modification time given so far, in whole seconds.
        kept: bases and results that the file facts name and the edits may not bring, to be kept as objects.
    """

    edits: tuple[FileEdit, ...]
    files: Mapping[str, FileFact]
    landed: tuple[str, ...]
    refusals: tuple[Refusal, ...]
    last_second: int
    kept: tuple[bytes, ...] = ()


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
    folded = Folded(contents={}, entries={}, owners={})
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
    keepers = _keepers(stack)
    refusals.extend(_stuck_leavers(gone, site, unknown, folded, keepers))
    second = fresh_second(site, {*folded.contents, *concerned}, now)
    edits, files = [], {}
    new = (path for path, base in site.bases.items() if base.kind is BaseKind.NEW)
    for path in sorted({*site.ledger.files, *folded.contents, *new}):
        old = site.ledger.files.get(path)
        if old is not None and path not in concerned:
            files[path] = old
            continue
        fact = new_fact(path, old, site, folded, gone, keepers.get(path, set()) | set(unknown), missing_dirs)
        edit = swap_of(path, old, fact, site, folded, second)
        if fact is not None:
            files[path] = fact
        if edit is not None:
            edits.append(edit)
    refusals.extend(dead_additions(edits, site, folded, gone))
    fresh = any(edit.mtime_ns == second * 1_000_000_000 for edit in edits)
    last = second if fresh else site.ledger.last_second
    return Plan(
        edits=tuple(edits),
        files=files,
        landed=tuple(landed),
        refusals=tuple(refusals),
        last_second=last,
        kept=kept_bytes(site, folded, files),
    )


def _concerned(stack: Sequence[Layer], site: SiteFacts, leaving: Sequence[str]) -> set[str]:
    """The files that an entry which comes, goes or is renewed touches, before or after, and those with a new base."""
    going = {layer.id for layer in stack if layer.moved} | set(leaving)
    concerned = {path for path, fact in site.ledger.files.items() if going & set(fact.entries)}
    concerned |= {path for layer in stack if layer.moved for file in _files(layer) for path in file.paths}
    concerned |= {path for path, base in site.bases.items() if base.kind is BaseKind.NEW}
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
            reason = outside(site, source.distribution, file) or crowded(site, file, _files(layer))
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


def _fold_layer(layer: Layer, site: SiteFacts, folded: Folded, max_offset: int | None) -> Refusal | None:
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
    for distribution, file in diffs:
        # what was in a file before it is renamed is in it under its new name too
        inside = folded.entries.get(file.paths[0], ())
        for path in file.paths:
            folded.entries[path] = tuple(dict.fromkeys((*inside, *folded.entries.get(path, ()), layer.id)))
            folded.owners[path] = distribution
    return None


def _why_not(layer: Layer, files: Sequence[FileDiff], matches: Sequence[Match]) -> Refusal:
    file, match = next((file, match) for file, match in zip(files, matches, strict=True) if not match.fits)
    reason = misfit_words(match.reason, match.hunks, file.old_path) or "its diff does not fit"
    if not layer.moved:
        reason += f"; {layer.id} stands on lines that would change: revert it too"
    return Refusal(id=layer.id, path=file.path, reason=reason)


def _keepers(stack: Sequence[Layer]) -> dict[str, set[str]]:
    """The entries that name a path in their diffs and will be in, or keep their receipt."""
    keepers: dict[str, set[str]] = {}
    for layer in stack:
        for path in (path for file in _files(layer) for path in file.paths):
            keepers.setdefault(path, set()).add(layer.id)
    return keepers


def _stuck_leavers(
    leaving: Collection[str],
    site: SiteFacts,
    unknown: Sequence[str],
    folded: Folded,
    keepers: Mapping[str, set[str]],
) -> list[Refusal]:
    """An entry cannot leave a file whose other content is somebody's edit, or an entry that nobody can fold."""
    refusals = []
    for path, fact in sorted(site.ledger.files.items()):
        going = [id_ for id_ in fact.entries if id_ in leaving]
        staying = [id_ for id_ in fact.entries if id_ not in leaving]
        half = [] if path in folded.contents else [id_ for id_ in staying if id_ in keepers.get(path, ())]
        reason = _stuck(site, fact, [id_ for id_ in staying if id_ in unknown], half) if going else None
        if reason is not None:
            edited = site.bases[path].kind is BaseKind.FOREIGN and site.live_content(path) is not None
            for id_ in going:
                hint = f"patchctl revert {id_} --keep-edits takes it out and leaves the edit" if edited else None
                refusals.append(Refusal(id=id_, path=path, reason=reason, hint=hint))
    return refusals


def _stuck(site: SiteFacts, fact: FileFact, unknown: Sequence[str], half: Sequence[str]) -> str | None:
    """Why no entry can leave this file: ``unknown`` ones stay in it, or one that stands in it by ``half``."""
    base = site.bases[fact.path]
    uninstalled = fact.distribution not in site.distributions and site.live_content(fact.path) is None
    if base.kind is BaseKind.FOREIGN and not uninstalled:
        return base.reason or "edited by someone else"
    if base.kind not in {BaseKind.RECORDED, BaseKind.NEW}:
        return None
    if unknown:
        return f"it carries {unknown[0]}, whose applied diff cannot be read any more: take that out too"
    # the old name of a rename is back, and the new one still has all that was in the file
    return f"it carries {half[0]} too, of which not everything stands any more: take that out too" if half else None
