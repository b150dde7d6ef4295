"""The ``candidates`` of the JSON document: what ``preflight`` says of each.

What becomes of an entry is beside how it stands now, in brief, and how it stands there, with all the keys of an entry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from patchctl.commands.forecast import Forecast, Protection, largest_offset, worst_fix
from patchctl.render.diffs import edits_as_diff
from patchctl.render.document import patch_json, problem_json, target_json
from patchctl.render.forecasts import about, closing_words
from patchctl.verdict import Assessment

if TYPE_CHECKING:
    from patchctl.commands.moves import Moved
    from patchctl.commands.preflight import Prospect, Swap

Json = dict[str, Any]


def prospect_json(found: Prospect) -> Json:
    """Return the object of one candidate."""
    return {
        "path": found.path,
        "kind": found.kind,
        "target": target_json(found.target) if found.target is not None else None,
        "changes": [_swap(swap) for swap in found.swaps],
        "patches": [_forecast(one) for one in found.forecasts],
        "lost": list(found.ids(Protection.LOST)),
        "unknown": list(found.ids(Protection.UNKNOWN)),
        "steps": list(found.steps),
        "step_notes": list(closing_words(found)),
        "notes": list(found.notes),
        "warnings": [problem_json(problem) for problem in found.warnings],
        "errors": [problem_json(problem) for problem in found.errors],
    }


def _swap(swap: Swap) -> Json:
    return {
        "distribution": swap.distribution,
        "from": swap.before,
        "to": swap.after,
        "change": swap.change.value if swap.change is not None else None,
        "same_files": swap.same_files,
    }


def _forecast(found: Forecast) -> Json:
    there = found.there
    offset = largest_offset(there) if there is not None else None
    worst = worst_fix(there) if there is not None else None
    known = patch_json(found.shown)
    return {
        "id": found.id,
        "kind": known["kind"],
        "severity": known["severity"],
        "title": known["title"],
        "fate": found.fate.value,
        "protection": found.protection.value,
        "lost": None if found.protection is Protection.UNKNOWN else found.protection is Protection.LOST,
        "fix_status": worst.value if worst is not None else None,
        "largest_offset": offset[0] if offset is not None else None,
        "about": list(about(found)),
        "moved": [_moved(moved) for moved in found.moved],
        "rest": edits_as_diff(found.rest).decode("utf-8", "backslashreplace") if found.rest else None,
        "now": _now(found.now),
        # the mark of what is out for the upgrade is a part of the question here, not of the answer
        "there": known | {"set_aside": None} if there is not None else None,
    }


def _moved(moved: Moved) -> Json:
    return {
        "path": moved.path,
        "symbol": moved.symbol,
        "defined": moved.defined,
        "paths": list(moved.paths),
        "more": moved.more,
        "fits": list(moved.fits),
        "alike": [alike._asdict() for alike in moved.alike],
    }


def _now(found: Assessment | None) -> Json | None:
    if found is None:
        return None
    return {
        "verdict": found.verdict.value if found.verdict is not None else None,
        "need": found.need.value,
        "action": found.action.value,
        "applied_revision": found.case.receipt.revision if found.case.receipt is not None else None,
    }
