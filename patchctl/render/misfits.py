"""Sentences about a diff that does not fit: what is the matter with a file or a hunk, and what to do about it.

Both the plain and the terminal shape use them. They are not escaped yet.
"""

from __future__ import annotations

from patchctl.match import Direction, Fit
from patchctl.match.explain import Explanation, HunkExplanation
from patchctl.match.line_ends import LineEnd, LineEnds
from patchctl.model.shell import shell_word
from patchctl.verdict import Assessment, FileFinding, Verdict, hunk_words, misfit_words

_KINDS = {LineEnd.LF: "LF", LineEnd.CRLF: "CRLF", LineEnd.MIXED: "some of both"}
_PORT = "make the change by hand in a copy of this build's file, cut a diff of the two, and add it as a variant"


def file_words(file: FileFinding) -> str | None:
    """Return what is the matter with a file as a whole; None: nothing, or its hunks say it."""
    if file.explanation is not None and file.explanation.line_ends is not None:
        return line_ends_words(file.explanation.line_ends)
    if file.obstacle is not None:
        return file.obstacle
    return misfit_words(file.reason, (), file.old_path)


def line_ends_words(found: LineEnds) -> str:
    """Say that line ends are all that keeps a diff from fitting."""
    other = "the expected one" if found.side is Direction.FORWARD else "the patched one"
    if found.whole:
        first = f"the file equals {other} except for line ends"
    else:
        done = "fits" if found.side is Direction.FORWARD else "is in"
        first = f"every hunk {done} once line ends are ignored"
    if found.file is LineEnd.MIXED:
        return f"{first}: {found.crlf} of the file's {found.lines} lines end in CRLF, the diff has {_KINDS[found.diff]}"
    return f"{first}: the file has {_KINDS[found.file]} where the diff has {_KINDS[found.diff]}"


def explained_hunk_words(hunk: HunkExplanation) -> str:
    """Return in a sentence how one hunk stands."""
    if hunk.state is Fit.PRESENT:
        return f"is in, at line {hunk.after.line}"
    if hunk.state is Fit.APPLICABLE:
        return f"could go in at line {hunk.before.line}"
    if hunk.state is Fit.UNDECIDED:
        return f"could go in at line {hunk.before.line}, and stands at line {hunk.after.line} as if it were in"
    if hunk.before.reason != "not-found":
        return hunk_words(hunk.before)
    if hunk.after.reason != "not-found":
        return f"is not to be applied; as if it were in, {hunk_words(hunk.after)}"
    if hunk.line is None:
        return "none of its lines is in the file" if hunk.script else "its lines are not in the file"
    place = span_words(hunk.line, hunk.length)
    if hunk.side is Direction.REVERSE:
        return f"its lines are not in the file; most like its result {place}, {_share(hunk)}{_beyond(hunk)}"
    return f"its lines are not in the file; most like them {place}, {_share(hunk)}{_beyond(hunk)}"


def scope_words(hunk: HunkExplanation, line: int) -> str | None:
    """Return in which class and function a line stands that the hunk's sentence names; None: in none, or unknown."""
    for scope in hunk.scopes:
        if scope.line == line:
            names = [text.decode("utf-8", "surrogateescape").rstrip(":") for text in scope.headings]
            return " > ".join(names)
    return None


def span_words(line: int, length: int) -> str:
    """Return ``is line 4`` or ``are lines 4-9``."""
    return f"is line {line}" if length == 1 else f"are lines {line}-{line + length - 1}"


def _share(hunk: HunkExplanation) -> str:
    return f"with {hunk.equal or 'none'} of {hunk.size} unchanged"


def _beyond(hunk: HunkExplanation) -> str:
    return ", outside the room that its neighbours leave" if hunk.beyond else ""


