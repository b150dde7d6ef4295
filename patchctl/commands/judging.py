"""Judge every entry on the files of one tree: pure reading, whether it is installed or only a candidate."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from patchctl.build import MatchRule
from patchctl.commands.cases import cases_of
from patchctl.commands.proofs import judge_all_fixes
from patchctl.commands.selection import NOTHING, Parsed, Selection, select
from patchctl.commands.warnings import entry_warnings, target_warnings
from patchctl.errors import LedgerError, Problem
from patchctl.evidence import files_named
from patchctl.ledger import read_object
from patchctl.model import FileFact, LedgerState, LiveFile, Snapshot, Target, listed_sha256
from patchctl.registry import Registry
from patchctl.target import Tree, path_below
from patchctl.transaction import JournalState
from patchctl.verdict import Assessment, Base, BaseKind, Namesake, SiteFacts, assess, base_of

_NOBODY_SAYS: Mapping[str, str] = MappingProxyType({})


class Scene(NamedTuple):
    """What a command knows before it decides.

    Attributes:
        registry: the entries and what is broken among them.
        target: the environment.
        site: its files, bases and ledger.
        assessments: every entry that is usable or recorded, in fold order.
        journal: an unfinished transaction; then nothing else was judged.
        unknown: ids that were applied, but what was applied cannot be read any more.
        errors: broken entries and the like; the rest of the answer stands.
        warnings: what the operator should know.
        judged_on_base: no diff was taken out of the bytes that evidence was judged on.
    """

    registry: Registry
    target: Target
    site: SiteFacts
    assessments: tuple[Assessment, ...]
    journal: JournalState | None
    unknown: tuple[str, ...]
    errors: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    judged_on_base: bool = False

    def find(self, id_: str) -> Assessment | None:
        """Return the assessment of the entry ``id_``."""
        return next((found for found in self.assessments if found.id == id_), None)

    def parsed(self) -> Parsed:
        """Return what the diffs say, for a scene that is gathered again."""
        cases = [found.case for found in self.assessments]
        diffs = [diff for case in cases for diff in (*case.diffs, *case.recorded)]
        return {(diff.sha256, diff.strip): diff.files for diff in diffs}

    def in_registry_order(self) -> tuple[Assessment, ...]:
        """Return the assessments in registry order; entries that only the ledger knows come last."""
        order = {entry.id: number for number, entry in enumerate(self.registry.entries)}
        return tuple(sorted(self.assessments, key=lambda found: order.get(found.id, len(order))))


def judge(
    registry: Registry,
    tree: Tree,
    ledger: LedgerState,
    *,
    stores: Sequence[str],
    assumed: Mapping[str, str] = _NOBODY_SAYS,
    known: Parsed = NOTHING,
    files: Sequence[str] = (),
    taking: Collection[str] = (),
) -> Scene:
    """Judge every entry of ``registry``, and every recorded one.

    What is recorded is judged by an entry of the registry that it came from, or of none: an entry of that id in another
    one may be a stranger's.

    Args:
        registry: the entries.
        tree: the files.
        ledger: what is recorded about them.
        stores: site directories (absolute) whose state directory may hold the originals and diffs that ``ledger``
            names, the first that has one is asked.
        assumed: entry -> build string that the operator gives for its distributions.
        known: what was parsed in this process before; all bytes are read and hashed anew.
        files: further files to read: POSIX relative to the site, or absolute below it.
        taking: ids that count as being of this registry, wherever they came from.
    """
    target = tree.target
    namesakes = _namesakes(registry, ledger, taking)
    entries = [entry for entry in registry.entries if entry.id not in namesakes]
    ids = {entry.id for entry in entries}
    selections = [
        select(registry, entry, target, ledger, assumed.get(entry.id), known=known, stores=stores) for entry in entries
    ]
    orphans = [receipt for receipt in ledger.receipts if receipt.id not in ids]
    selections += [
        select(
            registry,
            None,
            target,
            ledger,
            None,
            receipt=receipt,
            namesake=namesakes.get(receipt.id),
            known=known,
            stores=stores,
        )
        for receipt in orphans
    ]
    site = _site_facts(tree, ledger, stores, selections, files)
    fixes, plain = judge_all_fixes(entries, tree, site, selections)
    cases = cases_of(selections, site, fixes, registry)
    broken = [problem for selection in selections for problem in selection.problems]
    assessments = assess(cases, site)
    return Scene(
        registry=registry,
        target=target,
        site=site,
        assessments=assessments,
        journal=None,
        unknown=tuple(selection.id for selection in selections if selection.unknown),
        errors=(*registry.problems, *broken),
        warnings=(*target_warnings(target), *entry_warnings(assessments, ledger)),
        judged_on_base=plain,
    )


def _namesakes(registry: Registry, ledger: LedgerState, taking: Collection[str]) -> dict[str, Namesake]:
    """The entries that have the id of a receipt, and are of another registry than that."""
    recorded = {receipt.id: receipt.registry for receipt in ledger.receipts if receipt.id not in taking}
    found = {}
    for entry in registry.entries:
        came_from, here = recorded.get(entry.id), registry.place_of(entry)
        if came_from is not None and not came_from.is_same(here):
            found[entry.id] = Namesake(revision=entry.revision, registry=here)
    return found


def _site_facts(
    tree: Tree, ledger: LedgerState, stores: Sequence[str], selections: Sequence[Selection], files: Sequence[str]
) -> SiteFacts:
    target = tree.target
    paths = {*ledger.files, *(path_below(target.site, file) for file in files)}
    for selection in selections:
        paths |= selection.paths()
        if selection.entry is not None:
            paths |= files_named(selection.entry.fixes)
    snapshot = tree.read(paths)
    bases = {path: _base(target, ledger, stores, snapshot, path) for path in paths}
    tops = {name: tree.tops(found) for name, found in target.distributions.items() if found.record is None}
    return SiteFacts(
        distributions=target.distributions,
        snapshot=snapshot,
        ledger=ledger,
        bases=bases,
        tops=tops,
        claims=tree.claims(_coming(selections, ledger)),
    )


def _coming(selections: Sequence[Selection], ledger: LedgerState) -> set[str]:
    """The paths that entries chosen for this build would change anew: who else lists them is worth a look."""
    chosen = [it for it in selections if it.rule is not MatchRule.NONE and not it.unusable]
    paths = {
        (diff.distribution, path) for it in chosen for diff in it.all() for file in diff.files for path in file.paths
    }
    facts = {(fact.distribution, path) for path, fact in ledger.files.items()}
    return {path for _, path in paths - facts}


def _base(target: Target, ledger: LedgerState, stores: Sequence[str], snapshot: Snapshot, path: str) -> Base:
    if path in snapshot.problems:
        return Base(kind=BaseKind.FOREIGN, data=None, reason=snapshot.problems[path])
    live, fact = snapshot.files.get(path), ledger.files.get(path)
    distribution = target.distributions.get(fact.distribution) if fact is not None else None
    return base_of(
        live=live.data if live is not None else None,
        live_sha256=live.sha256 if live is not None else None,
        live_mode=live.meta.mode if live is not None else 0o644,
        fact=fact,
        recorded_base=_recorded_base(stores, fact, live) if fact is not None else None,
        fingerprint=distribution.fingerprint if distribution is not None else None,
        listed_sha256=listed_sha256(distribution, path) if distribution is not None else None,
    )


def _recorded_base(stores: Sequence[str], fact: FileFact, live: LiveFile | None) -> bytes | None:
    """The original below our result; a damaged one is none, and then the file counts as foreign."""
    if fact.base is None or fact.result != (live.sha256 if live is not None else None):
        return None
    if live is not None and fact.base == fact.result:
        return live.data
    for store in stores:
        try:
            data = read_object(store, fact.base)
        except LedgerError:
            continue
        if data is not None:
            return data
    return None
