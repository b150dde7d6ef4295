"""The two ways of searching blocks of lines give the same answer, in linear time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from random import Random
from types import FrameType
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from patchctl.diff import FileDiff, parse_diff
from patchctl.match import Fit, judge_fit, locate
from patchctl.match.automaton import find_all
from patchctl.match.text import CHUNK, LISTED, MANY, Text
from tests.diffs import split

LINE = st.sampled_from([b"a\n", b"b\n", b"\n", b"aa\n"])
BLOCK = st.lists(LINE, min_size=1, max_size=4).map(tuple)


def naive(blocks: list[tuple[bytes, ...]], rows: list[bytes], low: int, high: int) -> list[tuple[int, ...]]:
    found = []
    for block in blocks:
        starts = range(low, high - len(block) + 1)
        found.append(tuple(at for at in starts if tuple(rows[at : at + len(block)]) == block)[:LISTED])
    return found


@settings(deadline=None)
@given(st.lists(BLOCK, max_size=5), st.lists(LINE, max_size=60), st.sampled_from([b"", b"a", b"aa"]), st.data())
@example([(b"a\n",)], [b"aa\n"], b"a", None)
def test_few_and_many_blocks_are_found_where_they_are(
    blocks: list[tuple[bytes, ...]], rows: list[bytes], end: bytes, data: st.DataObject | None
) -> None:
    content = b"".join(rows) + end
    lines = split(content)
    low = data.draw(st.integers(0, len(lines))) if data else 0
    high = data.draw(st.integers(low, len(lines))) if data else len(lines)
    if end:
        blocks = [*blocks, (end,), (b"a\n", end)]
    text = Text(content)
    expected = naive(blocks, lines, low, high)
    assert text.count == len(lines)
    assert text.find(blocks, low, high) == expected
    padding: list[tuple[bytes, ...]] = [(b"%d\n" % number,) for number in range(MANY)]
    assert text.find(blocks + padding, low, high)[: len(blocks)] == expected
    for block, found in zip(blocks, expected, strict=True):
        for line in range(low, high - len(block) + 1):
            assert not text.holds(block, line) or line in found or len(found) == LISTED


@settings(deadline=None)
@given(st.lists(BLOCK, max_size=20), st.lists(LINE, max_size=80), st.integers(1, 5))
def test_one_pass_finds_what_single_searches_find(blocks: list[tuple[bytes, ...]], rows: list[bytes], cap: int) -> None:
    expected = [[at for at in range(len(rows)) if tuple(rows[at : at + len(block)]) == block][:cap] for block in blocks]
    assert find_all(blocks, rows, cap) == expected


def steps_of(action: Callable[[], object]) -> int:
    """How many lines of Python ``action`` executes: a measure of work that no other process disturbs."""
    count = 0

    def counting(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return counting

    # coverage traces too; it gets its own function back
    before = sys.gettrace()
    sys.settrace(counting)
    try:
        action()
    finally:
        sys.settrace(before)
    return count


def two_letters(size: int) -> tuple[bytes, bytes]:
    """A file of two kinds of lines, and a diff of many long hunks drawn from the same two."""
    random = Random(size)
    content = b"".join(random.choices([b"a\n", b"b\n"], k=size))
    hunks = [b"--- a/x\n+++ b/x\n"]
    for start in range(2, size, 20):
        context = [b" " + line for line in random.choices([b"a\n", b"b\n"], k=11)]
        hunks.append(
            b"@@ -%d,12 +%d,12 @@\n" % (start, start) + b"".join(context[:8]) + b"-a\n+b\n" + b"".join(context[8:])
        )
    return b"".join(hunks), content


def blank_lines(size: int) -> tuple[bytes, bytes]:
    """A file of blank lines, and hunks that are ends of each other."""
    hunks = [b"--- a/x\n+++ b/x\n"]
    start, length = 2, 2
    while start + length < size:
        body = b" \n" * length + b"-\n+x\n" + b" \n" * 3
        hunks.append(b"@@ -%d,%d +%d,%d @@\n" % (start, length + 4, start, length + 4) + body)
        start += length + 5
        length += 1
    return b"".join(hunks), b"\n\n\ny\n" + b"\n" * size


def one_long_hunk(size: int) -> tuple[bytes, bytes]:
    body = b" \n" * size + b"-\n+x\n" + b" \n" * 3
    return b"--- a/x\n+++ b/x\n@@ -5,%d +5,%d @@\n" % (size + 4, size + 4) + body, b"\n\n\n\n\ny\n" + b"\n" * (3 * size)


def copies(size: int) -> tuple[bytes, bytes]:
    """The same hunk over and over, and a file that holds it everywhere."""
    hunks = [b"--- a/x\n+++ b/x\n"]
    hunks += [b"@@ -%d,3 +%d,3 @@\n a\n-b\n+B\n c\n" % (start, start) for start in range(2, 3 * size, 3)]
    return b"".join(hunks), b"-\n-\n-\n" + b"a\nb\nc\n" * size + b"-\n"


@pytest.mark.parametrize("shape", [two_letters, blank_lines, one_long_hunk, copies])
def test_four_times_the_input_is_about_four_times_the_work(shape: Callable[[int], tuple[bytes, bytes]]) -> None:
    def work(size: int) -> float:
        diff, content = shape(size)
        files: list[FileDiff] = []
        spent = steps_of(lambda: files.extend(parse_diff(diff)))
        spent += steps_of(lambda: judge_fit(files[0], content))
        return spent / (len(diff) + len(content))

    work(100)
    assert work(4000) < 1.5 * work(1000)


def test_repetitive_text_gets_an_answer_not_a_guess() -> None:
    for shape in (two_letters, blank_lines, one_long_hunk, copies):
        diff, content = shape(2000)
        (file,) = parse_diff(diff)
        assert not locate(file, content).fits
        assert judge_fit(file, content).fit in {Fit.CONFLICT, Fit.PARTIAL}


@given(st.lists(st.integers(0, 3 * CHUNK), max_size=12), st.booleans(), st.sampled_from([b"x", b"\r", b"\x0c"]))
@example([CHUNK - 1], True, b"x")
@example([CHUNK], True, b"x")
@example([CHUNK - 2, 0, 0, CHUNK - 1], False, b"x")
@example([0] * 12, True, b"x")
def test_a_line_begins_where_it_begins_wherever_the_known_places_lie(
    lengths: list[int], ended: bool, filler: bytes
) -> None:
    content = b"\n".join(filler * length for length in lengths) + b"\n" * ended
    text, lines = Text(content), split(content)
    starts = [sum(map(len, lines[:number])) for number in range(len(lines) + 1)]
    assert text.count == len(lines)
    assert [text.start(number) for number in range(len(lines) + 2)] == [*starts, len(content)]
    for number, line in enumerate(lines):
        assert text.holds((line,), number)
        expected = tuple(at for at, other in enumerate(lines) if other == line)[:LISTED]
        assert text.find([(line,)], 0, text.count) == [expected]
        assert text.find([(line,)] * MANY, 0, text.count) == [expected] * MANY


def test_of_many_blocks_those_that_may_occur_are_found_alike_however_few_they_are() -> None:
    content = b"".join(b"%d\n" % (number % 7) for number in range(50))
    absent: list[tuple[bytes, ...]] = [(b"no %d\n" % number,) for number in range(2 * MANY)]
    for count in (0, 1, MANY - 1, MANY, MANY + 1):
        present = [(b"%d\n" % (number % 7), b"%d\n" % ((number + 1) % 7)) for number in range(count)]
        text = Text(content)
        alone = [text.find([block], 3, 40)[0] for block in present]
        assert text.find([*absent, *present], 3, 40) == [()] * len(absent) + alone
