"""A regular expression search ends at its deadline, whatever the pattern, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from patchctl.processes import Searcher

CATASTROPHE = r"(a+)+$"
VICTIM = "a" * 60 + "b"

STALLING = {
    "nested": (CATASTROPHE, VICTIM),
    "alternatives": (r"(a|aa)+b", "a" * 100 + "c"),
    "anything": (r"(.*)*x", "a" * 100),
    "backreference": (r"(?=(a+))\1+b", "a" * 20_000),
    "lazy": (r"(a+?)+?$", VICTIM),
    "lazy-three-deep": (r"(?:(?:a*?)*?)*?b", "a" * 60),
    "counted": (r"(a{1,5000}){1,5000}b", "a" * 500),
    "any-case": (r"(?i)(A+)+$", VICTIM),
    "negative": (r"(?!(a+)+$)b", VICTIM),
    "conditional": (r"((a)|b)*(?(2)(a+)+$|b)", VICTIM),
    # One step of the matcher goes over the whole text: an alarm in the same process came 3 to 60 s late.
    "long-steps": (r"[a-z]+b!", "a" * 1_000_000),
    "literal-steps": (r"x*y", "x" * 1_000_000),
    "counted-steps": (r"[a-z]{65535}b", "a" * 70_000),
    "large-class": ("[" + "".join(chr(0x10000 + 2 * at) for at in range(1900)) + "]*b", "\U00010e00" * 200_000),
    "compiling": ("(?i)" + r"[\x00-\uffff]" * 140, "a"),
    "nothing": (r"(?:(?:(?:a?){65535}){65535}){65535}(?=x)", ""),
}

pytestmark = [pytest.mark.attack("regex-stall")]


@pytest.fixture
def searcher() -> Iterator[Searcher]:
    with Searcher(deadline=0.2) as opened:
        yield opened


def children(of: int | None = None) -> set[int]:
    of = of or os.getpid()
    return {int(pid) for pid in Path(f"/proc/{of}/task/{of}/children").read_text().split()}


def open_files(of: int | str = "self") -> list[str]:
    """What the descriptors of a process lead to; the one that lists them is gone by then."""
    found = []
    for link in sorted(Path(f"/proc/{of}/fd").iterdir()):
        with suppress(FileNotFoundError):
            found.append(str(link.readlink()))
    return found


def runs(pid: int) -> bool:
    """Whether a process is there and did not end; somebody else has to take notice of its end."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False


class TestAnswers:
    @pytest.mark.parametrize(
        ("pattern", "text", "found"),
        [
            (r"done\s*=\s*True", "x\nself.done = True\n", True),
            (r"^self", "x\nself\n", False),
            (r"(?m)^self", "x\nself\n", True),
            (r"", "", True),
            (r"b", "", False),
            ("\udc80", "a\udc80", True),
            ("\0", "a\0b", True),
            ("ende", "a" * 1_000_000 + "ende", True),
        ],
    )
    def test_a_search_answers(self, searcher: Searcher, pattern: str, text: str, found: bool) -> None:
        assert searcher.search(pattern, text) is found

    def test_a_match_has_its_groups_or_none_or_no_answer(self, searcher: Searcher) -> None:
        assert searcher.match("(?P<a>x)(?P<b>y)?(z)", "xz") == (True, {"a": "x"})
        assert searcher.match("(?P<a>\0?\udc80)", "\0\udc80") == (True, {"a": "\0\udc80"})
        assert searcher.match("(?P<a>x)", "zx") == (True, None)
        assert searcher.match("x", "x") == (True, {})
        assert searcher.match("(a+)+b", "a" * 60) == (False, None)
        assert searcher.match("(", "x") == (False, None)

    @pytest.mark.parametrize("pattern", ["(", "a{2,1}", "(?P<n>a)(?P<n>b)", "(" * 5000 + "a" + ")" * 5000])
    def test_what_is_no_regular_expression_gives_no_answer(self, searcher: Searcher, pattern: str) -> None:
        assert searcher.search(pattern, "a") is None
        assert searcher.search("a", "a") is True

    @pytest.mark.parametrize("seconds", [0, -1.0])
    def test_without_time_there_is_no_answer(self, seconds: float) -> None:
        with Searcher(deadline=seconds) as searcher:
            assert searcher.search("a", "a") is None
        with Searcher(budget=seconds) as searcher:
            assert searcher.search("a", "a") is None

    def test_a_pattern_with_a_doubtful_set_warns_nobody(
        self, searcher: Searcher, capfd: pytest.CaptureFixture[str]
    ) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert searcher.search("[[a]", "a") is True
        assert capfd.readouterr() == ("", "")

    def test_other_threads_do_not_matter(self) -> None:
        answers: list[bool | None] = []

        def ask() -> None:
            with Searcher(deadline=0.2) as searcher:
                answers.append(searcher.search("a", "a"))
                answers.append(searcher.search(CATASTROPHE, VICTIM))

        thread = threading.Thread(target=ask)
        thread.start()
        thread.join(30)
        assert answers == [True, None]


