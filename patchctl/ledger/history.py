"""The history of a site: which records there are, in order, and which path the next one gets. Nothing here writes.

A record that cannot be used is a problem of its own and hides no other; a directory that cannot be used is a reason
not to record, never a reason not to work.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from patchctl.disk import NotRegularError, open_parent, open_root, read_below
from patchctl.errors import LedgerError, Problem
from patchctl.ledger.records import SIZE_LIMIT, decode_record
from patchctl.model.history import StoredRecord
from patchctl.model.layout import HISTORY_DIR, LEDGER_PATH, record_number, record_path

_MOST = 10_000
"""Records that are read at most, the newest."""


class History(NamedTuple):
    """What is recorded.

    Attributes:
        records: oldest first.
        problems: what cannot be used, ``damaged-history``.
        omitted: older records that were not read.
    """

    records: tuple[StoredRecord, ...] = ()
    problems: tuple[Problem, ...] = ()
    omitted: int = 0


def read_history(site: str, *, last: int = _MOST) -> History:
    """Return the newest ``last`` records of ``site`` (absolute path), oldest first."""
    try:
        names = record_names(site)
    except OSError as error:
        return History(problems=(_unusable(HISTORY_DIR, f"it cannot be read: {error.strerror}"),))
    records: list[StoredRecord] = []
    problems = []
    for name in names[len(names) - min(last, _MOST, len(names)) :]:
        found = _read(site, f"{HISTORY_DIR}/{name}")
        if isinstance(found, Problem):
            problems.append(found)
        elif found is not None:
            records.append(found)
    return History(records=tuple(records), problems=tuple(problems), omitted=max(len(names) - min(last, _MOST), 0))


def last_change(site: str) -> StoredRecord | None:
    """Return the newest record of a transaction that changed files of the site; None: there is none to be read."""
    try:
        names = record_names(site)
    except OSError:
        return None
    for name in names[: -_MOST - 1 : -1]:
        found = _read(site, f"{HISTORY_DIR}/{name}")
        if isinstance(found, StoredRecord) and found.record.touched_files:
            return found
    return None


def next_record_path(site: str, transaction: str) -> str | Problem:
    """Return where the record of ``transaction`` goes, relative to the site; a Problem: nowhere, and why.

    Args:
        site: absolute path of the site directory.
        transaction: its id.
    """
    try:
        names = record_names(site)
    except OSError as error:
        return _unusable(HISTORY_DIR, f"it cannot be read: {error.strerror}")
    if not _writable(site):
        return _unusable(HISTORY_DIR, "it cannot be written")
    number = record_number(names[-1]) if names else 0
    return record_path((number or 0) + 1, transaction)


def record_names(site: str) -> Sequence[str]:
    """Return the names of records, in order; none where there is no directory yet. NotRegularError where it is none."""
    root = open_root(site)
    try:
        directory, _ = open_parent(root, f"{HISTORY_DIR}/.")
    except FileNotFoundError:
        return ()
    finally:
        os.close(root)
    try:
        return sorted(name for name in os.listdir(directory) if record_number(name) is not None)
    finally:
        os.close(directory)


def _writable(site: str) -> bool:
    """Return whether records can be written; where there is no directory yet that is the state directory's business."""
    root = open_root(site)
    try:
        directory, _ = open_parent(root, f"{HISTORY_DIR}/.")
    except FileNotFoundError:
        return True
    finally:
        os.close(root)
    try:
        return os.access(".", os.W_OK | os.X_OK, dir_fd=directory, effective_ids=True)
    finally:
        os.close(directory)


def _read(site: str, path: str) -> StoredRecord | Problem | None:
    try:
        root = open_root(site)
        try:
            found = read_below(root, path, limit=SIZE_LIMIT)
        finally:
            os.close(root)
    except NotRegularError as error:
        return _unusable(path, f"it {error.strerror}")
    except OSError as error:
        return _unusable(path, f"it cannot be read: {error.strerror}")
    if found is None:
        return None
    try:
        record = decode_record(found[0])
    except LedgerError as error:
        return _unusable(path, error.problem.message.removeprefix(f"{LEDGER_PATH} cannot be used: "))
    if record.transaction not in path:
        return _unusable(path, "it speaks of another transaction than its name")
    return StoredRecord(path=path, placed_ns=found[1].st_ctime_ns, record=record)


def _unusable(path: str, why: str) -> Problem:
    return Problem(
        code="damaged-history",
        message=f"{path} cannot be used: {why}",
        hint="it is left as it is; everything else works without it",
        path=path,
    )