def todo_words(found: Assessment, file: FileFinding) -> str | None:
    """Return what to do about a file that a diff does not fit; None: the entry's own reason says it."""
    explanation = file.explanation
    if found.verdict is Verdict.DRIFTED and file.obstacle is not None:
        keep = f"to keep the edit and take the entry out, patchctl revert {found.id} --keep-edits"
        return f"find out who edited the file, and why; {keep}; to give the edit up, {_put_back(file.path)}"
    if explanation is None or file.obstacle is not None:
        return None
    if explanation.line_ends is not None:
        return _line_ends_todo(found, file)
    if file.fit is Fit.MISSING:
        return (
            "find out whether this build has that code in a file that was moved or renamed; if so, cut a diff on that "
            "file, as a variant for this build"
        )
    if file.pristine is False and file.fit is not Fit.UNDECIDED:
        return f"the file is not as its distribution installed it: to put it back, {_put_back(file.path)}"
    if file.reason == "file-exists" and file.old_path is not None:
        return (
            f"{file.old_path} is to be renamed to {file.path}, and both are there: find out whose file the latter is; "
            "the rename goes in once the name is free"
        )
    if file.reason == "file-exists":
        return (
            "see whether this build's own file brings the change already; if not, cut a diff that changes it instead "
            "of adding it, as a variant for this build"
        )
    if file.fit is Fit.UNDECIDED:
        return (
            "look at both places. Where the change is missing, cut the diff again with more context (diff -U10), so "
            "that it tells before from after; where it is in, nothing needs to be applied"
        )
    return _port_todo(found, file, explanation)


def _port_todo(found: Assessment, file: FileFinding, explanation: Explanation) -> str:
    if file.fit is Fit.PARTIAL:
        return "this build carries a part of the change. If the rest is still needed: " + _rest_of_port(found)
    lost = [hunk for hunk in explanation.hunks if hunk.state is Fit.CONFLICT]
    if lost and all(_is_ambiguous(hunk) for hunk in lost):
        return "find out which place is meant, and cut the diff again with more context: diff -U10"
    if any(hunk.side is Direction.REVERSE for hunk in lost):
        return "this build may have the change in other words: find that out first. If not: " + _rest_of_port(found)
    return "this build has other code there: " + _rest_of_port(found)


def _is_ambiguous(hunk: HunkExplanation) -> bool:
    return "ambiguous" in {hunk.before.reason, hunk.after.reason}


def _rest_of_port(found: Assessment) -> str:
    return f"{_PORT} for this build (patchctl show {found.id} prints the old diff)"


def _put_back(path: str) -> str:
    return f"patchctl restore {path} --from WHEEL, with the wheel of the installed build"


def _line_ends_todo(found: Assessment, file: FileFinding) -> str:
    never = "do not convert the installed file: it would not be what RECORD lists any more. "
    if convert_command(found, file) is None:
        return f"{never}Instead, {_rest_of_port(found)}; keep the line ends of every line that stays"
    return never + "Instead, convert the diff in the entry's folder, and add it as a variant for this build"


def _converter(found: LineEnds) -> str | None:
    """Return the sed script that gives a diff of one file the file's line ends; None: no such script would be right.

    The parser refuses a diff whose header lines end in CRLF, so only what lies below the first ``@@`` is converted.
    """
    if (found.diff, found.file) == (LineEnd.CRLF, LineEnd.LF):
        return r"/^@@ /,$ s/\r$//"
    if (found.diff, found.file) == (LineEnd.LF, LineEnd.CRLF) and found.plain:
        return r"/^@@ /,$ s/^[-+ ].*/&\r/"
    return None


def convert_command(found: Assessment, file: FileFinding) -> str | None:
    """Return the command that makes the variant of a diff with other line ends; None: there is none to offer."""
    if file.explanation is None or file.explanation.line_ends is None or file.obstacle is not None:
        return None
    script = _converter(file.explanation.line_ends)
    sources = [diff for diff in found.case.due if any(part.path == file.path for part in diff.files)]
    # a script for one file would spoil the headers and the lines of the others
    if script is None or len(sources) != 1 or len(sources[0].files) != 1:
        return None
    name = sources[0].name
    return f"sed '{script}' {shell_word(name)} > {shell_word(_renamed(name, file.explanation.line_ends.file))}"


def _renamed(name: str, ends: LineEnd) -> str:
    stem, dot, end = name.rpartition(".")
    return f"{stem}-{ends.value}{dot}{end}" if stem else f"{name}-{ends.value}"


def diff_name(found: Assessment, path: str) -> str:
    """Return the name of the diff that changes ``path``."""
    sources = (*found.case.due, *found.case.recorded)
    return next((diff.name for diff in sources if any(part.path == path for part in diff.files)), "the diff")
