"""Why a diff does not fit, on a terminal: a few rows an entry, and the whole of it for an entry that was named.

Signs say what colour only underlines: ``-`` before what a diff expects, ``+`` before what a file has. Lines of code are
never wrapped at blanks: those that differ are folded under themselves, the others cut. Sentences are in ``misfits``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from patchctl.match import Direction, Fit
from patchctl.match.explain import Explanation, HunkExplanation
from patchctl.match.script import Mark, Remark, ScriptLine
from patchctl.render.console import print_blank, print_line, print_verbatim
from patchctl.render.escape import visible
from patchctl.render.misfits import (
    convert_command,
    diff_name,
    explained_hunk_words,
    file_words,
    scope_words,
    todo_words,
)
from patchctl.verdict import Assessment, FileFinding, hunk_words, states_words

if TYPE_CHECKING:
    from rich.console import Console

_HUNKS_IN_BRIEF = 3
_MARKS = {Mark.EQUAL: " ", Mark.EXPECTED: "-", Mark.FOUND: "+", Mark.SKIPPED: " "}
_STYLES = {"-": "red", "+": "green"}
_REMARKS = {Remark.LINE_END: "only the line end differs", Remark.WHITE_SPACE: "only white space differs"}
_BESIDE = 4
_INSIDE = 6
_NARROWEST = 20
_TAB = 8


def misfit_rows(found: Assessment, *, detailed: bool) -> Iterator[tuple[str, str]]:
    """Yield the short form as labelled rows: what is the matter with each file, and where to read more.

    With ``detailed`` files are left out of which :func:`print_explanation` says all.
    """
    more = False
    said = found.reason.replace(", hunk ", " #")
    for file in found.files:
        if detailed and _is_told_whole(found, file):
            continue
        words = file_words(file)
        if words is not None and f"{file.path}: {words}" != said:
            yield "file", f"{file.path}: {words}"
        explanation = file.explanation
        hunks = [] if explanation is None else _telling(explanation)
        if explanation is None and words is None:
            lost = [place for place in file.hunks if place.reason is not None]
            rows = [f"{file.path} #{place.number}: {hunk_words(place)}" for place in lost]
        else:
            rows = [f"{file.path} #{hunk.number}: {explained_hunk_words(hunk)}" for hunk in hunks]
        for row in rows[:_HUNKS_IN_BRIEF]:
            if row != said:
                yield "hunk", row
        if len(rows) > _HUNKS_IN_BRIEF:
            yield "hunk", f"{file.path}: {len(rows) - _HUNKS_IN_BRIEF} more do not fit"
        more = more or explanation is not None
    if more:
        yield "see", f"patchctl status {found.id}  (line by line, and what to do)"


def _telling(explanation: Explanation) -> list[HunkExplanation]:
    """The hunks that keep a diff from fitting: those that fit neither way, or both; in a partial state all."""
    settled = {Fit.PRESENT, Fit.APPLICABLE}
    lost = [hunk for hunk in explanation.hunks if hunk.state not in settled]
    return lost or list(explanation.hunks)


def print_explanation(console: Console, found: Assessment) -> None:
    """Print the whole form: per file its hunks, what differs at the nearest place, and what to do."""
    for file in found.files:
        if _is_told_whole(found, file):
            _print_file(console, found, file)
            print_blank(console)


def _is_told_whole(found: Assessment, file: FileFinding) -> bool:
    return file.explanation is not None or todo_words(found, file) is not None


def _print_file(console: Console, found: Assessment, file: FileFinding) -> None:
    explanation = file.explanation or Explanation()
    words = file_words(file)
    if words is None and len(explanation.hunks) > 1:
        words = states_words([hunk.state for hunk in explanation.hunks])
    print_line(console, f"{file.path}: {words}" if words else file.path, style="bold")
    if explanation.whole:
        print_line(console, "where it begins to differ:", indent=_BESIDE)
        _legend(console, _digits(explanation.whole), "expected")
        _print_script(console, explanation.whole)
    for hunk in explanation.hunks:
        words = explained_hunk_words(hunk)
        print_line(console, f"hunk {hunk.number}{':' * (hunk.state is Fit.CONFLICT)} {words}", indent=_BESIDE)
        if hunk.line is None:
            _print_places(console, hunk)
        # in a partial state, what could go in is what has to be cut anew
        if hunk.state is not Fit.PRESENT and (hunk.state is not Fit.APPLICABLE or file.fit is Fit.PARTIAL):
            _print_hunk(console, hunk, diff_name(found, file.path))
    if explanation.left_out:
        more = f"{_counted(explanation.left_out, 'more hunk')} without a place: not compared with the file"
        print_line(console, more, indent=_BESIDE)
    todo = todo_words(found, file)
    if todo is not None:
        print_line(console, f"to do: {todo}", style="bold", indent=_BESIDE)
    command = convert_command(found, file)
    if command is not None:
        print_verbatim(console, " " * _INSIDE + command)


def _print_hunk(console: Console, hunk: HunkExplanation, diff: str) -> None:
    width = _digits(hunk.script)
    print_line(console, f"the hunk, from line {hunk.diff_line} of {diff} on:", indent=_BESIDE)
    for line in hunk.change:
        sign = chr(line[0]) if line[:1] in {b"-", b"+", b"\\"} else " "
        _code(console, " " * width, sign, _text(line[1:]))
    if hunk.change_cut:
        _code(console, " " * width, " ", f"[{_counted(hunk.change_cut, 'line')} not shown]")
    if hunk.line is None:
        return
    scope = scope_words(hunk, hunk.line)
    print_line(console, f"the file, from line {hunk.line} on{f', in {scope}' if scope else ''}:", indent=_BESIDE)
    _legend(console, width, "expected" if hunk.side is Direction.FORWARD else "expected once the change is in")
    _print_script(console, hunk.script)


def _print_places(console: Console, hunk: HunkExplanation) -> None:
    """Tell places apart by the classes and functions that they are in."""
    width = max((len(str(scope.line)) for scope in hunk.scopes), default=0)
    for scope in hunk.scopes:
        _code(console, f"{scope.line:>{width}}", " ", visible(scope_words(hunk, scope.line) or ""))


def _print_script(console: Console, script: Sequence[ScriptLine]) -> None:
    width = _digits(script)
    for line in script:
        number = f"{line.line or '':>{width}}"
        if line.mark is Mark.SKIPPED:
            _code(console, number, " ", f"[{_counted(line.skipped, 'line')} not shown]")
        else:
            _code(console, number, _MARKS[line.mark], _script_text(line))


def _legend(console: Console, width: int, expected: str) -> None:
    print_verbatim(console, f"{' ' * (_INSIDE + width)} (- {expected}, + there instead)", style="dim")


def _digits(script: Sequence[ScriptLine]) -> int:
    return max((len(str(line.line)) for line in script if line.line is not None), default=0)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _script_text(line: ScriptLine) -> str:
    text = _text(line.text, spaces=line.remark is Remark.WHITE_SPACE, returns=line.remark is Remark.LINE_END)
    text = f"[{line.cut_before} bytes] {text}" if line.cut_before else text
    text = f"{text} [{line.cut_after} bytes more]" if line.cut_after else text
    if line.mark is not Mark.EQUAL and not line.cut_after and not line.text.endswith(b"\n"):
        text += "  [no newline at the end of the file]"
    if line.mark is Mark.FOUND and line.remark is not None:
        text += f"  [{_REMARKS[line.remark]}]"
    return text


def _text(line: bytes, *, spaces: bool = False, returns: bool = False) -> str:
    """One line of code as text. Tabs, trailing blanks and carriage returns are only spelt out where they count."""
    body = line.removesuffix(b"\n") if returns else line.removesuffix(b"\n").removesuffix(b"\r")
    text = body.decode("utf-8", "surrogateescape")
    if not spaces:
        return visible(text.expandtabs(_TAB))
    bare = text.rstrip(" \t\r")
    return visible(bare) + "".join(f"\\x{ord(blank):02x}" for blank in text[len(bare) :])


def _code(console: Console, number: str, sign: str, text: str) -> None:
    """One line of code behind its number and sign; what nobody has to change is cut to the columns there are."""
    from rich.cells import chop_cells, set_cell_size

    gutter = f"{' ' * _INSIDE}{number} {sign} "
    room = max(console.width - len(gutter), _NARROWEST)
    rows = chop_cells(text, room) if text else [""]
    if len(rows) > 1 and sign == " ":
        rows = [set_cell_size(text, room - 3).rstrip() + "..."]
    for count, row in enumerate(rows):
        lead = gutter if count == 0 else " " * len(gutter)
        print_verbatim(console, (lead + row).rstrip(), style=_STYLES.get(sign, ""))
