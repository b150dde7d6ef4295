"""What the history keeps of a transaction: who, when, what, and how it ended.

The record of a transaction is one more edit of it, the last before the ledger's: it is there when the transaction is
committed, and gone when it is rolled back. What was rolled back or settled later is recorded afterwards, as far as
that is possible: a history that cannot be written keeps nobody from working.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from patchctl.commands.author import author
from patchctl.commands.draft import Draft
from patchctl.commands.judging import Scene
from patchctl.commands.place import Clock, Place
from patchctl.errors import InterruptedByError, Problem, TransactionError
from patchctl.ledger import encode_record, next_record_path
from patchctl.model import EditKind, FileEdit, Receipt, sha256_hex
from patchctl.model.history import HistoryEntry, HistoryFile, HistoryRecord, HistoryRegistry
from patchctl.processes import read_moment
from patchctl.registry import RegistryRoot
from patchctl.transaction import Commit, LockedSite, Recovery, new_transaction_id
from patchctl.verdict import builds_words

_ID_DIGITS = 32


class Recorder:
    """Records what one command does to one site."""

    def __init__(
        self,
        site: str,
        command: str,
        place: Place,
        clock: Clock,
        named: Sequence[str] = (),
        decisions: Sequence[str] = (),
    ) -> None:
        self.site, self.command, self.place, self.clock = site, command, place, clock
        self.named, self.decisions = tuple(named), tuple(decisions)

    def with_record(self, scene: Scene, draft: Draft) -> tuple[tuple[FileEdit, ...], HistoryRecord, Problem | None]:
        """Return a draft's edits with the record before the ledger's, the record, and why it is not among them."""
        registries = tuple(self._registry(root) for root in scene.registry.roots)
        return self._with_record(draft.edits, _entries(scene, draft), draft.change.edits, registries)

    def run(
        self, held: LockedSite, edits: Sequence[FileEdit], files: Sequence[FileEdit], entries: Sequence[HistoryEntry]
    ) -> tuple[Commit, Problem | None]:
        """Run a transaction that no draft is behind, with its record.

        Args:
            held: the locked site.
            edits: the ledger's last.
            files: those of them that are about files of the site.
            entries: what becomes of entries.

        Returns:
            The commit, and why it is not recorded, where it is not.

        Raises:
            TransactionError: rolled back, which is recorded then; InterruptedByError: the same.
        """
        all_edits, record, trouble = self._with_record(edits, tuple(entries), files)
        try:
            commit = held.run(all_edits, transaction=record.transaction)
        except (TransactionError, InterruptedByError) as error:
            self.rolled_back(held, record, error.problem.message)
            raise
        return commit, None if trouble is None else trouble._replace(code="not-recorded")

    def _with_record(
        self,
        edits: Sequence[FileEdit],
        entries: tuple[HistoryEntry, ...],
        files: Sequence[FileEdit],
        registries: tuple[HistoryRegistry, ...] = (),
    ) -> tuple[tuple[FileEdit, ...], HistoryRecord, Problem | None]:
        record = self._record(
            self._transaction_id(edits), "committed", entries=entries, files=tuple(_file(edit) for edit in files)
        )._replace(registries=registries)
        path = next_record_path(self.site, record.transaction)
        if isinstance(path, Problem):
            return tuple(edits), record, path
        edit = FileEdit(path=path, kind=EditKind.ADD, before=None, after=encode_record(record))
        return (*edits[:-1], edit, edits[-1]), record, None

    def rolled_back(self, held: LockedSite, record: HistoryRecord, reason: str) -> None:
        """Keep that a transaction did not come about."""
        self._keep(held, record._replace(result="rolled-back", reason=reason))

    def recovered(self, held: LockedSite, recovery: Recovery) -> None:
        """Keep what became of a transaction that was found open."""
        result, reason = ("finished", None) if recovery.committed else ("rolled-back", "it was found unfinished")
        files = tuple(HistoryFile(path=path) for path in recovery.paths)
        self._keep(held, self._record(recovery.transaction, result, files=files, reason=reason))

    def _keep(self, held: LockedSite, record: HistoryRecord) -> None:
        path = next_record_path(self.site, record.transaction)
        if isinstance(path, Problem):
            return
        try:
            held.keep_record(path, encode_record(record))
        except OSError:
            return  # a full disk is often why it was rolled back; the answer of the command says it all the same

    def _record(
        self,
        transaction: str,
        result: str,
        *,
        entries: tuple[HistoryEntry, ...] = (),
        files: tuple[HistoryFile, ...] = (),
        reason: str | None = None,
    ) -> HistoryRecord:
        fixed = self.clock.fixed
        return HistoryRecord(
            transaction=transaction,
            at=self.clock.stamp,
            author=author(self.place.environ),
            host=None if fixed else os.uname().nodename,
            command=self.command,
            result=result,
            named=self.named,
            decisions=self.decisions,
            entries=entries,
            files=files,
            reason=reason,
            moment=None if fixed else read_moment(self.place.proc, self.place.boottime_ns),
        )

    def _registry(self, root: RegistryRoot) -> HistoryRegistry:
        path = None if self.clock.fixed else root.place.path
        return HistoryRegistry(name=root.name, revision=root.revision, path=path)

    def _transaction_id(self, edits: Sequence[FileEdit]) -> str:
        """A random id; with a fixed time one that follows from the change, so that a build can be repeated."""
        if not self.clock.fixed:
            return new_transaction_id()
        facts = "\n".join(
            f"{edit.path} {sha256_hex(edit.before or b'')} {sha256_hex(edit.after or b'')}" for edit in edits
        )
        return sha256_hex(f"{self.clock.stamp}\n{facts}".encode())[:_ID_DIGITS]


def _entries(scene: Scene, draft: Draft) -> tuple[HistoryEntry, ...]:
    before = {receipt.id: receipt for receipt in scene.site.ledger.receipts}
    after = {receipt.id: receipt for receipt in draft.state.receipts}
    change, holds = draft.change, draft.state.holds
    entries = [_moved(id_, "applied", after.get(id_)) for id_ in change.applied]
    entries += [_moved(id_, "adopted", after.get(id_)) for id_ in change.adopted]
    entries += [_moved(id_, "reverted", before.get(id_)) for id_ in change.reverted]
    proofs = {it.id: it for it in draft.state.retirements}
    retired = [_moved(id_, "retired", before.get(id_)) for id_ in change.retired]
    entries += [entry._replace(retirement=proofs.get(entry.id)) for entry in retired]
    entries += [_set_aside(after[id_]) for id_ in change.set_aside]
    entries += [HistoryEntry(id=id_, what="held", reason=holds[id_].reason) for id_ in change.held]
    entries += [HistoryEntry(id=id_, what="unheld") for id_ in change.unheld]
    return tuple(entries)


def _set_aside(receipt: Receipt) -> HistoryEntry:
    entry, mark = _moved(receipt.id, "set-aside", receipt), receipt.set_aside
    if mark is None:
        return entry
    return entry._replace(reason=f"for the upgrade to {builds_words(mark.builds)}; expected: {mark.expected}")


def forgotten(receipts: Sequence[Receipt]) -> tuple[HistoryEntry, ...]:
    """Return what the history says of receipts whose distribution is gone."""
    return tuple(_moved(receipt.id, "forgotten", receipt) for receipt in receipts)


def _moved(id_: str, what: str, receipt: Receipt | None) -> HistoryEntry:
    if receipt is None:
        return HistoryEntry(id=id_, what=what)
    diffs = tuple((diff.distribution, diff.sha256) for diff in receipt.diffs)
    return HistoryEntry(id=id_, what=what, revision=receipt.revision, diffs=diffs)


def _file(edit: FileEdit) -> HistoryFile:
    before, after = (None if data is None else sha256_hex(data) for data in (edit.before, edit.after))
    return HistoryFile(path=edit.path, before=before, after=after)
