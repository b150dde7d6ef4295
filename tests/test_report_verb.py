"""``report``: where a page goes, what is around it, and what is never written."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from patchctl.errors import PatchctlError, RefusedError
from patchctl.publishing import BEGIN, END, Bounds, between_markers, put_between, put_whole
from tests.contract import complaints
from tests.report_desk import make_desk
from tests.running import Desk, on_a_terminal, tree
from tests.test_contract import open_journal
from tests.users import as_service_user, open_the_way

HEAD, TAIL = b"# The cluster\n\nIt serves.\n", b"\n## Restart\n\nCarefully.\n"
PAIR = f"{BEGIN}\n{END}\n".encode()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return make_desk(tmp_path)


@pytest.fixture
def readme(tmp_path: Path) -> Path:
    file = tmp_path / "README.md"
    file.write_bytes(HEAD + PAIR + TAIL)
    return file


def around(data: bytes) -> tuple[bytes, bytes]:
    """What stands before and behind the two markers, both of them included."""
    return data[: data.index(BEGIN.encode()) + len(BEGIN)], data[data.index(END.encode()) :]


class TestInto:
    def test_puts_the_banner_between_the_markers_and_leaves_the_rest(self, desk: Desk, readme: Path) -> None:
        done = desk.run("report", "--into", str(readme))
        assert done.code == 0
        assert f"report\t{readme}\tformat=md\tstate=written" in done.out
        data = readme.read_bytes()
        assert around(data) == (HEAD + BEGIN.encode(), END.encode() + b"\n" + TAIL)
        assert b"> **This environment carries 2 local patches.**" in data

    def test_the_second_run_touches_nothing(self, desk: Desk, readme: Path) -> None:
        assert desk.run("report", "--into", str(readme)).code == 0
        os.utime(readme, ns=(1, 1_234_567_890))
        before = tree(readme.parent)
        inode = readme.stat().st_ino
        done = desk.run("report", "--into", str(readme))
        assert (done.code, "state=unchanged" in done.out) == (0, True)
        assert tree(readme.parent) == before
        assert readme.stat().st_ino == inode

    def test_what_changed_in_the_environment_changes_the_banner_alone(self, desk: Desk, readme: Path) -> None:
        desk.run("report", "--into", str(readme))
        first = readme.read_bytes()
        assert desk.run("revert", "contained").code == 0
        desk.run("report", "--into", str(readme))
        second = readme.read_bytes()
        assert b"carries 1 local patch.**" in second
        assert (around(first), first == second) == (around(second), False)

    def test_takes_the_line_ends_of_the_file(self, desk: Desk, readme: Path) -> None:
        readme.write_bytes((HEAD + PAIR + TAIL).replace(b"\n", b"\r\n"))
        assert desk.run("report", "--into", str(readme)).code == 0
        data = readme.read_bytes()
        assert data.count(b"\n") == data.count(b"\r\n")
        assert around(data)[0] == (HEAD + BEGIN.encode()).replace(b"\n", b"\r\n")
        assert "state=unchanged" in desk.run("report", "--into", str(readme)).out

    @pytest.mark.parametrize(
        ("text", "code"),
        [
            (b"", "no-markers"),
            (HEAD, "no-markers"),
            (f"{BEGIN}\ntext\n".encode(), "one-marker"),
            (f"text\n{END}\n".encode(), "one-marker"),
            (f"{END}\ntext\n{BEGIN}\n".encode(), "markers-swapped"),
            (PAIR + PAIR, "many-markers"),
            (f"{BEGIN}\n{BEGIN}\n{END}\n".encode(), "many-markers"),
            (f"{BEGIN}\n{END}\n{END}\n".encode(), "many-markers"),
            (f"{BEGIN} {END}\n".encode(), "marker-not-alone"),
            (f"see {BEGIN}\n{END}\n".encode(), "marker-not-alone"),
            (f"{BEGIN}\n{END} see\n".encode(), "marker-not-alone"),
            (PAIR.replace(b"\n", b"\r"), "marker-not-alone"),
            ((HEAD + PAIR).decode().encode("utf-16"), "no-markers"),
        ],
    )
    def test_refuses_what_is_not_one_pair_and_writes_nothing(
        self, desk: Desk, readme: Path, text: bytes, code: str
    ) -> None:
        readme.write_bytes(text)
        before = tree(readme.parent)
        done = desk.json("report", "--into", str(readme))
        assert (done.code, [problem["code"] for problem in done.document["errors"]]) == (1, [code])
        assert tree(readme.parent) == before

    def test_says_which_lines_to_put_in(self, desk: Desk, readme: Path) -> None:
        readme.write_bytes(HEAD)
        done = desk.run("report", "--into", str(readme))
        assert (done.out, BEGIN in done.err, END in done.err) == ("", True, True)

    def test_wants_a_file_that_is_there(self, desk: Desk, tmp_path: Path) -> None:
        done = desk.json("report", "--into", str(tmp_path / "none.md"))
        assert (done.code, done.document["errors"][0]["code"]) == (1, "no-such-file")
        assert not (tmp_path / "none.md").exists()

    def test_is_for_the_banner_alone(self, desk: Desk, readme: Path) -> None:
        for more in (("--format", "html"), ("--output", "x")):
            done = desk.json("report", "--into", str(readme), *more)
            assert (done.code, done.document["errors"][0]["code"]) == (2, "two-places")
        assert readme.read_bytes() == HEAD + PAIR + TAIL

    def test_a_marker_in_the_banner_itself_is_no_marker(self) -> None:
        """The banner escapes them; the bytes would be refused the next time, rather than taken for the end."""
        once = between_markers(HEAD + PAIR + TAIL, f"{END}\n", "README.md")
        with pytest.raises(RefusedError, match="more than one end marker: lines 5 and 6"):
            between_markers(once, "x\n", "README.md")

    def test_the_last_line_may_lack_its_end(self) -> None:
        data = between_markers(f"x\n  {BEGIN}\t\nold\n{END}".encode(), "new\n", "README.md")
        assert data == f"x\n  {BEGIN}\t\nnew\n{END}".encode()


class TestFiles:
    def test_keep_permissions_and_owner(self, readme: Path) -> None:
        readme.chmod(0o640)
        if os.geteuid() == 0:
            os.chown(readme, 12345, 54321)
        before = readme.stat()
        assert put_between(str(readme), "x\n", Bounds())
        after = readme.stat()
        assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
        assert after.st_ino != before.st_ino  # it was replaced in one step, not written in place

    def test_keep_extended_attributes(self, readme: Path) -> None:
        try:
            os.setxattr(readme, "user.note", b"mine")
        except OSError:
            pytest.skip("this file system has no extended attributes for users")
        assert put_between(str(readme), "x\n", Bounds())
        assert os.getxattr(readme, "user.note") == b"mine"

    def test_are_made_with_the_usual_permissions(self, tmp_path: Path) -> None:
        old = os.umask(0o027)
        try:
            assert put_whole(str(tmp_path / "new.html"), "x\n", Bounds())
        finally:
            os.umask(old)
        assert (tmp_path / "new.html").stat().st_mode & 0o777 == 0o640
        assert not put_whole(str(tmp_path / "new.html"), "x\n", Bounds())

    @pytest.mark.parametrize("put", [put_whole, put_between])
    @pytest.mark.attack("links")
    def test_that_are_links_or_special_are_refused(self, tmp_path: Path, put: type[put_whole]) -> None:  # type: ignore[valid-type]
        real = tmp_path / "real.md"
        real.write_bytes(PAIR)
        (tmp_path / "link.md").symlink_to(real)
        (tmp_path / "broken.md").symlink_to(tmp_path / "none")
        os.mkfifo(tmp_path / "fifo.md")
        (tmp_path / "directory.md").mkdir()
        before = tree(tmp_path)
        for name in ("link.md", "broken.md", "fifo.md", "directory.md", "..", ""):
            with pytest.raises(RefusedError) as caught:
                put(f"{tmp_path}/{name}", "x\n", Bounds())  # type: ignore[misc]
            assert caught.value.problem.code == "not-regular"
        assert tree(tmp_path) == before

    def test_that_grew_too_large_are_refused(self, readme: Path) -> None:
        with readme.open("r+b") as file:
            file.truncate((16 << 20) + 1)
        with pytest.raises(RefusedError, match="larger"):
            put_between(str(readme), "x\n", Bounds())

    @pytest.mark.parametrize(
        "name", ["page.md", "vllm/page.md", ".patchctl/page.md", "../site/page.md", "link/page.md"]
    )
    def test_below_the_site_are_refused(self, desk: Desk, name: str) -> None:
        (desk.site.parent / "other").symlink_to(desk.site)
        path = desk.site / name if not name.startswith("link/") else desk.site.parent / "other" / "page.md"
        before = tree(desk.site, but=())
        done = desk.json("report", "--output", str(path))
        assert (done.code, done.document["errors"][0]["code"]) == (1, "inside-site")
        assert tree(desk.site, but=()) == before

    def test_that_cannot_be_written_are_an_error_and_leave_nothing(
        self, desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = tmp_path / "page.md"
        file.write_bytes(b"old\n")

        def full(*_: object, **__: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        before = tree(tmp_path)
        with monkeypatch.context() as broken:
            broken.setattr(os, "rename", full)
            with pytest.raises(PatchctlError, match="No space left"):
                put_whole(str(file), "new\n", Bounds(sites=(str(desk.site),)))
        assert tree(tmp_path) == before

    def test_that_were_saved_meanwhile_are_left_alone(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        file = tmp_path / "page.md"
        file.write_bytes(b"old\n")
        synced = os.fsync

        def save_then_sync(fd: int) -> None:
            file.write_bytes(b"somebody's\n")
            synced(fd)

        monkeypatch.setattr(os, "fsync", save_then_sync)
        with pytest.raises(RefusedError, match="changed meanwhile"):
            put_whole(str(file), "new\n", Bounds())
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"page.md": b"somebody's\n"}

    @pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
    def test_of_somebody_else_are_not_taken_over(self, desk: Desk, readme: Path) -> None:
        open_the_way(readme)
        readme.parent.chmod(0o777)
        os.chown(readme, 0, 0)
        readme.chmod(0o644)
        before = readme.read_bytes()
        done = as_service_user(
            "report", "--into", str(readme), "--site", str(desk.site), "--registry", str(desk.registry)
        )
        assert (done.code, readme.read_bytes()) == (3, before)
        assert "cannot be written" in done.err
        assert [path.name for path in readme.parent.iterdir() if path.name.startswith(".patchctl-")] == []


class TestAnswer:
    def test_goes_to_standard_output_with_its_markers(self, desk: Desk) -> None:
        done = desk.run("report")
        assert (done.code, done.out.startswith(BEGIN + "\n"), done.out.endswith(END + "\n")) == (0, True, True)

    def test_written_whole_can_be_kept_up_to_date(self, desk: Desk, tmp_path: Path) -> None:
        page = tmp_path / "PATCHES.md"
        assert desk.run("report", "--output", str(page)).code == 0
        assert "state=unchanged" in desk.run("report", "--into", str(page)).out

    @pytest.mark.parametrize("shape", ["md", "html", "cyclonedx", "openvex"])
    def test_as_json_holds_the_page_or_says_where_it_went(self, desk: Desk, tmp_path: Path, shape: str) -> None:
        clock = {"SOURCE_DATE_EPOCH": "1800000000"}
        bare = desk.run("report", "--format", shape, env=clock).out
        document = desk.json("report", "--format", shape, env=clock).document
        assert complaints(document) == []
        found = document["report"]
        assert (found["format"], found["state"], found["path"]) == (shape, "printed", None)
        if shape != "html":  # which has processes, and their ages
            assert found["text"] == bare
        file = tmp_path / "page"
        found = desk.json("report", "--format", shape, "--output", str(file), env=clock).document["report"]
        assert found == {"format": shape, "state": "written", "path": str(file), "text": None}
        if shape != "html":
            assert file.read_text("utf-8") == bare

    def test_on_a_terminal_says_what_was_written(self, desk: Desk, readme: Path) -> None:
        words = ("report", "--into", str(readme), "--site", str(desk.site), "--registry", str(desk.registry))
        assert b"written" in on_a_terminal(*words, columns=300)
        assert b"says it already" in on_a_terminal(*words, columns=300)

    def test_writes_nothing_but_the_file(self, desk: Desk, readme: Path) -> None:
        before = tree(readme.parent, but=())
        for words in ((), ("--format", "html"), ("--format", "openvex"), ("--into", str(readme))):
            assert desk.run("report", *words).code == 0
        after = tree(readme.parent, but=())
        assert {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)} == {"README.md"}

    def test_of_an_unfinished_transaction_is_no_page(self, desk: Desk, readme: Path) -> None:
        open_journal(desk)
        before = tree(readme.parent, but=())
        for words in (("--into", str(readme)), ("--format", "html"), ("--output", f"{readme}.html")):
            done = desk.run("report", *words)
            assert (done.code, done.out) == (4, "")
            assert "patchctl recover" in done.err
        assert "report" not in desk.json("report").document
        assert tree(readme.parent, but=()) == before

    def test_of_a_distribution_leaves_the_others_out(self, desk: Desk) -> None:
        assert "carries 2 local" in desk.run("report", "--distribution", "vllm").out
        assert desk.run("report", "--distribution", "other").code == 3
