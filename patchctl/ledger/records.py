"""A history record's bytes: one JSON object, the same bytes for the same record.

Pure: bytes in, values out. What is read is not trusted: size and types are checked. Keys that this version does not
know are passed over, since a record is never written again. Which records there are is the business of ``history``.
"""

from __future__ import annotations

from patchctl.ledger.departures import read_retirement, retirement_fields
from patchctl.ledger.fields import Fields, damaged, parse_json
from patchctl.model.history import HistoryAuthor, HistoryEntry, HistoryFile, HistoryRecord, HistoryRegistry, Moment
from patchctl.model.layout import is_sha256, is_transaction_id
from patchctl.model.paths import path_problem
from patchctl.model.state import Retirement

FORMAT = 1
SIZE_LIMIT = 1 << 20
_LONGEST_REASON = 2000
_MOST_FILES = 2000
_RESULTS = frozenset({"committed", "rolled-back", "finished"})


def encode_record(record: HistoryRecord) -> bytes:
    """Return the record's file: sorted keys, ASCII, a final newline.

    Files beyond the first 2,000, or all where even those are too many for :data:`SIZE_LIMIT`, are counted, not named.
    """
    data = _encode(_bounded(record, _MOST_FILES))
    return data if len(data) <= SIZE_LIMIT else _encode(_bounded(record, 0))


def _bounded(record: HistoryRecord, most: int) -> HistoryRecord:
    left = len(record.files) - most
    reason = record.reason if record.reason is None else record.reason[:_LONGEST_REASON]
    if left <= 0:
        return record._replace(reason=reason)
    return record._replace(reason=reason, files=record.files[:most], omitted=record.omitted + left)


def _encode(record: HistoryRecord) -> bytes:
    import json

    moment = record.moment
    document = {
        "format": FORMAT,
        "transaction": record.transaction,
        "at": record.at,
        "author": record.author._asdict(),
        "host": record.host,
        "command": record.command,
        "result": record.result,
        "named": list(record.named),
        "decisions": list(record.decisions),
        "entries": [
            {
                "id": entry.id,
                "what": entry.what,
                "revision": entry.revision,
                "diffs": [{"distribution": name, "sha256": sha256} for name, sha256 in entry.diffs],
                "reason": entry.reason,
                **({} if entry.retirement is None else {"retirement": retirement_fields(entry.retirement)}),
            }
            for entry in record.entries
        ],
        "files": [file._asdict() for file in record.files],
        "omitted": record.omitted,
        "reason": record.reason,
        "moment": None if moment is None else moment._asdict(),
        **({"registries": [it._asdict() for it in record.registries]} if record.registries else {}),
    }
    return json.dumps(document, indent=1, sort_keys=True, allow_nan=False).encode("ascii") + b"\n"


def decode_record(data: bytes) -> HistoryRecord:
    """Return the record in ``data``; raises LedgerError for anything that is none, or is of a newer format."""
    fields = Fields(parse_json(data, SIZE_LIMIT), "")
    number = fields.number("format", least=1)
    if number > FORMAT:
        raise damaged("format", f"is {number}; this patchctl knows formats up to {FORMAT}")
    transaction, result = fields.text("transaction"), fields.text("result")
    if not is_transaction_id(transaction):
        raise damaged("transaction", "is not an id")
    if result not in _RESULTS:
        raise damaged("result", "is none")
    moment = fields.take("moment")
    return HistoryRecord(
        transaction=transaction,
        at=fields.text("at"),
        author=_author(fields.take("author")),
        host=fields.optional_text("host"),
        command=fields.text("command"),
        result=result,
        named=fields.texts("named"),
        decisions=fields.texts("decisions"),
        entries=tuple(_entry(*item) for item in fields.items("entries")),
        files=tuple(_file(*item) for item in fields.items("files")),
        omitted=fields.number("omitted"),
        reason=fields.optional_text("reason"),
        moment=None if moment is None else _moment(moment),
        registries=tuple(_registry(*it) for it in fields.items("registries")) if fields.has("registries") else (),
    )


def _registry(value: object, where: str) -> HistoryRegistry:
    fields = Fields(value, where)
    path = fields.optional_text("path") if fields.has("path") else None
    return HistoryRegistry(name=fields.text("name"), revision=fields.number("revision"), path=path)


def _author(value: object) -> HistoryAuthor:
    fields = Fields(value, "author")
    return HistoryAuthor(
        uid=fields.number("uid"),
        login=fields.optional_text("login"),
        login_uid=fields.optional_number("login_uid"),
        sudo_uid=fields.optional_number("sudo_uid"),
    )


def _entry(value: object, where: str) -> HistoryEntry:
    fields = Fields(value, where)
    return HistoryEntry(
        id=fields.text("id"),
        what=fields.text("what"),
        revision=fields.optional_number("revision"),
        diffs=tuple(_diff(*item) for item in fields.items("diffs")),
        reason=fields.optional_text("reason"),
        retirement=_retirement(fields),
    )


def _retirement(fields: Fields) -> Retirement | None:
    key = "retirement"
    return read_retirement(fields.take(key), fields.at(key)) if fields.has(key) else None


def _diff(value: object, where: str) -> tuple[str, str]:
    fields = Fields(value, where)
    return fields.text("distribution"), _sha256(fields.text("sha256"), fields.at("sha256"))


def _file(value: object, where: str) -> HistoryFile:
    fields = Fields(value, where)
    before, after = fields.optional_text("before"), fields.optional_text("after")
    return HistoryFile(
        path=_path(fields.text("path"), fields.at("path")),
        before=None if before is None else _sha256(before, fields.at("before")),
        after=None if after is None else _sha256(after, fields.at("after")),
    )


def _path(value: str, where: str) -> str:
    problem = path_problem(value)
    if problem is not None:
        raise damaged(where, f"is not a path patchctl edits: it {problem}")
    return value


def _moment(value: object) -> Moment:
    fields = Fields(value, "moment")
    return Moment(
        boot=fields.optional_text("boot"),
        boottime_ns=fields.number("boottime_ns"),
        realtime_ns=fields.number("realtime_ns"),
    )


def _sha256(value: str, where: str) -> str:
    if not is_sha256(value):
        raise damaged(where, "is not a sha256")
    return value
