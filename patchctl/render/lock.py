"""A lock file, and an environment seen through one, in their shapes: JSON, records, lines for a terminal, sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from patchctl.commands import Report
from patchctl.commands.lock import LockWritten
from patchctl.pins import FINE, LockedHold, Pin, PinFinding, PinState, Review

_STYLES = {PinState.APPLIED: "green", PinState.FIXED: "green", PinState.HELD: "yellow", PinState.DUE: "bold yellow"}


def lock_document(report: Report) -> dict[str, Any]:
    """Return the keys ``lock`` and ``digest`` of the document, where there is such an answer."""
    found: dict[str, Any] = {} if report.digest is None else {"digest": report.digest}
    if report.review is not None:
        return found | {"lock": _reviewed(report.review)}
    return found if report.locking is None else found | {"lock": _made(report.locking)}


def _reviewed(review: Review) -> dict[str, Any]:
    return {
        "path": review.file,
        "changed": None,
        "text": None,
        "entries": [_pin(it.pin, it) for it in review.findings],
        "held": [_held(it) for it in review.held],
        "not_pinned": [{"id": it.id, "hold": it.hold} for it in review.extra],
        "new": list(review.new),
    }


def _made(made: LockWritten) -> dict[str, Any]:
    return {
        "path": made.path,
        "changed": made.changed,
        "text": made.data.decode("utf-8"),
        "entries": [_pin(pin, None) for pin in sorted(made.lock.pins)],
        "held": [_held(it) for it in sorted(made.lock.holds)],
        "not_pinned": [],
        "new": [],
    }


def _pin(pin: Pin, finding: PinFinding | None) -> dict[str, Any]:
    return {
        "id": pin.id,
        "revision": pin.revision,
        "hold": pin.hold,
        "variants": [it._asdict() for it in pin.diffs],
        "state": finding.state.value if finding is not None else None,
        "reason": finding.reason if finding is not None else None,
    }


def _held(held: LockedHold) -> dict[str, Any]:
    return {"id": held.id, "reason": held.reason}


def lock_records(report: Report) -> Iterator[tuple[str, ...]]:
    """Return the fields of plain records."""
    if report.locking is not None:
        made = report.locking
        changed = "yes" if made.changed else "no"
        yield ("lockfile", made.path or "-", f"changed={changed}")
        for pin in sorted(made.lock.pins):
            yield ("pin", pin.id, f"revision={pin.revision}", f"hold={pin.hold or '-'}")
        for held in sorted(made.lock.holds):
            yield ("heldout", held.id, f"reason={held.reason}")
    if report.review is not None:
        for finding in report.review.findings:
            pin = finding.pin
            yield (
                "pin",
                pin.id,
                f"revision={pin.revision}",
                f"state={finding.state.value}",
                f"reason={finding.reason}",
            )
        for held in report.review.held:
            yield ("heldout", held.id, f"reason={held.reason}")
        for extra in report.review.extra:
            yield ("unpinned", extra.id, "state=applied", f"hold={extra.hold or '-'}")
        for id_ in report.review.new:
            yield ("unpinned", id_, "state=new", "hold=-")


def lock_lines(report: Report) -> Iterator[tuple[str, str, int]]:
    """Return (text, style, columns of indent) for a terminal."""
    if report.locking is not None:
        yield from _made_lines(report.locking)
    if report.review is not None:
        yield from _review_lines(report.review)
    yield "", "", 0


def _made_lines(made: LockWritten) -> Iterator[tuple[str, str, int]]:
    yield f"{made.path} {'written' if made.changed else 'is as it was'}", "bold", 0
    for pin in sorted(made.lock.pins):
        yield f"{pin.id} revision {pin.revision}" + (f", held in: {pin.hold}" if pin.hold else ""), "", 4
    for held in sorted(made.lock.holds):
        yield f"{held.id} held out: {held.reason}", "yellow", 4


def _review_lines(review: Review) -> Iterator[tuple[str, str, int]]:
    yield f"lock file {review.file}", "bold", 0
    for finding in review.findings:
        text = f"{finding.state.value:<14} {finding.pin.id} revision {finding.pin.revision}: {finding.reason}"
        yield text, _STYLES.get(finding.state, "bold red"), 4
    for held in review.held:
        yield f"{'held out':<14} {held.id}: {held.reason}", "yellow", 4
    for extra in review.extra:
        held_in = f", held on this machine: {extra.hold}" if extra.hold else ""
        yield f"{'not pinned':<14} {extra.id} is in{held_in}", "yellow" if extra.hold else "bold yellow", 4
    for id_ in review.new:
        yield f"{'new':<14} {id_}: a default entry of the registry that is not in the lock", "cyan", 4


def lock_summary(review: Review) -> tuple[str, ...]:
    """Return the last lines of an answer under a lock."""
    bad = [finding for finding in review.findings if finding.state not in FINE]
    if not bad:
        lines = [f"as the lock says: {len(review.findings)} pinned"]
    else:
        from patchctl.model.shell import shell_word  # late: only where something is due

        due = all(finding.state is PinState.DUE for finding in bad)
        named = ", ".join(f"{finding.pin.id} ({finding.state.value})" for finding in bad)
        lines = [f"not as the lock says: {len(bad)} of {len(review.findings)} pinned: {named}"]
        lines += [f"run patchctl apply --locked {shell_word(review.file)}"] if due else []
    if review.new:
        lines.append(f"new, not in the lock: {', '.join(review.new)}")
    return tuple(lines)
