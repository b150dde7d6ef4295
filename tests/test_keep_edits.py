"""``revert --keep-edits``: our hunks come out of a file that somebody edited since, and the edit stays."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, tree
from tests.sites import MTIME, make_site, tree_state

ONE, TWO, ADDED, GONE = "vllm/one.py", "vllm/two.py", "vllm/new/added.py", "vllm/gone.py"
BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 41))
LOW = BASE.replace(b"line_5 = 1\n", b"line_5 = five\n")
HIGH = BASE.replace(b"line_25 = 1\n", b"line_25 = twenty_five\n")
BOTH = LOW.replace(b"line_25 = 1\n", b"line_25 = twenty_five\n")
MINE = b"import mine\n"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Entry ``low`` in two files, ``high`` in one of them; both applied."""
    site = make_site(tmp_path, {ONE: BASE, TWO: BASE, GONE: b"gone = 1\n"}, build="0.25.1")
    registry = make_registry(tmp_path / "registry")
    add_entry(registry, "low", make_diff({ONE: (BASE, LOW), TWO: (BASE, LOW)}))
    add_entry(registry, "high", make_diff({ONE: (BASE, HIGH)}))
    desk = Desk(site=site, registry=registry)
    assert desk.run("apply").code == 0
    return desk


def edit(desk: Desk, path: str, old: bytes, new: bytes) -> None:
    """Edit a file as an editor does, with a time that is not ours."""
    file = desk.site / path
    data = file.read_bytes()
    assert old in data
    file.write_bytes(data.replace(old, new))


def verdict(desk: Desk, id_: str) -> tuple[str, str]:
    patch = desk.json("status", id_).patch(id_)
    return patch["verdict"], patch["action"]


def fact(desk: Desk, path: str) -> dict[str, object]:
    found = json.loads((desk.site / ".patchctl" / "ledger.json").read_bytes())["files"][path]
    assert isinstance(found, dict)
    return found


