"""Properties of the parser: nothing is lost, nothing crashes."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from patchctl.diff import FileDiff, parse_diff
from patchctl.errors import DiffError
from patchctl.match import Direction, locate, splice
from tests.diffs import unified
from tests.test_diff_probes import FORMS, GIT, MAIL, PLAIN, PROSE, WHOLE

LINES = st.sampled_from(
    [b"a", b"b", b"", b" ", b"-- x", b"++ y", b"@@ -1 +1 @@", b"\r", b"\x0c\x85", b"\xff\x00", b"\\ x"]
)
CONTENT = st.builds(
    lambda lines, end: b"\n".join(lines) + end, st.lists(LINES, max_size=30), st.sampled_from([b"", b"\n"])
)
SEEDS = [GIT, PLAIN, MAIL + GIT + b"-- \n2.39.5\n"] + [probe.diff for probe in [*FORMS, *WHOLE, *PROSE]]


def outcome(data: bytes, *, strip: int = 1) -> tuple[FileDiff, ...] | DiffError:
    """What the parser answers; anything else it raises fails the test."""
    try:
        return parse_diff(data, strip=strip)
    except DiffError as error:
        return error


@settings(deadline=None)
@given(CONTENT, CONTENT, st.integers(1, 4))
@example(b"a", b"a\n", 3)
@example(b"", b"a", 3)
@example(b"a\n", b"", 3)
def test_a_diff_that_is_accepted_gives_the_new_bytes_and_back(old: bytes, new: bytes, context: int) -> None:
    files = outcome(unified(old, new, "d/x.py", context=context))
    if isinstance(files, DiffError):
        # the only reasons such a diff may be refused for
        assert files.problem.code == ("empty" if old == new else "no-context")
        return
    (file,) = files
    forward = locate(file, old)
    assert forward.exact
    assert splice(file, old, forward) == new
    reverse = locate(file, new, Direction.REVERSE)
    assert reverse.exact
    assert splice(file, new, reverse) == old


MUTATION = st.tuples(st.integers(0, 4), st.integers(0, 10**6), st.integers(0, 10**6), st.binary(max_size=4))


def mutated(data: bytes, kind: int, first: int, second: int, extra: bytes) -> bytes:
    """One change at a place in ``data``: bytes put in, taken out or replaced, lines doubled or dropped."""
    lines = data.split(b"\n")
    at, line = first % (len(data) + 1), second % len(lines)
    if kind == 0:
        return data[:at] + extra + data[at:]
    if kind == 1:
        return data[:at] + data[at + 1 + second % 9 :]
    if kind == 2:
        return data[:at] + extra + data[at + len(extra) :]
    if kind == 3:
        return b"\n".join([*lines[:line], lines[line], *lines[line:]])
    return b"\n".join(lines[:line] + lines[line + 1 :])


@settings(deadline=None)
@given(st.sampled_from(SEEDS), st.lists(MUTATION, min_size=1, max_size=4), st.integers(0, 2))
def test_a_damaged_diff_raises_nothing_but_diff_errors(
    data: bytes, mutations: list[tuple[int, int, int, bytes]], strip: int
) -> None:
    for mutation in mutations:
        data = mutated(data, *mutation)
    files = outcome(data, strip=strip)
    if isinstance(files, DiffError):
        assert files.problem.message
        assert files.problem.line is None or 1 <= files.problem.line <= data.count(b"\n") + 1
        return
    assert files


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_arbitrary_bytes_raise_nothing_but_diff_errors(data: bytes) -> None:
    assert outcome(data)


@settings(deadline=None)
@given(st.sampled_from([GIT, PLAIN, GIT + GIT.replace(b"x.py", b"y.py")]), st.lists(MUTATION, min_size=1, max_size=3))
def test_no_line_that_looks_like_diff_text_is_ever_left_over(
    data: bytes, mutations: list[tuple[int, int, int, bytes]]
) -> None:
    for mutation in mutations:
        data = mutated(data, *mutation)
    files = outcome(data)
    if isinstance(files, DiffError):
        return
    taken = [line.removesuffix(b"\n") for file in files for hunk in file.hunks for line in hunk.body]
    looks = [line for line in data.split(b"\n") if line[:1] in {b"+", b"-", b"\\"} or line.startswith(b"@@")]
    bodies = [line for line in taken if line[:1] in {b"+", b"-", b"\\"}]
    hunks = sum(len(file.hunks) for file in files)
    names = 2 * sum(1 for file in files if file.hunks)
    # quilt's separator is the one such line that text on top may have
    separators = looks.count(b"---") - bodies.count(b"---")
    assert len(looks) - separators == len(bodies) + hunks + names
