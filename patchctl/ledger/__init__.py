"""What patchctl recorded about a site: reading it, and turning it into bytes.

Writing is not here: the encoded ledger is the last edit of a transaction.
"""

from patchctl.ledger.codec import decode_ledger, encode_ledger
from patchctl.ledger.store import read_ledger, read_ledger_bytes, read_object, read_patch
from patchctl.model.layout import LEDGER_PATH, STATE_DIR, object_path, patch_path

__all__ = [
    "LEDGER_PATH",
    "STATE_DIR",
    "decode_ledger",
    "encode_ledger",
    "object_path",
    "patch_path",
    "read_ledger",
    "read_ledger_bytes",
    "read_object",
    "read_patch",
]
