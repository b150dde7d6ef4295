"""Where the diffs for ``minicpmv4_6.py`` go, alone and over one another, and for which builds they are."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from patchctl.build import MatchRule
from patchctl.match import Direction, Fit, judge_fit, locate, splice
from patchctl.patch import Kind, Severity
from tests.entries.minicpm_entry import (
    AFFECTED,
    ENTRIES,
    FILE,
    GRID,
    SIZE,
    SLICES,
    WITH_FILE,
    chosen,
    diff_for,
    diff_named,
    entry,
    model_file,
    patched,
)
from tests.entries.mm_patched import file_diffs, registry
from tests.wheels import RELEASES

CASES = [(id_, release) for id_ in ENTRIES for release in AFFECTED[id_]]

CUT_FROM = {
    (SIZE, "0.22.diff"): "0.22.0",
    (GRID, "0.22.diff"): "0.24.0",
    (SLICES, "0.22.diff"): "0.22.0",
    (SLICES, "0.29.diff"): "0.29.0",
    (SLICES, "0.30.diff"): "0.30.0",
}
"""Each diff, and the release it was cut from."""

FAR = 300
"""Lines of offset from which status warns."""


@pytest.mark.parametrize("id_", ENTRIES)
def test_the_entries_are_sound_and_their_diffs_are_those_they_state(id_: str) -> None:
    found = entry(id_)
    severity = Severity.WRONG_OUTPUT if id_ == GRID else Severity.CRASH

    assert registry().problems_of(id_) == ()
    assert (found.kind, found.severity, found.default) == (Kind.BACKPORT, severity, True)
    assert {(id_, it.diff) for it in found.variants} == {cut for cut in CUT_FROM if cut[0] == id_}
    for variant in found.variants:
        assert b"\nApplied-Upstream: 0." in registry().read_diff(found, variant)
    assert found.signal is None
    assert found.avoid


@pytest.mark.parametrize("id_", ENTRIES)
def test_none_needs_or_excludes_another(id_: str) -> None:
    assert (entry(id_).requires, entry(id_).conflicts, entry(id_).replaces) == ((), (), ())


@pytest.mark.parametrize("release", RELEASES)
def test_an_upstream_release_is_matched_exactly_where_it_has_the_fault(release: str) -> None:
    for id_ in ENTRIES:
        rule = MatchRule.RANGE if release in AFFECTED[id_] else MatchRule.NONE
        assert chosen(id_, release)[0] is rule


@pytest.mark.parametrize(
    ("build", "rules"),
    [
        ("0.22.0+rocm722", "label label label"),
        ("0.22.1+cu129", "label label label"),
        ("0.23.0+das.dtk2604", "label label label"),
        ("0.24.0+cpu", "label none label"),
        ("0.25.1+das185.dtk2604.torch2110.2608171710.g7b108a", "none none label"),
        ("0.28.1+dtk2604.torch2110.2609111625.ge8fe1b", "none none label"),
        ("0.31.0+cu130", "none none label"),
        ("0.32.0+cu130", "none none none"),
        # The file decides about builds of versions whose upstream has none.
        ("0.20.0+das.dtk2604", "none none none"),
        ("0.20.0+das.dtk2604.torch2100.2606041655.ge5a62f", "none none none"),
        ("0.18.1+das.dtk2604.torch2100.2606041655.ge5a62f", "none none none"),
        ("0.21.0+cu129", "none none none"),
        ("0.22.0+gb78dab.d20260621.maca3.5.3.20.torch2.8", "none none none"),
        ("0.25.1+empty", "none none none"),
        ("0.22.0rc1", "none none none"),
        ("0.34.0", "none none none"),
        ("dev", "none none none"),
    ],
)
def test_the_builds_they_are_for(build: str, rules: str) -> None:
    assert " ".join(chosen(id_, build)[0].value for id_ in ENTRIES) == rules


@pytest.mark.wheels
@pytest.mark.parametrize(("id_", "release"), CASES)
def test_every_hunk_has_one_place_and_comes_out_again_byte_for_byte(id_: str, release: str) -> None:
    diff, content = diff_for(id_, release), patched(release)
    match = locate(diff, content)

    assert diff.path == FILE
    assert match.fits, match
    assert match.largest_offset <= FAR
    result = splice(diff, content, match)
    assert result is not None
    compile(result, FILE, "exec", dont_inherit=True)
    assert judge_fit(diff, content).fit is Fit.APPLICABLE
    assert judge_fit(diff, result).fit is Fit.PRESENT
    assert splice(diff, result, locate(diff, result, Direction.REVERSE)) == content


@pytest.mark.wheels
@pytest.mark.parametrize(("id_", "name"), CUT_FROM)
def test_each_diff_is_exact_on_the_release_it_was_cut_from(id_: str, name: str) -> None:
    release = CUT_FROM[id_, name]

    assert diff_for(id_, release) == diff_named(id_, name)
    assert locate(diff_named(id_, name), patched(release)).exact


@pytest.mark.wheels
def test_the_file_is_in_no_release_before_0_22_0() -> None:
    assert tuple(release for release in RELEASES if model_file(release) is not None) == WITH_FILE


@pytest.mark.wheels
@pytest.mark.parametrize(("id_", "name"), CUT_FROM)
def test_no_diff_fits_a_release_that_its_range_leaves_out(id_: str, name: str) -> None:
    for release in WITH_FILE:
        if release not in AFFECTED[id_]:
            assert judge_fit(diff_named(id_, name), patched(release)).fit is Fit.CONFLICT


def subsets(release: str) -> Iterator[tuple[str, ...]]:
    """Yield every choice, in every order, of the entries that a release has."""
    affected = [id_ for id_ in ENTRIES if release in AFFECTED[id_]]
    for size in range(len(affected) + 1):
        yield from itertools.permutations(affected, size)


@pytest.mark.wheels
@pytest.mark.parametrize("release", AFFECTED[SLICES])
def test_every_choice_in_every_order_gives_the_same_file_and_comes_out_in_every_order(release: str) -> None:
    results: dict[frozenset[str], bytes] = {}
    for ids in subsets(release):
        result = patched(release, ids)
        compile(result, FILE, "exec", dont_inherit=True)
        assert results.setdefault(frozenset(ids), result) == result
        for id_ in ENTRIES:
            if release in AFFECTED[id_]:
                fit = judge_fit(diff_for(id_, release), result).fit
                assert fit is (Fit.PRESENT if id_ in ids else Fit.APPLICABLE)
        for id_ in ids:
            taken = splice(diff_for(id_, release), result, locate(diff_for(id_, release), result, Direction.REVERSE))
            assert taken == patched(release, [other for other in ids if other != id_])
    assert len(set(results.values())) == len(results)


@pytest.mark.wheels
@pytest.mark.parametrize("release", RELEASES)
def test_the_net_changes_other_files(release: str) -> None:
    assert FILE not in {diff.path for diff in file_diffs(release)}
