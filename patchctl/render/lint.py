"""What ``lint`` found: as JSON values, as records for a pipe, as lines for a terminal, entry by entry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from patchctl.lint import Grade

if TYPE_CHECKING:
    from patchctl.commands.lint import Graded, LintReport

_STYLES = {Grade.ERROR: "bold red", Grade.WARNING: "yellow"}


def lint_json(found: LintReport) -> dict[str, Any]:
    """Return the ``lint`` object of the document."""
    from patchctl.render.matrix import proof_json

    return {
        "findings": [{"severity": graded.grade.value, **graded.problem._asdict()} for graded in found.findings],
        "checked": {
            "registries": [root.path for root in found.roots],
            "entries": found.entries,
            "diffs": found.diffs,
            "errors": found.count(Grade.ERROR),
            "warnings": found.count(Grade.WARNING),
        },
        **proof_json(found.proof, matrix=found.matrix),
    }


def lint_records(found: LintReport) -> Iterator[tuple[str, ...]]:
    """Yield the fields of every record: one for each finding, its severity first, then one sum."""
    for graded in found.findings:
        fields = [graded.problem.code, _place(graded), graded.problem.key or "-", graded.problem.message]
        fields += [f"hint={graded.problem.hint}"] if graded.problem.hint else []
        if graded.grade is Grade.ERROR:
            yield "error", *fields
        else:
            yield "warning", *fields
    if found.proof is not None:
        from patchctl.render.matrix import proof_records

        yield from proof_records(found.proof, matrix=found.matrix)
    yield "linted", *(f"{name}={count}" for name, count in _counts(found).items())


def lint_lines(found: LintReport) -> Iterator[tuple[str, str, int]]:
    """Yield (text, style, columns of indent) for a terminal: the findings of one entry together."""
    group: str | None = None
    for graded in found.findings:
        problem = graded.problem
        head = problem.patch or problem.path or ""
        if head != group:
            group = head
            yield head, "bold", 0
        where = f"{_name(graded)}{f':{problem.line}' if problem.line is not None else ''}"
        key = f" {problem.key}" if problem.key else ""
        yield f"{graded.grade.value}: {where}{key} [{problem.code}]", _STYLES[graded.grade], 4
        yield problem.message, "", 8
        if problem.hint:
            yield f"hint: {problem.hint}", "", 8
    counts = _counts(found)
    entries = f"{counts['entries']} entr{'y' if counts['entries'] == 1 else 'ies'}"
    parts = [_number(counts[name], name[:-1]) for name in ("diffs", "errors", "warnings")]
    where = ""
    if found.proof is not None:
        from patchctl.render.matrix import proof_lines

        yield from proof_lines(found.proof, matrix=found.matrix)
        where = f" on {_number(len(found.proof.trees), 'tree')}"
    bad = found.count(Grade.ERROR)
    style = "bold red" if bad else "bold yellow" if found.findings else "bold green"
    yield f"{entries} and {parts[0]}{where}: {parts[1]}, {parts[2]}", style, 0


def _number(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _counts(found: LintReport) -> dict[str, int]:
    return {
        "entries": found.entries,
        "diffs": found.diffs,
        "errors": found.count(Grade.ERROR),
        "warnings": found.count(Grade.WARNING),
    }


def _place(graded: Graded) -> str:
    path, line = graded.problem.path or "-", graded.problem.line
    return path if line is None else f"{path}:{line}"


def _name(graded: Graded) -> str:
    """The file within the entry's folder, which the head of the group names."""
    path = graded.problem.path or "-"
    return path.rpartition("/")[2] if graded.problem.patch is not None else path
