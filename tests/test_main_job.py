"""The main job on miniature installations: status, check, apply, revert, hold, retire, and what comes between."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, tree
from tests.sites import Content, install, make_site

PATH = "vllm/engine.py"
BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 31))
LOW = BASE.replace(b"line_5 = 1\n", b"line_5 = five\n")
HIGH = BASE.replace(b"line_25 = 1\n", b"line_25 = twenty_five\n")
BOTH = LOW.replace(b"line_25 = 1\n", b"line_25 = twenty_five\n")
FIXED = BASE.replace(b"line_15 = 1\n", b"def step():\n    return fixed(15)\n")
FIX = {
    "ref": "vllm-project/vllm#1",
    "role": "fixes",
    "claimed": ">=0.26",
    "source": "https://example.org/1",
    "evidence": [{"file": "vllm/engine.py", "symbol": "step", "contains": "fixed(15)"}],
}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Two entries on one file, applied nowhere."""
    site = make_site(tmp_path, {PATH: BASE, "vllm/other.py": b"other = 1\n"}, build="0.25.1")
    registry = make_registry(tmp_path / "registry")
    add_entry(registry, "a-low", make_diff({PATH: (BASE, LOW)}))
    add_entry(registry, "b-high", make_diff({PATH: (BASE, HIGH)}))
    return Desk(site=site, registry=registry)


def state(desk: Desk, id_: str) -> tuple[str, str, str]:
    patch = desk.json("status", id_).patch(id_)
    return patch["verdict"], patch["need"], patch["action"]


def upgrade(desk: Desk, files: Mapping[str, bytes | Content], build: str) -> None:
    """What pip does: the old files go, the new ones come."""
    (old,) = desk.site.glob("*.dist-info")
    for path in old.iterdir():
        path.unlink()
    old.rmdir()
    for path in (desk.site / "vllm").rglob("*.py"):
        path.unlink()
    install(desk.site, files, build=build)


