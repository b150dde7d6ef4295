"""What a parsed diff holds, and the limits. What is refused is in the probes, unidiff's account beside them."""

from __future__ import annotations

import pytest

from patchctl.diff import ChangeKind, FileDiff, Hunk, parse_diff
from patchctl.diff.source import LARGEST_DIFF, LONGEST_LINE
from patchctl.errors import DiffError

TWO_HUNKS = b"""Description: two hunks
--- a/vllm/x.py
+++ b/vllm/x.py
@@ -3,4 +3,5 @@ def f():
 c
-d
+D
+D2
 e
 f
@@ -20,3 +21,2 @@
 t
-u
 v
\\ No newline at end of file
"""
GIT_ADD = b"""diff --git a/x.sh b/x.sh
new file mode %s
index 0000000..814f4a4
--- /dev/null
+++ b/x.sh
@@ -0,0 +1,2 @@
+one
+two
"""


def only(data: bytes, *, strip: int = 1) -> FileDiff:
    (file,) = parse_diff(data, strip=strip)
    return file


def test_a_file_diff_holds_everything_the_diff_says() -> None:
    assert only(TWO_HUNKS) == FileDiff(
        path="vllm/x.py",
        kind=ChangeKind.MODIFY,
        line=2,
        hunks=(
            Hunk(
                number=1,
                old_start=3,
                new_start=3,
                old_lines=(b"c\n", b"d\n", b"e\n", b"f\n"),
                new_lines=(b"c\n", b"D\n", b"D2\n", b"e\n", b"f\n"),
                leading=1,
                trailing=2,
                line=4,
                body=(b" c\n", b"-d\n", b"+D\n", b"+D2\n", b" e\n", b" f\n"),
            ),
            Hunk(
                number=2,
                old_start=20,
                new_start=21,
                old_lines=(b"t\n", b"u\n", b"v"),
                new_lines=(b"t\n", b"v"),
                leading=1,
                trailing=1,
                line=11,
                body=(b" t\n", b"-u\n", b" v\n", b"\\ No newline at end of file\n"),
            ),
        ),
    )


@pytest.mark.parametrize(("word", "bits"), [(b"100644", 0o644), (b"100755", 0o755)])
def test_an_added_file_may_ask_for_a_mode(word: bytes, bits: int) -> None:
    file = only(GIT_ADD % word)
    assert (file.kind, file.mode, file.old_blob, file.new_blob) == (ChangeKind.ADD, bits, None, "814f4a4")


def test_a_plain_added_file_asks_for_no_mode() -> None:
    assert only(b"--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+one\n").mode is None


def test_blob_ids_come_from_the_index_line() -> None:
    diff = b"diff --git a/x b/x\nindex 7a8e6a3..94c4d4b 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
    file = only(diff)
    assert (file.old_blob, file.new_blob, file.mode) == ("7a8e6a3", "94c4d4b", None)


def test_the_new_starts_of_a_cut_diff_are_counted_from_its_old_ones() -> None:
    whole = only(TWO_HUNKS)
    cut = only(TWO_HUNKS.replace(b"+3,5", b"+33,5").replace(b"+21,2", b"+51,2"))
    assert [hunk.new_start for hunk in cut.hunks] == [hunk.new_start for hunk in whole.hunks]


def test_files_come_in_the_order_of_the_diff_with_their_lines() -> None:
    second = TWO_HUNKS.replace(b"x.py", b"a.py").replace(b"Description: two hunks\n", b"")
    assert [(file.path, file.line) for file in parse_diff(TWO_HUNKS + second)] == [("vllm/x.py", 2), ("vllm/a.py", 16)]


def test_a_diff_over_the_size_limit_is_refused_unread() -> None:
    with pytest.raises(DiffError, match="at most") as caught:
        parse_diff(b"#" + b"\n" * LARGEST_DIFF)
    assert caught.value.problem.code == "too-large"


def test_a_line_over_the_limit_is_refused_with_its_number() -> None:
    diff = b"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+%s\n"
    assert only(diff % (b"c" * (LONGEST_LINE - 2))).hunks[0].new_lines[1][:2] == b"cc"
    with pytest.raises(DiffError) as caught:
        parse_diff(diff % (b"c" * (LONGEST_LINE - 1)))
    assert (caught.value.problem.code, caught.value.problem.line) == ("line-too-long", 6)


def test_a_name_line_over_the_limit_is_refused() -> None:
    long = b"a/" + b"x" * 20000
    for diff in (b"--- %s\n+++ %s\n" % (long, long), b"diff --git %s %s\nnew file mode 100644\n" % (long, long)):
        with pytest.raises(DiffError) as caught:
            parse_diff(diff)
        assert caught.value.problem.code == "bad-name"


def test_a_message_quotes_only_the_beginning_of_a_long_line() -> None:
    with pytest.raises(DiffError) as caught:
        parse_diff(b"-" * 5000)
    assert len(caught.value.problem.message) < 300


def test_a_negative_strip_level_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="strip"):
        parse_diff(TWO_HUNKS, strip=-1)
