"""What ``vllm-mm-placeholder-degrade`` says: its builds, its fixes, its avoidance, and that its files bear it out."""

from __future__ import annotations

import re

import pytest

from patchctl.build import MatchRule, choose, claims, parse_build
from patchctl.evidence import FixStatus, files_named, judge_fixes
from patchctl.model import Fix, FixRole
from patchctl.patch import Kind, Severity
from tests.entries.mm_patched import entry, file_diffs, read_release, registry, release_files
from tests.wheels import RELEASES

MINICPM = "vllm/model_executor/models/minicpmv4_6.py"

VIDEO, SIZE, GRID, SLICES = range(4)
"""The four fixes in the order of the entry: #44509, #45244, #45918, max_slice_nums."""

FIRST = {"0.23.0": VIDEO, "0.24.0": SIZE, "0.25.0": GRID, "0.32.0": SLICES}
"""The release that has each of them first."""


def match_of(build: str) -> tuple[MatchRule, str | None]:
    variants = entry().variants
    index, outcome = choose([variant.rule for variant in variants], parse_build(build))
    return outcome.rule, None if index is None else variants[index].diff


def test_the_entry_is_sound_and_its_diffs_are_those_it_states() -> None:
    found = entry()

    assert registry().problems_of(found.id) == ()
    assert (found.kind, found.severity, found.default) == (Kind.CONTAINMENT, Severity.CRASH, True)
    assert {variant.diff for variant in found.variants} == {"0.19.1.diff", "0.20.diff", "0.27.diff"}
    for variant in found.variants:
        registry().read_diff(found, variant)


@pytest.mark.parametrize("release", RELEASES)
def test_every_upstream_release_is_matched_by_its_range(release: str) -> None:
    minor = int(release.split(".")[1])
    diff = "0.19.1.diff" if minor == 19 else "0.20.diff" if minor < 27 else "0.27.diff"

    assert match_of(release) == (MatchRule.RANGE, diff)


@pytest.mark.parametrize(
    ("build", "rule", "diff"),
    [
        ("0.20.0+das.dtk2604", MatchRule.EXACT, "0.20.diff"),
        ("0.20.0+DAS-dtk2604", MatchRule.EXACT, "0.20.diff"),
        ("0.20.0+das.dtk2604.torch2100.2606041655.ge5a62f", MatchRule.LABEL, "0.20.diff"),
        ("0.18.1+das.dtk2604.torch2100.2606041655.ge5a62f", MatchRule.EXACT, "0.19.1.diff"),
        ("0.18.1+das.dtk2604.hy3", MatchRule.EXACT, "0.19.1.diff"),
        ("0.25.1+das185.dtk2604.torch2110.2608171710.g7b108a", MatchRule.LABEL, "0.20.diff"),
        ("0.28.1+dtk2604.torch2110.2609111625.ge8fe1b", MatchRule.LABEL, "0.27.diff"),
        ("0.20.2+cu129", MatchRule.LABEL, "0.20.diff"),
        ("0.22.0+rocm722", MatchRule.LABEL, "0.20.diff"),
        ("0.30.0+cpu", MatchRule.LABEL, "0.27.diff"),
        ("0.19.1+cu129", MatchRule.LABEL, "0.19.1.diff"),
    ],
)
def test_the_builds_it_is_for(build: str, rule: MatchRule, diff: str) -> None:
    assert match_of(build) == (rule, diff)


@pytest.mark.parametrize(
    "build",
    [
        "0.20.0+acme.7",
        "0.25.1+empty",
        "0.22.0+gb78dab.d20260621.maca3.5.3.20.torch2.8",
        "0.20.0+custom.1",
        "0.18.1",
        "0.19.0",
        "0.18.1+das.dtk2604.other",
        "0.15.1+das.opt1.alpha.dtk2604.torch290.2605061705.gca9ce1",
        "0.33.1",
        "0.34.0",
        "dev",
    ],
)
def test_builds_that_nobody_checked_are_not_claimed(build: str) -> None:
    assert match_of(build) == (MatchRule.NONE, None)


def fixes(role: FixRole) -> list[Fix]:
    return [fix for fix in entry().fixes if fix.role is role]


def test_all_four_causes_must_be_mended_and_the_reported_fix_is_none_of_them() -> None:
    refs = [fix.ref.removeprefix("vllm-project/vllm") for fix in fixes(FixRole.FIXES)]
    (related,) = fixes(FixRole.RELATED)

    assert refs[:3] == ["#44509", "#45244", "#45918"]
    assert "max_slice_nums" in refs[3]
    assert len(refs) == 4
    assert related.ref == "vllm-project/vllm#43213"
    assert "qkv weights" in (related.note or "")
    assert related.evidence == ()
    assert fixes(FixRole.REJECTED) == []


@pytest.mark.wheels
@pytest.mark.parametrize("release", RELEASES)
def test_the_files_of_each_release_prove_the_fixes_it_has_and_no_other(release: str) -> None:
    needed = fixes(FixRole.FIXES)
    present = release_files(release)
    named = {path: read_release(release, path) if path in present else None for path in files_named(needed)}
    build = parse_build(release)
    found = judge_fixes(needed, files=named, claimed=lambda fix: claims(fix.claimed, build), search=_search)
    releases = RELEASES[: RELEASES.index(release) + 1]
    proven = {number for first, number in FIRST.items() if first in releases}

    assert {number for number, it in enumerate(found) if it.status is FixStatus.PROVEN} == proven
    assert {it.status for it in found} <= {FixStatus.PROVEN, FixStatus.ABSENT}
    assert (MINICPM in present) == (release >= "0.22")


def _search(pattern: str, text: str) -> bool:
    raise AssertionError("the entry's evidence is compared as tokens")


@pytest.mark.wheels
@pytest.mark.parametrize("build", ["0.19.1", "0.20.0", "0.33.0"])
def test_the_diffs_touch_no_file_that_evidence_reads(build: str) -> None:
    assert not {diff.path for diff in file_diffs(build)} & files_named(entry().fixes)


@pytest.mark.parametrize("name", ["0.19.1.diff", "0.20.diff", "0.27.diff"])
def test_the_diffs_say_what_they_are(name: str) -> None:
    variant = next(variant for variant in entry().variants if variant.diff == name)
    head = registry().read_diff(entry(), variant).partition(b"\n---\n")[0].decode()

    for field in ("Description", "Origin", "Forwarded", "Applied-Upstream"):
        assert re.search(rf"^{field}: \S", head, re.MULTILINE)


def test_the_avoidance_is_the_operators_own() -> None:
    (avoid,) = entry().avoid

    assert avoid.args == ("--max-num-seqs", "1", "--mm-processor-cache-gb", "0")
    assert avoid.when
    assert avoid.cost
