"""Where the diff of ``vllm-grammar-compile-containment`` goes in the released wheels, and which builds get it."""

from __future__ import annotations

import warnings

import pytest

from patchctl.build import MatchRule, choose, parse_build
from patchctl.match import Direction, Fit, judge_fit, locate, splice
from patchctl.model import sha256_hex
from tests.entries.grammar_entry import AFFECTED, diffs_for, entry, patched_files, registry, variant_for, wheel_files

DCU = "0.20.0+das.dtk2604.torch2100.2606041655.ge5a62f"


@pytest.mark.parametrize("variant", range(len(entry().variants)))
def test_the_registry_states_the_hash_of_every_diff(variant: int) -> None:
    chosen = entry().variants[variant]
    assert sha256_hex(registry().read_diff(entry(), chosen)) == chosen.sha256


@pytest.mark.parametrize(
    ("build", "rule"),
    [
        ("0.20.0+das.dtk2604", MatchRule.EXACT),
        (DCU, MatchRule.LABEL),
        ("0.25.1+das185.dtk2604.torch2110.2608171710.g7b108a", MatchRule.LABEL),
        ("0.28.1+dtk2604.torch2110.2609111625.ge8fe1b", MatchRule.LABEL),
        ("0.20.2+cu129", MatchRule.LABEL),
        ("0.22.0+rocm722", MatchRule.LABEL),
        *[(version, MatchRule.RANGE) for version in AFFECTED],
        ("0.26.0", MatchRule.RANGE),  # the number proves nothing: the evidence decides
        ("0.33.0", MatchRule.RANGE),
        ("0.20.0+acme.7", MatchRule.NONE),
        ("0.25.1+empty", MatchRule.NONE),
        ("0.19.1", MatchRule.RANGE),
        ("0.34.0", MatchRule.NONE),
    ],
)
def test_the_builds_it_is_for(build: str, rule: MatchRule) -> None:
    _, outcome = choose([variant.rule for variant in entry().variants], parse_build(build))
    assert outcome.rule is rule
    assert not outcome.tie


def test_vendor_builds_get_the_diff_that_upstream_gets() -> None:
    variants = [variant_for(build) for build in ("0.20.0", "0.20.0+das.dtk2604", DCU)]
    assert len({variant.sha256 for variant in variants if variant is not None}) == 1


def test_every_hunk_has_context_on_both_sides_and_begins_with_a_line_that_is_not_blank() -> None:
    for diff in diffs_for("0.20.0"):
        for hunk in diff.hunks:
            assert min(hunk.leading, hunk.trailing) >= 1
            added = [line[1:] for line in hunk.body if line.startswith(b"+")]
            assert added[0].strip(), (diff.path, hunk.number)


@pytest.mark.wheels
@pytest.mark.parametrize("version", AFFECTED)
def test_it_goes_in_at_one_place_compiles_and_comes_out_byte_for_byte(version: str) -> None:
    released, patched = wheel_files(version), patched_files(version)
    for diff in diffs_for(version):
        before, after = released[diff.path], patched[diff.path]
        assert judge_fit(diff, before).fit is Fit.APPLICABLE, diff.path
        assert locate(diff, before).largest_offset < 300  # beyond that the engine warns
        assert all(before.count(b"".join(hunk.old_lines)) == 1 for hunk in diff.hunks)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            compile(after, diff.path, "exec", dont_inherit=True)
        assert judge_fit(diff, after).fit is Fit.PRESENT, diff.path
        assert splice(diff, after, locate(diff, after, Direction.REVERSE)) == before
    assert {path for path in released if released[path] != patched[path]} == {diff.path for diff in diffs_for(version)}


@pytest.mark.wheels
@pytest.mark.parametrize("version", ["0.26.0", "0.33.0"])
def test_it_does_not_go_into_releases_that_carry_the_fix(version: str) -> None:
    fits = [judge_fit(diff, wheel_files(version).get(diff.path)).fit for diff in diffs_for(version)]
    assert Fit.CONFLICT in fits
    assert Fit.PRESENT not in fits
