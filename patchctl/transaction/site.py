"""The way in: lock a site, settle what a dead transaction left, then run transactions on it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import MappingProxyType

from patchctl.disk import open_root, read_below
from patchctl.errors import PatchctlError, RefusedError, TransactionError
from patchctl.model.files import FileEdit
from patchctl.model.layout import JOURNAL_PATH, STATE_DIR
from patchctl.transaction.causes import remedy
from patchctl.transaction.files import exists, parent_of
from patchctl.transaction.journal import journal_state, read_journal
from patchctl.transaction.litter import drop_litter
from patchctl.transaction.lock import exclusive
from patchctl.transaction.names import HISTORY, TMP, is_record, new_transaction_id
from patchctl.transaction.opening import OpenSite, opened, put_state_file, sweep
from patchctl.transaction.run import Commit, commit_edits
from patchctl.transaction.settle import Recovery, settle
from patchctl.transaction.signals import held_signals
from patchctl.transaction.unnamed import Dropped, drop


def no_checkpoint(_step: str) -> None:
    """Be the checkpoint of everybody who wants none."""


class LockedSite:
    """A site that nobody else writes to as long as this object lives; made by :func:`locked`.

    Attributes:
        recovered: what an unfinished transaction, found when the site was locked, led to; None: there was none.
    """

    __slots__ = ("_site", "recovered")

    def __init__(self, site: OpenSite, *, leave: bool = False) -> None:
        self._site = site
        self.recovered = _settle_open_journal(site, leave=leave)
        sweep(site)

    def run(self, edits: Sequence[FileEdit], *, transaction: str | None = None, kept: Sequence[bytes] = ()) -> Commit:
        """Do all ``edits``, or none of them.

        Args:
            edits: in the order of writing; the last one is the ledger's (``.patchctl/ledger.json``), new diffs
                (``.patchctl/patches/<sha256>``) and the history's record come before it. The ledger taking its place
                is the commit.
            transaction: its id, where a record in ``edits`` names it already; None: a new one is made.
            kept: bytes to keep as objects beside the old and new ones of every edit: what the new ledger names and no
                file held.

        Returns:
            The commit. Once the ledger is in place nothing is a failure any more; what could not be cleaned up is
            a note, and the next command's business.

        Raises:
            RefusedError: nothing was written, or a file was ``changed-meanwhile`` and everything was rolled back.
            InterruptedByError: SIGINT or SIGTERM came before the commit; everything was rolled back.
            TransactionError: an error of the system; its code says whether everything was ``rolled-back``.
            ValueError: ``edits`` are not a transaction.
        """
        with held_signals() as interruption:
            # An earlier run under this lock may have left its cleaning up.
            _settle_open_journal(self._site)
            return commit_edits(self._site, edits, interruption, transaction, kept=kept)

    def keep_record(self, path: str, data: bytes) -> None:
        """Put a history record in its place outside a transaction: of one that was rolled back or settled.

        Args:
            path: of a record, relative to the site; it must not be that of an open transaction.
            data: its bytes.

        Raises:
            OSError: it could not be; nothing else is harmed.
        """
        if not is_record(path):
            raise ValueError(f"{path} is no history record")
        if read_journal(self._site.root) is not None:
            raise OSError(errno.EBUSY, "a transaction is open", path)
        try:
            put_state_file(self._site, new_transaction_id(), (HISTORY,), path.rpartition("/")[2], data)
        finally:
            sweep(self._site)

    def drop_unnamed(self, named: Collection[str]) -> Dropped:
        """Remove every stored object and diff whose hash is not among ``named``; see :func:`unnamed.drop`."""
        return drop(self._site, named)

    def drop_litter(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Remove temporary files that dead transactions left; see :func:`litter.drop_litter`."""
        return drop_litter(self._site, paths)


@contextmanager
def locked(
    site: str,
    *,
    wait: float = 0.0,
    pycache_prefix: str | None = None,
    checkpoint: Callable[[str], None] = no_checkpoint,
    grafts: Mapping[str, str] = MappingProxyType({}),
    leave: bool = False,
) -> Iterator[LockedSite]:
    """Lock ``site``, make its state directory if need be, and settle an unfinished transaction first.

    Args:
        site: absolute path of the site directory.
        wait: seconds to wait for another patchctl; 0: do not.
        pycache_prefix: PYTHONPYCACHEPREFIX of the target's interpreter, absolute; None: it has none.
        checkpoint: called with a step's name before the step, here and in every run; what it raises before a commit
            rolls that transaction back.
        grafts: top-level names of editable installs that may be edited -> the absolute directory that holds them.
        leave: an unfinished transaction is given up and its files are left as they are; see :func:`settle.settle`.

    Raises:
        BusyError: another patchctl holds the lock.
        RefusedError: ``not-writable``, nothing was touched.
        TargetError: ``no-site``.
        PatchctlError: ``untrusted-site``: as root, where another user could forge the state; ``newer-state``;
            ``no-lock``.
        TransactionError: an unfinished transaction is there and cannot be settled.
        InterruptedByError: SIGINT or SIGTERM came while an unfinished transaction was being settled, which was done.
    """
    with ExitStack() as stack:
        try:
            checkpoint("open")
            ground = stack.enter_context(opened(site, pycache_prefix, checkpoint, grafts))
            checkpoint("lock")
            stack.enter_context(exclusive(ground.state, site, wait))
            with held_signals() as interruption:
                held = LockedSite(ground, leave=leave)
                found = "nothing was begun" if held.recovered is None else "the transaction that was open is settled"
                interruption.raise_if_any(found)
        except OSError as error:
            raise _not_writable(site, error) from error
        yield held


def recover(
    site: str,
    *,
    wait: float = 0.0,
    pycache_prefix: str | None = None,
    checkpoint: Callable[[str], None] = no_checkpoint,
    settled: Callable[[LockedSite], None] | None = None,
    grafts: Mapping[str, str] = MappingProxyType({}),
    leave: bool = False,
) -> Recovery | None:
    """Settle an unfinished transaction and remove what a dead one left; None when there was no transaction.

    Nothing is written, not even a lock, where there is nothing to do. Arguments and errors as of :func:`locked`;
    ``settled`` is called once that is done, as long as the lock is held.
    """
    if not _has_leftovers(site):
        return None
    with locked(
        site, wait=wait, pycache_prefix=pycache_prefix, checkpoint=checkpoint, grafts=grafts, leave=leave
    ) as held:
        if settled is not None:
            settled(held)
        return held.recovered


def _settle_open_journal(site: OpenSite, *, leave: bool = False) -> Recovery | None:
    journal = read_journal(site.root)
    return None if journal is None else settle(site, journal, leave=leave)


def _has_leftovers(site: str) -> bool:
    root = open_root(site)
    try:
        if read_below(root, JOURNAL_PATH) is not None:
            return True
        with parent_of(root, f"{STATE_DIR}/{TMP}") as (state, name):
            return exists(state, name)
    except FileNotFoundError:
        return False
    except OSError:
        return True  # what it is will be said by those who open it for writing
    finally:
        os.close(root)


def _not_writable(site: str, error: OSError) -> PatchctlError:
    message = f"{site} cannot be written: {error.strerror}"
    hint = remedy(error)
    try:
        is_open = journal_state(site) is not None
    except PatchctlError:
        is_open = True
    if is_open:
        return TransactionError(
            "not-writable",
            f"an unfinished transaction is there, and {message}",
            hint=f"{hint}; then run: patchctl recover",
            path=JOURNAL_PATH,
        )
    return RefusedError("not-writable", message, hint=hint)
