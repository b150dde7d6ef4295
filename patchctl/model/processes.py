"""Processes of this machine as they were seen at one moment. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from patchctl.model.history import Moment


class Age(str, Enum):
    """Which code a process runs, seen from the last change."""

    STALE = "stale"
    FRESH = "fresh"
    UNKNOWN = "unknown"


class ProcessFact(NamedTuple):
    """One process of an environment.

    Attributes:
        pid: its id.
        parent: its parent's.
        uid: whose it is.
        start_ns: when it began (CLOCK_BOOTTIME, nanoseconds, to the clock tick); a fork counts as a beginning.
        command: its command line on one line, secrets taken out.
        mapped: files of the site are mapped into it; otherwise it only runs the environment's interpreter.
        image: what ``/proc/PID/auxv`` holds: equal in two processes means that one came from the other, or both from a
            third, by fork without exec. Empty: not known.
    """

    pid: int
    parent: int
    uid: int
    start_ns: int
    command: str
    mapped: bool = True
    image: bytes = b""


class Census(NamedTuple):
    """What a look at all processes found.

    Attributes:
        found: those of the environment, by pid.
        images: (image, start_ns) of further processes that may be where those found came from.
        blocked: uid -> how many of its processes may not be inspected.
        unanswered: processes that did not answer in time.
        hidden: this ``/proc`` does not show the processes of others at all.
        complete: everybody was asked; False: the time was over before.
        now: when it was made.
    """

    now: Moment
    found: tuple[ProcessFact, ...] = ()
    images: tuple[tuple[bytes, int], ...] = ()
    blocked: Mapping[int, int] = MappingProxyType({})
    unanswered: int = 0
    hidden: bool = False
    complete: bool = True

    @property
    def unseen(self) -> int:
        """How many processes could not be inspected, as far as they can be counted."""
        return sum(self.blocked.values()) + self.unanswered

    @property
    def whole(self) -> bool:
        """Whether nothing stayed out of sight."""
        return self.unseen == 0 and not self.hidden and self.complete
