"""What a command answers: one value for every verb. ``render`` gives it a shape, ``cli`` an exit code."""

from __future__ import annotations

from typing import NamedTuple

from patchctl.errors import Outcome, Problem
from patchctl.model import FileEdit, Target
from patchctl.patch import Patch
from patchctl.registry import RegistryRoot
from patchctl.transaction import JournalState
from patchctl.verdict import Assessment


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
        notes: sentences for the operator, part of the answer.
        warnings: what the operator should know, beside the answer.
        errors: what is wrong.
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
    notes: tuple[str, ...] = ()
    warnings: tuple[Problem, ...] = ()
    errors: tuple[Problem, ...] = ()
