"""Gather everything a command judges: registry, environment, ledger, files; then judge it.

One reading order, so that a reader never mixes two states: journal, ledger, files, and ledger and journal again. If
they changed meanwhile, another patchctl is at work and the reading starts over.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from patchctl.commands.judging import Scene, judge
from patchctl.commands.place import Place
from patchctl.commands.selection import NOTHING, Parsed
from patchctl.errors import PatchctlError, TargetError
from patchctl.ledger import read_ledger
from patchctl.model import LedgerState, Snapshot, Target
from patchctl.registry import Registry, bundled_registry, load_registry
from patchctl.target import SiteTree, find_target, refuse_brought_state, site_directories
from patchctl.transaction import JournalState, journal_state
from patchctl.verdict import SiteFacts

_ATTEMPTS = 3

Trust = Callable[[Target], None]
"""Refuses an environment that a writer must not take orders from, before anything recorded there is believed."""


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
    registry = load_registry(registry_folders(place), but=but, owners=place.owners)
    return registry if place.wanted is None else registry.wanting(place.wanted)


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
    trust: Trust | None = None,
) -> Scene:
    """Read registry, environment and ledger, and judge every entry.

    Args:
        place: where.
        assumed: entry -> build string that the operator gives for its distributions.
        known: what was parsed in this process before; all bytes are read and hashed anew.
        aside: entries to leave out; for a reader alone.
        files: further files to read: POSIX relative to the site, or absolute below it.
        trust: for a writer; None: whoever only reads may look at anything.

    Raises:
        PatchctlError: no answer is possible: no environment, unreadable registry or ledger.
    """
    open_site = unfinished_site(place, trust)
    if open_site is not None:
        return _unfinished(*open_site)
    registry = open_registry(place, but=aside.ids)
    try:
        target = target_of(place, {*registry.distributions, *aside.distributions})
    except TargetError as error:
        error.others = registry.problems
        raise
    if trust is not None:
        trust(target)
    for _ in range(_ATTEMPTS):
        ledger = read_ledger(target.site)
        scene = judge(
            registry,
            SiteTree(target),
            ledger,
            stores=(target.site,),
            assumed=assumed or {},
            known=known,
            files=files,
            taking=place.taking,
        )
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


def unfinished_site(place: Place, trust: Trust | None = None) -> tuple[Target, JournalState] | None:
    """Return the site with an unfinished transaction, if there is one where ``place`` leads.

    It is looked for before anything else: neither a broken registry nor a distribution that is gone may keep it from
    being seen and settled. ``trust`` is as of :func:`gather`.

    Raises:
        TargetError: a wheel brought the state of one of the sites.
    """
    try:
        sites = site_directories(site=place.site, python=place.python, environ=place.environ, named_by=place.origin)
    except TargetError:
        return None  # said by whoever needs the environment
    for target in sites:
        try:
            refuse_brought_state(target.site)
            journal = journal_state(target.site)
        except PatchctlError:
            if trust is not None:
                trust(target)
            raise
        if journal is not None:
            if trust is not None:
                trust(target)
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