class TestApply:
    def test_brings_in_what_is_due_and_nothing_else_changes(self, desk: Desk) -> None:
        before = tree(desk.site)
        assert state(desk, "a-low") == ("applicable", "wanted", "apply")
        assert desk.run("check").code == 1
        assert desk.run("apply").code == 0
        assert desk.run("check").code == 0
        assert (desk.site / PATH).read_bytes() == BOTH
        after = tree(desk.site)
        assert {path for path in after if after[path] != before.get(path)} == {PATH}
        assert after[PATH][:3] == before[PATH][:3]
        assert state(desk, "a-low") == ("applied", "wanted", "none")

    def test_a_second_apply_writes_nothing(self, desk: Desk) -> None:
        desk.run("apply")
        before = tree(desk.site, but=())
        directories = {path: path.stat().st_mtime_ns for path in desk.site.rglob("*") if path.is_dir()}
        done = desk.run("apply")
        assert done.code == 0
        assert "nothing to do" in done.out
        assert tree(desk.site, but=()) == before
        assert {path: path.stat().st_mtime_ns for path in desk.site.rglob("*") if path.is_dir()} == directories

    def test_names_entries_files_and_the_restart(self, desk: Desk) -> None:
        done = desk.run("apply", "a-low")
        assert "applied\ta-low\tstate=committed" in done.out
        assert f"file\t{PATH}\tedit=modify" in done.out
        assert "restart your vLLM processes" in done.out

    def test_a_dry_run_shows_the_diff_and_writes_nothing(self, desk: Desk) -> None:
        before = tree(desk.site, but=())
        done = desk.run("apply", "--dry-run")
        assert done.code == 0
        assert "-line_5 = 1\n+line_5 = five\n" in done.out
        assert "state=planned" in done.out
        assert tree(desk.site, but=()) == before
        assert not (desk.site / ".patchctl").exists()

    def test_a_dry_run_exits_as_the_real_run_would(self, desk: Desk) -> None:
        (desk.site / PATH).write_bytes(BASE.replace(b"line_5 = 1\n", b"changed\n"))
        assert desk.run("apply", "--dry-run").code == desk.run("apply").code == 1

    def test_named_entries_are_all_or_nothing(self, desk: Desk) -> None:
        (desk.site / PATH).write_bytes(BASE.replace(b"line_5 = 1\n", b"changed\n"))
        before = tree(desk.site, but=())
        done = desk.run("apply", "a-low", "b-high")
        assert done.code == 1
        assert done.out == ""
        assert "a-low" in done.err
        assert "hint:" in done.err
        assert tree(desk.site, but=()) == before

    def test_bare_every_due_entry_stands_alone(self, desk: Desk) -> None:
        (desk.site / PATH).write_bytes(BASE.replace(b"line_5 = 1\n", b"changed\n"))
        done = desk.run("apply")
        assert done.code == 1
        assert "applied\tb-high" in done.out
        assert "a-low did not go in (conflict)" in done.err
        assert desk.run("check").code == 1

    def test_an_unknown_entry_is_a_usage_error_that_names_the_nearest(self, desk: Desk) -> None:
        done = desk.run("apply", "a-lwo")
        assert done.code == 2
        assert "did you mean a-low?" in done.err

    def test_a_change_that_is_there_unrecorded_is_not_applied_twice(self, desk: Desk) -> None:
        (desk.site / PATH).write_bytes(LOW)
        assert state(desk, "a-low") == ("present", "wanted", "adopt")
        assert desk.run("apply").code == 1
        assert (desk.site / PATH).read_bytes() == BOTH  # b-high stands alone
        assert desk.run("check").code == 1

    def test_the_build_itself_may_carry_the_change(self, tmp_path: Path, desk: Desk) -> None:
        site = make_site(tmp_path / "vendor", {PATH: LOW}, build="0.25.1")
        vendor = Desk(site=site, registry=desk.registry)
        assert state(vendor, "a-low") == ("present", "fixed", "none")
        assert vendor.run("apply", "a-low").code == 1

    def test_optional_entries_only_by_name_or_with_all(self, desk: Desk) -> None:
        assert desk.registry is not None
        add_entry(desk.registry, "a-low", make_diff({PATH: (BASE, LOW)}), default=False)
        assert state(desk, "a-low") == ("applicable", "optional", "none")
        desk.run("apply")
        assert (desk.site / PATH).read_bytes() == HIGH
        assert desk.run("check").code == 0
        assert desk.run("check", "--strict").code == 1
        assert desk.run("apply", "--all").code == 0
        assert (desk.site / PATH).read_bytes() == BOTH
        assert state(desk, "a-low") == ("applied", "wanted", "none")

    def test_adds_and_deletes_files_and_takes_both_back(self, tmp_path: Path) -> None:
        site = make_site(tmp_path, {PATH: BASE, "vllm/old.py": b"old\n"})
        registry = make_registry(tmp_path / "registry")
        diff = make_diff({"vllm/new/deep/fresh.py": (None, b"fresh\n"), "vllm/old.py": (b"old\n", None)})
        add_entry(registry, "moves", diff)
        desk, before = Desk(site=site, registry=registry), tree(site)
        assert desk.run("apply").code == 0
        assert (site / "vllm/new/deep/fresh.py").read_bytes() == b"fresh\n"
        assert not (site / "vllm/old.py").exists()
        assert desk.run("check").code == 0
        assert desk.run("revert", "moves").code == 0
        assert tree(site) == before

    def test_a_mode_survives_whatever_the_umask(self, tmp_path: Path, desk: Desk) -> None:
        (desk.site / PATH).chmod(0o640)
        desk.run("apply")
        assert (desk.site / PATH).stat().st_mode & 0o777 == 0o640


