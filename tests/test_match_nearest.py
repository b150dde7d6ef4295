"""The nearest place: where a block would stand if it stood anywhere, found in linear time."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchctl.diff import parse_diff
from patchctl.match import judge_fit
from patchctl.match.explain import explain
from patchctl.match.nearest import Index, Nearest, find_nearest, key_of
from tests.diffs import split, unified
from tests.test_match_search import steps_of

LETTERS = [b"%c\n" % letter for letter in b"abcdefghij"]


def nearest(block: list[bytes], content: bytes, expected: int = 0, room: tuple[int, int] | None = None) -> Nearest:
    index = Index(content)
    low, high = room or (0, len(index.lines))
    found = find_nearest(block, index, expected, low, high)
    assert found is not None
    return found


def place(block: list[bytes], content: bytes, expected: int = 0) -> tuple[int, int]:
    found = nearest(block, content, expected)
    return found.start, found.stop


class TestThePlace:
    def test_is_where_the_other_lines_of_an_edited_block_stand(self) -> None:
        assert place([b"a\n", b"x\n", b"c\n"], b"1\n2\n" + b"".join(LETTERS)) == (2, 5)

    def test_reaches_over_lines_that_came_in(self) -> None:
        content = b"0\n" * 5 + b"".join(LETTERS[:3]) + b"new\n" * 2 + b"".join(LETTERS[3:6])
        assert place(LETTERS[:6], content) == (5, 13)

    def test_reaches_over_lines_that_went_out(self) -> None:
        assert place(LETTERS[:8], b"0\n" * 5 + b"".join(LETTERS[:3] + LETTERS[6:8])) == (5, 10)

    def test_includes_what_stands_for_a_changed_first_and_last_line(self) -> None:
        assert place([b"?\n", b"b\n", b"c\n", b"?\n"], b"".join(LETTERS)) == (0, 4)

    def test_ends_where_the_file_does(self) -> None:
        assert place([b"h\n", b"i\n", b"j\n", b"k\n", b"l\n"], b"".join(LETTERS)) == (7, 10)
        assert place([b"y\n", b"z\n", b"a\n", b"b\n"], b"".join(LETTERS)) == (0, 2)

    def test_follows_rare_lines_rather_than_many_common_ones(self) -> None:
        common = [b"return\n", b")\n", b"else:\n"]
        content = b"".join(common) * 40 + b"only_here = 1\n" + b"x\n" * 3 + b"".join(common) * 40
        assert place([b"only_here = 1\n", *common], content)[0] == 120

    def test_of_equal_ones_is_the_one_nearest_to_where_it_is_expected(self) -> None:
        content = b"".join(b"%d\n%d\na\nb\nc\n" % (n, n) for n in range(50))
        for expected, start in ((0, 2), (2, 2), (104, 102), (105, 107), (240, 242), (999, 247)):
            assert place([b"a\n", b"b\n", b"?\n"], content, expected)[0] == start

    def test_lies_in_the_room_given(self) -> None:
        content = b"a\nb\nc\n" + b"0\n" * 20 + b"a\nb\n"
        found = nearest([b"a\n", b"b\n", b"c\n"], content, room=(10, 25))
        assert (found.start, found.stop) == (23, 25)

    def test_is_found_through_other_indentation_and_line_ends(self) -> None:
        block = [b"if a:\n", b"    b(c, d)\n"]
        found = nearest(block, b"x\ny\n\tif a:\r\n\t    b(c,d)\r\n")
        assert found == Nearest(start=2, stop=4, pairs=((0, 2), (1, 3)))

    def test_is_none_where_no_line_of_it_stands(self) -> None:
        index = Index(b"\n\na\n")
        assert find_nearest([b"b\n", b"\n", b"c\n"], index, 0, 0, 3) is None
        assert find_nearest([b"a\n"], index, 0, 0, 2) is None
        assert find_nearest([], index, 0, 0, 3) is None

    def test_reaches_for_a_line_that_stands_once_but_not_for_one_that_stands_everywhere(self) -> None:
        content = b"".join(LETTERS[:4]) + b"x\n" * 8 + b"end\n"
        assert place([*LETTERS[:4], b"end\n"], content) == (0, 13)
        assert place([*LETTERS[:4], b"end\n"], content + b"end\n" * 5) == (0, 5)


LINES = st.lists(st.binary(max_size=6).map(lambda line: line.replace(b"\n", b"") + b"\n"), max_size=12)


@given(LINES, st.binary(max_size=200), st.integers(-5, 50), st.data())
def test_any_bytes_get_an_answer_that_keeps_its_promises(
    block: list[bytes], content: bytes, expected: int, data: st.DataObject
) -> None:
    content += b"".join(block[: data.draw(st.integers(0, len(block)))])
    index = Index(content)
    low = data.draw(st.integers(0, len(index.lines)))
    high = data.draw(st.integers(low, len(index.lines)))
    found = find_nearest(block, index, expected, low, high)
    keys = {key_of(line) for line in block} - {b""}
    if found is None:
        assert keys.isdisjoint(map(key_of, index.lines[low:high]))
        return
    assert low <= found.start <= found.stop <= high
    for (row, at), (next_row, next_at) in zip(found.pairs, found.pairs[1:], strict=False):
        assert row < next_row
        assert at < next_at
    for row, at in found.pairs:
        assert found.start <= at < found.stop
        assert key_of(block[row]) == key_of(index.lines[at])


@given(st.data())
def test_a_unique_block_with_edited_lines_is_found_where_it_is(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 60))
    lines = [b"line %d\n" % number for number in range(count)]
    start = data.draw(st.integers(0, count - 1))
    size = data.draw(st.integers(1, count - start))
    edited = data.draw(st.sets(st.integers(0, size - 1), max_size=size - 1))
    block = [b"edited %d\n" % row if row in edited else lines[start + row] for row in range(size)]
    found = nearest(block, b"".join(lines), data.draw(st.integers(0, 2 * count)))
    assert (found.start, found.stop) == (start, start + size)
    assert found.pairs == tuple((row, start + row) for row in range(size) if row not in edited)


@given(st.binary(max_size=80), st.binary(max_size=80), st.binary(max_size=160))
def test_no_bytes_are_beyond_explaining(old: bytes, new: bytes, content: bytes) -> None:
    diff = unified(b"x\ny\n" + old, b"x\ny\n" + new, "x")
    if diff:
        (file,) = parse_diff(diff)
        found = explain(file, content, judge_fit(file, content))
        for hunk in found.hunks:
            lines = [line for line in hunk.script if line.line is not None]
            assert all(split(content)[(line.line or 0) - 1] == line.text for line in lines)


def periodic(size: int) -> tuple[bytes, bytes]:
    """A file of a few lines over and over, and a long hunk of the same lines, a little out of step."""
    period = [b"a\n", b"b\n", b"c\n", b"b\n", b")\n"]
    block = [period[number % 5] for number in range(size // 4)]
    block[7:8] = [b"x\n", b"y\n"]
    return b"".join(period) * (size // 5), _hunk(block)


def one_line(size: int) -> tuple[bytes, bytes]:
    return b"same\n" * size, _hunk([b"same\n"] * (size // 4) + [b"other\n"])


def random_letters(size: int) -> tuple[bytes, bytes]:
    random = Random(size)
    choose = [b"a\n", b"b\n", b"    return\n"]
    return b"".join(random.choices(choose, k=size)), _hunk([*random.choices(choose, k=size // 4), b"z\n"])


def many_hunks(size: int) -> tuple[bytes, bytes]:
    body = b" a\n b\n-q\n+r\n c\n d\n"
    hunks = [b"@@ -%d,5 +%d,5 @@\n" % (start, start) + body for start in range(2, size, 6)]
    return b"a\nb\nc\nd\n" * (size // 4), b"--- a/x\n+++ b/x\n" + b"".join(hunks)


def long_lines(size: int) -> tuple[bytes, bytes]:
    return b"x" * size + b"1\n" + b"y\n", _hunk([b"x" * size + b"2\n", b"y\n"])


def _hunk(block: list[bytes]) -> bytes:
    body = b"".join(b" " + line for line in block) + b"-old\n+new\n y\n"
    return b"--- a/x\n+++ b/x\n@@ -9,%d +9,%d @@\n" % (len(block) + 2, len(block) + 2) + body


@pytest.mark.parametrize("shape", [periodic, one_line, random_letters, many_hunks, long_lines])
def test_explaining_four_times_the_input_is_about_four_times_the_work(
    shape: Callable[[int], tuple[bytes, bytes]],
) -> None:
    def work(size: int) -> float:
        content, diff = shape(size)
        (file,) = parse_diff(diff)
        report = judge_fit(file, content)
        return steps_of(lambda: explain(file, content, report)) / size

    work(100)
    assert work(8000) < 1.5 * work(2000)


def test_a_periodic_file_of_a_million_bytes_costs_a_bounded_number_of_steps_a_line() -> None:
    content = b"a = 1\nb = 2\n" * 83_334
    (file,) = parse_diff(_hunk([b"a = 1\n", b"b = 2\n"] * 100))
    assert len(content) > 1_000_000
    report = judge_fit(file, content)
    assert steps_of(lambda: explain(file, content, report)) < 10 * content.count(b"\n")
