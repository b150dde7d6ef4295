"""The sequence of a transaction, from refusing early to the ledger that commits it.

    look at everything -> objects -> journal -> per edit: temp file, undo -> journal says replacing begins
    -> per edit: look again, replace -> directories to the disk -> byte code -> ledger (commit) -> clean up

What leads back from a failure is in ``settle``.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from typing import NamedTuple

from patchctl.errors import PatchctlError, TransactionError
from patchctl.model.files import FileEdit
from patchctl.transaction.bytecode import purge
from patchctl.transaction.journal import Journal, Stage, encode_journal
from patchctl.transaction.names import JOURNAL, is_state, new_transaction_id, undo_path
from patchctl.transaction.opening import OpenSite, put_state_file, write_layout
from patchctl.transaction.preflight import inspect
from patchctl.transaction.settle import finish, settle
from patchctl.transaction.signals import Interruption
from patchctl.transaction.swap import keep_undo, make_directories, put_in_place, store_object, sync_names, write_temp


class Commit(NamedTuple):
    """A transaction that is done.

    Attributes:
        id: of the transaction.
        paths: the files of the site that were written or removed, in this order; patchctl's own state not among them.
        created: directories that were made for them, relative to the site.
        notes: sentences about what could not be cleaned up, or about byte code that was left; never a failure.
    """

    id: str
    paths: tuple[str, ...]
    created: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def commit_edits(
    site: OpenSite, edits: Sequence[FileEdit], interruption: Interruption, *, kept: Sequence[bytes] = ()
) -> Commit:
    """Run one transaction on a site whose lock is held and that has no open journal.

    Args:
        site: the opened site.
        edits: in the order of writing, the ledger's last.
        interruption: looked at before every step up to the commit.
        kept: bytes to keep as objects beside those that the edits swap.

    Raises:
        RefusedError: by the look before the first step, or ``changed-meanwhile``, rolled back.
        InterruptedByError: a signal came before the commit; rolled back.
        TransactionError: ``rolled-back`` after an error of the system; or the roll-back itself failed and the journal
            is still there.
    """

    def step(name: str) -> None:
        site.checkpoint(name)
        interruption.raise_if_any("everything was rolled back")

    step("preflight")
    facts = inspect(site, edits, kept=kept)
    journal = Journal(transaction=new_transaction_id(), stage=Stage.PREPARE, edits=facts)
    notes: list[str] = []
    try:
        _keep(site, journal, kept, step)
        _prepare(site, journal, edits, step)
        journal = journal._replace(stage=Stage.REPLACE)
        _put_journal(site, journal, step, "journal-replace")
        _replace(site, journal, edits, step, notes)
    except BaseException as error:
        notes.extend(_give_up(site, journal, error))
    else:
        notes.extend(finish(site, journal))
    created = dict.fromkeys(directory for fact in facts for directory in reversed(fact.created))
    return Commit(id=journal.transaction, paths=journal.paths, created=tuple(created), notes=tuple(notes))


def _keep(site: OpenSite, journal: Journal, kept: Sequence[bytes], step: Callable[[str], None]) -> None:
    """Store what the ledger will name and no edit brings. A roll-back leaves it: an object by itself means nothing."""
    for index, data in enumerate(kept):
        step(f"object-kept:{index}")
        store_object(site, journal.transaction, data)


def _prepare(site: OpenSite, journal: Journal, edits: Sequence[FileEdit], step: Callable[[str], None]) -> None:
    step("layout")
    write_layout(site, journal.transaction)
    for index, edit in enumerate(edits):
        if is_state(edit.path):
            continue
        for side, data in (("before", edit.before), ("after", edit.after)):
            if data is not None:
                step(f"object-{side}:{index}")
                store_object(site, journal.transaction, data)
    _put_journal(site, journal, step, "journal-prepare")
    for index, edit in enumerate(edits):
        step(f"directories:{index}")
        make_directories(site, journal.edits[index])
        step(f"temp:{index}")
        write_temp(site, journal.transaction, index, edit)
        if edit.before is not None:
            step(f"undo:{index}")
            keep_undo(site, journal.transaction, index, edit)
    step("sync-prepared")
    # No file may be replaced before the name that leads back to it would survive a power cut.
    sync_names(site, [*(edit.path for edit in edits), undo_path(journal.transaction, 0)])


def _put_journal(site: OpenSite, journal: Journal, step: Callable[[str], None], name: str) -> None:
    step(name)
    put_state_file(site, journal.transaction, (), JOURNAL, encode_journal(journal))


def _replace(
    site: OpenSite, journal: Journal, edits: Sequence[FileEdit], step: Callable[[str], None], notes: list[str]
) -> None:
    *files, ledger = edits
    for index, edit in enumerate(files):
        step(f"replace:{index}")
        put_in_place(site, journal.transaction, index, edit)
    step("sync")
    sync_names(site, (edit.path for edit in files))
    for index, edit in enumerate(files):
        if is_state(edit.path):
            continue
        step(f"purge:{index}")
        purged = purge(site.root, site.site, edit.path, site.pycache_prefix)
        notes.extend(purged.notes)
        if purged.stuck:
            raise OSError(errno.EACCES, "; ".join(purged.stuck), edit.path)
    step("ledger")
    put_in_place(site, journal.transaction, len(files), ledger)


def _give_up(site: OpenSite, journal: Journal, error: BaseException) -> tuple[str, ...]:
    """Roll back and raise what the caller is to hear; returns notes when the ledger turns out to be in place."""
    try:
        settled = settle(site, journal)
    except PatchctlError as second:
        problem = second.problem
        raise TransactionError(
            problem.code,
            f"the transaction failed ({_because(error)}) and could not be rolled back: {problem.message}",
            hint=problem.hint,
            path=problem.path,
        ) from error
    if settled.committed:
        return (*settled.notes, f"after the commit: {_because(error)}")
    if isinstance(error, OSError):
        raise TransactionError(
            "rolled-back",
            f"the transaction failed and everything was rolled back: {_because(error)}",
            hint="remove the cause and run the command again",
        ) from error
    raise error


def _because(error: BaseException) -> str:
    if not isinstance(error, OSError):
        return str(error) or type(error).__name__
    where = f" ({error.filename})" if isinstance(error.filename, str) else ""
    return f"{error.strerror or error}{where}"
