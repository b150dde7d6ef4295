"""Sentences about an entry in an upgrade: what the words of ``preflight``'s table leave out. Not escaped yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from patchctl.build import BuildChange
from patchctl.commands.forecast import Fate, Forecast, Protection, by_hand, counted_fixes, largest_offset, worst_fix
from patchctl.evidence import FixStatus
from patchctl.match import Fit
from patchctl.render.words import installing_words
from patchctl.verdict import Assessment, FileFinding, Need, Verdict, aside_words, misfit, states_words

if TYPE_CHECKING:
    from patchctl.commands.moves import Moved
    from patchctl.commands.preflight import Prospect, Swap

_CHANGES = {
    BuildChange.UPGRADE: "an upgrade",
    BuildChange.DOWNGRADE: "a DOWNGRADE: a fix may be missing that is in now",
    BuildChange.RELABEL: "the same version with another label",
    BuildChange.SAME: "the same version, built anew",
    BuildChange.OTHER: "nothing tells which is newer",
}
_BY_STATUS = {
    FixStatus.CONTRADICTED: "claimed for this version, but NOT in its files",
    FixStatus.CLAIMED: "claimed only: the number says so, nothing proves it",
    FixStatus.UNKNOWN: "cannot be told",
    FixStatus.MOVED: "its code moved, nothing proven",
    FixStatus.ABSENT: "not in there",
}
_PORT = 'docs/registry.md, "Port to a new build"'


def swap_words(swap: Swap) -> str:
    """Return what happens to one distribution."""
    if swap.before is None or swap.change is None:
        return f"{swap.distribution} {swap.after}: not installed now"
    if swap.change is BuildChange.SAME and swap.same_files is not False:
        return f"{swap.distribution} {swap.after}: a reinstallation of what is installed"
    return f"{swap.distribution} {swap.before} -> {swap.after}: {_CHANGES[swap.change]}"


def closing_words(found: Prospect) -> tuple[str, ...]:
    """Return what must be known of the commands at the end: whether they may be run as they are, and what follows."""
    if not found.steps:
        return ()
    lost = ", ".join(found.ids(Protection.LOST))
    first = [f"the commands are for when {lost} is ported, held or reverted; then preflight again: they change"]
    first = first if lost else []
    return (*first, *installing_words(found.steps), "restart your processes after the last of the commands, not before")


def about(found: Forecast) -> tuple[str, ...]:
    """Return in sentences what the words of the table leave out: of the patch, of its fixes, of how it stands now."""
    there = found.there
    if there is None:
        return (found.reason or "the candidate gives no answer",)
    held = [f"held: {there.case.hold.reason}"] if there.case.hold is not None else []
    said = [*held, *_patch_words(found, there), *_fix_words(there)]
    if (
        found.now is not None
        and found.now.case.receipt is not None
        and not found.applied
        and found.fate is not Fate.UNTOUCHED
    ):
        said.append(f"now: {_now_words(found.now)}")
    elif found.now is not None and by_hand(found.now) and found.fate is not Fate.UNTOUCHED:
        said.append(f"now: in the files, but nobody recorded it; to count it as applied: patchctl adopt {found.id}")
    return tuple(said)


def _now_words(now: Assessment) -> str:
    """How it stands now, without what to do about that: the upgrade comes first."""
    receipt = now.case.receipt
    if now.verdict is Verdict.LOST and receipt is not None and receipt.set_aside is not None:
        return aside_words(receipt.set_aside)
    return f"{now.verdict.value}: {now.reason}" if now.verdict is not None else now.reason


def _patch_words(found: Forecast, there: Assessment) -> Iterator[str]:
    if found.reason is not None:
        yield found.reason
    elif found.fate in _BY_FATE:
        yield from _BY_FATE[found.fate](found, there)
    for path in dict.fromkeys(moved.path for moved in found.moved):
        yield from _moved_words(path, [moved for moved in found.moved if moved.path == path])


def _retired_words(_: Forecast, there: Assessment) -> Iterator[str]:
    if worst_fix(there) is FixStatus.PROVEN:
        yield f"proven: {', '.join(finding.fix.ref for finding in counted_fixes(there))}"
    else:
        yield "the build itself carries the change: its files have it, as RECORD lists them"


def _replaced_words(_: Forecast, there: Assessment) -> Iterator[str]:
    yield f"{there.case.replaced_by} takes its place"


def _present_words(found: Forecast, _: Assessment) -> Iterator[str]:
    yield f"in these files, which are not as RECORD lists them: patchctl adopt {found.id}"


def _recut_words(_: Forecast, there: Assessment) -> Iterator[str]:
    parts = "; ".join(f"{file.path}: {_file_words(file)}" for file in there.files)
    yield f"cut the diff again for this build, if the rest is still needed: {parts} ({_PORT})"


def _misfit_words(_: Forecast, there: Assessment) -> Iterator[str]:
    yield misfit(there) or there.reason


def _blocked_words(_: Forecast, there: Assessment) -> Iterator[str]:
    yield next((f"{file.path}: {file.obstacle}" for file in there.files if file.obstacle), there.reason)


def _offset_words(_: Forecast, there: Assessment) -> Iterator[str]:
    yield _distance(there)


def _held_words(found: Forecast, there: Assessment) -> Iterator[str]:
    if there.need is Need.FIXED:
        yield f"it could retire: patchctl unhold {found.id}"
    elif found.applied and there.verdict is not Verdict.APPLIED:
        yield f"it is in now, and will be out there: {misfit(there) or there.reason}"


def _advice_words(_: Forecast, there: Assessment) -> Iterator[str]:
    if there.need is Need.FIXED:
        yield "nothing needs to be avoided any more"
    elif there.need is Need.NOT_CONCERNED:
        yield f"it does not speak of this build: {there.case.reason}"
    else:
        yield f"there is no patch, only what to avoid: patchctl show {there.id}"


def _unmatched_words(_: Forecast, there: Assessment) -> Iterator[str]:
    yield f"no variant names this build: {there.case.reason}"
    if there.fit is Fit.PRESENT:
        yield "the change is in these files already"
    elif there.fit is Fit.APPLICABLE:
        yield "its diff would fit" + (f", {_distance(there)}" if largest_offset(there) is not None else "")
        yield "read the code there, and widen the entry's versions, label or builds, or revert or hold it"
    else:
        yield f"its diff does not fit: {misfit(there) or there.reason}"


def _file_words(file: FileFinding) -> str:
    if file.meeting is not None:
        return states_words(file.meeting.report.hunks)
    return {Fit.PRESENT: "all of it is in", Fit.APPLICABLE: "all of it could go in"}.get(file.fit, file.fit.value)


def _distance(there: Assessment) -> str:
    offset, path = largest_offset(there) or (0, "")
    return f"at most {abs(offset)} line{'s' * (abs(offset) != 1)} from where the diff states, in {path}"


def _moved_words(path: str, moved: Sequence[Moved]) -> Iterator[str]:
    """Say where the code of one file is now."""
    named = [one for one in moved if one.paths]
    for one in named:
        more = f" and {one.more} more" if one.more else ""
        fits = f"; the diff would fit {', '.join(one.fits)}" if one.fits else ""
        what = f"a file of the name {path.rpartition('/')[2]}" if one.defined is None else one.defined
        yield f"{what} is in {', '.join(one.paths)}{more}{fits}"
    alike = [it for one in moved for it in one.alike]
    if alike:
        yield "its lines are in " + ", ".join(f"{it.path} ({it.equal} of {it.size})" for it in alike)
    elif not named:
        symbols = [one.symbol for one in moved if one.symbol is not None]
        yield f"{' and '.join(symbols) or 'a file of that name'} is nowhere in the distribution, nor are its lines"


def _fix_words(there: Assessment) -> Iterator[str]:
    """What keeps the patch; a claim that nothing proves is said however the patch fares."""
    for status, said in _BY_STATUS.items():
        refs = [finding.fix.ref for finding in counted_fixes(there) if finding.status is status]
        if refs:
            yield f"{said}: {', '.join(refs)}"


def fixes_word(found: Forecast) -> str:
    """Return the worst status of its fixes, and how many of several have it."""
    there = found.there
    worst = worst_fix(there) if there is not None else None
    if there is None or worst is None:
        return "-"
    fixes = counted_fixes(there)
    count = sum(finding.status is worst for finding in fixes)
    return worst.value if len(fixes) == 1 else f"{worst.value} {count}/{len(fixes)}"


_BY_FATE: Mapping[Fate, Callable[[Forecast, Assessment], Iterator[str]]] = {
    Fate.HELD: _held_words,
    Fate.ADVICE: _advice_words,
    Fate.RETIRES: _retired_words,
    Fate.REPLACED: _replaced_words,
    Fate.UNMATCHED: _unmatched_words,
    Fate.VANISHES: _misfit_words,
    Fate.NEEDS_RECUT: _recut_words,
    Fate.NEEDS_PORT: _misfit_words,
    Fate.PRESENT: _present_words,
    Fate.BLOCKED: _blocked_words,
    Fate.APPLIES_WITH_OFFSET: _offset_words,
}