class TestRevert:
    def test_restores_bytes_mode_owner_and_mtime(self, desk: Desk) -> None:
        before = tree(desk.site)
        desk.run("apply")
        assert desk.run("revert", "--all").code == 0
        assert tree(desk.site) == before

    def test_the_lower_of_two_leaves_the_upper_exact(self, desk: Desk) -> None:
        desk.run("apply")
        assert desk.run("revert", "a-low").code == 0
        assert (desk.site / PATH).read_bytes() == HIGH
        assert state(desk, "b-high")[0] == "applied"
        assert desk.run("revert", "b-high").code == 0
        assert (desk.site / PATH).read_bytes() == BASE

    def test_works_after_the_registry_moved_on(self, desk: Desk) -> None:
        before = tree(desk.site)
        desk.run("apply")
        empty = Desk(site=desk.site, registry=make_registry(desk.site.parent / "empty"))
        add_entry(empty.registry or Path(), "unrelated", make_diff({PATH: (BASE, HIGH)}), default=False)
        assert state(empty, "a-low") == ("applied", "wanted", "none")
        assert empty.run("revert", "a-low", "b-high").code == 0
        assert tree(desk.site) == before

    def test_a_hold_keeps_it_out_and_check_says_why(self, desk: Desk) -> None:
        desk.run("apply")
        assert desk.run("revert", "a-low", "--hold", "breaks our grammar").code == 0
        assert desk.run("apply").code == 0
        assert (desk.site / PATH).read_bytes() == HIGH
        done = desk.run("check")
        assert done.code == 0
        assert "held: breaks our grammar" in done.out
        assert state(desk, "a-low") == ("applicable", "held", "none")
        refused = desk.run("apply", "a-low")
        assert refused.code == 1
        assert "patchctl unhold a-low" in refused.err
        assert desk.run("unhold", "a-low").code == 0
        assert desk.run("check").code == 1

    def test_what_is_required_stays(self, desk: Desk) -> None:
        assert desk.registry is not None
        other = make_diff({"vllm/other.py": (b"other = 1\n", b"other = 1\nmore = 2\n")})
        add_entry(desk.registry, "c-needs", other, requires=["a-low"])
        desk.run("apply")
        done = desk.run("revert", "a-low")
        assert done.code == 1
        assert "c-needs" in done.err
        assert desk.run("revert", "a-low", "c-needs").code == 0

    def test_of_what_is_not_applied_is_nothing_to_do(self, desk: Desk) -> None:
        done = desk.run("revert", "a-low")
        assert done.code == 0
        assert "a-low is not applied" in done.out
        assert not (desk.site / ".patchctl").exists()


class TestForeignEdits:
    def test_are_never_overwritten(self, desk: Desk) -> None:
        desk.run("apply")
        edited = BOTH + b"mine\n"
        (desk.site / PATH).write_bytes(edited)
        assert state(desk, "a-low") == ("drifted", "wanted", "inspect")
        for verb in (["apply"], ["apply", "a-low"], ["revert", "a-low"], ["revert", "--all"]):
            done = desk.run(*verb)
            assert done.code == 1, verb
            assert "edited after patchctl" in done.err
        assert desk.run("check").code == 1
        assert (desk.site / PATH).read_bytes() == edited

    def test_a_patched_file_that_is_gone_is_missing(self, desk: Desk) -> None:
        desk.run("apply")
        (desk.site / PATH).unlink()
        assert state(desk, "a-low")[0] == "missing"
        assert desk.run("check").code == 1
        assert desk.run("apply").code == 1

    def test_a_link_to_other_bytes_than_record_lists_is_not_followed(self, desk: Desk, tmp_path: Path) -> None:
        outside = tmp_path / "outside.py"
        outside.write_bytes(BASE + b"secret = 1\n")
        (desk.site / PATH).unlink()
        (desk.site / PATH).symlink_to(outside)
        done = desk.run("apply")
        assert done.code == 1
        assert "link" in done.err
        assert "secret" not in done.err + done.out
        assert outside.read_bytes() == BASE + b"secret = 1\n"


class TestReinstall:
    def test_over_it_is_lost_and_due_again(self, desk: Desk) -> None:
        desk.run("apply")
        (desk.site / PATH).write_bytes(BASE)
        assert state(desk, "a-low") == ("lost", "wanted", "apply")
        assert desk.run("check").code == 1
        assert desk.run("apply").code == 0
        assert (desk.site / PATH).read_bytes() == BOTH

    def test_state_that_travelled_with_pristine_files_is_lost_not_applied(self, desk: Desk) -> None:
        desk.run("apply")
        (desk.site / PATH).write_bytes(BASE)
        assert desk.run("revert", "--all").code == 0
        assert (desk.site / PATH).read_bytes() == BASE

    def test_an_upgrade_never_gets_an_old_original_back(self, desk: Desk) -> None:
        desk.run("apply")
        newer = b"import new\n" + BASE
        upgrade(desk, {PATH: newer}, "0.26.0")
        assert state(desk, "a-low") == ("lost", "wanted", "apply")
        assert desk.run("revert", "--all").code == 0
        assert (desk.site / PATH).read_bytes() == newer

    def test_an_upgrade_that_moved_the_lines_is_patched_at_their_new_place(self, desk: Desk) -> None:
        desk.run("apply")
        upgrade(desk, {PATH: b"import new\n" + BASE}, "0.26.0")
        assert desk.run("apply").code == 0
        assert (desk.site / PATH).read_bytes() == b"import new\n" + BOTH
        assert desk.run("check").code == 0

    def test_an_upgrade_that_ships_the_added_file_keeps_it(self, tmp_path: Path) -> None:
        site = make_site(tmp_path, {PATH: BASE})
        registry = make_registry(tmp_path / "registry")
        add_entry(registry, "adds", make_diff({"vllm/fresh.py": (None, b"fresh\n")}))
        desk = Desk(site=site, registry=registry)
        desk.run("apply")
        upgrade(desk, {PATH: BASE, "vllm/fresh.py": b"fresh\n"}, "0.26.0")
        assert state(desk, "adds") == ("lost", "fixed", "retire")
        assert desk.run("retire").code == 0
        assert (site / "vllm/fresh.py").read_bytes() == b"fresh\n"


