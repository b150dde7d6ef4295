"""The entries for ``minicpmv4_6.py`` from the command line, on small sites with the files of real releases."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import pytest

from tests.entries.grammar_entry import wheel_files
from tests.entries.minicpm_entry import (
    AFFECTED,
    ENTRIES,
    FILE,
    FIRST_FIXED,
    GRID,
    NET,
    SIZE,
    SLICES,
    patched,
)
from tests.entries.minicpm_model import IMAGE, Model, encoded
from tests.running import Desk, tree
from tests.sites import install

pytestmark = pytest.mark.wheels

DCU = "0.20.0+das.dtk2604"


def put(site: Path, release: str, build: str | None = None, model_file: bytes | None = None) -> Desk:
    """Put a build with the files of a release into a site, in the place of another one."""
    for old in [*site.glob("vllm"), *site.glob("vllm-*.dist-info")]:
        shutil.rmtree(old)
    files = dict(wheel_files(release))
    if model_file is not None:
        files[FILE] = model_file
    install(site, files, build=build or release)
    return Desk(site=site)


def facts(desk: Desk, id_: str) -> str:
    patch = desk.json("status", id_).patch(id_)
    return " ".join((patch["match"]["rule"], patch["verdict"], patch["need"], patch["action"]))


def applied(desk: Desk) -> set[str]:
    return {it["id"] for it in desk.json("status").document["patches"] if it["verdict"] == "applied"}


@pytest.mark.parametrize("release", ["0.22.0", "0.23.0", "0.24.0", "0.25.1", "0.28.0", "0.29.0", "0.31.0", "0.32.0"])
def test_a_bare_apply_brings_in_what_the_release_needs(tmp_path: Path, release: str) -> None:
    desk = put(tmp_path / "site", release)
    before = tree(desk.site)
    due = {id_ for id_ in ENTRIES if release in AFFECTED[id_]}
    for id_ in ENTRIES:
        expected = "range applicable wanted apply" if id_ in due else "none conflict fixed none"
        assert facts(desk, id_) == expected

    assert desk.run("apply").code == 0
    assert desk.run("check").code == 0
    assert applied(desk) & set(ENTRIES) == due
    if due:
        assert (desk.site / FILE).read_bytes() == patched(release, sorted(due))
    assert desk.run("retire").code == 0
    assert applied(desk) & set(ENTRIES) == due
    assert desk.run("revert", "--all").code == 0
    assert tree(desk.site) == before


@pytest.mark.parametrize("order", list(itertools.permutations(ENTRIES)))
def test_applied_one_by_one_in_any_order_and_taken_out_in_any_order(tmp_path: Path, order: tuple[str, ...]) -> None:
    desk = put(tmp_path / "site", "0.23.0")
    before = tree(desk.site)
    inside: list[str] = []
    for id_ in (order[0], NET, *order[1:]):
        assert desk.run("apply", id_).code == 0
        inside.append(id_)
        assert applied(desk) == set(inside)
        assert (desk.site / FILE).read_bytes() == patched("0.23.0", [it for it in inside if it != NET])
    for id_ in (order[0], order[2], NET, order[1]):
        assert desk.run("revert", id_).code == 0
        inside.remove(id_)
        assert applied(desk) == set(inside)
        assert (desk.site / FILE).read_bytes() == patched("0.23.0", [it for it in inside if it != NET])
    assert tree(desk.site) == before


@pytest.mark.parametrize("held", ENTRIES)
def test_holding_one_holds_no_other(tmp_path: Path, held: str) -> None:
    desk = put(tmp_path / "site", "0.22.0")
    assert desk.run("hold", held, "--reason", "looked at").code == 0
    assert desk.run("apply").code == 0
    assert desk.run("check").code == 0
    assert applied(desk) & set(ENTRIES) == set(ENTRIES) - {held}


def test_each_goes_at_the_release_that_has_its_fix_and_comes_back_after_a_downgrade(tmp_path: Path) -> None:
    site = tmp_path / "site"
    desk = put(site, "0.23.0")
    assert desk.run("apply").code == 0
    for release in ("0.24.0", "0.25.0", "0.31.0", "0.32.0"):
        fixed = {id_ for id_ in ENTRIES if release not in AFFECTED[id_]}
        desk = put(site, release)
        assert desk.run("apply").code == 0
        assert desk.run("check").code == 0
        assert desk.run("retire").code == 0
        assert applied(desk) & set(ENTRIES) == set(ENTRIES) - fixed
        for id_ in fixed:
            assert facts(desk, id_).endswith("fixed none")
    assert set(FIRST_FIXED) == set(ENTRIES)

    desk = put(site, "0.22.0")
    assert desk.run("apply").code == 0
    assert desk.run("check").code == 0
    assert applied(desk) >= set(ENTRIES)


def test_the_dcu_build_without_the_file_is_not_concerned(tmp_path: Path) -> None:
    desk = put(tmp_path / "site", "0.20.0", DCU)
    for id_ in ENTRIES:
        assert facts(desk, id_) == "none missing not-concerned none"

    assert desk.run("apply").code == 0
    assert desk.run("check").code == 0
    assert not applied(desk) & set(ENTRIES)


def test_the_dcu_build_that_carries_the_file_reads_unknown_build(tmp_path: Path) -> None:
    desk = put(tmp_path / "site", "0.20.0", DCU, patched("0.22.0"))
    before = tree(desk.site)
    for id_ in ENTRIES:
        assert facts(desk, id_) == "none applicable unknown-build port"
    desk.run("apply")
    assert not applied(desk) & set(ENTRIES)
    assert desk.run("check").code == 1

    for id_ in ENTRIES:
        assert desk.run("apply", id_).code == 1
        assert desk.run("apply", id_, "--assume-build", "0.22.0").code == 0
        assert facts(desk, id_) == "assumed applied wanted none"
    assert desk.run("check").code == 0
    assert (desk.site / FILE).read_bytes() == patched("0.22.0", ENTRIES)
    assert desk.run("revert", "--all").code == 0
    assert tree(desk.site) == before


def test_the_dcu_build_whose_file_has_one_fix_gets_the_others(tmp_path: Path) -> None:
    desk = put(tmp_path / "site", "0.20.0", DCU, patched("0.24.0"))
    assert facts(desk, SIZE) == "none conflict fixed none"
    assert [facts(desk, id_) for id_ in (GRID, SLICES)] == ["none applicable unknown-build port"] * 2


def test_what_is_applied_is_what_the_behaviour_tests_run(tmp_path: Path) -> None:
    desk = put(tmp_path / "site", "0.22.0")
    assert desk.run("apply").code == 0

    assert (desk.site / FILE).read_bytes() == patched("0.22.0", ENTRIES)
    model = Model("0.22.0", ENTRIES)
    assert model.image_text(1688, 244).count(IMAGE) == encoded(1688, 244).embeddings == 303
