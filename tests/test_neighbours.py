"""Entries that share files, stand on each other, exclude or replace each other, while some are lost, drifted or held.

The verdict is one per entry, the files are shared: whatever happens to one entry, the lines of the others stay.
"""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, tree
from tests.sites import Content, install, make_site

F1, F2, F3 = "vllm/f1.py", "vllm/f2.py", "vllm/f3.py"
BASE = b"".join(b"line_%d = 0\n" % number for number in range(60))


def patched(*names: str, base: bytes = BASE) -> bytes:
    """The file with the lines of the entries ``a`` to ``e`` changed, each at a place of its own."""
    for name in names:
        line = 5 + 10 * "abcde".index(name)
        base = base.replace(b"line_%d = 0\n" % line, b"line_%d = '%s'\n" % (line, name.encode()))
    return base


class Board:
    """A site with f1 to f3, and a registry to which entries are added by the files they change."""

    def __init__(
        self, where: Path, *, build: str = "0.25.1", files: Mapping[str, bytes | Content] | None = None
    ) -> None:
        self.site = make_site(where, files or dict.fromkeys((F1, F2, F3), BASE), build=build)
        self.registry = make_registry(where / "registry")
        self.desk = Desk(site=self.site, registry=self.registry)

    def entry(self, id_: str, *paths: str, letter: str | None = None, **more: Any) -> None:
        name = letter or id_
        add_entry(self.registry, id_, make_diff({path: (BASE, patched(name)) for path in paths}), **more)

    def run(self, *arguments: str) -> int:
        return self.desk.run(*arguments).code

    def state(self, id_: str) -> tuple[str, str, str]:
        patch = self.desk.json("status", id_).patch(id_)
        return patch["verdict"], patch["need"], patch["action"]

    def read(self, path: str) -> bytes:
        return (self.site / path).read_bytes()

    def write(self, path: str, data: bytes) -> None:
        (self.site / path).write_bytes(data)

    def upgrade(self, build: str, files: Mapping[str, bytes | Content]) -> None:
        for info in self.site.glob("vllm-*.dist-info"):
            shutil.rmtree(info)
        shutil.rmtree(self.site / "vllm")
        install(self.site, files, build=build)


@pytest.fixture
def board(tmp_path: Path) -> Board:
    return Board(tmp_path)


class TestSharedFiles:
    """a changes f1, b changes f1 and f2; then f2 is edited (b drifted) or put back (b lost)."""

    @pytest.fixture(params=["drifted", "lost"])
    def odd(self, request: pytest.FixtureRequest, board: Board) -> Board:
        board.entry("a", F1)
        board.entry("b", F1, F2)
        board.entry("c", F1)
        assert board.run("apply", "a", "b") == 0
        board.write(F2, patched("b") + b"mine\n" if request.param == "drifted" else BASE)
        assert board.state("b")[0] == request.param
        return board

    def test_no_verb_takes_its_lines_out_of_the_other_file(self, odd: Board) -> None:
        for verb in (
            ["hold", "a", "--reason", "x"],
            ["unhold", "a"],
            ["hold", "b", "--reason", "x"],
            ["unhold", "b"],
            ["retire"],
            ["apply", "a"],
            ["recover"],
        ):
            before = tree(odd.site)
            assert odd.run(*verb) == 0, verb
            assert tree(odd.site) == before, verb

    def test_a_third_entry_comes_in_beside_it(self, odd: Board) -> None:
        second = odd.read(F2)
        assert odd.run("apply", "c") == 0
        assert odd.read(F1) == patched("a", "b", "c")
        assert odd.read(F2) == second
        assert odd.run("revert", "c") == 0
        assert odd.read(F1) == patched("a", "b")

    def test_a_neighbour_is_reverted_byte_for_byte(self, odd: Board) -> None:
        assert odd.run("revert", "a") == 0
        assert odd.read(F1) == patched("b")
        assert odd.state("a")[0] == "applicable"

    def test_a_neighbour_is_renewed(self, odd: Board) -> None:
        add_entry(odd.registry, "a", make_diff({F1: (BASE, patched("d"))}), revision=2)
        assert odd.run("apply", "a") == 0
        assert odd.read(F1) == patched("b", "d")


