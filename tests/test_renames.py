"""Entries that rename files, edit what they rename, or change whether a file is executable: in, out, and in between."""

from __future__ import annotations

import shutil
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.corpus.tools import environment
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, tree
from tests.sites import Content, install, make_site
from tests.test_match_differential import needs_git, needs_patch

BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 31))
LOW = BASE.replace(b"line_5 = 1\n", b"line_5 = five\n")
HIGH = BASE.replace(b"line_25 = 1\n", b"line_25 = twenty_five\n")
BOTH = LOW.replace(b"line_25 = 1\n", b"line_25 = twenty_five\n")
OLD, NEW = "vllm/old.py", "vllm/moved/new.py"
MOVE = f"diff --git a/{OLD} b/{NEW}\nrename from {OLD}\nrename to {NEW}\n".encode()
TOOL = "vllm/tool.py"
MODE = f"diff --git a/{TOOL} b/{TOOL}\nold mode 100644\nnew mode 100755\n".encode()


def edited(before: bytes, after: bytes) -> bytes:
    """The rename, with hunks that turn ``before`` into ``after``."""
    hunks = make_diff({"x": (before, after)}).split(b"\n", 2)[2]
    return MOVE + f"--- a/{OLD}\n+++ b/{NEW}\n".encode() + hunks


def make_desk(where: Path, **diffs: bytes) -> Desk:
    """A site with the files, and one default entry per diff, in the order given."""
    site = make_site(where, {OLD: BASE, TOOL: b"tool = 1\n", "vllm/other.py": b"other = 1\n"}, build="0.25.1")
    (site / OLD).chmod(0o640)
    registry = make_registry(where / "registry")
    for id_, diff in diffs.items():
        add_entry(registry, id_, diff)
    return Desk(site=site, registry=registry)


def state(desk: Desk, id_: str) -> tuple[str, str]:
    patch = desk.json("status", id_).patch(id_)
    return patch["verdict"], patch["action"]


@pytest.mark.parametrize(("diff", "result"), [(MOVE, BASE), (edited(BASE, LOW), LOW)], ids=["bare", "edited"])
def test_a_rename_goes_in_and_comes_out_byte_for_byte(tmp_path: Path, diff: bytes, result: bytes) -> None:
    desk = make_desk(tmp_path, move=diff)
    before = tree(desk.site)
    assert state(desk, "move") == ("applicable", "apply")
    done = desk.json("apply")
    assert done.code == 0
    edits = {edit["path"]: edit["kind"] for edit in done.document["transaction"]["files"]}
    assert edits == {OLD: "delete", NEW: "add"}
    assert not (desk.site / OLD).exists()
    assert (desk.site / NEW).read_bytes() == result
    assert (desk.site / NEW).stat().st_mode & 0o777 == 0o640, "the file keeps its mode under its new name"
    assert state(desk, "move") == ("applied", "none")
    assert desk.run("check").code == 0
    assert desk.json("apply").document["transaction"] is None
    assert desk.run("revert", "move").code == 0
    assert tree(desk.site) == before


def test_the_json_names_both_sides_of_a_rename(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, move=edited(BASE, LOW))
    (file,) = desk.json("status").patch("move")["files"]
    assert (file["path"], file["old_path"], file["fit"], file["pristine"]) == (NEW, OLD, "applicable", True)
    desk.run("apply")
    (file,) = desk.json("status").patch("move")["files"]
    assert (file["path"], file["old_path"], file["pristine"]) == (NEW, OLD, None)


def test_a_rename_never_overwrites(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, move=MOVE)
    (desk.site / NEW).parent.mkdir()
    (desk.site / NEW).write_bytes(b"theirs\n")
    before = tree(desk.site)
    assert state(desk, "move") == ("conflict", "port")
    assert f"{OLD} is to be renamed to {NEW}, and both are there" in desk.run("status", "move").out
    done = desk.run("apply", "move")
    assert done.code == 1
    assert "there is such a file already" in done.err
    assert tree(desk.site) == before


def test_a_rename_whose_file_is_gone_is_missing(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, move=MOVE)
    (desk.site / OLD).unlink()
    assert state(desk, "move") == ("missing", "port")
    assert desk.run("apply").code == 1


