"""The only writer below a site: swaps bytes, all or none, and settles what a death left half-done.

It knows neither patches nor what a ledger means; the plan's edits come in order, the ledger's last. Reading state for
its meaning is the business of ``ledger``.
"""

from patchctl.transaction.journal import JournalState, journal_state
from patchctl.transaction.preflight import missing_directories
from patchctl.transaction.run import Commit
from patchctl.transaction.settle import Recovery
from patchctl.transaction.site import LockedSite, locked, recover

__all__ = [
    "Commit",
    "JournalState",
    "LockedSite",
    "Recovery",
    "journal_state",
    "locked",
    "missing_directories",
    "recover",
]
