"""The way in: lock a site, settle what a dead transaction left, then run transactions on it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from patchctl.disk import open_root, read_below
from patchctl.errors import PatchctlError, RefusedError, TransactionError
from patchctl.model.files import FileEdit
from patchctl.model.layout import JOURNAL_PATH, STATE_DIR
from patchctl.transaction.files import exists, parent_of
from patchctl.transaction.journal import journal_state, read_journal
from patchctl.transaction.lock import exclusive
from patchctl.transaction.names import TMP
from patchctl.transaction.opening import OpenSite, opened, sweep
from patchctl.transaction.run import Commit, commit_edits
from patchctl.transaction.settle import Recovery, settle
from patchctl.transaction.signals import held_signals


def no_checkpoint(_step: str) -> None:
    """Be the checkpoint of everybody who wants none."""


class LockedSite:
    """A site that nobody else writes to as long as this object lives; made by :func:`locked`.

    Attributes:
        recovered: what an unfinished transaction, found when the site was locked, led to; None: there was none.
    """

    __slots__ = ("_site", "recovered")

    def __init__(self, site: OpenSite) -> None:
        self._site = site
        self.recovered = _settle_open_journal(site)
        sweep(site)

    def run(self, edits: Sequence[FileEdit], *, kept: Sequence[bytes] = ()) -> Commit:
        """Do all ``edits``, or none of them.

        Args:
            edits: in the order of writing; the last one is the ledger's (``.patchctl/ledger.json``), new diffs
                (``.patchctl/patches/<sha256>``) come before it. The ledger taking its place is the commit.
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
            return commit_edits(self._site, edits, interruption, kept=kept)


@contextmanager
def locked(
    site: str,
    *,
    wait: float = 0.0,
    pycache_prefix: str | None = None,
    checkpoint: Callable[[str], None] = no_checkpoint,
) -> Iterator[LockedSite]:
    """Lock ``site``, make its state directory if need be, and settle an unfinished transaction first.

    Args:
        site: absolute path of the site directory.
        wait: seconds to wait for another patchctl; 0: do not.
        pycache_prefix: PYTHONPYCACHEPREFIX of the target's interpreter, absolute; None: it has none.
        checkpoint: called with a step's name before the step, here and in every run; what it raises before a commit
            rolls that transaction back.

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
            ground = stack.enter_context(opened(site, pycache_prefix, checkpoint))
            checkpoint("lock")
            stack.enter_context(exclusive(ground.state, site, wait))
            with held_signals() as interruption:
                held = LockedSite(ground)
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
) -> Recovery | None:
    """Settle an unfinished transaction and remove what a dead one left; None when there was no transaction.

    Nothing is written, not even a lock, where there is nothing to do. Arguments and errors as of :func:`locked`.
    """
    if not _has_leftovers(site):
        return None
    with locked(site, wait=wait, pycache_prefix=pycache_prefix, checkpoint=checkpoint) as held:
        return held.recovered


def _settle_open_journal(site: OpenSite) -> Recovery | None:
    journal = read_journal(site.root)
    return None if journal is None else settle(site, journal)


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
    hint = "mount it read-write, or run patchctl as the owner of the installation"
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