def test_every_pair_of_verb_and_accident_keeps_the_others_lines(tmp_path: Path) -> None:
    """All combinations: two entries over two files each, one file put back or edited, then each verb on either."""
    accidents = list(itertools.product((F1, F2), (BASE, BASE + b"mine\n")))
    verbs = [
        ["apply", "a"],
        ["apply", "b"],
        ["revert", "a"],
        ["revert", "b"],
        ["apply"],
        ["hold", "a", "--reason", "x"],
    ]
    for number, ((path, data), verb) in enumerate(itertools.product(accidents, verbs)):
        board = Board(tmp_path / str(number))
        board.entry("a", F1, F2)
        board.entry("b", F1, F2)
        board.run("apply")
        board.write(path, data)
        other = F2 if path == F1 else F1
        board.run(*verb)
        applied = {
            receipt["id"] for receipt in json.loads((board.site / ".patchctl/ledger.json").read_text())["receipts"]
        }
        assert board.read(other) == patched(*sorted(applied)), (path, data[-5:], verb)
        allowed = {data, patched(*sorted(applied)), patched(verb[-1]) if verb[0] == "apply" and len(verb) > 1 else data}
        assert board.read(path) in allowed, (path, data[-5:], verb)


class TestRevisions:
    def test_a_file_that_the_new_one_leaves_alone_is_put_back(self, board: Board) -> None:
        before = tree(board.site)
        board.entry("a", F1, F2)
        assert board.run("apply") == 0
        board.entry("a", F1, revision=2)
        assert board.run("apply") == 0
        assert (board.read(F1), board.read(F2)) == (patched("a"), BASE)
        assert board.run("check") == 0
        assert board.run("revert", "a") == 0
        assert tree(board.site) == before

    def test_a_file_that_only_the_old_one_added_goes(self, board: Board) -> None:
        diff = make_diff({F1: (BASE, patched("a")), "vllm/new/n.py": (None, b"n = 1\n")})
        add_entry(board.registry, "a", diff)
        assert board.run("apply") == 0
        board.entry("a", F1, revision=2)
        assert board.run("apply") == 0
        assert not (board.site / "vllm/new").exists()

    def test_two_that_stand_on_each_other_come_in_together(self, board: Board) -> None:
        upper = patched("a").replace(b"line_5 = 'a'\n", b"line_5 = 'a' + 'b'\n")
        board.entry("a", F1)
        add_entry(board.registry, "b", make_diff({F1: (patched("a"), upper)}), requires=["a"])
        assert board.run("apply") == 0
        assert board.read(F1) == upper
        new = BASE.replace(b"line_5 = 0\n", b"line_5 = 'A'\n")
        newer = new.replace(b"line_5 = 'A'\n", b"line_5 = 'A' + 'B'\n")
        add_entry(board.registry, "a", make_diff({F1: (BASE, new)}), revision=2)
        add_entry(board.registry, "b", make_diff({F1: (new, newer)}), revision=2, requires=["a"])
        assert board.run("apply") == 0
        assert board.read(F1) == newer
        assert board.run("check") == 0

    def test_one_that_now_requires_a_new_entry_lands_behind_it(self, board: Board) -> None:
        board.entry("a", F1)
        assert board.run("apply") == 0
        board.entry("b", F2, default=False)
        both = make_diff({F1: (BASE, patched("a")), F2: (patched("b"), patched("b", "a"))})
        add_entry(board.registry, "a", both, revision=2, requires=["b"])
        assert board.state("a")[2] == "apply"
        assert board.run("apply") == 0
        assert board.read(F2) == patched("a", "b")
        assert board.run("revert", "--all") == 0
        assert board.read(F2) == BASE

    def test_a_changed_diff_under_the_same_number_is_said(self, board: Board) -> None:
        board.entry("a", F1)
        assert board.run("apply") == 0
        board.entry("a", F1, letter="b")
        codes = [warning["code"] for warning in board.desk.json("status").document["warnings"]]
        assert "revision-not-raised" in codes


