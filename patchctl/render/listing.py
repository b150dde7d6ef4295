"""The registry, for ``list`` and ``show``: as JSON values, and on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from patchctl.commands import Listing
from patchctl.model import BuildRule, EvidenceItem, Fix
from patchctl.patch import Avoid, Patch, Trigger
from patchctl.render.console import print_blank, print_diff, print_field, print_line
from patchctl.render.words import avoidance, evidence_text, one_line, trigger_text, unsafe

if TYPE_CHECKING:
    from rich.console import Console

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
        "cve": list(entry.cve),
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
                "hardware": list(avoid.hardware),
                **_builds(avoid.rule),
            }
            for avoid in entry.avoid
        ],
        "triggers": [_trigger(trigger) for trigger in entry.triggers],
        "signal": entry.signal.log if entry.signal is not None else None,
    }


def _builds(rule: BuildRule | None) -> Json:
    if rule is None:
        return {"versions": None, "label": None}
    return {"versions": rule.versions, "label": rule.label if isinstance(rule.label, str) else list(rule.label)}


def _trigger(trigger: Trigger) -> Json:
    return {
        "model": list(trigger.model),
        "args": {name: it if isinstance(it, bool) else list(it) for name, it in trigger.args.items()},
        "json": {name: {key: list(globs) for key, globs in keys.items()} for name, keys in trigger.json.items()},
        "env": {name: list(globs) for name, globs in trigger.env.items()},
        "hardware": list(trigger.hardware),
        **_builds(trigger.rule),
        "note": trigger.note,
        "doubt": trigger.doubt,
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


def print_listing(console: Console, listing: Listing) -> None:
    """Print the registries and their entries, with every detail where these were asked for."""
    for root in listing.roots:
        print_line(console, f"registry {root.name} revision {root.revision} ({root.path})", style="bold")
    print_blank(console)
    for entry in listing.entries:
        print_line(console, entry.id, style="bold")
        default = "default" if entry.default else "only by name or with --all"
        print_field(console, "title", entry.title)
        print_field(
            console, "kind", f"{entry.kind.value}, {entry.severity.value}, revision {entry.revision}, {default}"
        )
        if listing.detailed:
            _print_details(console, entry, listing)
        print_blank(console)


def _print_details(console: Console, entry: Patch, listing: Listing) -> None:
    for key in ("why", "how", "removal"):
        print_field(console, key, one_line(getattr(entry, key)))
    for trigger in entry.triggers:
        print_field(console, "trigger", trigger_text(trigger))
    for avoid in entry.avoid:
        _print_avoid(console, avoid, entry)
    if entry.signal is not None:
        print_field(console, "signal", entry.signal.log)
    for relation in ("cve", "requires", "conflicts", "replaces"):
        if getattr(entry, relation):
            print_field(console, relation, ", ".join(getattr(entry, relation)), labels=9)
    for variant in entry.variants:
        label = variant.rule.label if isinstance(variant.rule.label, str) else ", ".join(variant.rule.label)
        builds = [*variant.rule.builds]
        builds += [f"{variant.rule.versions} with label {label}"] if variant.rule.versions else []
        print_field(console, "builds", f"{variant.distribution} {'; '.join(builds)} -> {variant.diff or 'no diff'}")
    for fix in entry.fixes:
        _print_fix(console, fix)
    for name, text in listing.diffs:
        print_blank(console)
        print_line(console, name, style="bold")
        print_diff(console, text)


def _print_avoid(console: Console, avoid: Avoid, entry: Patch) -> None:
    print_field(console, "avoid", avoidance(avoid) or "(no flag avoids it)")
    problem = unsafe(avoid, entry)
    if problem is not None:
        print_field(console, "but", problem, style="yellow")
    print_field(console, "when", one_line(avoid.when))
    print_field(console, "cost", one_line(avoid.cost))


def _print_fix(console: Console, fix: Fix) -> None:
    claim = f"claimed {fix.claimed}" if fix.claimed else "claimed for no version"
    print_field(console, "fix", f"{fix.ref} ({fix.role.value}): {claim}")
    for text in (fix.note, fix.source):
        if text:
            print_field(console, "", one_line(text))
    for item in fix.evidence:
        print_field(console, "proof", evidence_text(item))
