"""``preflight``: fates, protection, exit codes and shapes; nothing is ever written."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from patchctl.build import BuildChange, change_of
from patchctl.commands.moves import changed_symbols
from patchctl.diff import parse_diff
from tests.contract import complaints
from tests.environments import make_environment
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, Done, killed_at, on_a_terminal
from tests.sites import install, make_site, tree_state
from tests.small_wheels import make_wheel

ONE, TWO, NEW = "vllm/one.py", "vllm/two.py", "vllm/sub/new.py"
BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 31))
LOW = BASE.replace(b"line_5 = 1\n", b"line_5 = 5\n")
BOTH = LOW.replace(b"line_25 = 1\n", b"line_25 = 5\n")
RUNNER = b"import os\n\n\nclass Runner:\n    def step(self):\n        one = 1\n        two = 2\n        return self\n"
FIXED = RUNNER.replace(b"return self", b"return guard(self)")
REST = {ONE: BASE, TWO: RUNNER, "vllm/__init__.py": b""}
EVIDENCE = {"file": TWO, "symbol": "Runner.step", "contains": "guard(self)"}
FIX = {"ref": "x/y#1", "role": "fixes", "claimed": ">=0.26", "source": "https://x", "evidence": [EVIDENCE]}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(
        site=make_site(tmp_path, REST, build="0.25.1"),
        registry=make_registry(tmp_path / "registry"),
    )


def enter(desk: Desk, id_: str, after: Mapping[str, bytes], **more: Any) -> None:
    assert desk.registry is not None
    add_entry(desk.registry, id_, make_diff({path: (REST[path], data) for path, data in after.items()}), **more)


def newer(where: Path, changed: Mapping[str, bytes | None] | None = None, build: str = "0.26.0") -> Path:
    files = {**REST, **(changed or {})}
    where.mkdir(exist_ok=True)
    return make_wheel(where, [(path, data) for path, data in files.items() if data is not None], build=build)


def extracted(wheel: Path, into: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(into)
    return into


def looked(desk: Desk, *candidates: Path, code: int = 0) -> Done:
    before = tree_state(desk.site)
    done = desk.json("preflight", *map(str, candidates))
    assert (done.code, complaints(done.document)) == (code, [])
    assert tree_state(desk.site) == before
    return done


def only(done: Done) -> dict[str, Any]:
    (candidate,) = done.document["candidates"]
    (entry,) = candidate["patches"]
    assert candidate["lost"] == ([entry["id"]] if entry["lost"] else [])
    assert isinstance(entry, dict)
    return entry


def words(entry: dict[str, Any]) -> tuple[str, str, str | None]:
    return entry["fate"], entry["protection"], entry["fix_status"]


class TestFates:
    def test_a_patch_that_fits_where_it_states_applies(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-low", {ONE: LOW})
        assert desk.run("apply").code == 0
        entry = only(looked(desk, newer(tmp_path / "w")))
        assert words(entry) == ("applies", "patch", None)
        assert (entry["now"]["verdict"], entry["there"]["verdict"]) == ("applied", "lost")
        assert (entry["largest_offset"], entry["about"]) == (None, [])

    def test_what_is_wanted_and_not_applied_is_judged_as_well(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-low", {ONE: LOW})
        entry = only(looked(desk, newer(tmp_path / "w")))
        assert (words(entry), entry["now"]["verdict"]) == (("applies", "patch", None), "applicable")

    def test_the_largest_offset_is_told(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-both", {ONE: BOTH})
        entry = only(looked(desk, newer(tmp_path / "w", {ONE: b"# newer\n" * 2 + BASE[:-12] + b"# end\n"})))
        assert (words(entry), entry["largest_offset"]) == (("applies-with-offset", "patch", None), 2)
        assert entry["about"] == [f"at most 2 lines from where the diff states, in {ONE}"]

    def test_proven_fixes_retire_it(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-fix", {TWO: RUNNER.replace(b"one = 1", b"one = 2")}, fixes=[FIX])
        assert desk.run("apply").code == 0
        entry = only(looked(desk, newer(tmp_path / "w", {TWO: FIXED})))
        assert (words(entry), entry["about"]) == (("retires", "upstream", "proven"), ["proven: x/y#1"])

    def test_a_build_that_carries_the_change_retires_it_without_evidence(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-low", {ONE: LOW})
        entry = only(looked(desk, newer(tmp_path / "w", {ONE: LOW})))
        assert words(entry) == ("retires", "upstream", None)
        assert "the build itself carries the change" in entry["about"][0]

    def test_a_claim_is_shown_beside_the_fate_and_retires_nothing(self, desk: Desk, tmp_path: Path) -> None:
        bare = {key: value for key, value in FIX.items() if key != "evidence"}
        enter(desk, "a-claimed", {ONE: LOW}, fixes=[bare])
        entry = only(looked(desk, newer(tmp_path / "w")))
        assert words(entry) == ("applies", "patch", "claimed")
        assert entry["about"] == ["claimed only: the number says so, nothing proves it: x/y#1"]

    def test_a_contradicted_claim_is_the_worst_that_is_said_of_fixes(self, desk: Desk, tmp_path: Path) -> None:
        proven = {**FIX, "ref": "x/y#2", "evidence": [{"file": ONE, "contains": "line_5 = 1"}]}
        enter(desk, "a-low", {ONE: LOW}, fixes=[proven, FIX])
        entry = only(looked(desk, newer(tmp_path / "w")))
        assert words(entry) == ("applies", "patch", "contradicted")
        assert entry["about"] == ["claimed for this version, but NOT in its files: x/y#1"]

    def test_other_code_needs_a_port_and_the_conflict_is_told(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-low", {ONE: LOW})
        wheel = newer(tmp_path / "w", {ONE: BASE.replace(b"line_6 = 1\n", b"line_6 = 9\n")})
        entry = only(looked(desk, wheel, code=1))
        assert words(entry) == ("needs-port", "lost", None)
        assert entry["about"][0] == f"{ONE}, hunk 1: its lines are not in the file"
        (hunk,) = entry["there"]["files"][0]["hunks"]
        assert [line["text"] for line in hunk["explanation"]["lines"] if line["mark"] == "found"] == ["line_6 = 9\n"]

    def test_a_build_that_no_variant_names_is_unmatched_and_whether_the_diff_fits_is_told(
        self, desk: Desk, tmp_path: Path
    ) -> None:
        enter(desk, "a-low", {ONE: LOW}, variant={"versions": "<0.26"})
        assert desk.run("apply").code == 0
        entry = only(looked(desk, newer(tmp_path / "w"), code=1))
        assert words(entry) == ("unmatched", "lost", None)
        assert entry["about"][0].startswith("no variant names this build: ")
        assert entry["about"][1] == "its diff would fit"
        entry = only(looked(desk, newer(tmp_path / "x", {ONE: b"other = 1\n"}), code=1))
        assert entry["about"][1] == f"its diff does not fit: {ONE}, hunk 1: its lines are not in the file"

    def test_what_is_held_in_comes_back_where_it_fits(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-low", {ONE: LOW})
        assert desk.run("apply").code == 0
        assert desk.run("hold", "a-low", "--reason", "on trial").code == 0
        entry = only(looked(desk, newer(tmp_path / "w")))
        assert (words(entry), entry["about"]) == (("applies", "patch", None), ["held: on trial"])
        entry = only(looked(desk, newer(tmp_path / "x", {ONE: b"other = 1\n"})))
        assert words(entry) == ("held", "none", None)
        lost = f"it is in now, and will be out there: {ONE}, hunk 1: its lines are not in the file"
        assert entry["about"] == ["held: on trial", lost]

    def test_what_is_in_by_hand_alone_is_lost_unless_somebody_records_it(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-low", {ONE: LOW}, default=False)
        (desk.site / ONE).write_bytes(LOW)
        wheel = newer(tmp_path / "w")
        entry = only(looked(desk, wheel, code=1))
        assert words(entry) == ("applies", "lost", None)
        assert entry["about"] == [
            "now: in the files, but nobody recorded it; to count it as applied: patchctl adopt a-low"
        ]
        assert desk.run("adopt", "a-low").code == 0
        entry = only(looked(desk, wheel))
        assert (words(entry), entry["about"]) == (("applies", "patch", None), [])

    def test_what_is_held_out_stays_out(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-low", {ONE: LOW}, fixes=[FIX])
        assert desk.run("hold", "a-low", "--reason", "never").code == 0
        entry = only(looked(desk, newer(tmp_path / "w")))
        assert (words(entry)[:2], entry["about"][0]) == (("held", "none"), "held: never")
        assert words(only(looked(desk, newer(tmp_path / "x", {TWO: FIXED})))) == ("held", "upstream", "proven")

    def test_an_advisory_is_advice(self, desk: Desk, tmp_path: Path) -> None:
        assert desk.registry is not None
        folder = add_entry(desk.registry, "a-advice", None, kind="advisory", fixes=[FIX])
        with (folder / "patch.toml").open("a") as text:
            text.write('\n[[avoid]]\nargs = ["--slow"]\nwhen = "always"\ncost = "speed"\n')
        assert words(only(looked(desk, newer(tmp_path / "w")))) == ("advice", "none", "contradicted")
        entry = only(looked(desk, newer(tmp_path / "x", {TWO: FIXED})))
        assert words(entry) == ("advice", "upstream", "proven")
        assert entry["about"] == ["nothing needs to be avoided any more"]

    def test_what_another_entry_replaces_is_protected_by_that_one(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-old", {ONE: LOW})
        assert desk.run("apply").code == 0
        enter(desk, "b-new", {ONE: BOTH}, replaces=["a-old"], variant={"versions": ">=0.26"})
        (candidate,) = looked(desk, newer(tmp_path / "w")).document["candidates"]
        old, new = candidate["patches"]
        assert (words(old), words(new)) == (("replaced", "patch", None), ("applies", "patch", None))
        (candidate,) = looked(desk, newer(tmp_path / "x", {ONE: b"other = 1\n"}), code=1).document["candidates"]
        assert candidate["lost"] == ["a-old", "b-new"]

    def test_an_entry_that_a_neighbour_keeps_out_is_blocked(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-low", {ONE: LOW})
        enter(desk, "b-two", {TWO: FIXED}, conflicts=["a-low"])
        (candidate,) = looked(desk, newer(tmp_path / "w"), code=1).document["candidates"]
        assert [words(entry)[0] for entry in candidate["patches"]] == ["blocked", "blocked"]
        assert "it conflicts with b-two" in candidate["patches"][0]["about"][0]

    @pytest.mark.attack("shadowed-module")
    @pytest.mark.parametrize("beside", ["one.cpython-311-x86_64-linux-gnu.so", "one/__init__.py", "one/__init__.pyc"])
    def test_what_python_would_import_in_its_place_blocks(self, desk: Desk, tmp_path: Path, beside: str) -> None:
        enter(desk, "a-low", {ONE: LOW})
        wheel = newer(tmp_path / "w", {f"vllm/{beside}": b"\x7fELF"})
        entry = only(looked(desk, wheel, code=1))
        assert words(entry) == ("blocked", "lost", None)
        assert "is shadowed by" in entry["about"][0]

    @pytest.mark.attack("files-of-others")
    def test_a_file_that_another_distribution_of_the_site_lists_blocks(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-low", {ONE: LOW})
        install(desk.site, {"aiter/__init__.py": b""}, name="aiter", build="1.0", extra_rows=[(ONE, "", "")])
        entry = only(looked(desk, newer(tmp_path / "w"), code=1))
        assert words(entry)[0] == "blocked"
        assert "RECORD of aiter lists it too" in entry["about"][0]

    def test_a_change_made_by_hand_in_the_candidate_is_present(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-low", {ONE: LOW})
        site = extracted(newer(tmp_path / "w"), tmp_path / "there")
        (site / ONE).write_bytes(LOW)
        entry = only(looked(desk, site))
        assert (words(entry), entry["there"]["action"]) == (("present", "patch", None), "adopt")

    def test_what_a_candidate_with_a_state_of_its_own_has_applied_is_applied(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-low", {ONE: LOW})
        there = Desk(site=extracted(newer(tmp_path / "w"), tmp_path / "there"), registry=desk.registry)
        assert there.run("apply").code == 0
        assert words(only(looked(desk, there.site))) == ("applied", "patch", None)

    def test_a_distribution_that_the_candidate_does_not_bring_is_untouched(self, desk: Desk, tmp_path: Path) -> None:
        assert desk.registry is not None
        enter(desk, "a-low", {ONE: LOW})
        install(desk.site, {"aiter/ops.py": BASE, "aiter/__init__.py": b""}, name="aiter", build="1.0")
        add_entry(desk.registry, "b-aiter", make_diff({"aiter/ops.py": (BASE, LOW)}), distribution="aiter")
        assert desk.run("apply").code == 0
        (candidate,) = looked(desk, newer(tmp_path / "w")).document["candidates"]
        found = {entry["id"]: words(entry)[:2] for entry in candidate["patches"]}
        assert found == {"a-low": ("applies", "patch"), "b-aiter": ("untouched", "patch")}

    def test_a_broken_entry_is_answered_for_by_nobody(self, desk: Desk, tmp_path: Path) -> None:
        assert desk.registry is not None
        enter(desk, "a-low", {ONE: LOW})
        ranges = {"versions": ">=0.25"}
        folder = add_entry(desk.registry, "b-tie", make_diff({TWO: (RUNNER, FIXED)}), variant=ranges)
        text = (folder / "patch.toml").read_text()
        variant = text[text.index("[[variant]]") :].replace(">=0.25", ">=0.26")
        (folder / "patch.toml").write_text(f"{text}\n{variant}")
        (candidate,) = looked(desk, newer(tmp_path / "w"), code=3).document["candidates"]
        found = {entry["id"]: (entry["fate"], entry["there"] is None) for entry in candidate["patches"]}
        assert found == {"a-low": ("applies", False), "b-tie": ("unknown", True)}
        assert candidate["unknown"] == ["b-tie"]

    def test_what_concerns_neither_side_is_not_shown(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-old", {ONE: LOW}, variant={"versions": "<0.1"})
        enter(desk, "b-optional", {TWO: FIXED}, default=False)
        (candidate,) = looked(desk, newer(tmp_path / "w", {ONE: b"other = 1\n"})).document["candidates"]
        assert candidate["patches"] == []

    def test_a_downgrade_makes_what_is_fixed_here_due_again(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-fix", {TWO: FIXED}, fixes=[FIX])
        shutil.rmtree(desk.site)
        make_site(desk.site.parent, {**REST, TWO: FIXED}, build="0.26.0")
        done = looked(desk, newer(tmp_path / "w", build="0.25.1"))
        entry = only(done)
        assert (entry["now"]["need"], words(entry)) == ("fixed", ("applies", "patch", "absent"))
        assert done.document["candidates"][0]["changes"][0]["change"] == "downgrade"


class TestMoves:
    def test_a_file_that_is_gone_vanishes_and_its_symbol_is_found(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-two", {TWO: FIXED})
        assert desk.run("apply").code == 0
        entry = only(looked(desk, newer(tmp_path / "w", {TWO: None, NEW: b"# moved\n" + RUNNER}), code=1))
        assert words(entry) == ("vanishes", "lost", None)
        assert entry["moved"] == [
            {"path": TWO, "symbol": None, "defined": None, "paths": [], "more": 0, "fits": [], "alike": []},
            {
                "path": TWO,
                "symbol": "Runner.step",
                "defined": "Runner.step",
                "paths": [NEW],
                "more": 0,
                "fits": [NEW],
                "alike": [],
            },
        ]
        assert entry["about"][0] == f"{TWO}: there is no such file"
        assert entry["about"][1] == f"Runner.step is in {NEW}; the diff would fit {NEW}"

    def test_a_file_of_the_same_name_elsewhere_is_named(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-one", {ONE: LOW})
        entry = only(looked(desk, newer(tmp_path / "w", {ONE: None, "vllm/sub/one.py": b"x = 1\n"}), code=1))
        nothing: dict[str, Any] = {"symbol": None, "defined": None, "more": 0, "fits": [], "alike": []}
        assert entry["moved"] == [{"path": ONE, "paths": ["vllm/sub/one.py"], **nothing}]

    def test_of_a_rename_the_old_name_is_missed_and_sought(self, desk: Desk, tmp_path: Path) -> None:
        assert desk.registry is not None
        diff = f"diff --git a/{ONE} b/vllm/new.py\nrename from {ONE}\nrename to vllm/new.py\n".encode()
        add_entry(desk.registry, "a-move", diff)
        assert desk.run("apply").code == 0
        entry = only(looked(desk, newer(tmp_path / "w", {ONE: None, "vllm/sub/one.py": BASE}), code=1))
        assert words(entry) == ("vanishes", "lost", None)
        assert [(moved["path"], moved["paths"]) for moved in entry["moved"]] == [(ONE, ["vllm/sub/one.py"])]
        assert entry["about"] == [
            f"vllm/new.py: {ONE}, which is to be renamed to it, is not there",
            "a file of the name one.py is in vllm/sub/one.py",
        ]

    def test_a_function_that_left_its_file_is_found(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-two", {TWO: FIXED})
        entry = only(looked(desk, newer(tmp_path / "w", {TWO: b"import os\n", NEW: RUNNER}), code=1))
        assert words(entry)[0] == "needs-port"
        assert [(moved["symbol"], moved["paths"]) for moved in entry["moved"]] == [("Runner.step", [NEW])]

    def test_a_function_that_only_changed_did_not_move(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-two", {TWO: FIXED})
        changed = RUNNER.replace(b"two = 2", b"two = 3")
        entry = only(looked(desk, newer(tmp_path / "w", {TWO: changed, NEW: RUNNER}), code=1))
        assert (words(entry)[0], entry["moved"]) == ("needs-port", [])

    def test_a_renamed_class_leaves_the_rare_name_of_its_method(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-two", {TWO: FIXED})
        renamed = RUNNER.replace(b"class Runner", b"class AutoRunner")
        entry = only(looked(desk, newer(tmp_path / "w", {TWO: None, NEW: renamed}), code=1))
        assert [moved["paths"] for moved in entry["moved"]] == [[], [NEW]]
        assert [(moved["symbol"], moved["defined"]) for moved in entry["moved"]] == [
            (None, None),
            ("Runner.step", "step"),
        ]
        assert entry["about"][1].startswith(f"step is in {NEW}; ")

    def test_a_class_without_its_method_is_named_alone(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-two", {TWO: FIXED})
        entry = only(looked(desk, newer(tmp_path / "w", {TWO: None, NEW: b"class Runner:\n    pass\n"}), code=1))
        assert entry["about"][1] == f"Runner is in {NEW}"

    def test_a_name_that_is_everywhere_says_nothing(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-two", {TWO: FIXED})
        others: dict[str, bytes | None] = {f"vllm/o{number}.py": b"def step(): pass\n" for number in range(4)}
        entry = only(looked(desk, newer(tmp_path / "w", {TWO: None, **others}), code=1))
        assert [moved["paths"] for moved in entry["moved"]] == [[], []]
        assert entry["about"][1] == "Runner.step is nowhere in the distribution, nor are its lines"

    def test_where_no_name_leads_on_the_lines_do(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-one", {ONE: LOW})
        indented = b"class Other:\n" + b"".join(b"    " + line + b"\n" for line in BASE.splitlines()[:7])
        wheel = newer(tmp_path / "w", {ONE: None, NEW: indented, "vllm/far.py": b"line_2 = 1\nline_3 = 1\n"})
        entry = only(looked(desk, wheel, code=1))
        assert [moved["alike"] for moved in entry["moved"]] == [[{"path": NEW, "equal": 6, "size": 7}]]
        assert entry["about"][1] == f"its lines are in {NEW} (6 of 7)"

    @pytest.mark.parametrize("source", [RUNNER, None])
    def test_symbols_are_read_off_the_file_or_else_the_diff(self, source: bytes | None) -> None:
        added = (
            RUNNER.replace(b"        two", b"        new = 1\n        two") + b"\n    def more(self):\n        pass\n"
        )
        text = make_diff({TWO: (RUNNER, added)}).replace(b" @@\n", b" @@ class Runner:\n", 1)
        (diff,) = parse_diff(text)
        found = changed_symbols(diff, diff.hunks, source, text)
        # the added method is the diff's own: it is nowhere else
        assert found == (("Runner", "step"), ("Runner",))


class TestPartialUpstreaming:
    """D5: a candidate that carries half of a two-hunk back-port."""

    def test_each_hunk_is_reported_and_nothing_retires(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-both", {ONE: BOTH}, kind="backport")
        assert desk.run("apply").code == 0
        done = looked(desk, newer(tmp_path / "w", {ONE: LOW}), code=1)
        entry = only(done)
        assert words(entry) == ("needs-recut", "lost", None)
        assert entry["about"] == [
            f"cut the diff again for this build, if the rest is still needed: {ONE}: hunk 1 is in; hunk 2 could go in "
            '(docs/registry.md, "Port to a new build")'
        ]
        hunks = entry["there"]["files"][0]["hunks"]
        assert [hunk["explanation"]["state"] for hunk in hunks] == ["present", "applicable"]
        assert entry["there"]["need"] == "wanted"
        assert entry["rest"].encode() == make_diff({ONE: (LOW, BOTH)})
        text = desk.run("preflight", "-v", str(tmp_path / "w/vllm-0.26.0-py3-none-any.whl")).out
        assert "\ndiff\ta-both\t+line_25 = 5\n" in text

    def test_the_rest_that_is_offered_makes_the_entry_whole(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-both", {ONE: BOTH, TWO: FIXED})
        carried = {ONE: b"# newer\n" + LOW, TWO: FIXED}
        entry = only(looked(desk, newer(tmp_path / "w", carried), code=1))
        assert desk.registry is not None
        add_entry(desk.registry, "a-both", entry["rest"].encode(), variant={"versions": ">=0.26"})
        entry = only(looked(desk, tmp_path / "w/vllm-0.26.0-py3-none-any.whl"))
        assert words(entry) == ("applies", "patch", None)

    def test_no_rest_is_offered_where_a_hunk_is_in_doubt(self, desk: Desk, tmp_path: Path) -> None:
        after = BOTH.replace(b"line_15 = 1\n", b"line_15 = 5\n")
        enter(desk, "a-three", {ONE: after})
        carried = LOW.replace(b"line_15 = 1\n", b"line_15 = 9\n")
        entry = only(looked(desk, newer(tmp_path / "w", {ONE: carried}), code=1))
        assert (words(entry)[0], entry["rest"]) == ("needs-recut", None)

    def test_of_several_files_each_says_what_is_in(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-both", {ONE: LOW, TWO: FIXED}, kind="backport")
        entry = only(looked(desk, newer(tmp_path / "w", {TWO: FIXED}), code=1))
        assert words(entry)[0] == "needs-recut"
        assert f"{ONE}: all of it could go in; {TWO}: all of it is in" in entry["about"][0]


class TestExitCodes:
    def test_an_unreadable_candidate_is_3_and_the_others_are_judged(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-low", {ONE: LOW})
        good, bad = newer(tmp_path / "w"), newer(tmp_path / "x", {ONE: b"other = 1\n"})
        done = looked(desk, good, tmp_path / "none.whl", bad, code=3)
        first, second, third = done.document["candidates"]
        assert (first["lost"], second["kind"], second["target"], third["lost"]) == ([], None, None, ["a-low"])
        assert second["errors"][0]["code"] == "no-candidate"
        assert [problem["code"] for problem in done.document["errors"]] == ["no-candidate"]
        looked(desk, good, bad, code=1)
        looked(desk, good, code=0)

    def test_a_wheel_of_another_distribution_is_no_candidate(self, desk: Desk, tmp_path: Path) -> None:
        assert desk.registry is not None
        enter(desk, "a-low", {ONE: LOW})
        install(tmp_path / "other", {"torch/__init__.py": b""}, name="torch", build="2.0")
        done = looked(desk, tmp_path / "other", code=3)
        assert [problem["code"] for problem in done.document["errors"]] == ["no-distribution"]

    def test_without_the_distribution_here_there_is_no_answer(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-low", {ONE: LOW})
        (tmp_path / "bare").mkdir()
        bare = Desk(site=tmp_path / "bare", registry=desk.registry)
        done = bare.json("preflight", str(newer(tmp_path / "w")))
        assert (done.code, complaints(done.document), "candidates" in done.document) == (3, [], False)

    def test_an_unfinished_transaction_here_or_there_is_4(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-low", {ONE: LOW})
        wheel = newer(tmp_path / "w")
        there = Desk(site=extracted(wheel, tmp_path / "there"), registry=desk.registry)
        killed_at(there, "one.py", "apply")
        done = looked(desk, wheel, there.site, code=4)
        assert [bool(found["target"]) for found in done.document["candidates"]] == [True, False]
        killed_at(desk, "one.py", "apply")
        done = desk.json("preflight", str(wheel))
        assert (done.code, done.document["transaction"]["state"]) == (4, "unfinished")

    def test_a_broken_entry_of_the_registry_is_3(self, desk: Desk, tmp_path: Path) -> None:
        assert desk.registry is not None
        enter(desk, "a-low", {ONE: LOW})
        enter(desk, "b-broken", {TWO: FIXED})
        (desk.registry / "vllm/b-broken/fix.diff").write_bytes(b"no diff\n")
        looked(desk, newer(tmp_path / "w"), code=3)

    def test_a_candidate_must_be_named(self, desk: Desk) -> None:
        assert desk.run("preflight").code == 2


class TestTheUpgrade:
    @pytest.mark.parametrize(
        ("old", "new", "change"),
        [
            ("0.25.1", "0.26.0", "upgrade"),
            ("0.20.0+das.dtk2604", "0.24.0", "upgrade"),
            ("0.26.0", "0.25.1", "downgrade"),
            ("0.26.0", "0.26.0rc1", "downgrade"),
            ("0.20.0+das.dtk2604", "0.20.0", "relabel"),
            ("0.20.0+DAS-dtk2604", "0.20.0+das.dtk2604", "same"),
            ("0.26", "0.26.0", "same"),
            ("dev", "dev", "same"),
            ("dev", "0.26.0", "other"),
        ],
    )
    def test_how_build_strings_follow(self, old: str, new: str, change: str) -> None:
        assert change_of(old, new) is BuildChange(change)

    def test_the_very_build_that_is_installed_is_a_reinstallation(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-low", {ONE: LOW})
        (candidate,) = looked(desk, newer(tmp_path / "w", build="0.25.1")).document["candidates"]
        assert candidate["changes"] == [
            {"distribution": "vllm", "from": "0.25.1", "to": "0.25.1", "change": "same", "same_files": True}
        ]
        assert "a reinstallation of what is installed" in terminal(desk, tmp_path / "w/vllm-0.25.1-py3-none-any.whl")

    def test_the_environment_itself_is_no_candidate(self, desk: Desk) -> None:
        enter(desk, "a-low", {ONE: LOW})
        (problem,) = looked(desk, desk.site, code=3).document["errors"]
        assert "is the environment itself" in problem["message"]

    def test_a_vendors_label_that_goes_is_said(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-low", {ONE: LOW})
        shutil.rmtree(desk.site)
        make_site(desk.site.parent, REST, build="0.20.0+das.dtk2604")
        (note,) = looked(desk, newer(tmp_path / "w")).document["candidates"][0]["notes"]
        assert note.startswith("vllm: a build with the label das.dtk2604 gives way to one without a label")

    def test_the_commands_are_those_of_the_upgrade_in_order(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-low", {ONE: LOW})
        assert desk.run("apply").code == 0
        wheel = newer(tmp_path / "w")
        commands = looked(desk, wheel).document["candidates"][0]["steps"]
        assert commands[0].startswith(f"patchctl retire --for {wheel} ")
        assert [command.split()[1] for command in commands if command.startswith("patchctl")] == [
            "retire",
            "apply",
            "check",
        ]
        assert desk.json("retire", "--for", str(wheel), "--dry-run").document["steps"] == commands

    def test_what_would_be_lost_is_what_retire_for_refuses(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-low", {ONE: LOW})
        enter(desk, "b-two", {TWO: FIXED})
        assert desk.run("apply").code == 0
        wheel = newer(tmp_path / "w", {ONE: b"other = 1\n"})
        refused = desk.json("retire", "--for", str(wheel))
        lost = looked(desk, wheel, code=1).document["candidates"][0]["lost"]
        assert lost == [problem["patch"] for problem in refused.document["errors"]] == ["a-low"]

    def test_an_entry_that_names_the_build_no_more_comes_back_on_the_very_same(
        self, desk: Desk, tmp_path: Path
    ) -> None:
        enter(desk, "a-low", {ONE: LOW})
        assert desk.run("apply").code == 0
        enter(desk, "a-low", {ONE: LOW}, variant={"versions": "<0.25"})
        assert words(only(looked(desk, newer(tmp_path / "w", build="0.25.1")))) == ("applies", "patch", None)


@pytest.mark.slow
def test_wheel_directory_and_environment_give_the_same_answer(desk: Desk, tmp_path: Path) -> None:
    """D4: apart from where the candidate is, and from how it comes in."""
    enter(desk, "a-low", {ONE: LOW})
    enter(desk, "b-two", {TWO: FIXED}, fixes=[FIX])
    enter(desk, "c-both", {ONE: BOTH}, default=False)
    assert desk.run("apply", "a-low", "b-two").code == 0
    wheel = newer(tmp_path / "w", {TWO: None, NEW: RUNNER, ONE: b"# newer\n" + BASE})
    make_environment(tmp_path / "env", wheel)
    given = (wheel, extracted(wheel, tmp_path / "extracted"), tmp_path / "env", tmp_path / "env/bin/python")
    found = looked(desk, *given, code=1).document["candidates"]
    assert [candidate["kind"] for candidate in found] == ["wheel", "directory", "environment", "environment"]
    assert [candidate.pop("target")["distributions"][0]["fingerprint"] is not None for candidate in found] == [True] * 4
    for candidate in found:
        candidate["path"] = candidate["kind"] = candidate["steps"] = candidate["step_notes"] = None
    assert found[0]["lost"] == ["b-two"]
    assert found[1:] == [found[0]] * 3


def terminal(desk: Desk, *candidates: Path, options: tuple[str, ...] = ("--no-color",)) -> str:
    registry = ("--registry", str(desk.registry)) if desk.registry is not None else ()
    out = on_a_terminal("preflight", *map(str, candidates), "--site", str(desk.site), *registry, *options)
    return out.decode().replace("\r\n", "\n")


class TestShapes:
    def test_a_terminal_shows_one_row_an_entry_what_is_lost_and_the_commands(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-low", {ONE: LOW})
        enter(desk, "b-two", {TWO: FIXED}, fixes=[FIX])
        good, bad = newer(tmp_path / "w"), newer(tmp_path / "x", {ONE: b"other = 1\n"}, build="0.27.0")
        text = terminal(desk, good, bad)
        assert "ok    a-low                               applies             -\n" in text
        assert "ok    b-two                               applies             contradicted\n" in text
        assert "LOST  a-low                               needs-port          -\n" in text
        assert "this upgrade loses a-low\n" in text
        assert f"\n  patchctl check --site {desk.site} --registry {desk.registry}\n" in text
        assert text.endswith(
            "vllm 0.26.0 (vllm-0.26.0-py3-none-any.whl) loses nothing\n"
            "vllm 0.27.0 (vllm-0.27.0-py3-none-any.whl) loses a-low\n"
        )
        assert "\x1b" not in text
        assert "\x1b[1;31mLOST  a-low" in terminal(desk, bad, options=())

    def test_v_shows_line_by_line_what_does_not_fit(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-low", {ONE: LOW})
        bad = newer(tmp_path / "x", {ONE: BASE.replace(b"line_6 = 1\n", b"line_6 = 9\n")})
        assert "the same command with -v" in terminal(desk, bad)
        text = terminal(desk, bad, options=("--no-color", "-v"))
        assert "+ line_6 = 9" in text
        assert "the same command with -v" not in text

    def test_a_pipe_gets_one_record_a_line(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-two", {TWO: FIXED}, fixes=[FIX])
        wheel = newer(tmp_path / "w", {TWO: None, NEW: RUNNER})
        done = desk.run("preflight", str(wheel))
        records = [line.split("\t") for line in done.out.splitlines()]
        assert done.code == 1
        assert records[1] == ["candidate", str(wheel), "kind=wheel", "lost=1"]
        assert records[2] == ["upgrade", "vllm", "from=0.25.1", "to=0.26.0", "change=upgrade"]
        assert records[3][:5] == ["forecast", "a-two", "fate=vanishes", "protection=lost", "fixes=moved"]
        rest = [f"fits={NEW}", "alike=-"]
        assert ["moved", "a-two", TWO, "symbol=Runner.step", "defined=Runner.step", f"paths={NEW}", *rest] in records
        assert ["lost", "a-two", f"candidate={wheel}"] in records
        assert ["fix", "a-two", "x/y#1", "role=fixes", "status=moved"] in records
        assert records[-1][0] == "step"

    def test_one_distribution_may_be_asked_for(self, desk: Desk, tmp_path: Path) -> None:
        enter(desk, "a-low", {ONE: LOW})
        done = desk.json("preflight", str(newer(tmp_path / "w")), "--distribution", "vLLM")
        assert [entry["id"] for entry in done.document["candidates"][0]["patches"]] == ["a-low"]
