"""Upgrades, prepared and not: what is applied goes for a clean base, and comes back afterwards or is retired."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from patchctl.commands import Allowed, Place
from patchctl.commands.scene import gather
from patchctl.commands.upcoming import judged_candidate
from patchctl.commands.upgrade_steps import upgrade_steps
from patchctl.model import sha256_hex
from tests.contract import complaints
from tests.environments import make_environment
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, Done, killed_at, on_a_terminal, patchctl, tree
from tests.sites import install, make_site
from tests.small_wheels import make_wheel
from tests.wheels import relabelled, slim_wheel

ONE, TWO, ADDED, INIT = "vllm/one.py", "vllm/two.py", "vllm/added.py", "vllm/__init__.py"
BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 31))
LOW = BASE.replace(b"line_5 = 1\n", b"line_5 = 5\n")
HIGH = BASE.replace(b"line_25 = 1\n", b"line_25 = 5\n")
NEWER = b"# a newer header\n" + BASE
BUG = b"class Runner:\n    def step(self):\n        return self\n"
FIX = b"class Runner:\n    def step(self):\n        return guard(self)\n"
EVIDENCE = {"file": TWO, "symbol": "Runner.step", "contains": "guard(self)"}
FIXED_BY = {"ref": "x/y#1", "role": "fixes", "claimed": ">=0.26", "source": "https://x", "evidence": [EVIDENCE]}
OLD: Mapping[str, bytes] = {ONE: BASE, TWO: BUG, INIT: b""}
NEW: Mapping[str, bytes] = {ONE: NEWER, TWO: FIX, INIT: b""}
ASIDE = "taken out for the upgrade to 0.26.0 (retire --for)"


def make_entries(registry: Path) -> Path:
    """One entry that a newer build still needs, one that it has the fix of, an optional one."""
    add_entry(registry, "a-returns", make_diff({ONE: (BASE, LOW)}))
    add_entry(registry, "b-retires", make_diff({TWO: (BUG, FIX)}), fixes=[FIXED_BY])
    add_entry(registry, "c-optional", make_diff({ADDED: (None, b"added = 1\n")}), default=False)
    return registry


@pytest.fixture
def bare(tmp_path: Path) -> Desk:
    site = make_site(tmp_path, OLD, build="0.25.1")
    return Desk(site=site, registry=make_entries(make_registry(tmp_path / "registry")))


@pytest.fixture
def desk(bare: Desk) -> Desk:
    assert bare.run("apply", "--all").code == 0
    return bare


@pytest.fixture
def wheel(tmp_path: Path) -> str:
    return str(make_wheel(tmp_path, list(NEW.items()), build="0.26.0"))


def upgrade(desk: Desk, files: Mapping[str, bytes] = NEW, build: str = "0.26.0") -> None:
    """What an installer does: the files of the old RECORD go, and those of the new one come."""
    for info in desk.site.glob("vllm-*.dist-info"):
        for row in (info / "RECORD").read_text().split("\n"):
            path = desk.site / row.partition(",")[0]
            if row and not row.startswith("..") and path.is_file():
                path.unlink()
        shutil.rmtree(info)
    install(desk.site, files, build=build)


def stand(desk: Desk, id_: str) -> tuple[str, str, str]:
    patch = desk.json("status", id_).patch(id_)
    return patch["verdict"], patch["need"], patch["action"]


def reason(desk: Desk, id_: str) -> str:
    text = desk.json("status", id_).patch(id_)["reason"]
    assert isinstance(text, str)
    return text


def promises(done: Done) -> dict[str, str]:
    return {patch["id"]: patch["set_aside"]["expected"] for patch in done.document["patches"]}


def codes(done: Done) -> list[str]:
    return [error["code"] for error in done.document["errors"]]


class TestSettingAside:
    def test_gives_every_byte_back_and_keeps_the_receipts(self, bare: Desk, wheel: str) -> None:
        before = tree(bare.site)
        assert bare.run("apply", "--all").code == 0
        done = bare.json("retire", "--for", wheel)
        assert done.code == 0
        assert tree(bare.site) == before
        document = done.document
        assert complaints(document) == []
        change = document["transaction"]
        assert (change["set_aside"], change["reverted"], change["retired"]) == (
            ["a-returns", "b-retires", "c-optional"],
            [],
            [],
        )
        assert promises(done) == {"a-returns": "returns", "b-retires": "retires", "c-optional": "returns"}
        (mark,) = {str(patch["set_aside"]["builds"]) for patch in document["patches"]}
        assert mark == "{'vllm': '0.26.0'}"

    def test_leaves_the_protection_due_on_the_old_build(self, desk: Desk, wheel: str) -> None:
        assert desk.run("retire", "--for", wheel).code == 0
        assert desk.run("check").code == 1
        for id_ in ("a-returns", "b-retires", "c-optional"):
            assert stand(desk, id_) == ("lost", "wanted", "apply")
            assert reason(desk, id_) == f"{ASIDE}, which is not installed yet; to bring it back: patchctl apply"
        assert desk.run("apply").code == 0
        assert desk.run("check").code == 0
        for id_ in ("a-returns", "b-retires", "c-optional"):
            assert stand(desk, id_)[0] == "applied"
            assert desk.json("status", id_).patch(id_)["set_aside"] is None

    def test_says_what_to_run_next_and_a_dry_run_says_itself_first(self, desk: Desk, wheel: str) -> None:
        before = tree(desk.site, but=())
        where = f"--site {desk.site} --registry {desk.registry}"
        install_it = f"python3 -m pip install --upgrade --target {desk.site} {wheel}"
        rest = [f"patchctl {verb} {where}" for verb in ("apply", "retire", "check")]
        planned = desk.json("retire", "--for", wheel, "--dry-run").document
        remove = f"rm -r {desk.site}/vllm-0.25.1.dist-info"
        assert planned["steps"] == [f"patchctl retire --for {wheel} {where}", install_it, remove, *rest]
        assert tree(desk.site, but=()) == before
        assert desk.json("retire", "--for", wheel).document["steps"] == [install_it, remove, *rest]
        again = desk.run("retire", "--for", wheel, env={"SOURCE_DATE_EPOCH": "2000000000"})
        assert again.code == 0
        assert "nothing to do" in again.out
        assert f"step\t1\t{install_it}" in again.out

    def test_of_the_very_build_is_a_reinstall_after_which_everything_returns(self, desk: Desk, tmp_path: Path) -> None:
        same = str(make_wheel(tmp_path, list(OLD.items())))
        done = desk.json("retire", "--for", same)
        assert {patch["set_aside"]["expected"] for patch in done.document["patches"]} == {"returns"}
        assert "--force-reinstall --no-deps" in done.document["steps"][0]
        upgrade(desk, OLD, "0.25.1")
        assert desk.run("apply").code == 0
        assert desk.run("check", "--strict").code == 0
        assert desk.run("revert", "--all").code == 0

    def test_of_an_extracted_wheel_is_the_same(self, desk: Desk, wheel: str, tmp_path: Path) -> None:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(tmp_path / "extracted")
        done = desk.json("retire", "--for", str(tmp_path / "extracted"), "--dry-run")
        assert done.document["transaction"]["set_aside"] == ["a-returns", "b-retires", "c-optional"]
        assert "vllm==0.26.0" in done.document["steps"][1]

    def test_goes_with_no_ids(self, desk: Desk, wheel: str) -> None:
        done = desk.json("retire", "a-returns", "--for", wheel)
        assert (done.code, codes(done)) == (2, ["ids-with-for"])

    def test_of_nothing_that_is_applied_writes_nothing(self, bare: Desk, wheel: str) -> None:
        before = tree(bare.site, but=())
        done = bare.json("retire", "--for", wheel)
        assert (done.code, done.document["transaction"]) == (0, None)
        assert not any("retire" in step for step in done.document["steps"])
        assert tree(bare.site, but=()) == before

    def test_leaves_in_what_the_wheel_does_not_touch(self, bare: Desk, wheel: str) -> None:
        assert bare.registry is not None
        install(bare.site, {"aiter/ops.py": BASE, "aiter/__init__.py": b""}, name="aiter", build="1.0")
        own = make_diff({"aiter/ops.py": (BASE, LOW)})
        add_entry(bare.registry, "d-aiter", own, distribution="aiter", default=False)
        folder = add_entry(bare.registry, "a-returns", make_diff({ONE: (BASE, LOW)}))
        spans = make_diff({"aiter/ops.py": (BASE, HIGH)})
        (folder / "aiter.diff").write_bytes(spans)
        with (folder / "patch.toml").open("a") as text:
            text.write(f'\n[[variant]]\ndistribution = "aiter"\ndiff = "aiter.diff"\nsha256 = "{sha256_hex(spans)}"\n')
            text.write('versions = ">=0"\n')
        assert bare.run("apply", "d-aiter").code == 0
        assert bare.run("apply").code == 0
        both = (bare.site / "aiter/ops.py").read_bytes()
        done = bare.json("retire", "--for", wheel)
        assert done.document["transaction"]["set_aside"] == ["a-returns", "b-retires"]
        assert (bare.site / "aiter/ops.py").read_bytes() == LOW
        assert stand(bare, "d-aiter")[0] == "applied"
        upgrade(bare)
        assert bare.run("apply").code == 0
        assert bare.run("check").code == 0
        assert (bare.site / "aiter/ops.py").read_bytes() == both

    def test_of_the_environment_itself_is_refused(self, desk: Desk) -> None:
        done = desk.json("retire", "--for", str(desk.site))
        assert (done.code, codes(done)) == (3, ["no-candidate"])

    def test_for_another_candidate_marks_anew(self, desk: Desk, wheel: str, tmp_path: Path) -> None:
        assert desk.run("retire", "--for", wheel).code == 0
        (tmp_path / "other").mkdir()
        other = str(make_wheel(tmp_path / "other", list(OLD.items()), build="0.25.2"))
        assert desk.run("retire", "--for", other).code == 0
        assert desk.json("status", "b-retires").patch("b-retires")["set_aside"] == {
            "builds": {"vllm": "0.25.2"},
            "fingerprints": {"vllm": desk.json("status").patch("b-retires")["set_aside"]["fingerprints"]["vllm"]},
            "expected": "returns",
        }

    def test_killed_on_the_way_leaves_all_or_nothing(self, desk: Desk, wheel: str) -> None:
        before = tree(desk.site)
        killed_at(desk, "two.py", "retire", "--for", wheel)
        assert desk.run("check").code == 4
        assert desk.run("recover").code == 0
        assert tree(desk.site) == before
        assert desk.run("check").code == 0


class TestRefusals:
    def test_of_what_would_be_lost_write_nothing(self, desk: Desk, tmp_path: Path) -> None:
        bad = str(make_wheel(tmp_path, list({**NEW, ONE: b"rewritten = 1\n"}.items()), build="0.26.0"))
        before = tree(desk.site, but=())
        done = desk.json("retire", "--for", bad)
        assert (done.code, codes(done)) == (1, ["would-be-lost"])
        (error,) = done.document["errors"]
        assert error["patch"] == "a-returns"
        assert "patchctl revert a-returns" in error["hint"]
        assert "steps" not in done.document
        assert tree(desk.site, but=()) == before
        # the operator decides
        assert desk.run("hold", "a-returns", "--reason", "not used there").code == 0
        assert desk.run("retire", "--for", bad).code == 0
        upgrade(desk, {**NEW, ONE: b"rewritten = 1\n"})
        assert stand(desk, "a-returns") == ("lost", "held", "none")
        assert desk.run("apply").code == 0
        assert desk.run("check").code == 0

    def test_of_an_edited_file_write_nothing(self, desk: Desk, wheel: str) -> None:
        with (desk.site / ONE).open("ab") as file:
            file.write(b"edited = 1\n")
        before = tree(desk.site, but=())
        done = desk.json("retire", "--for", wheel)
        assert (done.code, codes(done)) == (1, ["does-not-fit"])
        assert tree(desk.site, but=()) == before

    def test_of_a_diff_that_is_gone_write_nothing(self, desk: Desk, wheel: str) -> None:
        shutil.rmtree(desk.site / ".patchctl/patches")
        done = desk.json("retire", "--for", wheel)
        assert done.code != 0
        assert "recorded-diff-gone" in codes(done)
        assert (desk.site / ONE).read_bytes() == LOW

    def test_of_no_candidate_cannot_answer(self, desk: Desk) -> None:
        done = desk.json("retire", "--for", "gone.whl")
        assert (done.code, codes(done)) == (3, ["no-candidate"])


class TestAfterwards:
    def test_what_is_due_returns_and_what_is_proven_retires(self, desk: Desk, wheel: str) -> None:
        assert desk.run("retire", "--for", wheel).code == 0
        upgrade(desk)
        assert stand(desk, "a-returns") == ("lost", "wanted", "apply")
        assert stand(desk, "b-retires") == ("lost", "fixed", "retire")
        assert reason(desk, "b-retires") == (
            "the upgrade from 0.25.1 to 0.26.0 brought the fix; proven in the installed bytes: x/y#1; "
            "to record it: patchctl retire"
        )
        assert desk.json("apply").document["transaction"]["applied"] == ["a-returns", "c-optional"]
        assert desk.json("retire").document["transaction"]["retired"] == ["b-retires"]
        assert desk.run("check", "--strict").code == 0
        assert (desk.site / ONE).read_bytes() == b"# a newer header\n" + LOW
        assert (desk.site / TWO).read_bytes() == FIX
        assert desk.run("revert", "--all").code == 0
        assert (desk.site / ONE).read_bytes() == NEWER

    def test_applying_others_leaves_what_is_set_aside_as_it_is(self, desk: Desk, wheel: str) -> None:
        assert desk.run("retire", "--for", wheel).code == 0
        assert desk.run("apply", "c-optional").code == 0
        assert stand(desk, "c-optional")[0] == "applied"
        assert reason(desk, "a-returns") == f"{ASIDE}, which is not installed yet; to bring it back: patchctl apply"

    def test_reverting_what_is_set_aside_drops_it(self, desk: Desk, wheel: str) -> None:
        assert desk.run("retire", "--for", wheel).code == 0
        done = desk.json("revert", "c-optional")
        assert (done.code, done.document["transaction"]["reverted"]) == (0, ["c-optional"])
        assert stand(desk, "c-optional") == ("applicable", "optional", "none")

    def test_what_is_held_in_comes_back(self, desk: Desk, wheel: str) -> None:
        assert desk.run("hold", "c-optional", "--reason", "we need it").code == 0
        assert desk.run("retire", "--for", wheel).code == 0
        assert stand(desk, "c-optional") == ("lost", "held", "apply")
        upgrade(desk)
        assert stand(desk, "c-optional") == ("lost", "held", "apply")
        assert desk.run("check").code == 1
        assert desk.run("apply").code == 0
        assert stand(desk, "c-optional") == ("applied", "held", "none")
        assert desk.run("check").code == 0

    def test_what_requires_a_held_entry_comes_back_with_it(self, bare: Desk, wheel: str) -> None:
        assert bare.registry is not None
        add_entry(bare.registry, "d-needs", make_diff({ONE: (BASE, HIGH)}), requires=["c-optional"])
        assert bare.run("apply").code == 0
        assert bare.run("hold", "c-optional", "--reason", "we need it").code == 0
        expected = promises(bare.json("retire", "--for", wheel))
        assert (expected["c-optional"], expected["d-needs"]) == ("returns", "returns")
        upgrade(bare)
        assert bare.run("apply").code == 0
        assert bare.run("check").code == 0
        assert stand(bare, "d-needs")[0] == "applied"

    def test_what_takes_its_place_takes_it_out(self, desk: Desk, wheel: str) -> None:
        assert desk.registry is not None
        add_entry(desk.registry, "d-replaces", make_diff({ONE: (BASE, HIGH)}), replaces=["a-returns"])
        expected = promises(desk.json("retire", "--for", wheel))
        assert expected["a-returns"] == "returns"
        upgrade(desk)
        assert desk.json("apply").document["transaction"]["applied"] == ["c-optional", "d-replaces"]
        assert desk.run("check").code == 0
        assert (desk.site / ONE).read_bytes() == b"# a newer header\n" + HIGH

    def test_the_word_for_one_build_does_not_hold_for_the_next(self, bare: Desk, tmp_path: Path) -> None:
        upgrade(bare, {**OLD, INIT: b"guard = 1\n"}, "0.25.1+odd")
        assert bare.registry is not None
        shutil.rmtree(bare.registry / "vllm/c-optional")
        variant = {"versions": ">=0.25", "label": "none"}
        add_entry(bare.registry, "a-returns", make_diff({ONE: (BASE, LOW)}), variant=variant)
        assert bare.run("apply", "a-returns", "--assume-build", "0.25.1").code == 0
        wheel = str(make_wheel(tmp_path, list(NEW.items()), build="0.26.0"))
        assert bare.run("retire", "--for", wheel).code == 0
        assert bare.json("status", "a-returns").patch("a-returns")["assumed_build"] == "0.25.1"
        upgrade(bare)
        assert bare.run("apply", "a-returns").code == 0
        assert bare.json("status", "a-returns").patch("a-returns")["assumed_build"] is None

    def test_what_was_applied_despite_a_fix_returns_on_the_same_build_alone(self, bare: Desk, tmp_path: Path) -> None:
        files = {**OLD, TWO: FIX}
        upgrade(bare, files, "0.25.1")
        assert bare.registry is not None
        diff = make_diff({ONE: (BASE, HIGH)})
        add_entry(bare.registry, "b-retires", diff, fixes=[FIXED_BY])
        assert bare.run("apply", "b-retires", "--despite-fix").code == 0
        same = str(make_wheel(tmp_path, list(files.items())))
        assert bare.run("retire", "--for", same).code == 0
        assert stand(bare, "b-retires") == ("lost", "fixed", "apply")
        assert bare.run("apply").code == 0
        assert stand(bare, "b-retires") == ("applied", "fixed", "none")
        newer = str(make_wheel(tmp_path, list(NEW.items()), build="0.26.0"))
        assert bare.run("retire", "--for", newer).code == 0
        upgrade(bare)
        assert stand(bare, "b-retires") == ("lost", "fixed", "retire")

    def test_and_where_it_is_needed_it_comes_back_without_that_word(self, bare: Desk, tmp_path: Path) -> None:
        upgrade(bare, {**OLD, TWO: FIX}, "0.25.1")
        assert bare.registry is not None
        add_entry(bare.registry, "b-retires", make_diff({ONE: (BASE, HIGH)}), fixes=[FIXED_BY])
        assert bare.run("apply", "b-retires", "--despite-fix").code == 0
        wheel = str(make_wheel(tmp_path, list(OLD.items()), build="0.26.0"))
        assert bare.run("retire", "--for", wheel).code == 0
        upgrade(bare, OLD, "0.26.0")
        assert bare.run("apply", "b-retires").code == 0
        assert bare.json("status", "b-retires").patch("b-retires")["despite_fix"] is False


class TestWords:
    """What an operator reads is true where it stands, and every command named in it does what it says."""

    def test_a_downgrade_is_called_one(self, desk: Desk) -> None:
        upgrade(desk, {**OLD, INIT: b"# older"}, build="0.24.0")
        assert reason(desk, "a-returns").startswith("lost by the downgrade from 0.25.1 to 0.24.0: ")

    def test_another_label_is_neither_up_nor_down(self, desk: Desk) -> None:
        upgrade(desk, NEW, build="0.25.1+das")
        assert reason(desk, "b-retires").startswith("the change from 0.25.1 to 0.25.1+das brought the fix; ")

    def test_another_build_than_the_one_meant_is_told(self, desk: Desk, wheel: str) -> None:
        assert desk.run("retire", "--for", wheel).code == 0
        upgrade(desk, NEW, build="0.27.0")
        assert reason(desk, "a-returns") == f"{ASIDE}, but 0.27.0 is installed; to bring it back: patchctl apply"
        upgrade(desk, NEW, build="0.26.0")
        assert reason(desk, "a-returns") == f"{ASIDE}; to bring it back: patchctl apply"

    def test_what_is_held_and_proven_fixed_is_counted_and_told_to_be_freed_first(self, desk: Desk, wheel: str) -> None:
        assert desk.run("retire", "--for", wheel).code == 0
        assert desk.run("hold", "b-retires", "--reason", "wait").code == 0
        upgrade(desk)
        assert reason(desk, "b-retires").endswith("; to record it: patchctl unhold b-retires && patchctl retire")
        assert "1 held: b-retires" in desk.run("status").out
        assert desk.run("retire", "b-retires").code == 1
        assert desk.run("unhold", "b-retires").code == 0
        assert reason(desk, "b-retires").endswith("x/y#1; to record it: patchctl retire")
        assert desk.run("retire", "b-retires").code == 0

    def test_what_is_held_in_and_comes_back_is_no_reason_for_a_warning(self, desk: Desk, wheel: str) -> None:
        assert desk.run("hold", "a-returns", "--reason", "wait").code == 0
        assert desk.json("retire", "--for", wheel).document["warnings"] == []
        upgrade(desk, {**NEW, ONE: b"other = 1\n"})
        warned = [warning["code"] for warning in desk.json("status").document["warnings"]]
        assert warned == ["held-not-in"]

    def test_preflight_does_not_send_back_what_was_taken_out_for_the_upgrade(self, desk: Desk, wheel: str) -> None:
        assert desk.run("retire", "--for", wheel).code == 0
        (found,) = desk.json("preflight", wheel).document["candidates"]
        assert {about for patch in found["patches"] for about in patch["about"] if about.startswith("now: ")} == {
            f"now: {ASIDE}"
        }

    def test_what_another_entry_replaces_is_not_said_to_come_back(self, desk: Desk, wheel: str) -> None:
        assert desk.registry is not None
        add_entry(desk.registry, "r-new", make_diff({ONE: (BASE, HIGH)}), replaces=["a-returns"])
        notes = desk.json("retire", "--for", wheel).document["notes"]
        assert "a-returns stays out after the upgrade: r-new takes its place" in notes

    def test_a_recorded_entry_that_does_not_load_is_not_said_to_be_unknown(self, desk: Desk) -> None:
        assert desk.registry is not None
        (desk.registry / "vllm" / "a-returns" / "patch.toml").write_text("id =")
        upgrade(desk, {**NEW, INIT: b"# newer"})
        assert reason(desk, "a-returns").endswith(": its registry entry is broken")


class TestUnprepared:
    """An installer over patched files: nobody said anything to patchctl before."""

    def test_the_new_fingerprint_tells_due_again_from_retired_by_proof(self, desk: Desk) -> None:
        upgrade(desk)
        assert stand(desk, "a-returns") == ("lost", "wanted", "apply")
        assert reason(desk, "a-returns") == (
            "lost by the upgrade from 0.25.1 to 0.26.0: vllm/one.py was replaced by another build; due again"
        )
        assert stand(desk, "b-retires") == ("lost", "fixed", "retire")
        assert "brought the fix" in reason(desk, "b-retires")
        assert desk.run("apply").code == 0
        assert desk.run("retire").code == 0
        assert desk.run("check", "--strict").code == 0
        assert reason(desk, "b-retires") == "retired by proof in 0.26.0; proven in the installed bytes: x/y#1"
        retirement = desk.json("status", "b-retires").patch("b-retires")["retirement"]
        assert (retirement["builds"], retirement["revision"]) == ({"vllm": "0.26.0"}, 1)
        assert retirement["fixes"][0]["ref"] == "x/y#1"

    def test_a_rebuild_of_the_same_version_is_told_too(self, desk: Desk) -> None:
        upgrade(desk, {**OLD, INIT: b"rebuilt = 1\n"}, "0.25.1")
        assert reason(desk, "a-returns") == (
            "lost by the installation of another wheel of the same build: vllm/one.py was replaced by another build; "
            "due again"
        )
        assert desk.run("apply").code == 0
        assert desk.run("check").code == 0


class TestDowngrades:
    @pytest.fixture
    def retired(self, bare: Desk) -> Desk:
        assert bare.registry is not None
        add_entry(bare.registry, "b-retires", make_diff({TWO: (BUG, FIX)}), fixes=[FIXED_BY], default=False)
        assert bare.run("apply", "b-retires").code == 0
        upgrade(bare)
        assert bare.run("retire").code == 0
        assert bare.run("apply").code == 0
        return bare

    def test_make_a_retired_entry_due_again_although_it_is_optional(self, retired: Desk) -> None:
        assert stand(retired, "b-retires")[1:] == ("fixed", "none")
        upgrade(retired, OLD, "0.25.1")
        assert stand(retired, "b-retires") == ("applicable", "wanted", "apply")
        assert reason(retired, "b-retires") == "retired in 0.26.0, but these bytes (0.25.1) do not have the fix"
        assert retired.run("check").code == 1
        assert retired.run("apply").code == 0
        assert stand(retired, "b-retires") == ("applied", "wanted", "none")
        assert retired.run("check").code == 0

    def test_are_no_reason_after_the_operator_took_it_out(self, retired: Desk) -> None:
        upgrade(retired, OLD, "0.25.1")
        assert retired.run("apply").code == 0
        assert retired.run("revert", "b-retires").code == 0
        assert stand(retired, "b-retires") == ("applicable", "optional", "none")
        assert retired.json("status", "b-retires").patch("b-retires")["retirement"] is None

    def test_are_no_reason_where_it_is_held(self, retired: Desk) -> None:
        assert retired.run("hold", "b-retires", "--reason", "stays out").code == 0
        upgrade(retired, OLD, "0.25.1")
        assert stand(retired, "b-retires") == ("applicable", "held", "none")

    def test_and_upgrades_again_retire_it_again(self, retired: Desk) -> None:
        upgrade(retired, OLD, "0.25.1")
        assert retired.run("apply").code == 0
        upgrade(retired)
        assert retired.json("retire").document["transaction"]["retired"] == ["b-retires"]
        upgrade(retired, OLD, "0.25.1")
        assert stand(retired, "b-retires") == ("applicable", "wanted", "apply")


class TestOtherVerbs:
    """They meet receipts whose files are at their base."""

    @pytest.fixture
    def aside(self, desk: Desk, wheel: str) -> Desk:
        assert desk.run("retire", "--for", wheel).code == 0
        return desk

    def test_verify_finds_pristine_files(self, aside: Desk) -> None:
        (checked,) = aside.json("verify").document["verification"]["distributions"]
        assert not [file for file in checked["files"] if file["path"] in {ONE, TWO, ADDED}]

    def test_doctor_forgets_nothing_while_the_distribution_is_gone(self, aside: Desk) -> None:
        assert aside.run("doctor").code == 0
        for info in aside.site.glob("vllm-*.dist-info"):
            shutil.rmtree(info)
        shutil.rmtree(aside.site / "vllm")
        assert aside.run("doctor", "--clean", "--gc").code == 0
        install(aside.site, NEW, build="0.26.0")
        assert aside.json("apply").document["transaction"]["applied"] == ["a-returns", "c-optional"]

    def test_hold_and_unhold_leave_the_mark(self, aside: Desk) -> None:
        assert aside.run("hold", "a-returns", "--reason", "later").code == 0
        assert aside.run("unhold", "a-returns").code == 0
        assert stand(aside, "a-returns") == ("lost", "wanted", "apply")
        assert aside.json("status", "a-returns").patch("a-returns")["set_aside"]["expected"] == "returns"

    def test_adopt_takes_over_what_somebody_put_back_by_hand(self, aside: Desk) -> None:
        (aside.site / ONE).write_bytes(LOW)
        assert stand(aside, "a-returns") == ("lost", "wanted", "adopt")
        assert aside.run("adopt", "a-returns").code == 0
        assert stand(aside, "a-returns") == ("applied", "wanted", "none")
        assert aside.run("revert", "a-returns").code == 0
        assert (aside.site / ONE).read_bytes() == BASE

    def test_history_shows_what_was_set_aside_and_every_proof(self, aside: Desk) -> None:
        upgrade(aside)
        assert aside.run("apply").code == 0
        assert aside.run("retire").code == 0
        done = aside.json("history")
        assert complaints(done.document) == []
        records: list[dict[str, Any]] = done.document["history"]
        set_aside = next(record for record in records if record["decisions"])
        assert {entry["what"] for entry in set_aside["entries"]} == {"set-aside"}
        assert set_aside["entries"][0]["reason"] == "for the upgrade to 0.26.0; expected: returns"
        (entry,) = records[-1]["entries"]
        assert (entry["what"], entry["retirement"]["builds"]) == ("retired", {"vllm": "0.26.0"})
        (fix,) = entry["retirement"]["fixes"]
        assert fix["ref"] == "x/y#1"
        assert fix["evidence"]
        fingerprint = entry["retirement"]["fingerprints"]["vllm"]
        plain = aside.run("history").out
        assert f"\tin vllm 0.26.0, fingerprint {fingerprint}\n" in plain
        assert f"\tx/y#1: {fix['evidence'][0]}\n" in plain


class TestTheNextCommands:
    """What cannot be run here: other installers, other ways to name an environment."""

    def steps(self, desk: Desk, candidate: str, place: Place, *, moving: bool = False) -> list[str]:
        scene = gather(place)
        with judged_candidate(place, scene, candidate) as upcoming:
            return list(upgrade_steps(place, scene, upcoming, Allowed(base=True), moving=moving))

    def place(self, desk: Desk, **more: Any) -> Place:
        return Place(registries=(str(desk.registry),), **{"site": str(desk.site), **more})

    def test_are_those_of_the_installer_that_put_it_there(self, desk: Desk, wheel: str) -> None:
        for installer in desk.site.glob("*.dist-info/INSTALLER"):
            installer.write_bytes(b"uv")
        steps = self.steps(desk, wheel, self.place(desk))
        assert steps[1] == f"uv pip install --target {desk.site} {wheel}"
        assert all("--allow-base" in step for step in steps if step.startswith(("patchctl apply", "patchctl retire")))
        same = str(make_wheel(desk.site.parent, list(OLD.items())))
        again = self.steps(desk, same, self.place(desk))
        assert again[1] == f"uv pip install --reinstall --no-deps --target {desk.site} {same}"
        assert not any(step.startswith("patchctl retire") for step in again[1:])

    def test_use_another_pip_where_the_environment_has_none(self, bare: Desk, wheel: str, tmp_path: Path) -> None:
        site = make_environment(tmp_path / "env", make_wheel(tmp_path, list(OLD.items())))
        place = self.place(bare, site=str(site))
        python = f"{tmp_path}/env/bin/python"
        assert f"python3 -m pip --python {python} install {wheel}" in self.steps(bare, wheel, place)
        (site / "pip").mkdir()
        assert f"{python} -m pip install {wheel}" in self.steps(bare, wheel, place)

    def test_do_not_repeat_what_a_variable_says(self, desk: Desk, wheel: str) -> None:
        place = self.place(desk, origin="PATCHCTL_SITE", environ={"PATCHCTL_REGISTRY": str(desk.registry)})
        assert self.steps(desk, wheel, place)[-1] == "patchctl check"

    def test_are_one_line_each_on_a_terminal(self, desk: Desk, wheel: str) -> None:
        steps = desk.json("retire", "--for", wheel, "--dry-run").document["steps"]
        where = ("--site", str(desk.site), "--registry", str(desk.registry))
        shown = on_a_terminal("retire", "--for", wheel, "--dry-run", *where, columns=40).decode()
        for step in steps:
            assert f"    {step}\r\n" in shown

    def test_of_a_move_to_another_environment_install_nothing(self, desk: Desk, wheel: str, tmp_path: Path) -> None:
        make_environment(tmp_path / "other", Path(wheel))
        other = str(tmp_path / "other")
        where = f"--python {other} --registry {desk.registry}"
        assert self.steps(desk, other, self.place(desk), moving=True) == [
            f"patchctl apply {where} --allow-base",
            f"patchctl apply c-optional {where} --allow-base",
            f"patchctl check {where}",
        ]
        here = self.steps(desk, other, self.place(desk))
        assert here[1].endswith("vllm==0.26.0")

    def test_bring_in_here_what_is_in_a_candidate_by_its_own_record(self, desk: Desk, tmp_path: Path) -> None:
        (tmp_path / "there").mkdir()
        there = Desk(site=make_site(tmp_path / "there", NEW, build="0.26.0"), registry=desk.registry)
        assert there.run("apply", "--all").code == 0
        verbs = [step.split()[1] for step in self.steps(desk, str(there.site), self.place(desk))]
        assert verbs == ["retire", "-m", "-r", "apply", "retire", "check"]

    def test_bring_in_here_what_somebody_put_into_a_candidate_by_hand(self, desk: Desk, tmp_path: Path) -> None:
        (tmp_path / "there").mkdir()
        site = make_site(tmp_path / "there", NEW, build="0.26.0")
        (site / ONE).write_bytes(NEWER.replace(b"line_5 = 1\n", b"line_5 = 5\n"))
        (site / ADDED).write_bytes(b"added = 1\n")
        verbs = [step.split()[1] for step in self.steps(desk, str(site), self.place(desk))]
        assert verbs == ["retire", "-m", "-r", "apply", "retire", "check"]

    def test_of_a_move_adopt_what_somebody_put_in_over_there(self, desk: Desk, wheel: str, tmp_path: Path) -> None:
        site = make_environment(tmp_path / "other", Path(wheel))
        (site / ONE).write_bytes(NEWER.replace(b"line_5 = 1\n", b"line_5 = 5\n"))
        other = str(tmp_path / "other")
        steps = self.steps(desk, other, self.place(desk), moving=True)
        assert steps[0] == f"patchctl adopt a-returns --python {other} --registry {desk.registry}"
        for step in steps:
            assert patchctl(*[word for word in shlex.split(step)[1:] if word != "--allow-base"]).code == 0


def run_steps(steps: list[str], env: Mapping[str, str]) -> None:
    """Run commands as a user would; ``patchctl`` is the one under test."""
    for step in steps:
        words = shlex.split(step)
        if words[0] == "patchctl":
            done = patchctl(*words[1:])
            assert done.code == 0, (step, done.out, done.err)
        else:
            program = shutil.which(words[0], path=env["PATH"]) or words[0]
            subprocess.run([program, *words[1:]], check=True, env={**env}, capture_output=True)


def pip_environment(root: Path, wheel: str) -> tuple[Path, dict[str, str]]:
    """A virtual environment with a pip of its own and ``wheel`` in it; the variables that keep pip from the network."""
    subprocess.run([sys.executable, "-m", "venv", str(root)], check=True)
    env = {"PATH": "/usr/bin:/bin", "PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    env |= {"PIP_IGNORE_REQUIRES_PYTHON": "1", "PIP_COMPILE": "0"}
    python = str(root / "bin/python")
    subprocess.run([python, "-m", "pip", "install", wheel], check=True, env=env, capture_output=True)
    (site,) = (root / "lib").glob("python3.*/site-packages")
    return site, env


def pip_directory(site: Path, wheel: str, env: Mapping[str, str]) -> None:
    command = [sys.executable, "-m", "pip", "install", "--target", str(site), wheel]
    subprocess.run(command, check=True, env={**env}, capture_output=True)


@pytest.mark.slow
@pytest.mark.parametrize("named", ["site", "python", "directory"])
def test_the_printed_commands_lead_to_a_green_check(bare: Desk, tmp_path: Path, named: str) -> None:
    registry = str(bare.registry)
    (tmp_path / "the wheels").mkdir()
    old = str(make_wheel(tmp_path / "the wheels", list(OLD.items())))
    new = str(make_wheel(tmp_path / "the wheels", list(NEW.items()), build="0.26.0"))
    site, env = pip_environment(tmp_path / "the env", old)
    if named == "directory":
        site = tmp_path / "a directory"
        pip_directory(site, old, env)
        env["PATH"] = f"{tmp_path}/the env/bin:/usr/bin:/bin"
    where = ["--python", str(tmp_path / "the env")] if named == "python" else ["--site", str(site)]
    assert patchctl("apply", "--all", *where, "--registry", registry).code == 0
    done = patchctl("retire", "--for", new, "--dry-run", "--json", *where, "--registry", registry)
    run_steps(done.document["steps"], env)
    assert (site / ONE).read_bytes() == b"# a newer header\n" + LOW
    assert (site / ADDED).is_file()
    # and a reinstall of what is installed now
    done = patchctl("retire", "--for", new, "--dry-run", "--json", *where, "--registry", registry)
    run_steps(done.document["steps"], env)
    assert (site / ONE).read_bytes() == b"# a newer header\n" + LOW


MM, GRAMMAR = "vllm-mm-placeholder-degrade", "vllm-grammar-compile-containment"


@pytest.mark.wheels
@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "label", "new", "expected"),
    [
        ("0.25.1", "", "0.26.0", {MM: "returns", GRAMMAR: "retires"}),
        ("0.20.0", "+das.dtk2604", "0.24.0", {MM: "returns", GRAMMAR: "returns"}),
        ("0.31.0", "", "0.33.0", {MM: "retires"}),
    ],
)
def test_the_commands_for_a_real_upgrade(
    tmp_path: Path, old: str, label: str, new: str, expected: Mapping[str, str]
) -> None:
    wheel = relabelled(old, old + label, tmp_path) if label else slim_wheel(old)
    site, env = pip_environment(tmp_path / "env", str(wheel))
    where = ("--python", str(tmp_path / "env"))
    desk = Desk(site=site)
    pristine = tree(site)
    assert patchctl("apply", "--all", *where).code == 0
    done = patchctl("retire", "--for", str(slim_wheel(new)), "--json", *where)
    assert (done.code, complaints(done.document)) == (0, [])
    assert expected.items() <= promises(done).items()
    assert "lost" not in promises(done).values()
    assert tree(site) == pristine
    run_steps(done.document["steps"], env)
    for id_, what in expected.items():
        if what == "returns":
            assert stand(desk, id_) == ("applied", "wanted", "none")
        else:
            assert stand(desk, id_)[1:] == ("fixed", "none")
            assert desk.json("status", id_).patch(id_)["retirement"]["builds"] == {"vllm": new}
            assert reason(desk, id_).startswith(f"retired by proof in {new}; proven in the installed bytes: ")