class TestAnEditedFile:
    def test_c23_a_plain_revert_is_refused_and_the_edit_is_kept(self, desk: Desk) -> None:
        edit(desk, ONE, b"line_15 = 1\n", MINE)
        before = tree_state(desk.site)
        done = desk.json("revert", "low")
        assert (done.code, done.document["transaction"]) == (1, None)
        (error,) = done.document["errors"]
        assert (error["code"], error["path"]) == ("does-not-fit", ONE)
        assert error["hint"] == "patchctl revert low --keep-edits takes it out and leaves the edit"
        assert tree_state(desk.site) == before

    def test_loses_our_hunks_and_keeps_the_edit(self, desk: Desk) -> None:
        edit(desk, ONE, b"line_15 = 1\n", MINE)
        done = desk.json("revert", "low", "--keep-edits")
        assert (done.code, done.document["transaction"]["reverted"]) == (0, ["low"])
        assert (desk.site / ONE).read_bytes() == HIGH.replace(b"line_15 = 1\n", MINE)
        assert (desk.site / TWO).read_bytes() == BASE
        assert done.document["notes"][0] == f"{ONE} keeps what somebody else wrote into it"

    def test_is_the_base_of_what_stays(self, desk: Desk) -> None:
        edit(desk, ONE, b"line_15 = 1\n", MINE)
        assert desk.run("revert", "low", "--keep-edits").code == 0
        assert verdict(desk, "high") == ("applied", "none")
        assert (fact(desk, ONE)["base_mtime_ns"], fact(desk, ONE)["entries"]) == (None, ["high"])
        assert desk.run("revert", "high").code == 0
        assert (desk.site / ONE).read_bytes() == BASE.replace(b"line_15 = 1\n", MINE)
        assert (desk.site / ONE).stat().st_mtime > MTIME, "nobody ever saw these bytes: they get a time of their own"
        assert verdict(desk, "high") == ("applicable", "apply")

    def test_of_which_all_entries_leave_is_the_edit_alone(self, desk: Desk) -> None:
        edit(desk, ONE, b"line_15 = 1\n", MINE)
        assert desk.run("revert", "--all", "--keep-edits").code == 0
        assert (desk.site / ONE).read_bytes() == BASE.replace(b"line_15 = 1\n", MINE)
        assert json.loads((desk.site / ".patchctl" / "ledger.json").read_bytes())["files"] == {}

    def test_gets_a_time_that_the_edit_did_not_have(self, desk: Desk) -> None:
        import os

        edit(desk, ONE, b"line_15 = 1\n", MINE)
        os.utime(desk.site / ONE, (4_000_000_000, 4_000_000_000))
        assert desk.run("revert", "--all", "--keep-edits").code == 0
        # A file from the far future does not take the clock along, but byte code of it must not seem fresh.
        assert (desk.site / ONE).stat().st_mtime < 4_000_000_000

    def test_keeps_the_mode_that_somebody_gave_it(self, desk: Desk) -> None:
        edit(desk, ONE, b"line_15 = 1\n", MINE)
        (desk.site / ONE).chmod(0o640)
        assert desk.run("revert", "low", "--keep-edits").code == 0
        assert (desk.site / ONE).stat().st_mode & 0o777 == 0o640

    def test_with_an_edit_inside_a_hunk_is_refused_with_the_hunk_and_nothing_is_written(self, desk: Desk) -> None:
        edit(desk, ONE, b"line_7 = 1\n", MINE)
        before = tree_state(desk.site)
        for arguments in (["low"], ["high"], ["--all"]):
            done = desk.json("revert", *arguments, "--keep-edits")
            assert (done.code, done.document["transaction"]) == (1, None)
            error = done.document["errors"][0]
            assert (error["code"], error["patch"], error["path"]) == ("does-not-come-out", "low", ONE)
            assert "hunk 1: its lines are not in the file" in error["message"]
        assert tree_state(desk.site) == before

    def test_that_is_not_among_those_of_the_entry_stays_as_it_is(self, desk: Desk) -> None:
        edit(desk, TWO, b"line_15 = 1\n", MINE)
        before = (desk.site / TWO).read_bytes()
        assert desk.run("revert", "high", "--keep-edits").code == 0
        assert (desk.site / TWO).read_bytes() == before
        assert verdict(desk, "low") == ("drifted", "inspect")

    def test_a_dry_run_shows_the_diff_and_writes_nothing(self, desk: Desk) -> None:
        edit(desk, ONE, b"line_15 = 1\n", MINE)
        before = tree_state(desk.site)
        done = desk.run("revert", "low", "--keep-edits", "--dry-run")
        assert done.code == 0
        assert "-line_5 = five\n+line_5 = 1\n" in done.out
        assert MINE.decode() not in done.out
        assert tree_state(desk.site) == before

    def test_that_nobody_edited_comes_back_as_it_was(self, desk: Desk) -> None:
        done = desk.json("revert", "--all", "--keep-edits")
        assert done.code == 0
        assert "somebody else" not in str(done.document["notes"]), "nobody wrote anything into it"
        assert (desk.site / ONE).read_bytes() == BASE
        assert (desk.site / ONE).stat().st_mtime == MTIME

    def test_that_is_gone_is_refused(self, desk: Desk) -> None:
        (desk.site / ONE).unlink()
        done = desk.json("revert", "low", "--keep-edits")
        assert done.code == 1
        assert "the file is gone" in done.document["errors"][0]["message"]

    def test_whose_entry_cannot_be_read_any_more_is_refused(self, desk: Desk) -> None:
        edit(desk, ONE, b"line_15 = 1\n", MINE)
        for diff in (desk.site / ".patchctl" / "patches").iterdir():
            diff.unlink()
        done = desk.json("revert", "low", "--keep-edits")
        assert done.document["transaction"] is None
        assert "what was applied of it cannot be read any more" in str(done.document["errors"])

    def test_whose_original_is_damaged_is_told_from_the_live_bytes_and_is_as_it_was(self, desk: Desk) -> None:
        for stored in (desk.site / ".patchctl" / "objects").glob("*/*"):
            stored.write_bytes(b"damaged")
        assert desk.run("revert", "--all").code == 1
        assert desk.run("revert", "--all", "--keep-edits").code == 0
        assert (desk.site / ONE).read_bytes() == BASE
        assert (desk.site / ONE).stat().st_mtime == MTIME


