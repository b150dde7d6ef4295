"""Entries that are out although nobody reverted them, and what to run next, in their shapes: JSON, records, lines.

No times here: what is set aside or retired now is the same at any time. The history has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from patchctl.model import Receipt, Retirement


def set_aside_document(receipt: Receipt | None) -> dict[str, Any] | None:
    """Return the mark of an entry that was taken out for an upgrade; None: it was not."""
    mark = receipt.set_aside if receipt is not None else None
    if mark is None:
        return None
    return {"builds": dict(mark.builds), "fingerprints": dict(mark.fingerprints), "expected": mark.expected}


def retirement_document(retirement: Retirement | None) -> dict[str, Any] | None:
    """Return the proof of a retirement; None: there was none."""
    if retirement is None:
        return None
    return {
        "revision": retirement.revision,
        "builds": dict(retirement.builds),
        "fingerprints": dict(retirement.fingerprints),
        "fixes": [{"ref": fix.ref, "evidence": list(fix.evidence)} for fix in retirement.fixes],
    }


def proof_lines(retirement: Retirement) -> Iterator[str]:
    """Return the proof in words: where, then what was proven by what."""
    for name, build in retirement.builds.items():
        fingerprint = retirement.fingerprints.get(name)
        yield f"in {name} {build}" + (f", fingerprint {fingerprint}" if fingerprint is not None else "")
    for fix in retirement.fixes:
        yield f"{fix.ref}: {'; '.join(fix.evidence) or 'no evidence'}"


def step_records(steps: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Return the fields of one record a command."""
    for number, step in enumerate(steps, start=1):
        yield ("step", str(number), step)