class TestRules:
    def test_conflicting_entries_do_not_come_in_together(self, board: Board) -> None:
        board.entry("a", F1, default=False)
        board.entry("b", F2, default=False, conflicts=["a"])
        assert board.run("apply", "a", "b") == 1
        assert (board.read(F1), board.read(F2)) == (BASE, BASE)
        assert board.run("apply", "--all") == 1
        assert (board.read(F1), board.read(F2)) == (patched("a"), BASE)

    def test_a_new_revision_cannot_bring_a_conflict_in(self, board: Board) -> None:
        board.entry("a", F1)
        board.entry("b", F2)
        assert board.run("apply") == 0
        board.entry("a", F1, letter="c", revision=2, conflicts=["b"])
        assert board.state("a")[2] == "inspect"
        assert board.run("apply") == 1
        assert board.read(F1) == patched("a")

    def test_a_requirement_is_not_brought_in_against_a_hold(self, board: Board) -> None:
        board.entry("r", F2, letter="b")
        board.entry("a", F1, requires=["r"])
        assert board.run("hold", "r", "--reason", "no") == 0
        assert board.run("apply") == 1
        assert board.run("apply", "a") == 1
        assert (board.read(F1), board.read(F2)) == (BASE, BASE)

    def test_a_held_and_lost_requirement_does_not_come_back(self, board: Board) -> None:
        board.entry("r", F2, letter="b")
        board.entry("a", F1, requires=["r"], default=False)
        assert board.run("apply", "r") == 0
        board.write(F2, BASE)
        assert board.run("hold", "r", "--reason", "no") == 0
        assert board.run("apply", "a") == 1
        assert (board.read(F1), board.read(F2)) == (BASE, BASE)

    def test_a_requirement_that_does_not_name_this_build_stays_out(self, board: Board) -> None:
        board.entry("r", F2, letter="b", variant={"versions": "<0.1"})
        board.entry("a", F1, requires=["r"])
        assert board.run("apply") == 1
        assert (board.read(F1), board.read(F2)) == (BASE, BASE)

    def test_a_requirement_must_not_conflict_with_what_is_in(self, board: Board) -> None:
        board.entry("c", F3)
        assert board.run("apply") == 0
        board.entry("r", F2, letter="b", default=False, conflicts=["c"])
        board.entry("a", F1, requires=["r"])
        assert board.run("apply") == 1
        assert (board.read(F1), board.read(F2), board.read(F3)) == (BASE, BASE, patched("c"))

    def test_a_requirement_that_upstream_has_is_met(self, board: Board) -> None:
        board.upgrade("0.26.0", {F1: BASE, F2: patched("b"), F3: BASE})
        board.entry("b", F2)
        board.entry("a", F1, requires=["b"])
        assert board.state("b")[1] == "fixed"
        assert board.run("apply") == 0
        assert board.read(F1) == patched("a")
        assert board.run("check") == 0

    def test_what_is_required_retires_when_upstream_has_it(self, board: Board) -> None:
        board.entry("b", F2)
        board.entry("a", F1, requires=["b"])
        assert board.run("apply") == 0
        board.upgrade("0.26.0", {F1: BASE, F2: patched("b"), F3: BASE})
        assert board.run("apply") == 0
        assert board.run("retire") == 0
        assert board.state("b")[1:] == ("fixed", "none")
        assert board.state("a")[0] == "applied"


class TestReplacing:
    def test_the_old_one_cannot_come_in_again(self, board: Board) -> None:
        board.entry("old", F1, letter="a")
        assert board.run("apply") == 0
        board.entry("new", F1, letter="b", replaces=["old"])
        assert board.run("apply") == 0
        assert board.read(F1) == patched("b")
        assert board.run("apply", "old") == 1
        assert board.run("apply", "old", "new") == 1
        assert board.read(F1) == patched("b")

    def test_one_that_is_in_already_is_not_taken_out_by_a_command_that_names_it(self, board: Board) -> None:
        board.entry("old", F1, letter="a")
        assert board.run("apply") == 0
        board.entry("new", F1, letter="b", replaces=["old"])
        assert board.run("apply", "old", "new") == 1
        assert board.read(F1) == patched("a")
        assert board.run("apply", "new") == 0

    def test_a_chain_takes_out_what_is_in(self, board: Board) -> None:
        board.entry("one", F1, letter="a")
        assert board.run("apply") == 0
        board.entry("two", F1, letter="b", replaces=["one"])
        add_entry(board.registry, "three", make_diff({F1: (BASE, patched("c"))}), replaces=["two"])
        assert board.run("apply") == 0
        assert board.read(F1) == patched("c")
        assert board.run("check") == 0

    def test_what_a_chain_replaced_does_not_come_back(self, board: Board) -> None:
        """The entry between them was never applied; with ``--all`` the first of the chain used to come up again."""
        board.entry("one", F1, letter="a", default=False)
        board.entry("two", F2, letter="b", default=False, replaces=["one"])
        board.entry("three", F3, letter="c", default=False, replaces=["two"], conflicts=["one", "two"])
        assert board.run("apply", "--all") == 0
        assert board.run("check") == 0
        assert board.run("apply", "--all") == 0
        assert (board.read(F1), board.read(F3)) == (BASE, patched("c"))
        assert board.run("apply", "one") == 1

    def test_a_held_entry_is_not_taken_out(self, board: Board) -> None:
        board.entry("old", F1, letter="a")
        assert board.run("apply") == 0
        assert board.run("hold", "old", "--reason", "keep exactly this") == 0
        board.entry("new", F1, letter="b", replaces=["old"])
        assert board.run("apply") == 1
        assert board.read(F1) == patched("a")

    def test_a_required_entry_is_not_taken_out(self, board: Board) -> None:
        board.entry("old", F1, letter="a")
        board.entry("user", F2, letter="c", requires=["old"])
        assert board.run("apply") == 0
        board.entry("new", F1, letter="b", replaces=["old"])
        assert board.run("apply") == 1
        assert board.read(F1) == patched("a")

    def test_an_optional_replacement_switches_nothing_off(self, board: Board) -> None:
        board.entry("old", F1, letter="a")
        board.entry("new", F1, letter="b", replaces=["old"], default=False)
        assert board.state("old") == ("applicable", "wanted", "apply")
        assert board.run("check") == 1

    def test_a_foreign_edit_of_a_replaced_entry_is_not_hidden(self, board: Board) -> None:
        board.entry("old", F1, letter="a")
        assert board.run("apply") == 0
        board.entry("new", F1, letter="b", replaces=["old"], default=False)
        board.write(F1, patched("a") + b"mine\n")
        assert board.state("old")[2] == "inspect"
        assert board.run("check") == 1


