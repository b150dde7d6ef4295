"""A regular expression search with a real deadline: work whose end must be enforced from outside.

A pattern comes from a registry and the text from an installed file; together they may backtrack for hours, and no
thread can interrupt that. The matcher of the standard library looks for signals while it runs, so an alarm can.
"""

from __future__ import annotations

import signal
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, TypeAlias, TypeVar

Handler: TypeAlias = Callable[[int, FrameType | None], Any] | int

Result = TypeVar("Result")

SHORTEST = 0.001
"""Seconds. What is left of somebody else's timer is never set to zero, which would switch it off."""


class _DeadlineError(Exception):
    """The alarm went off; never leaves this module."""


def search_within(pattern: str, text: str, seconds: float = 0.5) -> bool | None:
    """Return whether ``pattern`` is found anywhere in ``text``; None: no answer.

    There is no answer when the deadline passed, when the pattern is no regular expression or too large for one, and
    where nothing could enforce the deadline: outside the main thread, without ``SIGALRM``, or when another alarm has
    been set from C. ``^`` and ``$`` are the ends of the text; ``(?m)`` in the pattern changes that.

    While it runs it owns ``SIGALRM`` and the real-time interval timer; it puts both back, what is left of a running
    timer included.

    Args:
        pattern: regular expression of the ``re`` module.
        text: what to search.
        seconds: deadline for compiling and searching; nothing is searched unless it is positive.
    """
    return _within(lambda: _search(pattern, text), seconds)


def match_within(pattern: str, text: str, seconds: float = 0.5) -> tuple[bool, Mapping[str, str] | None]:
    """Match ``pattern`` at the start of ``text``; return whether there was an answer, and what its named groups hold.

    Without a match there are no groups: None; those that took no part are left out. When there is no answer, and what
    happens meanwhile, is as :func:`search_within` says.
    """
    found = _within(lambda: _match(pattern, text), seconds)
    return (False, None) if found is None else (True, found[0])


def _within(act: Callable[[], Result | None], seconds: float) -> Result | None:
    if seconds <= 0 or not hasattr(signal, "setitimer"):
        return None
    handler = signal.getsignal(signal.SIGALRM)
    if handler is None or threading.current_thread() is not threading.main_thread():
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "possible nested set" and the like are no news to whoever runs a command
        return _armed(act, seconds, handler)


def _armed(act: Callable[[], Result | None], seconds: float, handler: Handler) -> Result | None:
    armed = True

    def expire(_signal: int, _frame: FrameType | None) -> None:
        nonlocal armed
        if armed:  # an alarm that comes while everything is put back must not interrupt that
            armed = False
            raise _DeadlineError

    started = time.monotonic()
    left, interval = signal.setitimer(signal.ITIMER_REAL, 0)  # somebody else's alarm must not find our handler
    signal.signal(signal.SIGALRM, expire)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        found = act()
        armed = False
    except _DeadlineError:
        found = None
    finally:
        armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - started), SHORTEST), interval)
    return found


def _search(pattern: str, text: str) -> bool | None:
    import re

    try:
        return re.search(pattern, text) is not None
    except (re.error, RecursionError, OverflowError, MemoryError):
        return None


def _match(pattern: str, text: str) -> tuple[Mapping[str, str] | None] | None:
    import re

    try:
        found = re.match(pattern, text)
    except (re.error, RecursionError, OverflowError, MemoryError):
        return None
    if found is None:
        return (None,)
    return ({name: value for name, value in found.groupdict().items() if value is not None},)