class TestRevisions:
    def test_a_newer_one_comes_in_as_one_transaction(self, desk: Desk) -> None:
        assert desk.registry is not None
        desk.run("apply")
        better = BASE.replace(b"line_5 = 1\n", b"line_5 = FIVE\n")
        add_entry(desk.registry, "a-low", make_diff({PATH: (BASE, better)}), revision=2)
        assert state(desk, "a-low") == ("applied", "wanted", "apply")
        done = desk.json("apply")
        assert done.code == 0
        assert done.document["transaction"]["applied"] == ["a-low"]
        assert (desk.site / PATH).read_bytes() == BOTH.replace(b"five", b"FIVE", 1)
        assert desk.run("revert", "a-low").code == 0
        assert (desk.site / PATH).read_bytes() == HIGH

    def test_applying_another_entry_leaves_the_old_one_alone(self, desk: Desk) -> None:
        assert desk.registry is not None
        desk.run("apply", "a-low")
        better = BASE.replace(b"line_5 = 1\n", b"line_5 = FIVE\n")
        add_entry(desk.registry, "a-low", make_diff({PATH: (BASE, better)}), revision=2)
        assert desk.run("apply", "b-high").code == 0
        assert (desk.site / PATH).read_bytes() == BOTH

    def test_a_replacement_takes_the_old_entry_out(self, desk: Desk) -> None:
        assert desk.registry is not None
        desk.run("apply")
        better = BASE.replace(b"line_5 = 1\n", b"line_5 = FIVE\n")
        add_entry(desk.registry, "c-better", make_diff({PATH: (BASE, better)}), replaces=["a-low"])
        assert state(desk, "a-low") == ("applied", "wanted", "none")
        assert state(desk, "c-better")[2] == "apply"
        done = desk.json("apply")
        assert done.code == 0
        assert done.document["transaction"]["reverted"] == ["a-low"]
        assert (desk.site / PATH).read_bytes() == BOTH.replace(b"five", b"FIVE", 1)
        assert desk.run("check").code == 0

    def test_conflicting_entries_never_stand_together(self, desk: Desk) -> None:
        assert desk.registry is not None
        desk.run("apply", "a-low")
        add_entry(desk.registry, "b-high", make_diff({PATH: (BASE, HIGH)}), conflicts=["a-low"])
        done = desk.run("apply", "b-high")
        assert done.code == 1
        assert "conflicts with a-low" in done.err
        assert (desk.site / PATH).read_bytes() == LOW

    def test_what_is_required_comes_in_first(self, desk: Desk) -> None:
        assert desk.registry is not None
        more = LOW.replace(b"line_5 = five\n", b"line_5 = five + half\n")
        add_entry(desk.registry, "a-low", make_diff({PATH: (BASE, LOW)}), default=False)
        add_entry(desk.registry, "0-above", make_diff({PATH: (LOW, more)}), requires=["a-low"])
        assert state(desk, "0-above") == ("applicable", "wanted", "apply")
        done = desk.json("apply", "0-above")
        assert done.code == 0
        assert done.document["transaction"]["applied"] == ["a-low", "0-above"]
        assert (desk.site / PATH).read_bytes() == more


