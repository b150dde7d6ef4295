"""The journal: what an open transaction is about to do, written before the first file changes, dropped after the last.

Its bytes are not trusted when they are read: size, types, paths, hashes and names are checked before anything acts on
them. Acting on it is the business of ``settle``. It holds no time, no owner and no set-id bits.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from patchctl.disk import NotRegularError, Root, open_root, read_below
from patchctl.documents import DocumentError, clipped, read_json
from patchctl.errors import TargetError, TransactionError
from patchctl.model.files import sha256_hex
from patchctl.model.layout import JOURNAL_PATH, LEDGER_PATH, is_sha256, is_transaction_id
from patchctl.transaction.names import edit_problem, is_state

FORMAT = 1
_SIZE_LIMIT = 16 << 20
_EDIT_LIMIT = 10_000
_PERMISSIONS = 0o777
_TIMES = (1 << 63) * 1_000_000_000
_LONGEST_LINK = 4096


class Stage(str, Enum):
    """How far the transaction may have come: until REPLACE is on the disk, no file has been replaced."""

    PREPARE = "prepare"
    REPLACE = "replace"


class JournalEdit(NamedTuple):
    """One edit as the journal names it.

    Attributes:
        path: POSIX, relative to the site.
        before: sha256 of the old bytes; None: the file was not there.
        after: sha256 of the new bytes; None: the file goes.
        created: directories that are made for it, deepest first.
        prune: directories to remove after the commit when they are empty, deepest first.
        mode: permission bits of the old file, for the case that its undo link is lost; None without old file.
        mtime_ns: modification time of the old file, for the same case.
        new_mode: permission bits that the new file is given; they tell old from new where the bytes stay. None: the
            old file's.
        link: text of the symbolic link that stood there and led to ``before``; ``mtime_ns`` is then its own.
        new_link: text of the symbolic link that is put there.
    """

    path: str
    before: str | None
    after: str | None
    created: tuple[str, ...] = ()
    prune: tuple[str, ...] = ()
    mode: int | None = None
    mtime_ns: int | None = None
    new_mode: int | None = None
    link: str | None = None
    new_link: str | None = None


class Journal(NamedTuple):
    """A transaction.

    Attributes:
        transaction: its id.
        stage: how far it may have come.
        edits: in order, the ledger's last.
        grafts: the top-level names of its paths that lie outside the site -> the absolute directory that holds them.
            Never believed: whoever settles the transaction must have found the same by himself.
    """

    transaction: str
    stage: Stage
    edits: tuple[JournalEdit, ...]
    grafts: Mapping[str, str] = MappingProxyType({})

    @property
    def ledger_after(self) -> str | None:
        """The ledger's sha256 once the transaction is committed: this hash being live is what committed means."""
        return self.edits[-1].after

    @property
    def paths(self) -> tuple[str, ...]:
        """The files of the site it edits, without patchctl's own state."""
        return tuple(edit.path for edit in self.edits if not is_state(edit.path))


class JournalState(NamedTuple):
    """What a reader sees of an open transaction.

    Attributes:
        transaction: its id.
        committed: its ledger is in place and only cleaning up is left; otherwise it will be rolled back.
        paths: the files of the site it edits, POSIX, relative to the site.
    """

    transaction: str
    committed: bool
    paths: tuple[str, ...]


def journal_state(site: str) -> JournalState | None:
    """Look whether a transaction is open, without lock and without writing.

    Args:
        site: absolute path of the site directory.

    Returns:
        None when no journal is there. Read it before and after the files and the ledger: the same answer twice means
        that no transaction came between.

    Raises:
        TransactionError: a journal is there and cannot be read or believed.
        TargetError: ``no-site``.
    """
    try:
        root = open_root(site)
    except OSError as error:
        raise TargetError("no-site", f"{site} cannot be opened: {error.strerror}") from None
    try:
        journal = read_journal(root)
        if journal is None:
            return None
        return JournalState(transaction=journal.transaction, committed=is_committed(root, journal), paths=journal.paths)
    finally:
        os.close(root)


def read_journal(root: Root) -> Journal | None:
    """Return the journal below the site descriptor ``root``; None when there is none; TransactionError as above."""
    try:
        found = read_below(root, JOURNAL_PATH, limit=_SIZE_LIMIT)
    except NotRegularError as error:
        raise _damaged(f"it {error.strerror}") from None
    except OSError as error:
        raise _damaged(f"it cannot be read: {error.strerror}") from None
    return None if found is None else decode_journal(found[0])


def is_committed(root: Root, journal: Journal) -> bool:
    """Return whether the ledger that ``journal`` leads to is the live one."""
    try:
        found = read_below(root, LEDGER_PATH)
    except OSError as error:
        raise _damaged(f"the ledger it speaks of cannot be read: {error.strerror}") from None
    return found is not None and sha256_hex(found[0]) == journal.ledger_after


