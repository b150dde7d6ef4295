"""A regular expression search ends at its deadline and leaves signals and timers as they were."""

from __future__ import annotations

import signal
import threading
import time
import warnings

import pytest

from patchctl.processes import search_within

CATASTROPHE = r"(a+)+$"
VICTIM = "a" * 60 + "b"


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"done\s*=\s*True", "x\nself.done = True\n", True),
        (r"^self", "x\nself\n", False),
        (r"(?m)^self", "x\nself\n", True),
        (r"", "", True),
        (r"b", "", False),
    ],
)
def test_a_search_answers(pattern: str, text: str, found: bool) -> None:
    assert search_within(pattern, text) is found


def test_a_pattern_that_backtracks_for_ever_gives_no_answer_in_time() -> None:
    started = time.monotonic()
    assert search_within(CATASTROPHE, VICTIM, seconds=0.2) is None
    assert 0.15 < time.monotonic() - started < 5


def test_a_search_after_a_deadline_answers_again() -> None:
    assert search_within(CATASTROPHE, VICTIM, seconds=0.05) is None
    assert search_within("a", VICTIM) is True


@pytest.mark.parametrize("pattern", ["(", "a{2,1}", "(?P<n>a)(?P<n>b)", "(" * 5000 + "a" + ")" * 5000])
def test_what_is_no_regular_expression_gives_no_answer(pattern: str) -> None:
    assert search_within(pattern, "a") is None


@pytest.mark.parametrize("seconds", [0, -1.0])
def test_without_time_there_is_no_answer(seconds: float) -> None:
    assert search_within("a", "a", seconds=seconds) is None


def test_outside_the_main_thread_nothing_could_enforce_the_deadline_so_there_is_no_answer() -> None:
    answers: list[bool | None] = []
    thread = threading.Thread(target=lambda: answers.append(search_within("a", "a")))
    thread.start()
    thread.join()
    assert answers == [None]


@pytest.mark.parametrize(("pattern", "text"), [("a", "a"), (CATASTROPHE, VICTIM), ("(", "a")])
def test_the_handler_and_a_running_timer_are_put_back(pattern: str, text: str) -> None:
    alarms: list[int] = []

    def handler(number: int, _frame: object) -> None:
        alarms.append(number)

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 30, 7)
        search_within(pattern, text, seconds=0.1)
        left, interval = signal.getitimer(signal.ITIMER_REAL)
        assert signal.getsignal(signal.SIGALRM) is handler
        assert 25 < left < 30
        assert interval == 7
        assert alarms == []
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_timer_that_ran_out_meanwhile_goes_off_afterwards() -> None:
    alarms: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _frame: alarms.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        search_within(CATASTROPHE, VICTIM, seconds=0.2)
        deadline = time.monotonic() + 5
        while not alarms and time.monotonic() < deadline:
            time.sleep(0.01)
        assert alarms == [signal.SIGALRM]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_no_timer_is_left_running() -> None:
    search_within("a", "a")
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_an_interrupt_passes_through() -> None:
    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGVTALRM, interrupt)
    alarm = signal.getsignal(signal.SIGALRM)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            search_within(CATASTROPHE, VICTIM, seconds=5)
        assert signal.getsignal(signal.SIGALRM) is alarm
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def test_a_pattern_with_a_doubtful_set_warns_nobody() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert search_within("[[a]", "a") is True
