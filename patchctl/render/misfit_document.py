r"""The keys of the JSON document that say why a diff does not fit a file.

Lines of code are text with their line end; bytes that are no UTF-8 are written as ``\xNN``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from patchctl.match import Direction, HunkPlace
from patchctl.verdict import Assessment, FileFinding

if TYPE_CHECKING:
    from patchctl.match.explain import HunkExplanation
    from patchctl.match.line_ends import LineEnds
    from patchctl.match.script import ScriptLine

Json = dict[str, Any]
_SIDES: Mapping[Direction, str] = {Direction.FORWARD: "preimage", Direction.REVERSE: "postimage"}


def hunks_of(file: FileFinding) -> list[Json]:
    """Return the hunks of a file, each with its explanation where there is one."""
    known = {hunk.number: hunk for hunk in file.explanation.hunks} if file.explanation is not None else {}
    return [
        {
            "number": place.number,
            "line": place.line,
            "offset": place.offset,
            "reason": place.reason,
            "candidates": list(place.candidates),
            "explanation": _hunk(known[place.number]) if place.number in known else None,
        }
        for place in file.hunks
    ]


def explanation_of(entry: Assessment, file: FileFinding) -> Json | None:
    """Return what is said of a file of an entry as a whole; None when it was not explained."""
    found = file.explanation
    if found is None:
        return None
    from patchctl.render.misfits import convert_command, todo_words

    return {
        "todo": todo_words(entry, file),
        "command": convert_command(entry, file),
        "line_ends": _line_ends(found.line_ends) if found.line_ends is not None else None,
        "lines": [_line(line) for line in found.whole],
        "left_out": found.left_out,
    }


def _line_ends(found: LineEnds) -> Json:
    return {
        "side": _SIDES[found.side],
        "diff": found.diff.value,
        "file": found.file.value,
        "crlf": found.crlf,
        "total": found.lines,
        "whole": found.whole,
        "places": list(found.places),
    }


def _hunk(hunk: HunkExplanation) -> Json:
    nearest = {"line": hunk.line, "length": hunk.length, "equal": hunk.equal, "beyond": hunk.beyond}
    return {
        "state": hunk.state.value,
        "preimage": _place(hunk.before),
        "postimage": _place(hunk.after),
        "diff_line": hunk.diff_line,
        "change": [_text(line) for line in hunk.change],
        "change_cut": hunk.change_cut,
        "side": _SIDES[hunk.side],
        "stated": hunk.stated,
        "nearest": nearest if hunk.line is not None else None,
        "lines": [_line(line) for line in hunk.script],
        "scopes": [{"line": scope.line, "headings": [_text(text) for text in scope.headings]} for scope in hunk.scopes],
    }


def _place(place: HunkPlace) -> Json:
    return {"line": place.line, "reason": place.reason, "candidates": list(place.candidates)}


def _line(line: ScriptLine) -> Json:
    return {
        "mark": line.mark.value,
        "text": _text(line.text),
        "line": line.line,
        "remark": line.remark.value if line.remark is not None else None,
        "cut_before": line.cut_before,
        "cut_after": line.cut_after,
        "skipped": line.skipped,
    }


def _text(line: bytes) -> str:
    return line.decode("utf-8", "backslashreplace")
