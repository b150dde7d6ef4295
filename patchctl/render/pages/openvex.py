"""An OpenVEX 0.2.0 document: what each CVE that an entry names means for this environment.

One statement a CVE. Where several entries name one, the worst of them is what the environment is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from patchctl import __version__
from patchctl.commands.describe import Described, Standing, standing_of
from patchctl.evidence import FixStatus
from patchctl.model import FixRole
from patchctl.patch import Kind, Patch
from patchctl.render.escape import json_text, visible
from patchctl.render.pages.purl import purl_of
from patchctl.render.words import avoidance, one_line, unsafe
from patchctl.verdict import Assessment, Need, Verdict

_CONTEXT = "https://openvex.dev/ns/v0.2.0"
_MITIGATED = "inline_mitigations_already_exist"
_WORST_FIRST = ("affected", "under_investigation", "not_affected", "fixed")
_NOBODY_KNOWS = frozenset({Verdict.MISSING, Verdict.DRIFTED, Verdict.PARTIAL, Verdict.UNDECIDED, Verdict.CONFLICT})


class _Said(NamedTuple):
    """What one entry says of one CVE: status, why, and for ``affected`` what to do."""

    patch: Patch
    status: str
    note: str
    advice: str = ""


def openvex_document(found: Described) -> str | None:
    """Return the document as JSON; None: no entry that concerns the environment names a CVE."""
    said: dict[str, list[_Said]] = {}
    for entry in found.entries:
        patch = entry.case.patch
        if patch is not None:
            for cve in patch.cve:
                said.setdefault(cve, []).append(_judged(entry, patch))
    if not said:
        return None
    import json
    from uuid import NAMESPACE_URL, uuid5

    document: dict[str, Any] = {
        "@context": _CONTEXT,
        "@id": "",
        "author": "the operator of this environment",
        "role": "operator",
        "timestamp": found.clock.stamp,
        "version": 1,
        "tooling": f"patchctl {__version__}",
        "statements": [_statement(found, cve, said[cve]) for cve in sorted(said)],
    }
    document["@id"] = uuid5(NAMESPACE_URL, _CONTEXT + json.dumps(document)).urn
    return json_text(document)


def _judged(entry: Assessment, patch: Patch) -> _Said:
    """Say what an entry means for its CVE, first that fits."""
    standing = standing_of(entry)
    if entry.need is Need.FIXED:
        refs = ", ".join(
            finding.fix.ref
            for finding in entry.case.fixes
            if finding.fix.role is FixRole.FIXES and finding.status is FixStatus.PROVEN
        )
        return _Said(patch=patch, status="fixed", note=f"the installed files contain {refs or 'the change'}")
    if standing is Standing.IN and patch.kind is Kind.BACKPORT:
        return _Said(patch=patch, status="fixed", note="the upstream fix is back-ported into the installed files")
    if standing is Standing.IN:
        return _Said(patch=patch, status="not_affected", note=f"contained by a local patch: {patch.how}")
    if entry.need is Need.UNKNOWN_BUILD or entry.verdict in _NOBODY_KNOWS:
        return _Said(patch=patch, status="under_investigation", note=entry.reason)
    return _Said(patch=patch, status="affected", note=entry.reason, advice=_advice(entry, patch))


def _advice(entry: Assessment, patch: Patch) -> str:
    words = [f"patchctl apply {entry.id}"] if patch.kind is not Kind.ADVISORY else []
    words = [f"patchctl unhold {entry.id}, then {word}" for word in words] if entry.need is Need.HELD else words
    words += [f"start it with {avoidance(avoid)}" for avoid in patch.avoid if unsafe(avoid, patch) is None]
    return "; or ".join(words) or "see patchctl status"


def _statement(found: Described, cve: str, said: Sequence[_Said]) -> dict[str, Any]:
    status = next(status for status in _WORST_FIRST if any(it.status == status for it in said))
    names = dict.fromkeys(name for it in said for name in it.patch.distributions)
    products = [purl_of(name, build) for name in names if (build := found.builds.get(name)) is not None]
    notes = "; ".join(f"{it.patch.id}: {it.note}" for it in said)
    statement: dict[str, Any] = {
        "vulnerability": {"name": cve},
        "products": [{"@id": purl, "identifiers": {"purl": purl}} for purl in products],
        "status": status,
        "status_notes": visible(one_line(notes)),
    }
    if status == "not_affected":
        statement["justification"] = _MITIGATED
    if status == "affected":
        advice = "; ".join(it.advice for it in said if it.advice)
        statement["action_statement"] = visible(one_line(advice))
    return statement
