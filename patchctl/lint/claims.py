"""What an entry claims, compared with what the files of a tree show.

Messages are about one build, which whoever shows them puts in front. A claim is wrong where the bytes say so; what no
tree was given for is not judged here.
"""

from __future__ import annotations

from collections.abc import Iterator

from patchctl.build import MatchRule, is_release
from patchctl.evidence import FixFinding, FixStatus, ItemStatus
from patchctl.lint.outcome import broken_source, unknown_names
from patchctl.lint.trial import Trial
from patchctl.lint.values import Finding, Grade, error, warning
from patchctl.match import Fit
from patchctl.model import FixRole
from patchctl.patch import Kind
from patchctl.verdict import Assessment, Need, SourceDiff, fits_alone, misfit

_BROKEN_PROMISE = frozenset({FixStatus.CONTRADICTED, FixStatus.MOVED, FixStatus.UNKNOWN})
_DECISIVE = (ItemStatus.FAILS, ItemStatus.MOVED, ItemStatus.GONE, ItemStatus.UNKNOWN)


def claim_findings(trial: Trial) -> Iterator[Finding]:
    """Return every claim of an entry that a tree refutes, and what the tree shows that the entry could claim."""
    yield from _ties(trial)
    if trial.found is None or not trial.is_witness:
        return
    if trial.rule is not MatchRule.NONE and trial.found.need is not Need.FIXED:
        yield from _misfits(trial, trial.found)
        yield from _clash(trial, trial.found)
    if trial.found.need is Need.UNKNOWN_BUILD and fits_alone(trial.found):
        yield _too_narrow(trial, trial.found)
    for index, finding in trial.fixes:
        yield from _of_fix(trial, index, finding)
    yield from _self_collisions(trial)
    if trial.rule is not MatchRule.NONE:
        yield from _outcomes(trial, trial.found)


def claim_key(trial: Trial, diff: SourceDiff) -> str:
    """Return the key that says that a diff is for this build."""
    at = next((at for at, variant in enumerate(trial.patch.variants) if variant is diff.variant), 0)
    return f"variant[{at}].{'builds' if diff.rule is MatchRule.EXACT else 'versions'}"


def _ties(trial: Trial) -> Iterator[Finding]:
    for tie in trial.ties:
        names = " and ".join(f"variant[{index}]" for index in tie)
        message = f"{names} fit it equally well, so that none is chosen"
        yield error("variant-tie", message, key=f"variant[{tie[0]}]", hint="narrow one of them")


def _misfits(trial: Trial, found: Assessment) -> Iterator[Finding]:
    if fits_alone(found):
        return
    for diff in found.case.diffs:
        paths = {file.path for file in diff.files}
        own = found._replace(files=tuple(file for file in found.files if file.path in paths))
        good = {Fit.APPLICABLE, Fit.PRESENT} if found.fit is not Fit.PARTIAL else {Fit.APPLICABLE}
        if all(file.fit in good and not file.obstacle for file in own.files):
            continue
        blocked = next((f"{file.path}: {file.obstacle}" for file in own.files if file.obstacle), None)
        why = misfit(own) or blocked or "some of its files carry the change already"
        message = f"it is named, but {diff.name} does not fit: {why}"
        if trial.fuzz is not None:
            message += f"; GNU patch would take it with fuzz {trial.fuzz}, which is a guess"
        yield error("claim-does-not-fit", message, key=claim_key(trial, diff))


def _clash(trial: Trial, found: Assessment) -> Iterator[Finding]:
    if trial.clash is None or not found.case.diffs:
        return
    key = claim_key(trial, found.case.diffs[0]).partition(".")[0] + ".diff"
    message = f"it fits by itself, and not over {' and '.join(trial.clash.over)}: {trial.clash.reason}"
    hint = "cut one over the other and say requires, or say conflicts"
    yield error("stack-conflict", message, key=key, hint=hint)


def _too_narrow(trial: Trial, found: Assessment) -> Finding:
    diff = found.case.diffs[0]
    message = f"{diff.name} fits it, no fix is proven, and no variant names it"
    hint = "read the code there: is the bug in it, and does the diff do the same?"
    return warning("range-too-narrow", message, key=claim_key(trial, diff), hint=hint)