class TestEvidence:
    @pytest.fixture
    def proved(self, tmp_path: Path) -> Desk:
        site = make_site(tmp_path, {PATH: BASE}, build="0.25.1")
        registry = make_registry(tmp_path / "registry")
        add_entry(registry, "a-low", make_diff({PATH: (BASE, LOW)}), fixes=[FIX])
        return Desk(site=site, registry=registry)

    def fix(self, desk: Desk) -> str:
        return str(desk.json("status", "a-low").patch("a-low")["fixes"][0]["status"])

    def test_absent_proven_contradicted(self, tmp_path: Path, proved: Desk) -> None:
        assert self.fix(proved) == "absent"
        upgrade(proved, {PATH: FIXED}, "0.26.0")
        assert self.fix(proved) == "proven"
        upgrade(proved, {PATH: BASE.replace(b"line_15 = 1\n", b"def step():\n    return 1\n")}, "0.26.0")
        assert self.fix(proved) == "contradicted"
        assert state(proved, "a-low") == ("applicable", "wanted", "apply")

    def test_a_missing_file_is_never_a_fix(self, proved: Desk) -> None:
        upgrade(proved, {"vllm/other.py": b""}, "0.26.0")
        assert self.fix(proved) == "unknown"
        assert state(proved, "a-low")[0] == "missing"

    def test_a_moved_file_is_no_fix(self, proved: Desk) -> None:
        upgrade(proved, {"vllm/core/engine.py": FIXED}, "0.26.0")
        assert self.fix(proved) == "moved"

    def test_naming_a_fixed_entry_is_refused_and_despite_fix_applies_it(self, proved: Desk) -> None:
        upgrade(proved, {PATH: FIXED}, "0.26.0")
        done = proved.run("apply", "a-low")
        assert done.code == 1
        assert "--despite-fix" in done.err
        assert proved.run("apply", "a-low", "--despite-fix").code == 0
        assert state(proved, "a-low") == ("applied", "fixed", "none")
        assert proved.run("check").code == 0

    def test_an_entry_does_not_prove_itself(self, tmp_path: Path) -> None:
        before = BASE.replace(b"line_15 = 1\n", b"def step():\n    return 1\n")
        after = BASE.replace(b"line_15 = 1\n", b"def step():\n    return fixed(15)\n")
        site = make_site(tmp_path, {PATH: before}, build="0.25.1")
        registry = make_registry(tmp_path / "registry")
        add_entry(registry, "backport", make_diff({PATH: (before, after)}), kind="backport", fixes=[FIX])
        desk = Desk(site=site, registry=registry)
        assert desk.run("apply").code == 0
        assert state(desk, "backport") == ("applied", "wanted", "none")

    def test_retire_takes_it_out_and_records_the_proof(self, proved: Desk) -> None:
        proved.run("apply")
        assert proved.run("retire", "a-low").code == 1
        upgrade(proved, {PATH: FIXED}, "0.26.0")
        assert state(proved, "a-low") == ("lost", "fixed", "retire")
        assert proved.run("check").code == 0
        assert proved.run("check", "--strict").code == 1
        assert proved.run("apply").code == 0
        done = proved.json("retire")
        assert done.code == 0
        assert done.document["transaction"]["retired"] == ["a-low"]
        ledger = json.loads((proved.site / ".patchctl" / "ledger.json").read_text())
        (retired,) = ledger["retirements"]
        assert retired["fixes"][0]["ref"] == "vllm-project/vllm#1"
        assert retired["builds"] == {"vllm": "0.26.0"}
        assert (proved.site / PATH).read_bytes() == FIXED
        upgrade(proved, {PATH: BASE}, "0.25.1")
        assert state(proved, "a-low") == ("applicable", "wanted", "apply")

    def test_an_applied_entry_is_retired_byte_for_byte(self, proved: Desk) -> None:
        upgrade(proved, {PATH: FIXED}, "0.26.0")
        proved.run("apply", "a-low", "--despite-fix")
        assert proved.run("retire", "a-low").code == 0
        assert (proved.site / PATH).read_bytes() == FIXED


