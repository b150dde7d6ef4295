"""What a plan adds must be what Python imports afterwards, whichever entries it came from.

One entry by itself is judged in ``verdict``; here it is the whole change: two newcomers that exclude each other, and an
original that would come back beside what somebody put in its place.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from patchctl.model import EditKind, FileEdit, Rivals
from patchctl.model.modules import exclude_each_other
from patchctl.plan.outcome import Folded
from patchctl.plan.rules import Refusal
from patchctl.verdict import SiteFacts

_NO_RIVALS = Rivals()


def dead_additions(
    edits: Sequence[FileEdit], site: SiteFacts, folded: Folded, going: Collection[str]
) -> tuple[Refusal, ...]:
    """Return a refusal for each file that would be added and not be imported.

    Args:
        edits: the plan's.
        site: the environment.
        folded: what came of the stack.
        going: ids that leave, or are renewed.
    """
    gone = {edit.path for edit in edits if edit.kind is EditKind.DELETE}
    added = [edit.path for edit in edits if edit.kind is EditKind.ADD]
    refusals = []
    for number, path in enumerate(added):
        over = [it for it in site.snapshot.rivals.get(path, _NO_RIVALS).winners if it not in gone]
        over += [other for other in added[:number] if exclude_each_other(path, other)]
        id_ = _whose(path, site, folded, going)
        if over and id_ is not None:
            refusals.append(Refusal(id=id_, path=path, reason=f"of it and {over[0]} Python would import one alone"))
    return tuple(refusals)


def _whose(path: str, site: SiteFacts, folded: Folded, going: Collection[str]) -> str | None:
    """The entry that brings the file, or that gives it back by leaving."""
    fact = site.ledger.files.get(path)
    leaving = [id_ for id_ in fact.entries if id_ in going] if fact is not None else []
    return next(reversed(folded.entries.get(path, ())), None) or (leaving[-1] if leaving else None)
