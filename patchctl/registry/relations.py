"""What entries say of each other, checked once all are known: equal ids, requirements, replacements.

A problem here is a finding about one key of one entry; which file and line that is, ``load`` looks up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from patchctl.patch import Kind, Patch


class Finding(NamedTuple):
    """One thing wrong between entries.

    Attributes:
        patch: the entry that says it.
        key: where it says it.
        code: kebab-case word.
        message: one sentence.
        hint: what to do.
        usable: the entry can still be judged; otherwise nobody may use it.
    """

    patch: Patch
    key: str
    code: str
    message: str
    hint: str
    usable: bool = False


def check_relations(patches: Sequence[Patch]) -> tuple[tuple[Patch, ...], tuple[Finding, ...]]:
    """Return the entries that may be used, in their order, and everything that is wrong between entries."""
    findings = list(_equal_ids(patches))
    working = _without(patches, findings)
    by_id = {patch.id: patch for patch in working}
    findings += _circles(by_id, "requires")
    findings += _circles(by_id, "replaces")
    findings += _foreign_replacements(by_id)
    working = _without(working, findings)
    findings += _missing_requirements(working)
    return tuple(working), tuple(findings)


def replaced_ids(patch: Patch, by_id: Mapping[str, Patch]) -> tuple[str, ...]:
    """Return the ids of the entries whose place ``patch`` takes, also over entries between them."""
    waiting, replaced = list(patch.replaces), dict[str, None]()
    while waiting:
        id_ = waiting.pop()
        if id_ not in replaced:
            replaced[id_] = None
            waiting += by_id[id_].replaces if id_ in by_id else ()
    return tuple(replaced)


def _without(patches: Sequence[Patch], findings: Sequence[Finding]) -> list[Patch]:
    refused = {(finding.patch.registry, finding.patch.folder) for finding in findings if not finding.usable}
    return [patch for patch in patches if (patch.registry, patch.folder) not in refused]


def _equal_ids(patches: Sequence[Patch]) -> Iterator[Finding]:
    """None of the entries with one id is used: an added one must not take the place of a trusted one."""
    counts = Counter(patch.id for patch in patches)
    for patch in patches:
        if counts[patch.id] > 1:
            others = [other.folder for other in patches if other.id == patch.id and other is not patch]
            message = f"the id {patch.id} is taken more than once, so that none of them is used; also in {others[0]}"
            yield Finding(
                patch=patch, key="id", code="duplicate-id", message=message, hint="rename the entry, or leave one out"
            )


def _circles(by_id: Mapping[str, Patch], relation: str) -> Iterator[Finding]:
    names = {name: _named(patch, relation) for name, patch in by_id.items()}
    for name, patch in by_id.items():
        for index, other in enumerate(names[name]):
            if name in _reachable(other, names):
                yield Finding(
                    patch=patch,
                    key=f"{relation}[{index}]",
                    code=f"{relation}-in-a-circle",
                    message=f"{name} {relation} {other}, and {other} in turn {relation} {name}",
                    hint="take one of them out of the circle",
                )


def _named(patch: Patch, relation: str) -> tuple[str, ...]:
    return patch.requires if relation == "requires" else patch.replaces


def _reachable(start: str, names: Mapping[str, Sequence[str]]) -> set[str]:
    """Every id that ``start`` names, or one of those names, and so on."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for name in names.get(waiting.pop(), ()):
            if name not in found:
                found.add(name)
                waiting.append(name)
    return found


def _foreign_replacements(by_id: Mapping[str, Patch]) -> Iterator[Finding]:
    """An added registry must not switch off what another one protects."""
    for patch in by_id.values():
        for index, name in enumerate(patch.replaces):
            other = by_id.get(name)
            if other is not None and other.registry != patch.registry:
                yield Finding(
                    patch=patch,
                    key=f"replaces[{index}]",
                    code="replaces-across-registries",
                    message=f"{patch.id} replaces {name}, which belongs to another registry: {other.registry}",
                    hint=f"hold {name} instead: patchctl hold {name} --reason ...",
                )


def _missing_requirements(working: Sequence[Patch]) -> Iterator[Finding]:
    by_id = {patch.id: patch for patch in working}
    for patch in working:
        for index, name in enumerate(patch.requires):
            other = by_id.get(name)
            if other is not None and other.kind is not Kind.ADVISORY:
                continue
            lacking = "which is not among the working entries" if other is None else "an advisory, which is never in"
            yield Finding(
                patch=patch,
                key=f"requires[{index}]",
                code="missing-requirement",
                message=f"{patch.id} requires {name}, {lacking}",
                hint="correct the id, or mend that entry",
                usable=True,
            )
