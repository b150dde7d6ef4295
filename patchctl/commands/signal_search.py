"""Signals are matched with a deadline for each line and a budget for each pattern, so that no log takes for ever."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from patchctl.errors import Problem
from patchctl.processes import Searcher
from patchctl.signals import Watch

_DEADLINE = 0.25
_MOST_MISSES = 4
_SECONDS = 2.0
_SECONDS_A_LINE = 0.0001
"""What a pattern may take in all: so much, and so much for every line that was tried."""
_REMEMBERED = 256
_LONGEST_REMEMBERED = 512


class SignalSearch:
    """Matches signals; a pattern that took too long is not tried any more.

    The budget is counted in seconds of the processor, so that a busy machine makes no pattern slow; a sound one takes a
    few millionths a line.
    """

    __slots__ = ("_asked", "_known", "_searcher", "_unanswered")

    def __init__(self) -> None:
        self._searcher = Searcher(deadline=_DEADLINE, budget=None, misses=_MOST_MISSES)
        self._asked: dict[str, int] = {}
        self._unanswered: dict[str, int] = {}
        self._known: dict[tuple[str, str], Mapping[str, str] | None] = {}

    def __call__(self, pattern: str, text: str) -> tuple[bool, Mapping[str, str] | None]:
        """Match ``pattern`` at the start of ``text``; return whether there was an answer, and the named groups."""
        if (pattern, text) in self._known:
            return True, self._known[pattern, text]
        asked = self._asked.get(pattern, 0)
        answered, groups = False, None
        if self._searcher.seconds_of(pattern) < _SECONDS + asked * _SECONDS_A_LINE:
            self._asked[pattern] = asked + 1
            answered, groups = self._searcher.match(pattern, text)
        if not answered:
            self._unanswered[pattern] = self._unanswered.get(pattern, 0) + 1
        elif len(text) <= _LONGEST_REMEMBERED:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[pattern, text] = groups
        return answered, groups

    def close(self) -> None:
        """End the process that searches."""
        self._searcher.close()

    def problems(self, watches: Sequence[Watch]) -> tuple[Problem, ...]:
        """Return a problem for every watch with a line that was not judged in time."""
        return tuple(
            Problem(
                code="slow-signal",
                message=f"how often {watch.id} worked is not known: the signal {watch.pattern!r} took too long on"
                f" {self._unanswered[watch.pattern]} of its lines, which are not counted",
                hint="mend the regular expression of the entry: nested repetitions backtrack",
                patch=watch.id,
            )
            for watch in watches
            if watch.pattern in self._unanswered
        )
