"""What the ledger says of entries that left the files without the operator taking them out: retired, or set aside.

Pure, and as distrustful as ``codec``, which reads and writes everything else.
"""

from __future__ import annotations

from collections.abc import Mapping

from patchctl.ledger.fields import Fields, damaged, text
from patchctl.model.state import EXPECTATIONS, ProvenFix, Retirement, SetAside


def read_retirement(value: object, where: str) -> Retirement:
    """Return the retirement that a JSON value holds; ``where`` is its key path.

    Raises:
        LedgerError: it is none.
    """
    fields = Fields(value, where)
    retirement = Retirement(
        id=fields.text("id"),
        revision=fields.number("revision"),
        builds=_builds(fields),
        fingerprints=_fingerprints(fields),
        fixes=tuple(_fix(*item) for item in fields.items("fixes")),
        retired_at=fields.text("retired_at"),
        over=fields.flag("over") if fields.has("over") else False,
    )
    fields.close()
    return retirement


def retirement_fields(retirement: Retirement) -> dict[str, object]:
    """Return the JSON object of a retirement."""
    return {
        "id": retirement.id,
        "revision": retirement.revision,
        "builds": dict(retirement.builds),
        "fingerprints": dict(retirement.fingerprints),
        "fixes": [{"ref": fix.ref, "evidence": list(fix.evidence)} for fix in retirement.fixes],
        "retired_at": retirement.retired_at,
        # written only where it says something, so that a ledger without it has the bytes it always had
        **({"over": True} if retirement.over else {}),
    }


def read_set_aside(value: object, where: str) -> SetAside:
    """Return the mark that a JSON value holds; ``where`` is its key path.

    Raises:
        LedgerError: it is none.
    """
    fields = Fields(value, where)
    found = SetAside(
        builds=_builds(fields),
        fingerprints=_fingerprints(fields),
        expected=fields.text("expected"),
        since=fields.text("since"),
    )
    fields.close()
    if found.expected not in EXPECTATIONS:
        raise damaged(fields.at("expected"), f"is none of {', '.join(EXPECTATIONS)}")
    return found


def set_aside_fields(mark: SetAside | None) -> Mapping[str, object]:
    """Return what a receipt's JSON object has of the mark: nothing where there is none."""
    if mark is None:
        return {}
    fields = {
        "builds": dict(mark.builds),
        "fingerprints": dict(mark.fingerprints),
        "expected": mark.expected,
        "since": mark.since,
    }
    return {"set_aside": fields}


def _builds(fields: Fields) -> dict[str, str]:
    return {name: text(item, at) for name, item, at in fields.entries("builds")}


def _fingerprints(fields: Fields) -> dict[str, str | None]:
    found = fields.entries("fingerprints")
    return {name: None if item is None else text(item, at) for name, item, at in found}


def _fix(value: object, where: str) -> ProvenFix:
    fields = Fields(value, where)
    fix = ProvenFix(ref=fields.text("ref"), evidence=fields.texts("evidence"))
    fields.close()
    return fix
