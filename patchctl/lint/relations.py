"""What an entry says of others that no loader refuses: names that mean nobody, and demands that cannot be met."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from patchctl.lint.values import Finding, error, warning
from patchctl.patch import Patch


def relation_findings(patch: Patch, others: Mapping[str, Patch], known: Collection[str]) -> Iterator[Finding]:
    """Return what is wrong with an entry's relations.

    Args:
        patch: the entry.
        others: every entry that loads, by id.
        known: ids of every entry, broken ones included.
    """
    for index, name in enumerate(patch.conflicts):
        if name not in known:
            message = f"{patch.id} conflicts with {name}, and no entry is called so"
            yield warning("unknown-conflict", message, f"conflicts[{index}]", "correct the id, or leave it out")
    stack = _stack(patch, others)
    for first in stack.values():
        for name in first.conflicts:
            if name in stack and first.id != name:
                message = f"{patch.id} can never be in: it needs {first.id} and {name}, and these exclude each other"
                wrong = (first.id, name)
                index = next(at for at, required in enumerate(patch.requires) if _leads_to(required, wrong, others))
                yield error("never-in", message, f"requires[{index}]", "drop one of the requirements")
                return


def _stack(patch: Patch, others: Mapping[str, Patch]) -> dict[str, Patch]:
    """The entry and everything that must be in for it, also over entries between them."""
    found = {patch.id: patch}
    waiting = list(patch.requires)
    while waiting:
        name = waiting.pop()
        if name in others and name not in found:
            found[name] = others[name]
            waiting += others[name].requires
    return found


def _leads_to(start: str, names: Collection[str], others: Mapping[str, Patch]) -> bool:
    return start in others and any(name in names for name in _stack(others[start], others))
