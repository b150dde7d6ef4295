"""What holds for any contents, any drift and any damage: the oracles of ``tests/fuzz`` on generated cases.

The budget is that of a test suite; ``LONG_TESTS=1`` in the environment makes it a long run.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from patchctl.diff import ChangeKind, FileDiff, parse_diff
from patchctl.errors import DiffError
from patchctl.match import Fit, FitReport, judge_fit, locate, splice
from tests.diffs import split, unified
from tests.fuzz.oracles import (
    check_content,
    check_diff,
    check_drift,
    check_names,
    check_shift,
    check_sides,
    occurrences,
)
from tests.test_diff_probes import FORMS, GIT, MAIL, PLAIN, PROSE, WHOLE, Works
from tests.test_diff_properties import MUTATION, mutated
from tests.test_match_differential import git, gnu, needs_git, needs_patch

LONG = bool(os.environ.get("LONG_TESTS"))
TOO_MUCH = [HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much, HealthCheck.too_slow]


def budget(few: int, many: int) -> settings:
    return settings(max_examples=many if LONG else few, deadline=None, suppress_health_check=TOO_MUCH)


ROW = st.sampled_from([b"a", b"b", b"c", b"", b" ", b"\r", b"x\r", b"a\rb", b"\x00", b"\xff\xfe", b"\x0c\x85", b"-- d"])
REPEATING = st.lists(ROW, max_size=30)
DISTINCT = st.lists(st.integers(0, 400).map(lambda number: b"row %d" % number), max_size=40, unique=True)
TWINS = st.builds(
    lambda rows, between, more: [*rows, *between, *rows, *more],
    st.lists(st.integers(0, 20).map(lambda number: b"twin %d" % number), min_size=3, max_size=12),
    st.lists(st.integers(0, 20).map(lambda number: b"between %d" % number), max_size=6),
    st.lists(ROW, max_size=4),
)
"""A run of lines that stands twice."""
END = st.sampled_from([b"\n", b"\n", b""])
CHANGES = st.lists(
    st.tuples(st.integers(0, 100), st.sampled_from(["drop", "put", "change", "double", "crlf"])), min_size=1, max_size=6
)
Changes = list[tuple[int, str]]


def joined(rows: list[bytes], end: bytes) -> bytes:
    return b"\n".join(rows) + end if rows else b""


def changed(rows: list[bytes], changes: Changes, words: str = "new") -> list[bytes]:
    """``rows`` with lines dropped, put in, changed, doubled, or given another line end."""
    out = list(rows)
    for count, (at, what) in enumerate(changes):
        place = at % (len(out) + 1)
        word = f"{words} {count}".encode()
        if what == "put":
            out.insert(place, word)
        elif place < len(out):
            row = out[place]
            other = row.removesuffix(b"\r") if row.endswith(b"\r") else row + b"\r"
            out[place : place + 1] = {"drop": [], "change": [word], "double": [row, row], "crlf": [other]}[what]
    return out


def read(old: bytes, new: bytes, context: int = 3) -> FileDiff | None:
    """The diff between them, or None where there is none to have."""
    try:
        (file,) = parse_diff(unified(old, new, "x", context=context))
    except DiffError as error:
        assert error.problem.code == ("empty" if old == new else "no-context")  # noqa: PT017
        return None
    return file


@budget(200, 6_000)
@given(REPEATING | TWINS | DISTINCT, CHANGES, END, END, st.integers(1, 4))
def test_apply_and_revert_is_the_identity(
    rows: list[bytes], changes: Changes, end: bytes, other: bytes, context: int
) -> None:
    old, new = joined(rows, end), joined(changed(rows, changes), other)
    file = read(old, new, context)
    if file is not None:
        check_sides(file, old, new)


@budget(200, 6_000)
@given(DISTINCT, CHANGES, END, END, st.integers(1, 4))
def test_where_no_line_repeats_before_is_applicable_and_after_is_present(
    rows: list[bytes], changes: Changes, end: bytes, other: bytes, context: int
) -> None:
    changes = [(at, what) for at, what in changes if what != "double"]
    old, new = joined(rows, end), joined(changed(rows, changes), other)
    file = read(old, new, context)
    if file is not None:
        assert judge_fit(file, old).fit is Fit.APPLICABLE
        assert judge_fit(file, new).fit is Fit.PRESENT


def both_sides_are_there(file: FileDiff, report: FitReport) -> bool:
    """Both directions fit, and it is not so that one alone has its stated lines, away from the other's place."""
    if not (report.forward.fits and report.reverse.fits):
        return False
    if report.forward.exact == report.reverse.exact:
        return True
    exact_is_old = report.forward.exact
    for hunk, here, there in zip(file.hunks, report.forward.hunks, report.reverse.hunks, strict=True):
        assert here.line is not None
        assert there.line is not None
        old = set(range(here.line, here.line + len(hunk.old_lines)))
        new = set(range(there.line, there.line + len(hunk.new_lines)))
        if (old <= new) if exact_is_old else (new <= old):
            return True
    return False


