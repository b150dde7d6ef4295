"""Which stored objects and diffs are named by what patchctl recorded: the ledger, and the history if there is one."""

from __future__ import annotations

import re

from patchctl.disk import NotRegularError, open_root, read_below
from patchctl.errors import LedgerError
from patchctl.ledger.history import record_names
from patchctl.model.layout import HISTORY_DIR
from patchctl.model.state import LedgerState

_LIMIT = 16 << 20
_SHA256 = rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])"


def named_hashes(site: str, ledger: LedgerState) -> frozenset[str]:
    """Return every sha256 that a receipt, a file fact or a record of the history names.

    Args:
        site: absolute path of the site directory.
        ledger: its ledger.

    Raises:
        LedgerError: the history is there and cannot be read: then nobody knows what it names.
    """
    facts = {hash_ for fact in ledger.files.values() for hash_ in (fact.base, fact.result) if hash_ is not None}
    diffs = {diff.sha256 for receipt in ledger.receipts for diff in receipt.diffs}
    return frozenset({*facts, *diffs, *_in_history(site)})


def _in_history(site: str) -> set[str]:
    """Whatever looks like a sha256 counts: a record's shape is the business of those who write it."""
    import os

    found: set[str] = set()
    try:
        root = open_root(site)
        try:
            for name in record_names(site):
                record = read_below(root, f"{HISTORY_DIR}/{name}", limit=_LIMIT)
                found |= {match.decode("ascii") for match in re.findall(_SHA256, record[0])} if record else set()
        finally:
            os.close(root)
    except NotRegularError as error:
        raise LedgerError("unreadable-ledger", f"{error.filename} {error.strerror}", path=HISTORY_DIR) from None
    except OSError as error:
        message = f"{site}/{HISTORY_DIR} cannot be read: {error.strerror}"
        raise LedgerError("unreadable-ledger", message, hint="run patchctl as the owner of the site") from None
    return found
