"""The main job on real vLLM builds that pip installed into a venv: releases, vendor relabellings, upgrades."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.running import Desk, tree

pytestmark = [pytest.mark.wheels, pytest.mark.slow]

MM = "vllm-mm-placeholder-degrade"
GRAMMAR = "vllm-grammar-compile-containment"
GATE = "vllm-deepgemm-toolchain-gate"
Install = Callable[..., Path]


def facts(desk: Desk, id_: str) -> tuple[str, str, str, str]:
    patch = desk.json("status", id_).patch(id_)
    return patch["match"]["rule"], patch["verdict"], patch["need"], patch["action"]


def fixes(desk: Desk, id_: str) -> dict[str, str]:
    return {
        fix["ref"].rsplit("#", 1)[-1]: fix["status"]
        for fix in desk.json("status", id_).patch(id_)["fixes"]
        if fix["role"] == "fixes"
    }


def mtimes(site: Path) -> dict[str, int]:
    return {str(path): path.lstat().st_mtime_ns for path in [site, *site.rglob("*")]}


@pytest.mark.parametrize(
    ("version", "build", "rule"),
    [
        ("0.20.0", "0.20.0+das.dtk2604", "exact"),
        ("0.20.0", None, "range"),
        ("0.21.0", None, "range"),
        ("0.23.0", None, "range"),
        ("0.25.1", None, "range"),
        ("0.20.0", "0.20.0+das.dtk2604.torch2100.2606041655.ge5a62f", "label"),
    ],
)
def test_the_main_job(installed: Install, version: str, build: str | None, rule: str) -> None:
    desk = Desk(site=installed(version, build=build))
    before = tree(desk.site)
    for id_ in (MM, GRAMMAR):
        assert facts(desk, id_) == (rule, "applicable", "wanted", "apply")
        assert desk.json("status", id_).patch(id_)["match"]["reason"]
    assert desk.run("check").code == 1
    assert tree(desk.site, but=()) == before

    assert desk.run("apply", "--dry-run").code == 0
    assert tree(desk.site, but=()) == before
    applied = desk.json("apply")
    assert applied.code == 0
    assert desk.run("check").code == 0
    assert facts(desk, GATE)[1:] == ("applied", "wanted", "none")
    changed = {file["path"] for file in applied.document["transaction"]["files"]}
    after = tree(desk.site)
    assert {path for path in after if after[path] != before.get(path)} == changed
    for path in changed:
        compile((desk.site / path).read_bytes(), path, "exec")
        assert after[path][:3] == before[path][:3]

    times = mtimes(desk.site)
    again = desk.run("apply")
    assert (again.code, "nothing to do" in again.out) == (0, True)
    assert mtimes(desk.site) == times

    assert desk.run("revert", GRAMMAR, "--hold", "the vendor ships its own").code == 0
    assert desk.run("apply").code == 0
    held = desk.run("check")
    assert (held.code, "held: the vendor ships its own" in held.out) == (0, True)
    assert facts(desk, GRAMMAR)[1:] == ("applicable", "held", "none")
    assert desk.run("revert", "--all").code == 0
    assert tree(desk.site) == before


def test_the_net_and_the_causes_go_in_side_by_side(installed: Install) -> None:
    from tests.entries.minicpm_entry import ENTRIES, FILE, patched

    desk = Desk(site=installed("0.23.0"))
    before = tree(desk.site)
    for id_ in ENTRIES:
        assert facts(desk, id_) == ("range", "applicable", "wanted", "apply")
    done = desk.json("apply")
    assert done.code == 0
    assert {MM, GRAMMAR, GATE, *ENTRIES} == {patch["id"] for patch in done.document["patches"]}
    assert desk.run("check").code == 0
    assert (desk.site / FILE).read_bytes() == patched("0.23.0", ENTRIES)
    assert fixes(desk, MM)["45244"] == "absent"
    assert desk.run("revert", "--all").code == 0
    assert tree(desk.site) == before


def test_a_vendor_build_that_carries_a_later_model_file(installed: Install) -> None:
    from tests.entries.minicpm_entry import ENTRIES, FILE, patched
    from tests.wheels import record_hash

    desk = Desk(site=installed("0.20.0", build="0.20.0+das.dtk2604"))
    for id_ in ENTRIES:
        assert facts(desk, id_) == ("none", "missing", "not-concerned", "none")

    data = patched("0.22.0")
    (desk.site / FILE).write_bytes(data)
    record = next(desk.site.glob("vllm-*.dist-info")) / "RECORD"
    with record.open("a", newline="") as rows:
        rows.write(f"{FILE},{record_hash(data)},{len(data)}\n")
    # A bare apply lands what it can, and says that something is left.
    assert desk.run("apply").code == 1
    assert [facts(desk, id_)[1] for id_ in (MM, GRAMMAR)] == ["applied", "applied"]
    for id_ in ENTRIES:
        assert facts(desk, id_) == ("none", "applicable", "unknown-build", "port")
        assert desk.run("apply", id_, "--assume-build", "0.22.0").code == 0
    assert desk.run("check").code == 0
    assert (desk.site / FILE).read_bytes() == patched("0.22.0", ENTRIES)


def test_a_label_that_no_entry_names(installed: Install) -> None:
    desk = Desk(site=installed("0.20.0", build="0.20.0+acme.7"))
    before = tree(desk.site)
    for id_ in (MM, GRAMMAR):
        assert facts(desk, id_) == ("none", "applicable", "unknown-build", "port")
    assert desk.run("check").code == 1
    refused = desk.run("apply")
    assert refused.code == 1
    assert "acme" in refused.err
    assert tree(desk.site) == before


def test_a_release_with_the_fix_proves_it(installed: Install) -> None:
    desk = Desk(site=installed("0.26.0"))
    assert fixes(desk, GRAMMAR) == {"47312": "proven"}
    assert facts(desk, GRAMMAR)[2:] == ("fixed", "none")
    mm = fixes(desk, MM)
    assert [mm[ref] for ref in ("44509", "45244", "45918")] == ["proven"] * 3
    assert sorted(mm.values()) == ["absent", "proven", "proven", "proven"]
    assert facts(desk, MM)[2:] == ("wanted", "apply")
    assert desk.run("apply").code == 0
    assert fixes(desk, MM) == mm
    assert fixes(desk, GRAMMAR) == {"47312": "proven"}


def relabel_installed(site: Path, old: str, new: str) -> None:
    """Give an installed tree another version number and leave every other byte alone."""
    info = site / f"vllm-{old}.dist-info"
    metadata = info / "METADATA"
    metadata.write_text(metadata.read_text().replace(f"\nVersion: {old}\n", f"\nVersion: {new}\n", 1))
    info.rename(site / f"vllm-{new}.dist-info")


@pytest.mark.parametrize(
    ("version", "build", "rule"),
    [
        ("0.18.1", "0.18.1+das.dtk2604.hy3", "exact"),
        ("0.19.1", None, "range"),
        ("0.20.0", "0.20.0+das.dtk2604", "label"),
        ("0.33.0", None, "range"),
        ("0.33.0", "0.33.0+cu130", "label"),
    ],
)
def test_a_bare_apply_takes_the_gate_and_no_release_is_said_to_fix_it(
    installed: Install, version: str, build: str | None, rule: str
) -> None:
    desk = Desk(site=installed(version, build=build))
    assert facts(desk, GATE) == (rule, "applicable", "wanted", "apply")
    assert desk.run("apply").code == 0
    assert facts(desk, GATE) == (rule, "applied", "wanted", "none")
    assert desk.run("check", GATE).code == 0
    assert desk.run("retire").code == 0
    assert facts(desk, GATE)[1] == "applied"


def test_a_version_number_proves_nothing(installed: Install) -> None:
    site = installed("0.25.1")
    relabel_installed(site, "0.25.1", "0.26.0")
    desk = Desk(site=site)
    assert fixes(desk, GRAMMAR) == {"47312": "contradicted"}
    assert facts(desk, GRAMMAR) == ("range", "applicable", "wanted", "apply")
    assert desk.run("check").code == 1
    loud = desk.run("status")
    assert "status=contradicted" in loud.out
    assert "#47312 is claimed for this version, but these files do not contain it" in loud.err
    assert desk.run("apply").code == 0
    assert desk.run("check").code == 0
    assert fixes(desk, GRAMMAR) == {"47312": "contradicted"}


def test_the_files_prove_a_fix_that_the_version_number_does_not_claim(installed: Install) -> None:
    site = installed("0.26.0")
    relabel_installed(site, "0.26.0", "0.25.1")
    desk = Desk(site=site)
    assert fixes(desk, GRAMMAR) == {"47312": "proven"}
    assert facts(desk, GRAMMAR)[2] == "fixed"


def test_moved_evidence_is_no_fix(installed: Install) -> None:
    site = installed("0.26.0")
    moved = site / "vllm" / "v1" / "structured_output"
    moved.rename(site / "vllm" / "v1" / "structured_outputs")
    desk = Desk(site=site)
    assert set(fixes(desk, GRAMMAR).values()) <= {"moved", "unknown"}
    assert facts(desk, GRAMMAR)[2] != "fixed"


@pytest.mark.parametrize("version", ["0.20.0", "0.25.1"])
def test_neither_entry_moves_the_evidence_of_either(installed: Install, version: str) -> None:
    desk = Desk(site=installed(version))
    before = {id_: fixes(desk, id_) for id_ in (MM, GRAMMAR)}
    for id_ in (MM, GRAMMAR):
        assert desk.run("apply", id_).code == 0
        assert {other: fixes(desk, other) for other in (MM, GRAMMAR)} == before
    # The diffs must not prove the fix even where the ledger is lost and nobody knows that they are ours.
    shutil.rmtree(desk.site / ".patchctl")
    assert {other: fixes(desk, other) for other in (MM, GRAMMAR)} == before


def test_through_an_upgrade_and_back(installed: Install) -> None:
    site = installed("0.25.1")
    desk = Desk(site=site)
    assert desk.run("apply").code == 0

    installed("0.26.0", over=site)
    pristine = tree(site)
    assert facts(desk, MM) == ("range", "lost", "wanted", "apply")
    assert facts(desk, GRAMMAR)[1:] == ("lost", "fixed", "retire")
    assert desk.run("check").code == 1
    assert desk.run("apply").code == 0
    assert facts(desk, MM) == ("range", "applied", "wanted", "none")
    assert desk.run("check").code == 0
    retired = desk.json("retire")
    assert retired.code == 0
    assert retired.document["transaction"]["retired"] == [GRAMMAR]
    (record,) = json.loads((site / ".patchctl" / "ledger.json").read_text())["retirements"]
    assert record["builds"] == {"vllm": "0.26.0"}
    assert record["fixes"][0]["ref"] == "vllm-project/vllm#47312"
    assert record["fixes"][0]["evidence"]
    assert desk.run("revert", "--all").code == 0
    assert tree(site) == pristine

    installed("0.25.1", over=site)
    assert facts(desk, GRAMMAR)[1:] == ("applicable", "wanted", "apply")
    assert desk.run("apply").code == 0
    assert desk.run("check").code == 0


def test_record_is_the_oracle_and_stays_as_it_is(installed: Install) -> None:
    desk = Desk(site=installed("0.20.0"))
    record = next(desk.site.glob("vllm-*.dist-info")) / "RECORD"
    before = record.read_bytes()
    assert any("," in row[0] for row in csv.reader(before.decode().splitlines()))
    patch = desk.json("status", MM).patch(MM)
    assert {file["pristine"] for file in patch["files"]} == {True}
    desk.run("apply")
    patch = desk.json("status", MM).patch(MM)
    assert {file["pristine"] for file in patch["files"]} == {False}
    assert record.read_bytes() == before


@pytest.mark.parametrize("version", ["0.19.1", "0.20.0", "0.25.1", "0.33.0"])
@pytest.mark.parametrize("id_", [MM, GATE])
def test_what_is_applied_is_what_the_behaviour_tests_run(installed: Install, version: str, id_: str) -> None:
    """The tests in ``tests/entries`` run functions of the patched files; here these very bytes are installed."""
    from tests.entries import deepgemm_gate, mm_patched

    desk = Desk(site=installed(version))
    done = desk.json("apply", id_, "--despite-fix")
    assert done.code == 0
    assert desk.run("check", id_).code == 0
    gate = {deepgemm_gate.FILE: deepgemm_gate.files(version, patched=True)[deepgemm_gate.FILE]}
    expected = mm_patched.patched_files(version) if id_ == MM else gate
    assert {file["path"] for file in done.document["transaction"]["files"]} == set(expected)
    for path, data in expected.items():
        assert (desk.site / path).read_bytes() == data


def test_the_fixed_files_over_an_old_release_prove_the_fix(installed: Install) -> None:
    """Files that differ from RECORD, and that nobody recorded: somebody else's fix, not ours."""
    old, new = installed("0.25.1"), installed("0.26.0")
    for path in ("v1/structured_output/__init__.py", "v1/structured_output/request.py", "v1/core/sched/scheduler.py"):
        shutil.copyfile(new / "vllm" / path, old / "vllm" / path)
    desk = Desk(site=old)
    assert fixes(desk, GRAMMAR) == {"47312": "proven"}
    assert facts(desk, GRAMMAR)[2] == "fixed"
