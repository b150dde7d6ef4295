"""``lint --against``: a registry's claims, tried on real trees. Pure reading: nothing is installed, nothing is run.

Each tree is opened, judged and closed again, one after the other. What a claim says and what the bytes show is
compared in the room ``lint``; this file reads, and tells which claims no tree was given for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from patchctl.build import MatchRule, claims, match_rule, parse_build
from patchctl.commands.judging import Scene, judge
from patchctl.commands.place import Place
from patchctl.commands.selection import Parsed
from patchctl.commands.warnings import target_warnings
from patchctl.diff import parse_diff
from patchctl.errors import PatchctlError, Problem
from patchctl.evidence import FixFinding, ItemStatus, files_named, judge_fixes
from patchctl.evidence.source import Source, SourceError
from patchctl.lint import Finding, Made, Trial, claim_findings
from patchctl.match import Fit
from patchctl.model import BuildRule, FixRole, LedgerState
from patchctl.model.shell import shell_line
from patchctl.patch import Patch, Variant
from patchctl.registry import Registry
from patchctl.target import CandidateKind, OpenCandidate, opened_candidate
from patchctl.verdict import Assessment, SiteFacts, by_itself, clashes, fold_diffs


class Grown(NamedTuple):
    """A tree that was tried.

    Attributes:
        path: as it was given.
        kind: what that is.
        builds: distribution -> build string, of all in it that the registry speaks of.
    """

    path: str
    kind: CandidateKind
    builds: Mapping[str, str]


class Cell(NamedTuple):
    """One entry on one tree."""

    tree: Grown
    trial: Trial


class Proof(NamedTuple):
    """What the trees show.

    Attributes:
        trees: those that could be read, in the order they were given.
        cells: by entry, then tree; only where the tree holds a distribution of the entry.
        findings: (entry, finding), equal ones of several builds once.
        untested: claims that no tree was given for, each with its place in the registry.
        warnings: what is odd about a tree.
        errors: trees that cannot be read.
    """

    trees: tuple[Grown, ...]
    cells: tuple[Cell, ...]
    findings: tuple[tuple[Patch, Finding], ...]
    untested: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    errors: tuple[Problem, ...]


def prove(
    registry: Registry,
    entries: Sequence[Patch],
    paths: Sequence[str],
    place: Place,
    *,
    search: Callable[[str, str], bool | None],
    progress: Callable[[int, int], None],
) -> Proof:
    """Try entries on trees.

    Args:
        registry: all of it: what an entry requires, conflicts with or replaces counts too.
        entries: those that are asked about.
        paths: wheels, directories and environments; one that is named twice is tried once.
        place: where; only ``distribution`` and ``environ`` count.
        search: the regular expression search, bounded by its own deadline.
        progress: told how many trees are done, of how many.
    """
    names = {place.distribution} if place.distribution is not None else registry.distributions
    known = _parsed(registry)
    trees: list[Grown] = []
    cells: list[Cell] = []
    warnings: list[Problem] = []
    errors: list[Problem] = []
    # of a registry without a working entry, nothing can be tried
    wanted = list(dict.fromkeys(paths)) if names else []
    for number, path in enumerate(wanted):
        progress(number, len(wanted))
        try:
            with opened_candidate(path, names=names, environ=place.environ) as opened:
                scene = judge(registry, opened.tree, LedgerState(), stores=(), known=known)
        except PatchctlError as error:
            errors.append(error.problem._replace(path=error.problem.path or path))
            continue
        tree = _grown(opened)
        trees.append(tree)
        trials = list(_trials(scene, entries, search))
        cells += [Cell(tree=tree, trial=trial) for trial in trials]
        errors += [problem._replace(path=path) for problem in scene.target.unusable.values()]
        warnings += _odd(path, scene, trials)
    order = {id_: number for number, id_ in enumerate(entry.id for entry in entries)}
    cells.sort(key=lambda cell: order[cell.trial.patch.id])
    tried = [cell.trial for cell in cells]
    return Proof(
        trees=tuple(trees),
        cells=tuple(cells),
        findings=tuple(_gathered(cells)),
        untested=tuple(problem for entry in entries for problem in _untested(registry, entry, tried)),
        warnings=tuple(warnings),
        errors=tuple(errors),
    )


def _parsed(registry: Registry) -> Parsed:
    """Every diff of the registry, parsed once for all trees; a broken one is reported by whoever asks for it."""
    found = {}
    for entry in registry.entries:
        for variant in entry.variants:
            if variant.diff is None or variant.sha256 is None or (variant.sha256, variant.strip) in found:
                continue
            try:
                files = parse_diff(registry.read_diff(entry, variant), strip=variant.strip)
            except PatchctlError:
                continue
            found[variant.sha256, variant.strip] = files
    return found


def _grown(opened: OpenCandidate) -> Grown:
    distributions = opened.tree.target.distributions
    builds = {name: found.build for name, found in distributions.items()}
    return Grown(path=opened.path, kind=opened.kind, builds=builds)


def _trials(scene: Scene, entries: Sequence[Patch], search: Callable[[str, str], bool | None]) -> Iterator[Trial]:
    cases = [found.case for found in scene.assessments]
    alone = {case.id: by_itself(case, cases, scene.site) for case in cases}
    ordered = [alone[entry.id] for entry in scene.registry.entries if entry.id in alone]
    clashing = {clash.id: clash for clash in clashes(ordered, scene.site)}
    for entry in entries:
        installed = scene.target.distributions
        builds = {name: installed[name].build for name in entry.distributions if name in installed}
        if builds:
            found = alone.get(entry.id)
            patched = _patched(entry, found, scene.site, search) if found is not None else ()
            near = _near(found, scene.site) if found is not None else {}
            yield Trial(
                patch=entry,
                builds=builds,
                found=found,
                clash=clashing.get(entry.id),
                patched=patched,
                near=near,
                made=_made(found, scene.site) if found is not None else (),
            )


def _near(found: Assessment, site: SiteFacts) -> dict[tuple[str, str], tuple[str, ...]]:
    """Names that evidence may have meant, where its file is there and its symbol is not."""
    gone = [it.item for fix in found.case.fixes for it in fix.items if it.status is ItemStatus.GONE]
    leaves = [leaf for item in gone for leaf in (item.alternatives or (item,))]
    near: dict[tuple[str, str], tuple[str, ...]] = {}
    for item in leaves:
        content = site.base_content(item.file)
        try:
            source = Source(content.data) if content is not None else None
            if source is not None and item.symbol is not None and not source.looks_to_define(item.symbol):
                near[item.file, item.symbol] = source.near(item.symbol)
        except SourceError:
            continue
    return near


def _patched(
    entry: Patch, found: Assessment, site: SiteFacts, search: Callable[[str, str], bool | None]
) -> tuple[FixFinding, ...]:
    """The fixes of an entry on its own result."""
    named = files_named(entry.fixes)
    files = [file for diff in found.case.diffs for file in diff.files]
    touched = any(path in named for file in files for path in file.paths)
    if not touched or found.fit is not Fit.APPLICABLE:
        return ()
    folded = fold_diffs(files, site.base_content).contents
    contents = {path: folded[path] if path in folded else site.base_content(path) for path in named}
    return judge_fixes(
        entry.fixes,
        files={path: None if content is None else content.data for path, content in contents.items()},
        claimed=lambda _: False,
        search=search,
    )


def _made(found: Assessment, site: SiteFacts) -> tuple[Made, ...]:
    """The Python files that an entry's diffs change or add, where they fit."""
    if found.fit is not Fit.APPLICABLE:
        return ()
    folded = fold_diffs([file for diff in found.case.diffs for file in diff.files], site.base_content).contents
    made = []
    for path, after in folded.items():
        before = site.base_content(path)
        if after is not None and path.endswith((".py", ".pyi")):
            made.append(Made(path=path, before=None if before is None else before.data, after=after.data))
    return tuple(made)


