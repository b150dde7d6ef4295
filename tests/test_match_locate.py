"""Where hunks are placed, and why not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from patchctl.diff import FileDiff, parse_diff
from patchctl.errors import DiffError
from patchctl.match import Direction, HunkPlace, Match, locate, splice
from tests.diffs import split, unified

FORWARD, REVERSE = Direction.FORWARD, Direction.REVERSE


def only(data: bytes) -> FileDiff:
    (file,) = parse_diff(data)
    return file


def lines(text: str) -> bytes:
    """One line a character: enough to draw a file."""
    return "".join(character + "\n" for character in text).encode()


def diff(old: str, new: str, *, context: int = 2) -> FileDiff:
    return only(unified(lines(old), lines(new), "x", context=context))


ONE = diff("abcdefgh", "abcdEfgh")
"""Line 5 changes between ``cd`` and ``fg``: the preimage is ``cdefg`` at line 3."""

TWO = diff("abcdefghijklmnop", "abcDefghijklMnop", context=1)
"""Lines 4 and 13 change: preimages ``cde`` at 3 and ``lmn`` at 12."""

THREE = diff("abcdefghijklmnopqrstuvwxyz", "abCdefghijklMnopqrstuvwXyz", context=1)
"""Lines 3, 13 and 24 change: preimages ``bcd`` at 2, ``lmn`` at 12 and ``wxy`` at 23."""


def places(match: Match) -> list[tuple[int | None, int | None, str | None]]:
    return [(place.line, place.offset, place.reason) for place in match.hunks]


def test_a_hunk_at_its_stated_line_is_exact() -> None:
    match = locate(ONE, lines("abcdefgh"))
    assert match == Match(direction=FORWARD, hunks=(HunkPlace(number=1, line=3, offset=0),))
    assert (match.fits, match.exact, match.largest_offset) == (True, True, 0)


def test_the_stated_line_wins_over_any_number_of_copies() -> None:
    assert locate(ONE, lines("abcdefgh" + "cdefg" * 3)).exact


@pytest.mark.parametrize(
    ("content", "line"), [("xxabcdefgh", 5), ("bcdefgh", 2), ("cdefg", 1), ("x" * 900 + "cdefgy", 901)]
)
def test_a_hunk_that_occurs_once_is_placed_with_its_offset(content: str, line: int) -> None:
    match = locate(ONE, lines(content))
    assert places(match) == [(line, line - 3, None)]
    assert match.fits
    assert not match.exact
    assert match.largest_offset == abs(line - 3)


def test_a_hunk_that_occurs_twice_is_ambiguous_and_lists_the_lines() -> None:
    match = locate(ONE, lines("xcdefgxcdefg"))
    assert match.hunks == (HunkPlace(number=1, reason="ambiguous", candidates=(2, 8)),)
    assert not match.fits


def test_overlapping_occurrences_count() -> None:
    repeated = only(b"--- a/x\n+++ b/x\n@@ -9,3 +9,3 @@\n a\n-b\n+c\n a\n")
    assert locate(repeated, lines("ababa")).hunks[0].candidates == (1, 3)


def test_a_long_list_of_lines_is_cut() -> None:
    match = locate(ONE, lines("x" + "cdefg" * 500))
    assert match.hunks[0].candidates == tuple(range(2, 52, 5))


@pytest.mark.parametrize(
    "content",
    [
        b"c\nd\ne\nf\n",
        b"c\nd\ne\nf\ng",
        b"c\nd\ne \nf\ng\n",
        b"c\r\nd\r\ne\r\nf\r\ng\r\n",
        b"c\nd\ne\nf\ngg\n",
        b"cc\nd\ne\nf\ng\n",
        b" c\nd\ne\nf\ng\n",
        b"c\nd\n\ne\nf\ng\n",
        b"",
    ],
    ids=[
        "too short",
        "no final newline",
        "a blank more",
        "CRLF",
        "tail of a line",
        "head of a line",
        "indented",
        "gap",
        "empty",
    ],
)
def test_there_is_no_leniency(content: bytes) -> None:
    for file in (content, b"x\n" + content, b"a\nb\n" + content):
        assert places(locate(ONE, file)) == [(None, None, "not-found")]


def test_a_block_without_final_newline_matches_only_at_the_end() -> None:
    last = only(b"--- a/x\n+++ b/x\n@@ -4,2 +4,2 @@\n-a\n+A\n b\n\\ No newline at end of file\n")
    assert places(locate(last, b"a\nb\na\nb\na\nb")) == [(5, 1, None)]
    assert places(locate(last, b"a\nb\na\nbb")) == [(None, None, "not-found")]
    assert places(locate(last, b"a\nb\n")) == [(None, None, "not-found")]


def test_a_hunk_from_the_first_line_on_stays_there() -> None:
    first = diff("abcdef", "Abcdef")
    assert locate(first, lines("abcxyz")).exact
    assert places(locate(first, lines("xabcdef"))) == [(None, None, "not-found")]


def test_a_hunk_without_trailing_context_stays_at_the_end() -> None:
    last = diff("uvwxyz", "uvwxyZ")
    assert places(locate(last, lines("rstuvwxyz"))) == [(7, 3, None)]
    assert places(locate(last, lines("uvwxyz!"))) == [(None, None, "not-found")]
    # even where another copy lies at the stated line
    assert places(locate(last, lines("uvwxyz" + "xyz"))) == [(7, 3, None)]


def test_the_anchors_hold_in_reverse_too() -> None:
    last = diff("uvwxyz", "uvwxyZ")
    assert locate(last, lines("uvwxyZ"), REVERSE).exact
    assert places(locate(last, lines("uvwxyZ!"), REVERSE)) == [(None, None, "not-found")]


def test_all_hunks_move_together_or_apart() -> None:
    assert places(locate(TWO, lines("xxabcdefghijklmnop"))) == [(5, 2, None), (14, 2, None)]
    assert places(locate(TWO, lines("abcdefghxxxijklmnop"))) == [(3, 0, None), (15, 3, None)]
    assert locate(TWO, lines("abcdefghxxxijklmnop")).largest_offset == 3


def test_one_hunk_without_a_place_leaves_the_others_theirs() -> None:
    match = locate(TWO, lines("xabcdefghijklm"))
    assert places(match) == [(4, 1, None), (None, None, "not-found")]
    assert not match.fits
    assert not match.exact
    assert match.largest_offset == 1


def test_hunks_in_another_order_do_not_fit() -> None:
    match = locate(TWO, lines("lmnxxcdex"))
    assert places(match) == [(6, 3, None), (None, None, "out-of-order")]
    assert match.hunks[1].candidates == (1,)


def test_hunks_may_touch_but_not_overlap() -> None:
    pair = diff("abcdefghi", "aBcdefgHi", context=1)
    assert locate(pair, lines("abcghi")).fits
    shared = only(b"--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -7,3 +7,3 @@\n c\n-d\n+D\n e\n")
    assert places(locate(shared, lines("abcde"))) == [(1, 0, None), (None, None, "out-of-order")]


def test_several_occurrences_are_told_by_the_placed_neighbours() -> None:
    match = locate(THREE, lines("lmn" + "-bcd--lmn--wxy-" + "lmn"))
    assert places(match) == [(5, 3, None), (10, -2, None), (15, -8, None)]


def test_several_occurrences_between_are_told_by_a_shared_offset() -> None:
    content = lines("--abcdefghijklmn-lmn-----wxyz")
    assert places(locate(THREE, content)) == [(4, 2, None), (14, 2, None), (26, 3, None)]


def test_the_offset_of_the_neighbour_below_counts_too() -> None:
    content = lines("---------bcd-lmn--lmn--------wxyz")
    assert places(locate(THREE, content)) == [(10, 8, None), (19, 7, None), (30, 7, None)]


def test_an_offset_that_is_not_shared_leaves_it_ambiguous() -> None:
    match = locate(THREE, lines("-bcd--lmn-lmn-----wxyz"))
    assert match.hunks[1] == HunkPlace(number=2, reason="ambiguous", candidates=(7, 11))


def test_two_neighbours_that_disagree_leave_it_ambiguous() -> None:
    match = locate(THREE, lines("--abcdefghijklmnlmn--------wxyz"))
    assert [place.offset for place in match.hunks] == [2, None, 5]
    assert match.hunks[1] == HunkPlace(number=2, reason="ambiguous", candidates=(14, 17))


def test_a_place_found_by_its_neighbour_tells_the_next() -> None:
    chain = diff("abcdefghijklmnopqrstuvwxyz", "abCdefgHijklmNopqrstuvwxyz", context=1)
    content = lines("-abcdefghijklmnop" + "ghimno" * 2)
    assert places(locate(chain, content)) == [(3, 1, None), (8, 1, None), (14, 1, None)]


def test_a_place_between_neighbours_narrows_the_room_of_the_one_above() -> None:
    content = lines("--bcd-lmn-bcd-wxy-lmn")
    assert places(locate(THREE, content)) == [(3, 1, None), (7, -5, None), (15, -8, None)]


def test_an_occurrence_only_outside_the_neighbours_is_out_of_order() -> None:
    match = locate(THREE, lines("lmnlmn-bcdwxyz"))
    assert match.hunks[1] == HunkPlace(number=2, reason="out-of-order", candidates=(1, 4))


def test_a_bound_on_the_offset_names_the_hunk_that_breaks_it() -> None:
    content = lines("abcdefghxxxijklmnop")
    assert locate(TWO, content, max_offset=3).fits
    match = locate(TWO, content, max_offset=2)
    assert places(match) == [(3, 0, None), (15, 3, "too-far")]
    assert not match.fits
    assert locate(TWO, lines("abcdefghijklmnop"), max_offset=0).exact


@pytest.mark.parametrize("direction", [FORWARD, REVERSE])
def test_a_modified_file_has_to_be_there(direction: Direction) -> None:
    match = locate(TWO, None, direction)
    assert (match.reason, match.fits, match.exact) == ("file-missing", False, False)
    assert [place.number for place in match.hunks] == [1, 2]


ADD = only(b"--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+one\n+two\n")
DELETE = only(b"--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n")
EMPTY = only(b"diff --git a/x b/x\nnew file mode 100644\n")


@pytest.mark.parametrize(
    ("file", "content", "direction", "reason"),
    [
        (ADD, None, FORWARD, None),
        (ADD, b"one\ntwo\n", FORWARD, "file-exists"),
        (ADD, b"", FORWARD, "file-exists"),
        (ADD, b"one\ntwo\n", REVERSE, None),
        (ADD, b"one\ntwo", REVERSE, "content-differs"),
        (ADD, b"one\ntwo\nthree\n", REVERSE, "content-differs"),
        (ADD, None, REVERSE, "file-missing"),
        (DELETE, b"one\ntwo\n", FORWARD, None),
        (DELETE, b"one\ntwo\n\n", FORWARD, "content-differs"),
        (DELETE, None, FORWARD, "file-missing"),
        (DELETE, None, REVERSE, None),
        (DELETE, b"one\ntwo\n", REVERSE, "file-exists"),
        (EMPTY, None, FORWARD, None),
        (EMPTY, b"", FORWARD, "file-exists"),
        (EMPTY, b"", REVERSE, None),
        (EMPTY, b"\n", REVERSE, "content-differs"),
    ],
)
def test_a_whole_file_is_absent_or_equal(
    file: FileDiff, content: bytes | None, direction: Direction, reason: str | None
) -> None:
    match = locate(file, content, direction)
    assert match.reason == reason
    assert match.fits is match.exact is (reason is None)


SEVERAL = st.text("abc", max_size=12)


def brute_force(file: FileDiff, content: bytes, direction: Direction) -> list[list[int]]:
    """All lines, from 1, at which each block stands, found without any shortcut."""
    rows = split(content)
    found = []
    for hunk in file.hunks:
        block = list(hunk.old_lines if direction is FORWARD else hunk.new_lines)
        stated = hunk.old_start if direction is FORWARD else hunk.new_start
        starts = [at for at in range(len(rows) - len(block) + 1) if rows[at : at + len(block)] == block]
        if stated == 1:
            starts = [at for at in starts if at == 0]
        if hunk.trailing == 0:
            starts = [at for at in starts if at + len(block) == len(rows)]
        found.append([at + 1 for at in starts])
    return found


@settings(deadline=None)
@given(SEVERAL, SEVERAL, st.text("abc", max_size=40), st.sampled_from([FORWARD, REVERSE]), st.integers(1, 3))
@example("cabcab", "cabab", "ccabcabcab", FORWARD, 1)
def test_every_place_is_one_the_rule_allows(old: str, new: str, text: str, direction: Direction, context: int) -> None:
    try:
        (file,) = parse_diff(unified(lines(old), lines(new), "x", context=context))
    except DiffError:
        return
    content = lines(text)
    match = locate(file, content, direction)
    allowed = brute_force(file, content, direction)
    end = 0
    for hunk, place, starts in zip(file.hunks, match.hunks, allowed, strict=True):
        stated = hunk.old_start if direction is FORWARD else hunk.new_start
        assert (place.line is None) is (place.reason is not None)
        assert (place.reason == "not-found") is (not starts)
        assert set(place.candidates) <= set(starts)
        if place.line is not None:
            assert place.line in starts
            assert place.offset == place.line - stated
            assert place.line > end
            end = place.line + len(hunk.old_lines if direction is FORWARD else hunk.new_lines) - 1
    stated_fits = all(
        (hunk.old_start if direction is FORWARD else hunk.new_start) in starts
        for hunk, starts in zip(file.hunks, allowed, strict=True)
    )
    assert match.exact is stated_fits
    if len(file.hunks) == 1 and not stated_fits:
        assert match.fits is (len(allowed[0]) == 1)
        if len(allowed[0]) > 1:
            assert match.hunks[0].candidates == tuple(allowed[0][:10])


@settings(deadline=None)
@given(SEVERAL, SEVERAL, st.integers(0, 30))
def test_offsets_follow_text_put_in_front(old: str, new: str, shift: int) -> None:
    try:
        (file,) = parse_diff(unified(lines("xyz" + old), lines("xyz" + new), "x", context=2))
    except DiffError:
        return
    if file.hunks[0].old_start == 1:
        return
    plain = locate(file, lines("xyz" + old))
    moved = locate(file, lines("-" * shift + "xyz" + old))
    assert plain.exact
    if moved.fits:
        assert {place.offset for place in moved.hunks} == {shift}
        assert splice(file, lines("-" * shift + "xyz" + old), moved) == lines("-" * shift + "xyz" + new)
    else:
        assert {place.reason for place in moved.hunks} <= {None, "ambiguous"}


def test_a_match_is_needed_that_fits_these_bytes() -> None:
    good = locate(ONE, lines("abcdefgh"))
    bad: list[Callable[[], bytes | None]] = [
        lambda: splice(ONE, lines("abcdEfgh"), locate(ONE, lines("abcdEfgh"))),
        lambda: splice(ONE, lines("xabcdefgh"), good),
        lambda: splice(ONE, None, good),
        lambda: splice(TWO, lines("abcdefgh"), good),
        lambda: splice(ADD, b"", locate(ADD, None)),
        lambda: splice(DELETE, b"two\n", locate(DELETE, b"one\ntwo\n")),
    ]
    for call in bad:
        with pytest.raises(ValueError, match="match"):
            call()


def test_places_that_overlap_are_refused_even_when_the_blocks_are_there() -> None:
    shared = only(b"--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -7,3 +7,3 @@\n c\n-d\n+D\n e\n")
    forged = Match(
        direction=FORWARD,
        hunks=(HunkPlace(number=1, line=1, offset=0), HunkPlace(number=2, line=3, offset=-4)),
    )
    with pytest.raises(ValueError, match="match"):
        splice(shared, lines("abcde"), forged)


def test_everything_around_a_hunk_stays_byte_for_byte() -> None:
    content = b"\xff\r\n\x00x\n" + lines("abcdefgh") + b"\x0c\r no newline"
    match = locate(ONE, content)
    made = splice(ONE, content, match)
    assert made == content.replace(b"\ne\n", b"\nE\n")
    assert splice(ONE, made, locate(ONE, made, REVERSE)) == content
