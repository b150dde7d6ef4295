"""Find the environment alone, for verbs that judge no entry."""

from __future__ import annotations

from patchctl.commands.place import Place
from patchctl.commands.scene import open_registry, target_of, unfinished_site
from patchctl.errors import TargetError
from patchctl.model import Target
from patchctl.transaction import JournalState


def locate(place: Place) -> tuple[Target, JournalState | None]:
    """Return the environment that ``place`` leads to, and its unfinished transaction; None: there is none.

    Raises:
        PatchctlError: no environment, or the registry, which says what to look for, cannot be read.
    """
    unfinished = unfinished_site(place)
    if unfinished is not None:
        return unfinished
    registry = open_registry(place)
    try:
        target = target_of(place, {name for entry in registry.entries for name in entry.distributions})
    except TargetError as error:
        error.others = registry.problems
        raise
    return target, None
