"""Gather everything a command judges: registry, environment, ledger, files; then judge it.

One reading order, so that a reader never mixes two states: journal, ledger, files, and ledger and journal again. If
they changed meanwhile, another patchctl is at work and the reading starts over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from patchctl.commands.cases import cases_of
from patchctl.commands.place import Place
from patchctl.commands.proofs import judge_all_fixes
from patchctl.commands.selection import NOTHING, Parsed, Selection, select
from patchctl.commands.warnings import entry_warnings, target_warnings
from patchctl.errors import LedgerError, PatchctlError, Problem, TargetError
from patchctl.evidence import files_named
from patchctl.ledger import read_ledger, read_object
from patchctl.model import FileFact, LedgerState, LiveFile, Snapshot, Target, listed_sha256
from patchctl.registry import Registry, bundled_registry, load_registry
from patchctl.target import find_target, path_below, read_snapshot, site_directories, top_levels
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


class Aside(NamedTuple):
    """Entries that are left aside, because they are known not to concern this environment.

    Attributes:
        ids: of the entries.
        distributions: normalised names that the whole registry speaks of, theirs included.
    """

    ids: frozenset[str] = frozenset()
    distributions: frozenset[str] = frozenset()


_NOBODY = Aside()


def open_registry(place: Place, *, but: Collection[str] = ()) -> Registry:
    """Load the registries that ``place`` names, or the bundled one, without the entries ``but``.

    Raises:
        RegistryError: a registry cannot be read at all.
    """
    return load_registry(registry_folders(place), but=but)


def registry_folders(place: Place) -> tuple[str, ...]:
    """Return the folders that ``place`` names, or the bundled one."""
    return place.registries or (bundled_registry(),)


def gather(
    place: Place,
    *,
    assumed: Mapping[str, str] | None = None,
    known: Parsed = NOTHING,
    aside: Aside = _NOBODY,
    files: Sequence[str] = (),
) -> Scene:
    """Read registry, environment and ledger, and judge every entry.

    Args:
        place: where.
        assumed: entry -> build string that the operator gives for its distributions.
        known: what was parsed in this process before; all bytes are read and hashed anew.
        aside: entries to leave out; for a reader alone.
        files: further files to read: POSIX relative to the site, or absolute below it.

    Raises:
        PatchctlError: no answer is possible: no environment, unreadable registry or ledger.
    """
    open_site = unfinished_site(place)
    if open_site is not None:
        return _unfinished(*open_site)
    registry = open_registry(place, but=aside.ids)
    try:
        target = target_of(place, {*registry.distributions, *aside.distributions})
    except TargetError as error:
        error.others = registry.problems
        raise
    for _ in range(_ATTEMPTS):
        ledger = read_ledger(target.site)
        scene = _judge(registry, target, ledger, assumed or {}, known, files)
        after = journal_state(target.site)
        if after is not None:
            return _unfinished(target, after)
        if read_ledger(target.site).sha256 == ledger.sha256:
            return scene
    raise PatchctlError(
        "changing", f"the files below {target.site} keep changing while they are read", hint="run it again in a moment"
    )


def target_of(place: Place, names: set[str]) -> Target:
    """Find the environment that holds the distribution asked for, or any that the registry or its ledger names."""
    wanted = {place.distribution} if place.distribution is not None else names
    found = find_target(
        site=place.site,
        python=place.python,
        environ=place.environ,
        names=wanted,
        named_by=place.origin,
        also=recorded_distributions,
    )
    if place.distribution is not None and place.distribution in found.unusable:
        problem = found.unusable[place.distribution]
        raise TargetError(problem.code, problem.message, hint=problem.hint, path=problem.path)
    known = {*found.distributions, *recorded_distributions(found.site)}
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
        site=found.site, python=None, environ=place.environ, names=wanted | names, also=recorded_distributions
    )
    return found._replace(distributions=wider.distributions, unusable=wider.unusable)


def recorded_distributions(site: str) -> tuple[str, ...]:
    """Return what was applied in a site (absolute): it is asked for there, whatever the registry says today."""
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
    registry: Registry,
    target: Target,
    ledger: LedgerState,
    assumed: Mapping[str, str],
    known: Parsed,
    files: Sequence[str],
) -> Scene:
    ids = {entry.id for entry in registry.entries}
    selections = [
        select(registry, entry, target, ledger, assumed.get(entry.id), known=known) for entry in registry.entries
    ]
    orphans = [receipt for receipt in ledger.receipts if receipt.id not in ids]
    selections += [select(registry, None, target, ledger, None, receipt=receipt, known=known) for receipt in orphans]
    site = _site_facts(target, ledger, selections, files)
    fixes, plain = judge_all_fixes(registry.entries, target, site, selections)
    cases = cases_of(selections, site, fixes)
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
