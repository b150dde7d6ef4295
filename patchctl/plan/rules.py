"""What must hold of a stack as a whole, whatever the bytes say: requirements, conflicts, holds, replacements."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from patchctl.verdict import SourceDiff


class Layer(NamedTuple):
    """One entry of the stack that is wanted.

    Attributes:
        id: the entry.
        diffs: what to fold.
        moved: this change brings it in or renews it; otherwise it only keeps what stands of it.
        requires: ids that must be in with it, unless upstream has them.
        conflicts: ids that must not be in with it.
        takes_out: ids that go when it comes in, because it replaces them.
        inside: it will be in as a whole; a lost or drifted entry that merely keeps its receipt is not.
    """

    id: str
    diffs: tuple[SourceDiff, ...]
    moved: bool
    requires: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    takes_out: tuple[str, ...] = ()
    inside: bool = True


class Refusal(NamedTuple):
    """Why an entry cannot be as wanted: nothing of it was planned."""

    id: str
    path: str | None
    reason: str


def broken_rules(stack: Sequence[Layer], *, satisfied: Collection[str], held: Collection[str]) -> Iterator[Refusal]:
    """Yield, for each moved entry of the stack, why it must not go in, if anything forbids it.

    Args:
        stack: every entry that would be in, in fold order.
        satisfied: ids whose change upstream has.
        held: ids that the operator keeps as they are.
    """
    for position, layer in enumerate(stack):
        if layer.moved:
            reason = _broken_rule(layer, position, stack, satisfied, held)
            if reason is not None:
                yield Refusal(id=layer.id, path=None, reason=reason)


def _broken_rule(
    layer: Layer, position: int, stack: Sequence[Layer], satisfied: Collection[str], held: Collection[str]
) -> str | None:
    if layer.id in held:
        return f"it is held: patchctl unhold {layer.id}"
    for id_ in layer.takes_out:
        if id_ in held:
            return f"it replaces {id_}, which is held: patchctl unhold {id_}"
    inside = {other.id for other in stack if other.inside}
    for needed in layer.requires:
        if needed not in inside and needed not in satisfied:
            return f"it requires {needed}, which cannot be brought in"
    for number, other in enumerate(stack):
        clash = other.id in layer.conflicts or layer.id in other.conflicts
        # Of two that come in together the later one gives way.
        if clash and other.id != layer.id and (not other.moved or number < position):
            return f"it conflicts with {other.id}: take one out and hold it"
    for other in stack:
        lost = [id_ for id_ in layer.takes_out if id_ in other.requires and id_ not in satisfied]
        if lost and other.id != layer.id:
            return f"it replaces {lost[0]}, which {other.id} requires"
    return None