def encode_journal(journal: Journal) -> bytes:
    """Return the journal's bytes."""
    import json

    edits = [
        {
            "path": edit.path,
            "before": edit.before,
            "after": edit.after,
            "created": list(edit.created),
            "prune": list(edit.prune),
            "mode": edit.mode,
            "mtime_ns": edit.mtime_ns,
            "new_mode": edit.new_mode,
            # written only where there is one, so that a journal without links has the keys it always had
            **({"link": edit.link} if edit.link is not None else {}),
            **({"new_link": edit.new_link} if edit.new_link is not None else {}),
        }
        for edit in journal.edits
    ]
    document: dict[str, object] = {
        "format": FORMAT,
        "transaction": journal.transaction,
        "stage": journal.stage.value,
        "edits": edits,
    }
    if journal.grafts:
        document["grafts"] = dict(journal.grafts)
    return json.dumps(document, indent=1, sort_keys=True).encode("ascii") + b"\n"


def decode_journal(data: bytes) -> Journal:
    """Return the journal in ``data``; raises TransactionError ``damaged-journal`` or ``newer-journal``."""
    try:
        document = read_json(data, limit=_SIZE_LIMIT, strict=True)
    except DocumentError as error:
        raise _damaged(f"it {error.what}") from None
    number = document.get("format") if isinstance(document, dict) else None
    if type(number) is int and number > FORMAT:
        raise TransactionError(
            "newer-journal",
            f"{JOURNAL_PATH} was written by a newer patchctl",
            hint="run `patchctl recover` with the version that wrote it",
            path=JOURNAL_PATH,
        )
    fields = _object(document, {"format", "transaction", "stage", "edits"}, {"grafts"})
    transaction, stage, edits = fields["transaction"], fields["stage"], fields["edits"]
    if type(number) is not int or number != FORMAT:
        raise _damaged("its format is none")
    if not isinstance(transaction, str) or not is_transaction_id(transaction):
        raise _damaged("its transaction id is none")
    if not isinstance(stage, str) or stage not in {Stage.PREPARE.value, Stage.REPLACE.value}:
        raise _damaged("its stage is none")
    if not isinstance(edits, list) or not 0 < len(edits) <= _EDIT_LIMIT:
        raise _damaged("it has no list of edits")
    journal = Journal(
        transaction=transaction,
        stage=Stage(fields["stage"]),
        edits=tuple(_edit(edit) for edit in edits),
        grafts=_grafts(fields.get("grafts", {})),
    )
    _check_whole(journal)
    return journal


def _check_whole(journal: Journal) -> None:
    paths = [edit.path for edit in journal.edits]
    if len(set(paths)) != len(paths):
        raise _damaged("it edits one file twice")
    if paths[-1] != LEDGER_PATH or journal.ledger_after is None:
        raise _damaged("its last edit is not the ledger")


def _edit(value: object) -> JournalEdit:
    keys = {"path", "before", "after", "created", "prune", "mode", "mtime_ns", "new_mode"}
    fields = _object(value, keys, {"link", "new_link"})
    path = fields["path"]
    if not isinstance(path, str) or edit_problem(path) is not None:
        raise _damaged(f"{clipped(repr(path))} is not a path below the site")
    before, after = _hash(fields["before"]), _hash(fields["after"])
    mode, new_mode = (_number(fields[key], 0, _PERMISSIONS + 1) for key in ("mode", "new_mode"))
    if before == after and (before is None or new_mode in {None, mode}):
        raise _damaged(f"the edit of {path} changes nothing")
    return JournalEdit(
        path=path,
        before=before,
        after=after,
        created=_parents(fields["created"], path),
        prune=_parents(fields["prune"], path),
        mode=mode,
        new_mode=new_mode,
        mtime_ns=_number(fields["mtime_ns"], -_TIMES, _TIMES),
        link=_link(fields.get("link")),
        new_link=_link(fields.get("new_link")),
    )


def _link(value: object) -> str | None:
    if value is None or (isinstance(value, str) and 0 < len(value) <= _LONGEST_LINK and "\0" not in value):
        return value
    raise _damaged("the text of a link is none")


def _grafts(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise _damaged("its directories outside the site are none")
    for top, directory in value.items():
        if "/" in top or not isinstance(directory, str) or not directory.startswith("/"):
            raise _damaged("its directories outside the site are none")
    return value


def _object(value: object, keys: set[str], optional: set[str] | frozenset[str] = frozenset()) -> dict[str, object]:
    if not isinstance(value, dict) or not keys <= value.keys() <= keys | optional:
        raise _damaged("it does not have the keys of a journal")
    return value


def _hash(value: object) -> str | None:
    if value is None or (isinstance(value, str) and is_sha256(value)):
        return value
    raise _damaged(f"{clipped(repr(value))} is not a sha256")


def _number(value: object, least: int, below: int) -> int | None:
    if value is None or (type(value) is int and least <= value < below):
        return value
    raise _damaged(f"{clipped(repr(value))} is out of its range")


def _parents(value: object, path: str) -> tuple[str, ...]:
    """Directories on the way to ``path``: no others are ever made or removed."""
    if not isinstance(value, list) or (value and is_state(path)):
        raise _damaged(f"the directories of {path} are none")
    for directory in value:
        if not isinstance(directory, str) or not directory or not path.startswith(f"{directory}/"):
            raise _damaged(f"{clipped(repr(directory))} is not on the way to {path}")
    return tuple(value)


def _damaged(what: str) -> TransactionError:
    return TransactionError(
        "damaged-journal",
        f"{JOURNAL_PATH} cannot be used: {what}",
        hint=f"nothing was changed; compare the files with RECORD, then move {JOURNAL_PATH} away",
        path=JOURNAL_PATH,
    )
