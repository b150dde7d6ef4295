"""The only writer below a site: swaps bytes, all or none, and settles what a death left half-done.

It knows neither patches nor what a ledger means; the plan's edits come in order, the ledger's last. Reading state for
its meaning is the business of ``ledger``.

Readers need the journal alone. What writes is loaded when its name is first asked for (PEP 562), since a ``status``
that writes nothing should not pay for it at start-up.
"""

from typing import TYPE_CHECKING

from patchctl.transaction.journal import JournalState, journal_state

if TYPE_CHECKING:
    from patchctl.transaction.holder import LockState, lock_state
    from patchctl.transaction.litter import find_litter
    from patchctl.transaction.names import new_transaction_id
    from patchctl.transaction.preflight import missing_directories
    from patchctl.transaction.run import Commit
    from patchctl.transaction.settle import Recovery
    from patchctl.transaction.signals import Interruption, held_signals
    from patchctl.transaction.site import LockedSite, locked, recover
    from patchctl.transaction.trust import refuse_untrusted
    from patchctl.transaction.unnamed import Dropped, find_unnamed

__all__ = [
    "Commit",
    "Dropped",
    "Interruption",
    "JournalState",
    "LockState",
    "LockedSite",
    "Recovery",
    "find_litter",
    "find_unnamed",
    "held_signals",
    "journal_state",
    "lock_state",
    "locked",
    "missing_directories",
    "new_transaction_id",
    "recover",
    "refuse_untrusted",
]

_HOMES = {
    "Commit": "run",
    "Dropped": "unnamed",
    "Interruption": "signals",
    "LockState": "holder",
    "LockedSite": "site",
    "Recovery": "settle",
    "find_litter": "litter",
    "find_unnamed": "unnamed",
    "held_signals": "signals",
    "lock_state": "holder",
    "locked": "site",
    "missing_directories": "preflight",
    "new_transaction_id": "names",
    "recover": "site",
    "refuse_untrusted": "trust",
}


def __getattr__(name: str) -> object:
    """Load a writer's name from the module it lives in."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