def _odd(path: str, scene: Scene, trials: Iterable[Trial]) -> Iterator[Problem]:
    """What is odd about a tree as a witness."""
    for problem in target_warnings(scene.target):
        yield problem._replace(path=path)
    for trial in trials:
        if trial.found is not None and trial.rule is not MatchRule.NONE and not trial.is_witness:
            message = (
                f"{path}: files of {trial.patch.id} are not as the build brought them: they prove nothing about it"
            )
            hint = "give the wheel, or a directory as it was installed"
            yield Problem(code="tree-changed", message=message, hint=hint, patch=trial.patch.id, path=path)


def _gathered(cells: Iterable[Cell]) -> Iterator[tuple[Patch, Finding]]:
    """Findings with their builds in front; what several builds have in common is said once."""
    found: dict[tuple[str, Finding], list[Cell]] = {}
    for cell in cells:
        for finding in claim_findings(cell.trial):
            found.setdefault((cell.trial.patch.id, finding), []).append(cell)
    for (_, finding), those in found.items():
        where = ", ".join(dict.fromkeys(cell.trial.build for cell in those))
        hint = _look(those[0].tree.path) if finding.code == "claim-does-not-fit" else finding.hint
        yield those[0].trial.patch, finding._replace(message=f"{where}: {finding.message}", hint=hint)