class TestProof:
    """An entry's own change proves nothing, even where nobody knows any more that it is its own."""

    FIX: Mapping[str, Any] = {
        "ref": "vllm-project/vllm#1",
        "role": "fixes",
        "claimed": ">=0.26",
        "source": "https://example.org/1",
        "evidence": [{"file": F1, "symbol": "step", "contains": "fixed(1)"}],
    }
    OLD = BASE + b"def step():\n    return 1\n"
    NEW = BASE + b"def step():\n    return fixed(1)\n"

    @pytest.fixture
    def backport(self, tmp_path: Path) -> Board:
        board = Board(tmp_path, files={F1: self.OLD, F2: BASE})
        add_entry(board.registry, "back", make_diff({F1: (self.OLD, self.NEW)}), kind="backport", fixes=[self.FIX])
        add_entry(board.registry, "other", make_diff({F2: (BASE, patched("b"))}), fixes=[self.FIX])
        assert board.run("apply") == 0
        return board

    def statuses(self, board: Board) -> set[str]:
        return {
            fix["status"] for id_ in ("back", "other") for fix in board.desk.json("status", id_).patch(id_)["fixes"]
        }

    def test_with_the_ledger(self, backport: Board) -> None:
        assert self.statuses(backport) == {"absent"}

    def test_without_the_ledger(self, backport: Board) -> None:
        shutil.rmtree(backport.site / ".patchctl")
        assert self.statuses(backport) == {"absent"}
        assert backport.run("check") == 1

    def test_under_an_edit_and_another_fingerprint(self, backport: Board) -> None:
        backport.write(F1, self.NEW + b"# mine\n")
        (record,) = backport.site.glob("vllm-*.dist-info/RECORD")
        record.write_bytes(record.read_bytes() + b"vllm/more.py,sha256=" + b"A" * 43 + b",1\r\n")
        assert "proven" not in self.statuses(backport)
        assert backport.state("back")[0] == "drifted"
        assert backport.run("retire", "back") == 1
        assert backport.run("revert", "back") == 1
        assert backport.read(F1) == self.NEW + b"# mine\n"

    def test_files_that_somebody_else_fixed_are_proof(self, tmp_path: Path, backport: Board) -> None:
        site = make_site(tmp_path / "hotfixed", {F1: self.OLD, F2: BASE})
        (site / F1).write_bytes(self.NEW.replace(b"def step", b"# by hand\ndef step"))
        found = Desk(site=site, registry=backport.registry).json("status", "other").patch("other")
        assert found["fixes"][0]["status"] == "proven"


