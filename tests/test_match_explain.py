"""Why a diff does not fit: the answers in values, from byte literals."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

from patchctl.diff import FileDiff, parse_diff
from patchctl.match import Direction, Fit, judge_fit
from patchctl.match.explain import EXPLAINED, Explanation, explain
from patchctl.match.line_ends import LineEnd
from patchctl.match.scope import headings
from patchctl.match.script import LINE_BYTES, RUN_LINES, Mark, Remark, ScriptLine, compare
from tests.diffs import split, unified

OLD = b"".join(b"line %d\n" % number for number in range(1, 41))
NEW = OLD.replace(b"line 10\n", b"line ten\n").replace(b"line 30\n", b"line thirty\nmore\n")


def one(diff: bytes) -> FileDiff:
    (file,) = parse_diff(diff)
    return file


DIFF = one(unified(OLD, NEW, "x.py"))


def explained(content: bytes | None, diff: FileDiff = DIFF) -> Explanation:
    return explain(diff, content, judge_fit(diff, content))


def states(found: Explanation) -> list[Fit]:
    return [hunk.state for hunk in found.hunks]


def shown(lines: tuple[ScriptLine, ...]) -> list[str]:
    signs = {Mark.EQUAL: " ", Mark.EXPECTED: "-", Mark.FOUND: "+", Mark.SKIPPED: "~"}
    return [f"{signs[line.mark]}{line.text.decode().rstrip()}{line.skipped or ''}" for line in lines]


class TestAHunk:
    def test_without_a_place_is_compared_with_the_nearest_one(self) -> None:
        first, second = explained(OLD.replace(b"line 9\n", b"line nine\n")).hunks
        assert (first.side, first.line, first.length, first.equal, first.size) == (Direction.FORWARD, 7, 7, 6, 7)
        assert shown(first.script)[:5] == [" line 7", " line 8", "-line 9", "+line nine", " line 10"]
        assert [line.line for line in first.script[:5]] == [7, 8, None, 9, 10]
        assert (second.state, second.before.line, second.script) == (Fit.APPLICABLE, 27, ())

    def test_says_what_it_does_and_where_the_diff_has_it(self) -> None:
        first, second = explained(b"").hunks
        assert first.change[3:5] == (b"-line 10\n", b"+line ten\n")
        assert (first.diff_line, first.stated, second.diff_line, second.stated) == (3, 7, 12, 27)

    def test_is_looked_for_where_its_neighbours_leave_room(self) -> None:
        # a better copy of its lines stands above the hunk before it
        copy = b"".join(b"line %d\n" % number for number in range(27, 34) if number != 31)
        content = copy + OLD.replace(b"line 28\nline 29\nline 30\n", b"line x\nline y\nline z\n")
        _, second = explained(content).hunks
        assert (second.line, second.beyond) == (33, False)

    def test_that_only_resembles_something_elsewhere_says_that_it_lies_beyond(self) -> None:
        moved = b"".join(split(OLD)[25:34]).replace(b"line 31\n", b"")
        first, second = explained(moved + b"".join(split(OLD)[:25])).hunks
        assert first.state is Fit.APPLICABLE
        assert (second.line, second.beyond) == (2, True)

    def test_of_which_no_line_is_there_says_what_was_expected(self) -> None:
        first, _ = explained(b"nothing\n").hunks
        assert (first.line, first.size) == (None, 7)
        assert {line.mark for line in first.script} == {Mark.EXPECTED}

    def test_is_compared_by_the_side_that_comes_nearer(self) -> None:
        _, second = explained(NEW.replace(b"line 31\n", b"line 31 edited\n")).hunks
        assert second.side is Direction.REVERSE
        assert shown(second.script)[3:7] == [" line thirty", " more", "-line 31", "+line 31 edited"]

    def test_that_stands_at_several_places_is_not_compared_but_located(self) -> None:
        source = b"class A:\n    def f(self):\n        x = 1\n\n\nclass B:\n    def f(self):\n        x = 1\n\n\n"
        diff = one(b"--- a/x.py\n+++ b/x.py\n@@ -20,3 +20,3 @@\n     def f(self):\n-        x = 1\n+        x = 2\n \n")
        (hunk,) = explained(source, diff).hunks
        assert (hunk.before.reason, hunk.before.candidates, hunk.script) == ("ambiguous", (2, 7), ())
        assert [(scope.line, scope.headings) for scope in hunk.scopes] == [
            (2, (b"class A:", b"def f(self):")),
            (7, (b"class B:", b"def f(self):")),
        ]

    def test_of_a_partial_state_says_whether_it_is_in(self) -> None:
        found = explained(OLD.replace(b"line 10\n", b"line ten\n"))
        assert states(found) == [Fit.PRESENT, Fit.APPLICABLE]
        assert (found.hunks[0].after.line, found.hunks[1].before.line) == (7, 27)

    def test_that_fits_both_ways_names_both_places(self) -> None:
        diff = one(b"--- a/x.py\n+++ b/x.py\n@@ -9,3 +9,3 @@\n a\n-b\n+c\n d\n")
        (hunk,) = explained(b"a\nb\nd\n\na\nc\nd\n", diff).hunks
        assert (hunk.state, hunk.before.line, hunk.after.line) == (Fit.UNDECIDED, 1, 5)

    def test_beyond_the_first_few_is_not_compared_and_counted(self) -> None:
        old = b"".join(b"%d\n" % number for number in range(EXPLAINED * 20))
        new = b"".join(b"!\n" if number % 10 == 5 else b"%d\n" % number for number in range(EXPLAINED * 20))
        diff = one(unified(old, new, "x.py"))
        found = explained(old.replace(b"6\n", b"six\n"), diff)
        assert (len(diff.hunks), found.left_out) == (2 * EXPLAINED, EXPLAINED)
        assert [bool(hunk.script) for hunk in found.hunks] == [True] * EXPLAINED + [False] * EXPLAINED


class TestAWholeFile:
    ADDED = one(b"--- /dev/null\n+++ b/x.py\n@@ -0,0 +1,3 @@\n+a\n+b\n+c\n")
    DELETED = one(b"--- a/x.py\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-a\n-b\n-c\n")

    @pytest.mark.parametrize("diff", [ADDED, DELETED])
    def test_shows_where_it_begins_to_differ(self, diff: FileDiff) -> None:
        assert shown(explained(b"a\nX\nc\nd\n", diff).whole) == ["-b", "+X", "~2"]
        assert shown(explained(b"a\nb\n", diff).whole) == ["-c"]
        assert shown(explained(b"a\nb\nc\nd\n", diff).whole) == ["+d"]

    def test_that_is_missing_needs_no_words(self) -> None:
        assert explained(None) == Explanation()


class TestLineEnds:
    def test_in_the_file_alone(self) -> None:
        found = explained(OLD.replace(b"\n", b"\r\n")).line_ends
        assert found is not None
        assert (found.side, found.diff, found.file) == (Direction.FORWARD, LineEnd.LF, LineEnd.CRLF)
        assert (found.crlf, found.lines, found.whole, found.places) == (40, 40, False, (7, 27))

    def test_in_the_diff_alone(self) -> None:
        diff = one(unified(OLD.replace(b"\n", b"\r\n"), NEW.replace(b"\n", b"\r\n"), "x.py"))
        found = explained(OLD, diff).line_ends
        assert found is not None
        assert (found.side, found.diff, found.file, found.crlf) == (Direction.FORWARD, LineEnd.CRLF, LineEnd.LF, 0)

    def test_of_a_file_that_mixes_them(self) -> None:
        found = explained(OLD.replace(b"\n", b"\r\n", 12)).line_ends
        assert found is not None
        assert (found.file, found.crlf, found.lines) == (LineEnd.MIXED, 12, 40)

    def test_of_a_change_that_is_in(self) -> None:
        found = explained(NEW.replace(b"\n", b"\r\n")).line_ends
        assert found is not None
        assert found.side is Direction.REVERSE

    @pytest.mark.parametrize("crlf_file", [True, False])
    @pytest.mark.parametrize("patched", [True, False])
    def test_of_a_whole_file_are_proven_by_its_blob(self, crlf_file: bool, patched: bool) -> None:
        ends = [(b"\n", b"\n"), (b"\n", b"\r\n")][:: 1 if crlf_file else -1]
        old, new = (OLD.replace(*ends[0]), NEW.replace(*ends[0]))
        diff = DIFF if crlf_file else one(unified(old, new, "x.py"))
        diff = diff._replace(old_blob=blob(old)[:10], new_blob=blob(new)[:10])
        content = (NEW if patched else OLD).replace(*ends[1])
        found = explained(content, diff).line_ends
        assert found is not None
        assert found.whole
        found = explained(content + content[-8:], diff).line_ends
        assert found is not None
        assert not found.whole

    def test_are_not_blamed_where_more_differs(self) -> None:
        found = explained(OLD.replace(b"line 9\n", b"line nine\n").replace(b"\n", b"\r\n"))
        assert found.line_ends is None
        assert found.hunks[0].line == 7
        remarks = {line.remark for line in found.hunks[0].script if line.text.startswith(b"line 8")}
        assert remarks == {Remark.LINE_END}

    def test_are_remarked_on_line_by_line(self) -> None:
        (line,) = [line for line in compare([b"a\n"], [b"a"], [(0, 0)], 1) if line.mark is Mark.FOUND]
        assert line.remark is Remark.LINE_END
        (line,) = [line for line in compare([b"a\n"], [b" a\n"], [(0, 0)], 1) if line.mark is Mark.FOUND]
        assert line.remark is Remark.WHITE_SPACE


def blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\x00" % len(content) + content).hexdigest()


class TestTheScript:
    def test_keeps_what_was_expected_together_before_what_was_found(self) -> None:
        pairs = [(0, 0), (1, 1), (2, 2)]
        assert shown(compare([b"a\n", b"b\n", b"c\n"], [b" a\n", b" b\n", b"c\n"], pairs, 1)) == [
            "-a",
            "-b",
            "+ a",
            "+ b",
            " c",
        ]

    def test_says_how_many_equal_lines_it_leaves_out(self) -> None:
        lines = [b"%d\n" % number for number in range(20)]
        pairs = [(number, number) for number in range(20) if number != 10]
        found = [*lines[:10], b"ten\n", *lines[11:]]
        assert shown(compare(lines, found, pairs, 1)) == [
            "~7", " 7", " 8", " 9", "-10", "+ten", " 11", " 12", " 13", "~6",
        ]  # fmt: skip

    def test_says_how_many_lines_of_a_long_run_it_leaves_out(self) -> None:
        lines = shown(compare([b"e\n"] * 100, [b"f\n"] * 50, [], 1))
        assert lines == ["-e"] * RUN_LINES + [f"~{100 - RUN_LINES}"] + ["+f"] * RUN_LINES + [f"~{50 - RUN_LINES}"]

    def test_is_never_longer_than_its_bound(self) -> None:
        many = [b"%d\n" % number for number in range(1000)]
        script = compare(many, [b"x\n" if number % 2 else many[number] for number in range(1000)], [], 1)
        pairs = [(number, number) for number in range(0, 1000, 2)]
        script = compare(many, [b"x\n" if number % 2 else many[number] for number in range(1000)], pairs, 1)
        assert len(script) == 121
        assert sum(line.skipped or 1 for line in script) == 1500

    def test_cuts_a_long_line_around_its_first_difference_and_says_how_much(self) -> None:
        expected, found = b"a" * 5000 + b"X" + b"b" * 5000 + b"\n", b"a" * 5000 + b"Y" + b"b" * 5000 + b"\n"
        for line in compare([expected], [found], [], 1):
            assert len(line.text) == LINE_BYTES
            assert b"X" in line.text or b"Y" in line.text
            assert line.cut_before + len(line.text) + line.cut_after == len(found)

    def test_never_cuts_through_a_letter(self) -> None:
        text = "é".encode() * 1000
        for line in compare([b"x" + text], [b"yy" + text], [], 1):
            line.text.decode()


class TestHeadings:
    SOURCE = split(
        b"import a\n\nclass A:\n    x = 1\n\n    # note\n    async def f(self):\n"
        b"        if x:\n            y\n\n    z = 2\n"
    )

    @pytest.mark.parametrize(
        ("line", "expected"),
        [
            (1, ()),
            (3, (b"class A:",)),
            (4, (b"class A:",)),
            (7, (b"class A:", b"async def f(self):")),
            (9, (b"class A:", b"async def f(self):")),
            (10, (b"class A:",)),
            (11, (b"class A:",)),
        ],
    )
    def test_are_those_around_the_line(self, line: int, expected: tuple[bytes, ...]) -> None:
        assert headings(self.SOURCE, line - 1) == expected

    def test_of_a_signature_over_several_lines_are_found(self) -> None:
        source = split(b"class A:\n    def f(\n        self,\n        x: int,\n    ) -> None:\n        y = x\n")
        assert headings(source, 5) == (b"class A:", b"def f(")

    def test_of_what_is_no_source_are_none(self) -> None:
        assert headings([b"\n", b"  \n"], 0) == ()
        assert headings([], 0) == ()


@pytest.mark.parametrize("source", [OLD, OLD + b"last", b"\n\n" + OLD])
def test_the_nearest_place_of_a_block_is_where_merge_file_would_look(source: bytes, tmp_path: Path) -> None:
    """A second opinion: git's three-way merge puts its conflict where we say that the block is nearest."""
    ours = b"new\n" * 17 + source.replace(b"line 10\n", b"line X\n")
    theirs = source.replace(b"line 10\n", b"line ten\n")
    (tmp_path / "ours").write_bytes(ours)
    (tmp_path / "base").write_bytes(source)
    (tmp_path / "theirs").write_bytes(theirs)
    command = ["git", "merge-file", "-p", "ours", "base", "theirs"]
    merged = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).stdout.split(b"\n")
    conflict = next(number for number, line in enumerate(merged, start=1) if line.startswith(b"<<<<<<<"))
    diff = one(unified(source, theirs, "x.py"))
    (hunk,) = explained(ours, diff).hunks
    (found,) = [line for line in hunk.script if line.mark is Mark.FOUND]
    assert found.line == conflict
