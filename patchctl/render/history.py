"""The audit trail in its shapes: JSON, one record a line, and what a person reads. Times appear here and in ``ps``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from patchctl.ledger import History
from patchctl.model.history import HistoryAuthor, HistoryEntry, HistoryRecord
from patchctl.render.departures import proof_lines, retirement_document

_DIGEST = 12
"""Digits of a hash that a person is shown."""


def history_document(history: History) -> list[dict[str, Any]]:
    """Return the records as plain values, oldest first."""
    return [_record(stored.record) for stored in history.records]


def _record(record: HistoryRecord) -> dict[str, Any]:
    moment = record.moment
    return {
        "transaction": record.transaction,
        "at": record.at,
        "author": record.author._asdict(),
        "host": record.host,
        "command": record.command,
        "named": list(record.named),
        "decisions": list(record.decisions),
        "result": record.result,
        "reason": record.reason,
        "entries": [
            {
                "id": entry.id,
                "what": entry.what,
                "revision": entry.revision,
                "diffs": [{"distribution": name, "sha256": sha256} for name, sha256 in entry.diffs],
                "reason": entry.reason,
                "retirement": retirement_document(entry.retirement),
            }
            for entry in record.entries
        ],
        "files": [file._asdict() for file in record.files],
        "registries": [it._asdict() for it in record.registries],
        "omitted_files": record.omitted,
        "boot": None if moment is None else moment.boot,
        "boottime_ns": None if moment is None else moment.boottime_ns,
    }


def history_records(history: History) -> Iterator[tuple[str, ...]]:
    """Return the fields of plain records: one for each transaction, one for each entry and each file of it."""
    for stored in history.records:
        record = stored.record
        yield (
            "transaction",
            record.transaction,
            f"at={record.at}",
            f"by={who_text(record.author)}",
            f"host={record.host or '-'}",
            f"command={command_text(record)}",
            f"result={record.result}",
            f"files={len(record.files) + record.omitted}",
            f"registries={_registries(record) or '-'}",
            f"reason={record.reason or '-'}",
        )
        for entry in record.entries:
            digests = ",".join(sha256 for _, sha256 in entry.diffs) or "-"
            revision = "-" if entry.revision is None else str(entry.revision)
            fields = f"revision={revision}", f"sha256={digests}", f"reason={entry.reason or '-'}"
            yield (entry.what, entry.id, f"transaction={record.transaction}", *fields)
            for line in proof_lines(entry.retirement) if entry.retirement is not None else ():
                yield ("proof", entry.id, f"transaction={record.transaction}", line)
        for file in record.files:
            hashes = f"before={file.before or '-'}", f"after={file.after or '-'}"
            yield ("file", file.path, f"transaction={record.transaction}", *hashes)


def history_lines(history: History) -> Iterator[tuple[str, str, int]]:
    """Return (text, style, level) for a terminal."""
    for stored in history.records:
        record = stored.record
        style = "bold" if record.result == "committed" else "bold yellow"
        yield f"{record.at}  {command_text(record)}: {record.result}", style, 0
        yield f"by {who_text(record.author)} on {record.host or 'a host that is not recorded'}", "", 1
        if record.registries:
            yield f"registry: {_registries(record)}", "", 1
        for entry in record.entries:
            yield entry_text(entry), "", 1
            for line in proof_lines(entry.retirement) if entry.retirement is not None else ():
                yield line, "", 2
        for file in record.files:
            yield file.path, "dim", 1
        if record.omitted:
            yield f"and {record.omitted} more files", "dim", 1
        if record.reason:
            yield f"because: {record.reason}", "", 1
        yield f"transaction {record.transaction}", "dim", 1


def entry_text(entry: HistoryEntry) -> str:
    """Return what became of one entry, in words."""
    parts = [f"{entry.what} {entry.id}"]
    parts += [f"revision {entry.revision}"] if entry.revision is not None else []
    parts += [f"{name} {sha256[:_DIGEST]}" for name, sha256 in entry.diffs]
    parts += [f"({entry.reason})"] if entry.reason else []
    return " ".join(parts)


def who_text(author: HistoryAuthor) -> str:
    """Return who it was, in words."""
    who = f"{author.login or '-'} (uid {author.uid})"
    if author.login_uid is not None and author.login_uid != author.uid:
        who += f", logged in as uid {author.login_uid}"
    # Only an environment variable says so.
    return who if author.sudo_uid is None else f"{who}, SUDO_UID claims {author.sudo_uid}"


def _registries(record: HistoryRecord) -> str:
    said = (f"{it.name} revision {it.revision}{'' if it.path is None else f' ({it.path})'}" for it in record.registries)
    return ", ".join(said)


def command_text(record: HistoryRecord) -> str:
    """Return the command as it was given, without its name."""
    return " ".join((record.command, *record.named, *record.decisions))
