"""What must hold between neighbouring releases; the tables are printed at the end of the run."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from tests.conftest import LONG, TABLES
from tests.corpus.cases import cases_between, section, tree
from tests.corpus.outcomes import answers
from tests.corpus.survey import PATCHED, RIGHT, Figures, Survey, survey
from tests.corpus.table import tables
from tests.corpus.tools import Made, have_tools
from tests.test_match_differential import git, gnu
from tests.wheels import RELEASES

pytestmark = [
    pytest.mark.wheels,
    pytest.mark.skipif(not have_tools(), reason="git or GNU patch is not installed"),
]

PAIRS = (("0.20.0", "0.20.1", 1), ("0.22.0", "0.22.1", 1), ("0.24.0", "0.25.0", 3), ("0.25.0", "0.25.1", 1))
"""Old, new, and of how many changed files one is taken; with ``LONG_TESTS=1`` all files of all neighbours are."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Survey:
    """All pairs in one."""
    pairs = [(old, new, 1) for old, new in pairwise(RELEASES)] if LONG else PAIRS
    total = Survey()
    for old, new, every in pairs:
        total.add(survey(old, new, tmp_path_factory.mktemp("survey"), every=every))
    names = ", ".join(f"{old} -> {new}" + (f" (1 file of {every})" if every > 1 else "") for old, new, every in pairs)
    request.config.stash.setdefault(TABLES, []).extend([f"differences between releases: {names}", *tables(total)])
    return total


def of(found: Survey, base: str) -> dict[str, Figures]:
    return {scope: figures for (where, scope), figures in found.figures.items() if where == base}


def test_no_rule_is_broken_and_no_difference_unexplained(found: Survey) -> None:
    assert found.broken == []


def test_every_diff_goes_in_exactly_on_its_own_base(found: Survey) -> None:
    for scope, figures in of(found, RIGHT).items():
        assert figures.answers.total() > 50, scope
        assert figures.answers["exact"] + figures.answers["undecided"] == figures.answers.total()
    assert of(found, RIGHT)["files"].answers["undecided"] == 0


def test_nothing_is_ever_put_in_twice(found: Survey) -> None:
    for figures in of(found, PATCHED).values():
        assert figures.answers.keys().isdisjoint({"exact", "offset"})
        assert figures.answers["present"] > 0.9 * figures.answers.total()
    # MISSING is a deleted file that is gone
    assert of(found, PATCHED)["files"].answers.keys() <= {"present", "undecided", "missing"}


def test_what_goes_into_an_older_release_goes_where_it_belongs(found: Survey) -> None:
    trusted = [figures.trusted for (_, scope), figures in found.figures.items() if scope == "files"]
    assert sum(counts["merge"] for counts in trusted) > 20
    # only a hunk cut out of its diff can be mistaken for its neighbour
    assert all(counts.keys() <= {"merge", "lines", "moved"} for counts in trusted)


def test_many_files_in_one_process_come_out_as_each_alone(tmp_path: Path) -> None:
    old, new, ancient = (tree(version) for version in ("0.20.0", "0.20.1", "0.19.1"))
    paths = sorted(path for path in old if path in new and path in ancient and old[path] != new[path])
    cases = [case for case in cases_between(old, new, tmp_path / "diff") if case.file.path in paths][::4]
    seen = set()
    for content_of in (ancient, new):
        rows = answers(cases, [content_of[case.file.path] for case in cases], tmp_path / "apply")
        for row in rows:
            assert row.content is not None
            diff = section(row.case, "f")
            by_git, by_gnu = git(tmp_path / "git", row.content, diff), gnu(tmp_path / "gnu", row.content, diff)
            assert row.git == (None if by_git is None else Made(content=by_git))
            assert row.gnu == (None if by_gnu is None else Made(content=by_gnu))
            seen |= {by_git is None, by_gnu is None}
    assert seen == {True, False}
