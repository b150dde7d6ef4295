"""Gather everything a command judges: registry, environment, ledger, files; then judge it.

One reading order, so that a reader never mixes two states: journal, ledger, files, and ledger and journal again. If
they changed meanwhile, another patchctl is at work and the reading starts over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from patchctl.build import claims, parse_build
from patchctl.commands.candidates import Selection, candidate_of, select
from patchctl.commands.place import Place
from patchctl.commands.warnings import entry_warnings, target_warnings
from patchctl.errors import LedgerError, PatchctlError, Problem, TargetError
from patchctl.evidence import FixFinding, files_named, judge_fixes, sought
from patchctl.ledger import read_ledger, read_object
from patchctl.model import FileFact, Fix, LedgerState, LiveFile, Snapshot, Target, listed_sha256, pristine, sha256_hex
from patchctl.patch import Patch
from patchctl.processes import search_within
from patchctl.registry import Registry, bundled_registry, load_registry
from patchctl.target import find_target, path_below, read_snapshot, search_names, site_directories, top_levels
from patchctl.transaction import JournalState, journal_state
from patchctl.verdict import Assessment, Base, BaseKind, SiteFacts, assess, base_of, taken_out

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


def gather(place: Place, *, assumed: Mapping[str, str] | None = None, files: Sequence[str] = ()) -> Scene:
    """Read registry, environment and ledger, and judge every entry.

    Args:
        place: where.
        assumed: entry -> build string that the operator gives for its distributions.
        files: further files to read: POSIX relative to the site, or absolute below it.

    Raises:
        PatchctlError: no answer is possible: no environment, unreadable registry or ledger.
    """
    open_site = unfinished_site(place)
    if open_site is not None:
        return _unfinished(*open_site)
    registry = open_registry(place)
    try:
        target = _find(place, {name for entry in registry.entries for name in entry.distributions})
    except TargetError as error:
        error.others = registry.problems
        raise
    for _ in range(_ATTEMPTS):
        ledger = read_ledger(target.site)
        scene = _judge(registry, target, ledger, assumed or {}, files)
        after = journal_state(target.site)
        if after is not None:
            return _unfinished(target, after)
        if read_ledger(target.site).sha256 == ledger.sha256:
            return scene
    raise PatchctlError(
        "changing", f"the files below {target.site} keep changing while they are read", hint="run it again in a moment"
    )


def _find(place: Place, names: set[str]) -> Target:
    """Find the environment that holds the distribution asked for, or any that the registry or its ledger names."""
    wanted = {place.distribution} if place.distribution is not None else names
    found = find_target(
        site=place.site,
        python=place.python,
        environ=place.environ,
        names=wanted,
        named_by=place.origin,
        also=_recorded_distributions,
    )
    known = {*found.distributions, *_recorded_distributions(found.site)}
    if place.distribution is not None and place.distribution not in known:
        raise TargetError(
            "no-distribution",
            f"{place.distribution} is not installed in {found.site}",
            hint="look at the spelling, or name another environment with --site or --python",
        )
    if wanted >= names:
        return found
    # The same site, with everything that the registry speaks of.
    wider = find_target(
        site=found.site, python=None, environ=place.environ, names=wanted | names, also=_recorded_distributions
    )
    return found._replace(distributions=wider.distributions)


def _recorded_distributions(site: str) -> tuple[str, ...]:
    """What was applied in a site is asked for there, whatever the registry says today."""
    try:
        receipts = read_ledger(site).receipts
    except PatchctlError:
        return ()  # if the site is chosen, the ledger is read again and the error is the answer
    return tuple(diff.distribution for receipt in receipts for diff in receipt.diffs)


def unfinished_site(place: Place) -> tuple[Target, JournalState] | None:
    """Return the site with an unfinished transaction, if there is one where ``place`` leads.

    It is looked for before anything else: neither a broken registry nor a distribution that is gone may keep it from
    being seen and settled.
    """
    try:
        sites = site_directories(site=place.site, python=place.python, environ=place.environ, named_by=place.origin)
    except TargetError:
        return None  # said by whoever needs the environment
    for target in sites:
        journal = journal_state(target.site)
        if journal is not None:
            return target, journal
    return None


def _unfinished(target: Target, journal: JournalState) -> Scene:
    empty = SiteFacts(distributions={}, snapshot=Snapshot(files={}), ledger=LedgerState(), bases={})
    return Scene(
        registry=Registry(roots=(), entries=()),
        target=target,
        site=empty,
        assessments=(),
        journal=journal,
        unknown=(),
        errors=(),
        warnings=(),
    )


def _judge(
    registry: Registry, target: Target, ledger: LedgerState, assumed: Mapping[str, str], files: Sequence[str]
) -> Scene:
    known = {entry.id for entry in registry.entries}
    selections = [select(registry, entry, target, ledger, assumed.get(entry.id)) for entry in registry.entries]
    orphans = [receipt for receipt in ledger.receipts if receipt.id not in known]
    selections += [select(registry, None, target, ledger, None, receipt=receipt) for receipt in orphans]
    site = _site_facts(target, ledger, selections, files)
    fixes = _judge_fixes(registry.entries, target, site, selections)
    candidates = []
    for selection in selections:
        candidate = candidate_of(selection, site, fixes.get(selection.id, ()), selections)
        if candidate is not None:
            candidates.append(candidate)
    position = {receipt.id: number for number, receipt in enumerate(ledger.receipts)}
    candidates.sort(key=lambda candidate: position.get(candidate.id, len(position)))
    broken = [problem for selection in selections for problem in selection.problems]
    assessments = assess(candidates, site)
    return Scene(
        registry=registry,
        target=target,
        site=site,
        assessments=assessments,
        journal=None,
        unknown=tuple(selection.id for selection in selections if selection.unknown),
        errors=(*registry.problems, *broken),
        warnings=(*target_warnings(target), *entry_warnings(assessments, ledger)),
    )


def _site_facts(
    target: Target, ledger: LedgerState, selections: Iterable[Selection], files: Sequence[str]
) -> SiteFacts:
    paths = {*ledger.files, *(path_below(target.site, file) for file in files)}
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
    distribution = target.distributions.get(fact.distribution) if fact is not None else None
    return base_of(
        live=live.data if live is not None else None,
        live_sha256=live.sha256 if live is not None else None,
        live_mode=live.meta.mode if live is not None else 0o644,
        fact=fact,
        recorded_base=_recorded_base(target, fact, live) if fact is not None else None,
        fingerprint=distribution.fingerprint if distribution is not None else None,
        listed_sha256=listed_sha256(distribution, path) if distribution is not None else None,
    )


def _recorded_base(target: Target, fact: FileFact, live: LiveFile | None) -> bytes | None:
    """The original below our result; a damaged one is none, and then the file counts as foreign."""
    if fact.base is None or fact.result != (live.sha256 if live is not None else None):
        return None
    if live is not None and fact.base == fact.result:
        return live.data
    try:
        return read_object(target.site, fact.base)
    except LedgerError:
        return None


def _judge_fixes(
    entries: Iterable[Patch], target: Target, site: SiteFacts, selections: Sequence[Selection]
) -> dict[str, tuple[FixFinding, ...]]:
    """Judge every fix on base bytes; search the distribution only for what is gone from its file."""
    files = _evidence_files(site, selections)
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


def _evidence_files(site: SiteFacts, selections: Sequence[Selection]) -> dict[str, bytes | None]:
    """The bytes on which evidence is judged: the base, without what our own diffs may have put there.

    Where the base is as RECORD lists it, that is the base itself. Otherwise it may hold changes that nobody recorded,
    or whose record was lost before the base was taken.
    """
    ours = [
        file
        for selection in selections
        for diff in selection.all()
        for file in diff.files
        if not _is_as_listed(site, diff.distribution, file.path)
    ]
    bare = taken_out(ours, site.base_content)
    contents = {path: bare.get(path, base.content) for path, base in site.bases.items()}
    return {path: None if content is None else content.data for path, content in contents.items()}


def _is_as_listed(site: SiteFacts, name: str, path: str) -> bool:
    distribution, data = site.distributions.get(name), site.bases[path].data
    return distribution is not None and data is not None and pristine(distribution, path, sha256_hex(data)) is True


def _claimed(fix: Fix, target: Target) -> bool:
    distribution = target.distributions.get(fix.distribution)
    return distribution is not None and claims(fix.claimed, parse_build(distribution.build))


def _search(
    entries: Iterable[Patch], target: Target, files: Mapping[str, bytes | None], unreadable: set[str]
) -> dict[str, tuple[str, ...]]:
    """Where the distribution has what evidence did not find in its place: name of a symbol or file -> paths.

    Where the version claims the fix, somebody may believe that it is in: the whole distribution is read. Where it does
    not, only the neighbours of a file that is there are, since reading files would be most of what a status costs.
    """
    found: dict[str, tuple[str, ...]] = {}
    for name, distribution in target.distributions.items():
        fixes = [fix for entry in entries for fix in entry.fixes if fix.distribution == name]
        for claimed in (False, True):
            wanted = sought((fix for fix in fixes if _claimed(fix, target) is claimed), files, unreadable=unreadable)
            gone = {item.file for item in wanted if files.get(item.file) is None}
            words = {item.name for item in wanted if item.symbol and (claimed or item.file not in gone)}
            basenames = {path.rpartition("/")[2] for path in gone}
            near = None if claimed else {item.file.rpartition("/")[0] for item in wanted}
            if words or basenames:
                found |= search_names(target, distribution, words, basenames, directories=near)
    return found
