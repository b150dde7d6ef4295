"""``doctor --clean`` and ``doctor --gc``: take away what outlived its purpose. Under the lock, and nothing else's.

Added files and the ledger go in one transaction. Temporary files and stored objects that nobody names are removed
without a journal: what is cut off is done by the next run.
"""

from __future__ import annotations

from typing import NamedTuple

from patchctl.commands.change import recovery_notes
from patchctl.commands.examine_state import Orphan, State, find_orphans, gone_receipts, read_state
from patchctl.commands.recording import Recorder, forgotten
from patchctl.errors import PatchctlError, Problem, TransactionError
from patchctl.ledger import LEDGER_PATH, encode_ledger, read_ledger, read_ledger_bytes
from patchctl.ledger.named import named_hashes
from patchctl.model import EditKind, FileEdit, LedgerState
from patchctl.target.catalogue import list_distributions
from patchctl.transaction import Commit, Dropped, LockedSite, find_litter, find_unnamed, locked


class Cleaned(NamedTuple):
    """What was taken away in one site, or would be.

    Attributes:
        edits: of the added files that went, the ledger's not among them.
        litter: temporary files.
        receipts: ids that were forgotten.
        dropped: objects and diffs.
        transaction: its id; None: there was none.
        notes: sentences for the operator.
        unrecorded: why the history does not have it; None: it has.
        recovered: what was found unfinished and settled on the way, in sentences.
    """

    edits: tuple[FileEdit, ...] = ()
    litter: tuple[str, ...] = ()
    receipts: tuple[str, ...] = ()
    dropped: Dropped = Dropped()
    transaction: str | None = None
    notes: tuple[str, ...] = ()
    unrecorded: Problem | None = None
    recovered: tuple[str, ...] = ()

    @property
    def anything(self) -> bool:
        """Whether there is anything to take away."""
        return bool(self.edits or self.litter or self.receipts or self.dropped.paths)


def plan_cleaning(site: str, state: State, directories: tuple[str, ...], *, clean: bool, collect: bool) -> Cleaned:
    """Return what would be taken away in ``site``; nothing is written.

    Args:
        site: absolute.
        state: what is recorded there.
        directories: where temporary files may lie.
        clean: leftovers.
        collect: objects and diffs that nothing names; after ``clean``, those that the forgotten receipts named too.

    Raises:
        TransactionError: a transaction is open: settle it first.
        PatchctlError: the ledger cannot be read, so nobody knows what it names.
    """
    if state.journal:
        message = f"an unfinished transaction is there in {site}: it comes first"
        raise TransactionError("unfinished-transaction", message, hint="patchctl recover")
    if not state.readable:
        raise PatchctlError("unreadable-ledger", f"{state.words}; nothing is removed as long as it cannot be read")
    ledger, planned = state.ledger, Cleaned()
    if clean:
        shelves = list_distributions(site)
        orphans = find_orphans(site, ledger, shelves)
        # As long as an edited file stays, so does the record of whose it was.
        staying = {id_ for orphan in orphans if not orphan.ours for id_ in orphan.fact.entries}
        gone = tuple(id_ for id_ in gone_receipts(site, ledger, shelves) if id_ not in staying)
        edits = tuple(_deletion(orphan) for orphan in orphans if orphan.ours)
        planned = Cleaned(edits=edits, receipts=gone, litter=find_litter(site, directories))
        ledger = _without(ledger, gone)
    if collect:
        planned = planned._replace(dropped=find_unnamed(site, named_hashes(site, ledger)))
    return planned


def carry_out_cleaning(
    site: str,
    directories: tuple[str, ...],
    *,
    clean: bool,
    collect: bool,
    wait: float,
    pycache_prefix: str | None,
    recorder: Recorder,
) -> Cleaned:
    """Take away what :func:`plan_cleaning` finds, looked for anew under the lock; ``recorder`` keeps what was done.

    Raises:
        PatchctlError: as there; busy; or the transaction failed and was rolled back.
    """
    with locked(site, wait=wait, pycache_prefix=pycache_prefix) as held:
        recovered = recovery_notes(held.recovered)
        if held.recovered is not None:
            recorder.recovered(held, held.recovered)
        planned = plan_cleaning(site, read_state(site), directories, clean=clean, collect=False)
        if planned.edits or planned.receipts:
            commit, trouble = _forget(held, site, planned, recorder)
            planned = planned._replace(transaction=commit.id, notes=commit.notes, unrecorded=trouble)
        litter = held.drop_litter(planned.litter)
        dropped = held.drop_unnamed(named_hashes(site, read_ledger(site))) if collect else Dropped()
    return planned._replace(litter=litter, dropped=dropped, recovered=recovered)


def _deletion(orphan: Orphan) -> FileEdit:
    """Its directories go with it where that leaves them empty: pip removes none that held a file it does not know."""
    parts = orphan.path.split("/")[:-1]
    above = tuple("/".join(parts[:depth]) for depth in range(len(parts), 0, -1))
    return FileEdit(path=orphan.path, kind=EditKind.DELETE, before=orphan.data, after=None, prune=above)


def _without(ledger: LedgerState, gone: tuple[str, ...]) -> LedgerState:
    """The ledger without receipts, and without the facts of files that no other receipt has a part in."""
    kept = {path: fact for path, fact in ledger.files.items() if not fact.entries or set(fact.entries) - set(gone)}
    receipts = tuple(receipt for receipt in ledger.receipts if receipt.id not in gone)
    return ledger._replace(receipts=receipts, files=kept)


def _forget(held: LockedSite, site: str, planned: Cleaned, recorder: Recorder) -> tuple[Commit, Problem | None]:
    ledger = read_ledger(site)
    before, state = read_ledger_bytes(site), _without(ledger, planned.receipts)
    after = encode_ledger(state)
    if before == after:
        # The ledger's new hash is the commit point, so it must be another one.
        after = encode_ledger(state._replace(last_second=state.last_second + 1))
    kind = EditKind.ADD if before is None else EditKind.MODIFY
    edit = FileEdit(path=LEDGER_PATH, kind=kind, before=before, after=after)
    gone = [receipt for receipt in ledger.receipts if receipt.id in planned.receipts]
    return recorder.run(held, [*planned.edits, edit], planned.edits, forgotten(gone))
