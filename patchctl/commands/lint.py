"""``lint``: the registry as its authors want to know it. No environment is consulted but the trees that are named.

What the loader reports is an error here; what an entry that loads says is judged by the room ``lint``. This file
gathers both and gives every finding its file and line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from patchctl.commands.place import Place
from patchctl.commands.report import Report
from patchctl.commands.scene import open_registry
from patchctl.commands.stack import unknown_entry
from patchctl.errors import Outcome, Problem, RegistryError
from patchctl.lint import Entry, Finding, Grade, NamedDiff, judge_entry, registry_findings
from patchctl.patch import Patch
from patchctl.processes import Searcher
from patchctl.registry import Registry, RegistryRoot

if TYPE_CHECKING:  # most runs open no tree
    from patchctl.commands.proving import Proof

ENTRY_FILE = "patch.toml"
_BUDGET = 60.0
"""Seconds for the patterns of a registry. A thousand sound ones take one."""


class Graded(NamedTuple):
    """A finding with its place: the problem, and how bad it is."""

    grade: Grade
    problem: Problem


class LintReport(NamedTuple):
    """What was found in the registries.

    Attributes:
        roots: the registries.
        findings: by registry, entry, file and line.
        entries: how many entries were judged; those that do not load are not among them.
        diffs: how many diffs of theirs were read, each file once.
        proof: what real trees show of them; None: none was given.
        matrix: every entry on every tree is to be shown.
        page: as a page for the docs, and nothing else.
    """

    roots: tuple[RegistryRoot, ...]
    findings: tuple[Graded, ...]
    entries: int
    diffs: int
    proof: Proof | None = None
    matrix: bool = False
    page: bool = False

    def count(self, grade: Grade) -> int:
        """Return how many findings are of that grade."""
        return sum(finding.grade is grade for finding in self.findings)


def lint(
    place: Place,
    ids: Sequence[str] = (),
    *,
    strict: bool = False,
    against: Sequence[str] = (),
    matrix: bool = False,
    page: bool = False,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> Report:
    """Judge registries, or some entries of them.

    Args:
        place: which registries; of the rest only ``distribution`` counts.
        ids: entries to judge; empty: all, and what is wrong with the registry as a whole.
        strict: warnings count for the outcome.
        against: wheels, directories and environments to try the entries on.
        matrix: show every entry on every tree.
        page: show that alone, as a page for the docs.
        progress: told how many trees are done, of how many.

    Raises:
        RegistryError: a registry cannot be read at all.
        UsageError: no entry is called so.
    """
    registry = open_registry(place)
    for id_ in ids:
        if registry.find(id_) is None and not registry.problems_of(id_):
            raise unknown_entry(id_, [entry.id for entry in registry.entries])
    entries = [patch for patch in registry.entries if _asked_for(patch, place, ids)]
    found = [
        Graded(grade=Grade.ERROR, problem=problem) for problem in registry.problems if not ids or problem.patch in ids
    ]
    found += () if ids else _of_roots(registry)
    others = {patch.id: patch for patch in registry.entries}
    known = frozenset((*others, *(problem.patch for problem in registry.problems if problem.patch)))
    diffs = 0
    proof = None
    with Searcher(budget=_BUDGET) as searcher:
        for patch in entries:
            entry, problems = _gather(registry, patch, others, known)
            found += [Graded(grade=Grade.ERROR, problem=problem) for problem in problems]
            found += _placed(registry, patch, judge_entry(entry, search=searcher.search))
            diffs += len({given.name for given in entry.diffs})
        if against:
            from patchctl.commands.proving import prove

            proof = prove(registry, entries, against, place, search=searcher.search, progress=progress)
            for patch in entries:
                found += _placed(registry, patch, [finding for of, finding in proof.findings if of is patch])
    report = LintReport(
        roots=registry.roots,
        findings=tuple(_ordered(registry, found)),
        entries=len(entries),
        diffs=diffs,
        proof=proof,
        matrix=matrix,
        page=page,
    )
    return _answer(report, ids, strict=strict)


def _answer(report: LintReport, ids: Sequence[str], *, strict: bool) -> Report:
    bad = report.count(Grade.ERROR) or (strict and report.count(Grade.WARNING))
    outcome = Outcome.ATTENTION if bad else Outcome.OK
    errors = report.proof.errors if report.proof is not None else ()
    warnings = report.proof.warnings if report.proof is not None else ()
    if errors:
        outcome = outcome.worse(Outcome.CANNOT_ANSWER)
    if report.page:
        # the page has no place for them
        errors += tuple(graded.problem for graded in report.findings if graded.grade is Grade.ERROR)
        warnings += tuple(graded.problem for graded in report.findings if graded.grade is Grade.WARNING)
    return Report(command="lint", outcome=outcome, named=tuple(ids), warnings=warnings, errors=errors, lint=report)


def _asked_for(patch: Patch, place: Place, ids: Sequence[str]) -> bool:
    if ids:
        return patch.id in ids
    return place.distribution is None or place.distribution in patch.distributions


def _gather(
    registry: Registry, patch: Patch, others: Mapping[str, Patch], known: frozenset[str]
) -> tuple[Entry, list[Problem]]:
    """Read what lies in an entry's folder; what cannot be read is a problem and never hides the rest."""
    problems: list[Problem] = []
    diffs: dict[tuple[str, int, bool], NamedDiff] = {}
    for given in (*_of_variants(registry, patch, problems), *_of_evidence(patch)):
        diffs.setdefault((given.name, given.strip, given.evidence), given)
    try:
        names = registry.names_beside(patch)
        text = (registry.read_beside(patch, ENTRY_FILE) or b"").decode("utf-8", "replace")
    except OSError as error:
        problems.append(_unreadable(patch, error))
        names, text = (), ""
    entry = Entry(patch=patch, text=text, diffs=tuple(diffs.values()), names=names, others=others, known=known)
    return entry, problems


