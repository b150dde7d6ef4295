"""One entry through every check. Each check is in a module of its own; their order here is of no meaning."""

from __future__ import annotations

from patchctl.diff import parse_diff
from patchctl.errors import DiffError
from patchctl.lint.advice import advice_findings
from patchctl.lint.collision import collision_findings
from patchctl.lint.headers import header_findings
from patchctl.lint.locality import locality_findings
from patchctl.lint.proof import proof_findings
from patchctl.lint.relations import relation_findings
from patchctl.lint.sections import section_findings
from patchctl.lint.stalling import stalling_findings
from patchctl.lint.texts import name_findings, text_findings
from patchctl.lint.values import Entry, Finding, Grade, NamedDiff, ParsedDiff, Search, in_diff, warning
from patchctl.lint.variants import variant_findings
from patchctl.patch import Kind

DIFF_ENDINGS = (".diff", ".patch")


def judge_entry(entry: Entry, *, search: Search) -> tuple[Finding, ...]:
    """Return everything that is wrong with an entry which the loader let through.

    Args:
        entry: with all that lies in its folder.
        search: the regular expression search, bounded by its own deadline.
    """
    parsed: list[ParsedDiff] = []
    findings: list[Finding] = []
    for given in entry.diffs:
        answer = _through_the_gate(given)
        if isinstance(answer, Finding):
            findings.append(answer)
        else:
            parsed.append(answer)
    own = [one for one in parsed if not one.given.evidence]
    for one in parsed:
        findings += name_findings(one)
    patch = entry.patch
    findings += _unused_files(entry)
    findings += text_findings(entry)
    findings += variant_findings(patch)
    findings += relation_findings(patch, entry.others, entry.known)
    findings += proof_findings(patch, parsed)
    findings += advice_findings(patch, own)
    findings += stalling_findings(patch, search)
    for one in own:
        findings += section_findings(one)
        findings += header_findings(one)
    if patch.kind is Kind.CONTAINMENT:
        findings += collision_findings(patch, parsed, search)
        for one in own:
            findings += locality_findings(one)
    return tuple(dict.fromkeys(findings))  # a pattern may stall in two checks


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
