"""What the bytes of a file say about a diff."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchctl.diff import FileDiff, parse_diff
from patchctl.errors import DiffError
from patchctl.match import Fit, judge_fit, splice
from tests.diffs import unified


def only(data: bytes) -> FileDiff:
    (file,) = parse_diff(data)
    return file


def lines(text: str) -> bytes:
    return "".join(character + "\n" for character in text).encode()


def diff(old: str, new: str, *, context: int = 2) -> FileDiff:
    return only(unified(lines(old), lines(new), "x", context=context))


CHANGE = diff("abcdefgh", "abcdEfgh")
"""``cdefg`` at 3 becomes ``cdEfg``."""

INSERT = diff("abcdefgh", "abcdXefgh")
"""``cdef`` at 3 becomes ``cdXef``."""

REMOVE = diff("abcdXefgh", "abcdefgh")

TWO = diff("abcdefghijklmnop", "abcDefghijklMnop", context=1)
"""``cde`` at 3 and ``lmn`` at 12."""

THREE = diff("abcdefghijklmnopqrstuvwxyz", "abCdefghijklMnopqrstuvwXyz", context=1)

ADD = only(b"--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+one\n")
DELETE = only(b"--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n")


@pytest.mark.parametrize(
    ("file", "content", "fit"),
    [
        (CHANGE, "abcdefgh", Fit.APPLICABLE),
        (CHANGE, "xabcdefgh", Fit.APPLICABLE),
        (CHANGE, "abcdEfgh", Fit.PRESENT),
        (CHANGE, "xxabcdEfgh", Fit.PRESENT),
        (CHANGE, "abcdQfgh", Fit.CONFLICT),
        (CHANGE, "", Fit.CONFLICT),
        (CHANGE, "xcdefgcdefg", Fit.CONFLICT),
        (INSERT, "abcdefgh", Fit.APPLICABLE),
        (INSERT, "abcdXefgh", Fit.PRESENT),
        (REMOVE, "abcdXefgh", Fit.APPLICABLE),
        (REMOVE, "abcdefgh", Fit.PRESENT),
        (TWO, "abcdefghijklmnop", Fit.APPLICABLE),
        (TWO, "abcDefghijklMnop", Fit.PRESENT),
        (TWO, "abcDefghijklmnop", Fit.PARTIAL),
        (TWO, "abcdefghijklMnop", Fit.PARTIAL),
        (TWO, "--abcDefghi--jklmnop", Fit.PARTIAL),
        (TWO, "abcDefghijklQnop", Fit.CONFLICT),
        (TWO, "abcQefghijklmnop", Fit.CONFLICT),
        (THREE, "abCdefghijklQnopqrstuvwxyz", Fit.PARTIAL),
    ],
)
def test_the_bytes_alone_decide_where_they_can(file: FileDiff, content: str, fit: Fit) -> None:
    assert judge_fit(file, lines(content)).fit is fit


@pytest.mark.parametrize(
    ("file", "content", "fit"),
    [
        (CHANGE, None, Fit.MISSING),
        (DELETE, None, Fit.MISSING),
        (DELETE, b"one\n", Fit.APPLICABLE),
        (DELETE, b"one", Fit.CONFLICT),
        (ADD, None, Fit.APPLICABLE),
        (ADD, b"one\n", Fit.PRESENT),
        (ADD, b"two\n", Fit.CONFLICT),
    ],
)
def test_a_file_that_is_not_there(file: FileDiff, content: bytes | None, fit: Fit) -> None:
    assert judge_fit(file, content).fit is fit


def test_a_deleted_file_that_is_not_there_still_fits_in_reverse() -> None:
    report = judge_fit(DELETE, None)
    assert report.reverse.fits
    assert splice(DELETE, None, report.reverse) == b"one\n"


def test_each_hunk_tells_its_own_state() -> None:
    assert judge_fit(THREE, lines("abCdefghijklQnopqrstuvwxyz")).hunks == (Fit.PRESENT, Fit.CONFLICT, Fit.APPLICABLE)
    both = judge_fit(TWO, lines("abcdefgh" + "cDe" + "lMn" + "ijklmnop"))
    assert both.hunks == (Fit.UNDECIDED, Fit.UNDECIDED)


class TestBothDirectionsFit:
    """The stated line beats an offset; a tie is broken by hashes only."""

    def test_forward_at_the_stated_line(self) -> None:
        assert judge_fit(CHANGE, lines("abcdefgh" + "cdEfg")).fit is Fit.APPLICABLE

    def test_reverse_at_the_stated_line(self) -> None:
        report = judge_fit(CHANGE, lines("abcdEfgh" + "cdefg"))
        assert (report.forward.fits, report.reverse.exact) == (True, True)
        assert report.fit is Fit.PRESENT

    def test_both_by_offset(self) -> None:
        content = lines("xcdefgcdEfg")
        assert judge_fit(CHANGE, content).fit is Fit.UNDECIDED

    def test_both_at_the_stated_line(self) -> None:
        double = only(b"--- a/x\n+++ b/x\n@@ -2,3 +2,4 @@\n b\n+c\n c\n c\n")
        content = lines("abcccd")
        report = judge_fit(double, content)
        assert (report.forward.exact, report.reverse.exact) == (True, True)
        assert report.fit is Fit.UNDECIDED

    def test_reverse_stands_somewhere_while_forward_fits_by_offset(self) -> None:
        """A patched file with a second copy of the code: the result is there twice, so reverse is ambiguous."""
        content = lines("xcdEfg-cdEfg-cdefg")
        report = judge_fit(CHANGE, content)
        assert (report.forward.fits, report.reverse.fits) == (True, False)
        assert report.fit is Fit.UNDECIDED

    def test_one_hunk_of_several_is_enough_for_doubt(self) -> None:
        content = lines("-abcDefgh-cde-ijklmnop")
        report = judge_fit(TWO, content)
        assert (report.forward.fits, report.reverse.fits) == (True, False)
        assert report.fit is Fit.UNDECIDED

    def test_a_hunk_at_its_stated_line_leaves_no_doubt(self) -> None:
        content = lines("abcdefgh-cDe-ijklmnop")
        report = judge_fit(TWO, content)
        assert [place.offset for place in report.forward.hunks] == [0, 5]
        assert report.fit is Fit.APPLICABLE


def blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\x00" % len(content) + content).hexdigest()


class TestBlobIds:
    """Git's ids of the ``index`` line break a tie, before the stated lines do."""

    CONTENT = lines("xcdefgcdEfg")

    def with_blobs(self, old: str, new: str) -> FileDiff:
        plain = unified(lines("abcdefgh"), lines("abcdEfgh"), "x", context=2)
        return only(f"diff --git a/x b/x\nindex {old}..{new} 100644\n".encode() + plain)

    @pytest.mark.parametrize("length", [7, 12, 40])
    def test_the_id_of_the_content_decides(self, length: int) -> None:
        own = blob(self.CONTENT)[:length]
        assert judge_fit(self.with_blobs(own, "0123456789"), self.CONTENT).fit is Fit.APPLICABLE
        assert judge_fit(self.with_blobs("0123456789", own), self.CONTENT).fit is Fit.PRESENT

    def test_it_beats_the_stated_line(self) -> None:
        content = lines("abcdefgh" + "cdEfg")
        assert judge_fit(self.with_blobs("0123456789", blob(content)), content).fit is Fit.PRESENT

    @pytest.mark.parametrize("length", [4, 6])
    def test_a_short_id_says_nothing(self, length: int) -> None:
        own = blob(self.CONTENT)[:length]
        assert judge_fit(self.with_blobs(own, "0123456789"), self.CONTENT).fit is Fit.UNDECIDED

    def test_two_ids_that_both_fit_say_nothing(self) -> None:
        own = blob(self.CONTENT)
        assert judge_fit(self.with_blobs(own[:8], own[:10]), self.CONTENT).fit is Fit.UNDECIDED

    def test_ids_of_other_bytes_say_nothing(self) -> None:
        assert judge_fit(self.with_blobs("0123456789", "9876543210"), self.CONTENT).fit is Fit.UNDECIDED

    def test_an_id_never_makes_a_hunk_fit(self) -> None:
        content = lines("abcdQfgh")
        assert judge_fit(self.with_blobs("0123456789", blob(content)), content).fit is Fit.CONFLICT


