"""``verify``: every file of a distribution against RECORD and the ledger. Nothing is written, not even a lock.

What a slimmed image lacks is accepted in ``baseline``; how one distribution is looked at is in ``inspection``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from patchctl.commands.inspection import DistributionCheck, Progress, Subject, Work, inspect, prepare
from patchctl.commands.place import Place
from patchctl.commands.report import Report
from patchctl.commands.scene import Trust, open_registry, recorded_distributions, unfinished_site
from patchctl.commands.warnings import many_missing, stale_baseline
from patchctl.errors import Outcome, PatchctlError, Problem
from patchctl.ledger import read_ledger
from patchctl.model import Target
from patchctl.target import find_target
from patchctl.target.catalogue import list_distributions
from patchctl.target.finding import find_environment
from patchctl.transaction import JournalState, journal_state
from patchctl.verdict.attribution import WRONG, FileState

_ATTEMPTS = 3
_MANY = 20
"""Files; so many are rarely lost one by one."""


class Verification(NamedTuple):
    """The answer of ``verify``.

    Attributes:
        fast: only sizes were compared.
        checks: one for each distribution.
        listed: show every file, not only what is not pristine.
    """

    fast: bool
    checks: tuple[DistributionCheck, ...]
    listed: bool = False


def verify(
    place: Place,
    *,
    fast: bool = False,
    everything: bool = False,
    listed: bool = False,
    progress: Progress = lambda _done, _all: None,
    trust: Trust | None = None,
) -> Report:
    """Say of every file whose bytes it has; nothing is written.

    Args:
        place: where, and which distribution; without one, those that the registry or the ledger speaks of.
        fast: compare sizes alone.
        everything: every distribution of the environment.
        listed: show every file.
        progress: called as bytes are done.
        trust: of a writer that goes on from the answer, as of :func:`patchctl.commands.scene.gather`.

    Raises:
        PatchctlError: no answer is possible.
    """
    unfinished = unfinished_site(place, trust)
    if unfinished is not None:
        return _unfinished(*unfinished)
    target, subjects = _subjects(place, everything=everything)
    if trust is not None:
        # All of them before the first is written to.
        for site in dict.fromkeys((target.site, *(subject.site for subject in subjects))):
            trust(target._replace(site=site))
    checks = _inspected(subjects, fast=fast, progress=progress)
    if isinstance(checks, JournalState):
        return _unfinished(target, checks)
    return report_of(target, Verification(fast=fast, checks=checks, listed=listed))


def _subjects(place: Place, *, everything: bool) -> tuple[Target, tuple[Subject, ...]]:
    if not everything:
        return _named(place)
    found = find_environment(site=place.site, python=place.python, environ=place.environ, named_by=place.origin)
    subjects = [
        Subject(site=site, name=it.name, build=it.build, distribution=it.distribution, reason=it.reason)
        for site in found.sites
        for it in list_distributions(site)
    ]
    known = {it.name: it.distribution for it in reversed(subjects) if it.distribution is not None}
    target = Target(site=found.sites[0], python=found.python, origin=found.origin, distributions=known)
    return target, tuple(subjects)


def _named(place: Place) -> tuple[Target, tuple[Subject, ...]]:
    if place.distribution is not None:
        names = {place.distribution}
    else:
        names = {name for entry in open_registry(place).entries for name in entry.distributions}
    target = find_target(
        site=place.site,
        python=place.python,
        environ=place.environ,
        names=names,
        distribution=place.distribution,
        named_by=place.origin,
        also=recorded_distributions if place.distribution is None else lambda _: (),
    )
    subjects = [
        Subject(site=target.site, name=name, build=found.build, distribution=found)
        for name, found in target.distributions.items()
    ]
    subjects += [
        Subject(site=target.site, name=name, build="", distribution=None, reason=problem.message)
        for name, problem in target.unusable.items()
        if name not in target.distributions
    ]
    return target, tuple(subjects)


def _inspected(
    subjects: Sequence[Subject], *, fast: bool, progress: Progress
) -> tuple[DistributionCheck, ...] | JournalState:
    """Look at everything, again where another patchctl was at work meanwhile; a journal that came up ends it."""
    sites = tuple(dict.fromkeys(subject.site for subject in subjects))
    for _ in range(_ATTEMPTS):
        ledgers = {site: read_ledger(site) for site in sites}
        works = [prepare(subject, ledgers[subject.site]) for subject in subjects]
        checks = _inspect_all(works, fast=fast, progress=progress)
        for site in sites:
            journal = journal_state(site)
            if journal is not None:
                return journal
        if all(read_ledger(site).sha256 == ledgers[site].sha256 for site in sites):
            return checks
    raise PatchctlError("changing", "the files keep changing while they are read", hint="run it again in a moment")


def _inspect_all(works: Sequence[Work], *, fast: bool, progress: Progress) -> tuple[DistributionCheck, ...]:
    total, done = sum(work.size for work in works), 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        progress(done, total)

    return tuple(inspect(work, fast=fast, progress=advance) for work in works)


def report_of(target: Target, verification: Verification) -> Report:
    """Return the report of what was found, with the outcome that it means."""
    outcome = Outcome.OK
    errors: list[Problem] = []
    warnings: list[Problem] = []
    for check in verification.checks:
        if check.of(*WRONG):
            outcome = outcome.worse(Outcome.ATTENTION)
        errors += _unanswered(check)
        if (missing := len(check.of(FileState.MISSING))) >= _MANY:
            warnings.append(many_missing(check.name, missing))
        if check.stale_baseline is not None:
            warnings.append(stale_baseline(check.name, check.stale_baseline))
    if errors:
        outcome = outcome.worse(Outcome.CANNOT_ANSWER)
    return Report(
        command="verify",
        outcome=outcome,
        target=target,
        verification=verification,
        warnings=tuple(warnings),
        errors=tuple(errors),
    )


def _unanswered(check: DistributionCheck) -> list[Problem]:
    if check.oracle is None:
        message = f"{check.name} {check.build} in {check.site} cannot be verified: {check.reason}"
        hint = "reinstall it from a wheel with pip or uv, which leave a RECORD"
        return [Problem(code="cannot-verify", message=message, hint=hint)]
    denied = [file for file in check.files if file.denied]
    if not denied:
        return []
    count = "1 file" if len(denied) == 1 else f"{len(denied)} files"
    message = f"{count} of {check.name} could not be read, the first is {denied[0].path}, which {denied[0].reason}"
    hint = f"run patchctl as the owner of the installation, or reinstall {check.name}"
    return [Problem(code="unreadable-files", message=message, hint=hint)]


def _unfinished(target: Target, journal: JournalState) -> Report:
    message = f"transaction {journal.transaction} is unfinished: nothing can be said of the files until it is settled"
    hint = "patchctl recover settles it, unless another patchctl is at work right now"
    problem = Problem(code="unfinished-transaction", message=message, hint=hint)
    return Report(command="verify", outcome=Outcome.UNFINISHED, target=target, journal=journal, errors=(problem,))
