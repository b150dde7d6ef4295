"""``adopt``: what is in the files already is recorded, proved by RECORD, and no file changes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from patchctl.commands import Clock, Place
from patchctl.commands.draft import make_draft
from patchctl.commands.proposal import Proposal
from patchctl.commands.scene import gather
from patchctl.model import Content, sha256_hex
from patchctl.verdict import new_base
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, Done, tree
from tests.sites import make_site, tree_state

ONE, TWO, ADDED, GONE = "vllm/one.py", "vllm/two.py", "vllm/new/added.py", "vllm/gone.py"
BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 41))
LOW = BASE.replace(b"line_5 = 1\n", b"line_5 = five\n")
LOWER = LOW.replace(b"line_6 = 1\n", b"line_6 = six\n")
HIGH = BASE.replace(b"line_25 = 1\n", b"line_25 = twenty_five\n")
BOTH = LOW.replace(b"line_25 = 1\n", b"line_25 = twenty_five\n")
THREE = "vllm/three.py"
FILES = {ONE: BASE, TWO: BASE, THREE: BASE, GONE: b"gone = 1\n"}


def make_desk(where: Path, *, record: bool = True, **diffs: bytes) -> Desk:
    """A site with the files, and one default entry per diff, in the order given."""
    site = make_site(where, FILES, build="0.25.1", record=record)
    registry = make_registry(where / "registry")
    for id_, diff in diffs.items():
        add_entry(registry, id_, diff)
    return Desk(site=site, registry=registry)


def lose(desk: Desk) -> None:
    shutil.rmtree(desk.site / ".patchctl")


def ledger(desk: Desk) -> dict[str, Any]:
    found = json.loads((desk.site / ".patchctl" / "ledger.json").read_bytes())
    assert isinstance(found, dict)
    return found


def facts(desk: Desk, id_: str) -> tuple[str, str]:
    patch = desk.json("status", id_).patch(id_)
    return patch["verdict"], patch["action"]


def code(done: Done) -> str:
    return str(done.document["errors"][0]["code"])


def timeless(desk: Desk) -> dict[str, tuple[Any, ...]]:
    """The tree without times: those of a base that nobody saw are not known."""
    return {path: (*found[:3], found[4]) for path, found in tree(desk.site).items()}


class TestALostLedger:
    def test_c27_is_rebuilt_and_revert_gives_the_pristine_bytes_back(self, tmp_path: Path) -> None:
        changes = {ONE: (BASE, LOW), TWO: (BASE, HIGH), ADDED: (None, b"x = 1\n"), GONE: (b"gone = 1\n", None)}
        desk = make_desk(tmp_path, low=make_diff(changes), high=make_diff({ONE: (BASE, HIGH)}))
        pristine = timeless(desk)
        assert desk.run("apply").code == 0
        was = ledger(desk)
        lose(desk)
        before = tree(desk.site)
        done = desk.json("adopt")
        assert (done.code, done.document["transaction"]["adopted"]) == (0, ["low", "high"])
        assert (done.document["transaction"]["applied"], done.document["transaction"]["files"]) == ([], [])
        assert tree(desk.site) == before, "no file changes, and none gets another time"
        assert facts(desk, "low") == facts(desk, "high") == ("applied", "none")
        assert desk.run("check").code == 0
        is_ = ledger(desk)
        for path, fact in was["files"].items():
            found = is_["files"][path]
            unknown = {"base_mtime_ns": None, "entries": found["entries"]}
            assert found == fact | unknown, "but for what nobody can know"
            assert set(found["entries"]) == set(fact["entries"])
        assert desk.run("revert", "--all").code == 0
        assert timeless(desk) == pristine

    def test_is_rebuilt_as_the_hint_says_where_it_is_damaged(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path, low=make_diff({"vllm/hint.py": (None, b"new = 1\n")}))
        assert desk.run("apply").code == 0
        (desk.site / ".patchctl/ledger.json").write_bytes(b"{")
        done = desk.json("adopt")
        assert done.code == 3
        assert "move it away: patchctl adopt" in done.document["errors"][0]["hint"]
        (desk.site / ".patchctl/ledger.json").rename(tmp_path / "damaged.json")
        assert desk.run("adopt").code == 0
        assert desk.run("revert", "--all").code == 0
        assert not (desk.site / "vllm/hint.py").exists()

    def test_is_rebuilt_from_renames_too(self, tmp_path: Path) -> None:
        move = b"diff --git a/vllm/gone.py b/vllm/moved/here.py\n"
        move += b"rename from vllm/gone.py\nrename to vllm/moved/here.py\n"
        desk = make_desk(tmp_path, move=move)
        pristine = timeless(desk)
        assert desk.run("apply").code == 0
        lose(desk)
        assert desk.run("adopt").code == 0
        assert facts(desk, "move") == ("applied", "none")
        assert desk.run("revert", "--all").code == 0
        assert timeless(desk) == pristine

    def test_is_rebuilt_where_one_entry_stands_on_the_lines_of_another(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path, below=make_diff({ONE: (BASE, LOW)}), top=make_diff({ONE: (LOW, LOWER)}))
        for id_ in ("below", "top"):
            assert desk.run("apply", id_).code == 0
        lose(desk)
        assert facts(desk, "below")[1] == "port", "as it stands it does not come out"
        done = desk.json("adopt")
        assert (done.code, done.document["transaction"]["adopted"]) == (0, ["below", "top"])
        assert facts(desk, "below") == facts(desk, "top") == ("applied", "none")
        assert desk.run("revert", "top").code == 0
        assert (desk.site / ONE).read_bytes() == LOW
        assert desk.run("revert", "below").code == 0
        assert (desk.site / ONE).read_bytes() == BASE

    def test_is_rebuilt_with_what_an_entry_requires(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path, below=make_diff({ONE: (BASE, LOW)}))
        assert desk.registry is not None
        add_entry(desk.registry, "above", make_diff({ONE: (BASE, HIGH)}), requires=["below"])
        assert desk.run("apply").code == 0
        lose(desk)
        assert facts(desk, "above") == ("present", "adopt")
        assert "patchctl adopt below" in wants_below(desk)
        done = desk.json("adopt", "above", "--dry-run")
        assert done.document["transaction"]["adopted"] == ["below", "above"]
        assert desk.run("adopt").code == 0
        assert desk.run("check").code == 0

    def test_keeps_what_is_recorded_by_now(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path, low=make_diff({ONE: (BASE, LOW)}), high=make_diff({ONE: (BASE, HIGH)}))
        (desk.site / ONE).write_bytes(LOW)
        assert desk.run("apply", "high").code == 0
        assert (desk.site / ONE).read_bytes() == BOTH
        assert facts(desk, "low") == ("present", "adopt")
        assert desk.run("adopt", "low").code == 0
        assert facts(desk, "low") == facts(desk, "high") == ("applied", "none")
        assert desk.run("revert", "--all").code == 0
        assert (desk.site / ONE).read_bytes() == BASE

    def test_holds_base_result_and_diff(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path, low=make_diff({ONE: (BASE, LOW)}))
        (desk.site / ONE).write_bytes(LOW)
        assert desk.run("adopt").code == 0
        state = desk.site / ".patchctl"
        for data in (BASE, LOW):
            digest = sha256_hex(data)
            assert (state / "objects" / digest[:2] / digest).read_bytes() == data
        (patch,) = (state / "patches").iterdir()
        assert patch.read_bytes() == make_diff({ONE: (BASE, LOW)})

    def test_is_rebuilt_for_a_build_that_was_assumed(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path)
        assert desk.registry is not None
        add_entry(desk.registry, "low", make_diff({ONE: (BASE, LOW)}), variant={"versions": "==9.0"})
        assert desk.run("apply", "low", "--assume-build", "9.0").code == 0
        lose(desk)
        done = desk.json("adopt", "low")
        assert (code(done), done.document["errors"][0]["hint"].split(": ")[1]) == (
            "no-match",
            "patchctl adopt low --assume-build BUILD",
        )
        assert desk.run("adopt", "low", "--assume-build", "9.0").code == 0
        assert desk.json("status", "low").patch("low")["assumed_build"] == "9.0"
        assert facts(desk, "low") == ("applied", "none")

    def test_survives_the_registry_afterwards(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path, low=make_diff({ONE: (BASE, LOW)}))
        (desk.site / ONE).write_bytes(LOW)
        assert desk.run("adopt").code == 0
        empty = Desk(site=desk.site, registry=make_registry(tmp_path / "empty"))
        assert empty.run("revert", "low").code == 0
        assert (desk.site / ONE).read_bytes() == BASE


def wants_below(desk: Desk) -> str:
    """What an entry says that requires ``below``, and is not in itself."""
    assert desk.registry is not None
    add_entry(desk.registry, "later", make_diff({TWO: (BASE, LOW)}), requires=["below"], default=False)
    return str(desk.json("apply", "later").document["errors"][0]["message"])


class TestProof:
    def test_a_change_made_by_hand_is_taken_over(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path, low=make_diff({ONE: (BASE, LOW)}))
        (desk.site / ONE).write_bytes(LOW)
        done = desk.run("apply", "low")
        assert (done.code, "hint: patchctl adopt low" in done.err) == (1, True)
        assert desk.run("adopt", "low").code == 0
        assert facts(desk, "low") == ("applied", "none")

    def test_what_record_does_not_prove_is_refused_and_needs_a_word(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path, low=make_diff({ONE: (BASE, LOW)}), high=make_diff({TWO: (BASE, HIGH)}))
        (desk.site / ONE).write_bytes(LOW + b"mine = 1\n")
        (desk.site / TWO).write_bytes(HIGH)
        done = desk.json("adopt")
        assert (done.code, done.document["transaction"]["adopted"]) == (1, ["high"]), "the others stand alone"
        assert code(done) == "unproven-base"
        assert "the file without it is not what RECORD lists" in done.document["errors"][0]["message"]
        before = tree_state(desk.site)
        assert code(desk.json("adopt", "low")) == "unproven-base"
        assert tree_state(desk.site) == before
        done = desk.json("adopt", "low", "--unproven")
        assert (done.code, done.document["transaction"]["adopted"]) == (0, ["low"])
        assert "is taken over unproven" in done.document["notes"][0]
        assert desk.run("revert", "low").code == 0
        assert (desk.site / ONE).read_bytes() == BASE + b"mine = 1\n"

    def test_a_held_entry_in_the_same_file_is_named_with_the_way_out(self, tmp_path: Path) -> None:
        """The hold outlived the lost receipts: as long as it stands, nobody knows the file without the held entry."""
        both = LOW.replace(b"line_25 = 1\n", b"line_25 = twenty_five\n")
        high = both.replace(b"line_5 = five\n", b"line_5 = 1\n")
        desk = make_desk(tmp_path, low=make_diff({ONE: (BASE, LOW)}), high=make_diff({ONE: (BASE, high)}))
        assert both not in {LOW, high}
        (desk.site / ONE).write_bytes(both)
        assert desk.run("hold", "high", "--reason", "x").code == 0
        done = desk.json("adopt", "low")
        assert code(done) == "unproven-base"
        (problem,) = done.document["errors"]
        assert "high, which is held, is in the file too" in problem["message"]
        assert problem["hint"] == "patchctl unhold high, then patchctl adopt low high, then hold high again"
        assert desk.run("unhold", "high").code == 0
        assert desk.run("adopt", "low", "high").code == 0
        assert desk.run("hold", "high", "--reason", "x").code == 0
        assert desk.run("check").code == 0

    def test_without_record_nothing_is_proven(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path, record=False, low=make_diff({ONE: (BASE, LOW)}))
        (desk.site / ONE).write_bytes(LOW)
        assert code(desk.json("adopt", "low")) == "unproven-base"
        assert desk.run("adopt", "low", "--unproven").code == 0
        assert facts(desk, "low") == ("applied", "none")

    def test_named_entries_are_adopted_together_or_not_at_all(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path, low=make_diff({ONE: (BASE, LOW)}), high=make_diff({TWO: (BASE, HIGH)}))
        (desk.site / ONE).write_bytes(LOW + b"mine = 1\n")
        (desk.site / TWO).write_bytes(HIGH)
        before = tree_state(desk.site)
        assert desk.json("adopt", "low", "high").document["transaction"] is None
        assert tree_state(desk.site) == before

    @pytest.mark.parametrize("ending", [".orig", ".bak", "~"])
    def test_a_copy_beside_the_file_is_its_original_when_record_says_so(self, tmp_path: Path, ending: str) -> None:
        desk, result = ambiguous(tmp_path)
        copy, original = desk.site / (ONE + ending), (desk.site / ONE).read_bytes()
        (desk.site / ONE).write_bytes(result)
        done = desk.json("adopt", "vague")
        assert code(done) == "not-present"
        assert "its lines stand at several places" in done.document["errors"][0]["message"]
        copy.write_bytes(original + b"mine = 1\n")
        assert code(desk.json("adopt", "vague")) == "not-present", "a copy with other bytes proves nothing"
        copy.write_bytes(original)
        (desk.site / ONE).write_bytes(result + b"mine = 1\n")
        done = desk.json("adopt", "vague", "--unproven")
        assert code(done) == "not-present", "no other edit is lost to it"
        assert "its lines stand at several places" in done.document["errors"][0]["message"]
        (desk.site / ONE).write_bytes(result)
        assert desk.run("adopt", "vague").code == 0
        assert facts(desk, "vague") == ("applied", "none")
        assert copy.read_bytes() == original, "it is somebody's file"
        assert desk.run("revert", "vague").code == 0
        assert (desk.site / ONE).read_bytes() == original

    def test_an_original_that_is_still_stored_counts_like_a_copy(self, tmp_path: Path) -> None:
        desk, result = ambiguous(tmp_path)
        original = (desk.site / ONE).read_bytes()
        (desk.site / ONE).write_bytes(result)
        digest = sha256_hex(original)
        stored = desk.site / ".patchctl" / "objects" / digest[:2] / digest
        stored.parent.mkdir(parents=True)
        stored.write_bytes(b"damaged")
        assert code(desk.json("adopt", "vague")) == "not-present"
        stored.write_bytes(original)
        assert desk.run("adopt", "vague").code == 0
        assert desk.run("revert", "vague").code == 0
        assert (desk.site / ONE).read_bytes() == original


def ambiguous(where: Path) -> tuple[Desk, bytes]:
    """An entry, cut for another release, whose result stands at two places, neither of them the stated one."""
    old, copy = BASE, b"".join(LOW.splitlines(keepends=True)[1:9])
    installed, result = b"# newer\n" + old + copy, b"# newer\n" + LOW + copy
    site = make_site(where, FILES | {ONE: installed}, build="0.25.1")
    registry = make_registry(where / "registry")
    add_entry(registry, "vague", make_diff({ONE: (BASE, LOW)}))
    return Desk(site=site, registry=registry), result


class TestRefusals:
    def test_of_what_requires_an_entry_that_is_refused(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path, below=make_diff({ONE: (BASE, LOW)}), free=make_diff({THREE: (BASE, LOW)}))
        assert desk.registry is not None
        add_entry(desk.registry, "above", make_diff({TWO: (BASE, HIGH)}), requires=["below"])
        (desk.site / ONE).write_bytes(LOW + b"mine = 1\n")
        (desk.site / TWO).write_bytes(HIGH)
        (desk.site / THREE).write_bytes(LOW)
        done = desk.json("adopt")
        assert (done.code, done.document["transaction"]["adopted"]) == (1, ["free"])
        refused = {error["patch"]: error["code"] for error in done.document["errors"]}
        assert refused == {"below": "unproven-base", "above": "blocked"}

    def test_of_what_conflicts_with_another(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path, low=make_diff({ONE: (BASE, LOW)}))
        assert desk.registry is not None
        add_entry(desk.registry, "high", make_diff({TWO: (BASE, HIGH)}), conflicts=["low"])
        (desk.site / ONE).write_bytes(LOW)
        (desk.site / TWO).write_bytes(HIGH)
        assert facts(desk, "low") == facts(desk, "high") == ("present", "inspect")
        assert desk.json("adopt", "low", "high").document["transaction"] is None
        assert desk.json("adopt").document["transaction"] is None
        assert desk.run("adopt", "low").code == 0, "one of them may be recorded, to be reverted"

    def test_of_what_a_recorded_entry_stands_on(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path, below=make_diff({ONE: (BASE, LOW)}), top=make_diff({ONE: (LOW, LOWER)}))
        (desk.site / ONE).write_bytes(LOW)
        assert desk.run("apply", "top").code == 0
        done = desk.json("adopt", "below")
        assert (done.code, code(done)) == (1, "not-present")
        assert "top is applied and stands on its lines" in done.document["errors"][0]["message"]

    def test_of_a_doubtful_change_that_nothing_proves(self, tmp_path: Path) -> None:
        """Both readings hold: that a line was doubled, and that it is to be doubled."""
        before = BASE.replace(b"line_20 = 1\n", b"line_20 = 1\n" * 8)
        after = BASE.replace(b"line_20 = 1\n", b"line_20 = 1\n" * 9)
        site = make_site(tmp_path, {ONE: before}, build="0.25.1", record=False)
        add_entry(make_registry(tmp_path / "registry"), "vague", make_diff({ONE: (before, after)}, context=1))
        desk = Desk(site=site, registry=tmp_path / "registry")
        (site / ONE).write_bytes(after)
        assert facts(desk, "vague")[0] == "undecided"
        done = desk.json("adopt", "vague", "--unproven")
        assert (done.code, code(done)) == (1, "not-present")
        assert "it cannot be told whether the change is in" in done.document["errors"][0]["message"]

    def test_of_a_plan_that_would_change_a_file(self, tmp_path: Path) -> None:
        """Whatever was judged before: the plan has the last word."""
        desk = make_desk(tmp_path, low=make_diff({ONE: (BASE, LOW)}))
        scene = gather(Place(site=str(desk.site), registries=(str(desk.registry),)))
        bases = {ONE: new_base(Content(data=LOW))}
        draft = make_draft(scene, Proposal(steps=(), bases=bases, adopts=True, strict=False), Clock(now=1, stamp=""))
        assert (draft.blocked, draft.edits, [problem.path for problem in draft.refused]) == (True, (), [ONE])
        draft = make_draft(scene, Proposal(steps=(), bases=bases, strict=False), Clock(now=1, stamp=""))
        assert (draft.blocked, draft.edits[0].after) == (False, LOW)

    def test_of_what_is_not_in_the_files(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path, low=make_diff({ONE: (BASE, LOW)}))
        assert code(desk.json("adopt", "low")) == "not-present"
        assert desk.json("adopt").code == 0, "nothing is due to be adopted"

    def test_of_what_is_in_by_half(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path, low=make_diff({ONE: (BASE, LOW), TWO: (BASE, LOW)}))
        (desk.site / ONE).write_bytes(LOW)
        before = tree_state(desk.site)
        assert code(desk.json("adopt", "low")) == "not-present"
        assert desk.json("adopt").document["transaction"] is None
        assert tree_state(desk.site) == before

    def test_of_what_the_build_itself_carries(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path, low=make_diff({ONE: (LOWER, BASE)}))
        assert code(desk.json("adopt", "low")) == "fixed"
        assert code(desk.json("adopt", "low", "--unproven")) == "fixed"

    def test_of_held_unmatched_and_advisory_entries(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path, low=make_diff({ONE: (BASE, LOW)}))
        assert desk.registry is not None
        add_entry(desk.registry, "other", make_diff({TWO: (BASE, LOW)}), variant={"versions": ">=9"})
        add_entry(desk.registry, "advice", None, kind="advisory", avoid=[{"args": ["--safe"]}])
        (desk.site / ONE).write_bytes(LOW)
        (desk.site / TWO).write_bytes(LOW)
        desk.run("hold", "low", "--reason", "why")
        codes = [code(desk.json("adopt", id_)) for id_ in ("low", "other", "advice")]
        assert codes == ["held", "no-match", "advice-only"]

    def test_of_a_file_behind_a_link(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path, low=make_diff({ONE: (BASE, LOW)}))
        (desk.site / ONE).unlink()
        (desk.site / "vllm" / "real.py").write_bytes(LOW)
        (desk.site / ONE).symlink_to("real.py")
        assert code(desk.json("adopt", "low")) == "needs-inspect"

    def test_of_a_decision_without_an_entry(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path, low=make_diff({ONE: (BASE, LOW)}))
        assert desk.run("adopt", "--unproven").code == 2
        assert desk.run("adopt", "--assume-build", "9.0").code == 2

    def test_of_a_file_that_a_recorded_entry_shares_and_somebody_edited(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path, low=make_diff({ONE: (BASE, LOW)}), high=make_diff({ONE: (BASE, HIGH)}))
        assert desk.run("apply", "low").code == 0
        (desk.site / ONE).write_bytes(BOTH)
        assert code(desk.json("adopt", "high")) == "needs-inspect"

    def test_an_entry_that_is_recorded_is_no_error(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path, low=make_diff({ONE: (BASE, LOW)}))
        desk.run("apply")
        before = tree_state(desk.site)
        done = desk.json("adopt", "low")
        assert (done.code, done.document["notes"]) == (0, ["low is recorded already", "nothing to do"])
        assert tree_state(desk.site) == before

    def test_a_dry_run_says_what_would_be_adopted_and_writes_nothing(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path, low=make_diff({ONE: (BASE, LOW)}))
        (desk.site / ONE).write_bytes(LOW)
        before = tree_state(desk.site)
        done = desk.run("adopt", "--dry-run")
        assert (done.code, "adopted\tlow\tstate=planned\n" in done.out) == (0, True)
        assert tree_state(desk.site) == before


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_whatever_stack_was_lost_adopt_brings_the_same_ledger_back(tmp_path_factory: Any, data: st.DataObject) -> None:
    """Entries over two files, near and far from each other, applied in any order, then the ledger lost."""
    where = tmp_path_factory.mktemp("stack")
    lines = data.draw(st.lists(st.integers(6, 36), min_size=1, max_size=4, unique=True))
    site = make_site(where, {ONE: BASE, TWO: BASE}, build="0.25.1")
    registry = make_registry(where / "registry")
    files = {ONE: BASE, TWO: BASE}
    for number, line in enumerate(lines):
        paths = data.draw(st.sets(st.sampled_from([ONE, TWO]), min_size=1))
        old, new = b"line_%d = 1\n" % line, b"line_%d = 'entry %d'\n" % (line, number)
        after = {path: files[path].replace(old, new) for path in paths}
        add_entry(registry, f"entry-{number}", make_diff({path: (files[path], after[path]) for path in sorted(paths)}))
        files |= after
    desk = Desk(site=site, registry=registry)
    for number in range(len(lines)):
        assert desk.run("apply", f"entry-{number}").code == 0
    was = ledger(desk)
    lose(desk)
    assert desk.run("adopt").code == 0
    is_ = ledger(desk)
    assert {it["id"] for it in is_["receipts"]} == {it["id"] for it in was["receipts"]}
    for path, fact in was["files"].items():
        assert (is_["files"][path]["base"], is_["files"][path]["result"]) == (fact["base"], fact["result"])
    assert desk.run("revert", "--all").code == 0
    assert ((site / ONE).read_bytes(), (site / TWO).read_bytes()) == (BASE, BASE)
