"""Regular expression searches with a real deadline: in a process of their own, which the kernel ends.

A pattern comes from a registry and the text from an installed file or a log; together they may take hours. Nothing in
the same process could end that for certain: the matcher of the standard library looks for signals only between its
steps (up to Python 3.10 counted anew at each place where it tries to match), and one step may go over the whole text.
So a child searches, under a timer whose expiry kills it. What the child does is in ``matching``.
"""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Mapping
from types import TracebackType
from typing import NamedTuple

from patchctl.processes.matching import FOUND, NOT_FOUND, Answer, Kind, ask, groups_of, serve

_GRACE = 1.0
"""Seconds after its deadline at which a child is given up that its own timer did not end."""


class _Child(NamedTuple):
    """The process that searches, and our ends of the pipes to and from it."""

    pid: int
    requests: int
    answers: int


class Searcher:
    """Searches texts for patterns until it is closed; the child begins with the first search.

    There is no answer (None) when the deadline passed, when the pattern is no regular expression or wants too much
    memory, when the time for all searches is used up, and where no child can be made. A pattern without an answer is
    asked about so many times and no more. ``^`` and ``$`` are the ends of the text; ``(?m)`` changes that.

    Args:
        deadline: seconds for compiling and searching once; nothing is searched unless it is positive.
        budget: seconds for all searches together; None: no limit but the deadline.
        misses: how often a pattern may give no answer before it is not tried any more.
    """

    __slots__ = ("_child", "_deadline", "_left", "_misses", "_most_misses", "_seconds")

    def __init__(self, *, deadline: float = 0.5, budget: float | None = 3.0, misses: int = 1) -> None:
        self._deadline, self._left, self._most_misses = deadline, budget, misses
        self._misses: dict[str, int] = {}
        self._seconds: dict[str, float] = {}
        self._child: _Child | None = None

    def __enter__(self) -> Searcher:
        """Return itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close it."""
        self.close()

    def search(self, pattern: str, text: str) -> bool | None:
        """Return whether ``pattern`` is found anywhere in ``text``; None: no answer."""
        answer = self._ask(Kind.SEARCH, pattern, text)
        return None if answer is None else answer == FOUND

    def match(self, pattern: str, text: str) -> tuple[bool, Mapping[str, str] | None]:
        """Match ``pattern`` at the start of ``text``; return whether there was an answer, and what its groups hold.

        Without a match there are no groups: None. Those without a name, or that took no part, are left out.
        """
        answer = self._ask(Kind.MATCH, pattern, text)
        if answer is None or answer == NOT_FOUND:
            return answer is not None, None
        return True, groups_of(answer)

    def seconds_of(self, pattern: str) -> float:
        """Return how many seconds of the processor a pattern has taken; without an answer the deadline counts."""
        return self._seconds.get(pattern, 0.0)

    def close(self) -> None:
        """End the child."""
        child, self._child = self._child, None
        if child is None:
            return
        os.close(child.requests)
        os.close(child.answers)
        try:
            os.kill(child.pid, signal.SIGKILL)
            os.waitpid(child.pid, 0)
        except OSError:
            pass  # whoever started us does not want to know about children (SIGCHLD is ignored)

    def _ask(self, kind: Kind, pattern: str, text: str) -> bytes | None:
        if self._misses.get(pattern, 0) >= self._most_misses or (self._left is not None and self._left <= 0):
            return None
        seconds = self._deadline if self._left is None else min(self._deadline, self._left)
        if seconds <= 0:
            return None
        answer = self._asked(kind, pattern, text, seconds)
        if answer is None:
            self.close()
            answer = Answer(told=False, seconds=seconds, found=b"")
        if self._left is not None:
            self._left -= answer.seconds
        self._seconds[pattern] = self._seconds.get(pattern, 0.0) + answer.seconds
        if not answer.told:
            self._misses[pattern] = self._misses.get(pattern, 0) + 1
            return None
        return answer.found

    def _asked(self, kind: Kind, pattern: str, text: str, seconds: float) -> Answer | None:
        """Return what the child says; None: it ended instead, or there is none."""
        try:
            child = self._child = self._child or _born()
            return ask(child.requests, child.answers, kind, pattern, text, seconds, patience=seconds + _GRACE)
        except OSError:
            return None


def _born() -> _Child:
    """Start a child; OSError when there can be none."""
    theirs, requests = os.pipe()
    answers, ours = os.pipe()
    try:
        with warnings.catch_warnings():
            # Python warns of other threads, which are not there in the child; it touches nothing of theirs.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
    except OSError:
        for fd in (theirs, requests, answers, ours):
            os.close(fd)
        raise
    if pid == 0:
        try:
            serve(theirs, ours)
        finally:
            os._exit(1)
    os.close(theirs)
    os.close(ours)
    return _Child(pid=pid, requests=requests, answers=answers)
