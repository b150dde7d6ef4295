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
        returns: it was set aside for an upgrade, and comes back: a hold says that it stays as it was.
    """

    id: str
    diffs: tuple[SourceDiff, ...]
    moved: bool
    requires: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    takes_out: tuple[str, ...] = ()
    inside: bool = True
    returns: bool = False


class Refusal(NamedTuple):
    """Why an entry cannot be as wanted: nothing of it was planned.

    Attributes:
        id: the entry.
        path: the file concerned.
        reason: in words.
        code: of the problem that is told of it.
        hint: what to do; None: what helps with any entry that does not fit.
    """

    id: str
    path: str | None
    reason: str
    code: str = "does-not-fit"
    hint: str | None = None


def broken_rules(
    stack: Sequence[Layer],
    *,
    leaving: Collection[str],
    satisfied: Collection[str],
    held: Collection[str],
    unknown: Sequence[str],
) -> Iterator[Refusal]:
    """Yield, for each moved entry of the stack, why it must not go in, if anything forbids it.

    Args:
        stack: every entry that would be in, in fold order.
        leaving: ids whose receipts go.
        satisfied: ids whose change upstream has.
        held: ids that the operator keeps as they are.
        unknown: ids that are in, but what of them cannot be read any more.
    """
    for position, layer in enumerate(stack):
        if not layer.moved:
            continue
        reason = (
            _decided(layer, leaving, held)
            or _unmet(layer, stack, satisfied)
            or _clash(layer, position, stack, unknown)
            or _misplaced(layer, stack, satisfied)
        )
        if reason is not None:
            yield Refusal(id=layer.id, path=None, reason=reason)


def _decided(layer: Layer, leaving: Collection[str], held: Collection[str]) -> str | None:
    """The operator decided otherwise, about it or about what it replaces."""
    if layer.id in held and not layer.returns:
        return f"it is held: patchctl unhold {layer.id}"
    kept = [id_ for id_ in layer.takes_out if id_ in held and id_ in leaving]
    return f"it replaces {kept[0]}, which is held: patchctl unhold {kept[0]}" if kept else None


def _unmet(layer: Layer, stack: Sequence[Layer], satisfied: Collection[str]) -> str | None:
    inside = {other.id for other in stack if other.inside}
    missing = [needed for needed in layer.requires if needed not in inside and needed not in satisfied]
    return f"it requires {missing[0]}, which cannot be brought in" if missing else None


def _clash(layer: Layer, position: int, stack: Sequence[Layer], unknown: Sequence[str]) -> str | None:
    for number, other in enumerate(stack):
        clash = other.id in layer.conflicts or layer.id in other.conflicts
        # Of two that come in together the later one gives way.
        first = not other.moved or number < position
        if clash and first and other.id != layer.id and other.id not in layer.takes_out:
            return f"it conflicts with {other.id}: take one out and hold it"
    hidden = [id_ for id_ in unknown if id_ in layer.conflicts]
    return f"it conflicts with {hidden[0]}, which is in" if hidden else None


def _misplaced(layer: Layer, stack: Sequence[Layer], satisfied: Collection[str]) -> str | None:
    """It is replaced by one that comes in with it, or replaces what another one needs."""
    for other in stack:
        if other.moved and layer.id in other.takes_out:
            return f"it is replaced by {other.id}"
        needed = [id_ for id_ in layer.takes_out if id_ in other.requires and id_ not in satisfied]
        if needed and other.id != layer.id:
            return f"it replaces {needed[0]}, which {other.id} requires"
    return None
