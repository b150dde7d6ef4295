"""The stack as it is: one step for every entry that is applied and stays as it is."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence

from patchctl.commands.proposal import Step
from patchctl.commands.scene import Scene
from patchctl.errors import RegistryError, UsageError
from patchctl.plan import Layer
from patchctl.verdict import Assessment, Verdict


def kept_steps(scene: Scene, *, but: Collection[str] = ()) -> list[Step]:
    """Return a step for every applied entry except those named in ``but``, in ledger order.

    Lost and drifted entries are no part of it: their files are as they are, and their receipts stay.
    """
    return [
        _kept(found)
        for found in scene.assessments
        if found.verdict is Verdict.APPLIED and found.candidate.receipt is not None and found.id not in but
    ]


def _kept(found: Assessment) -> Step:
    receipt = found.candidate.receipt
    if receipt is None:
        raise ValueError(f"{found.id} has no receipt")
    layer = Layer(id=found.id, diffs=found.candidate.recorded, moved=False)
    return Step(layer=layer, receipt=receipt, requires=found.candidate.requires)


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
    known = [found.id for found in scene.assessments]
    near = difflib.get_close_matches(id_, known, n=1)
    hint = f"did you mean {near[0]}?" if near else "patchctl list shows the registry's entries"
    raise UsageError("unknown-entry", f"no entry is called {id_!r}", hint=hint)
