"""``verify --baseline``: the operator accepts that files are gone, as in a slimmed image; ``--drop-baseline`` ends it.

The record goes into the ledger in a transaction like every other change. What is foreign, and what nobody lists, is
never accepted, nor is the absence of a file that a recorded patch changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from patchctl.commands.allowed import refuse_shared
from patchctl.commands.change import recovery_notes
from patchctl.commands.inspection import DistributionCheck, Progress, is_for
from patchctl.commands.place import NOTHING_ELSE, Allowed, Clock, Place
from patchctl.commands.recording import Recorder
from patchctl.commands.report import Change, Report
from patchctl.commands.verify import report_of, verify
from patchctl.errors import Problem
from patchctl.ledger import LEDGER_PATH, encode_ledger, read_ledger, read_ledger_bytes
from patchctl.model import Baseline, EditKind, FileEdit, LedgerState, Target
from patchctl.transaction import locked, refuse_untrusted
from patchctl.verdict.attribution import Attribution, FileState

Wanted = Mapping[str, Baseline | None]
"""Distribution -> the baseline that is wanted for it; None: none."""


def accept_absences(
    place: Place,
    clock: Clock,
    *,
    drop: bool = False,
    fast: bool = False,
    everything: bool = False,
    listed: bool = False,
    dry_run: bool = False,
    wait: float = 0.0,
    progress: Progress = lambda _done, _all: None,
    allowed: Allowed = NOTHING_ELSE,
) -> Report:
    """Verify, record the absences that were found or take such records back, and answer as it is then.

    Args:
        place: as of :func:`patchctl.commands.verify.verify`.
        clock: when.
        drop: take the records back.
        fast: as of ``verify``; what is gone is seen either way.
        everything: as of ``verify``.
        listed: as of ``verify``.
        dry_run: say what would be recorded.
        wait: seconds to wait for another patchctl.
        progress: as of ``verify``.
        allowed: whether it may be recorded in a base installation.

    Raises:
        PatchctlError: no answer is possible, busy, or the transaction failed and was rolled back.
    """

    def trust(target: Target) -> None:
        refuse_untrusted(target.site)

    found = verify(place, fast=fast, everything=everything, listed=listed, progress=progress, trust=trust)
    if found.verification is None or found.target is None:
        return found
    notes: list[str] = []
    warnings: list[Problem] = []
    checks: list[DistributionCheck] = []
    change = None
    for site in dict.fromkeys(check.site for check in found.verification.checks):
        here = [check for check in found.verification.checks if check.site == site]
        wanted = _wanted(read_ledger(site), here, clock, drop=drop)
        decisions = ("--drop-baseline" if drop else "--baseline", *allowed.decisions)
        recorder = Recorder(site, "verify", place, clock, decisions=decisions)
        said, problems, id_ = _record(found.target, recorder, wanted, allowed, write=not dry_run, wait=wait)
        notes += said
        warnings += problems
        checks += [_as_recorded(check, wanted) for check in here]
        if said:
            change = change or Change(state="planned" if dry_run else "committed", id=id_)
    report = report_of(found.target, found.verification._replace(checks=tuple(checks)))
    notes = notes or ["nothing to record: the accepted absences are those of now"]
    return report._replace(change=change, notes=tuple(notes), warnings=(*warnings, *report.warnings))


def _wanted(ledger: LedgerState, checks: Sequence[DistributionCheck], clock: Clock, *, drop: bool) -> Wanted:
    wanted: dict[str, Baseline | None] = {}
    for check in checks:
        if drop:
            wanted[check.name] = None
        elif check.oracle is not None:
            patched = {path for path, fact in ledger.files.items() if fact.distribution == check.name}
            gone = {file.path for file in check.of(FileState.MISSING, FileState.ABSENT)} - patched
            wanted[check.name] = _baseline(check, gone, clock) if gone else None
    return wanted


def _baseline(check: DistributionCheck, gone: set[str], clock: Clock) -> Baseline:
    return Baseline(
        distribution=check.name,
        build=check.build,
        fingerprint=check.fingerprint,
        absent=tuple(sorted(gone)),
        recorded_at=clock.stamp,
    )


def _record(
    target: Target, recorder: Recorder, wanted: Wanted, allowed: Allowed, *, write: bool, wait: float
) -> tuple[tuple[str, ...], tuple[Problem, ...], str | None]:
    """Put the baselines into the ledger of the recorder's site; nothing is opened for writing where nothing changes.

    Returns:
        What changed, in words; warnings; the transaction's id.
    """
    site = recorder.site
    notes = _with(read_ledger(site), wanted)[1]
    if notes and site == target.site:
        refuse_shared(target, allowed)
    if not notes or not write:
        return notes, (), None
    with locked(site, wait=wait) as held:
        recovered = tuple(Problem(code="recovered", message=note) for note in recovery_notes(held.recovered))
        if held.recovered is not None:
            recorder.recovered(held, held.recovered)
        state, notes = _with(read_ledger(site), wanted)
        if not notes:
            return (), recovered, None
        before = read_ledger_bytes(site)
        kind = EditKind.ADD if before is None else EditKind.MODIFY
        edit = FileEdit(path=LEDGER_PATH, kind=kind, before=before, after=encode_ledger(state))
        commit, trouble = recorder.run(held, [edit], [], [])
    return (*notes, *commit.notes), (*recovered, *(() if trouble is None else (trouble,))), commit.id


def _with(ledger: LedgerState, wanted: Wanted) -> tuple[LedgerState, tuple[str, ...]]:
    """Return the ledger with the wanted baselines, and the change in words; what is as wanted keeps its time."""
    baselines = dict(ledger.baselines)
    notes = []
    for name, baseline in wanted.items():
        old = baselines.get(name)
        if baseline is None:
            if baselines.pop(name, None) is not None:
                notes.append(f"{name}: no absence is accepted any more")
        elif old is None or not is_for(old, baseline.build, baseline.fingerprint) or old.absent != baseline.absent:
            baselines[name] = baseline
            count = len(baseline.absent)
            gone = "1 file is gone" if count == 1 else f"{count} files are gone"
            notes.append(f"{name} {baseline.build}: accepted that {gone}")
    return ledger._replace(baselines=baselines), tuple(notes)


def _as_recorded(check: DistributionCheck, wanted: Wanted) -> DistributionCheck:
    """Return the check as it reads with the wanted baseline: what was found stays, and what is accepted is said."""
    if check.name not in wanted:
        return check
    baseline = wanted[check.name]
    absent = frozenset(baseline.absent if baseline is not None else ())
    files = tuple(_read_anew(file, accepted=file.path in absent) for file in check.files)
    return check._replace(files=files, baseline=len(absent), stale_baseline=None)


def _read_anew(file: Attribution, *, accepted: bool) -> Attribution:
    if file.state is FileState.MISSING and accepted:
        return file._replace(state=FileState.ABSENT, reason="is gone, which the baseline accepts")
    if file.state is FileState.ABSENT and not accepted:
        return file._replace(state=FileState.MISSING, reason="is gone")
    return file
