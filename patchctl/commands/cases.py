"""From the selected diffs to a :class:`Case`: what the ledger, the bases and the other entries say of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from patchctl.build import MatchRule
from patchctl.commands.selection import BROKEN, Selection
from patchctl.evidence import FixFinding
from patchctl.model import RegistryPlace, Retirement
from patchctl.registry import Registry, replaced_ids
from patchctl.verdict import Case, SiteFacts, SourceDiff, fold_diffs, is_rebuilt


def cases_of(
    selections: Sequence[Selection],
    site: SiteFacts,
    fixes: Mapping[str, tuple[FixFinding, ...]],
    registry: Registry,
) -> list[Case]:
    """Return a case for each selection of which something can be judged, in ledger order, then registry order.

    Args:
        selections: in registry order.
        site: the environment.
        fixes: entry id -> its findings.
        registry: where the entries are from.
    """
    entries = {other.id: other.entry for other in selections if other.entry is not None}
    named = {id_: replaced_ids(entry, entries) for id_, entry in entries.items()}
    strange = {id_: _recorded_elsewhere(ids, registry.place_of(entries[id_]), site) for id_, ids in named.items()}
    replaced = {id_: tuple(it for it in ids if it not in strange[id_]) for id_, ids in named.items()}
    replacements = _replacements(selections, site, replaced)
    cases = [
        _case(selection, site, fixes.get(selection.id, ()), replaced.get(selection.id, ()), replacements)._replace(
            trespasses=tuple(strange.get(selection.id, {}).items())
        )
        for selection in selections
        if not selection.unknown and (selection.receipt is not None or not selection.unusable)
    ]
    position = {receipt.id: number for number, receipt in enumerate(site.ledger.receipts)}
    return sorted(cases, key=lambda case: position.get(case.id, len(position)))


def _case(
    selection: Selection,
    site: SiteFacts,
    fixes: tuple[FixFinding, ...],
    replaces: tuple[str, ...],
    replacements: Mapping[str, str],
) -> Case:
    usable = not selection.unusable
    return Case(
        id=selection.id,
        patch=selection.entry,
        receipt=selection.receipt,
        hold=site.ledger.holds.get(selection.id),
        rule=selection.rule if usable else MatchRule.NONE,
        reason=selection.reason if usable else BROKEN,
        diffs=tuple(_nearest(diffs, site) for diffs in selection.options.values()) if usable else (),
        recorded=selection.recorded,
        fixes=fixes,
        replaces=replaces,
        replaced_by=replacements.get(selection.id),
        assumed=selection.assumed,
        incomplete=_incomplete(selection, site),
        rebuilt=_facts_rebuilt(selection, site),
        retirement=_retirement(selection, site),
        namesake=selection.namesake,
        installed={name: site.distributions[name].build for name in _named(selection) if name in site.distributions},
    )


def _recorded_elsewhere(ids: Sequence[str], here: RegistryPlace, site: SiteFacts) -> dict[str, RegistryPlace]:
    """Those of ``ids`` that are recorded and came from another registry, with it."""
    recorded = {it.id: it.registry for it in site.ledger.receipts}
    found = {id_: place for id_ in ids if (place := recorded.get(id_)) is not None}
    return {id_: place for id_, place in found.items() if not place.is_same(here)}


def _retirement(selection: Selection, site: SiteFacts) -> Retirement | None:
    """The last one; whoever applied it since decided anew, and what became of that is what counts."""
    if selection.receipt is not None:
        return None
    last = next((it for it in reversed(site.ledger.retirements) if it.id == selection.id), None)
    return None if last is None or last.over else last


def _replacements(
    selections: Sequence[Selection], site: SiteFacts, replaced: Mapping[str, tuple[str, ...]]
) -> dict[str, str]:
    """Entry -> the first one that takes its place: it is wanted here or in already, and is not held."""
    found: dict[str, str] = {}
    for other in selections:
        entry = other.entry
        if entry is None or other.unusable or other.id in site.ledger.holds or other.rule is MatchRule.NONE:
            continue
        if entry.default or other.receipt is not None:
            for id_ in replaced[other.id]:
                found.setdefault(id_, other.id)
    return found


def _incomplete(selection: Selection, site: SiteFacts) -> bool:
    return not _named(selection) <= set(site.distributions)


def _named(selection: Selection) -> set[str]:
    named = set(selection.entry.distributions) if selection.entry is not None else set()
    return named | {diff.distribution for diff in selection.recorded}


def _nearest(diffs: Sequence[SourceDiff], site: SiteFacts) -> SourceDiff:
    """Of the variants of an unmatched entry, the first whose hunks all fit these bytes, else the first."""
    if len(diffs) > 1:
        for diff in diffs:
            if fold_diffs(diff.files, site.base_content).fits:
                return diff
    return diffs[0]


def _facts_rebuilt(selection: Selection, site: SiteFacts) -> bool:
    if selection.receipt is None:
        return False
    for fact in site.ledger.files.values():
        installed = site.distributions.get(fact.distribution)
        if selection.id in fact.entries and (installed is None or is_rebuilt(fact, installed.fingerprint)):
            return True
    return any(
        diff.distribution not in site.distributions or site.distributions[diff.distribution].build != diff.build
        for diff in selection.receipt.diffs
    )
