"""One entry through every check. Each check is in a module of its own; their order here is of no meaning."""

from __future__ import annotations

from patchctl.diff import parse_diff
from patchctl.errors import DiffError
from patchctl.lint.texts import text_findings
from patchctl.lint.values import Entry, Finding, Grade, NamedDiff, ParsedDiff, in_diff, warning

ENTRY_FILE = "patch.toml"
DIFF_ENDINGS = (".diff", ".patch")


def judge_entry(entry: Entry) -> tuple[Finding, ...]:
    """Return everything that is wrong with an entry which the loader let through."""
    parsed: list[ParsedDiff] = []
    findings: list[Finding] = []
    for given in entry.diffs:
        answer = _through_the_gate(given)
        if isinstance(answer, Finding):
            findings.append(answer)
        else:
            parsed.append(answer)
    findings += _unused_files(entry)
    findings += text_findings(entry)
    return tuple(findings)


def _through_the_gate(given: NamedDiff) -> ParsedDiff | Finding:
    try:
        return ParsedDiff(given=given, files=parse_diff(given.data, strip=given.strip))
    except DiffError as refusal:
        problem = refusal.problem
        finding = Finding(grade=Grade.ERROR, code=problem.code, message=problem.message, hint=problem.hint)
        return in_diff(finding, given, problem.line)


def _unused_files(entry: Entry) -> list[Finding]:
    named = {given.name for given in entry.diffs} | {variant.diff for variant in entry.patch.variants}
    return [
        warning("unused-file", f"{name} is named by no variant and no evidence", hint="name it, or delete it")._replace(
            file=name
        )
        for name in entry.names
        if name.endswith(DIFF_ENDINGS) and name not in named
    ]
