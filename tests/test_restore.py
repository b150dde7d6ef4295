"""``restore``: pristine bytes come back from a wheel that the installed RECORD vouches for."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, Done
from tests.sites import MTIME, Content, install, make_site, tree_state
from tests.small_wheels import Member, make_wheel

ONE, TWO, TOOL = "vllm/one.py", "vllm/two.py", "vllm/tool.py"
BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 41))
LOW = BASE.replace(b"line_5 = 1\n", b"line_5 = five\n")


class Shop(NamedTuple):
    desk: Desk
    wheel: Path

    def restore(self, *arguments: str) -> Done:
        return self.desk.json("restore", *arguments, "--from", str(self.wheel))

    def file(self, path: str) -> Path:
        return self.desk.site / path


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A site, the wheel it was installed from, and an entry for one of its files."""
    files: dict[str, bytes | Content] = {ONE: BASE, TWO: b"two = 2\n", TOOL: Content(data=b"tool\n", mode=0o755)}
    site = make_site(tmp_path, files, build="0.25.1")
    registry = make_registry(tmp_path / "registry")
    add_entry(registry, "low", make_diff({ONE: (BASE, LOW)}))
    members: list[Member] = [(ONE, BASE), (TWO, b"two = 2\n"), (TOOL, b"tool\n", stat.S_IFREG | 0o755)]
    return Shop(Desk(site=site, registry=registry), make_wheel(tmp_path, members))


def code(done: Done) -> str:
    return str(done.document["errors"][0]["code"])


class TestAFile:
    def test_that_was_edited_by_hand_comes_back(self, shop: Shop) -> None:
        shop.file(TWO).write_bytes(b"mine = 1\n")
        shop.file(TWO).chmod(0o640)
        done = shop.restore(TWO)
        assert done.code == 0
        (edit,) = done.document["transaction"]["files"]
        assert (edit["path"], edit["kind"]) == (TWO, "modify")
        assert shop.file(TWO).read_bytes() == b"two = 2\n"
        assert shop.file(TWO).stat().st_mode & 0o777 == 0o640, "the mode is the operator's"
        assert shop.file(TWO).stat().st_mtime > MTIME
        assert shop.desk.run("revert", "--all").code == 0

    def test_that_is_gone_comes_back_with_its_mode(self, shop: Shop) -> None:
        shop.file(TOOL).unlink()
        shop.file(TWO).unlink()
        assert shop.restore(TOOL, TWO).code == 0
        assert shop.file(TOOL).read_bytes() == b"tool\n"
        assert [shop.file(path).stat().st_mode & 0o777 for path in (TOOL, TWO)] == [0o755, 0o644]

    def test_is_named_absolutely_too(self, shop: Shop) -> None:
        shop.file(TWO).write_bytes(b"mine = 1\n")
        assert shop.restore(str(shop.file(TWO))).code == 0
        assert shop.file(TWO).read_bytes() == b"two = 2\n"

    def test_that_is_pristine_is_nothing_to_do_and_opens_no_wheel(self, shop: Shop) -> None:
        shop.wheel.unlink()
        before = tree_state(shop.desk.site)
        done = shop.restore(TWO)
        assert (done.code, done.document["notes"]) == (0, [f"{TWO} is pristine already", "nothing to do"])
        assert tree_state(shop.desk.site) == before

    def test_of_another_distribution_is_restored_when_that_is_named(self, shop: Shop, tmp_path: Path) -> None:
        install(shop.desk.site, {"other/a.py": b"a = 1\n"}, name="other")
        shop.file("other/a.py").write_bytes(b"mine = 1\n")
        wheel = make_wheel(tmp_path, [("other/a.py", b"a = 1\n")])
        assert code(shop.desk.json("restore", "other/a.py", "--from", str(wheel))) == "not-listed"
        done = shop.desk.json("restore", "other/a.py", "--from", str(wheel), "--distribution", "other")
        assert done.code == 0
        assert shop.file("other/a.py").read_bytes() == b"a = 1\n"

    def test_in_a_dry_run_is_shown_as_a_diff(self, shop: Shop) -> None:
        shop.file(TWO).write_bytes(b"mine = 1\n")
        before = tree_state(shop.desk.site)
        done = shop.desk.run("restore", TWO, "--from", str(shop.wheel), "--dry-run")
        assert (done.code, "-mine = 1\n+two = 2\n" in done.out) == (0, True)
        assert tree_state(shop.desk.site) == before

    def test_loses_its_byte_code(self, shop: Shop) -> None:
        shop.file(TWO).write_bytes(b"mine = 1\n")
        stale = shop.file("vllm/__pycache__/two.cpython-311.pyc")
        stale.parent.mkdir()
        stale.write_bytes(b"stale")
        assert shop.restore(TWO).code == 0
        assert not stale.exists()


