"""Asks a row of questions and gives up on those that hang.

A read below ``/proc`` may wait for a lock that a process in uninterruptible sleep holds, and no signal ends that. So a
thread asks, and is left behind where it hangs; it ends with this process. What is asked is not here.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Question = TypeVar("Question")
Answer = TypeVar("Answer")

_MOST_LEFT_BEHIND = 8


class Answers(Generic[Answer]):
    """What came of the questions.

    Attributes:
        given: the answers, in the order of the questions.
        hung: how many questions were given up.
        complete: all were asked.
    """

    __slots__ = ("complete", "given", "hung")

    def __init__(self, given: tuple[Answer, ...], *, hung: int, complete: bool) -> None:
        self.given, self.hung, self.complete = given, hung, complete


class _Round(Generic[Question, Answer]):
    """One thread and its share; it stops when it is left behind, and nobody listens to it any more."""

    def __init__(self, questions: Sequence[Question], ask: Callable[[Question], Answer], until: float | None) -> None:
        self.questions, self.ask, self.until = questions, ask, until
        self.answers: list[Answer] = []
        self.over = threading.Event()
        self.left_behind = False
        self.failure: Exception | None = None
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def _work(self) -> None:
        try:
            for question in self.questions:
                if self.left_behind or (self.until is not None and time.monotonic() > self.until):
                    break
                self.answers.append(self.ask(question))
        except Exception as error:
            self.failure = error
        self.over.set()

    def wait(self, seconds: float) -> bool:
        """Return whether it came to its end; it has ``seconds`` for each question."""
        seen = -1
        while not self.over.wait(seconds):
            answered = len(self.answers)
            if answered == seen:
                self.left_behind = True
                return False
            seen = answered
        self.thread.join()
        return True


def ask_all(
    questions: Sequence[Question],
    ask: Callable[[Question], Answer],
    *,
    seconds: float,
    budget: float | None = None,
) -> Answers[Answer]:
    """Ask every question, one after the other; one that takes longer than about ``seconds`` is given up.

    Args:
        questions: what to ask about.
        ask: gives the answer; what it raises is raised here.
        seconds: how long one answer may take.
        budget: seconds for all of them together, looked at between two questions; None: no limit.
    """
    until = None if budget is None else time.monotonic() + budget
    given: list[Answer] = []
    hung = 0
    while True:
        work = _Round(questions, ask, until)
        ended = work.wait(seconds)
        if work.failure is not None:
            raise work.failure
        answers = work.answers[: len(questions)]
        given += answers
        if ended:
            return Answers(given=tuple(given), hung=hung, complete=len(answers) == len(questions))
        hung += 1
        questions = questions[len(answers) + 1 :]
        if hung >= _MOST_LEFT_BEHIND:
            return Answers(given=tuple(given), hung=hung, complete=not questions)