class TestDeadline:
    @pytest.mark.parametrize(("pattern", "text"), STALLING.values(), ids=STALLING)
    def test_is_kept_by_every_form_that_stalls(self, pattern: str, text: str) -> None:
        started = time.monotonic()
        with Searcher(deadline=0.2) as searcher:
            assert searcher.search(pattern, text) is None
        assert time.monotonic() - started < 10  # none of them ends by itself within that, or not for certain

    def test_memory_has_an_end_too(self) -> None:
        with Searcher(deadline=60.0, budget=None) as searcher:
            assert searcher.search(r"(?:(?:a|b)|c)*?(?:a|(b)|(c))*x", "abc" * 3_000_000) is not True
            assert searcher.search("a", "a") is True

    def test_a_search_after_it_answers_again(self, searcher: Searcher) -> None:
        assert searcher.search(CATASTROPHE, VICTIM) is None
        assert searcher.search("a", VICTIM) is True

    def test_a_pattern_that_missed_it_is_not_tried_again(self, searcher: Searcher) -> None:
        for _ in range(1000):  # 200 s
            assert searcher.search(CATASTROPHE, VICTIM) is None

    def test_many_patterns_share_one_budget(self) -> None:
        with Searcher(deadline=0.2, budget=0.5) as searcher:
            assert [searcher.search(f"(a+)+{at}", VICTIM) for at in range(1000)] == [None] * 1000
            assert searcher.search("a", "a") is None

    def test_ends_a_search_even_if_nobody_waits_for_it_any_more(self) -> None:
        """The parent is killed; without its own timer the child would go on for ever, at full load."""
        script = f"from patchctl.processes import Searcher; Searcher(deadline=3).search({CATASTROPHE!r}, {VICTIM!r})"
        with subprocess.Popen([sys.executable, "-c", script]) as parent:
            born: set[int] = set()
            while not born:
                born = children(parent.pid)
            (child,) = born
            parent.kill()
        until = time.monotonic() + 20
        while time.monotonic() < until and runs(child):
            time.sleep(0.05)
        assert not runs(child)


class TestLeavings:
    def test_no_child_and_no_descriptor_stays(self) -> None:
        before, files = children(), open_files()
        with Searcher(deadline=0.1) as searcher:
            searcher.search("a", "a")
            searcher.search(CATASTROPHE, VICTIM)
            searcher.search("b", "a")
            assert len(children() - before) == 1
        assert children() == before
        assert open_files() == files

    def test_no_child_is_made_before_the_first_search(self) -> None:
        before = children()
        with Searcher():
            assert children() == before

    def test_the_child_keeps_no_file_open_and_no_lock(self, searcher: Searcher, tmp_path: Path) -> None:
        before = children()
        with (tmp_path / "held").open("wb"):
            searcher.search("a", "a")
            (child,) = children() - before
            held = open_files(child)
        assert [name.partition(":")[0] for name in held] == ["pipe", "pipe"]

    def test_a_child_that_was_killed_is_replaced(self, searcher: Searcher) -> None:
        before = children()
        assert searcher.search("a", "a") is True
        (child,) = children() - before
        os.kill(child, signal.SIGKILL)
        while runs(child):
            time.sleep(0.01)
        assert searcher.search("b", "a") is None
        assert searcher.search("a", "a") is True

    def test_an_interrupt_passes_through_and_the_child_ends(self) -> None:
        before = children()

        def interrupt(_number: int, _frame: object) -> None:
            raise KeyboardInterrupt

        handler = signal.signal(signal.SIGALRM, interrupt)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(KeyboardInterrupt), Searcher(deadline=20) as searcher:
                searcher.search(CATASTROPHE, VICTIM)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, handler)
        assert children() == before

    def test_timers_and_handlers_of_others_are_not_touched(self, searcher: Searcher) -> None:
        alarms: list[int] = []
        before = signal.signal(signal.SIGALRM, lambda number, _frame: alarms.append(number))
        try:
            handler = signal.getsignal(signal.SIGALRM)
            signal.setitimer(signal.ITIMER_REAL, 30, 7)
            searcher.search(CATASTROPHE, VICTIM)
            left, interval = signal.getitimer(signal.ITIMER_REAL)
            assert signal.getsignal(signal.SIGALRM) is handler
            assert 0 < left < 30
            assert (interval, alarms) == (7, [])
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
