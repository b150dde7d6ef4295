"""The refusals of what a command may not touch beyond the environment's own site.

Two places are others' too: the source tree of an editable install, and the base installation that a virtual
environment shares (``--system-site-packages``). Looking at them is free; editing them is the operator's word, given
on the command line for one command.
"""

from __future__ import annotations

from collections.abc import Sequence

from patchctl.commands.judging import Scene
from patchctl.commands.place import Allowed
from patchctl.errors import RefusedError
from patchctl.model import FileEdit, Target
from patchctl.plan import Layer, Refusal

_EDITABLE = (
    "--allow-editable edits that tree itself: whoever runs from it gets the change, git shows it as a modification, "
    "and a git checkout or pull may take it away"
)
_BASE = (
    "--allow-base edits the base itself: its own programs, and every environment over it, get the change; "
    "to have it here alone, install the distribution into the environment"
)


def refuse_shared(target: Target, allowed: Allowed) -> None:
    """Refuse to write into the base installation of a virtual environment.

    Raises:
        RefusedError: ``base-environment``.
    """
    if target.shared_by is None or allowed.base:
        return
    names = ", ".join(f"{name} {found.build}" for name, found in target.distributions.items())
    message = f"{names} lies in {target.site}, which {target.shared_by} shares with every user of its base installation"
    raise RefusedError("base-environment", message, hint=_BASE)


def editable_refusals(
    scene: Scene, layers: Sequence[Layer], leaving: Sequence[str], edits: Sequence[FileEdit], allowed: Allowed
) -> list[Refusal]:
    """Say which entries would change the source tree of an editable install although nobody allowed it."""
    grafts = scene.target.grafts
    outside = {edit.path for edit in edits if edit.path.partition("/")[0] in grafts}
    if allowed.editable or not outside:
        return []
    touching = {layer.id: _paths(layer) & outside for layer in layers if layer.moved}
    for path, fact in scene.site.ledger.files.items():
        for id_ in fact.entries:
            if id_ in leaving and path in outside:
                touching.setdefault(id_, set()).add(path)
    return [
        Refusal(
            id=id_,
            path=min(paths),
            reason=f"it belongs to an editable install and lies in {grafts[min(paths).partition('/')[0]]}",
            code="editable-install",
            hint=_EDITABLE,
        )
        for id_, paths in touching.items()
        if paths
    ]


def _paths(layer: Layer) -> set[str]:
    return {path for source in layer.diffs for file in source.files for path in file.paths}