class TestAPatchedFile:
    def test_that_was_edited_is_put_back_below_its_patches(self, shop: Shop) -> None:
        assert shop.desk.run("apply").code == 0
        shop.file(ONE).write_bytes(LOW.replace(b"line_6 = 1\n", b"mine = 1\n"))
        assert shop.desk.run("revert", "low", "--keep-edits").code == 1, "an edit inside a hunk"
        done = shop.restore(ONE)
        assert done.code == 0
        assert shop.file(ONE).read_bytes() == LOW
        assert done.document["notes"][0] == f"{ONE} is put back below low, which is applied and stays in"
        assert shop.desk.json("status", "low").patch("low")["verdict"] == "applied"
        assert shop.desk.run("revert", "low").code == 0
        assert shop.file(ONE).read_bytes() == BASE
        assert shop.file(ONE).stat().st_mtime == MTIME, "the original that was recorded, time and all"

    def test_that_is_gone_is_put_back_below_its_patches(self, shop: Shop) -> None:
        assert shop.desk.run("apply").code == 0
        shop.file(ONE).unlink()
        assert shop.restore(ONE).code == 0
        assert shop.file(ONE).read_bytes() == LOW
        assert shop.desk.run("check").code == 0

    @pytest.mark.parametrize("damage", ["missing", "damaged"])
    def test_whose_original_got_lost_has_one_again(self, shop: Shop, damage: str) -> None:
        assert shop.desk.run("apply").code == 0
        for stored in (shop.desk.site / ".patchctl/objects").glob("*/*"):
            stored.unlink() if damage == "missing" else stored.write_bytes(b"damaged")
        assert shop.desk.run("revert", "low").code == 1
        assert shop.restore(ONE).document["transaction"]["state"] == "committed"
        assert shop.file(ONE).read_bytes() == LOW
        assert shop.desk.run("check").code == 0
        assert shop.desk.run("revert", "low").code == 0
        assert shop.file(ONE).read_bytes() == BASE

    def test_that_nobody_edited_is_nothing_to_do(self, shop: Shop) -> None:
        assert shop.desk.run("apply").code == 0
        before = tree_state(shop.desk.site)
        done = shop.restore(ONE)
        assert done.code == 0
        assert "patchctl revert low" in done.document["notes"][0]
        assert tree_state(shop.desk.site) == before

    def test_over_an_edited_base_loses_the_edit_and_keeps_the_patch(self, shop: Shop) -> None:
        shop.file(ONE).write_bytes(BASE + b"mine = 1\n")
        assert shop.desk.run("apply").code == 0
        assert shop.restore(ONE).code == 0
        assert shop.file(ONE).read_bytes() == LOW
        assert shop.desk.run("revert", "low").code == 0
        assert shop.file(ONE).read_bytes() == BASE

    def test_by_hand_comes_back_and_is_due_again(self, shop: Shop) -> None:
        shop.file(ONE).write_bytes(LOW + b"mine = 1\n")
        assert shop.restore(ONE).code == 0
        assert shop.file(ONE).read_bytes() == BASE
        assert shop.desk.json("status", "low").patch("low")["action"] == "apply"

    def test_that_a_patch_made_executable_gets_the_mode_that_was_recorded(self, shop: Shop) -> None:
        assert shop.desk.registry is not None
        mode = f"diff --git a/{ONE} b/{ONE}\nold mode 100644\nnew mode 100755\n".encode()
        add_entry(shop.desk.registry, "low", mode + make_diff({ONE: (BASE, LOW)}))
        assert shop.desk.run("apply").code == 0
        shop.file(ONE).write_bytes(LOW.replace(b"line_6 = 1\n", b"mine = 1\n"))
        assert shop.restore(ONE).code == 0
        assert (shop.file(ONE).read_bytes(), shop.file(ONE).stat().st_mode & 0o777) == (LOW, 0o755)
        assert shop.desk.run("revert", "low").code == 0
        assert (shop.file(ONE).read_bytes(), shop.file(ONE).stat().st_mode & 0o777) == (BASE, 0o644)


