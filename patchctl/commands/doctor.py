"""``doctor``: one page on an environment, each finding with a remedy; ``--clean`` and ``--gc`` tidy up."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from patchctl.commands.diagnosis import Diagnosis, Finding, SiteView
from patchctl.commands.examine_install import (
    installed,
    of_distributions,
    of_environment,
    of_ground,
    of_leftovers,
    of_patched_files,
    of_settings,
)
from patchctl.commands.examine_state import (
    State,
    lock_words,
    of_litter,
    of_orphans,
    of_permissions,
    of_store,
    read_state,
)
from patchctl.commands.leftovers import Cleaned, carry_out_cleaning, plan_cleaning
from patchctl.commands.place import Clock, Place
from patchctl.commands.recording import Recorder
from patchctl.commands.report import Change, Report
from patchctl.commands.scene import open_registry
from patchctl.commands.selection import select
from patchctl.errors import Outcome, PatchctlError, Problem, TargetError
from patchctl.model import Target
from patchctl.registry import Registry
from patchctl.target.catalogue import Shelf, list_distributions
from patchctl.target.finding import find_environment
from patchctl.target.ground import Ground, ground_of, umask
from patchctl.target.kinds import kind_of
from patchctl.target.layout import Environment
from patchctl.target.oracle import prefix_of
from patchctl.transaction import refuse_untrusted

_SETTINGS = ("PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE")


class _Room(NamedTuple):
    """One site with what was read of it."""

    site: str
    shelves: tuple[Shelf, ...]
    state: State
    ground: Ground
    paths: frozenset[str]
    concerned: frozenset[str]
    target: Target

    @property
    def directories(self) -> tuple[str, ...]:
        """Where temporary files may lie: the packages that patches change, and the site itself."""
        return ("", *sorted({path.partition("/")[0] for path in self.paths if "/" in path}))


def doctor(
    place: Place,
    clock: Clock,
    *,
    gc: bool = False,
    clean: bool = False,
    listed: bool = False,
    dry_run: bool = False,
    wait: float = 0.0,
) -> Report:
    """Look at an environment, and say what a person should do about it.

    Args:
        place: where.
        clock: when.
        gc: drop stored objects and diffs that nothing names.
        clean: remove leftovers of our own: added files whose distribution is gone, temporary files.
        listed: show every distribution.
        dry_run: with ``gc`` or ``clean``: say what would go.
        wait: seconds to wait for another patchctl.

    Raises:
        PatchctlError: no environment; or with ``gc`` or ``clean``: busy, unfinished, or rolled back.
    """
    environment = find_environment(site=place.site, python=place.python, environ=place.environ, named_by=place.origin)
    registry, problems = _registry(place)
    cleaned = []
    if gc or clean:
        # All of them before the first is written to.
        for site in environment.sites:
            refuse_untrusted(site)
        for site in environment.sites:
            room = _room(site, environment, registry)
            planned = plan_cleaning(site, room.state, room.directories, clean=clean, collect=gc)
            if planned.anything and not dry_run:
                given = (("--clean", clean), ("--gc", gc))
                decisions = tuple(option for option, is_given in given if is_given)
                planned = carry_out_cleaning(
                    site,
                    room.directories,
                    clean=clean,
                    collect=gc,
                    wait=wait,
                    pycache_prefix=place.pycache_prefix,
                    recorder=Recorder(site, "doctor", place, clock, decisions=decisions),
                )
            cleaned.append(planned)
    rooms = [_room(site, environment, registry) for site in environment.sites]
    return _report(place, environment, rooms, cleaned, problems, listed=listed, dry_run=dry_run)


def _registry(place: Place) -> tuple[Registry | None, tuple[Problem, ...]]:
    """A registry that cannot be read keeps nobody from looking at the environment."""
    try:
        return open_registry(place), ()
    except PatchctlError as error:
        return None, (error.problem,)


def _room(site: str, environment: Environment, registry: Registry | None) -> _Room:
    shelves, state = list_distributions(site), read_state(site)
    try:
        ground = ground_of(site)
    except OSError as error:
        raise TargetError("unreadable-site", f"{site} cannot be looked at: {error.strerror}") from None
    known = {shelf.name: shelf.distribution for shelf in shelves if shelf.distribution is not None}
    target = Target(site=site, python=environment.python, origin=environment.origin, distributions=known)
    recorded = {fact.distribution for fact in state.ledger.files.values()}
    recorded |= {diff.distribution for receipt in state.ledger.receipts for diff in receipt.diffs}
    named, paths = set(recorded), set(state.ledger.files)
    for entry in registry.entries if registry is not None else ():
        if set(entry.distributions) & set(known):
            named |= set(entry.distributions)
            if registry is not None:
                paths |= select(registry, entry, target, state.ledger, None, stores=(site,)).paths()
    return _Room(site, shelves, state, ground, frozenset(paths), frozenset(named), target)


def _report(
    place: Place,
    environment: Environment,
    rooms: Collection[_Room],
    cleaned: Collection[Cleaned],
    problems: tuple[Problem, ...],
    *,
    listed: bool,
    dry_run: bool,
) -> Report:
    settings = _settings(place.environ)
    findings = [*of_environment(environment, umask()), *of_settings(settings)]
    views = []
    for room in rooms:
        view, found = _site(room)
        views.append(view)
        findings += found
    diagnosis = Diagnosis(
        kind=kind_of(environment),
        root=environment.root or prefix_of(environment.sites[0]),
        python=environment.python,
        sites=tuple(views),
        settings=settings,
        findings=tuple(sorted(findings, key=lambda finding: not finding.needed)),
        freed=tuple(path for it in cleaned for path in it.dropped.paths),
        freed_bytes=sum(it.dropped.size for it in cleaned),
        removed=tuple(path for it in cleaned for path in (*(edit.path for edit in it.edits), *it.litter)),
        listed=listed,
    )
    return Report(
        command="doctor",
        outcome=Outcome.ATTENTION if any(finding.needed for finding in findings) else Outcome.OK,
        target=_target(environment, rooms),
        change=_change(cleaned, dry_run=dry_run),
        diagnosis=diagnosis,
        notes=tuple(note for it in cleaned for note in it.notes),
        warnings=(
            *problems,
            *(Problem(code="recovered", message=note) for it in cleaned for note in it.recovered),
            *(it.unrecorded for it in cleaned if it.unrecorded is not None),
        ),
    )


def _settings(environ: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((name, environ[name]) for name in _SETTINGS if environ.get(name))


def _site(room: _Room) -> tuple[SiteView, list[Finding]]:
    site, state = room.site, room.state
    found = installed(site, room.shelves, room.concerned)
    lock, stale = lock_words(site)
    findings = [
        *state.findings,
        *of_distributions(site, room.shelves, found),
        *of_leftovers(site),
        *of_ground(site, room.ground, has_state=state.exists),
        *of_patched_files(room.target, room.ground, room.paths),
        *of_permissions(site, room.ground, state),
        *of_orphans(site, state, room.shelves),
        *of_litter(site, state, room.directories),
        *of_store(site, state),
        *stale,
    ]
    view = SiteView(
        path=site,
        file_system=room.ground.file_system,
        read_only=room.ground.read_only,
        state=state.words,
        applied=tuple(receipt.id for receipt in state.ledger.receipts if receipt.set_aside is None),
        lock=lock,
        distributions=found,
    )
    return view, findings


def _target(environment: Environment, rooms: Collection[_Room]) -> Target:
    """The site that is named first in the answer, with the distributions that the registry or the ledger speaks of."""
    first = next((room for room in rooms if room.concerned), next(iter(rooms)))
    known = {it.name: it.distribution for it in first.shelves if it.distribution and it.name in first.concerned}
    return Target(site=first.site, python=environment.python, origin=environment.origin, distributions=known)


def _change(cleaned: Collection[Cleaned], *, dry_run: bool) -> Change | None:
    if not any(it.anything for it in cleaned):
        return None
    ids = [it.transaction for it in cleaned if it.transaction is not None]
    return Change(
        state="planned" if dry_run else "committed",
        id=ids[0] if ids else None,
        reverted=tuple(id_ for it in cleaned for id_ in it.receipts),
        edits=tuple(edit for it in cleaned for edit in it.edits),
    )
