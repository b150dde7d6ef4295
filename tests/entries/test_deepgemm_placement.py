"""What ``vllm-deepgemm-toolchain-gate`` says, which builds get it, and where its diff goes in the released wheels."""

from __future__ import annotations

import ast
import builtins
import dis
import re
import types
import warnings
import zipfile
from collections.abc import Iterator

import pytest

from patchctl.build import MatchRule, choose, parse_build
from patchctl.match import Direction, Fit, judge_fit, locate, splice
from patchctl.model import FixRole, sha256_hex
from patchctl.patch import Kind, Severity
from tests.entries.deepgemm_gate import ADDED, ENTRY, FILE, files
from tests.entries.grammar_entry import diffs_for, entry, registry
from tests.wheels import RELEASES, slim_wheel

LINES = {
    **{version: 83 for version in RELEASES if version < "0.24"},
    **{version: 90 for version in RELEASES if "0.24" <= version < "0.28"},
    "0.28.0": 101,
    "0.29.0": 101,
    "0.30.0": 106,
    "0.31.0": 106,
    "0.32.0": 107,
    "0.33.0": 109,
}
"""The line of the hunk's first context line in each release."""

DCU_0_18 = ("0.18.1+das.dtk2604.torch2100.2606041655.ge5a62f", "0.18.1+das.dtk2604.hy3")


def _rule(build: str) -> MatchRule:
    _, outcome = choose([variant.rule for variant in entry(ENTRY).variants], parse_build(build))
    assert not outcome.tie
    return outcome.rule


def test_the_entry_is_sound_and_its_diff_is_the_one_it_states() -> None:
    found = entry(ENTRY)
    assert registry().problems_of(ENTRY) == ()
    assert (found.kind, found.severity, found.default) == (Kind.CONTAINMENT, Severity.CRASH, True)
    assert {variant.diff for variant in found.variants} == {"0.19.1.diff"}
    for variant in found.variants:
        assert sha256_hex(registry().read_diff(found, variant)) == variant.sha256


@pytest.mark.parametrize("release", RELEASES)
def test_every_upstream_release_is_matched_by_its_range(release: str) -> None:
    assert _rule(release) is MatchRule.RANGE


@pytest.mark.parametrize(
    ("build", "rule"),
    [
        *[(build, MatchRule.EXACT) for build in DCU_0_18],
        ("0.20.0+das.dtk2604", MatchRule.LABEL),
        ("0.25.1+das185.dtk2604.torch2110.2608171710.g7b108a", MatchRule.LABEL),
        ("0.28.1+dtk2604.torch2110.2609111625.ge8fe1b", MatchRule.LABEL),
        ("0.20.2+cu129", MatchRule.LABEL),
        ("0.33.0+cu130", MatchRule.LABEL),
        ("0.22.0+rocm722", MatchRule.LABEL),
        ("0.30.0+cpu", MatchRule.LABEL),
        ("0.25.1+empty", MatchRule.NONE),
        ("0.22.0+gb78dab.d20260621.maca3.5.3.20.torch2.8", MatchRule.NONE),
        ("0.20.0+acme.7", MatchRule.NONE),
        ("0.18.1", MatchRule.NONE),
        ("0.19.0", MatchRule.NONE),
        ("0.33.1", MatchRule.NONE),
        ("0.34.0", MatchRule.NONE),
    ],
)
def test_the_builds_it_is_for(build: str, rule: MatchRule) -> None:
    assert _rule(build) is rule


def test_nothing_upstream_is_taken_for_a_fix() -> None:
    roles = {fix.ref.rpartition("#")[2]: fix.role for fix in entry(ENTRY).fixes}
    assert roles == {"49051": FixRole.REJECTED, "58073": FixRole.RELATED}
    assert all(fix.evidence == () for fix in entry(ENTRY).fixes)


