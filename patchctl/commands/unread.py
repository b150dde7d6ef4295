"""What ``advise`` cannot tell: an option that matters holds an object that nobody can read."""

from __future__ import annotations

from collections.abc import Sequence

from patchctl.advice import Exposure, LaunchAdvice
from patchctl.errors import Problem


def unread_problems(advised: Sequence[LaunchAdvice]) -> tuple[Problem, ...]:
    """Return an error for every bug of which such an option leaves open whether the launch can meet it.

    Bugs that something covers are left out: for them it does not matter.
    """
    return tuple(
        Problem(
            code="unread-option",
            message=f"{advice.source}: {' and '.join(entry.unread)} cannot be read: whether the launch can meet"
            f" {entry.patch.id} is not known",
            hint="mend the JSON: vLLM would not start with it either",
            patch=entry.patch.id,
        )
        for advice in advised
        for entry in advice.uncovered(Exposure.POSSIBLE)
        if entry.unread
    )