class TestEntriesOnTopOfEachOther:
    @pytest.fixture
    def stacked(self, tmp_path: Path) -> Desk:
        """``top`` changes lines that are ``below``'s context."""
        site = make_site(tmp_path, {ONE: BASE}, build="0.25.1")
        registry = make_registry(tmp_path / "registry")
        add_entry(registry, "below", make_diff({ONE: (BASE, LOW)}))
        add_entry(registry, "top", make_diff({ONE: (LOW, LOW.replace(b"line_6 = 1\n", b"line_6 = six\n"))}))
        desk = Desk(site=site, registry=registry)
        for id_ in ("below", "top"):
            assert desk.run("apply", id_).code == 0
        edit(desk, ONE, b"line_30 = 1\n", MINE)
        return desk

    def test_come_out_the_last_first(self, stacked: Desk) -> None:
        assert stacked.run("revert", "--all", "--keep-edits").code == 0
        assert (stacked.site / ONE).read_bytes() == BASE.replace(b"line_30 = 1\n", MINE)

    def test_the_upper_one_goes_alone(self, stacked: Desk) -> None:
        assert stacked.run("revert", "top", "--keep-edits").code == 0
        assert (stacked.site / ONE).read_bytes() == LOW.replace(b"line_30 = 1\n", MINE)
        assert verdict(stacked, "below") == ("applied", "none")

    def test_the_lower_one_does_not_go_alone(self, stacked: Desk) -> None:
        before = tree_state(stacked.site)
        done = stacked.json("revert", "below", "--keep-edits")
        assert (done.code, done.document["errors"][0]["code"]) == (1, "does-not-fit")
        assert "top stands on lines that would change" in done.document["errors"][0]["message"]
        assert tree_state(stacked.site) == before


class TestOtherKinds:
    def test_an_added_file_that_was_edited_is_refused(self, tmp_path: Path) -> None:
        desk = single(tmp_path, make_diff({ADDED: (None, b"x = 1\n")}))
        (desk.site / ADDED).write_bytes(b"x = 1\ny = 2\n")
        before = tree_state(desk.site)
        done = desk.json("revert", "it", "--keep-edits")
        assert (done.code, done.document["errors"][0]["code"]) == (1, "does-not-come-out")
        assert "the entry added the file" in done.document["errors"][0]["message"]
        assert tree_state(desk.site) == before
        (desk.site / ADDED).unlink()
        assert desk.run("revert", "it").code == 0, "moved away, it stands in nobody's way"

    def test_a_removed_file_that_somebody_made_again_stays_theirs(self, tmp_path: Path) -> None:
        desk = single(tmp_path, make_diff({GONE: (b"gone = 1\n", None), ONE: (BASE, LOW)}))
        (desk.site / GONE).write_bytes(b"theirs = 1\n")
        assert desk.run("revert", "it").code == 1
        assert desk.run("revert", "it", "--keep-edits").code == 0
        assert (desk.site / GONE).read_bytes() == b"theirs = 1\n"
        assert (desk.site / ONE).read_bytes() == BASE

    def test_an_edit_of_a_renamed_file_goes_back_under_its_old_name(self, tmp_path: Path) -> None:
        diff = (
            b"diff --git a/vllm/gone.py b/vllm/moved/here.py\nrename from vllm/gone.py\nrename to vllm/moved/here.py\n"
        )
        desk = single(tmp_path, diff)
        edit(desk, "vllm/moved/here.py", b"gone = 1\n", b"gone = 1\nmine = 1\n")
        assert desk.run("revert", "it").code == 1
        assert desk.run("revert", "it", "--keep-edits").code == 0
        assert (desk.site / GONE).read_bytes() == b"gone = 1\nmine = 1\n"
        assert not (desk.site / "vllm" / "moved").exists()

    def test_an_executable_bit_goes_with_the_patch_and_the_edit_stays(self, tmp_path: Path) -> None:
        diff = b"diff --git a/vllm/one.py b/vllm/one.py\nold mode 100644\nnew mode 100755\n"
        desk = single(tmp_path, diff + make_diff({ONE: (BASE, LOW)}))
        assert (desk.site / ONE).stat().st_mode & 0o777 == 0o755
        edit(desk, ONE, b"line_15 = 1\n", MINE)
        assert desk.run("revert", "it", "--keep-edits").code == 0
        assert (desk.site / ONE).read_bytes() == BASE.replace(b"line_15 = 1\n", MINE)
        assert (desk.site / ONE).stat().st_mode & 0o777 == 0o644

    def test_a_link_is_not_touched(self, tmp_path: Path) -> None:
        desk = single(tmp_path, make_diff({ONE: (BASE, LOW)}))
        (desk.site / ONE).unlink()
        (desk.site / ONE).symlink_to("gone.py")
        before = tree(desk.site)
        assert desk.run("revert", "it", "--keep-edits").code == 1
        assert tree(desk.site) == before


