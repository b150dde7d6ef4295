"""The sequence of a transaction, from refusing early to the ledger that commits it.

    look at everything -> objects -> journal -> per edit: temp file, undo -> all of it to the disk
    -> journal says replacing begins
    -> per edit: look again, replace -> directories to the disk -> byte code -> ledger (commit) -> clean up

What leads back from a failure is in ``settle``.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from typing import NamedTuple

from patchctl.errors import PatchctlError, TransactionError
from patchctl.model.files import FileEdit
from patchctl.transaction.bytecode import Unchecked, purge
from patchctl.transaction.causes import remedy
from patchctl.transaction.compiled import compile_again
from patchctl.transaction.journal import Journal, Stage, encode_journal
from patchctl.transaction.names import JOURNAL, is_state, new_transaction_id, undo_path
from patchctl.transaction.objects import place_objects, write_object
from patchctl.transaction.opening import OpenSite, drop_tmp, put_state_file, sweep, write_layout
from patchctl.transaction.preflight import inspect
from patchctl.transaction.settle import finish, settle
from patchctl.transaction.signals import Interruption
from patchctl.transaction.swap import (
    keep_undo,
    make_directories,
    put_in_place,
    sync_names,
    write_temp,
)
from patchctl.transaction.unsynced import Unsynced


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
    site: OpenSite,
    edits: Sequence[FileEdit],
    interruption: Interruption,
    transaction: str | None = None,
    *,
    kept: Sequence[bytes] = (),
) -> Commit:
    """Run one transaction on a site whose lock is held and that has no open journal.

    Args:
        site: the opened site.
        edits: in the order of writing, the ledger's last.
        interruption: looked at before every step up to the commit.
        transaction: its id, which no other one has; None: a new one is made.
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
    journal = Journal(
        transaction=transaction or new_transaction_id(),
        stage=Stage.PREPARE,
        edits=facts,
        grafts={top: it for top, it in site.grafts.items() if any(fact.path.split("/")[0] == top for fact in facts)},
    )
    notes = [
        f"{edit.path} was a link to {edit.link.target}, which is not what it was any more: it is a file of its own now"
        for edit, fact in zip(edits, facts, strict=True)
        if edit.link is not None and fact.new_link is None
    ]
    try:
        _prepare(site, journal, edits, kept, step)
        journal = journal._replace(stage=Stage.REPLACE)
        _put_journal(site, journal, step, "journal-replace")
        unchecked = _replace(site, journal, edits, step, notes)
    except BaseException as error:
        notes.extend(_give_up(site, journal, error))
    else:
        notes.extend(_finish(site, journal, unchecked))
    created = dict.fromkeys(directory for fact in facts for directory in reversed(fact.created))
    return Commit(id=journal.transaction, paths=journal.paths, created=tuple(created), notes=tuple(notes))


def _finish(site: OpenSite, journal: Journal, unchecked: Sequence[Unchecked]) -> tuple[str, ...]:
    """Clean up, then make anew what may be: a death in between costs time at an import, nothing else."""
    notes = finish(site, journal)
    if not unchecked or notes:
        return notes
    try:
        site.checkpoint("finish-compile")
        notes = compile_again(site, journal.transaction, unchecked)
        drop_tmp(site, journal.transaction)
        sweep(site)
    except Exception as error:
        return (*notes, f"byte code was removed and not made anew: {error}")
    return notes


def _prepare(
    site: OpenSite,
    journal: Journal,
    edits: Sequence[FileEdit],
    kept: Sequence[bytes],
    step: Callable[[str], None],
) -> None:
    step("layout")
    write_layout(site, journal.transaction)
    with Unsynced() as unsynced:
        _store_objects(site, journal.transaction, edits, kept, step, unsynced)
        _put_journal(site, journal, step, "journal-prepare")
        for index, edit in enumerate(edits):
            step(f"directories:{index}")
            make_directories(site, journal.edits[index])
            step(f"temp:{index}")
            write_temp(site, journal.transaction, index, edit, unsynced, journal.edits[index].new_link)
            if edit.before is not None:
                step(f"undo:{index}")
                keep_undo(site, journal.transaction, index, edit)
        step("sync-prepared")
        unsynced.settle()
    # No file may be replaced before the name that leads back to it would survive a power cut.
    sync_names(site, [*(edit.path for edit in edits), undo_path(journal.transaction, 0)])


def _store_objects(
    site: OpenSite,
    transaction: str,
    edits: Sequence[FileEdit],
    kept: Sequence[bytes],
    step: Callable[[str], None],
    unsynced: Unsynced,
) -> None:
    """Store what the ledger will name. A roll-back leaves it: an object by itself means nothing."""
    written = []
    for index, original in enumerate(kept):
        step(f"object-kept:{index}")
        written.append(write_object(site, transaction, original, unsynced))
    for index, edit in enumerate(edits):
        if is_state(edit.path):
            continue
        for side, data in (("before", edit.before), ("after", edit.after)):
            if data is not None:
                step(f"object-{side}:{index}")
                written.append(write_object(site, transaction, data, unsynced))
    step("sync-objects")
    # Whole on the disk before it has its name: an object is never half there.
    unsynced.settle()
    place_objects(site, transaction, [sha256 for sha256 in written if sha256 is not None])


def _put_journal(site: OpenSite, journal: Journal, step: Callable[[str], None], name: str) -> None:
    step(name)
    put_state_file(site, journal.transaction, (), JOURNAL, encode_journal(journal))


def _replace(
    site: OpenSite, journal: Journal, edits: Sequence[FileEdit], step: Callable[[str], None], notes: list[str]
) -> tuple[Unchecked, ...]:
    """Replace every file, the ledger last; returns the byte code that may be made anew afterwards."""
    unchecked: list[Unchecked] = []
    *files, ledger = edits
    for index, edit in enumerate(files):
        step(f"replace:{index}")
        put_in_place(site, journal.transaction, index, edit)
    step("sync")
    sync_names(site, (edit.path for edit in files))
    with Unsynced() as directories:
        for index, edit in enumerate(files):
            if is_state(edit.path):
                continue
            step(f"purge:{index}")
            directory = site.directory_of(edit.path)
            purged = purge(site.root, directory, edit.path, site.pycache_prefix, directories.add)
            notes.extend(purged.notes)
            unchecked.extend(purged.unchecked)
            if purged.stuck:
                raise OSError(purged.errno or errno.EACCES, "; ".join(purged.stuck), edit.path)
        step("sync-purged")
        directories.settle()
    step("ledger")
    put_in_place(site, journal.transaction, len(files), ledger)
    return tuple(unchecked)


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
            hint=f"{remedy(error)}, then run the command again",
        ) from error
    raise error


def _because(error: BaseException) -> str:
    if not isinstance(error, OSError):
        return str(error) or type(error).__name__
    where = f" ({error.filename})" if isinstance(error.filename, str) else ""
    return f"{error.strerror or error}{where}"