class TestPromise:
    """Whenever a bare apply exits 0, an immediate check exits 0."""

    def test_where_the_build_carries_one_and_another_is_due_in_the_same_file(self, tmp_path: Path) -> None:
        board = Board(tmp_path, files={F1: patched("b")})
        board.entry("b", F1)
        add_entry(board.registry, "a", make_diff({F1: (patched("b"), patched("a", "b"))}))
        assert board.run("apply") == 0
        assert board.run("check") == 0
        assert board.state("b")[1:] == ("fixed", "none")

    def test_where_an_unnamed_entry_fits_only_on_top_of_another(self, board: Board) -> None:
        board.entry("a", F1)
        top = patched("a").replace(b"line_5 = 'a'\n", b"line_5 = 'a' + 'z'\n")
        add_entry(board.registry, "z", make_diff({F1: (patched("a"), top)}), variant={"versions": "<0.1"})
        code = board.run("apply")
        assert code == 1
        assert board.read(F1) == patched("a")
        assert board.run("check") == 1

    def test_one_that_cannot_land_does_not_stop_the_others(self, board: Board) -> None:
        board.entry("a", F1)
        board.entry("b", F2)
        board.write("vllm/f2.cpython-310-x86_64-linux-gnu.so", b"")
        assert board.state("b")[2] == "inspect"
        assert board.desk.run("apply", "--dry-run").code == 1
        done = board.desk.run("apply")
        assert done.code == 1
        assert "shadowed by f2.cpython-310" in done.err
        assert (board.read(F1), board.read(F2)) == (patched("a"), BASE)

    def test_one_that_would_break_a_neighbour_does_not_stop_the_others(self, board: Board) -> None:
        board.entry("a", F1)
        stands = patched("a").replace(b"line_6 = 0\n", b"line_6 = 'b'\n")
        add_entry(board.registry, "b", make_diff({F1: (patched("a"), stands)}))
        assert board.run("apply", "a") == 0
        assert board.run("apply", "b") == 0
        board.entry("a", F1, letter="c", revision=2)
        board.entry("d", F2)
        done = board.desk.run("apply")
        assert done.code == 1
        assert (board.read(F1), board.read(F2)) == (stands, patched("d"))

    def test_a_distribution_alone_means_it_alone_for_writers_too(self, tmp_path: Path) -> None:
        board = Board(tmp_path)
        install(board.site, {"aiter/x.py": BASE}, name="AITER", build="1.0")
        board.entry("a", F1)
        add_entry(board.registry, "x", make_diff({"aiter/x.py": (BASE, patched("b"))}), distribution="aiter")
        assert board.run("apply", "--distribution", "Aiter") == 0
        assert (board.read(F1), board.read("aiter/x.py")) == (BASE, patched("b"))
        assert board.run("check", "--distribution", "aiter") == 0
        assert board.run("check", "--distribution", "vLLM") == 1
        assert board.run("apply") == 0
        assert board.run("revert", "--all", "--distribution", "vllm") == 0
        assert (board.read(F1), board.read("aiter/x.py")) == (BASE, patched("b"))


