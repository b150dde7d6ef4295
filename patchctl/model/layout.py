"""Names of patchctl's own state below a site: one place for what the ledger reads and the transaction writes.

Pure names, relative to the site; who reads and writes them is the business of those two rooms.
"""

from __future__ import annotations

STATE_DIR = ".patchctl"
LEDGER_PATH = f"{STATE_DIR}/ledger.json"
JOURNAL_PATH = f"{STATE_DIR}/journal.json"
FORMAT_PATH = f"{STATE_DIR}/format"
HISTORY_DIR = f"{STATE_DIR}/history"
LAYOUT = b"1"
"""What the format file holds: the version of everything below the state directory."""

_HEXADECIMAL = frozenset("0123456789abcdef")
_SHA256_LENGTH = 64
_ID_LENGTH = 32
_NUMBER_LENGTH = 8
_RECORD_SUFFIX = ".json"


def is_own_xattr(key: str) -> bool:
    """Return whether patchctl records an extended attribute, and gives it to a file that it brings back.

    Those are the user's own and the access list. What speaks of privilege, or is a security module's label, never comes
    from recorded state.
    """
    return key.startswith("user.") or key == "system.posix_acl_access"


def is_sha256(text: str) -> bool:
    """Return whether ``text`` has the shape of a lower-case hexadecimal sha256."""
    return len(text) == _SHA256_LENGTH and _HEXADECIMAL.issuperset(text)


def is_transaction_id(text: str) -> bool:
    """Return whether ``text`` has the shape of a transaction id: 32 lower-case hexadecimal digits."""
    return len(text) == _ID_LENGTH and _HEXADECIMAL.issuperset(text)


def record_path(number: int, transaction: str) -> str:
    """Return the path of a history record; in the order of their names records are in the order of writing.

    Beyond the last number, which takes a forged name to reach, the number stays and the ids decide.
    """
    if not is_transaction_id(transaction):
        raise ValueError(f"not a transaction id: {transaction!r}")
    return f"{HISTORY_DIR}/{min(number, 10**_NUMBER_LENGTH - 1):0{_NUMBER_LENGTH}}-{transaction}{_RECORD_SUFFIX}"


def record_number(name: str) -> int | None:
    """Return the number in the file name of a history record; None: no record is named so."""
    number, dash, rest = name.partition("-")
    if not dash or len(number) != _NUMBER_LENGTH or not (number.isascii() and number.isdigit()):
        return None
    transaction = rest.removesuffix(_RECORD_SUFFIX)
    return int(number) if transaction != rest and is_transaction_id(transaction) else None


def object_path(sha256: str) -> str:
    """Return the path of the recorded original or result with this hash; never a name that ends in ``.py``."""
    return f"{STATE_DIR}/objects/{_checked(sha256)[:2]}/{sha256}"


def patch_path(sha256: str) -> str:
    """Return the path of the recorded diff with this hash."""
    return f"{STATE_DIR}/patches/{_checked(sha256)}"


def _checked(sha256: str) -> str:
    if not is_sha256(sha256):
        raise ValueError(f"not a sha256: {sha256!r}")
    return sha256