def _of_fix(trial: Trial, index: int, finding: FixFinding) -> Iterator[Finding]:
    fix, build = finding.fix, trial.build_of(finding)
    if finding.claimed and finding.status in _BROKEN_PROMISE:
        counts = fix.role is FixRole.FIXES and build.valid and build.label is None
        yield Finding(
            grade=Grade.ERROR if counts else Grade.WARNING,
            code="claim-contradicted",
            message=f"`{fix.claimed}` claims {fix.ref} for it, but {_decisive_reason(finding)}",
            key=_contradicted_key(index, finding),
            hint=_contradicted_hint(trial, finding, labelled=build.label is not None),
        )
    if finding.status is not FixStatus.PROVEN or finding.claimed or fix.role is not FixRole.FIXES:
        return
    if fix.claimed is None:
        message = f"{fix.ref} is proven in it, and no version is claimed"
        yield warning("claim-missing", message, key=f"fix[{index}].ref", hint="say since which version: claimed")
        return
    yield Finding(
        grade=Grade.ERROR if is_release(build) else Grade.WARNING,
        code="evidence-too-early",
        message=f"the evidence for {fix.ref} holds in it, and `{fix.claimed}` does not claim it",
        key=f"fix[{index}].evidence[0]",
        hint="look for tokens that only the fix brings, or mend the claim"
        if is_release(build)
        else "a vendor may have taken the fix over, a pre-release may have it: look whether it has",
    )


def _contradicted_hint(trial: Trial, finding: FixFinding, *, labelled: bool) -> str:
    decisive = _decisive(finding)
    item = finding.items[decisive].item if decisive is not None else None
    leaves = (item.alternatives or (item,)) if item is not None else ()
    wrong = [it for it in leaves if it.symbol is not None and (it.file, it.symbol) in trial.near]
    if wrong:
        near = dict.fromkeys(name for it in wrong for name in trial.near[it.file, it.symbol or ""])
        said = f"near it are {', '.join(near)}" if near else "nothing there is spelt like it"
        return f"is {' or '.join(str(it.symbol) for it in wrong)} spelt right? {said}"
    if labelled:
        return "a vendor's build may lack what its number claims; is that so here, or has the code moved?"
    return "mend the claim, or the evidence; code that moved wants the new place in `any`"


def _decisive_reason(finding: FixFinding) -> str:
    decisive = _decisive(finding)
    return finding.reason if decisive is None else f"evidence[{decisive}]: {finding.items[decisive].reason}"


def _contradicted_key(index: int, finding: FixFinding) -> str:
    """Where the code is there and lacks the fix, the claim is wrong; where it is elsewhere, the evidence is."""
    decisive = _decisive(finding)
    if finding.status is FixStatus.CONTRADICTED or decisive is None:
        return f"fix[{index}].claimed"
    return f"fix[{index}].evidence[{decisive}]"


def _decisive(finding: FixFinding) -> int | None:
    found = [(at, item.status) for at, item in enumerate(finding.items)]
    return next((at for wanted in _DECISIVE for at, status in found if status is wanted), None)


def _outcomes(trial: Trial, found: Assessment) -> Iterator[Finding]:
    """What the diffs make of the files, beside the claims: a module that cannot be imported is worse than a bug."""
    for file in trial.made:
        diff = next(one for one in found.case.diffs if any(file.path in it.paths for it in one.files))
        key = claim_key(trial, diff).partition(".")[0] + ".diff"
        broken = broken_source(file.before, file.after)
        if broken is not None:
            message = f"with {diff.name} in, {file.path} {broken}"
            yield error("result-not-python", message, key=key, hint="mend the diff: nothing could import that file")
        unknown = unknown_names(file.before, file.after)
        if unknown:
            message = f"with {diff.name} in, {file.path} uses what it defines and imports nowhere: {', '.join(unknown)}"
            yield warning("result-unknown-name", message, key=key, hint="import it in the diff, or is it spelt wrong?")


def _self_collisions(trial: Trial) -> Iterator[Finding]:
    """Of a back-port its own evidence holds by nature: it is the upstream change."""
    if trial.patch.kind is not Kind.CONTAINMENT or trial.found is None:
        return
    before = [finding.status for finding in trial.found.case.fixes]
    for index, finding in enumerate(trial.patched):
        proven = finding.status is FixStatus.PROVEN and before[index] is not FixStatus.PROVEN
        if proven and finding.fix.role is FixRole.FIXES:
            message = f"with its own diff in, the evidence for {finding.fix.ref} holds, and without it does not"
            hint = "look for tokens that the fix has and the diff has not"
            yield error("self-collision", message, key=f"fix[{index}].evidence[0]", hint=hint)