def _of_roots(registry: Registry) -> Iterator[Graded]:
    """What is odd in the registries' own files."""
    for root in registry.roots:
        path, data = registry.read_root(root)
        for finding in registry_findings(data.decode("utf-8", "replace"), root.name):
            problem = Problem(code=finding.code, message=finding.message, hint=finding.hint, path=path)
            yield Graded(grade=finding.grade, problem=problem._replace(line=finding.line, key=finding.key))


def _unreadable(patch: Patch, error: OSError) -> Problem:
    message = f"{patch.folder} cannot be read: {error.strerror or error}"
    return Problem(code="folder-unreadable", message=message, patch=patch.id, path=patch.folder)


def _of_variants(registry: Registry, patch: Patch, problems: list[Problem]) -> Iterator[NamedDiff]:
    """Every diff of a variant; one with another digest is a problem, and judged as it is."""
    for index, variant in enumerate(patch.variants):
        if variant.diff is None:
            continue
        data: bytes | None = None
        try:
            data = registry.read_diff(patch, variant)
        except RegistryError as error:
            problems.append(error.problem)
            if error.problem.code != "diff-digest":
                continue
            with suppress(OSError):  # it was there a moment ago, and its digest is told anyway
                data = registry.read_beside(patch, variant.diff)
        if data is not None:
            yield NamedDiff(
                name=variant.diff,
                data=data,
                key=f"variant[{index}].diff",
                strip=variant.strip,
                distribution=variant.distribution,
            )


def _of_evidence(patch: Patch) -> Iterator[NamedDiff]:
    for number, fix in enumerate(patch.fixes):
        for index, item in enumerate(fix.evidence):
            key = f"fix[{number}].evidence[{index}]"
            places = [(key, item), *((f"{key}.any[{at}]", part) for at, part in enumerate(item.alternatives))]
            for place, part in places:
                if part.diff is not None and part.diff_name is not None:
                    yield NamedDiff(
                        name=part.diff_name,
                        data=part.diff,
                        key=f"{place}.diff",
                        distribution=fix.distribution,
                        evidence=True,
                    )


def _placed(registry: Registry, patch: Patch, findings: Sequence[Finding]) -> Iterator[Graded]:
    """Give findings their files and lines; the entry's file is scanned once."""
    if not findings:
        return
    file, lines = registry.locate_all(patch, [finding.key or "" for finding in findings])
    for finding, line in zip(findings, lines, strict=True):
        inside = finding.file is not None
        problem = Problem(
            code=finding.code,
            message=finding.message,
            hint=finding.hint,
            patch=patch.id,
            path=f"{patch.folder}/{finding.file}" if inside else file,
            line=finding.line if inside or finding.line is not None else line,
            key=finding.key,
        )
        yield Graded(grade=finding.grade, problem=problem)


def _ordered(registry: Registry, found: Sequence[Graded]) -> list[Graded]:
    """By registry as given, then folder, file and line; equal findings once, as of two variants with one diff."""
    roots = [root.path for root in registry.roots]

    def place(graded: Graded) -> tuple[int, tuple[str, ...], str, int]:
        path = graded.problem.path or ""
        root = next((number for number, root in enumerate(roots) if path.startswith(f"{root}/")), len(roots))
        if graded.problem.patch is not None and path.endswith(f"/{graded.problem.patch}"):
            path += "/"  # it is the entry's folder
        *folder, name = path.split("/")
        return root, tuple(folder), name, graded.problem.line or 0

    return sorted(dict.fromkeys(found), key=place)
