"""Names the transaction gives to its own files: every one is built from a transaction id and an edit's index.

Nothing that is read from a journal ever becomes part of such a name unchecked.
"""

from __future__ import annotations

import os

from patchctl.model.layout import (
    HISTORY_DIR,
    JOURNAL_PATH,
    LEDGER_PATH,
    STATE_DIR,
    is_sha256,
    is_transaction_id,
    record_number,
)
from patchctl.model.paths import path_problem

LOCK = "lock"
FORMAT = "format"
JOURNAL = JOURNAL_PATH.rpartition("/")[2]
LEDGER = LEDGER_PATH.rpartition("/")[2]
TMP = "tmp"
NEW = "new"
OBJECTS = "objects"
PATCHES = "patches"
HISTORY = HISTORY_DIR.rpartition("/")[2]
CONTENT = (LOCK, FORMAT, JOURNAL, LEDGER, TMP, OBJECTS, PATCHES, HISTORY)

PROBE = ".patchctl-probe.tmp"
"""The name of the file that is made to see whether a directory can be written, where a nameless one cannot be."""

_TEMP_PREFIX = ".patchctl-"
_PATCHES_PREFIX = f"{STATE_DIR}/{PATCHES}/"
_ID_BYTES = 16


def new_transaction_id() -> str:
    """Return a fresh id: 32 hexadecimal digits that no other transaction has."""
    return os.urandom(_ID_BYTES).hex()


def temp_name(transaction: str, index: int) -> str:
    """Return the name, beside the target, of the new bytes of edit ``index`` until they replace the target.

    For a file that is to be deleted it is an empty file that stands there until the deletion is done.
    """
    return f".patchctl-{transaction}-{index}.tmp"


def copy_name(transaction: str, index: int) -> str:
    """Return the name, beside the target, of the old file's copy where a hard link could not be made."""
    return f".patchctl-{transaction}-{index}.undo"


def restored_name(transaction: str, index: int) -> str:
    """Return the name, beside the target, of an original that is being made anew from its object."""
    return f".patchctl-{transaction}-{index}.old"


def is_temp_name(name: str) -> bool:
    """Return whether ``name`` is one of those that are given beside a target, or the probe's."""
    if name == PROBE:
        return True
    stem, _, ending = name.rpartition(".")
    head, _, index = stem.rpartition("-")
    ours = head.startswith(_TEMP_PREFIX) and is_transaction_id(head[len(_TEMP_PREFIX) :])
    return ours and index.isascii() and index.isdigit() and ending in {"tmp", "undo", "old"}


def undo_path(transaction: str, index: int) -> str:
    """Return the path, relative to the site, of the hard link that keeps the old file of edit ``index``."""
    return f"{STATE_DIR}/{TMP}/{transaction}/{index}"


def is_tmp_name(name: str) -> bool:
    """Return whether a file below a transaction's tmp directory is one we put there."""
    return name == NEW or (name.isascii() and name.isdigit()) or is_sha256(name)


def is_record(path: str) -> bool:
    """Return whether ``path`` (relative to the site) is a history record."""
    directory, _, name = path.rpartition("/")
    return directory == HISTORY_DIR and record_number(name) is not None


def is_state(path: str) -> bool:
    """Return whether ``path`` (relative to the site) is a file of patchctl's own state that a transaction may edit."""
    if path == LEDGER_PATH or is_record(path):
        return True
    return path.startswith(_PATCHES_PREFIX) and is_sha256(path[len(_PATCHES_PREFIX) :])


def edit_problem(path: str) -> str | None:
    """Return why a transaction must not edit ``path``, as ``path_problem`` does; None when it may."""
    return None if is_state(path) else path_problem(path)
