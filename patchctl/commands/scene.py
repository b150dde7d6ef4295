"""Gather everything a command judges: registry, environment, ledger, files; then judge it.

One reading order, so that a reader never mixes two states: journal, ledger, files, and ledger and journal again. If
they changed meanwhile, another patchctl is at work and the reading starts over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from patchctl.build import claims, parse_build
from patchctl.commands.candidates import Selection, candidate_of, select
from patchctl.commands.place import Place
from patchctl.errors import LedgerError, PatchctlError, Problem
from patchctl.evidence import FixFinding, files_named, judge_fixes, sought
from patchctl.ledger import read_ledger, read_object
from patchctl.model import Fix, LedgerState, Snapshot, Target, listed_sha256
from patchctl.patch import Patch
from patchctl.processes import search_within
from patchctl.registry import Registry, bundled_registry, load_registry
from patchctl.target import find_target, read_snapshot, search_names, top_levels
from patchctl.transaction import JournalState, journal_state
from patchctl.verdict import Assessment, Base, BaseKind, SiteFacts, assess, base_of

_ATTEMPTS = 3


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
    """

    registry: Registry
    target: Target
    site: SiteFacts
    assessments: tuple[Assessment, ...]
    journal: JournalState | None
    unknown: tuple[str, ...]
    errors: tuple[Problem, ...]
    warnings: tuple[Problem, ...]

    def find(self, id_: str) -> Assessment | None:
        """Return the assessment of the entry ``id_``."""
        return next((found for found in self.assessments if found.id == id_), None)

    def in_registry_order(self) -> tuple[Assessment, ...]:
        """Return the assessments in registry order; entries that only the ledger knows come last."""
        order = {entry.id: number for number, entry in enumerate(self.registry.entries)}
        return tuple(sorted(self.assessments, key=lambda found: order.get(found.id, len(order))))


def open_registry(place: Place) -> Registry:
    """Load the registries that ``place`` names, or the bundled one.

    Raises:
        RegistryError: a registry cannot be read at all.
    """
    return load_registry(place.registries or (bundled_registry(),))


def gather(place: Place, *, assumed: Mapping[str, str] | None = None) -> Scene:
    """Read registry, environment and ledger, and judge every entry.

    Args:
        place: where.
        assumed: entry -> build string that the operator gives for its distributions.

    Raises:
        PatchctlError: no answer is possible: no environment, unreadable registry or ledger.
    """
    registry = open_registry(place)
    names = {variant.distribution for entry in registry.entries for variant in entry.variants}
    target = _find(place, names)
    for _ in range(_ATTEMPTS):
        before = journal_state(target.site)
        ledger = read_ledger(target.site)
        if before is not None:
            return _unfinished(registry, target, ledger, before)
        target = _with_recorded(place, target, names, ledger)
        scene = _judge(registry, target, ledger, assumed or {})
        if journal_state(target.site) is None and read_ledger(target.site).sha256 == ledger.sha256:
            return scene
    raise PatchctlError(
        "changing", f"the files below {target.site} keep changing while they are read", hint="run it again in a moment"
    )


def _find(place: Place, names: set[str]) -> Target:
    """Find the environment that holds the distribution asked for, or any that the registry names."""
    wanted = {place.distribution} if place.distribution is not None else names
    found = find_target(site=place.site, python=place.python, environ=place.environ, names=wanted)
    found = found if place.origin is None else found._replace(origin=place.origin)
    return found if wanted >= names else _wider(found, place, wanted | names)


def _with_recorded(place: Place, target: Target, names: set[str], ledger: LedgerState) -> Target:
    """The ledger may speak of distributions that the registry does not name any more."""
    recorded = {diff.distribution for receipt in ledger.receipts for diff in receipt.diffs}
    return target if recorded <= names else _wider(target, place, names | recorded)


def _wider(target: Target, place: Place, names: set[str]) -> Target:
    """The same site, with more of its distributions."""
    wider = find_target(site=target.site, python=None, environ=place.environ, names=names)
    return target._replace(distributions=wider.distributions)


def _unfinished(registry: Registry, target: Target, ledger: LedgerState, journal: JournalState) -> Scene:
    site = SiteFacts(distributions=target.distributions, snapshot=Snapshot(files={}), ledger=ledger, bases={})
    return Scene(
        registry=registry,
        target=target,
        site=site,
        assessments=(),
        journal=journal,
        unknown=(),
        errors=registry.problems,
        warnings=(),
    )


