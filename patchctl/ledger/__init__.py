"""What patchctl recorded about a site: reading it, and turning it into bytes.

Writing is not here: the encoded ledger is the last edit of a transaction, the history's record the one before it.
The history is loaded when its names are first asked for (PEP 562): most commands do not need it.
"""

from typing import TYPE_CHECKING

from patchctl.ledger.codec import decode_ledger, encode_ledger
from patchctl.ledger.store import is_stored, read_ledger, read_ledger_bytes, read_object, read_patch
from patchctl.model.layout import LEDGER_PATH, STATE_DIR, object_path, patch_path

if TYPE_CHECKING:
    from patchctl.ledger.history import History, last_change, next_record_path, read_history
    from patchctl.ledger.records import encode_record

__all__ = [
    "LEDGER_PATH",
    "STATE_DIR",
    "History",
    "decode_ledger",
    "encode_ledger",
    "encode_record",
    "is_stored",
    "last_change",
    "next_record_path",
    "object_path",
    "patch_path",
    "read_history",
    "read_ledger",
    "read_ledger_bytes",
    "read_object",
    "read_patch",
]

_HOMES = {
    "History": "history",
    "encode_record": "records",
    "last_change": "history",
    "next_record_path": "history",
    "read_history": "history",
}


def __getattr__(name: str) -> object:
    """Load a name of the history from the module it lives in."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
