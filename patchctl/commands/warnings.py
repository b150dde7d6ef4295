"""What the operator should know beside the answer: about the environment, and about entries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from patchctl.errors import Problem
from patchctl.evidence import FixStatus
from patchctl.model import FixRole, LedgerState, RegistryPlace, Target
from patchctl.verdict import Action, Assessment, Need, Verdict

_DEBIAN = "/lib/python3/dist-packages"
"""Where Debian's own packages are; pip installs to /usr/local, with the interpreter's version in the path."""

_DIVERT = (
    "after an upgrade run patchctl apply again; dpkg-divert --local --no-rename --divert FILE.dpkg --add FILE makes "
    "dpkg put its new version beside a patched FILE instead"
)
_SPELT = 3
_LONGEST_PATTERN = 100
_FAR = 300
"""Lines: p99 of the offsets measured between releases is 227, the largest 624; beyond this a person should look."""


def target_warnings(target: Target) -> tuple[Problem, ...]:
    """Say what is odd about the environment."""
    warnings = []
    for name, found in target.distributions.items():
        if found.editable:
            where = ", ".join(sorted(set(found.grafts.values()))) or "places that are not known"
            message = f"{name} is an editable install: its modules lie in {where}, and only --allow-editable edits them"
            warnings.append(Problem(code="editable-install", message=message))
        elif target.site.endswith(_DEBIAN):
            message = f"{name} belongs to a Debian package: when apt upgrades it, patched files are overwritten"
            warnings.append(Problem(code="debian-package", message=message, hint=_DIVERT))
        if found.record is None and not found.editable:
            message = f"{name} has no RECORD: nothing tells which of its files are pristine"
            warnings.append(Problem(code="no-record", message=message))
        if found.source_build is not None and found.source_build != found.build:
            message = f"{name}: METADATA says {found.build}, its own _version.py says {found.source_build}"
            warnings.append(Problem(code="version-disagrees", message=message))
    if target.shared_by is not None:
        message = f"{target.site} belongs to the base installation of {target.shared_by}; only --allow-base edits it"
        warnings.append(Problem(code="base-environment", message=message))
    for other in target.passed_over:
        message = f"another site directory holds it too and was not taken: {other}"
        warnings.append(Problem(code="passed-over", message=message, hint=f"patchctl status --site {other}"))
    return tuple(warnings)


def digest_warnings(target: Target) -> tuple[Problem, ...]:
    """Say what is odd about the environment, and what a digest of it cannot tell."""
    others = (problem for problem in target_warnings(target) if problem.code != "no-record")
    blind = (f"{name} {it.build}" for name, it in target.distributions.items() if it.record is None)
    message = "has no RECORD: the digest does not tell it from another build of that version"
    return (*others, *(Problem(code="no-record", message=f"{named} {message}") for named in blind))


def unpinned(id_: str) -> Problem:
    """Say that an entry is in and the lock file does not pin it."""
    hint = f"patchctl revert {id_} takes it out; patchctl lock pins what is in"
    return Problem(code="not-pinned", message=f"{id_} is in, but the lock does not pin it", hint=hint, patch=id_)


def lock_of_others(path: str, why: str) -> Problem:
    """Say that what a lock file (path as it was given) pins may be another word than that of whoever reviewed it."""
    message = f"{path} decides what is let through, and {why}: whoever may write it can pin anything, or nothing"
    return Problem(code="lock-of-others", message=message, hint="keep it where only its reviewers write", path=path)


def behind_registry(id_: str, applied: int, current: int) -> Problem:
    """Say that the revision that is in, and is pinned with it, is no longer the registry's."""
    message = f"{id_}: revision {applied} is in, and pinned; this registry has {current}, so it could not bring that in"
    hint = f"patchctl apply {id_} brings the newer one in; then patchctl lock again"
    return Problem(code="behind-registry", message=message, hint=hint, patch=id_)


def stale_baseline(name: str, build: str) -> Problem:
    """Say that the absences recorded for ``build`` of a distribution do not count for the one that is installed."""
    message = f"the absences recorded for {name} {build} do not count for the build that is installed"
    hint = f"patchctl verify --baseline --distribution {name}"
    return Problem(code="stale-baseline", message=message, hint=hint)


def many_missing(name: str, count: int) -> Problem:
    """Say that so many files of a distribution are gone that somebody may have taken them away on purpose."""
    message = f"{count} files of {name} are gone"
    hint = f"gone on purpose, as in a slimmed image: patchctl verify --baseline --distribution {name} accepts that"
    return Problem(code="many-missing", message=message, hint=hint)


