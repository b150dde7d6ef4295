"""What ``vllm-awq-batch-invariant`` says: builds, where its diffs go, and fixes; and that the releases bear it out."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping

import pytest

from patchctl.build import MatchRule, choose, claims, parse_build
from patchctl.evidence import FixFinding, FixStatus, judge_fix
from patchctl.match import Direction, Fit, judge_fit, locate, splice
from patchctl.model import Fix, FixRole, sha256_hex
from patchctl.patch import Kind, Patch, Severity
from tests.entries import grammar_entry
from tests.entries.awq_code import (
    ENTRY,
    LINEAR_FILE,
    NEW_FILE,
    OLD_FILE,
    QUANTIZATION,
    SERVED,
    awq_file,
    awq_source,
    imported,
    mode_module,
    parse,
)
from tests.entries.grammar_entry import diffs_for, patched_files, registry, variant_for, wheel_files
from tests.entries.mm_patched import read_release, release_files
from tests.wheels import RELEASES

DIFFS = {"0.20.diff": "0.20.0", "0.24.diff": "0.24.0", "0.29.diff": "0.29.0"}
"""Each diff, and the release it was cut from."""

DIRECT_CALL, OUT_OVERLOADS = "vllm-project/vllm#60479", "vllm-project/vllm#52231"

MODE_FOR_AWQ = "vllm-project/vllm#38670"

WITH_OUT_OVERLOADS = ("0.32.0", "0.33.0")


def entry() -> Patch:
    return grammar_entry.entry(ENTRY)


def diff_of(release: str) -> str:
    minor = int(release.split(".")[1])
    return "0.20.diff" if minor < 24 else "0.24.diff" if minor < 29 else "0.29.diff"


def match_of(build: str) -> tuple[MatchRule, str | None]:
    index, outcome = choose([variant.rule for variant in entry().variants], parse_build(build))
    assert not outcome.tie
    return outcome.rule, None if index is None else entry().variants[index].diff


def test_the_entry_is_sound_and_must_be_asked_for() -> None:
    found = entry()

    assert registry().problems_of(ENTRY) == ()
    assert (found.kind, found.severity, found.default) == (Kind.BACKPORT, Severity.NONDETERMINISM, False)
    assert found.signal is None, "it logs nothing"
    assert {variant.diff for variant in found.variants} == set(DIFFS)
    for variant in found.variants:
        assert sha256_hex(registry().read_diff(found, variant)) == variant.sha256


def test_avoiding_it_takes_the_compiler_away_and_not_the_graphs_alone() -> None:
    (avoid,) = entry().avoid

    assert avoid.args == ("--enforce-eager",)
    assert "VLLM_BATCH_INVARIANT=1" in (avoid.when or "")
    assert avoid.cost


@pytest.mark.parametrize("release", RELEASES)
def test_every_release_from_0_20_0_on_is_matched_by_its_range(release: str) -> None:
    expected = (MatchRule.NONE, None) if release == "0.19.1" else (MatchRule.RANGE, diff_of(release))
    assert match_of(release) == expected


@pytest.mark.parametrize(
    ("build", "rule", "diff"),
    [
        ("0.20.0+das.dtk2604", MatchRule.EXACT, "0.20.diff"),
        ("0.20.0+das.dtk2604.torch2100.2606041655.ge5a62f", MatchRule.LABEL, "0.20.diff"),
        ("0.25.1+das185.dtk2604.torch2110.2608171710.g7b108a", MatchRule.LABEL, "0.24.diff"),
        ("0.28.1+dtk2604.torch2110.2609111625.ge8fe1b", MatchRule.LABEL, "0.24.diff"),
        ("0.20.2+cu129", MatchRule.LABEL, "0.20.diff"),
        ("0.22.0+rocm722", MatchRule.LABEL, "0.20.diff"),
        ("0.33.0+cu129", MatchRule.LABEL, "0.29.diff"),
        ("0.30.0+cpu", MatchRule.LABEL, "0.29.diff"),
        ("0.18.1+das.dtk2604.torch2100.2606041655.ge5a62f", MatchRule.NONE, None),
        ("0.19.1+cu129", MatchRule.NONE, None),
        ("0.20.0+acme.7", MatchRule.NONE, None),
        ("0.25.1+empty", MatchRule.NONE, None),
        ("0.22.0+gb78dab.d20260621.maca3.5.3.20.torch2.8", MatchRule.NONE, None),
        ("0.33.1", MatchRule.NONE, None),
        ("0.34.0", MatchRule.NONE, None),
        ("dev", MatchRule.NONE, None),
    ],
)
def test_the_vendor_builds_it_is_for(build: str, rule: MatchRule, diff: str | None) -> None:
    assert match_of(build) == (rule, diff)


@pytest.mark.parametrize("diff", DIFFS)
def test_the_diffs_say_what_they_are(diff: str) -> None:
    variant = next(variant for variant in entry().variants if variant.diff == diff)
    head = registry().read_diff(entry(), variant).partition(b"\n---\n")[0].decode()

    for field in ("Description", "Origin", "Forwarded", "Applied-Upstream"):
        assert re.search(rf"^{field}: \S", head, re.MULTILINE)


@pytest.mark.wheels
@pytest.mark.parametrize("release", SERVED)
def test_it_goes_in_at_one_place_compiles_and_comes_out_byte_for_byte(release: str) -> None:
    (diff,) = diffs_for(release, ENTRY)
    path, _ = awq_file(release)
    before, after = (awq_source(release, patched=patched) for patched in (False, True))

    assert diff.path == path
    assert judge_fit(diff, before).fit is Fit.APPLICABLE
    assert locate(diff, before).largest_offset < 300  # beyond that status warns
    assert locate(diff, before).exact or release not in DIFFS.values()
    for hunk in diff.hunks:
        assert min(hunk.leading, hunk.trailing) >= 1
        assert before.count(b"".join(hunk.old_lines)) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile(after, diff.path, "exec", dont_inherit=True)
    assert judge_fit(diff, after).fit is Fit.PRESENT
    assert splice(diff, after, locate(diff, after, Direction.REVERSE)) == before


@pytest.mark.wheels
@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("diff", DIFFS)
def test_bytes_tell_the_two_files_apart_and_ranges_the_two_places_of_the_module(diff: str, release: str) -> None:
    """``auto_awq.py`` does not show where ``matmul_batch_invariant`` is: both diffs fit all releases that have it."""
    (parsed,) = diffs_for(DIFFS[diff], ENTRY)
    present = parsed.path in release_files(release)
    fits = present and judge_fit(parsed, read_release(release, parsed.path)).fit is Fit.APPLICABLE

    assert fits == (release in SERVED and parsed.path == awq_file(release)[0])
    assert (parsed.path == NEW_FILE) == (diff != "0.20.diff")


@pytest.mark.wheels
@pytest.mark.parametrize("release", SERVED)
def test_the_import_is_of_a_module_that_linear_has_imported_before_and_that_knows_no_layer(release: str) -> None:
    imports = imported(awq_source(release, patched=True))
    module, name = imports["matmul_batch_invariant"]
    source = read_release(release, module.replace(".", "/") + ".py")
    functions = {node.name: node for node in parse(source).body if isinstance(node, ast.FunctionDef)}

    assert (module, name) == (mode_module(release), "matmul_batch_invariant")
    assert [arg.arg for arg in functions[name].args.args] == ["a", "b"]
    assert module in {origin for origin, _ in imported(read_release(release, LINEAR_FILE)).values()}
    layers = {origin for origin, _ in imported(source).values() if "model_executor" in origin}
    assert layers <= {f"{module}_configs"}, "a circle of imports"


@pytest.mark.wheels
def test_0_19_1_has_an_awq_that_does_not_know_the_mode() -> None:
    assert b"VLLM_BATCH_INVARIANT" not in read_release("0.19.1", OLD_FILE)
    assert all(b"VLLM_BATCH_INVARIANT" in awq_source(release, patched=False) for release in SERVED)


def products(source: bytes) -> list[str]:
    """Return the matrix products of torch that classes for linear layers call."""
    classes = [node for node in parse(source).body if isinstance(node, ast.ClassDef) and "LinearMethod" in node.name]
    calls = [node for it in classes for node in ast.walk(it) if isinstance(node, ast.Call)]
    called = [ast.unparse(call.func) for call in calls]
    return [it for it in called if re.fullmatch(r"(torch|F|torch\.nn\.functional)\.(matmul|mm|bmm|addmm|linear)", it)]


def linear_methods(release: str, kind: str) -> Iterator[str]:
    """Yield the paths of the quantization files of AWQ or GPTQ; both have changed names."""
    pattern = rf"{QUANTIZATION}/(auto_)?{kind}(_marlin)?\.py"
    return (path for path in sorted(release_files(release)) if re.fullmatch(pattern, path))


@pytest.mark.wheels
@pytest.mark.parametrize("release", RELEASES)
def test_awq_has_one_product_to_replace_and_gptq_none(release: str) -> None:
    awq = {path: products(read_release(release, path)) for path in linear_methods(release, "awq")}
    gptq = {path: products(read_release(release, path)) for path in linear_methods(release, "gptq")}

    assert {path: found for path, found in awq.items() if found} == {awq_file(release)[0]: ["torch.matmul"]}
    assert len(gptq) == (2 if release < "0.22" else 1)
    assert not any(gptq.values())


def fix(ref: str) -> Fix:
    (found,) = (fix for fix in entry().fixes if fix.ref == ref)
    return found


def judge(ref: str, files: Mapping[str, bytes], release: str) -> FixFinding:
    claimed = claims(fix(ref).claimed, parse_build(release))
    return judge_fix(fix(ref), files=files, claimed=claimed, search=_search)


def _search(pattern: str, text: str) -> bool:
    raise AssertionError("the entry's evidence is compared as tokens")


def test_both_fixes_are_needed_and_nobody_claims_the_first_for_any_release() -> None:
    assert [it.ref for it in entry().fixes if it.role is FixRole.FIXES] == [DIRECT_CALL, OUT_OVERLOADS]
    assert not any(claims(fix(DIRECT_CALL).claimed, parse_build(release)) for release in RELEASES)
    claimed = [release for release in RELEASES if claims(fix(OUT_OVERLOADS).claimed, parse_build(release))]
    assert claimed == list(WITH_OUT_OVERLOADS)


@pytest.mark.wheels
@pytest.mark.parametrize("release", RELEASES)
def test_the_direct_call_is_in_no_release(release: str) -> None:
    assert judge(DIRECT_CALL, wheel_files(release), release).status is FixStatus.ABSENT


@pytest.mark.wheels
@pytest.mark.parametrize("release", SERVED)
def test_the_evidence_for_the_direct_call_would_see_it(release: str) -> None:
    """Judged are base bytes: the patched file, which has the call, stands for a release with it."""
    finding = judge(DIRECT_CALL, patched_files(release, ENTRY), release)
    assert finding.status is FixStatus.PROVEN, finding


@pytest.mark.wheels
@pytest.mark.parametrize("release", RELEASES)
def test_what_awq_relies_on_is_proven_from_0_20_0_on_and_retires_nothing(release: str) -> None:
    finding = judge(MODE_FOR_AWQ, wheel_files(release), release)

    assert finding.status is (FixStatus.PROVEN if release in SERVED else FixStatus.ABSENT), finding
    assert finding.fix.role is FixRole.RELATED


@pytest.mark.wheels
@pytest.mark.parametrize("release", RELEASES)
def test_the_out_overloads_are_proven_from_0_32_0_on(release: str) -> None:
    finding = judge(OUT_OVERLOADS, wheel_files(release), release)
    assert finding.status is (FixStatus.PROVEN if release in WITH_OUT_OVERLOADS else FixStatus.ABSENT), finding


@pytest.mark.wheels
@pytest.mark.parametrize("release", WITH_OUT_OVERLOADS)
def test_overloads_of_another_device_alone_are_no_proof(release: str) -> None:
    """The branch for XPU has the same four lines; without those of SM80 the bug is there."""
    path = mode_module(release).replace(".", "/") + ".py"
    line = b'_batch_invariant_LIB.impl("aten::mm.out", mm_out_batch_invariant, key)'
    content = wheel_files(release)[path]
    assert content.count(line) == 2
    finding = judge(OUT_OVERLOADS, {**wheel_files(release), path: content.replace(line, b"pass", 1)}, release)

    assert finding.status is FixStatus.CONTRADICTED


@pytest.mark.wheels
def test_overloads_that_a_vendor_brought_to_the_old_place_are_proof() -> None:
    new, old = (f"vllm/model_executor/{folder}/batch_invariant.py" for folder in ("determinism", "layers"))
    files = {old: wheel_files("0.32.0")[new]}

    assert judge(OUT_OVERLOADS, files, "0.28.1+dtk2604.torch2110.2609111625.ge8fe1b").status is FixStatus.PROVEN


@pytest.mark.wheels
@pytest.mark.parametrize("release", SERVED)
def test_its_diff_changes_no_evidence_but_that_of_the_call_it_brings(release: str) -> None:
    before, after = wheel_files(release), patched_files(release, ENTRY)
    for other in registry().entries:
        for it in other.fixes:
            if it.ref == DIRECT_CALL:
                continue
            claimed = claims(it.claimed, parse_build(release))
            statuses = [
                judge_fix(it, files=files, claimed=claimed, search=lambda p, t: bool(re.search(p, t))).status
                for files in (before, after)
            ]
            assert statuses[0] is statuses[1], it.ref


def test_vendor_builds_get_the_diff_that_upstream_gets() -> None:
    variants = [variant_for(build, ENTRY) for build in ("0.20.0", "0.20.0+das.dtk2604", "0.22.0+rocm722")]
    assert len({variant.sha256 for variant in variants if variant is not None}) == 1
