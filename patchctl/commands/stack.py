"""The stack as it is: one step for every entry that is applied and stays as it is."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from patchctl.commands.judging import Scene
from patchctl.commands.proposal import Step
from patchctl.errors import RegistryError, UsageError
from patchctl.plan import Layer
from patchctl.verdict import Assessment, SourceDiff, Verdict


def kept_steps(scene: Scene, *, but: Collection[str] = ()) -> list[Step]:
    """Return a step for every receipt except those named in ``but``, in ledger order.

    What is lost or drifted is among them: where such an entry still stands in a file that it shares, its lines stay.
    """
    return [_kept(found) for found in scene.assessments if found.case.receipt is not None and found.id not in but]


def applied_diffs(scene: Scene) -> list[tuple[str, tuple[SourceDiff, ...]]]:
    """Return every recorded entry that can be read, in fold order, with what was applied."""
    return [(found.id, found.case.recorded) for found in scene.assessments if found.case.receipt is not None]


def _kept(found: Assessment) -> Step:
    receipt, patch = found.case.receipt, found.case.patch
    if receipt is None:
        raise ValueError(f"{found.id} has no receipt")
    layer = Layer(
        id=found.id,
        diffs=found.case.recorded,
        moved=False,
        requires=receipt.requires,
        conflicts=(*receipt.conflicts, *(patch.conflicts if patch is not None else ())),
        inside=found.verdict is Verdict.APPLIED,
    )
    return Step(layer=layer, receipt=receipt)


def concerns(found: Assessment, distribution: str | None) -> bool:
    """Return whether an entry is about ``distribution`` (normalised); None: about any."""
    return distribution is None or distribution in distributions_of(found)


def distributions_of(found: Assessment) -> set[str]:
    """Return the distributions that an entry is about, by the registry and by what was applied."""
    case = found.case
    named = set(case.patch.distributions) if case.patch is not None else set()
    return named | {diff.distribution for diff in case.recorded}


def named_assessments(scene: Scene, ids: Sequence[str]) -> list[Assessment]:
    """Return the assessments of the entries the operator named, each once, in the order named.

    Raises:
        RegistryError: one of them is in the registry, but broken.
        UsageError: one of them is unknown; the hint names the nearest.
    """
    found = []
    for id_ in dict.fromkeys(ids):
        assessment = scene.find(id_)
        if assessment is None:
            _refuse_unknown(scene, id_)
        else:
            found.append(assessment)
    return found


def _refuse_unknown(scene: Scene, id_: str) -> None:
    for problem in scene.errors:
        if problem.patch == id_:
            raise RegistryError(
                problem.code,
                problem.message,
                hint=problem.hint,
                patch=id_,
                path=problem.path,
                line=problem.line,
                key=problem.key,
            )
    raise unknown_entry(id_, [found.id for found in scene.assessments])


def unknown_entry(id_: str, known: Sequence[str]) -> UsageError:
    """Return the error for an id that no entry has; the hint names the nearest one that exists."""
    import difflib

    near = difflib.get_close_matches(id_, known, n=1)
    hint = f"did you mean {near[0]}?" if near else "patchctl list shows the registry's entries"
    hint += "; it may be in another registry, which --registry DIR names"
    return UsageError("unknown-entry", f"no entry is called {id_!r}", hint=hint)
