"""Who runs code from before the last change. Pure: facts in, words out."""

from __future__ import annotations

from patchctl.model.history import Moment
from patchctl.model.processes import Age, Census, ProcessFact

_GRAIN_NS = 20_000_000
"""Start times are cut to the clock tick (10 ms), times of files to the timer's (4 to 10 ms)."""

_LONGEST_NS = 600_000_000_000
"""A change takes no longer than this; a later time on its record was put there by a copy or a change of owner."""


def changed_at(made: Moment | None, placed_ns: int, now: Moment) -> int | None:
    """Return when the files of a transaction were all in their places, in CLOCK_BOOTTIME nanoseconds of this boot.

    The record was made before the files were replaced and took its place after them; the wall clock between the two,
    which hardly jumps within a transaction, is added to the boot's clock. Rather too late than too early: a process
    that began in between may have loaded old code.

    Args:
        made: when the record was made; None: it does not say.
        placed_ns: when its file took its place, wall clock, nanoseconds.
        now: this instant.

    Returns:
        None: in an earlier boot, or on another machine, so that every process here is younger.
    """
    if made is not None and made.boot is not None and now.boot is not None:
        if made.boot != now.boot:
            return None
        took = min(max(placed_ns - made.realtime_ns, 0), _LONGEST_NS)
        return made.boottime_ns + took + _GRAIN_NS
    # Recorded with a fixed time: the file's own is all there is, and only as good as the wall clock.
    at = now.boottime_ns - (now.realtime_ns - placed_ns) + _GRAIN_NS
    return at if at > 0 else None


def judge_processes(census: Census, changed_ns: int | None) -> tuple[tuple[ProcessFact, Age], ...]:
    """Say of every process found whether it runs code from before the change.

    Args:
        census: who is there.
        changed_ns: as :func:`changed_at` gives it; None: nothing was changed as long as this machine is up.
    """
    if changed_ns is None:
        return tuple((process, Age.FRESH) for process in census.found)
    old = {process.image for process in census.found if process.start_ns < changed_ns}
    old |= {image for image, start_ns in census.images if start_ns < changed_ns}
    return tuple((process, _age(process, changed_ns, old - {b""})) for process in census.found)


def _age(process: ProcessFact, changed_ns: int, old: set[bytes]) -> Age:
    # A fork is a process of its own that goes on with what its parent loaded; an exec gives it a new image.
    if process.start_ns >= changed_ns and process.image not in old:
        return Age.FRESH
    return Age.STALE if process.mapped else Age.UNKNOWN
