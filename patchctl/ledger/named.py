"""Which stored objects and diffs are named by what patchctl recorded: the ledger, and the history if there is one."""

from __future__ import annotations

import re

from patchctl.disk import NotRegularError, open_root, read_below
from patchctl.errors import LedgerError
from patchctl.model.layout import STATE_DIR
from patchctl.model.state import LedgerState

_HISTORY = f"{STATE_DIR}/history.jsonl"
_LIMIT = 1 << 30
_SHA256 = rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])"


def named_hashes(site: str, ledger: LedgerState) -> frozenset[str]:
    """Return every sha256 that a receipt, a file fact or a line of the history names.

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
    """Whatever looks like a sha256 counts: a line's shape is the business of those who write it."""
    import os

    try:
        root = open_root(site)
        try:
            found = read_below(root, _HISTORY, limit=_LIMIT)
        finally:
            os.close(root)
    except NotRegularError as error:
        raise LedgerError("unreadable-ledger", f"{_HISTORY} {error.strerror}", path=_HISTORY) from None
    except OSError as error:
        message = f"{site}/{_HISTORY} cannot be read: {error.strerror}"
        raise LedgerError("unreadable-ledger", message, hint="run patchctl as the owner of the site") from None
    return set() if found is None else {match.decode("ascii") for match in re.findall(_SHA256, found[0])}