def test_it_can_be_avoided_by_the_setting_or_by_the_toolkit() -> None:
    setting, toolkit = entry(ENTRY).avoid
    assert dict(setting.env) == {"VLLM_USE_DEEP_GEMM": "0"}
    assert toolkit.args == ()
    assert all(avoid.when and avoid.cost for avoid in (setting, toolkit))


def test_the_diff_says_what_it_is() -> None:
    head = registry().read_diff(entry(ENTRY), entry(ENTRY).variants[0]).partition(b"\n---\n")[0].decode()
    for field in ("Description", "Origin", "Forwarded", "Applied-Upstream"):
        assert re.search(rf"^{field}: \S", head, re.MULTILINE)


def test_the_diff_takes_no_line_away_and_has_context_on_both_sides() -> None:
    (diff,) = diffs_for("0.20.0", ENTRY)
    (hunk,) = diff.hunks
    assert (diff.path, hunk.leading, hunk.trailing) == (FILE, 3, 3)
    assert not [line for line in hunk.body if line.startswith(b"-")]


@pytest.mark.wheels
@pytest.mark.parametrize("version", RELEASES)
def test_it_goes_in_at_one_place_compiles_and_comes_out_byte_for_byte(version: str) -> None:
    (diff,) = diffs_for(version, ENTRY)
    before, after = files(version, patched=False)[FILE], files(version, patched=True)[FILE]
    match = locate(diff, before)
    assert judge_fit(diff, before).fit is Fit.APPLICABLE
    assert [(place.line, place.offset) for place in match.hunks] == [(LINES[version], LINES[version] - 83)]
    assert before.count(b"".join(diff.hunks[0].old_lines)) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile(after, FILE, "exec", dont_inherit=True)
    assert judge_fit(diff, after).fit is Fit.PRESENT
    assert splice(diff, after, locate(diff, after, Direction.REVERSE)) == before


@pytest.mark.wheels
def test_0_18_1_has_the_same_lines() -> None:
    with zipfile.ZipFile(slim_wheel("0.18.1")) as archive:
        before = archive.read(FILE)
    (diff,) = diffs_for(DCU_0_18[0], ENTRY)
    assert locate(diff, before).exact
    assert judge_fit(diff, before).fit is Fit.APPLICABLE


@pytest.mark.wheels
@pytest.mark.parametrize("version", RELEASES)
def test_the_original_function_stays_as_it_is_below_the_cache(version: str) -> None:
    before, after = (_function(files(version, patched=patched)[FILE]) for patched in (False, True))
    assert ast.unparse(after.body) == ast.unparse(before.body)  # type: ignore[arg-type]
    assert [ast.unparse(it) for it in before.decorator_list] == ["functools.cache"]
    assert [ast.unparse(it) for it in after.decorator_list] == ["functools.cache", ADDED[1]]


@pytest.mark.wheels
@pytest.mark.parametrize("version", RELEASES)
def test_every_global_name_of_the_new_functions_is_defined_before_they_are_used(version: str) -> None:
    patched = files(version, patched=True)[FILE]
    tree = ast.parse(patched)
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert [names.count(name) for name in ADDED] == [1, 1]
    assert names.index(ADDED[0]) < names.index(ADDED[1]) < names.index("is_deep_gemm_supported")
    known = {*_top_level_names(tree), *dir(builtins)}
    added = [it for it in _codes(compile(patched, FILE, "exec")) if it.co_name in ADDED]
    loads = {it.argval for code in added for deep in _codes(code) for it in dis.get_instructions(deep) if _global(it)}
    assert {"os", "envs", "logger", "functools", "current_platform"} <= loads <= known


def _function(source: bytes) -> ast.FunctionDef:
    (found,) = (node for node in ast.parse(source).body if getattr(node, "name", "") == "is_deep_gemm_supported")
    assert isinstance(found, ast.FunctionDef)
    return found


def _global(instruction: dis.Instruction) -> bool:
    return "GLOBAL" in instruction.opname


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a code object and all those inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _top_level_names(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