@budget(300, 10_000)
@given(st.text("abc", max_size=14), st.text("abc", max_size=14), st.integers(1, 3))
@example("aab", "ab", 1)
@example("abab", "ababab", 2)
def test_undecided_on_its_own_base_is_exactly_where_both_sides_are_there(old: str, new: str, context: int) -> None:
    before, after = (b"".join(b"%c\n" % letter for letter in text.encode()) for text in (old, new))
    file = read(before, after, context)
    if file is None:
        return
    for content, good in ((before, Fit.APPLICABLE), (after, Fit.PRESENT)):
        report = judge_fit(file, content)
        assert report.fit is (Fit.UNDECIDED if both_sides_are_there(file, report) else good)


@budget(200, 6_000)
@given(REPEATING | TWINS | DISTINCT, CHANGES, st.integers(0, 30), st.integers(0, 30), st.integers(1, 4))
def test_lines_above_and_below_move_the_places_and_nothing_else(
    rows: list[bytes], changes: Changes, above: int, below: int, context: int
) -> None:
    old, new = joined(rows, b"\n"), joined(changed(rows, changes), b"\n")
    file = read(old, new, context)
    if file is None:
        return
    pads = [
        b"".join(b"%s %d\n" % (word, number) for number in range(count))
        for word, count in ((b"above", above), (b"below", below))
    ]
    fits = check_shift(file, old, new, *pads)
    if all(occurrences(hunk.old_lines, split(old)) == 1 and hunk.trailing for hunk in file.hunks):
        assert fits or (above and file.hunks[0].old_start == 1)


@budget(200, 6_000)
@given(REPEATING | TWINS | DISTINCT, CHANGES, CHANGES, CHANGES, END, st.integers(1, 4))
def test_on_any_drifted_file_places_are_true_and_nothing_goes_in_twice(
    rows: list[bytes], changes: Changes, drift: Changes, later: Changes, end: bytes, context: int
) -> None:
    old, new = joined(rows, end), joined(changed(rows, changes), end)
    file = read(old, new, context)
    if file is not None:
        for side in (rows, changed(rows, changes)):
            check_content(file, joined(changed(changed(side, drift, "drift"), later, "later"), end))


@budget(200, 10_000)
@given(st.binary(max_size=60).map(lambda data: bytes(byte if byte < 250 else 255 for byte in data)))
@example(b"abcde\xffabxcde\xffaabcde")
def test_text_of_few_letters_is_judged_right(data: bytes) -> None:
    check_drift(data)


SEEDS = [GIT, PLAIN, MAIL + GIT + b"-- \n2.39.5\n"] + [probe.diff for probe in [*FORMS, *WHOLE, *PROSE]]


@budget(400, 20_000)
@given(st.sampled_from(SEEDS), st.lists(MUTATION, min_size=1, max_size=4), st.integers(0, 2))
def test_a_damaged_diff_is_refused_or_means_what_it_says(
    data: bytes, mutations: list[tuple[int, int, int, bytes]], strip: int
) -> None:
    for mutation in mutations:
        data = mutated(data, *mutation)
    check_diff(data, strip)


NAME = st.text(max_size=12) | st.sampled_from(["x.py", "d/e.py", "x y", "a b/a b", "..", "./x", "x.pth", ".git/x"])


@budget(200, 10_000)
@given(NAME, NAME, st.integers(0, 7))
def test_a_name_is_refused_or_harmless_and_the_one_the_diff_gives(first: str, second: str, flags: int) -> None:
    pair = [name.encode("utf-8", "surrogatepass") for name in (first, second)]
    check_names(b"\n".join([*pair, bytes([flags])]))


WORKS = [probe for probe in [*FORMS, *WHOLE, *PROSE] if isinstance(probe, Works)]


@pytest.mark.parametrize("probe", WORKS, ids=lambda probe: probe.intent)
def test_the_good_probes_mean_the_same_to_a_second_reader(probe: Works) -> None:
    assert check_diff(probe.diff, probe.strip)


@needs_git
@needs_patch
@budget(60, 2_000)
@given(REPEATING | TWINS | DISTINCT, CHANGES, st.lists(MUTATION, min_size=1, max_size=2))
def test_what_a_damaged_diff_makes_is_what_git_or_patch_make_of_it(
    tmp_path: Path, rows: list[bytes], changes: Changes, mutations: list[tuple[int, int, int, bytes]]
) -> None:
    old, new = joined(rows, b"\n"), joined(changed(rows, changes), b"\n")
    diff = unified(old, new, "f")
    for mutation in mutations:
        diff = mutated(diff, *mutation)
    try:
        files = parse_diff(diff)
    except DiffError:
        return
    assume(len(files) == 1 and files[0].path == "f" and files[0].kind is ChangeKind.MODIFY)
    match = locate(files[0], old)
    if not match.exact:
        return
    made = splice(files[0], old, match)
    by_git, by_gnu = git(tmp_path / "git", old, diff), gnu(tmp_path / "gnu", old, diff)
    # both may refuse what we take (a hunk tied to an end, a name), but what they make is what we make
    assert by_git in {made, None}
    assert by_gnu in {made, None}
