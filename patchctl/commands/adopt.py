"""``adopt``: record what is in the files already, because the ledger got lost or somebody made the change by hand.

No file changes. The base that a later revert gives back is the file without the entries; RECORD proves it, or the
operator says that it may go unproven.
"""

from __future__ import annotations

from collections.abc import Sequence

from patchctl.build import MatchRule
from patchctl.commands.apply import moved_step
from patchctl.commands.change import carry_out
from patchctl.commands.judging import Scene
from patchctl.commands.place import NO_CONSENT, NOTHING_ELSE, Allowed, Clock, Consent, Place
from patchctl.commands.proposal import Proposal, Step
from patchctl.commands.report import Report
from patchctl.commands.stack import applied_diffs, concerns, kept_steps, named_assessments
from patchctl.errors import LedgerError, Problem
from patchctl.ledger import read_object
from patchctl.match import Fit
from patchctl.model import listed_sha256, sha256_hex
from patchctl.target import read_snapshot
from patchctl.verdict import Action, Adoption, Assessment, Need, Stuck, Verdict, adoption

_COPIES = (".orig", ".bak", "~")
"""What patch(1), people and editors append to the name of a file that they keep."""


def adopt(
    place: Place,
    clock: Clock,
    ids: Sequence[str] = (),
    *,
    unproven: bool = False,
    assume_build: str | None = None,
    dry_run: bool = False,
    wait: float = 0.0,
    consent: Consent = NO_CONSENT,
    allowed: Allowed = NOTHING_ELSE,
) -> Report:
    """Record entries whose change is in the files.

    Args:
        place: where.
        clock: when.
        ids: entries to record, all or nothing; empty: every one whose action is ``adopt``, each on its own merits.
        unproven: also where nothing proves that the file without them is the one that was installed.
        assume_build: the build string to match the named entries with, instead of the detected one.
        dry_run: plan only.
        wait: seconds to wait for another patchctl.
        consent: what decides, for the history.
        allowed: whether it may be recorded in a base installation; no file changes anywhere.
    """

    def propose(scene: Scene) -> Proposal:
        return _named(scene, ids, clock, unproven=unproven) if ids else _bare(scene, clock, place.distribution)

    assumed = dict.fromkeys(ids, assume_build) if assume_build is not None else {}
    return carry_out(
        "adopt",
        place,
        clock,
        propose,
        named=ids,
        assumed=assumed,
        dry_run=dry_run,
        wait=wait,
        consent=consent,
        allowed=allowed,
    )


def _named(scene: Scene, ids: Sequence[str], clock: Clock, *, unproven: bool) -> Proposal:
    named = named_assessments(scene, ids)
    notes = [f"{found.id} is recorded already" for found in named if not _is_open(found)]
    wanted = [found for found in named if _is_open(found)]
    refused = [problem for found in wanted if (problem := _refusal(found)) is not None]
    if refused:
        return _propose(scene, [], _NOBODY, refused, notes, clock, strict=True)
    wanted = _with_required(scene, wanted)
    found = _judge(scene, wanted)
    refused = [_not_in(it) for it in found.stuck]
    if unproven:
        notes += [f"{it.id} is taken over unproven: {it.path}: {it.reason}" for it in found.unproven]
    else:
        refused += [_unproven(scene, it) for it in found.unproven]
    return _propose(scene, wanted, found, refused, notes, clock, strict=True)


def _bare(scene: Scene, clock: Clock, distribution: str | None) -> Proposal:
    wanted = [it for it in scene.in_registry_order() if concerns(it, distribution) and _may_be_in(it)]
    refused: dict[str, Problem] = {}
    found = _judge(scene, wanted)
    while found.stuck or found.unproven:
        refused |= {it.id: _unproven(scene, it) for it in found.unproven} | {it.id: _not_in(it) for it in found.stuck}
        for it in wanted:
            missing = [id_ for id_ in it.case.requires if id_ in refused]
            if missing and it.id not in refused:
                message = f"{it.id} cannot be adopted: it requires {missing[0]}, which cannot be"
                refused[it.id] = Problem(code="blocked", message=message, patch=it.id)
        wanted = [it for it in wanted if it.id not in refused]
        found = _judge(scene, wanted)
    due = {it.id for it in scene.assessments if it.action is Action.ADOPT}
    said = [problem for id_, problem in refused.items() if id_ in due]
    return _propose(scene, wanted, found, said, [], clock, strict=False)


def _is_open(found: Assessment) -> bool:
    """Nobody recorded it, or it was set aside for an upgrade: whoever put that back did so by hand."""
    return found.case.receipt is None or found.case.receipt.set_aside is not None


def _may_be_in(found: Assessment) -> bool:
    """Due to be adopted; or it looks like a misfit, as an entry does that another one was put on top of."""
    unrecorded = _is_open(found) and found.need is Need.WANTED
    return unrecorded and found.action in {Action.ADOPT, Action.PORT} and _refusal(found) is None


