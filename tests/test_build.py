"""Build strings: taken apart, matched, refused with a reason; the traps of build strings met in the wild."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from patchctl.build import (
    BuildId,
    MatchOutcome,
    MatchRule,
    choose,
    claims,
    match_rule,
    parse_build,
    rule_problems,
    specifier_problem,
)
from patchctl.model.entry import BuildRule

WILD = (
    "0.20.0",
    "0.20.0+das.dtk2604",
    "0.20.0+DAS-dtk2604",
    "0.20.0+das.dtk2604.torch2100.2606041655.ge5a62f",
    "0.18.1+das.dtk2604.torch2100.2606041655.ge5a62f",
    "0.25.1+das185.dtk2604.torch2110.2608171710.g7b108a",
    "0.28.1+dtk2604.torch2110.2609111625.ge8fe1b",
    "0.15.1+das.opt1.alpha.dtk2604.torch290.2605061705.gca9ce1",
    "0.11.0+das.opt1.rc2.dtk2604.20260128.g0bf89b0c",
    "0.18.1+das.dtk2604.hy3",
    "0.9.2+das.opt1.dtk25042",
    "0.25.1+empty",
    "0.9.1rc2.dev0+gc30ddb8.d20250709",
    "0.22.0+rocm722",
    "0.9.2.dev321+g8fe7fc863.rocm641",
    "0.22.0+gb78dab.d20260621.maca3.5.3.20.torch2.8",
    "0.29.1rc1.dev263+gb0b2f27da.d20260917.xpu",
    "0.17.0+corex.4.5.0.rc.11.20260701",
    "0.20.2+cu129",
    "0.1.dev7557+g977180c",
    "0.22.0rc1+das",
    "0.22.0rc1",
    "0.20.0.post1",
    "1!0.20.0",
    "dev",
    "N/A",
    "0.5.4@4db5176d",
)
RULES = (
    BuildRule(builds=("0.20.0+das.dtk2604", "dev"), versions=">=0.19.1,<0.34", label=("das*", "dtk*")),
    BuildRule(versions="<0.22", label="any"),
    BuildRule(versions=">=0.22", label="any"),
    BuildRule(versions=">0.20.0", label="any"),
    BuildRule(versions="!=0.20.0", label="any"),
    BuildRule(versions="==0.20.0", label="any"),
    BuildRule(versions="==0.22.*", label="none"),
    BuildRule(versions="~=0.20", label="any"),
    BuildRule(versions="<=0.22.0rc1", label=("*",)),
)


def verdicts() -> str:
    """Every rule over every build string, as one text: it must not depend on the release of packaging."""
    lines = [repr(parse_build(raw)) for raw in WILD]
    lines += [repr(match_rule(rule, parse_build(raw))) for rule in RULES for raw in WILD]
    lines += [repr(choose(RULES, parse_build(raw))) for raw in WILD]
    lines += [f"{rule.versions} {raw} {claims(rule.versions, parse_build(raw))}" for rule in RULES for raw in WILD]
    texts = (">=0.20.*", "", ",", ">=0.20,", "0.20", ">=0.20+das", "==0.20+das.*", "===0.20", "=>0.20", ">=0.2 <0.3")
    lines += [repr(specifier_problem(text)) for text in texts]
    return "\n".join(lines)


def matched(raw: str, *, builds: tuple[str, ...] = (), versions: str | None = None, label: object = "any") -> MatchRule:
    return outcome(raw, builds=builds, versions=versions, label=label).rule


def outcome(
    raw: str, *, builds: tuple[str, ...] = (), versions: str | None = None, label: object = "any"
) -> MatchOutcome:
    assert isinstance(label, str | tuple)
    return match_rule(BuildRule(builds=builds, versions=versions, label=label), parse_build(raw))


# --- taking a build string apart


@pytest.mark.parametrize(
    ("raw", "public", "label"),
    [
        ("0.20.0", "0.20.0", None),
        ("0.20.0+das.dtk2604", "0.20.0", "das.dtk2604"),
        ("0.20.0+DAS-dtk2604", "0.20.0", "das.dtk2604"),
        ("0.20.0+das_dtk2604", "0.20.0", "das.dtk2604"),
        ("0.11.0+das.opt1.rc2.dtk2604.20260128.g0bf89b0c", "0.11.0", "das.opt1.rc2.dtk2604.20260128.g0bf89b0c"),
        ("0.9.1rc2.dev0+gc30ddb8.d20250709", "0.9.1rc2.dev0", "gc30ddb8.d20250709"),
        ("0.22.0+gb78dab.d20260621.maca3.5.3.20.torch2.8", "0.22.0", "gb78dab.d20260621.maca3.5.3.20.torch2.8"),
        ("0.1.dev7557+g977180c", "0.1.dev7557", "g977180c"),
        ("v0.20.0-rc1+A.007", "0.20.0rc1", "a.7"),
        ("1!0.20.0.post1", "1!0.20.0.post1", None),
    ],
)
def test_a_build_string_is_a_public_part_and_a_normalised_label(raw: str, public: str, label: str | None) -> None:
    assert parse_build(raw) == BuildId(raw=raw, public=public, label=label, valid=True)


@pytest.mark.parametrize(
    "raw",
    [
        "dev",
        "N/A",
        "0.5.4@4db5176d",
        "",
        "+das",
        "0.20.0+das+x",
        "1" * 5000,
        "1" + ".1" * 300,
        "0.20.0+d\xe4s",
        "0.20.0+\u212ait",
    ],
)
def test_what_pep_440_does_not_know_is_kept_and_marked_invalid(raw: str) -> None:
    assert parse_build(raw) == BuildId(raw=raw, public=None, label=None, valid=False)


@pytest.mark.parametrize("raw", WILD)
def test_every_build_string_of_the_field_is_judged_without_an_exception(raw: str) -> None:
    build = parse_build(raw)
    assert build.valid is (raw not in {"dev", "N/A", "0.5.4@4db5176d"})
    assert all(match_rule(rule, build).reason for rule in RULES)


# --- exact builds


@pytest.mark.parametrize("raw", ["0.20.0+das.dtk2604", "0.20.0+DAS-dtk2604", "0.20+das_DTK2604", "v0.20.0+das.dtk2604"])
def test_an_exact_build_matches_however_it_is_spelled(raw: str) -> None:
    assert matched(raw, builds=("0.20.0+das.dtk2604",)) is MatchRule.EXACT
    assert matched("0.20.0+das.dtk2604", builds=(raw,)) is MatchRule.EXACT


def test_an_exact_build_says_under_which_name_it_was_found() -> None:
    assert outcome("0.20.0+das.dtk2604", builds=("0.20.0+das.dtk2604",)).reason == "0.20.0+das.dtk2604 is named exactly"
    spelled = outcome("0.20.0+DAS-dtk2604", builds=("0.20.0+das.dtk2604",)).reason
    assert spelled == "0.20.0+DAS-dtk2604 is the named build 0.20.0+das.dtk2604"


@pytest.mark.parametrize("raw", ["dev", "N/A", "0.5.4@4db5176d"])
def test_an_invalid_version_matches_by_its_exact_name_only(raw: str) -> None:
    assert matched(raw, builds=(raw,)) is MatchRule.EXACT
    assert matched(raw, builds=(raw.upper() + "x",), versions=">=0") is MatchRule.NONE
    reason = outcome(raw, versions=">=0").reason
    assert reason == f"{raw!r} is no PEP 440 version: only its exact name or the files themselves can decide"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("0.20.0", "no exact build: 0.20.0+das.dtk2604 is named, this build has no label"),
        (
            "0.20.0+das.dtk2604.torch2100.2606041655.ge5a62f",
            "no exact build: 0.20.0+das.dtk2604 is named, this label goes on with torch2100.2606041655.ge5a62f",
        ),
        ("0.20.0+das", "no exact build: 0.20.0+das.dtk2604 is named, this label stops at das"),
        ("0.20.0+das.dtk2605", "no exact build: 0.20.0+das.dtk2604 is named, this label is das.dtk2605"),
        ("0.20.1+das.dtk2604", "no exact build: only 0.20.0+das.dtk2604 is named"),
    ],
)
def test_a_build_near_an_exact_one_is_told_what_differs(raw: str, reason: str) -> None:
    assert outcome(raw, builds=("0.20.0+das.dtk2604",)) == MatchOutcome(rule=MatchRule.NONE, reason=reason)


def test_of_several_named_builds_the_most_similar_is_the_near_miss() -> None:
    builds = ("0.20.0+das.dtk2504", "0.20.0", "0.20.0+das.dtk2604.hy3", "0.20.0+cu129")
    reason = outcome("0.20.0+das.dtk2604", builds=builds).reason
    assert reason == "no exact build: 0.20.0+das.dtk2604.hy3 is named, this label stops at das.dtk2604"


def test_a_named_build_without_label_is_no_match_for_a_labelled_one() -> None:
    reason = outcome("0.20.0+acme.7", builds=("0.20.0",)).reason
    assert reason == "no exact build: 0.20.0 is named, this label is acme.7"


# --- ranges over the public part


@pytest.mark.parametrize(
    ("raw", "versions", "fits"),
    [
        ("0.20.0+das", "==0.20.0", True),
        ("0.20.0+das", "!=0.20.0", False),
        ("0.20.0+das", ">0.20.0", False),
        ("0.20.0+das", ">=0.20.0", True),
        ("0.20.0+das", "<=0.20.0", True),
        ("0.20.0+das", "==0.20.*", True),
        ("0.22.0rc1", "<0.22", False),
        ("0.22.0rc1", ">=0.22", False),
        ("0.22.0rc1+das", "<0.22", False),
        ("0.21.0rc1", ">=0.19.1,<0.22", True),
        ("0.20.0.post1", ">0.20.0", False),
        ("0.20.0.post1", ">=0.20.0", True),
        ("0.11.0+das.opt1.rc2.dtk2604.20260128.g0bf89b0c", ">=0.11", True),
        ("0.9.2.dev321+g8fe7fc863.rocm641", ">=0.9.2", False),
        ("0.9.2.dev321+g8fe7fc863.rocm641", ">=0.9.1,<0.10", True),
        ("0.1.dev7557+g977180c", ">=0.19.1", False),
        ("1!0.20.0", "~=0.20", False),
        ("1!0.20.0", "~=1!0.20", True),
    ],
)
def test_a_range_judges_the_public_part_with_pre_releases(raw: str, versions: str, fits: bool) -> None:
    assert matched(raw, versions=versions) is (MatchRule.RANGE if fits else MatchRule.NONE)
    assert claims(versions, parse_build(raw)) is fits


@pytest.mark.parametrize(
    ("raw", "versions", "reason"),
    [
        ("0.26.0", ">=0.20,<0.26", "0.26.0 is not in >=0.20,<0.26"),
        (
            "0.22.0rc1",
            ">=0.20,<0.22",
            "0.22.0rc1 is not in >=0.20,<0.22: it is a pre-release of 0.22.0, and <0.22 leaves it out",
        ),
        (
            "0.22.0rc1+das",
            ">=0.22",
            "0.22.0rc1 is not in >=0.22: it is a pre-release of 0.22.0, and >=0.22 leaves it out",
        ),
        (
            "0.29.1rc1.dev263+gb0b2f27da.d20260917.xpu",
            ">=0.29.1",
            "0.29.1rc1.dev263 is not in >=0.29.1: it is a pre-release of 0.29.1, and >=0.29.1 leaves it out",
        ),
        (
            "0.20.0.post1",
            ">0.20.0",
            "0.20.0.post1 is not in >0.20.0: it is a post-release of 0.20.0, and >0.20.0 leaves it out",
        ),
        (
            "0.1.dev7557+g977180c",
            ">=0.19.1",
            "0.1.dev7557 is not in >=0.19.1: a build made without tags calls itself so, whatever its age",
        ),
    ],
)
def test_a_version_outside_the_range_is_told_why(raw: str, versions: str, reason: str) -> None:
    assert outcome(raw, versions=versions) == MatchOutcome(rule=MatchRule.NONE, reason=reason)


def test_a_pre_release_inside_the_range_says_that_it_is_one() -> None:
    reason = outcome("0.21.0rc1+das", versions=">=0.19.1,<0.22", label=("das*",)).reason
    assert reason == "0.21.0rc1 is in >=0.19.1,<0.22 (as a pre-release of 0.21.0) and its label das fits das*"
    final = outcome("0.21.0.post1", versions=">=0.19.1,<0.22")
    assert final == MatchOutcome(rule=MatchRule.RANGE, reason="0.21.0.post1 is in >=0.19.1,<0.22 and has no label")


def test_a_range_that_cannot_be_read_admits_nothing() -> None:
    assert outcome("0.20.0", versions="about 0.20").reason == "'about 0.20' is no version specifier"
    assert not claims("about 0.20", parse_build("0.20.0"))


# --- labels


@pytest.mark.parametrize(
    ("raw", "labels", "reason"),
    [
        ("0.20.0+acme.7", ("none", ("das*", "dtk*")), "its label acme.7 is none of das*, dtk*; the versions would fit"),
        (
            "0.20.0+acme.7",
            (("das*",), ("das*", "cpu")),
            "its label acme.7 is none of das*, cpu; the versions would fit",
        ),
        (
            "0.20.0",
            (("das*",), ("cpu",)),
            "it has no label, and only the labels das*, cpu are meant; the versions would fit",
        ),
    ],
)
def test_of_several_rules_that_only_the_label_misses_it_is_told_once(
    raw: str, labels: tuple[Any, ...], reason: str
) -> None:
    rules = [BuildRule(versions=f">=0.{19 - at}", label=label) for at, label in enumerate(labels)]
    assert choose(rules, parse_build(raw)) == (None, MatchOutcome(rule=MatchRule.NONE, reason=reason))


@pytest.mark.parametrize(
    ("glob", "label", "fits"),
    [
        ("das*", "das.dtk2604", True),
        ("das*", "das185.dtk2604.torch2110.2608171710.g7b108a", True),
        ("das*", "dtk2604.torch2110", False),
        ("dtk*", "dtk2604.torch2110.2609111625.ge8fe1b", True),
        ("dtk*", "das.dtk2604", False),
        ("*dtk*", "das.opt1.alpha.dtk2604.torch290", True),
        ("das.*", "das", False),
        ("das.*", "das185.dtk2604", False),
        ("das.dtk2604*", "das.dtk2604", True),
        ("das.dtk2604*", "das.dtk26042", True),
        ("das.dtk2604.*", "das.dtk26042", False),
        ("das.*.hy3", "das.dtk2604.hy3", True),
        ("das.*.hy3", "das.hy3", False),
        ("das*das", "das", False),
        ("DAS-DTK*", "das.dtk2604", True),
        ("das_dtk2604", "das.dtk2604", True),
        ("acme.007", "acme.7", True),
        ("*", "empty", True),
        ("empty", "empty", True),
        ("d?s", "das", False),
        ("[d]as", "das", False),
        ("*a*s*k*4", "das.dtk2604", True),
        ("*k*a*", "das.dtk2604", False),
        ("*das*x", "das.x", True),
    ],
)
def test_a_label_glob_covers_the_whole_normalised_label(glob: str, label: str, fits: bool) -> None:
    rule = matched(f"0.20.0+{label}", versions=">=0.20", label=(glob,))
    assert rule is (MatchRule.LABEL if fits else MatchRule.NONE)


def test_the_label_of_the_build_is_normalised_before_the_glob_is_tried() -> None:
    assert matched("0.20.0+DAS-dtk2604", versions=">=0.20", label=("das.dtk*",)) is MatchRule.LABEL


def test_a_glob_of_many_stars_takes_no_exponential_time() -> None:
    assert matched("0.20.0+" + "a" * 400, versions=">=0.20", label=("*a" * 200 + "*b",)) is MatchRule.NONE


def test_label_none_means_builds_without_label_and_any_means_all() -> None:
    assert matched("0.20.0", versions=">=0.20", label="none") is MatchRule.RANGE
    assert matched("0.20.0", versions=">=0.20", label="any") is MatchRule.RANGE
    assert matched("0.20.0+acme.7", versions=">=0.20", label="any") is MatchRule.RANGE
    assert matched("0.20.0+acme.7", versions=">=0.20", label="none") is MatchRule.NONE
    assert matched("0.20.0", versions=">=0.20", label=("*",)) is MatchRule.NONE


@pytest.mark.parametrize(
    ("raw", "label", "reason"),
    [
        ("0.20.0+acme.7", ("das*", "dtk*"), "but its label acme.7 is not one of das*, dtk*"),
        ("0.20.0+acme.7", ("das*",), "but its label acme.7 is not das*"),
        ("0.20.0+acme.7", "none", "but it has the label acme.7, and only builds without a label are meant"),
        ("0.20.0", ("das*", "dtk*"), "but it has no label, and only the labels das*, dtk* are meant"),
    ],
)
def test_the_right_version_with_the_wrong_label_says_so(raw: str, label: object, reason: str) -> None:
    answer = outcome(raw, versions=">=0.19.1,<0.34", label=label)
    assert answer == MatchOutcome(rule=MatchRule.NONE, reason=f"0.20.0 is in >=0.19.1,<0.34, {reason}")


def test_the_reason_of_a_match_names_range_and_label() -> None:
    label = outcome("0.20.0+das.dtk2604", versions=">=0.19.1", label=("dtk*", "das*"))
    assert label == MatchOutcome(
        rule=MatchRule.LABEL, reason="0.20.0 is in >=0.19.1 and its label das.dtk2604 fits das*"
    )
    assert outcome("0.20.0+x", versions=">=0.19.1").reason == "0.20.0 is in >=0.19.1, and any label will do: x"


def test_a_near_miss_of_an_exact_build_is_told_beside_the_range() -> None:
    answer = outcome("0.20.0+das.dtk2604.hy3", builds=("0.20.0+das.dtk2604",), versions=">=0.21")
    near = "no exact build: 0.20.0+das.dtk2604 is named, this label goes on with hy3"
    assert answer == MatchOutcome(rule=MatchRule.NONE, reason=f"0.20.0 is not in >=0.21; {near}")


# --- choosing among variants

ANY = BuildRule(versions=">=0.19.1,<0.23", label="any")
DAS = BuildRule(versions=">=0.19.1,<0.23", label=("das*",))
NAMED = BuildRule(builds=("0.20.0+das.dtk2604",))


def test_an_exact_build_beats_a_label_beats_a_range_in_any_order() -> None:
    for rules in [(ANY, DAS, NAMED), (NAMED, DAS, ANY), (DAS, NAMED, ANY)]:
        index, answer = choose(rules, parse_build("0.20.0+das.dtk2604"))
        assert (index, answer.rule) == (rules.index(NAMED), MatchRule.EXACT)
        index, answer = choose(rules, parse_build("0.20.0+das.dtk2605"))
        assert (index, answer.rule) == (rules.index(DAS), MatchRule.LABEL)
        index, answer = choose(rules, parse_build("0.20.0"))
        assert (index, answer.rule) == (rules.index(ANY), MatchRule.RANGE)


def test_two_rules_of_equal_rank_are_a_tie_and_none_is_taken() -> None:
    index, answer = choose((DAS, ANY, BuildRule(versions="==0.20.*", label="none")), parse_build("0.20.0"))
    assert (index, answer.rule, answer.tie) == (None, MatchRule.NONE, (1, 2))
    assert (
        answer.reason == "variant[1] and variant[2] fit 0.20.0 equally well (range): the registry must tell them apart"
    )


def test_a_tie_below_the_best_rank_does_no_harm() -> None:
    index, answer = choose((ANY, ANY, DAS), parse_build("0.20.0+das"))
    assert (index, answer.tie) == (2, ())


def test_when_nothing_fits_the_nearest_miss_is_told() -> None:
    rules = (BuildRule(versions=">=0.23"), DAS, NAMED)
    assert choose(rules, parse_build("0.20.0+acme.7")) == (
        None,
        MatchOutcome(rule=MatchRule.NONE, reason="0.20.0 is in >=0.19.1,<0.23, but its label acme.7 is not das*"),
    )


def test_equally_far_misses_are_told_together_and_once() -> None:
    rules = (BuildRule(versions="<0.23", label="any"), BuildRule(versions=">=0.27"), BuildRule(versions="<0.23"))
    assert choose(rules, parse_build("0.25.1"))[1].reason == "0.25.1 is not in <0.23; 0.25.1 is not in >=0.27"


def test_without_variants_nothing_fits() -> None:
    assert choose((), parse_build("0.20.0")) == (None, MatchOutcome(rule=MatchRule.NONE, reason="there is no variant"))


# --- claims


def test_nobody_claims_anything_of_an_unknown_version() -> None:
    assert not claims(None, parse_build("0.26.0"))
    assert not claims(">=0", parse_build("dev"))
    assert not claims(">=0.26.0", parse_build("0.26.0rc2"))
    assert claims(">=0.26.0", parse_build("0.26.0+das.dtk2604"))
    assert claims(">=0.25", parse_build("0.26.0rc2"))


# --- registry rules judged before any build is known


@pytest.mark.parametrize("text", [">=0.20,<0.26", ">= 0.20 , < 0.26", "==0.20.*", "~=0.20", "!=0.21.0", "<0.22.0rc1"])
def test_a_usable_specifier_has_no_problem(text: str) -> None:
    assert specifier_problem(text) is None


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("==0.20.0+das", "`builds`, or families of labels in `label`"),
        (">=0.20.0+das", "cannot name a local label"),
        ("==0.20.0+das.*", "cannot name a local label"),
        ("0.20", "is no PEP 440 version specifier"),
        ("=>0.20", "is no PEP 440 version specifier"),
        (">=0.20.*", "is no PEP 440 version specifier"),
        ("", "would admit every version"),
        (">=0.20\u212a", "is no PEP 440"),
        (" , ", "would admit every version"),
        ("===0.20.0", "compares text"),
        (">=0.19,<0.20.post1", "use <="),
        (">0.20.0rc1", "use >="),
        (">0.20.0.dev3", "use >="),
    ],
)
def test_an_unusable_specifier_is_refused_with_the_way_out(text: str, part: str) -> None:
    problem = specifier_problem(text)
    assert problem is not None
    assert part in problem


def test_a_sound_rule_has_no_problems() -> None:
    assert rule_problems(RULES[0]) == ()
    assert rule_problems(BuildRule(builds=("dev", "0.20.0+das.dtk2604"))) == ()


@pytest.mark.parametrize(
    ("rule", "key", "part"),
    [
        (BuildRule(), "builds", "no build is named"),
        (BuildRule(builds=("0.20.*",)), "builds[0]", "ranges belong in `versions`"),
        (BuildRule(builds=("0.20.0", ">=0.21")), "builds[1]", "ranges belong in `versions`"),
        (BuildRule(builds=("0.20.0+das", "0.21.0", "0.20+DAS")), "builds[2]", "is the same build as builds[0]"),
        (BuildRule(versions=">=0.20+das"), "versions", "cannot name a local label"),
        (BuildRule(versions=">=0.20", label="das*"), "label", "globs are given as a list"),
        (BuildRule(versions=">=0.20", label=()), "label", "admits nothing"),
        (BuildRule(builds=("0.20.0",), label=("das*",)), "label", "without `versions`"),
        (BuildRule(versions=">=0.20", label=("das*", "+das")), "label[1]", "is no glob"),
        (BuildRule(versions=">=0.20", label=("",)), "label[0]", "is no glob"),
        (BuildRule(versions=">=0.20", label=("none",)), "label[0]", 'write label = "none"'),
    ],
)
def test_an_unsound_rule_is_told_by_key(rule: BuildRule, key: str, part: str) -> None:
    problems = rule_problems(rule)
    assert [(found, part in problem) for found, problem in problems] == [(key, True)], problems


# --- one meaning under every packaging, and a late import


@pytest.mark.slow
@pytest.mark.parametrize("release", ["22.0", "24.0"])
def test_the_verdicts_do_not_depend_on_the_release_of_packaging(release: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check"]
    done = subprocess.run(
        [*command, "--target", str(tmp_path), f"packaging=={release}"], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"packaging {release} cannot be installed here: {done.stderr.strip()[-200:]}")
    checkout = Path(__file__).parents[1]
    script = "import packaging; from tests.test_build import verdicts; print(packaging.__version__); print(verdicts())"
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{checkout}"}
    text = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True).stdout
    assert text == f"{release}\n{verdicts()}\n"


def test_importing_the_room_does_not_import_packaging() -> None:
    script = "import sys, patchctl.build; print(any(name.startswith('packaging') for name in sys.modules))"
    checkout = Path(__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", script], cwd=checkout, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
