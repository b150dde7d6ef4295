"""Settles a transaction that did not get to its end: forward when its ledger is in place, else back, by hash.

Roll-back after an error and recovery after a death are this same code. It may be cut off anywhere and run again: what
is done already is seen on the disk and not done twice. It needs no free space.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from patchctl.disk import NotRegularError, read_below
from patchctl.errors import TransactionError
from patchctl.model.layout import STATE_DIR, object_path
from patchctl.transaction.bytecode import purge, remove_empty_cache
from patchctl.transaction.causes import remedy
from patchctl.transaction.files import parent_of, remove, remove_directory, sync
from patchctl.transaction.journal import Journal, JournalEdit, Stage, is_committed
from patchctl.transaction.names import JOURNAL, is_state
from patchctl.transaction.opening import OpenSite, drop_tmp, sweep
from patchctl.transaction.swap import drop_temps, has_temp, live_state, put_back, sync_names


class Recovery(NamedTuple):
    """What an unfinished transaction led to.

    Attributes:
        transaction: its id.
        committed: its ledger was in place, so it counts and was only cleaned up; otherwise it was rolled back.
        paths: the files it was about, POSIX, relative to the site.
        notes: sentences about what is not as it should be although the transaction is settled.
    """

    transaction: str
    committed: bool
    paths: tuple[str, ...]
    notes: tuple[str, ...] = ()


def settle(site: OpenSite, journal: Journal, *, leave: bool = False) -> Recovery:
    """Finish ``journal`` or roll it back.

    Args:
        site: opened and locked.
        journal: what is unfinished.
        leave: where it would be rolled back, touch no file of a distribution: an installer, or somebody, put others
            there since. Only what is patchctl's own goes back, so that the ledger says what it said before.

    Raises:
        TransactionError: ``foreign-edit``, ``original-lost``, ``cannot-settle`` or ``cannot-clean``: nothing of what
            could not be judged was touched, and the journal is still there. So it is where the journal speaks of
            directories outside the site that were not opened.
    """
    _refuse_unknown_grafts(site, journal)
    committed = is_committed(site.root, journal)
    try:
        notes = finish(site, journal) if committed else _roll_back(site, journal, leave=leave)
    except OSError as error:
        raise TransactionError(
            "cannot-settle",
            f"an unfinished transaction of {site.site} cannot be rolled back: {error.strerror}",
            hint=f"{remedy(error)}; then run: patchctl recover",
        ) from error
    if committed and _has_journal(site):
        raise TransactionError(
            "cannot-clean",
            f"a committed transaction of {site.site} cannot be cleaned up: {'; '.join(notes)}",
            hint="remove the cause, then run: patchctl recover",
        )
    return Recovery(transaction=journal.transaction, committed=committed, paths=journal.paths, notes=notes)


def _refuse_unknown_grafts(site: OpenSite, journal: Journal) -> None:
    """A journal alone never leads out of the site: the installation must say the same today."""
    for top, directory in journal.grafts.items():
        if site.grafts.get(top) != directory:
            raise TransactionError(
                "cannot-settle",
                f"an unfinished transaction is about {top} in {directory}, where the site does not have it now",
                hint=f"install {top} as it was (editable, from {directory}), then run: patchctl recover",
            )


def finish(site: OpenSite, journal: Journal) -> tuple[str, ...]:
    """Clean up after the commit and return what could not be: nothing here turns the result into a failure.

    It stops at the first step that fails, so that the journal stays as long as the next command has work to do.
    """
    notes: list[str] = []
    steps: tuple[tuple[str, Callable[[], None]], ...] = (
        ("finish-sync", partial(sync, site.state)),
        # The copy of an old file may be all that is left in a directory that goes.
        ("finish-temps", partial(_drop_temps, site, journal)),
        ("finish-prune", partial(_prune, site, journal, notes)),
        ("finish-journal", partial(_drop_journal, site)),
        ("finish-undo", partial(_drop_undo, site, journal)),
    )
    for name, step in steps:
        try:
            site.checkpoint(name)
            step()
        except Exception as error:
            notes.append(f"cleaning up is left to the next command: {error}")
            break
    return tuple(notes)


def _roll_back(site: OpenSite, journal: Journal, *, leave: bool) -> tuple[str, ...]:
    notes: list[str] = []
    if leave:
        notes.append("its files were left as they are: patchctl status says what is in them now")
    if journal.stage is Stage.REPLACE:
        # All are judged before the first is touched: a foreign edit anywhere leaves everything to its owner.
        undone = [
            index
            for index, edit in enumerate(journal.edits)
            if (is_state(edit.path) or not leave) and _must_go_back(site, journal, index, edit)
        ]
        for index in reversed(undone):
            site.checkpoint(f"rollback-restore:{index}")
            put_back(site, journal.transaction, index, journal.edits[index])
        site.checkpoint("rollback-sync")
        sync_names(site, (edit.path for edit in journal.edits))
        for index, edit in enumerate(journal.edits):
            if not is_state(edit.path):
                site.checkpoint(f"rollback-purge:{index}")
                purged = purge(site.root, site.directory_of(edit.path), edit.path, site.pycache_prefix)
                notes.extend((*purged.stuck, *purged.notes))
    site.checkpoint("rollback-temps")
    _drop_temps(site, journal)
    site.checkpoint("rollback-directories")
    for edit in journal.edits:
        if is_state(edit.path) or not leave:
            _remove_directories(site, edit.created)
    site.checkpoint("rollback-journal")
    _drop_journal(site)
    site.checkpoint("rollback-undo")
    _drop_undo(site, journal)
    return tuple(notes)


def _must_go_back(site: OpenSite, journal: Journal, index: int, edit: JournalEdit) -> bool:
    """Judge one edit by what is on the disk.

    A temp file that is still there means that the target was never replaced, whatever it holds now; for a deletion it
    stands there until the name is gone.
    """
    waiting = False
    try:
        waiting = has_temp(site.root, journal.transaction, index, edit.path)
        live, mode, link = live_state(site.root, edit.path, [it for it in (edit.link, edit.new_link) if it is not None])
    except NotRegularError as error:
        if waiting:
            return False
        raise _foreign(edit, f"{error.strerror}") from None
    if edit.link is not None or edit.new_link is not None:
        return _link_must_go_back(edit, live, link, waiting=waiting)
    if live == edit.before and edit.before == edit.after and not waiting and mode != edit.mode:
        if mode == edit.new_mode:
            return True
        raise _foreign(edit, "its mode is neither the old nor the new one")
    if live == edit.before:
        return False
    if live == edit.after:
        return edit.after is None or not waiting
    if waiting:
        return False
    raise _foreign(edit, "its bytes are neither the old nor the new ones")


def _link_must_go_back(edit: JournalEdit, live: str | None, link: str | None, *, waiting: bool) -> bool:
    """The same where a link gives way to a file, a file to a link, or one of them comes or goes."""
    old = link == edit.link if edit.link is not None else link is None and live == edit.before
    new = link == edit.new_link if edit.new_link is not None else link is None and live == edit.after
    if old or (waiting and not new):
        return False
    if new:
        return edit.after is None or not waiting
    raise _foreign(edit, "it is neither the old nor the new link or file")


def _foreign(edit: JournalEdit, what: str) -> TransactionError:
    kept = "" if edit.before is None else f" (kept in {object_path(edit.before)})"
    hint = f"keep the edit elsewhere, put its original back{kept}, run: patchctl recover, then make the edit again"
    return TransactionError(
        "foreign-edit",
        f"{edit.path} was changed after an unfinished transaction wrote it: {what}; nothing was rolled back",
        hint=f"{hint}; if another build was installed since: patchctl recover --leave-files",
        path=edit.path,
    )


def _prune(site: OpenSite, journal: Journal, notes: list[str]) -> None:
    for edit in journal.edits:
        try:
            _remove_directories(site, edit.prune)
        except OSError as error:
            notes.append(f"an empty directory of {edit.path} stays: {error.strerror}")


def _remove_directories(site: OpenSite, directories: tuple[str, ...]) -> None:
    for directory in directories:
        try:
            with parent_of(site.root, f"{directory}/.") as (inside, _):
                remove_empty_cache(inside)
            with parent_of(site.root, directory) as (parent, name):
                if not remove_directory(parent, name):
                    return
                sync(parent)
        except FileNotFoundError:
            continue
        except NotRegularError:
            return  # not the directory we made any more


def _drop_temps(site: OpenSite, journal: Journal) -> None:
    for index, edit in enumerate(journal.edits):
        try:
            drop_temps(site, journal.transaction, index, edit.path)
        except NotRegularError:
            continue  # somebody put a link on the way: nothing of ours can be reached there


def _drop_journal(site: OpenSite) -> None:
    if remove(site.state, JOURNAL):
        sync(site.state)


def _drop_undo(site: OpenSite, journal: Journal) -> None:
    drop_tmp(site, journal.transaction)
    sweep(site)


def _has_journal(site: OpenSite) -> bool:
    return read_below(site.root, f"{STATE_DIR}/{JOURNAL}") is not None
