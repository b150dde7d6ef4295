"""Judge entries: receipts first, in ledger order, each over what the ones before it left; then the others.

An entry that was never applied is judged over the bytes it would meet: the base, with every applied entry folded in,
and with what it requires.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from patchctl.build import MatchRule
from patchctl.diff import ChangeKind, FileDiff
from patchctl.match import Fit, FitReport
from patchctl.model import Content, Distribution, pristine, sha256_hex
from patchctl.verdict.base import BaseKind, is_rebuilt
from patchctl.verdict.departing import aside_words, comes_back, upgrade_words
from patchctl.verdict.explaining import meeting_of
from patchctl.verdict.facts import Action, Assessment, Case, FileFinding, Need, SiteFacts, SourceDiff, Verdict
from patchctl.verdict.fold import fit_of, fold_diffs
from patchctl.verdict.need import action_of, need_of
from patchctl.verdict.scope import crowded, outside, standing

_WORST = (Fit.MISSING, Fit.CONFLICT, Fit.UNDECIDED, Fit.PARTIAL)
_UNRECEIPTED = {
    Fit.MISSING: Verdict.MISSING,
    Fit.PRESENT: Verdict.PRESENT,
    Fit.APPLICABLE: Verdict.APPLICABLE,
    Fit.PARTIAL: Verdict.PARTIAL,
    Fit.UNDECIDED: Verdict.UNDECIDED,
    Fit.CONFLICT: Verdict.CONFLICT,
}


class _View:
    """The bytes an entry meets: base bytes, with what was folded so far."""

    def __init__(self, site: SiteFacts) -> None:
        self.site = site
        self.folded: dict[str, Content | None] = {}
        self.layers: list[tuple[str, tuple[SourceDiff, ...]]] = []

    def read(self, path: str) -> Content | None:
        if path in self.folded:
            return self.folded[path]
        base = self.site.bases[path]
        return self.site.live_content(path) if base.kind is BaseKind.FOREIGN else base.content

    def fold(self, id_: str, diffs: tuple[SourceDiff, ...]) -> None:
        fold = fold_diffs([file for diff in diffs for file in diff.files], self.read)
        self.folded.update(fold.contents)
        self.layers.append((id_, diffs))

    def fold_required(self, case: Case, by_id: Mapping[str, Case]) -> None:
        """Fold what the entry requires and is not in yet, deepest first; what does not fit changes nothing."""
        inside = {id_ for id_, _ in self.layers}
        for required in _closure(case, by_id):
            if required.id not in inside:
                self.fold(required.id, required.diffs)

    def without(self, ids: Sequence[str]) -> _View:
        """A view of its own, as if the entries ``ids`` were out."""
        other = _View(self.site)
        if not any(id_ in ids for id_, _ in self.layers):
            other.folded, other.layers = dict(self.folded), list(self.layers)
            return other
        for id_, diffs in self.layers:
            if id_ not in ids:
                other.fold(id_, diffs)
        return other


def assess(cases: Sequence[Case], site: SiteFacts) -> tuple[Assessment, ...]:
    """Judge every case.

    Args:
        cases: in fold order: receipts in ledger order, then the others.
        site: the environment; its bases cover every path that a case's diffs name.
    """
    by_id = {case.id: case for case in cases}
    view, found = _View(site), []
    for case in (case for case in cases if case.receipt is not None):
        found.append(_assess_receipt(case, site, view, by_id))
    # The others meet what is wanted before them; one that matches nothing is judged last, over all of it.
    wanted = view.without(())
    for case in sorted(
        (case for case in cases if case.receipt is None),
        key=lambda case: case.rule is MatchRule.NONE,
    ):
        assessment = _assess_over(wanted, case, site, by_id)
        if case.rule is not MatchRule.NONE and assessment.fit is not Fit.APPLICABLE:
            # It may fit without the others that are wanted: then it can come in by itself, or instead of them.
            assessment = _assess_over(view, case, site, by_id)
        found.append(assessment)
        if assessment.need is Need.WANTED and assessment.fit is Fit.APPLICABLE:
            wanted.fold_required(case, by_id)
            wanted.fold(case.id, case.diffs)
    order = {case.id: number for number, case in enumerate(cases)}
    return _settle(sorted(found, key=lambda assessment: order[assessment.id]))


def _settle(found: list[Assessment]) -> tuple[Assessment, ...]:
    """The action depends on the neighbours too (requires, conflicts): a second pass over first answers."""
    needs = {assessment.id: assessment for assessment in found}
    return tuple(action_of(assessment, needs) for assessment in found)


def _assess_receipt(case: Case, site: SiteFacts, view: _View, by_id: Mapping[str, Case]) -> Assessment:
    verdict, why = _recorded_verdict(case, site)
    # A lost entry, or one with a newer revision, is judged by the diffs that would bring it in now.
    changing = verdict is Verdict.LOST or (verdict is Verdict.APPLIED and case.newer)
    met = view.without(())
    if changing:
        met.fold_required(case, by_id)
    fit, files = _fit_files(case.due if changing else case.recorded, site, met, forward_only=verdict is Verdict.APPLIED)
    need = need_of(case, fit if verdict is Verdict.LOST else None, files)
    coming = verdict is Verdict.LOST or case.newer
    wanted = need is Need.WANTED or (verdict is Verdict.LOST and comes_back(case, need, fit))
    if coming and wanted and fit is Fit.APPLICABLE:
        view.fold(case.id, case.due)
    else:
        view.fold(case.id, standing(site, case.id, case.recorded))
    return _first_answer(case, verdict, fit, files, need, why)


def _recorded_verdict(case: Case, site: SiteFacts) -> tuple[Verdict, str]:
    """The verdict of an entry with a receipt, from hashes alone."""
    paths = [path for diff in case.recorded for file in diff.files for path in file.paths]
    # a later entry may have renamed a file that this one changed: its lines are under the new name
    paths += [path for path, fact in site.ledger.files.items() if case.id in fact.entries and path not in paths]
    absent = [diff.distribution for diff in case.recorded if diff.distribution not in site.distributions]
    if absent:
        return Verdict.LOST, f"{absent[0]} is not installed here any more"
    for path in paths:
        fact = site.ledger.files.get(path)
        expected = fact is not None and None not in (fact.base, fact.result)
        if expected and path not in site.snapshot.problems and site.snapshot.files.get(path) is None:
            return Verdict.MISSING, f"{path} is gone"
    for path in paths:
        base = site.bases[path]
        if base.kind is BaseKind.FOREIGN:
            return Verdict.DRIFTED, f"{path}: {base.reason}"
    for path in paths:
        fact = site.ledger.files.get(path)
        if fact is None or case.id not in fact.entries:
            mark = case.receipt.set_aside if case.receipt is not None else None
            return Verdict.LOST, f"{path} does not carry it any more" if mark is None else aside_words(mark)
        if site.bases[path].history:
            if is_rebuilt(fact, _fingerprint(site, fact.distribution)):
                return Verdict.LOST, f"lost by {upgrade_words(case)}: {path} was replaced by another build"
            return Verdict.LOST, f"{path} was put back to its original"
    return Verdict.APPLIED, "every file is as patchctl left it"


def _fingerprint(site: SiteFacts, distribution: str) -> str | None:
    found = site.distributions.get(distribution)
    return found.fingerprint if found is not None else None


def _assess_over(ground: _View, case: Case, site: SiteFacts, by_id: Mapping[str, Case]) -> Assessment:
    met = ground.without(case.replaces)
    met.fold_required(case, by_id)
    return _assess_other(case, site, met)


def _assess_other(case: Case, site: SiteFacts, met: _View) -> Assessment:
    if not case.diffs:
        need = need_of(case, None, ())
        return _first_answer(case, None, None, (), need, case.reason)
    fit, files = _fit_files(case.diffs, site, met)
    need = need_of(case, fit, files)
    why = next((f"{file.path}: {file.obstacle}" for file in files if file.obstacle), case.reason)
    return _first_answer(case, _UNRECEIPTED[fit], fit, files, need, why)


def _first_answer(
    case: Case,
    verdict: Verdict | None,
    fit: Fit | None,
    files: tuple[FileFinding, ...],
    need: Need,
    reason: str,
) -> Assessment:
    """An assessment whose action is still open: it is settled once every neighbour is known."""
    return Assessment(case=case, verdict=verdict, fit=fit, files=files, need=need, action=Action.NONE, reason=reason)


def _fit_files(
    diffs: Sequence[SourceDiff], site: SiteFacts, view: _View, *, forward_only: bool = False
) -> tuple[Fit, tuple[FileFinding, ...]]:
    """What each file looks like to the diffs, and the worst over all of them."""
    findings = []
    for diff in diffs:
        distribution = site.distributions.get(diff.distribution)
        for file in diff.files:
            seen = next((path for path in reversed(file.paths) if site.snapshot.files.get(path)), file.path)
            live = site.snapshot.files.get(seen)
            digest = live.sha256 if live is not None else None
            clean = pristine(distribution, seen, digest) if distribution is not None else None
            report = fit_of(file, view.read)
            on_base = None if any(path in view.folded for path in file.paths) else report
            built_in = _in_the_build(site, distribution, file, on_base)
            fit = Fit.PRESENT if built_in else report.fit
            match = report.reverse if fit is Fit.PRESENT and not forward_only else report.forward
            strange = outside(site, diff.distribution, file)
            crowd = crowded(site, file, (other for it in diffs for other in it.files))
            met = next((found for path in reversed(file.paths) if (found := view.read(path)) is not None), None)
            findings.append(
                FileFinding(
                    path=file.path,
                    fit=fit,
                    pristine=clean,
                    built_in=built_in,
                    sha256=digest,
                    hunks=match.hunks,
                    obstacle=_obstacle(site, file) or strange or crowd,
                    reason=match.reason,
                    old_path=file.old_path,
                    meeting=meeting_of(file, met and met.data, report, fit) if strange is None else None,
                )
            )
    return _worst([finding.fit for finding in findings]), tuple(findings)


def _obstacle(site: SiteFacts, file: FileDiff) -> str | None:
    for path in file.paths:
        reason = site.snapshot.problems.get(path) or site.bases[path].reason
        if reason is not None:
            return reason if path == file.path else f"{path}: {reason}"
    return None


def _in_the_build(
    site: SiteFacts, distribution: Distribution | None, file: FileDiff, on_base: FitReport | None
) -> bool:
    """The change is in the base bytes (``on_base``: judged on them already), and these are what RECORD lists."""
    if distribution is None or any(site.bases[path].kind is BaseKind.FOREIGN for path in file.paths):
        return False
    data = site.bases[file.path].data
    digest = None if data is None else sha256_hex(data)
    if pristine(distribution, file.path, digest) is not True:
        return False
    if file.kind is ChangeKind.RENAME and on_base is None:
        # Another entry moves these names about: that a file has the new one says nothing of where it came from.
        return False
    return (on_base or fit_of(file, site.base_content)).fit is Fit.PRESENT


def _worst(fits: Sequence[Fit]) -> Fit:
    for fit in _WORST:
        if fit in fits:
            return fit
    if Fit.PRESENT in fits:
        return Fit.PARTIAL if Fit.APPLICABLE in fits else Fit.PRESENT
    return Fit.APPLICABLE


def _closure(case: Case, by_id: Mapping[str, Case]) -> list[Case]:
    """What ``case`` requires and is not applied, deepest first; the registry has refused cycles."""
    ordered: list[Case] = []

    def visit(current: Case) -> None:
        for needed in current.requires:
            other = by_id.get(needed)
            if other is not None and other.receipt is None and other not in ordered and other is not case:
                visit(other)
                ordered.append(other)

    visit(case)
    return ordered
