"""When it is: the two clocks and the boot they belong to."""

from __future__ import annotations

import time

from patchctl.model.history import Moment

_LIMIT = 64


def read_moment(proc: str = "/proc", boottime_ns: int | None = None) -> Moment:
    """Return this instant.

    ``/proc/uptime`` is not asked: in some containers it is made up, while start times of processes are not.

    Args:
        proc: where the kernel shows its processes, absolute.
        boottime_ns: CLOCK_BOOTTIME in nanoseconds; None: the clock is asked.
    """
    if boottime_ns is None:
        boottime_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    return Moment(boot=_boot(proc), boottime_ns=boottime_ns, realtime_ns=time.time_ns())


def _boot(proc: str) -> str | None:
    try:
        with open(f"{proc}/sys/kernel/random/boot_id", "rb") as stream:
            return stream.read(_LIMIT).decode("ascii", "replace").strip() or None
    except OSError:
        return None