class TestDamage:
    def test_one_receipt_that_cannot_be_read_leaves_the_others_usable(self, board: Board) -> None:
        board.entry("a", F1)
        board.entry("b", F2)
        assert board.run("apply") == 0
        ledger = json.loads((board.site / ".patchctl/ledger.json").read_text())
        digest = next(receipt for receipt in ledger["receipts"] if receipt["id"] == "a")["diffs"][0]["sha256"]
        (board.site / ".patchctl/patches" / digest).write_bytes(b"damaged\n")
        assert board.run("status") == 0
        assert board.run("check") == 3
        assert board.run("revert", "b") == 0
        assert board.run("revert", "a") == 0
        assert (board.read(F1), board.read(F2)) == (BASE, BASE)

    def test_an_uninstalled_distribution_is_no_crash(self, board: Board) -> None:
        install(board.site, {"foo/g.py": BASE}, name="foo", build="1.0")
        add_entry(board.registry, "r", make_diff({"foo/g.py": (BASE, patched("b"))}), distribution="foo")
        assert board.run("apply") == 0
        for path in [*board.site.glob("foo-*.dist-info"), board.site / "foo"]:
            shutil.rmtree(path)
        board.entry("a", F1, requires=["r"])
        assert board.run("apply") == 1
        assert board.run("check") == 1
        assert board.run("revert", "r") == 0
        assert board.read(F1) == BASE

    def test_a_distribution_may_not_touch_what_another_one_patched(self, board: Board) -> None:
        install(board.site, {"foo/g.py": BASE}, name="foo", build="1.0")
        add_entry(board.registry, "a", make_diff({"foo/g.py": (BASE, patched("a"))}), distribution="foo")
        add_entry(board.registry, "b", make_diff({"foo/g.py": (BASE, patched("b"))}))
        for _ in range(2):
            assert board.run("apply") == 1
            assert board.read("foo/g.py") == patched("a")

    def test_a_record_that_is_gone_leaves_the_hashes_to_decide(self, board: Board) -> None:
        board.entry("a", F1)
        assert board.run("apply") == 0
        (record,) = board.site.glob("vllm-*.dist-info/RECORD")
        record.unlink()
        assert board.state("a")[0] == "applied"
        assert board.run("revert", "a") == 0
        assert board.read(F1) == BASE

    def test_directories_go_with_the_last_file_that_was_added_to_them(self, board: Board) -> None:
        before = tree(board.site)
        for name in ("a", "b"):
            add_entry(board.registry, name, make_diff({f"vllm/d/{name}.py": (None, b"x = 1\n")}))
            assert board.run("apply", name) == 0
        assert board.run("revert", "a") == 0
        assert board.run("revert", "b") == 0
        assert tree(board.site) == before

    def test_a_held_entry_that_is_lost_is_said(self, board: Board) -> None:
        board.entry("a", F1)
        assert board.run("apply") == 0
        assert board.run("hold", "a", "--reason", "ours") == 0
        board.write(F1, BASE)
        done = board.desk.json("check")
        assert done.code == 0
        assert "held-not-in" in [warning["code"] for warning in done.document["warnings"]]
        assert "lost" in done.patch("a")["reason"]

    def test_a_hold_without_an_entry_is_shown(self, board: Board) -> None:
        board.entry("a", F1)
        board.entry("b", F2)
        assert board.run("hold", "b", "--reason", "ours") == 0
        shutil.rmtree(board.registry / "vllm" / "b")
        assert "hold is recorded for b" in board.desk.run("status").err
        assert board.run("unhold", "b") == 0

    def test_the_last_entry_that_left_the_registry_can_be_reverted(self, board: Board) -> None:
        board.entry("a", F1)
        assert board.run("apply") == 0
        shutil.rmtree(board.registry / "vllm")
        assert board.state("a") == ("applied", "wanted", "none")
        assert board.run("revert", "a") == 0
        assert board.read(F1) == BASE

    def test_a_registry_that_is_all_broken_says_why(self, board: Board) -> None:
        board.entry("a", F1, no_such_key=1)
        done = board.desk.run("status")
        assert done.code == 3
        assert "no_such_key" in done.err

    def test_a_large_offset_is_said_and_can_be_refused(self, tmp_path: Path) -> None:
        board = Board(tmp_path, files={F1: b"# moved\n" * 400 + BASE})
        board.entry("a", F1)
        codes = [warning["code"] for warning in board.desk.json("status").document["warnings"]]
        assert "large-offset" in codes
        assert board.run("apply", "--max-offset", "399") == 1
        assert board.run("apply", "--max-offset", "400") == 0


class TestJournal:
    def test_is_settled_without_registry_or_distribution(self, board: Board) -> None:
        from tests.test_contract import open_journal

        board.entry("a", F1)
        path = board.site / F1
        path.rename(board.site / "vllm/engine.py")
        add_entry(board.registry, "a", make_diff({"vllm/engine.py": (BASE, patched("a"))}))
        (record,) = board.site.glob("vllm-*.dist-info/RECORD")
        record.write_text(record.read_text().replace("vllm/f1.py", "vllm/engine.py"))
        open_journal(board.desk)
        for info in board.site.glob("vllm-*.dist-info"):
            shutil.rmtree(info)
        lost = Desk(site=board.site, registry=board.registry / "nowhere")
        assert lost.run("check").code == 4
        assert lost.run("recover").code == 0
        assert lost.run("check").code == 3

    def test_a_roll_back_on_the_way_is_said_whatever_comes_after(self, board: Board) -> None:
        from tests.test_contract import open_journal

        add_entry(board.registry, "a", make_diff({F1: (BASE, patched("a"))}))
        shutil.copy(board.site / F1, board.site / "vllm/engine.py")
        (record,) = board.site.glob("vllm-*.dist-info/RECORD")
        row = next(line for line in record.read_bytes().split(b"\r\n") if line.startswith(b"vllm/f1.py"))
        record.write_bytes(record.read_bytes() + row.replace(b"f1.py", b"engine.py") + b"\r\n")
        add_entry(board.registry, "e", make_diff({"vllm/engine.py": (BASE, patched("a"))}))
        for arguments, code in ((["apply", "nothing"], 2), (["retire", "a"], 1), (["apply", "--json"], 0)):
            open_journal(board.desk)
            done = board.desk.run(*arguments)
            assert done.code == code
            assert "rolled back" in done.out + done.err
            board.run("revert", "--all")


