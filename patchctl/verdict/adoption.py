"""Take over what is in the files although nobody recorded it: find the base below, and say whether anything proves it.

The ledger got lost, or somebody made by hand the change that an entry makes. RECORD is the witness: a file without the
entries has the hash that it lists. Only the state of things is judged here; no file is to change by it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from patchctl.diff import FileDiff
from patchctl.model import Content, Distribution, listed_sha256, sha256_hex
from patchctl.verdict.base import Base
from patchctl.verdict.facts import Assessment, SiteFacts, SourceDiff
from patchctl.verdict.fold import Read, fold_diffs
from patchctl.verdict.scope import standing
from patchctl.verdict.unfold import Stuck, new_base, unfold


class Adoption(NamedTuple):
    """What can be taken over.

    Attributes:
        ids: in fold order; all of them, or none when anything is stuck.
        bases: path -> the base below them.
        stuck: entries that do not come out of the files, or whose change put in again would not give what is there.
        unproven: of those that do come out, the first file of each whose base is not what RECORD lists, and why.
    """

    ids: tuple[str, ...]
    bases: Mapping[str, Base]
    stuck: tuple[Stuck, ...] = ()
    unproven: tuple[Stuck, ...] = ()


class _Layer(NamedTuple):
    id: str
    diffs: tuple[SourceDiff, ...]
    requires: tuple[str, ...]

    @property
    def files(self) -> list[FileDiff]:
        return [file for diff in self.diffs for file in diff.files]

    @property
    def paths(self) -> list[str]:
        return [path for file in self.files for path in file.paths]


def adoption(
    site: SiteFacts,
    wanted: Sequence[Assessment],
    applied: Sequence[tuple[str, tuple[SourceDiff, ...]]],
    originals: Mapping[str, bytes],
) -> Adoption:
    """Find the order in which ``wanted`` must have gone in, and the base below all of them.

    Args:
        site: the environment.
        wanted: entries without receipt whose change seems to be in, in registry order.
        applied: the recorded entries in fold order, with what was applied.
        originals: path -> bytes that have the hash which RECORD lists for it, found somewhere.
    """
    waiting = [_Layer(id=it.id, diffs=it.case.due, requires=it.case.requires) for it in wanted]
    contents: dict[str, Content | None] = {}
    certain: dict[str, bool] = {}
    order: list[_Layer] = []

    def now(path: str) -> Content | None:
        return contents[path] if path in contents else site.base_content(path)

    while waiting:
        # The last that came in goes first; where two share lines only one of them comes out.
        layer, stuck = _next_out(waiting, now, originals)
        if layer is None:
            return Adoption(ids=(), bases={}, stuck=stuck)
        found = unfold(layer.id, layer.files, now, originals=originals)
        contents |= found.contents
        certain[layer.id] = found.certain
        waiting.remove(layer)
        order.insert(0, layer)
    broken = _not_as_before(site, applied, order, contents)
    if broken:
        return Adoption(ids=(), bases={}, stuck=broken)
    doubts = [(layer, _doubt(site, layer, contents)) for layer in order]
    # Where RECORD proves every base, it does not matter that the bytes alone fit both ways; where it does not, it does.
    vague = [layer for layer, doubt in doubts if doubt is not None and not certain[layer.id]]
    if vague:
        reason = "it cannot be told whether the change is in"
        return Adoption(ids=(), bases={}, stuck=tuple(Stuck(id=it.id, path=it.paths[0], reason=reason) for it in vague))
    return Adoption(
        ids=tuple(layer.id for layer in order),
        bases={path: new_base(content) for path, content in contents.items()},
        unproven=tuple(doubt for _, doubt in doubts if doubt is not None),
    )


def _next_out(
    waiting: Sequence[_Layer], now: Read, originals: Mapping[str, bytes]
) -> tuple[_Layer | None, tuple[Stuck, ...]]:
    """The last entry that comes out and that no other one requires; what is certain before what is not."""
    stuck: list[Stuck] = []
    possible: list[_Layer] = []
    for layer in reversed(waiting):
        if any(layer.id in other.requires for other in waiting):
            continue
        found = unfold(layer.id, layer.files, now, originals=originals)
        if found.stuck is not None:
            stuck.append(found.stuck)
        elif found.certain:
            return layer, ()
        else:
            possible.append(layer)
    return (possible[0], ()) if possible else (None, tuple(stuck))


def _not_as_before(
    site: SiteFacts,
    applied: Sequence[tuple[str, tuple[SourceDiff, ...]]],
    order: Sequence[_Layer],
    contents: Mapping[str, Content | None],
) -> tuple[Stuck, ...]:
    """Put all of it in again, behind what is recorded: every file must come out as it is now."""
    again = dict(contents)
    reason = "its change, put in again, would not give the file that is there"

    def now(path: str) -> Content | None:
        return again[path] if path in again else site.base_content(path)

    for id_, diffs in applied:
        files = [file for diff in standing(site, id_, diffs) for file in diff.files if set(contents) & set(file.paths)]
        fold = fold_diffs(files, now)
        if not fold.fits:
            message = f"{id_} is applied and stands on its lines: revert that first"
            return tuple(Stuck(id=layer.id, path=files[0].path, reason=message) for layer in order)
        again |= fold.contents
    for layer in order:
        fold = fold_diffs(layer.files, now)
        if not fold.fits:
            return (Stuck(id=layer.id, path=layer.paths[0], reason=reason),)
        again |= fold.contents
    return tuple(
        Stuck(id=layer.id, path=path, reason=reason)
        for layer in order
        for path in layer.paths
        if not _same(again[path], site.live_content(path))
    )


def _same(one: Content | None, other: Content | None) -> bool:
    """Equal to git: the same bytes, executable or not."""
    if one is None or other is None:
        return one is other
    return one.data == other.data and one.executable is other.executable


def _doubt(site: SiteFacts, layer: _Layer, contents: Mapping[str, Content | None]) -> Stuck | None:
    """The first file whose base RECORD does not prove; None: all are proven."""
    for diff in layer.diffs:
        distribution = site.distributions[diff.distribution]
        for path in (path for file in diff.files for path in file.paths):
            reason = _unlike_record(distribution, path, contents[path])
            if reason is not None:
                return Stuck(id=layer.id, path=path, reason=reason)
    return None


def _unlike_record(distribution: Distribution, path: str, content: Content | None) -> str | None:
    if distribution.record is None:
        return f"{distribution.name} has no RECORD that would prove the file without it"
    if content is None:
        return "RECORD lists the file, but the entry would have added it" if path in distribution.record else None
    listed = listed_sha256(distribution, path)
    if listed is None:
        return "RECORD has no hash that would prove the file without it"
    return None if listed == sha256_hex(content.data) else "the file without it is not what RECORD lists"
