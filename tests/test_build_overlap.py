"""Witnesses of overlapping rules: each really fits, and there is one wherever a build fits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from patchctl.build import admitted_version, choose, claims, parse_build, specifier_problem, tied_build
from patchctl.build.labels import common_label, glob_fits, glob_problem, normal_label
from patchctl.model import BuildRule

GLOBS = st.text(alphabet="ab01.*", min_size=1, max_size=6).filter(lambda glob: glob_problem(glob) is None)
LABELS = st.lists(st.from_regex(r"[ab01]{1,3}", fullmatch=True), min_size=1, max_size=3).map(
    lambda parts: normal_label(".".join(parts))
)


class TestCommonLabel:
    @given(first=GLOBS, second=GLOBS)
    def test_is_a_normal_label_that_both_globs_cover(self, first: str, second: str) -> None:
        label = common_label(first, second)
        if label is not None:
            assert parse_build(f"1+{label}").label == label
            assert glob_fits(first, label)
            assert glob_fits(second, label)

    @given(first=GLOBS, second=GLOBS, label=LABELS)
    def test_is_found_where_there_is_one(self, first: str, second: str, label: str) -> None:
        if glob_fits(first, label) and glob_fits(second, label):
            assert common_label(first, second) is not None


def some_version() -> st.SearchStrategy[str]:
    release = st.lists(st.integers(0, 3), min_size=1, max_size=3).map(lambda parts: ".".join(map(str, parts)))
    suffix = st.sampled_from(["", "", "", "", "a1", "rc1", "rc2", ".post1", ".post2", ".dev1", "rc1.dev2", "rc1.post1"])
    return st.tuples(st.sampled_from(["", "", "", "1!"]), release, suffix).map("".join)


def some_specifier() -> st.SearchStrategy[str]:
    plain = st.tuples(st.sampled_from([">=", "<=", ">", "<", "==", "!=", "~="]), some_version()).map("".join)
    prefix = st.tuples(st.sampled_from(["==", "!="]), st.integers(0, 3), st.integers(0, 3)).map(
        lambda it: f"{it[0]}{it[1]}.{it[2]}.*"
    )
    clauses = st.lists(st.one_of(plain, plain, prefix), min_size=1, max_size=3)
    return clauses.map(",".join).filter(lambda text: specifier_problem(text) is None)


class TestWitness:
    @given(first=some_specifier(), second=some_specifier())
    def test_is_a_version_that_both_specifiers_admit(self, first: str, second: str) -> None:
        version = admitted_version(first, second)
        if version is not None:
            assert claims(first, parse_build(version))
            assert claims(second, parse_build(version))

    @given(first=some_specifier(), second=some_specifier(), version=some_version())
    def test_is_found_where_some_version_is_in_both(self, first: str, second: str, version: str) -> None:
        if claims(first, parse_build(version)) and claims(second, parse_build(version)):
            assert admitted_version(first, second) is not None

    @given(
        rules=st.lists(
            st.builds(
                BuildRule,
                builds=st.just(()),
                versions=some_specifier(),
                label=st.one_of(st.sampled_from(["any", "none"]), st.lists(GLOBS, min_size=1, max_size=2).map(tuple)),
            ),
            min_size=2,
            max_size=3,
        ),
        version=some_version(),
        label=st.one_of(st.just(""), LABELS.map("+{}".format)),
    )
    def test_of_a_tie_is_a_build_that_ties_and_is_found_where_there_is_one(
        self, rules: list[BuildRule], version: str, label: str
    ) -> None:
        build = tied_build(rules, 0, 1)
        if build is not None:
            assert {0, 1} <= set(choose(rules, parse_build(build))[1].tie)
        tie = choose(rules, parse_build(version + label))[1].tie
        assert build is not None or not {0, 1} <= set(tie)
