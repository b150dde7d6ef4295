"""The registry as JSON values, for ``list`` and ``show``."""

from __future__ import annotations

from typing import Any

from patchctl.commands import Listing
from patchctl.model import EvidenceItem, Fix
from patchctl.patch import Patch

Json = dict[str, Any]


def listing_json(listing: Listing) -> Json:
    """Return the keys of the document that only these two verbs fill."""
    diffs = dict(listing.diffs)
    return {
        "registries": [{"path": root.path, "name": root.name, "revision": root.revision} for root in listing.roots],
        "entries": [_entry(entry, diffs, detailed=listing.detailed) for entry in listing.entries],
    }


def _entry(entry: Patch, diffs: dict[str, bytes], *, detailed: bool) -> Json:
    brief: Json = {
        "id": entry.id,
        "kind": entry.kind.value,
        "severity": entry.severity.value,
        "title": entry.title,
        "revision": entry.revision,
        "default": entry.default,
        "distributions": list(dict.fromkeys(variant.distribution for variant in entry.variants)),
    }
    if not detailed:
        return brief
    return brief | {
        "why": entry.why,
        "how": entry.how,
        "removal": entry.removal,
        "requires": list(entry.requires),
        "conflicts": list(entry.conflicts),
        "replaces": list(entry.replaces),
        "variants": [
            {
                "distribution": variant.distribution,
                "diff": variant.diff,
                "sha256": variant.sha256,
                "strip": variant.strip,
                "builds": list(variant.rule.builds),
                "versions": variant.rule.versions,
                "label": variant.rule.label if isinstance(variant.rule.label, str) else list(variant.rule.label),
                "text": diffs[variant.diff].decode("utf-8", "replace") if variant.diff in diffs else None,
            }
            for variant in entry.variants
        ],
        "fixes": [_fix(fix) for fix in entry.fixes],
        "avoid": [
            {
                "args": list(avoid.args),
                "env": dict(avoid.env),
                "remove_args": list(avoid.remove_args),
                "when": avoid.when,
                "cost": avoid.cost,
            }
            for avoid in entry.avoid
        ],
        "signal": entry.signal.log if entry.signal is not None else None,
    }


def _fix(fix: Fix) -> Json:
    return {
        "ref": fix.ref,
        "role": fix.role.value,
        "claim": fix.claimed,
        "source": fix.source,
        "note": fix.note,
        "distribution": fix.distribution,
        "evidence": [_evidence(item) for item in fix.evidence],
    }


def _evidence(item: EvidenceItem) -> Json:
    return {
        "file": item.file or None,
        "symbol": item.symbol,
        "contains": item.contains,
        "absent": item.absent,
        "matches": item.matches,
        "diff": item.diff is not None,
        "any": [_evidence(other) for other in item.alternatives],
    }