class TestBareChanges:
    """Each entry on its own merits; what did not land is said, what landed is recorded, nothing else."""

    def test_a_drifted_entry_is_not_retired_and_does_not_stop_the_others(self, tmp_path: Path) -> None:
        board = Board(tmp_path, files={F1: BASE, F2: BASE})
        board.entry("a", F1)
        board.entry("b", F2)
        assert board.run("apply") == 0
        # Both are fixed upstream now: each build file carries its own change, and b's was edited since.
        for name, path in (("a", F1), ("b", F2)):
            fix = dict(TestProof.FIX, evidence=[{"file": "vllm/f3.py", "symbol": "step", "contains": "fixed(1)"}])
            add_entry(board.registry, name, make_diff({path: (BASE, patched(name))}), fixes=[fix])
        (board.site / F3).write_bytes(TestProof.NEW)
        board.write(F2, patched("b") + b"mine\n")
        done = board.desk.json("retire")
        assert done.code == 1
        assert done.document["transaction"]["retired"] == ["a"]
        ledger = json.loads((board.site / ".patchctl/ledger.json").read_text())
        assert [it["id"] for it in ledger["retirements"]] == ["a"]
        assert [it["id"] for it in ledger["receipts"]] == ["b"]

    def test_what_stays_out_with_another_is_said(self, tmp_path: Path) -> None:
        board = Board(tmp_path, files={F1: b"# moved\n" * 50 + BASE, F2: BASE, F3: BASE})
        board.entry("a", F1)
        board.entry("b", F2, requires=["a"])
        board.entry("c", F3)
        done = board.desk.json("apply", "--max-offset", "10")
        assert done.code == 1
        assert {error["patch"] for error in done.document["errors"]} == {"a", "b"}
        assert done.document["transaction"]["applied"] == ["c"]

    def test_a_link_in_the_way_of_one_does_not_stop_the_others(self, tmp_path: Path, board: Board) -> None:
        add_entry(board.registry, "a", make_diff({"vllm/d/a.py": (None, b"x = 1\n")}))
        board.entry("b", F2)
        assert board.run("apply", "a") == 0
        shutil.move(board.site / "vllm/d", tmp_path / "elsewhere")
        (board.site / "vllm/d").symlink_to(tmp_path / "elsewhere")
        assert board.run("apply", "b") == 0
        assert board.read(F2) == patched("b")
        assert (tmp_path / "elsewhere/a.py").read_bytes() == b"x = 1\n"


