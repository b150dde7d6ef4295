"""The ledger's bytes: JSON with a format number, the same bytes for the same state.

Pure: bytes in, values out. What is read is not trusted: types, paths and hashes are checked, set-id bits dropped.
"""

from __future__ import annotations

import binascii
from collections.abc import Mapping

from patchctl.errors import LedgerError
from patchctl.ledger.departures import read_retirement, read_set_aside, retirement_fields, set_aside_fields
from patchctl.ledger.fields import TIMES, Fields, damaged, parse_json, text
from patchctl.model.files import Link, sha256_hex
from patchctl.model.layout import LEDGER_PATH, is_own_xattr, is_sha256
from patchctl.model.listing import Baseline
from patchctl.model.paths import path_problem
from patchctl.model.state import FileFact, Hold, LedgerState, Receipt, ReceiptDiff, RegistryPlace, SetAside

FORMAT = 2
"""2: receipts name the registry that their entry came from. Where none does a ledger is of format 1, as before."""

SIZE_LIMIT = 16 << 20
_PERMISSIONS = 0o777
_LONGEST_LINK = 4096
_XATTRS_LIMIT = 1 << 20


def decode_ledger(data: bytes) -> LedgerState:
    """Return the state that a ledger file's bytes record.

    Args:
        data: the whole file.

    Raises:
        LedgerError: ``newer-ledger`` for a format this version does not know, ``damaged-ledger`` for anything that is
            not a ledger: wrong types, unknown keys, a path that leaves the site.
    """
    fields = Fields(parse_json(data, SIZE_LIMIT), "")
    number = fields.number("format", least=1)
    if number > FORMAT:
        raise LedgerError(
            "newer-ledger",
            f"{LEDGER_PATH} has format {number}; this patchctl knows formats up to {FORMAT}",
            hint="use the patchctl version that wrote it, or a newer one",
            path=LEDGER_PATH,
        )
    state = LedgerState(
        receipts=tuple(_receipt(*item) for item in fields.items("receipts")),
        files={path: _file(path, value, where) for path, value, where in fields.entries("files")},
        holds={name: _hold(name, value, where) for name, value, where in fields.entries("holds")},
        retirements=tuple(read_retirement(*item) for item in fields.items("retirements")),
        last_second=fields.number("last_second"),
        sha256=sha256_hex(data),
        baselines=_baselines(fields),
    )
    fields.close()
    if len({receipt.id for receipt in state.receipts}) != len(state.receipts):
        raise damaged("receipts", "name one entry twice")
    return state


def encode_ledger(state: LedgerState) -> bytes:
    """Return the ledger file for ``state``: sorted keys, ASCII, a final newline; ``state.sha256`` plays no part.

    Raises:
        LedgerError: ``damaged-ledger`` when the state could not be read back, so that no ledger is ever committed
            that locks its owner out.
    """
    import json

    document = {
        "format": FORMAT if any(receipt.registry is not None for receipt in state.receipts) else 1,
        "receipts": [_receipt_fields(receipt) for receipt in state.receipts],
        "files": {path: _file_fields(fact) for path, fact in state.files.items()},
        "holds": {name: {"reason": hold.reason, "since": hold.since} for name, hold in state.holds.items()},
        "retirements": [retirement_fields(retirement) for retirement in state.retirements],
        "last_second": state.last_second,
        **_baseline_fields(state.baselines),
    }
    data = json.dumps(document, indent=1, sort_keys=True, allow_nan=False).encode("ascii") + b"\n"
    decode_ledger(data)
    return data


def _receipt(value: object, where: str) -> Receipt:
    fields = Fields(value, where)
    receipt = Receipt(
        id=fields.text("id"),
        kind=fields.text("kind"),
        title=fields.text("title"),
        revision=fields.number("revision"),
        diffs=tuple(_diff(*item) for item in fields.items("diffs")),
        requires=fields.texts("requires"),
        conflicts=fields.texts("conflicts"),
        assumed=fields.optional_text("assumed"),
        despite_fix=fields.flag("despite_fix"),
        applied_at=fields.text("applied_at"),
        set_aside=_set_aside(fields),
        registry=_registry(fields),
    )
    fields.close()
    return receipt


def _receipt_fields(receipt: Receipt) -> dict[str, object]:
    return {
        "id": receipt.id,
        "kind": receipt.kind,
        "title": receipt.title,
        "revision": receipt.revision,
        "diffs": [
            {
                "distribution": diff.distribution,
                "diff": diff.diff,
                "sha256": diff.sha256,
                "strip": diff.strip,
                "build": diff.build,
                "rule": diff.rule,
            }
            for diff in receipt.diffs
        ],
        "requires": list(receipt.requires),
        "conflicts": list(receipt.conflicts),
        "assumed": receipt.assumed,
        "despite_fix": receipt.despite_fix,
        "applied_at": receipt.applied_at,
        **set_aside_fields(receipt.set_aside),
        **({} if receipt.registry is None else {"registry": _registry_fields(receipt.registry)}),
    }


def _registry_fields(place: RegistryPlace) -> dict[str, object]:
    return {"name": place.name, "bundled": place.bundled, "path": place.path}


def _registry(fields: Fields) -> RegistryPlace | None:
    key = "registry"
    if not fields.has(key):
        return None
    inside = Fields(fields.take(key), fields.at(key))
    place = RegistryPlace(name=inside.text("name"), bundled=inside.flag("bundled"), path=inside.optional_text("path"))
    inside.close()
    return place


def _set_aside(fields: Fields) -> SetAside | None:
    key = "set_aside"
    return read_set_aside(fields.take(key), fields.at(key)) if fields.has(key) else None