CONTENT = st.text("abcd", max_size=25)


@settings(deadline=None)
@given(CONTENT, CONTENT, st.integers(2, 4))
def test_before_is_applicable_and_after_is_present(old: str, new: str, context: int) -> None:
    try:
        (file,) = parse_diff(unified(lines(old), lines(new), "x", context=context))
    except DiffError:
        return
    before, after = judge_fit(file, lines(old)), judge_fit(file, lines(new))
    assert splice(file, lines(old), before.forward) == lines(new)
    assert splice(file, lines(new), after.reverse) == lines(old)
    # never the opposite; undecided only where both directions fit at the stated lines
    assert before.fit is Fit.APPLICABLE or before.forward.exact is before.reverse.exact is True
    assert after.fit is Fit.PRESENT or after.forward.exact is after.reverse.exact is True


@settings(deadline=None)
@given(CONTENT, CONTENT, st.integers(0, 3), st.sampled_from(["", "wxyz"]))
def test_what_is_present_is_never_applied_again(old: str, new: str, shift: int, tail: str) -> None:
    """On a tree that carries the change and has drifted besides, nothing says applicable unless forward is exact."""
    try:
        (file,) = parse_diff(unified(lines(old), lines(new), "x", context=3))
    except DiffError:
        return
    report = judge_fit(file, lines("-" * shift + new + tail))
    if report.reverse.fits:
        assert report.fit is not Fit.APPLICABLE or report.forward.exact
    if report.fit is Fit.APPLICABLE:
        assert report.forward.fits
    if report.fit is Fit.PRESENT:
        assert report.reverse.fits


