"""``vllm-dspark-1017-degenerate``: advice without a diff; whom it is for, what it says, and that it fails no check."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from patchctl.build import MatchRule, choose, parse_build
from patchctl.patch import Kind, Severity
from tests.entries.grammar_entry import entry, registry
from tests.running import Desk, patchctl
from tests.sites import make_site
from tests.wheels import RELEASES

ENTRY = "vllm-dspark-1017-degenerate"

FILES = {"vllm/__init__.py": b"\n"}


def match_of(build: str) -> MatchRule:
    _, outcome = choose([variant.rule for variant in entry(ENTRY).variants], parse_build(build))
    assert not outcome.tie
    return outcome.rule


def test_it_is_advice_and_carries_neither_diff_nor_fix() -> None:
    found = entry(ENTRY)

    assert registry().problems_of(ENTRY) == ()
    assert (found.kind, found.severity, found.default) == (Kind.ADVISORY, Severity.WRONG_OUTPUT, True)
    assert [(variant.diff, variant.sha256) for variant in found.variants] == [(None, None)]
    assert found.fixes == ()
    assert {path.name for path in Path(found.folder).iterdir()} == {"patch.toml"}


@pytest.mark.parametrize("release", RELEASES)
def test_of_the_releases_it_names_the_reported_one_alone(release: str) -> None:
    assert match_of(release) is (MatchRule.RANGE if release == "0.32.0" else MatchRule.NONE)


@pytest.mark.parametrize(
    ("build", "concerned"),
    [
        ("0.32.0+cu129", True),
        ("0.32.0+das.dtk2604", True),
        ("0.32.1rc1.dev120+g1a2b3c4d5", True),
        ("0.32.1rc1.dev120+g1a2b3c4d5.cu130", True),
        ("0.33.0rc2", False),
        ("0.32.0.post1", True),
        ("0.31.1rc1.dev263+gb0b2f27da.d20260917.xpu", False),
        ("0.32.0rc1", False),
        ("0.33.1rc1.dev5+g1a2b3c4d5", False),
        ("0.33.1", False),
        ("0.1.dev7557+g977180c", False),
        ("dev", False),
    ],
)
def test_nightlies_after_0_32_0_are_meant_and_those_before_are_not(build: str, concerned: bool) -> None:
    assert match_of(build) is (MatchRule.RANGE if concerned else MatchRule.NONE)


def test_the_conditions_are_all_there() -> None:
    found = entry(ENTRY)
    speculation, checkpoint = found.avoid

    removed = ("--speculative-config", "--spec-method", "--spec-model", "--spec-tokens")
    assert (speculation.remove_args, speculation.args, dict(speculation.env)) == (removed, (), {})
    for word in ("DeepSeek-V4.1-Flash-1017", "dspark", "/v1/chat/completions", "thinking mode", "12 of 12"):
        assert word in (speculation.when or "")
    assert (checkpoint.remove_args, checkpoint.args, dict(checkpoint.env)) == ((), (), {})
    assert "serve the original DeepSeek-V4.1-Flash checkpoint" in (checkpoint.when or "")
    for word in ("3, 4, 5 and 7", "any temperature", "plain /v1/completions", "issues/62417", "not known"):
        assert word in " ".join(found.why.split())


@pytest.mark.parametrize("build", ["0.32.0", "0.32.1rc1.dev120+g1a2b3c4d5"])
def test_status_names_it_and_nothing_is_due(tmp_path: Path, build: str) -> None:
    desk = Desk(site=make_site(tmp_path, FILES, build=build))
    shown = desk.json("status", ENTRY)
    patch = shown.patch(ENTRY)

    assert shown.code == 0
    assert (patch["need"], patch["action"], patch["verdict"]) == ("wanted", "none", None)
    assert patch["reason"] == "advice only; see its avoidance"
    assert ENTRY in desk.run("status").out


def test_show_tells_how_to_avoid_it() -> None:
    (shown,) = patchctl("show", ENTRY, "--json").document["entries"]

    removed = ["--speculative-config", "--spec-method", "--spec-model", "--spec-tokens"]
    assert [way["remove_args"] for way in shown["avoid"]] == [removed, []]
    assert "without --speculative-config" in patchctl("show", ENTRY).out


def test_it_fails_check_only_where_advice_is_to_count(tmp_path: Path) -> None:
    desk = Desk(site=make_site(tmp_path, FILES, build="0.32.0"))

    assert desk.run("check", ENTRY).code == 0
    assert desk.run("check", ENTRY, "--strict").code == 1


def test_there_is_nothing_to_apply(tmp_path: Path) -> None:
    desk = Desk(site=make_site(tmp_path, FILES, build="0.32.0"))
    refused = desk.json("apply", ENTRY)

    assert refused.code == 1
    assert "advice-only" in {problem["code"] for problem in refused.document["errors"]}
    assert not (desk.site / ".patchctl").exists()


@pytest.mark.parametrize("build", ["0.31.0", "0.34.0"])
def test_other_builds_do_not_hear_of_it(tmp_path: Path, build: str) -> None:
    desk = Desk(site=make_site(tmp_path, FILES, build=build))

    assert desk.json("status", ENTRY).patch(ENTRY)["need"] == "not-concerned"
    assert ENTRY not in desk.run("status").out
    assert desk.run("check", ENTRY, "--strict").code == 0


def test_an_avoidance_is_shown_as_a_shell_takes_it() -> None:
    (entry_,) = patchctl("show", "vllm-dsv41-cudagraph-uniform-batch", "--json").document["entries"]
    shown = patchctl("show", "vllm-dsv41-cudagraph-uniform-batch").out
    lines = [line.split("\t")[1] for line in shown.split("\n") if line.startswith("avoid\t")]
    assert [shlex.split(line) for line in lines] == [way["args"] for way in entry_["avoid"]]