def _refusal(found: Assessment) -> Problem | None:
    """Why an entry must not be recorded, whatever the engine says; None: it may."""
    id_, case = found.id, found.case
    if found.verdict is None:
        message = f"{id_} is advice only: there is nothing to adopt"
        return Problem(code="advice-only", message=message, hint=f"patchctl show {id_}", patch=id_)
    if case.hold is not None:
        message = f"{id_} is held: {case.hold.reason}"
        return Problem(code="held", message=message, hint=f"patchctl unhold {id_}", patch=id_)
    if case.rule is MatchRule.NONE:
        message = f"{id_} is not meant for this build: {case.reason}"
        hint = f"if it was applied as for another one: patchctl adopt {id_} --assume-build BUILD"
        return Problem(code="no-match", message=message, hint=hint, patch=id_)
    if all(file.built_in for file in found.files):
        message = f"{id_} is not to be recorded: the build itself carries this change"
        return Problem(code="fixed", message=message, patch=id_)
    obstacle = next((file for file in found.files if file.obstacle is not None), None)
    if obstacle is not None:
        message = f"{id_} cannot be adopted: {obstacle.path}: {obstacle.obstacle}"
        return Problem(code="needs-inspect", message=message, patch=id_, path=obstacle.path)
    if found.verdict is Verdict.APPLICABLE:
        message = f"{id_} cannot be adopted: its change is not in the files"
        return Problem(code="not-present", message=message, hint=f"patchctl apply {id_}", patch=id_)
    return None


def _with_required(scene: Scene, wanted: Sequence[Assessment]) -> list[Assessment]:
    """The wanted entries and what they require that is not recorded either, in registry order."""
    ids = {found.id for found in wanted}
    while True:
        more = {id_ for found in scene.assessments if found.id in ids for id_ in found.case.requires} - ids
        others = [found for id_ in more if (found := scene.find(id_)) is not None]
        new = {it.id for it in others if _is_open(it) and _refusal(it) is None}
        if not new:
            return [found for found in scene.in_registry_order() if found.id in ids]
        ids |= new


def _judge(scene: Scene, wanted: Sequence[Assessment]) -> Adoption:
    return adoption(scene.site, wanted, applied_diffs(scene), _originals(scene, wanted)) if wanted else _NOBODY


_NOBODY = Adoption(ids=(), bases={})


def _originals(scene: Scene, wanted: Sequence[Assessment]) -> dict[str, bytes]:
    """Bytes with the hash that RECORD lists, from our own store or from a copy that somebody left beside the file."""
    listed = {
        path: sha256
        for found in wanted
        for diff in found.case.due
        for file in diff.files
        for path in file.paths
        if (sha256 := listed_sha256(scene.target.distributions[diff.distribution], path)) is not None
    }
    beside = read_snapshot(scene.target, [path + ending for path in listed for ending in _COPIES]).files
    originals = {}
    for path, sha256 in listed.items():
        copies = [beside.get(path + ending) for ending in _COPIES]
        candidates = [_stored(scene.target.site, sha256), *(copy.data for copy in copies if copy is not None)]
        same = [data for data in candidates if data is not None and sha256_hex(data) == sha256]
        if same:
            originals[path] = same[0]
    return originals


def _stored(site: str, sha256: str) -> bytes | None:
    try:
        return read_object(site, sha256)
    except LedgerError:
        return None


def _not_in(stuck: Stuck) -> Problem:
    message = f"{stuck.id} cannot be adopted: {stuck.path}: {stuck.reason}"
    hint = f"patchctl status {stuck.id} shows what is there; patchctl restore {stuck.path} --from WHEEL puts it back"
    return Problem(code="not-present", message=message, hint=hint, patch=stuck.id, path=stuck.path)


def _unproven(scene: Scene, doubt: Stuck) -> Problem:
    message = f"{doubt.id} is in, but its original is not proven: {doubt.path}: {doubt.reason}"
    hint = f"patchctl adopt {doubt.id} --unproven records it; a revert then leaves the file as it is without the entry"
    held = [it.id for it in _beside(scene, doubt) if it.case.hold is not None]
    if held:
        # The hold keeps it from being recorded, and as long as it is not, nobody knows the file without it.
        ids = " ".join(held)
        message += f"; {', '.join(held)}, which is held, is in the file too"
        hint = f"patchctl unhold {ids}, then patchctl adopt {doubt.id} {ids}, then hold {ids} again"
    return Problem(code="unproven-base", message=message, hint=hint, patch=doubt.id, path=doubt.path)


def _beside(scene: Scene, doubt: Stuck) -> list[Assessment]:
    """The other entries that are in the same file although nobody recorded them."""
    return [
        it
        for it in scene.assessments
        if it.id != doubt.id and it.case.receipt is None
        if any(file.path == doubt.path and file.fit is Fit.PRESENT for file in it.files)
    ]


def _propose(
    scene: Scene,
    wanted: Sequence[Assessment],
    found: Adoption,
    refused: Sequence[Problem],
    notes: Sequence[str],
    clock: Clock,
    *,
    strict: bool,
) -> Proposal:
    by_id = {it.id: it for it in wanted}
    return Proposal(
        steps=(*kept_steps(scene, but=found.ids), *(_step(scene, by_id[id_], clock) for id_ in found.ids)),
        holds=scene.site.ledger.holds,
        refused=tuple(refused),
        strict=strict,
        asks_registry=True,
        notes=tuple(notes),
        bases=found.bases,
        adopts=True,
    )


def _step(scene: Scene, found: Assessment, clock: Clock) -> Step:
    """What is recorded takes nothing out, not even what it replaces."""
    step = moved_step(scene, found, clock)
    return step._replace(layer=step.layer._replace(takes_out=()))