class TestSurroundingsThatRepeat:
    """Shapes in which one side of a hunk is part of the other, so that drift alone puts it at the stated line."""

    def test_a_carrying_file_with_drift_is_not_patched_again(self) -> None:
        file = only(b"--- a/x\n+++ b/x\n@@ -3,3 +3,5 @@\n+X\n+Y\n a\n b\n c\n")
        content = lines("....XYabc..")
        report = judge_fit(file, content)
        assert (report.forward.fits, report.reverse.fits) == (True, True)
        assert report.fit is Fit.UNDECIDED

    def test_an_exact_result_inside_the_preimage_is_no_proof(self) -> None:
        """The change drops one of two copies; the unpatched file has fewer lines above."""
        file = only(b"--- a/x\n+++ b/x\n@@ -4,9 +4,6 @@\n a\n b\n c\n-a\n-b\n-c\n d\n e\n f\n")
        report = judge_fit(file, lines("abcabcdef"))
        assert (report.forward.fits, report.reverse.exact) == (True, True)
        assert report.fit is Fit.UNDECIDED

    def test_an_exact_preimage_inside_the_result_is_not_applied_again(self) -> None:
        file = only(b"--- a/x\n+++ b/x\n@@ -4,6 +4,9 @@\n a\n b\n c\n+a\n+b\n+c\n d\n e\n f\n")
        report = judge_fit(file, lines("abcabcdef"))
        assert (report.forward.exact, report.reverse.fits) == (True, True)
        assert report.fit is Fit.UNDECIDED

    def test_a_result_before_the_end_of_the_file_is_seen(self) -> None:
        """A hunk without trailing context has its place at the end; its result may stand before it."""
        file = only(b"--- a/x\n+++ b/x\n@@ -3,3 +3,4 @@\n p\n q\n r\n+X\n")
        report = judge_fit(file, lines("..pqrXmpqr"))
        assert report.forward.fits
        assert report.fit is Fit.UNDECIDED


class TestHunksCutOutOfALongerDiff:
    """Their ``@@`` lines say where the result stands in a tree that has the whole diff."""

    FILE = only(b"--- a/x\n+++ b/x\n@@ -3,3 +9,3 @@\n c\n-d\n+D\n e\n")

    def test_a_tree_with_the_whole_diff_is_not_patched_again(self) -> None:
        """It has the preimage at its stated line too: the lines put in above repeat it."""
        report = judge_fit(self.FILE, lines("abcde" + "yxb" + "cDe"))
        assert (report.forward.exact, [place.offset for place in report.reverse.hunks]) == (True, [6])
        assert report.fit is Fit.UNDECIDED

    def test_a_result_where_the_whole_diff_has_it_beats_a_preimage_elsewhere(self) -> None:
        report = judge_fit(self.FILE, lines("cdeabyxz" + "cDe"))
        assert report.forward.fits
        assert report.fit is Fit.PRESENT

    def test_a_result_elsewhere_still_leaves_the_stated_line(self) -> None:
        assert judge_fit(self.FILE, lines("abcde" + "yxbz" + "cDe")).fit is Fit.APPLICABLE


class TestPreimagesAtSeveralPlaces:
    """They make a file no more patched than a single one does, where the result is away from its line."""

    def test_a_result_elsewhere_is_no_proof(self) -> None:
        report = judge_fit(CHANGE, lines("xcdefg-cdefg-cdEfg"))
        assert (report.forward.fits, report.reverse.fits) == (False, True)
        assert report.fit is Fit.UNDECIDED

    def test_a_result_at_its_stated_line_is(self) -> None:
        assert judge_fit(CHANGE, lines("abcdEfg-cdefg-cdefg")).fit is Fit.PRESENT

    def test_a_result_whose_preimage_is_nowhere_speaks_for_the_others(self) -> None:
        assert judge_fit(TWO, lines("-abcDe-lMn-cde-cde")).fit is Fit.PRESENT