def _judge(registry: Registry, target: Target, ledger: LedgerState, assumed: Mapping[str, str]) -> Scene:
    known = {entry.id for entry in registry.entries}
    selections = [select(registry, entry, target, ledger, assumed.get(entry.id)) for entry in registry.entries]
    orphans = [receipt for receipt in ledger.receipts if receipt.id not in known]
    selections += [select(registry, None, target, ledger, None, receipt=receipt) for receipt in orphans]
    site = _site_facts(target, ledger, selections)
    fixes = _judge_fixes(registry.entries, target, site)
    candidates = []
    for selection in selections:
        candidate = candidate_of(selection, site, fixes.get(selection.id, ()), selections)
        if candidate is not None:
            candidates.append(candidate)
    position = {receipt.id: number for number, receipt in enumerate(ledger.receipts)}
    candidates.sort(key=lambda candidate: position.get(candidate.id, len(position)))
    broken = [problem for selection in selections for problem in selection.problems]
    return Scene(
        registry=registry,
        target=target,
        site=site,
        assessments=assess(candidates, site),
        journal=None,
        unknown=tuple(selection.id for selection in selections if selection.unknown),
        errors=(*registry.problems, *broken),
        warnings=_warnings(target),
    )


def _site_facts(target: Target, ledger: LedgerState, selections: Iterable[Selection]) -> SiteFacts:
    paths = set(ledger.files)
    for selection in selections:
        paths |= selection.paths()
        if selection.entry is not None:
            paths |= files_named(selection.entry.fixes)
    snapshot = read_snapshot(target, paths)
    bases = {path: _base(target, ledger, snapshot, path) for path in paths}
    tops = {name: top_levels(target, found) for name, found in target.distributions.items() if found.record is None}
    return SiteFacts(distributions=target.distributions, snapshot=snapshot, ledger=ledger, bases=bases, tops=tops)


def _base(target: Target, ledger: LedgerState, snapshot: Snapshot, path: str) -> Base:
    if path in snapshot.problems:
        return Base(kind=BaseKind.FOREIGN, data=None, reason=snapshot.problems[path])
    live, fact = snapshot.files.get(path), ledger.files.get(path)
    digest = live.sha256 if live is not None else None
    if fact is None:
        return Base(kind=BaseKind.LIVE, data=live.data if live is not None else None)
    distribution = target.distributions.get(fact.distribution)
    recorded = None
    if digest == fact.result and fact.base is not None and digest != fact.base:
        try:
            recorded = read_object(target.site, fact.base)
        except LedgerError:
            recorded = None  # a damaged original is no original: the file counts as foreign
    return base_of(
        live=live.data if live is not None else None,
        live_sha256=digest,
        fact=fact,
        recorded_base=recorded,
        fingerprint=distribution.fingerprint if distribution is not None else None,
        listed_sha256=listed_sha256(distribution, path) if distribution is not None else None,
    )


def _judge_fixes(entries: Iterable[Patch], target: Target, site: SiteFacts) -> dict[str, tuple[FixFinding, ...]]:
    """Judge every fix on base bytes; search the distribution only for what is gone from its file."""
    files = {path: base.data for path, base in site.bases.items()}
    unreadable = {path for path, base in site.bases.items() if base.kind is BaseKind.FOREIGN}
    entries = [entry for entry in entries if any(fix.distribution in target.distributions for fix in entry.fixes)]
    elsewhere = _search(entries, target, files, unreadable)
    return {
        entry.id: judge_fixes(
            entry.fixes,
            files=files,
            claimed=lambda fix: _claimed(fix, target),
            search=search_within,
            elsewhere=elsewhere,
            unreadable=unreadable,
        )
        for entry in entries
    }


def _claimed(fix: Fix, target: Target) -> bool:
    distribution = target.distributions.get(fix.distribution)
    return distribution is not None and claims(fix.claimed, parse_build(distribution.build))


def _search(
    entries: Iterable[Patch], target: Target, files: Mapping[str, bytes | None], unreadable: set[str]
) -> dict[str, tuple[str, ...]]:
    """Where the distribution has what evidence did not find in its place: name of a symbol or file -> paths.

    Where the version claims the fix, somebody may believe that it is in: the whole distribution is read. Where it does
    not, the neighbours of the file are, since reading every file would be most of what a status costs.
    """
    found: dict[str, tuple[str, ...]] = {}
    for name, distribution in target.distributions.items():
        fixes = [fix for entry in entries for fix in entry.fixes if fix.distribution == name]
        for claimed in (False, True):
            wanted = sought((fix for fix in fixes if _claimed(fix, target) is claimed), files, unreadable=unreadable)
            if wanted:
                words = {item.name for item in wanted if item.symbol is not None}
                basenames = {item.name for item in wanted if item.symbol is None}
                near = None if claimed else {item.file.rpartition("/")[0] for item in wanted}
                found |= search_names(target, distribution, words, basenames, directories=near)
    return found


def _warnings(target: Target) -> tuple[Problem, ...]:
    warnings = []
    for name, found in target.distributions.items():
        if found.record is None:
            message = f"{name} has no RECORD: nothing tells which of its files are pristine"
            warnings.append(Problem(code="no-record", message=message))
        if found.source_build is not None and found.source_build != found.build:
            message = f"{name}: METADATA says {found.build}, its own _version.py says {found.source_build}"
            warnings.append(Problem(code="version-disagrees", message=message))
    for other in target.passed_over:
        message = f"another site directory holds it too and was not taken: {other}"
        warnings.append(Problem(code="passed-over", message=message, hint=f"patchctl status --site {other}"))
    return tuple(warnings)