def single(where: Path, diff: bytes) -> Desk:
    """A site with one applied entry, ``it``."""
    site = make_site(where, {ONE: BASE, TWO: BASE, GONE: b"gone = 1\n"}, build="0.25.1")
    add_entry(make_registry(where / "registry"), "it", diff)
    desk = Desk(site=site, registry=where / "registry")
    assert desk.run("apply").code == 0
    return desk


LINES = 60
KINDS = st.sampled_from(["replace", "insert", "remove", "double"])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    patched=st.sets(st.integers(5, LINES - 5), min_size=1, max_size=3),
    edits=st.dictionaries(st.integers(0, LINES - 1), KINDS, min_size=1, max_size=6),
)
def test_what_is_left_is_the_base_with_the_edits_and_an_edit_inside_a_hunk_is_refused(
    patched: set[int], edits: dict[int, str]
) -> None:
    """The expectation is made line by line, without the engine: every line of the file is unlike all others."""
    base = [b"line_%d = 0\n" % number for number in range(LINES)]
    ours = [b"ours_%d = 1\n" % number if number in patched else line for number, line in enumerate(base)]
    inside = any(abs(number - line) <= 3 for number in edits for line in patched)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as scratch:
        where = Path(scratch)
        site = make_site(where, {ONE: b"".join(base)})
        diff = make_diff({ONE: (b"".join(base), b"".join(ours))})
        add_entry(make_registry(where / "registry"), "it", diff)
        desk = Desk(site=site, registry=where / "registry")
        assert desk.run("apply").code == 0
        assert (site / ONE).read_bytes() == b"".join(ours)
        (site / ONE).write_bytes(edited(ours, edits))
        before = tree_state(site)
        assert desk.run("revert", "it").code == 1
        done = desk.run("revert", "it", "--keep-edits")
        # Beside a hunk an insertion splits nothing when it stands at its very edge: then it is no edit inside.
        if done.code == 0:
            assert (site / ONE).read_bytes() == edited(base, edits)
        else:
            assert inside
            assert tree_state(site) == before
        assert inside or done.code == 0


def edited(lines: list[bytes], edits: dict[int, str]) -> bytes:
    """The lines with somebody's edits at their numbers; a line of ours under an edit counts as edited."""
    out = []
    for number, line in enumerate(lines):
        kind = edits.get(number)
        if kind == "insert":
            out.append(b"theirs_%d = 2\n" % number)
        if kind == "replace":
            out.append(b"theirs_%d = 2\n" % number)
        elif kind != "remove":
            out += [line] * (2 if kind == "double" else 1)
    return b"".join(out)