def test_a_rename_that_somebody_made_by_hand_is_recognised_and_never_made_twice(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, move=edited(BASE, LOW))
    (desk.site / NEW).parent.mkdir()
    (desk.site / OLD).rename(desk.site / NEW)
    (desk.site / NEW).write_bytes(LOW)
    assert state(desk, "move") == ("present", "adopt")
    assert desk.run("apply").code == 1


def test_a_rename_that_the_build_carries_is_not_needed(tmp_path: Path) -> None:
    site = make_site(tmp_path, {NEW: LOW})
    add_entry(make_registry(tmp_path / "registry"), "move", edited(BASE, LOW))
    patch = Desk(site=site, registry=tmp_path / "registry").json("status").patch("move")
    assert (patch["need"], patch["action"]) == ("fixed", "none")


@pytest.mark.parametrize("name", ["vllm/__pycache__/old.cpython-311.pyc", "vllm/old.pyc", "vllm/__pycache__/old.py"])
def test_a_rename_onto_byte_code_is_refused(tmp_path: Path, name: str) -> None:
    """It would be removed as the compiled form of the name that is gone, and the file with it."""
    desk = make_desk(tmp_path, move=MOVE.replace(NEW.encode(), name.encode()))
    before = tree(desk.site)
    done = desk.run("apply", "move")
    assert done.code == 3
    assert "is byte code" in done.err
    assert tree(desk.site) == before


@pytest.mark.parametrize("names", [("vllm/old.py", "numpy/new.py"), ("numpy/core.py", "vllm/new.py")])
def test_a_rename_stays_within_its_distribution(tmp_path: Path, names: tuple[str, str]) -> None:
    old, new = names
    diff = f"diff --git a/{old} b/{new}\nrename from {old}\nrename to {new}\n".encode()
    desk = make_desk(tmp_path, move=diff)
    install(desk.site, {"numpy/core.py": BASE}, name="numpy", build="1.0")
    before = tree(desk.site)
    assert desk.json("status").patch("move")["action"] == "inspect"
    done = desk.run("apply", "move")
    assert done.code == 1
    assert tree(desk.site) == before


def test_an_edit_of_the_new_name_comes_back_as_drift(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, move=MOVE)
    desk.run("apply")
    (desk.site / NEW).write_bytes(LOW)
    before = tree(desk.site)
    assert state(desk, "move") == ("drifted", "inspect")
    assert desk.run("revert", "move").code == 1
    assert tree(desk.site) == before


def test_another_file_at_the_old_name_is_said_to_be_one(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, move=MOVE)
    desk.run("apply")
    (desk.site / OLD).write_bytes(b"theirs\n")
    before = tree(desk.site)
    patch = desk.json("status").patch("move")
    assert patch["verdict"] == "drifted"
    assert patch["reason"] == f"{OLD}: there is another file now, where patchctl took one away"
    assert desk.run("revert", "move").code == 1
    assert tree(desk.site) == before


def test_after_a_reinstall_of_the_old_name_the_rename_is_lost_and_comes_back(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, move=edited(BASE, LOW))
    desk.run("apply")
    (desk.site / OLD).write_bytes(BASE)
    assert state(desk, "move") == ("lost", "apply")
    assert desk.run("apply").code == 0
    assert not (desk.site / OLD).exists()
    assert (desk.site / NEW).read_bytes() == LOW
    assert desk.run("check").code == 0


class TestStacks:
    """A rename above or below another entry on the same file."""

    @pytest.fixture
    def stacked(self, tmp_path: Path) -> Desk:
        desk = make_desk(tmp_path)
        assert desk.registry is not None
        add_entry(desk.registry, "a-low", make_diff({OLD: (BASE, LOW)}))
        add_entry(desk.registry, "b-move", edited(BASE, HIGH), requires=["a-low"])
        add_entry(desk.registry, "c-tail", make_diff({NEW: (BOTH, BOTH + b"tail = 1\n")}), requires=["b-move"])
        return desk

    def test_they_go_in_together_and_come_out_together(self, stacked: Desk) -> None:
        before = tree(stacked.site)
        assert stacked.run("apply").code == 0
        assert (stacked.site / NEW).read_bytes() == BOTH + b"tail = 1\n"
        assert stacked.run("check").code == 0
        assert stacked.run("revert", "--all").code == 0
        assert tree(stacked.site) == before

    def test_what_stands_on_the_new_name_keeps_the_rename_in(self, stacked: Desk) -> None:
        stacked.run("apply")
        before = tree(stacked.site)
        assert stacked.run("revert", "b-move").code == 1
        assert tree(stacked.site) == before
        assert stacked.run("revert", "b-move", "c-tail").code == 0
        assert (stacked.site / OLD).read_bytes() == LOW
        assert not (stacked.site / NEW).exists()
        assert not (stacked.site / NEW).parent.exists()

    def test_the_entry_below_the_rename_comes_out_alone(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path)
        assert desk.registry is not None
        add_entry(desk.registry, "a-low", make_diff({OLD: (BASE, LOW)}))
        add_entry(desk.registry, "b-move", edited(BASE, HIGH))
        before = tree(desk.site)
        assert desk.run("apply").code == 0
        assert (desk.site / NEW).read_bytes() == BOTH
        assert desk.run("revert", "a-low").code == 0
        assert (desk.site / NEW).read_bytes() == HIGH
        assert not (desk.site / OLD).exists()
        assert desk.run("check").code == 1, "a-low is due again"
        assert desk.run("revert", "--all").code == 0
        assert tree(desk.site) == before


