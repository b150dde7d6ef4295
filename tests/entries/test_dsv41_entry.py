"""``vllm-dsv41-cudagraph-uniform-batch``: its builds, where its diff goes in each release, and what its fix needs."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from patchctl.build import MatchRule, choose, claims, parse_build
from patchctl.evidence import FixFinding, FixStatus, judge_fixes
from patchctl.match import Direction, Fit, judge_fit, locate, splice
from patchctl.model import FixRole
from patchctl.patch import Kind, Severity
from tests.entries.dsv41_code import ENTRY
from tests.entries.grammar_entry import diffs_for, entry, patched_files, registry, wheel_files
from tests.entries.mm_code import definitions
from tests.entries.mm_patched import release_files
from tests.running import Desk, tree
from tests.wheels import RELEASES

MODEL = "vllm/models/deepseek_v41/"
COMPRESSOR, FLASHINFER, FLASHMLA, SPARSE = (
    MODEL + name for name in ("compressor.py", "nvidia/flashinfer_sparse.py", "nvidia/flashmla.py", "sparse_mla.py")
)

FITTING = {
    "0.31.0": (0, 0, 0, 0),
    "0.32.0": (4, 0, 0, 0),
    "0.33.0": (16, 0, 1, 35),
}
"""Releases that have the fault and the API of its repair, and the largest offset in each file, in the order above."""

LATER_V32 = "FlashInferMLASparseTRTLLMMetadataBuilder"
V32_FILE = "vllm/v1/attention/backends/mla/flashinfer_mla_sparse.py"


def test_it_is_taken_by_name_only_and_both_variants_have_its_one_diff() -> None:
    found = entry(ENTRY)

    assert registry().problems_of(ENTRY) == ()
    assert (found.kind, found.severity, found.default) == (Kind.BACKPORT, Severity.CRASH, False)
    assert {variant.diff for variant in found.variants} == {"0.31.diff"}
    for variant in found.variants:
        registry().read_diff(found, variant)


@pytest.mark.parametrize("release", RELEASES)
def test_the_releases_it_is_for(release: str) -> None:
    assert match_of(release) is (MatchRule.RANGE if release in FITTING else MatchRule.NONE)


@pytest.mark.parametrize(
    ("build", "rule"),
    [
        ("0.31.0+das.dtk2604", MatchRule.LABEL),
        ("0.31.1+dtk2604.torch2110.2611111625.ge8fe1b", MatchRule.LABEL),
        ("0.32.0+cu129", MatchRule.LABEL),
        ("0.33.0+rocm722", MatchRule.LABEL),
        ("0.32.1rc1.dev120", MatchRule.RANGE),
        ("0.32.1rc1.dev120+g1a2b3c4d5", MatchRule.NONE),
        ("0.31.0+empty", MatchRule.NONE),
        ("0.31.0+acme.7", MatchRule.NONE),
        ("0.30.0+das.dtk2604", MatchRule.NONE),
        ("0.31.0rc1", MatchRule.NONE),
        ("0.33.1", MatchRule.NONE),
        ("0.34.0", MatchRule.NONE),
    ],
)
def test_the_builds_it_is_for(build: str, rule: MatchRule) -> None:
    assert match_of(build) is rule


def match_of(build: str) -> MatchRule:
    _, outcome = choose([variant.rule for variant in entry(ENTRY).variants], parse_build(build))
    assert not outcome.tie
    return outcome.rule


@pytest.mark.wheels
@pytest.mark.parametrize("release", RELEASES)
def test_where_the_diff_goes_in_each_release(release: str) -> None:
    released = wheel_files(release)
    fits = tuple(judge_fit(diff, released.get(diff.path)).fit for diff in diffs_for("0.31.0", ENTRY))

    assert [diff.path for diff in diffs_for("0.31.0", ENTRY)] == [COMPRESSOR, FLASHINFER, FLASHMLA, SPARSE]
    if release in FITTING:
        assert set(fits) == {Fit.APPLICABLE}
    elif release == "0.30.0":
        # It has the builders, but neither the question nor its answer: an import of the answer would end the server.
        assert fits == (Fit.APPLICABLE, Fit.CONFLICT, Fit.APPLICABLE, Fit.APPLICABLE)
        assert "max_decode_query_len" not in definitions(
            release, "vllm/v1/attention/backend.py", ("max_decode_query_len",), {}
        )
    else:
        assert not [path for path in release_files(release) if path.startswith(MODEL)]
        assert set(fits) == {Fit.MISSING}


@pytest.mark.wheels
@pytest.mark.parametrize(("release", "offsets"), FITTING.items())
def test_it_goes_in_at_one_place_compiles_and_comes_out_byte_for_byte(release: str, offsets: tuple[int, ...]) -> None:
    released, patched = wheel_files(release), patched_files(release, ENTRY)
    diffs = diffs_for(release, ENTRY)

    assert tuple(locate(diff, released[diff.path]).largest_offset for diff in diffs) == offsets
    for diff in diffs:
        before, after = released[diff.path], patched[diff.path]
        assert all(before.count(b"".join(hunk.old_lines)) == 1 for hunk in diff.hunks)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            compile(after, diff.path, "exec", dont_inherit=True)
        assert judge_fit(diff, after).fit is Fit.PRESENT
        assert splice(diff, after, locate(diff, after, Direction.REVERSE)) == before
        assert b"AttentionCGSupport.ALWAYS" in before
        assert b"AttentionCGSupport.ALWAYS" not in after
    assert {path for path in released if released[path] != patched[path]} == {diff.path for diff in diffs}


def test_every_hunk_has_context_on_both_sides_and_begins_with_a_line_that_is_not_blank() -> None:
    for diff in diffs_for("0.31.0", ENTRY):
        for hunk in diff.hunks:
            assert min(hunk.leading, hunk.trailing) >= 1
            assert next(line[1:] for line in hunk.body if line.startswith(b"+")).strip(), (diff.path, hunk.number)


def judge(files: Mapping[str, bytes], version: str) -> tuple[FixFinding, ...]:
    build = parse_build(version)
    return judge_fixes(
        [fix for fix in entry(ENTRY).fixes if fix.role is FixRole.FIXES],
        files=files,
        claimed=lambda fix: claims(fix.claimed, build),
        search=no_search,
    )


def no_search(pattern: str, text: str) -> bool:
    raise AssertionError("the entry's evidence is compared as tokens")


@pytest.mark.wheels
@pytest.mark.parametrize("release", RELEASES)
def test_no_release_has_the_fix_and_no_item_of_its_evidence_is_there_already(release: str) -> None:
    (finding,) = judge(wheel_files(release), release)

    assert finding.status is FixStatus.ABSENT
    # Two items a builder: what it declares, and its method.
    expected = ["fails", "gone"] if release >= "0.30" else ["gone", "gone"]
    assert [item.status.value for item in finding.items] == expected * 5


@pytest.mark.wheels
@pytest.mark.parametrize("release", FITTING)
def test_the_change_as_it_is_reported_would_prove_itself_in_a_release(release: str) -> None:
    (finding,) = judge(patched_files(release, ENTRY), "0.34.0")

    assert finding.status is FixStatus.PROVEN


@pytest.mark.wheels
@pytest.mark.slow
@pytest.mark.parametrize(("build", "rule"), [(None, "range"), ("0.31.0+das.dtk2604", "label")])
def test_it_waits_for_its_name_goes_in_and_comes_out(
    installed: Callable[..., Path], build: str | None, rule: str
) -> None:
    desk = Desk(site=installed("0.31.0", build=build))
    before = tree(desk.site)
    found = desk.json("status", ENTRY).patch(ENTRY)

    assert (found["match"]["rule"], found["verdict"], found["need"], found["action"]) == (
        rule,
        "applicable",
        "optional",
        "none",
    )
    assert desk.run("check", ENTRY).code == 0
    assert desk.run("apply", ENTRY).code == 0
    for path, content in patched_files("0.31.0", ENTRY).items():
        assert (desk.site / path).read_bytes() == content
    assert desk.json("status", ENTRY).patch(ENTRY)["verdict"] == "applied"
    assert {fix["status"] for fix in desk.json("status", ENTRY).patch(ENTRY)["fixes"]} == {"absent"}
    assert desk.run("revert", ENTRY).code == 0
    assert tree(desk.site) == before


@pytest.mark.wheels
@pytest.mark.parametrize("path", [COMPRESSOR, FLASHINFER, FLASHMLA, SPARSE])
def test_one_builder_that_is_left_is_no_proof(path: str) -> None:
    left = {**patched_files("0.33.0", ENTRY), path: wheel_files("0.33.0")[path]}
    gone = {name: data for name, data in patched_files("0.33.0", ENTRY).items() if name != path}

    assert [finding.status for finding in judge(left, "0.34.0")] == [FixStatus.ABSENT]
    assert FixStatus.PROVEN not in {finding.status for finding in judge(gone, "0.34.0")}


def test_nothing_is_claimed_of_the_fix_and_no_number_is_invented() -> None:
    (fix,) = (fix for fix in entry(ENTRY).fixes if fix.role is FixRole.FIXES)
    related = {fix.ref: fix for fix in entry(ENTRY).fixes if fix.role is FixRole.RELATED}

    assert "#" not in fix.ref
    assert (fix.claimed, fix.source) == (None, None)
    assert list(related) == [f"vllm-project/vllm: {LATER_V32} declares UNIFORM_BATCH", "vllm-project/vllm#52724"]
    assert all(fix.evidence == () for fix in related.values())


@pytest.mark.wheels
@pytest.mark.parametrize(
    ("release", "value"), [("0.31.0", "ALWAYS"), ("0.32.0", "UNIFORM_BATCH"), ("0.33.0", "UNIFORM_BATCH")]
)
def test_the_related_change_is_in_from_0_32_0(release: str, value: str) -> None:
    given = {
        "FlashInferMLASparseMetadataBuilder": object,
        "AttentionCGSupport": type("AttentionCGSupport", (), {"ALWAYS": "ALWAYS", "UNIFORM_BATCH": "UNIFORM_BATCH"}),
        "max_decode_query_len": lambda configuration: 6,
        "__name__": __name__,
    }
    builder = definitions(release, V32_FILE, (LATER_V32,), given)[LATER_V32]

    assert builder._cudagraph_support == value
    assert hasattr(builder, "get_varlen_cudagraph_max_query_len") == (value == "UNIFORM_BATCH")


def test_both_ways_to_avoid_it_are_whole_words_of_valid_json() -> None:
    speculative, compilation = entry(ENTRY).avoid

    assert speculative.args[0] == "--speculative-config"
    assert json.loads(speculative.args[1]) == {"enable_adaptive_verification": False}  # merged, the other keys stay
    assert "1,643 against 1,608" in (speculative.cost or "")
    assert compilation.args[0] == "--compilation-config"
    assert json.loads(compilation.args[1]) == {"cudagraph_mode": "FULL_DECODE_ONLY"}
    for way in (speculative, compilation):
        assert len(way.args) == 2
        assert "15 to 30 minutes at concurrency 96 to 128" in (way.when or "")
        assert way.cost


def test_the_diff_says_what_it_is() -> None:
    found = entry(ENTRY)
    head = registry().read_diff(found, found.variants[0]).partition(b"\n---\n")[0].decode()

    for field in ("Description", "Origin", "Forwarded", "Applied-Upstream"):
        assert f"\n{field}: " in f"\n{head}"