def _diff(value: object, where: str) -> ReceiptDiff:
    fields = Fields(value, where)
    diff = ReceiptDiff(
        distribution=fields.text("distribution"),
        diff=fields.text("diff"),
        sha256=_hash(fields.text("sha256"), fields.at("sha256")),
        strip=fields.number("strip"),
        build=fields.text("build"),
        rule=fields.text("rule"),
    )
    fields.close()
    return diff


def _file(path: str, value: object, where: str) -> FileFact:
    fields = Fields(value, where)
    base, result = fields.optional_text("base"), fields.optional_text("result")
    mode = fields.optional_number("base_mode", below=1 << 16)
    result_mode = fields.number("result_mode", below=1 << 16) if fields.has("result_mode") else None
    fact = FileFact(
        path=_path(path, where),
        distribution=fields.text("distribution"),
        fingerprint=fields.optional_text("fingerprint"),
        base=None if base is None else _hash(base, fields.at("base")),
        result=None if result is None else _hash(result, fields.at("result")),
        base_mode=None if mode is None else mode & _PERMISSIONS,
        result_mode=None if result_mode is None else result_mode & _PERMISSIONS,
        base_mtime_ns=fields.optional_number("base_mtime_ns", least=-TIMES, below=TIMES),
        base_link=_link(fields.take("base_link"), fields.at("base_link")) if fields.has("base_link") else None,
        base_xattrs=_xattrs(fields) if fields.has("base_xattrs") else (),
        created_dirs=tuple(_parent(text(item, at), path, at) for item, at in fields.items("created_dirs")),
        entries=fields.texts("entries"),
    )
    fields.close()
    return fact


def _file_fields(fact: FileFact) -> dict[str, object]:
    # written only where it says something, so that a ledger without it has the bytes it always had
    extra: dict[str, object] = {}
    if fact.result_mode is not None:
        extra["result_mode"] = fact.result_mode & _PERMISSIONS
    if fact.base_link is not None:
        extra["base_link"] = {"target": fact.base_link.target, "mtime_ns": fact.base_link.mtime_ns}
    if fact.base_xattrs:
        extra["base_xattrs"] = {key: binascii.hexlify(value).decode("ascii") for key, value in fact.base_xattrs}
    return {
        "distribution": fact.distribution,
        "fingerprint": fact.fingerprint,
        "base": fact.base,
        "result": fact.result,
        "base_mode": None if fact.base_mode is None else fact.base_mode & _PERMISSIONS,
        "base_mtime_ns": fact.base_mtime_ns,
        "created_dirs": list(fact.created_dirs),
        "entries": list(fact.entries),
        **extra,
    }


def _link(value: object, where: str) -> Link:
    fields = Fields(value, where)
    link = Link(target=fields.text("target"), mtime_ns=fields.number("mtime_ns", least=-TIMES, below=TIMES))
    fields.close()
    if not 0 < len(link.target) <= _LONGEST_LINK or "\0" in link.target:
        raise damaged(fields.at("target"), "is not the text of a link")
    return link


def _xattrs(fields: Fields) -> tuple[tuple[str, bytes], ...]:
    """Attributes that a file may be given; what could give it privileges is in no ledger that we wrote."""
    found = []
    for key, value, where in fields.entries("base_xattrs"):
        if not is_own_xattr(key):
            raise damaged(where, "is not an attribute that patchctl sets")
        try:
            found.append((key, binascii.unhexlify(text(value, where))))
        except ValueError:
            raise damaged(where, "is not hexadecimal") from None
    if sum(len(value) for _, value in found) > _XATTRS_LIMIT:
        raise damaged(fields.at("base_xattrs"), "is too large")
    return tuple(sorted(found))


def _hold(name: str, value: object, where: str) -> Hold:
    fields = Fields(value, where)
    hold = Hold(id=name, reason=fields.text("reason"), since=fields.text("since"))
    fields.close()
    return hold


def _baselines(fields: Fields) -> dict[str, Baseline]:
    if not fields.has("baselines"):
        return {}
    return {name: _baseline(name, value, where) for name, value, where in fields.entries("baselines")}


def _baseline(name: str, value: object, where: str) -> Baseline:
    fields = Fields(value, where)
    fingerprint = fields.optional_text("fingerprint")
    baseline = Baseline(
        distribution=name,
        build=fields.text("build"),
        fingerprint=None if fingerprint is None else _hash(fingerprint, fields.at("fingerprint")),
        absent=fields.texts("absent"),  # compared with RECORD's rows, never opened
        recorded_at=fields.text("recorded_at"),
    )
    fields.close()
    return baseline


def _baseline_fields(baselines: Mapping[str, Baseline]) -> dict[str, object]:
    # written only where there is one, so that a ledger without it has the bytes it always had
    if not baselines:
        return {}
    return {
        "baselines": {
            name: {
                "build": baseline.build,
                "fingerprint": baseline.fingerprint,
                "absent": list(baseline.absent),
                "recorded_at": baseline.recorded_at,
            }
            for name, baseline in baselines.items()
        }
    }


def _hash(value: str, where: str) -> str:
    if not is_sha256(value):
        raise damaged(where, "is not a sha256")
    return value


def _path(path: str, where: str) -> str:
    problem = path_problem(path)
    if problem is not None:
        raise damaged(where, f"is not a path patchctl edits: it {problem}")
    return path


def _parent(directory: str, path: str, where: str) -> str:
    """Return ``directory`` when it lies on the way to ``path``: whatever is listed here may be removed one day."""
    if not directory or not path.startswith(f"{directory}/"):
        raise damaged(where, f"is not on the way to {path}")
    return directory