def renamed(old: str, new: str, *modes: str) -> bytes:
    """A rename alone, from and to any name; with two modes, the change of mode."""
    mode = "old mode {}\nnew mode {}\n".format(*modes) if modes else ""
    return f"diff --git a/{old} b/{new}\n{mode}rename from {old}\nrename to {new}\n".encode()


BACK = "vllm/back.py"
UNDOING: dict[str, tuple[bytes, ...]] = {
    "one renames on what another renamed": (renamed(OLD, NEW), renamed(NEW, BACK)),
    "the same, and a third takes the name between": (
        renamed(OLD, NEW),
        renamed(NEW, BACK),
        make_diff({NEW: (None, b"shim = 1\n")}),
    ),
    "back to the old name": (renamed(OLD, NEW), renamed(NEW, OLD)),
    "two files change names": (renamed(OLD, BACK), renamed(TOOL, OLD), renamed(BACK, TOOL)),
    "a renamed file is deleted": (renamed(OLD, NEW), make_diff({NEW: (BASE, None)})),
    "an added file is deleted": (make_diff({NEW: (None, LOW)}), make_diff({NEW: (LOW, None)})),
    "a deleted file is added": (make_diff({OLD: (BASE, None)}), make_diff({OLD: (None, BASE)})),
    "lines there and back": (make_diff({OLD: (BASE, LOW)}), make_diff({OLD: (LOW, BASE)})),
    "a mode there and back": (
        MODE,
        MODE.replace(b"old mode 100644\nnew mode 100755", b"old mode 100755\nnew mode 100644"),
    ),
    "a mode back under a new name": (MODE, renamed(TOOL, BACK, "100755", "100644")),
}


class TestUndoing:
    """Where the entries of a stack undo one another, a file is its original again, and each of them still is in."""

    @pytest.fixture(params=list(UNDOING))
    def stages(self, request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Desk, list[dict[str, tuple[Any, ...]]]]:
        """The whole stack, and what the site was below each entry."""
        desk = make_desk(tmp_path)
        assert desk.registry is not None
        before = []
        for number, diff in enumerate(UNDOING[request.param]):
            before.append(tree(desk.site))
            add_entry(desk.registry, f"x{number}", diff, requires=[f"x{number - 1}"] if number else [])
            # what undoes a change looks like a change that the build carries already
            assert desk.run("apply", f"x{number}", "--despite-fix").code == 0
        return desk, before

    def test_the_upper_one_uncovers_what_the_lower_one_made(
        self, stages: tuple[Desk, list[dict[str, tuple[Any, ...]]]]
    ) -> None:
        desk, before = stages
        while len(before) > 1:
            assert {state(desk, f"x{number}")[0] for number in range(len(before))} == {"applied"}
            assert desk.run("revert", f"x{len(before) - 1}").code == 0
            assert timeless(tree(desk.site)) == timeless(before.pop())
        assert desk.run("revert", "x0").code == 0
        assert tree(desk.site) == before[0]

    def test_a_lower_one_stays_as_long_as_it_is_needed(
        self, stages: tuple[Desk, list[dict[str, tuple[Any, ...]]]]
    ) -> None:
        desk, before = stages
        whole = tree(desk.site)
        assert desk.run("revert", "x0").code == 1
        assert tree(desk.site) == whole
        assert desk.run("revert", "--all").code == 0
        assert tree(desk.site) == before[0]