def entry_warnings(assessments: Sequence[Assessment], ledger: LedgerState) -> tuple[Problem, ...]:
    """Say what is odd about entries, whatever is due."""
    known = {found.id for found in assessments}
    warnings = [problem for found in assessments for problem in _of_entry(found)]
    warnings += _strangers(assessments)
    warnings += slow_patterns(assessments)
    for id_, hold in ledger.holds.items():
        if id_ not in known:
            message = f"a hold is recorded for {id_}, which the registry does not have: {hold.reason}"
            hint = f"patchctl unhold {id_}"
            warnings.append(Problem(code="hold-without-entry", message=message, hint=hint, patch=id_))
    return tuple(warnings)


def _strangers(assessments: Sequence[Assessment]) -> Iterator[Problem]:
    """Say which entries are left alone although this registry has one of their id; those that are due say it."""
    groups: dict[tuple[RegistryPlace, RegistryPlace], list[str]] = {}
    for found in assessments:
        receipt, namesake = found.case.receipt, found.case.namesake
        if namesake is not None and receipt is not None and receipt.registry and found.action is not Action.INSPECT:
            groups.setdefault((receipt.registry, namesake.registry), []).append(found.id)
    for (came_from, here), ids in groups.items():
        message = f"{', '.join(ids)}: recorded from {came_from}; what {here} has under that id does not count for it"
        hint = f"where both are one registry by two paths: patchctl apply {' '.join(ids)}"
        yield Problem(code="other-registry", message=message, hint=hint)


def slow_patterns(assessments: Sequence[Assessment]) -> tuple[Problem, ...]:
    """Say which patterns of which entries gave no answer in time."""
    patterns = {
        found.id: list(dict.fromkeys(it for fix in found.case.fixes for item in fix.items for it in item.slow))
        for found in assessments
    }
    return tuple(_slow(id_, slow) for id_, slow in patterns.items() if slow)


def _slow(id_: str, patterns: Sequence[str]) -> Problem:
    """Say which patterns of an entry's evidence could not be searched for in the time there is."""
    named = ", ".join(
        repr(it if len(it) <= _LONGEST_PATTERN else f"{it[:_LONGEST_PATTERN]}...") for it in patterns[:_SPELT]
    )
    more = f" and {len(patterns) - _SPELT} more" if len(patterns) > _SPELT else ""
    message = f"{id_}: searching for {named}{more} gave no answer in time: what rests on it is unknown"
    hint = "mend the patterns of the entry: nested repetitions backtrack; patchctl lint tells which of them can"
    return Problem(code="slow-pattern", message=message, hint=hint, patch=id_)


def _of_entry(found: Assessment) -> Iterator[Problem]:
    for finding in found.case.fixes:
        if finding.status is FixStatus.CONTRADICTED and finding.fix.role is FixRole.FIXES:
            message = f"{found.id}: {finding.fix.ref} is claimed for this version, but these files do not contain it"
            yield Problem(code="claim-contradicted", message=message, patch=found.id)
    yield from _silent_change(found)
    # what was set aside and is to come back is as the operator left it
    was_in = found.case.receipt is not None and found.action is not Action.APPLY
    if found.need is Need.HELD and was_in and found.verdict in {Verdict.LOST, Verdict.DRIFTED, Verdict.MISSING}:
        message = f"{found.id} is held, but its files are not as they were when it was applied: {found.reason}"
        yield Problem(code="held-not-in", message=message, patch=found.id)
    if found.verdict is Verdict.APPLIED or found.action is Action.APPLY:
        for file in found.files:
            far = [hunk for hunk in file.hunks if hunk.offset is not None and abs(hunk.offset) > _FAR]
            if far:
                message = (
                    f"{found.id}: {file.path}: hunk {far[0].number} lies {abs(far[0].offset or 0)} lines from where"
                )
                message += " its diff states: look whether it is the right place"
                yield Problem(code="large-offset", message=message, patch=found.id, path=file.path)


def _silent_change(found: Assessment) -> Iterator[Problem]:
    case = found.case
    if case.patch is None or case.receipt is None or case.patch.revision != case.receipt.revision:
        return
    if found.verdict is not Verdict.APPLIED or case.rebuilt or not case.diffs:
        return
    if {diff.sha256 for diff in case.diffs} != {diff.sha256 for diff in case.receipt.diffs}:
        message = f"{found.id}: the registry's diff is not the applied one, but both are revision {case.patch.revision}"
        hint = "a changed diff needs a higher revision; the applied one stays in"
        yield Problem(code="revision-not-raised", message=message, hint=hint, patch=found.id)