class TestSecondRound:
    """What a randomized run over stacks, accidents and verbs found, each in its smallest form."""

    def test_a_refused_renewal_leaves_the_applied_one_in(self, board: Board) -> None:
        far = b"# moved\n" * 400 + BASE
        board.entry("a", F1)
        assert board.run("apply") == 0
        hunk = make_diff({F1: (far, far.replace(b"line_25 = 0\n", b"line_25 = 'c'\n"))})
        add_entry(board.registry, "a", hunk, revision=2)
        board.entry("b", F1)
        assert board.run("apply", "--max-offset", "5") == 1
        assert board.read(F1) == patched("a", "b")
        assert board.state("a")[0] == "applied"

    def test_a_renewal_lands_on_the_old_revision_of_a_requirement_that_is_refused(self, board: Board) -> None:
        board.entry("r", F3, letter="d")
        board.entry("a", F1)
        assert board.run("apply") == 0
        board.entry("q", F3, letter="e", conflicts=["a"], default=False)
        board.entry("r", F3, letter="d", revision=2, requires=["q"])
        board.entry("a", F1, letter="c", revision=2, requires=["r"])
        board.entry("b", F1)
        assert board.run("apply") == 1
        assert (board.read(F1), board.read(F3)) == (patched("b", "c"), patched("d"))

    def test_a_lost_entry_that_cannot_come_back_keeps_what_stands(self, board: Board) -> None:
        board.entry("a", F3)
        board.entry("c", F1, F2, requires=["a"])
        assert board.run("apply") == 0
        board.write(F3, BASE)
        board.write(F1, BASE)
        assert board.run("hold", "a", "--reason", "x") == 0
        board.entry("b", F2, default=False)
        assert board.run("apply", "--all") == 1
        assert board.read(F2) == patched("b", "c")

    def test_a_base_that_held_our_lines_proves_nothing(self, tmp_path: Path) -> None:
        old, new = TestProof.OLD, TestProof.NEW
        board = Board(tmp_path, files={F1: old, F2: BASE})
        add_entry(board.registry, "back", make_diff({F1: (old, new)}), kind="backport", fixes=[TestProof.FIX])
        add_entry(board.registry, "other", make_diff({F2: (BASE, patched("b"))}), fixes=[TestProof.FIX])
        assert board.run("apply") == 0
        shutil.rmtree(board.site / ".patchctl")
        board.run("apply")
        add_entry(board.registry, "c", make_diff({F1: (old, old.replace(b"line_25 = 0\n", b"line_25 = 'c'\n"))}))
        assert board.run("apply") == 1
        assert b"line_25 = 'c'" in board.read(F1)
        for id_ in ("back", "other"):
            assert board.desk.json("status", id_).patch(id_)["fixes"][0]["status"] == "absent"

    def test_a_misspelt_distribution_is_never_green(self, board: Board) -> None:
        board.entry("a", F1)
        assert board.run("apply") == 0
        board.write(F1, BASE)
        for verb in (["check"], ["status"], ["apply"], ["revert", "--all"]):
            assert board.run(*verb, "--distribution", "nope") == 3

    def test_an_entry_leaves_no_file_that_an_unreadable_one_shares(self, board: Board) -> None:
        board.entry("a", F1)
        board.entry("b", F1)
        assert board.run("apply") == 0
        ledger = json.loads((board.site / ".patchctl/ledger.json").read_text())
        (board.site / ".patchctl/patches" / ledger["receipts"][0]["diffs"][0]["sha256"]).write_bytes(b"damaged")
        assert board.run("revert", "b") == 1
        assert board.read(F1) == patched("a", "b")
        board.entry("b", F2, revision=2)
        assert board.run("apply", "b") == 1
        assert board.read(F1) == patched("a", "b")
        assert board.run("revert", "a", "b") == 0
        assert board.read(F1) == BASE

    def test_what_the_build_carries_stays_fixed_under_another_change(self, tmp_path: Path) -> None:
        board = Board(tmp_path, files={F1: patched("a")})
        board.entry("a", F1)
        upper = patched("a").replace(b"line_7 = 0\n", b"line_7 = 'b'\n")
        add_entry(board.registry, "b", make_diff({F1: (patched("a"), upper)}), requires=["a"])
        assert board.run("apply") == 0
        assert board.run("check") == 0
        assert board.state("a")[1:] == ("fixed", "none")

    def test_old_and_new_do_not_come_in_together(self, board: Board) -> None:
        board.entry("a", F1)
        board.entry("c", F2, default=False, replaces=["a"])
        assert board.run("apply", "a", "c") == 1
        assert board.run("apply", "--all") == 0
        assert (board.read(F1), board.read(F2)) == (BASE, patched("c"))
        assert board.run("check") == 0

    def test_no_error_about_an_entry_that_the_same_run_takes_out(self, board: Board) -> None:
        board.entry("a", F1)
        board.entry("c", F2)
        assert board.run("apply") == 0
        board.entry("c", F2, revision=2, replaces=["a"])
        assert board.run("apply") == 0
        assert board.read(F1) == BASE
        assert board.run("check") == 0

    def test_one_run_brings_in_what_stands_on_what_is_wanted(self, board: Board) -> None:
        board.entry("a", F1)
        upper = patched("a").replace(b"line_7 = 0\n", b"line_7 = 'b'\n")
        add_entry(board.registry, "b", make_diff({F1: (patched("a"), upper)}))
        assert board.run("apply") == 0
        assert board.read(F1) == upper
        assert board.run("check") == 0

    def test_status_looks_to_the_end_of_a_chain_of_requirements(self, board: Board) -> None:
        board.entry("d", F1, requires=["c"])
        board.entry("c", F2, requires=["a"])
        add_entry(board.registry, "a", make_diff({"vllm/none.py": (BASE, patched("a"))}), default=False)
        assert board.state("d")[2] == "inspect"
        done = board.desk.json("apply")
        assert done.code == 1
        assert {error["patch"] for error in done.document["errors"]} == {"c", "d"}

    def test_a_conflict_outlives_a_broken_registry_entry(self, board: Board) -> None:
        board.entry("a", F1, conflicts=["b"])
        assert board.run("apply") == 0
        board.entry("b", F2)
        (board.registry / "vllm/a/patch.toml").write_text("broken")
        assert board.run("apply", "b") == 1
        assert board.read(F2) == BASE

    def test_a_named_entry_that_its_replacement_would_take_out_is_refused(self, board: Board) -> None:
        board.entry("a", F1)
        assert board.run("apply", "a") == 0
        board.write(F1, BASE)
        board.entry("c", F2, default=False, replaces=["a"])
        assert board.run("apply", "a", "c") == 1
        assert (board.read(F1), board.read(F2)) == (BASE, BASE)