class TestBuilds:
    def test_a_build_nobody_names_is_not_fine(self, tmp_path: Path, desk: Desk) -> None:
        site = make_site(tmp_path / "acme", {PATH: BASE}, build="0.25.1+acme.7")
        acme = Desk(site=site, registry=desk.registry)
        assert state(acme, "a-low") == ("applicable", "unknown-build", "port")
        assert acme.run("check").code == 1
        assert acme.run("apply").code == 1
        named = acme.run("apply", "a-low")
        assert named.code == 1
        assert "--assume-build" in named.err
        assert (site / PATH).read_bytes() == BASE

    def test_an_assumed_build_is_shown_until_it_is_taken_back(self, tmp_path: Path, desk: Desk) -> None:
        site = make_site(tmp_path / "acme", {PATH: BASE}, build="0.25.1+acme.7")
        acme = Desk(site=site, registry=desk.registry)
        assert acme.run("apply", "a-low", "--assume-build", "0.25.1").code == 0
        patch = acme.json("status", "a-low").patch("a-low")
        assert patch["assumed_build"] == "0.25.1"
        assert patch["match"]["rule"] == "assumed"
        assert acme.run("check", "a-low").code == 0

    def test_a_build_whose_bytes_do_not_fit_is_not_concerned(self, tmp_path: Path, desk: Desk) -> None:
        site = make_site(tmp_path / "acme", {PATH: b"something else\n"}, build="0.25.1+acme.7")
        acme = Desk(site=site, registry=desk.registry)
        assert state(acme, "a-low")[1:] == ("not-concerned", "none")
        assert acme.run("check").code == 0

    def test_a_file_of_nobody_is_not_patched(self, tmp_path: Path) -> None:
        site = make_site(tmp_path, {PATH: BASE, "vllm/stray.py": Content(data=BASE, listed=False)})
        registry = make_registry(tmp_path / "registry")
        add_entry(registry, "strays", make_diff({"vllm/stray.py": (BASE, LOW)}))
        desk = Desk(site=site, registry=registry)
        done = desk.run("apply")
        assert done.code == 1
        assert "not listed in RECORD" in done.err

    def test_works_without_record_on_hashes_with_a_warning(self, tmp_path: Path, desk: Desk) -> None:
        site = make_site(tmp_path / "bare", {PATH: BASE}, build="0.25.1", record=False)
        bare = Desk(site=site, registry=desk.registry)
        done = bare.run("apply")
        assert done.code == 0
        assert "no RECORD" in done.err
        assert (site / PATH).read_bytes() == BOTH

    def test_without_record_the_top_level_packages_are_the_bound(self, tmp_path: Path) -> None:
        site = make_site(tmp_path, {PATH: BASE, "torch/engine.py": BASE}, record=False)
        registry = make_registry(tmp_path / "registry")
        add_entry(registry, "strays", make_diff({"torch/engine.py": (BASE, LOW)}))
        done = Desk(site=site, registry=registry).run("apply")
        assert done.code == 1
        assert "torch is not a package of vllm" in done.err
        assert (site / "torch/engine.py").read_bytes() == BASE


def documents(desk: Desk) -> Any:
    return [desk.json(verb).document for verb in ("status", "check", "list")]


def test_answers_do_not_depend_on_who_asks_twice(desk: Desk) -> None:
    assert documents(desk) == documents(desk)


def test_a_held_entry_is_not_retired_either(tmp_path: Path) -> None:
    site = make_site(tmp_path, {PATH: FIXED}, build="0.26.0")
    registry = make_registry(tmp_path / "registry")
    patched = FIXED.replace(b"line_5 = 1\n", b"line_5 = five\n")
    add_entry(registry, "a-low", make_diff({PATH: (FIXED, patched)}), fixes=[FIX])
    desk = Desk(site=site, registry=registry)
    assert desk.run("apply", "a-low", "--despite-fix").code == 0
    assert desk.run("hold", "a-low", "--reason", "a safety net").code == 0
    assert state(desk, "a-low") == ("applied", "fixed", "none")
    assert desk.run("retire").code == 0
    assert (site / PATH).read_bytes() == patched
    named = desk.run("retire", "a-low")
    assert named.code == 1
    assert "held: a safety net" in named.err


def test_byte_code_below_a_pycache_prefix_is_purged_too(tmp_path: Path, desk: Desk) -> None:
    prefix = tmp_path / "pycache"
    mirror = prefix / str(desk.site / "vllm").lstrip("/")
    mirror.mkdir(parents=True)
    stale, other = mirror / "engine.cpython-310.pyc", mirror / "other.cpython-310.pyc"
    stale.write_bytes(b"old")
    other.write_bytes(b"old")
    assert desk.run("apply", env={"PYTHONPYCACHEPREFIX": str(prefix)}).code == 0
    assert not stale.exists()
    assert other.exists()


def test_the_variable_that_chose_the_environment_is_named(desk: Desk) -> None:
    from tests.running import patchctl

    done = patchctl("status", "--json", "--registry", str(desk.registry), env={"PATCHCTL_SITE": str(desk.site)})
    assert done.document["target"]["origin"] == "PATCHCTL_SITE"
