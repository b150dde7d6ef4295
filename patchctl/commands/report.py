"""What a command answers: one value for every verb. ``render`` gives it a shape, ``cli`` an exit code."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from patchctl.errors import Outcome, Problem
from patchctl.model import FileEdit, Target
from patchctl.patch import Patch
from patchctl.registry import RegistryRoot
from patchctl.transaction import JournalState
from patchctl.verdict import Assessment

if TYPE_CHECKING:  # most verbs need none of them
    from patchctl.advice import LaunchAdvice
    from patchctl.caches import Purge
    from patchctl.commands.describe import Publication
    from patchctl.commands.diagnosis import Diagnosis
    from patchctl.commands.hits import Incidence
    from patchctl.commands.lint import LintReport
    from patchctl.commands.lock import LockWritten
    from patchctl.commands.preflight import Prospect
    from patchctl.commands.verify import Verification
    from patchctl.ledger import History
    from patchctl.model.processes import Age, Census, ProcessFact
    from patchctl.pins import Review


class Change(NamedTuple):
    """What a transaction did, or would do, to the environment.

    Attributes:
        state: ``committed``, ``planned`` (a dry run), ``rolled-back``, ``unfinished`` or ``finished`` (recovery only
            had to clean up).
        id: of the transaction; None when it was only planned.
        applied: ids brought in or renewed.
        adopted: ids that were in the files and are recorded now.
        reverted: ids taken out.
        retired: ids taken out because every fix is proven.
        set_aside: ids taken out for an upgrade.
        held: ids whose hold was set.
        unheld: ids whose hold was taken back.
        edits: of the distribution's files, by path; patchctl's own state is not listed.
        paths: the files of a recovered or unfinished transaction, whose edits are not known any more.
    """

    state: str
    id: str | None = None
    applied: tuple[str, ...] = ()
    adopted: tuple[str, ...] = ()
    reverted: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()
    set_aside: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    unheld: tuple[str, ...] = ()
    edits: tuple[FileEdit, ...] = ()
    paths: tuple[str, ...] = ()


class Listing(NamedTuple):
    """The registry as ``list`` and ``show`` give it.

    Attributes:
        roots: the registries.
        entries: in registry order.
        diffs: for ``show``: per variant with a diff its file name and text in bytes.
        detailed: whether the whole entry was asked for.
    """

    roots: tuple[RegistryRoot, ...]
    entries: tuple[Patch, ...]
    diffs: tuple[tuple[str, bytes], ...] = ()
    detailed: bool = False


class ProcessReport(NamedTuple):
    """The processes of the environment, seen from the last change of its files.

    Attributes:
        judged: each process with the age of its code, by pid.
        census: what else the look at them found.
        recorded: some change of the environment is recorded.
        transaction: id of the last change; None: the history does not have it.
        changed: when it was, as the history says (UTC, ISO 8601 with ``Z``); None: it does not say.
        logins: uid -> name in the passwd database.
    """

    judged: tuple[tuple[ProcessFact, Age], ...]
    census: Census
    recorded: bool = False
    transaction: str | None = None
    changed: str | None = None
    logins: Mapping[int, str] = MappingProxyType({})

    def of_age(self, age: Age) -> tuple[ProcessFact, ...]:
        """Return the processes whose code has that age."""
        return tuple(process for process, found in self.judged if found is age)


class Advice(NamedTuple):
    """What ``advise`` says.

    Attributes:
        launches: of every launch that was asked about; of none in particular when there was none.
        chips: what the hardware is called; None: not known.
        chips_from: where that comes from, or why it is not known, as a clause.
    """

    launches: tuple[LaunchAdvice, ...]
    chips: tuple[str, ...] | None
    chips_from: str


class Report(NamedTuple):
    """The answer of one command.

    Attributes:
        command: the verb.
        outcome: how it ended.
        target: the environment; None when none was consulted or found.
        assessments: entries, in registry order.
        named: ids the operator named; empty: all.
        everything: show entries that do not concern this environment too.
        change: what was written or would be.
        journal: an unfinished transaction.
        listing: for ``list`` and ``show``.
        history: for ``history``.
        processes: for ``ps``, and after a change of files.
        caches: with ``--purge-caches``: what became of each.
        notes: sentences for the operator, part of the answer.
        warnings: what the operator should know, beside the answer.
        errors: what is wrong.
        verification: for ``verify``.
        diagnosis: for ``doctor``.
        locking: for ``lock``.
        review: with ``--locked``: the environment as the lock file sees it.
        digest: of the environment, where it was asked for.
        alone: what is to stand alone on standard output: ``digest``, ``lock`` (the file) or ``oneline``; empty: the
            answer whole.
        lint: for ``lint``.
        advice: for ``advise``.
        publication: for ``report``.
        steps: commands to run next, in this order, as a shell reads them.
        prospects: for ``preflight``: every candidate, as they were given.
        hits: for ``hits``.
        given: options with which the operator named environment and registry, for the commands that are said.
    """

    command: str
    outcome: Outcome = Outcome.OK
    target: Target | None = None
    assessments: tuple[Assessment, ...] = ()
    named: tuple[str, ...] = ()
    everything: bool = False
    change: Change | None = None
    journal: JournalState | None = None
    listing: Listing | None = None
    history: History | None = None
    processes: ProcessReport | None = None
    caches: tuple[Purge, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[Problem, ...] = ()
    errors: tuple[Problem, ...] = ()
    verification: Verification | None = None
    diagnosis: Diagnosis | None = None
    locking: LockWritten | None = None
    review: Review | None = None
    digest: str | None = None
    alone: str = ""
    lint: LintReport | None = None
    advice: Advice | None = None
    publication: Publication | None = None
    steps: tuple[str, ...] = ()
    prospects: tuple[Prospect, ...] = ()
    hits: Incidence | None = None
    given: tuple[str, ...] = ()
