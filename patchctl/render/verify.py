"""What ``verify`` found: as JSON values, as records for a pipe, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from patchctl.verdict.attribution import NO_HASH, NO_SIZE, OUTSIDE, WRONG, Attribution, FileState

if TYPE_CHECKING:
    from patchctl.commands.inspection import DistributionCheck
    from patchctl.commands.verify import Verification

SIZES_ONLY = "only sizes were compared: a file with other bytes of the same length was not found"
_STYLES = {
    FileState.FOREIGN: "bold red",
    FileState.MISSING: "bold red",
    FileState.EXTRA: "bold red",
    FileState.OURS: "green",
    FileState.UNCHECKED: "yellow",
}
MOST = 20
"""Files of one state that a terminal shows without ``-v``."""

_QUIET = frozenset({FileState.PRISTINE, FileState.SAME_SIZE, FileState.ABSENT})


def verification_json(found: Verification) -> dict[str, Any]:
    """Return the ``verification`` object of the document."""
    return {
        "compared": "sizes" if found.fast else "hashes",
        "distributions": [
            {
                "name": check.name,
                "build": check.build,
                "site": check.site,
                "fingerprint": check.fingerprint,
                "oracle": check.oracle,
                "reason": check.reason,
                "baseline": check.baseline,
                "counts": _counts(check),
                "files": [
                    {
                        "path": file.path,
                        "state": file.state.value,
                        "reason": file.reason,
                        "entries": list(file.entries),
                    }
                    for file in _shown(check, found, accepted=True)
                ],
            }
            for check in found.checks
        ],
    }


def verification_records(found: Verification) -> Iterator[tuple[str, ...]]:
    """Yield the fields of every record: the files that are worth a line, then one sum a distribution."""
    for check in found.checks:
        for file in _shown(check, found):
            more = [f"reason={file.reason}"] if file.reason else []
            more += [f"entries={','.join(file.entries)}"] if file.entries else []
            yield "checked", file.path, f"state={file.state.value}", f"distribution={check.name}", *more
    for check in found.checks:
        counts = [f"{state}={count}" for state, count in _counts(check).items() if count]
        oracle = f"oracle={check.oracle or '-'}"
        compared = f"compared={'sizes' if found.fast else 'hashes'}"
        reason = [f"reason={check.reason}"] if check.reason else []
        yield "verified", check.name, f"build={check.build}", oracle, compared, *counts, *reason
    if found.fast:
        yield "note", SIZES_ONLY


def verification_lines(found: Verification) -> Iterator[tuple[str, str, int]]:
    """Yield (text, style, columns of indent) for a terminal."""
    for check in found.checks:
        if len(found.checks) > 1 and not (check.of(*WRONG) or check.oracle is None or _shown(check, found)):
            continue
        yield f"{check.name} {check.build}", "bold", 0
        if check.oracle is None:
            yield f"cannot be verified: {check.reason}", "yellow", 4
            continue
        yield from _file_lines(_shown(check, found), most=None if found.listed else MOST)
        yield _sum(check), "", 4
    fine = sum(1 for check in found.checks if check.oracle is not None and not check.of(*WRONG))
    if len(found.checks) > 1:
        yield f"{fine} of {len(found.checks)} distributions are as they should be", "bold", 0
    if found.fast:
        yield SIZES_ONLY, "yellow", 0


def _file_lines(files: Sequence[Attribution], most: int | None) -> Iterator[tuple[str, str, int]]:
    """One line a file, for each state the first ``most``: a slimmed image would fill the screen with what it lacks."""
    shown = dict.fromkeys(FileState, 0)
    for file in files:
        shown[file.state] += 1
        if most is None or shown[file.state] <= most:
            yield _line(file), _STYLES.get(file.state, ""), 4
    for state, count in shown.items():
        if most is not None and count > most:
            yield (
                f"{state.value:<10}and {count - most} more: -v lists all, and so does a pipe",
                _STYLES.get(state, ""),
                4,
            )


def _line(file: Attribution) -> str:
    more = f" ({', '.join(file.entries)})" if file.entries else ""
    return f"{file.state.value:<10}{file.path}{f': {file.reason}' if file.reason else ''}{more}"


def _sum(check: DistributionCheck) -> str:
    counts = _counts(check)
    words = [f"{count} {state}" for state, count in counts.items() if count]
    oracle = {"record": "RECORD", "conda-meta": "conda's record"}[check.oracle or "record"]
    return f"{', '.join(words)}; compared with {oracle} and the ledger"


def _counts(check: DistributionCheck) -> dict[str, int]:
    counts = dict.fromkeys((state.value for state in FileState), 0)
    for file in check.files:
        counts[file.state.value] += 1
    return counts


def _shown(check: DistributionCheck, found: Verification, *, accepted: bool = False) -> list[Attribution]:
    """Without -v only what is not as it came: 3,000 lines of ok say nothing, nor do rows that never have a hash."""
    quiet = _QUIET - {FileState.ABSENT} if accepted else _QUIET
    return [file for file in check.files if found.listed or not (file.state in quiet or _is_routine(file))]


def _is_routine(file: Attribution) -> bool:
    return file.state is FileState.UNCHECKED and file.reason in {NO_HASH, NO_SIZE, OUTSIDE}