def timeless(found: dict[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
    """Without modification times: what patchctl writes anew has a new one."""
    return {path: (*facts[:3], facts[-1]) for path, facts in found.items()}


def test_a_file_takes_its_mode_along_to_a_name_that_is_left_at_the_same_time(tmp_path: Path) -> None:
    """Whoever must not read it before must not read it afterwards."""
    desk = make_desk(tmp_path, first=renamed(TOOL, BACK), second=renamed(OLD, TOOL))
    (desk.site / OLD).chmod(0o600)
    before = tree(desk.site)
    assert desk.run("apply").code == 0
    assert (desk.site / TOOL).read_bytes() == BASE
    assert (desk.site / TOOL).stat().st_mode & 0o777 == 0o600
    assert (desk.site / BACK).stat().st_mode & 0o777 == 0o644
    assert desk.run("check").code == 0
    assert desk.json("apply").document["transaction"] is None
    assert desk.run("revert", "--all").code == 0
    assert tree(desk.site) == before


@pytest.mark.parametrize("diff", [MOVE, make_diff({NEW: (None, b"new = 1\n")})], ids=["renamed", "added"])
def test_what_a_compiled_module_would_shadow_is_not_due_and_keeps_nothing_else_out(tmp_path: Path, diff: bytes) -> None:
    desk = make_desk(tmp_path, shadowed=diff, mode=MODE)
    (desk.site / NEW).parent.mkdir()
    (desk.site / NEW).with_suffix(".abi3.so").write_bytes(b"")
    assert desk.json("status").patch("shadowed")["action"] == "inspect"
    done = desk.run("apply")
    assert done.code == 1
    assert "is shadowed by new.abi3.so" in done.err
    assert state(desk, "mode") == ("applied", "none")


PLANNED: dict[str, tuple[bytes, ...]] = {
    "a rename": (MOVE,),
    "a rename with lines and mode": (renamed(OLD, NEW, "100644", "100755") + edited(BASE, LOW).removeprefix(MOVE),),
    "a mode": (MODE,),
    "a rename of an executable file": (renamed("vllm/run.py", BACK),),
    "a rename of an empty file": (renamed("vllm/empty.py", BACK),),
    "a rename between names with blanks": (renamed("vllm/two words.py", "vllm/moved/three more words.py"),),
    "an empty file goes and one comes": (
        b"diff --git a/vllm/empty.py b/vllm/empty.py\ndeleted file mode 100644\nindex e69de29..0000000\n"
        b"diff --git a/vllm/new.py b/vllm/new.py\nnew file mode 100755\nindex 0000000..e69de29\n",
    ),
    "a stack": (renamed(OLD, NEW), renamed(NEW, BACK), make_diff({OLD: (None, b"shim = 1\n")})),
}


@needs_git
@needs_patch
@pytest.mark.parametrize("diffs", PLANNED.values(), ids=list(PLANNED))
def test_what_a_dry_run_prints_makes_the_same_tree(tmp_path: Path, diffs: tuple[bytes, ...]) -> None:
    desk = make_desk(tmp_path)
    assert desk.registry is not None
    (desk.site / OLD).chmod(0o644)
    for name, data, mode in (("run.py", BASE, 0o755), ("empty.py", b"", 0o644), ("two words.py", BASE, 0o644)):
        (desk.site / "vllm" / name).write_bytes(data)
        (desk.site / "vllm" / name).chmod(mode)
    shutil.rmtree(next(desk.site.glob("*.dist-info")))
    files = {str(path.relative_to(desk.site)): path.read_bytes() for path in desk.site.rglob("*.py")}
    modes = {path: (desk.site / path).stat().st_mode & 0o777 for path in files}
    install(desk.site, {path: Content(data=data, mode=modes[path]) for path, data in files.items()}, build="0.25.1")
    for number, diff in enumerate(diffs):
        add_entry(desk.registry, f"x{number}", diff, requires=[f"x{number - 1}"] if number else [])
    copies = {tool: shutil.copytree(desk.site, tmp_path / tool) for tool in ("git", "patch")}
    planned = desk.run("apply", "--dry-run").out.encode()
    assert desk.run("apply").code == 0
    run = partial(subprocess.run, input=planned, check=True, capture_output=True)
    run(["git", "apply", "-"], cwd=copies["git"], env=environment(copies["git"]))
    run(["patch", "-p1", "--batch", "--fuzz=0"], cwd=copies["patch"], env=environment(copies["patch"]))
    made = timeless(tree(desk.site))
    assert timeless(tree(copies["git"])) == made
    assert timeless(tree(copies["patch"])) == made


class TestModes:
    """Git knows two modes, and what tells them apart is whether the owner may execute the file."""

    @pytest.mark.parametrize(
        ("before", "after"), [(0o644, 0o755), (0o600, 0o700), (0o664, 0o775), (0o440, 0o550), (0o640, 0o750)]
    )
    def test_whoever_may_read_may_execute_and_the_old_mode_comes_back(
        self, tmp_path: Path, before: int, after: int
    ) -> None:
        desk = make_desk(tmp_path, mode=MODE)
        (desk.site / TOOL).chmod(before)
        old = tree(desk.site)
        assert state(desk, "mode") == ("applicable", "apply")
        done = desk.json("apply")
        assert done.code == 0
        (edit,) = done.document["transaction"]["files"]
        assert (edit["kind"], edit["mode"], edit["before"]) == ("modify", f"{after:o}", edit["after"])
        assert (desk.site / TOOL).stat().st_mode & 0o777 == after
        assert state(desk, "mode") == ("applied", "none")
        assert desk.run("check").code == 0
        assert desk.run("revert", "mode").code == 0
        assert tree(desk.site) == old

    def test_a_dry_run_shows_it_as_git_does(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path, mode=MODE)
        done = desk.run("apply", "--dry-run")
        assert f"diff --git a/{TOOL} b/{TOOL}\nold mode 100644\nnew mode 100755\n" in done.out

    def test_a_file_that_is_executable_already_is_not_changed(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path, mode=MODE)
        (desk.site / TOOL).chmod(0o755)
        patch = desk.json("status").patch("mode")
        assert (patch["need"], patch["action"]) == ("fixed", "none"), "the file is what RECORD lists, and executable"
        assert desk.run("apply").code == 0

    def test_content_and_mode_go_together(self, tmp_path: Path) -> None:
        hunks = make_diff({TOOL: (b"tool = 1\n", b"tool = 1\nmore = 2\n")})
        desk = make_desk(tmp_path, mode=MODE + hunks)
        before = tree(desk.site)
        assert desk.run("apply").code == 0
        assert (desk.site / TOOL).stat().st_mode & 0o777 == 0o755
        assert desk.run("revert", "mode").code == 0
        assert tree(desk.site) == before
        (desk.site / TOOL).chmod(0o755)
        assert state(desk, "mode") == ("partial", "port")
        assert "the mode is changed already; hunk 1 could go in" in desk.run("apply", "mode").err
        assert "the mode is changed already; hunk 1 could go in" in desk.run("status").out

    def test_a_chmod_after_the_patch_is_drift(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path, mode=MODE + make_diff({TOOL: (b"tool = 1\n", b"tool = 1\nmore = 2\n")}))
        desk.run("apply")
        (desk.site / TOOL).chmod(0o644)
        assert state(desk, "mode") == ("drifted", "inspect")
        assert "its mode was changed after patchctl changed it" in desk.run("status").out

    def test_a_chmod_back_loses_a_change_of_mode_alone(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path, mode=MODE)
        desk.run("apply")
        (desk.site / TOOL).chmod(0o644)
        assert state(desk, "mode") == ("lost", "apply")
        assert desk.run("apply").code == 0
        assert desk.run("check").code == 0

    def test_another_entry_leaves_the_operators_mode_alone(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path, text=make_diff({TOOL: (b"tool = 1\n", b"tool = 1\nmore = 2\n")}))
        desk.run("apply")
        (desk.site / TOOL).chmod(0o755)
        assert state(desk, "text") == ("applied", "none")
        assert desk.json("apply").document["transaction"] is None
        assert (desk.site / TOOL).stat().st_mode & 0o777 == 0o755

    def test_of_two_entries_on_one_file_each_comes_out_alone(self, tmp_path: Path) -> None:
        text = make_diff({TOOL: (b"tool = 1\n", b"tool = 1\nmore = 2\n")})
        desk = make_desk(tmp_path, mode=MODE, text=text)
        before = tree(desk.site)
        assert desk.run("apply").code == 0
        assert desk.run("revert", "mode").code == 0
        assert (desk.site / TOOL).stat().st_mode & 0o777 == 0o644
        assert (desk.site / TOOL).read_bytes() == b"tool = 1\nmore = 2\n"
        assert desk.run("apply").code == 0
        assert desk.run("revert", "text").code == 0
        assert (desk.site / TOOL).stat().st_mode & 0o777 == 0o755
        assert desk.run("revert", "mode").code == 0
        assert tree(desk.site) == before

    def test_bits_other_than_the_executable_one_are_the_operators_until_a_revert(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path, mode=MODE)
        desk.run("apply")
        (desk.site / TOOL).chmod(0o775)
        assert state(desk, "mode") == ("applied", "none"), "only the executable bit is ours"
        assert desk.run("revert", "mode").code == 0
        assert (desk.site / TOOL).stat().st_mode & 0o777 == 0o644


class TestHalfARename:
    """a renames what b changed before; then the old name is there again, or the new one is edited."""

    @pytest.fixture
    def desk(self, tmp_path: Path) -> Desk:
        desk = make_desk(tmp_path)
        assert desk.registry is not None
        add_entry(desk.registry, "b-low", make_diff({OLD: (BASE, LOW)}))
        add_entry(desk.registry, "c-move", edited(BASE, HIGH))
        assert desk.run("apply").code == 0
        return desk

    def test_lines_under_the_new_name_are_not_left_behind(self, desk: Desk) -> None:
        (desk.site / OLD).write_bytes(BASE)
        before = tree(desk.site)
        assert (state(desk, "b-low"), state(desk, "c-move")) == (("lost", "apply"), ("lost", "apply"))
        done = desk.run("revert", "b-low")
        assert done.code == 1
        assert "it carries c-move too, of which not everything stands any more" in done.err
        assert tree(desk.site) == before
        assert desk.run("revert", "b-low", "c-move").code == 0
        assert (desk.site / OLD).read_bytes() == BASE
        assert not (desk.site / NEW).exists()

    def test_they_come_back_together(self, desk: Desk) -> None:
        (desk.site / OLD).write_bytes(BASE)
        assert desk.run("apply").code == 0
        assert desk.run("check").code == 0
        assert not (desk.site / OLD).exists()
        assert (desk.site / NEW).read_bytes() == BOTH

    def test_an_edit_under_the_new_name_is_drift_of_both(self, desk: Desk) -> None:
        (desk.site / NEW).write_bytes(BOTH + b"mine\n")
        assert (state(desk, "b-low"), state(desk, "c-move")) == (("drifted", "inspect"), ("drifted", "inspect"))
        before = tree(desk.site)
        assert desk.run("revert", "b-low").code == 1
        assert tree(desk.site) == before

    def test_the_rename_comes_out_from_above(self, desk: Desk) -> None:
        assert desk.run("revert", "c-move").code == 0
        assert (desk.site / OLD).read_bytes() == LOW
        assert not (desk.site / NEW).exists()
        assert state(desk, "b-low") == ("applied", "none")


def test_names_that_entries_pass_on_are_not_taken_for_the_builds_own(tmp_path: Path) -> None:
    """a -> c, b -> a, c -> b: on the base b is there and c is not, which looks as if the last rename were in."""

    def move(old: str, new: str) -> bytes:
        return f"diff --git a/{old} b/{new}\nrename from {old}\nrename to {new}\n".encode()

    site = make_site(tmp_path, {"vllm/a.py": b"a = 1\n", "vllm/b.py": b"b = 1\n"}, build="0.25.1")
    registry = make_registry(tmp_path / "registry")
    add_entry(registry, "x1", move("vllm/a.py", "vllm/c.py"))
    add_entry(registry, "x2", move("vllm/b.py", "vllm/a.py"), requires=["x1"])
    add_entry(registry, "x3", move("vllm/c.py", "vllm/b.py"), requires=["x2"])
    desk = Desk(site=site, registry=registry)
    before = tree(site)
    assert desk.run("apply").code == 0
    assert (site / "vllm/b.py").read_bytes() == b"a = 1\n"
    assert (site / "vllm/a.py").read_bytes() == b"b = 1\n"
    assert desk.run("check").code == 0
    assert desk.run("revert", "--all").code == 0
    assert tree(site) == before