class TestRefusals:
    def test_of_a_wheel_with_other_bytes(self, shop: Shop, tmp_path: Path) -> None:
        shop.file(TWO).write_bytes(b"mine = 1\n")
        before = tree_state(shop.desk.site)
        wheel = make_wheel(tmp_path, [(TWO, b"newer = 2\n")])
        done = shop.desk.json("restore", TWO, "--from", str(wheel))
        assert (done.code, code(done), done.document["transaction"]) == (1, "wheel-differs", None)
        wheel = make_wheel(tmp_path, [(ONE, BASE)])
        assert code(shop.desk.json("restore", TWO, "--from", str(wheel))) == "wheel-differs"
        assert tree_state(shop.desk.site) == before

    def test_of_an_unsafe_wheel(self, shop: Shop, tmp_path: Path) -> None:
        shop.file(TWO).write_bytes(b"mine = 1\n")
        wheel = make_wheel(tmp_path, [(TWO, b"two = 2\n"), ("../x", b"")])
        done = shop.desk.json("restore", TWO, "--from", str(wheel))
        assert (done.code, code(done)) == (3, "unsafe-wheel")

    def test_all_together_or_none(self, shop: Shop) -> None:
        for path in (ONE, TWO):
            shop.file(path).write_bytes(b"mine = 1\n")
        before = tree_state(shop.desk.site)
        done = shop.restore(TWO, "vllm/unknown.py")
        assert (done.code, code(done)) == (1, "not-listed")
        assert tree_state(shop.desk.site) == before

    @pytest.mark.parametrize(
        ("path", "expected"),
        [
            ("../two.py", "cannot-restore"),
            ("/etc/passwd", "cannot-restore"),
            ("vllm-0.25.1.dist-info/METADATA", "cannot-restore"),
            ("vllm", "cannot-restore"),
            ("vllm/unknown.py", "not-listed"),
            ("vllm/__pycache__/one.cpython-311.pyc", "cannot-restore"),
        ],
    )
    def test_of_what_is_no_file_of_the_distribution(self, shop: Shop, path: str, expected: str) -> None:
        done = shop.restore(path)
        assert (done.code, code(done)) == (1, expected)

    def test_of_a_link(self, shop: Shop) -> None:
        shop.file(TWO).unlink()
        shop.file(TWO).symlink_to("one.py")
        assert code(shop.restore(TWO)) == "cannot-restore"
        assert shop.file(TWO).is_symlink()

    def test_of_a_site_without_record(self, shop: Shop) -> None:
        shop.file("vllm-0.25.1.dist-info/RECORD").unlink()
        shop.file(TWO).write_bytes(b"mine = 1\n")
        assert code(shop.restore(TWO)) == "not-listed"

    def test_of_a_command_without_a_wheel(self, shop: Shop) -> None:
        assert shop.desk.run("restore", TWO).code == 2


class TestWhatIsReplaced:
    def test_is_kept_where_the_answer_says(self, shop: Shop) -> None:
        edit = b"mine = 1\n"
        shop.file(TWO).write_bytes(edit)
        done = shop.restore(TWO)
        (note,) = (note for note in done.document["notes"] if note.startswith(f"what was in {TWO} is kept as "))
        kept = shop.file(note.partition(" is kept as ")[2].partition(", ")[0])
        assert kept.read_bytes() == edit
        assert shop.desk.run("doctor", "--gc").code in {0, 1}
        assert kept.read_bytes() == edit

    def test_is_nothing_where_the_file_was_gone_or_ours(self, shop: Shop) -> None:
        shop.file(TWO).unlink()
        assert not any("is kept as" in note for note in shop.restore(TWO).document["notes"])
