"""``hold`` and ``unhold``: the operator's decision that an entry stays as it is, whatever the registry says."""

from __future__ import annotations

from collections.abc import Sequence

from patchctl.commands.change import carry_out
from patchctl.commands.judging import Scene
from patchctl.commands.place import NOTHING_ELSE, Allowed, Clock, Place
from patchctl.commands.proposal import Proposal
from patchctl.commands.report import Report
from patchctl.commands.stack import kept_steps, named_assessments
from patchctl.model import Hold


def hold(
    place: Place,
    clock: Clock,
    ids: Sequence[str],
    *,
    reason: str,
    dry_run: bool = False,
    wait: float = 0.0,
    allowed: Allowed = NOTHING_ELSE,
) -> Report:
    """Record that entries stay as they are. ``reason`` is shown in every status; no file changes."""

    def propose(scene: Scene) -> Proposal:
        named = [found.id for found in named_assessments(scene, ids)]
        return Proposal(steps=tuple(kept_steps(scene)), holds=with_holds(scene, named, reason, clock))

    return carry_out("hold", place, clock, propose, named=ids, dry_run=dry_run, wait=wait, allowed=allowed)


def with_holds(scene: Scene, ids: Sequence[str], reason: str, clock: Clock) -> dict[str, Hold]:
    """Return the site's holds with one for each of ``ids``; one that gives the same reason already stays as it is."""
    holds = dict(scene.site.ledger.holds)
    for id_ in ids:
        if id_ not in holds or holds[id_].reason != reason:
            holds[id_] = Hold(id=id_, reason=reason, since=clock.stamp)
    return holds


def unhold(
    place: Place,
    clock: Clock,
    ids: Sequence[str],
    *,
    dry_run: bool = False,
    wait: float = 0.0,
    allowed: Allowed = NOTHING_ELSE,
) -> Report:
    """Take holds back; no file changes. An id that is not held is nothing to do."""

    def propose(scene: Scene) -> Proposal:
        holds = dict(scene.site.ledger.holds)
        strangers = [id_ for id_ in ids if id_ not in holds]
        named_assessments(scene, strangers)
        notes = tuple(f"{id_} is not held" for id_ in strangers)
        for id_ in ids:
            holds.pop(id_, None)
        return Proposal(steps=tuple(kept_steps(scene)), holds=holds, notes=notes)

    return carry_out("unhold", place, clock, propose, named=ids, dry_run=dry_run, wait=wait, allowed=allowed)