def _look(path: str) -> str:
    """What to do about a diff that does not fit a tree; where and why it does not, another command tells."""
    look = shell_line(("patchctl", "preflight", path, "-v"))
    return f"leave this build out, or cut a diff for it; {look} explains, hunk by hunk, in an environment that has one"


def _untested(registry: Registry, entry: Patch, trials: Sequence[Trial]) -> Iterator[Problem]:
    """The claims of an entry that no tree could prove or refute."""
    own = [trial for trial in trials if trial.patch.id == entry.id and trial.is_witness]
    open_claims = dict((*_open_variants(entry, own), *_open_fixes(entry, own)))
    if not open_claims:
        return
    file, lines = registry.locate_all(entry, list(open_claims))
    for (key, claim), line in zip(open_claims.items(), lines, strict=True):
        yield Problem(code="untested", message=claim, patch=entry.id, path=file, line=line, key=key)


def _open_variants(entry: Patch, trials: Sequence[Trial]) -> Iterator[tuple[str, str]]:
    for at, variant in enumerate(entry.variants):
        if variant.diff is None:
            continue
        chosen = [trial for trial in trials if _is_chosen(variant, trial)]
        for number, name in enumerate(variant.rule.builds):
            if not _met(BuildRule(builds=(name,)), variant, chosen):
                yield f"variant[{at}].builds[{number}]", f"{variant.diff} for {name}"
        label = variant.rule.label
        ranged = BuildRule(versions=variant.rule.versions, label=label)
        if variant.rule.versions is not None and not _met(ranged, variant, chosen):
            labels = f"label {label}" if isinstance(label, str) else f"labels {', '.join(label)}"
            yield f"variant[{at}].versions", f"{variant.diff} for {variant.rule.versions} with {labels}"


def _open_fixes(entry: Patch, trials: Sequence[Trial]) -> Iterator[tuple[str, str]]:
    for at, fix in enumerate(entry.fixes):
        builds = [parse_build(trial.builds[fix.distribution]) for trial in trials if fix.distribution in trial.builds]
        if fix.role is FixRole.FIXES and fix.claimed and not any(claims(fix.claimed, build) for build in builds):
            yield f"fix[{at}].claimed", f"{fix.ref} in {fix.claimed}"


def _is_chosen(variant: Variant, trial: Trial) -> bool:
    """The variant is the one for the tree's build."""
    found = trial.found
    if found is None or found.case.rule is MatchRule.NONE:
        return False
    return any(diff.variant is variant for diff in found.case.diffs)


def _met(rule: BuildRule, variant: Variant, chosen: Sequence[Trial]) -> bool:
    builds = [parse_build(trial.builds[variant.distribution]) for trial in chosen]
    return any(match_rule(rule, build).rule is not MatchRule.NONE for build in builds)
