"""Judge what an upgrade would install, with what is applied here set aside: the one judgement of whoever looks ahead.

Not here: what becomes of an entry in words, and what is done about it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from patchctl.commands.judging import Scene, judge
from patchctl.commands.place import Place
from patchctl.commands.scene import recorded_distributions
from patchctl.commands.trusted import refuse_tree, refuse_wheel
from patchctl.errors import TargetError, TransactionError
from patchctl.ledger import read_ledger
from patchctl.model import LedgerState, Receipt, SetAside
from patchctl.target import (
    CandidateKind,
    OpenCandidate,
    OverlaidTree,
    SiteTree,
    opened_candidate,
    refuse_brought_state,
)
from patchctl.transaction import journal_state
from patchctl.verdict import Action, Assessment, Need, Verdict

NEVER = ""
"""The time of a mark that nobody records."""


class Upcoming(NamedTuple):
    """A candidate with the judgement on it.

    Attributes:
        candidate: what was opened; its files can be read as long as it is.
        scene: every entry judged on its bytes. Its ledger has the receipts of both sides; those of this environment
            that the upgrade displaces are set aside in it, and :func:`expectation` says what becomes of them.
        displaced: ids that are recorded here and must be out for the upgrade, in ledger order.
    """

    candidate: OpenCandidate
    scene: Scene
    displaced: tuple[str, ...]


@contextmanager
def judged_candidate(place: Place, scene: Scene, path: str, *, trusted: bool = False) -> Iterator[Upcoming]:
    """Open a candidate and judge every entry on it as after an upgrade: nothing applied, receipts set aside.

    A wheel, or a directory without patchctl's own state, replaces the distributions that it brings and leaves the
    others of this environment as they are. An environment, or a site with a ledger, stands for itself: what is recorded
    there counts, and whatever is applied here only is displaced.

    Args:
        place: where the command works.
        scene: that environment, judged.
        path: of the candidate.
        trusted: what it proves is acted on, so that as root one that others may change is refused.

    Raises:
        PatchctlError: it cannot be opened or judged; also where a transaction is unfinished in it.
        UntrustedError: ``untrusted-candidate``.
    """
    names = {*scene.registry.distributions, *(diff.distribution for it in _receipts(scene) for diff in it.diffs)}
    look = refuse_wheel(place, path) if trusted else None
    with opened_candidate(
        path, names=names, environ=place.environ, also=recorded_distributions, look=look
    ) as candidate:
        if trusted and candidate.kind is not CandidateKind.WHEEL:
            refuse_tree(place, candidate.tree.target)
        _refuse_itself(candidate, scene)
        own = LedgerState() if candidate.kind is CandidateKind.WHEEL else _own_ledger(candidate.tree.target.site)
        alone = candidate.kind is CandidateKind.ENVIRONMENT or own.sha256 is not None
        displaced = _displaced(scene, None if alone else candidate.tree.target.distributions)
        ledger = _merged(scene, own, displaced, candidate, alone=alone)
        stores = (*(() if candidate.kind is CandidateKind.WHEEL else (candidate.tree.target.site,)), scene.target.site)
        # Also where none of the wanted distributions stays: others of the site may list a file of the candidate.
        tree = candidate.tree if alone else OverlaidTree(candidate.tree, SiteTree(scene.target), ledger.files)
        found = judge(scene.registry, tree, ledger, stores=stores, known=scene.parsed(), taking=place.taking)
        yield Upcoming(candidate=candidate, scene=found, displaced=displaced)


def expectation(found: Assessment, scene: Scene) -> str:
    """Return what becomes of an entry that is set aside, one of :data:`patchctl.model.state.EXPECTATIONS`.

    Args:
        found: judged on the candidate.
        scene: the judgement that it is part of.
    """
    if found.need is Need.FIXED and found.action is not Action.APPLY:
        return "retires"
    other = scene.find(found.case.replaced_by) if found.case.replaced_by is not None else None
    coming = found if other is None else other
    inside = coming.verdict is Verdict.APPLIED and coming.action is Action.NONE
    returns = coming.action is Action.APPLY or inside
    return "returns" if returns else "lost"


def _refuse_itself(candidate: OpenCandidate, scene: Scene) -> None:
    if os.path.realpath(candidate.tree.target.site) == os.path.realpath(scene.target.site):
        message = f"{candidate.path} is the environment itself: nothing would be upgraded"
        raise TargetError("no-candidate", message, hint="name what the upgrade would install")


def _receipts(scene: Scene) -> tuple[Receipt, ...]:
    return scene.site.ledger.receipts


def _own_ledger(site: str) -> LedgerState:
    refuse_brought_state(site)
    journal = journal_state(site)
    if journal is not None:
        message = f"transaction {journal.transaction} is unfinished in {site}: nothing can be said of its files"
        raise TransactionError("unfinished-transaction", message, hint=f"patchctl recover --site {site}")
    return read_ledger(site)


def _displaced(scene: Scene, brought: Collection[str] | None) -> tuple[str, ...]:
    """The recorded entries whose distributions the candidate brings, and those that require one of them; None: all."""
    receipts = _receipts(scene)
    if brought is None:
        return tuple(receipt.id for receipt in receipts)
    gone = {it.id for it in receipts if any(diff.distribution in brought for diff in it.diffs)}
    while True:
        wider = {it.id for it in receipts if gone & set(it.requires)} - gone
        if not wider:
            return tuple(receipt.id for receipt in receipts if receipt.id in gone)
        gone |= wider


def _merged(
    scene: Scene, own: LedgerState, displaced: Collection[str], candidate: OpenCandidate, *, alone: bool
) -> LedgerState:
    """What would be recorded after the upgrade, before anything is applied or retired in it."""
    here = scene.site.ledger
    known = {receipt.id for receipt in own.receipts}
    mark = set_aside_for(candidate, expected="returns", since=NEVER)
    receipts = [
        receipt._replace(set_aside=mark) if receipt.id in displaced else receipt
        for receipt in here.receipts
        if receipt.id not in known
    ]
    brought = candidate.tree.target.distributions
    staying = () if alone else [it for it in here.files.values() if it.distribution not in brought]
    facts = {it.path: it._replace(entries=tuple(id_ for id_ in it.entries if id_ not in displaced)) for it in staying}
    return own._replace(
        receipts=(*own.receipts, *receipts),
        files={**facts, **own.files},
        holds={**here.holds, **own.holds},
        retirements=(*here.retirements, *own.retirements),
        last_second=max(here.last_second, own.last_second),
    )


def set_aside_for(candidate: OpenCandidate, *, expected: str, since: str) -> SetAside:
    """Return the mark of an entry that is taken out for ``candidate``; the other arguments as of :class:`SetAside`."""
    brought = candidate.tree.target.distributions
    return SetAside(
        builds={name: found.build for name, found in brought.items()},
        fingerprints={name: found.fingerprint for name, found in brought.items()},
        expected=expected,
        since=since,
    )
