"""``verify``: whose bytes every installed file has, what sizes alone can tell, and what a baseline accepts."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.contract import complaints
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, Done, on_a_terminal, patchctl, tree
from tests.sites import Content, install, make_site, make_venv_layout, record_row, write

ENGINE, ADDED, CONFIG = "vllm/engine.py", "vllm/added.py", "vllm/configs/E=8,N=14336,device=A100.json"
BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 31))
LOW = BASE.replace(b"line_5 = 1\n", b"line_5 = 5\n")
FILES = {"vllm/__init__.py": b"", ENGINE: BASE, "vllm/big.so": b"\x7fELF" * 9000, CONFIG: b"{}"}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return desk_at(tmp_path)


def desk_at(where: Path, **kind: Any) -> Desk:
    site = make_site(where, FILES, build="0.25.1", **kind)
    registry = make_registry(where / "registry")
    add_entry(registry, "a-low", make_diff({ENGINE: (BASE, LOW)}))
    add_entry(registry, "b-adds", make_diff({ADDED: (None, b"new = 1\n")}))
    return Desk(site=site, registry=registry)


def files_of(done: Done, name: str = "vllm") -> dict[str, dict[str, Any]]:
    """The files of a distribution in the document, by path; the document is held against the schema."""
    assert complaints(done.document) == []
    (found,) = (it for it in done.document["verification"]["distributions"] if it["name"] == name)
    return {file["path"]: file for file in found["files"]}


def states(done: Done, name: str = "vllm") -> dict[str, str]:
    return {path: file["state"] for path, file in files_of(done, name).items()}


def wrong(done: Done) -> dict[str, str]:
    return {path: state for path, state in states(done).items() if state in {"foreign", "missing", "extra"}}


def test_a_terminal_shows_the_first_of_many_and_a_pipe_all(tmp_path: Path) -> None:
    """A slimmed image lacks hundreds of files: they must not push what is foreign off the screen."""
    tests = {f"vllm/tests/test_{number:02}.py": b"" for number in range(30)}
    site = make_site(tmp_path, {"vllm/__init__.py": b"", ENGINE: BASE, **tests})
    for path in tests:
        (site / path).unlink()
    (site / ENGINE).write_bytes(LOW)
    registry = str(make_registry(tmp_path / "registry"))
    arguments = ["verify", "--site", str(site), "--registry", registry, "--distribution", "vllm"]
    piped = patchctl(*arguments).out
    assert piped.count("state=missing") == 30
    shown = on_a_terminal(*arguments).decode()
    assert shown.count("tests/test_") == 20
    assert "and 10 more: -v lists all" in shown
    assert f"foreign   {ENGINE}" in shown
    assert on_a_terminal(*arguments, "-v").decode().count("tests/test_") == 30


class TestAttribution:
    def test_a_fresh_install_is_pristine(self, desk: Desk) -> None:
        done = desk.json("verify", "-v")
        assert done.code == 0
        assert {path: states(done)[path] for path in FILES} == dict.fromkeys(FILES, "pristine")

    def test_what_a_patch_changed_or_added_is_ours_and_says_whose(self, desk: Desk) -> None:
        assert desk.run("apply").code == 0
        done = desk.json("verify")
        found = files_of(done)
        assert done.code == 0
        assert (found[ENGINE]["state"], found[ENGINE]["entries"]) == ("ours", ["a-low"])
        assert (found[ADDED]["state"], found[ADDED]["entries"]) == ("ours", ["b-adds"])

    def test_what_a_patch_removed_is_ours(self, tmp_path: Path) -> None:
        desk = Desk(site=make_site(tmp_path, FILES), registry=make_registry(tmp_path / "registry"))
        add_entry(tmp_path / "registry", "gone", make_diff({ENGINE: (BASE, None)}))
        assert desk.run("apply").code == 0
        done = desk.json("verify")
        assert done.code == 0
        assert files_of(done)[ENGINE]["entries"] == ["gone"]

    def test_after_a_revert_everything_is_pristine(self, desk: Desk) -> None:
        assert desk.run("apply").code == 0
        assert desk.run("revert", "--all").code == 0
        done = desk.json("verify", "-v")
        assert done.code == 0
        assert "ours" not in states(done).values()

    @pytest.mark.parametrize("applied", [False, True])
    def test_other_bytes_are_foreign_whether_it_was_patched_or_not(self, desk: Desk, applied: bool) -> None:
        if applied:
            assert desk.run("apply").code == 0
        (desk.site / ENGINE).write_bytes(BASE + b"mine\n")
        done = desk.json("verify")
        assert done.code == 1
        assert wrong(done) == {ENGINE: "foreign"}

    def test_one_changed_byte_of_the_same_length_is_foreign(self, desk: Desk) -> None:
        path = desk.site / "vllm/big.so"
        status = path.stat()
        path.write_bytes(b"\x7fELG" + path.read_bytes()[4:])
        os.utime(path, ns=(status.st_mtime_ns, status.st_mtime_ns))
        assert wrong(desk.json("verify")) == {"vllm/big.so": "foreign"}

    def test_the_recorded_base_of_a_drifted_install_is_told_apart(self, tmp_path: Path) -> None:
        desk = desk_at(tmp_path)
        own = BASE.replace(b"line_20 = 1\n", b"line_20 = mine\n")
        (desk.site / ENGINE).write_bytes(own)
        assert desk.run("apply", "a-low").code == 0
        assert wrong(desk.json("verify")) == {}
        (desk.site / ENGINE).write_bytes(own)
        assert "before our first patch" in files_of(desk.json("verify"))[ENGINE]["reason"]

    def test_a_file_that_is_gone_is_missing(self, desk: Desk) -> None:
        (desk.site / CONFIG).unlink()
        done = desk.json("verify")
        assert (done.code, wrong(done)) == (1, {CONFIG: "missing"})

    def test_a_whole_directory_that_is_gone_is_missing(self, desk: Desk) -> None:
        (desk.site / CONFIG).unlink()
        (desk.site / CONFIG).parent.rmdir()
        assert wrong(desk.json("verify")) == {CONFIG: "missing"}

    @pytest.mark.parametrize("name", ["vllm/shadow.py", "vllm/evil.pyc", "vllm/configs/new.json", "vllm/deep/er/x.so"])
    def test_a_file_in_its_packages_that_nobody_lists_is_extra(self, desk: Desk, name: str) -> None:
        write(desk.site / name, b"x")
        done = desk.json("verify")
        assert (done.code, wrong(done)) == (1, {name: "extra"})

    @pytest.mark.parametrize(
        "name",
        [
            "vllm/__pycache__/engine.cpython-311.pyc",
            "vllm/__pycache__/kernel.nbi",
            "vllm/engine.pyc",
            "vllm/~ngine/x.py",
            "vllm/.patchctl-probe.tmp",
            "other/x.py",
            "top.py",
        ],
    )
    def test_what_python_and_installers_make_on_the_spot_is_not(self, desk: Desk, name: str) -> None:
        write(desk.site / name, b"x")
        assert desk.run("verify").code == 0

    def test_a_link_inside_a_package_is_extra_and_to_other_bytes_foreign(self, desk: Desk, tmp_path: Path) -> None:
        (desk.site / "vllm/elsewhere").symlink_to(tmp_path)
        write(tmp_path / "engine.py", LOW)
        (desk.site / ENGINE).unlink()
        (desk.site / ENGINE).symlink_to(tmp_path / "engine.py")
        done = desk.json("verify")
        assert wrong(done) == {ENGINE: "foreign", "vllm/elsewhere": "extra"}
        assert "bytes that are listed" in files_of(done)[ENGINE]["reason"]

    @pytest.mark.parametrize("where", ["missing", "directory", "fifo", "writable"])
    def test_a_link_to_what_no_installer_links_to_is_foreign(self, desk: Desk, tmp_path: Path, where: str) -> None:
        place = tmp_path / where
        if where == "directory":
            place.mkdir()
        elif where == "fifo":
            os.mkfifo(place)
        elif where == "writable":
            write(place, BASE)
            place.chmod(0o666)
        (desk.site / ENGINE).unlink()
        (desk.site / ENGINE).symlink_to(place)
        assert wrong(desk.json("verify")) == {ENGINE: "foreign"}

    @pytest.mark.parametrize("options", [(), ("--distribution", "vllm"), ("--all",)])
    def test_a_distribution_that_is_recorded_twice_is_no_answer(self, desk: Desk, options: tuple[str, ...]) -> None:
        install(desk.site, FILES, build="0.20.0")
        install(desk.site, {"acme/x.py": b"a = 1\n"}, name="acme", build="1.0")
        diff = make_diff({"acme/x.py": (b"a = 1\n", b"a = 2\n")})
        add_entry(desk.site.parent / "registry", "acme-one", diff, distribution="acme")
        done = desk.json("verify", *options)
        assert done.code == 3, done.out
        assert "more than once" in done.out

    def test_c02_links_to_the_listed_bytes_are_pristine_and_what_replaces_one_is_ours(
        self, desk: Desk, tmp_path: Path
    ) -> None:
        for path in FILES:
            write(tmp_path / "cache" / path, (desk.site / path).read_bytes())
            (desk.site / path).unlink()
            (desk.site / path).symlink_to(tmp_path / "cache" / path)
        done = desk.json("verify", "-v")
        assert done.code == 0
        assert {path: states(done)[path] for path in FILES} == dict.fromkeys(FILES, "pristine")
        assert {states(desk.json("verify", "-v", "--fast"))[path] for path in FILES} == {"same-size"}
        assert desk.run("apply").code == 0
        assert states(desk.json("verify"))[ENGINE] == "ours"
        assert desk.run("revert", "--all").code == 0
        assert (desk.site / ENGINE).is_symlink()
        assert desk.json("verify").code == 0

    def test_what_another_distribution_lists_is_not_extra(self, desk: Desk) -> None:
        install(desk.site, {"vllm/plugin/x.py": b"x"}, name="vllm-plugin", build="1")
        assert desk.run("verify").code == 0
        (desk.site / "vllm/plugin/y.py").write_bytes(b"")
        assert wrong(desk.json("verify")) == {"vllm/plugin/y.py": "extra"}

    def test_a_namespace_is_not_its_own(self, desk: Desk) -> None:
        install(desk.site, {"google/one/a.py": b"a"}, name="one", build="1", installer="uv")
        write(desk.site / "google/two/b.py", b"b")
        assert desk.run("verify", "--distribution", "one").code == 0

    def test_the_patch_of_an_old_build_in_a_new_one_is_foreign(self, desk: Desk) -> None:
        assert desk.run("apply").code == 0
        for path in next(desk.site.glob("*.dist-info")).iterdir():
            path.unlink()
        next(desk.site.glob("*.dist-info")).rmdir()
        install(desk.site, {**FILES, ENGINE: b"other = 1\n"}, build="0.25.2")
        (desk.site / ENGINE).write_bytes(LOW)
        assert "before" in files_of(desk.json("verify"))[ENGINE]["reason"]

    def test_an_executable_bit_that_a_patch_set_counts(self, tmp_path: Path) -> None:
        desk = Desk(site=make_site(tmp_path, FILES), registry=make_registry(tmp_path / "registry"))
        diff = b"diff --git a/vllm/engine.py b/vllm/engine.py\nold mode 100644\nnew mode 100755\n"
        add_entry(tmp_path / "registry", "mode", diff)
        assert desk.run("apply").code == 0
        assert wrong(desk.json("verify")) == {}
        (desk.site / ENGINE).chmod(0o644)
        done = desk.json("verify")
        # The bytes are what RECORD lists, and RECORD knows no modes: that is for check.
        assert wrong(done) == {}
        assert desk.run("check").code == 1


class TestRows:
    def test_c05_comma_names_and_a_crlf_record_drift_nowhere_and_record_stays(self, desk: Desk) -> None:
        (record,) = desk.site.glob("*.dist-info/RECORD")
        before = record.read_bytes()
        assert b"\r\n" in before
        assert f'"{CONFIG}"'.encode() in before
        for verb in (["verify"], ["apply"], ["verify"], ["verify", "--baseline"], ["revert", "--all"], ["verify"]):
            assert desk.run(*verb).code == 0, verb
        assert states(desk.json("verify", "-v"))[CONFIG] == "pristine"
        assert record.read_bytes() == before

    def test_uv_rows_end_in_lf(self, tmp_path: Path) -> None:
        assert desk_at(tmp_path, installer="uv").run("verify").code == 0

    @pytest.mark.parametrize("algorithm", ["sha256", "sha384", "sha512"])
    def test_every_kind_of_hash_that_proves_is_used(self, tmp_path: Path, algorithm: str) -> None:
        site = make_site(tmp_path, {"vllm/__init__.py": b""}, installer="uv")
        desk = Desk(site=site, registry=make_registry(tmp_path / "registry"))
        add_entry(tmp_path / "registry", "x", make_diff({"vllm/x.py": (BASE, LOW)}))
        listed(site, "vllm/x.py", BASE, algorithm)
        assert states(desk.json("verify", "-v"))["vllm/x.py"] == "pristine"
        assert desk.run("apply").code == 0
        assert states(desk.json("verify"))["vllm/x.py"] == "ours"
        (site / "vllm/x.py").write_bytes(b"x = 3\n")
        assert wrong(desk.json("verify")) == {"vllm/x.py": "foreign"}

    @pytest.mark.parametrize("algorithm", ["md5", "sha1", "crc", "sha256x"])
    def test_a_hash_that_proves_nothing_is_unchecked_and_said(self, tmp_path: Path, algorithm: str) -> None:
        desk = desk_at(tmp_path, installer="uv")
        listed(desk.site, "vllm/x.py", b"x = 1\n", algorithm)
        done = desk.json("verify")
        assert done.code == 0
        assert algorithm in files_of(done)["vllm/x.py"]["reason"]
        assert f"({algorithm})" in desk.run("verify").out

    def test_a_hash_that_cannot_be_read_is_unchecked(self, tmp_path: Path) -> None:
        desk = desk_at(tmp_path, installer="uv")
        add_row(desk.site, "vllm/x.py", "sha256=!", "6")
        (desk.site / "vllm/x.py").write_bytes(b"x = 1\n")
        assert states(desk.json("verify"))["vllm/x.py"] == "unchecked"

    def test_rows_without_hash_are_not_hashed_and_byte_code_may_be_gone(self, desk: Desk) -> None:
        found = states(desk.json("verify", "-v"))
        (record,) = (path for path in found if path.endswith("RECORD"))
        assert found[record] == "unchecked"
        assert not any(path.endswith(".pyc") for path in found)

    def test_a_script_outside_the_site_is_checked_below_the_prefix_only(self, tmp_path: Path) -> None:
        root = tmp_path / "env"
        site = make_venv_layout(root)
        install(site, FILES, installer="uv")
        write(root / "bin/vllm", b"#!/bin/sh\n")
        write(tmp_path / "beyond", b"other\n")
        rows = [
            (path, record_row("x", b"#!/bin/sh\n")[1], "10") for path in ("../../../bin/vllm", "../../../../beyond")
        ]
        rows += [(f"{tmp_path}/beyond", rows[0][1], "10")]
        for row in rows:
            add_row(site, *row)
        desk = Desk(site=site, registry=make_registry(tmp_path / "registry"))
        add_entry(tmp_path / "registry", "a-low", make_diff({ENGINE: (BASE, LOW)}))
        found = states(desk.json("verify", "-v"))
        assert [found[path] for path, *_ in rows] == ["pristine", "unchecked", "unchecked"]
        (root / "bin/vllm").write_bytes(b"#!/bin/zsh")
        assert wrong(desk.json("verify")) == {"../../../bin/vllm": "foreign"}
        (root / "bin/vllm").unlink()
        (root / "bin/vllm").symlink_to(tmp_path / "beyond")
        assert "link" in files_of(desk.json("verify"))["../../../bin/vllm"]["reason"]

    def test_a_fifo_in_the_place_of_a_file_does_not_hang(self, desk: Desk) -> None:
        (desk.site / ENGINE).unlink()
        os.mkfifo(desk.site / ENGINE)
        assert wrong(desk.json("verify")) == {ENGINE: "foreign"}


class TestWithoutRecord:
    def test_nobody_can_tell_and_that_is_no_success(self, tmp_path: Path) -> None:
        done = desk_at(tmp_path, record=False).json("verify")
        assert done.code == 3
        assert done.document["errors"][0]["code"] == "cannot-verify"

    def test_a_damaged_record_is_no_oracle(self, desk: Desk) -> None:
        (record,) = desk.site.glob("*.dist-info/RECORD")
        record.write_bytes(record.read_bytes() + b'"half')
        assert desk.run("verify").code == 3

    def test_conda_meta_is_asked(self, tmp_path: Path) -> None:
        desk, conda = conda_desk(tmp_path, record=False)
        done = desk.json("verify", "-v")
        assert done.code == 0
        assert done.document["verification"]["distributions"][0]["oracle"] == "conda-meta"
        assert states(done)[ENGINE] == "pristine"
        assert conda.is_file()
        (desk.site / ENGINE).write_bytes(b"mine\n")
        assert wrong(desk.json("verify")) == {ENGINE: "foreign"}

    def test_a_script_that_conda_rewrote_is_as_it_should_be(self, tmp_path: Path) -> None:
        desk, _ = conda_desk(tmp_path, record=True)
        add_row(desk.site, "../../../bin/vllm", record_row("x", b"#!placeholder\n")[1], "14")
        assert desk.run("verify").code == 0
        (desk.site / "../../../bin/vllm").write_bytes(b"#!/evil\n")
        assert wrong(desk.json("verify")) == {"../../../bin/vllm": "foreign"}

    def test_an_editable_install_is_not_verified(self, desk: Desk) -> None:
        info = {"direct_url.json": b'{"url": "file:///src", "dir_info": {"editable": true}}'}
        install(desk.site, {"__editable__.mine-1.pth": b"/src\n"}, name="mine", build="1", info_files=info)
        assert desk.run("verify", "--distribution", "mine").code == 3

    def test_a_package_of_stubs_is_no_editable_install(self, desk: Desk) -> None:
        install(desk.site, {"mine-stubs/__init__.pyi": b""}, name="types-mine", build="1", installer="uv")
        assert desk.run("verify", "--distribution", "types-mine").code == 0


class TestFast:
    def test_sizes_never_prove_pristine_and_the_answer_says_so(self, desk: Desk) -> None:
        assert desk.run("apply").code == 0
        done = desk.json("verify", "--fast", "-v")
        assert done.code == 0
        assert done.document["verification"]["compared"] == "sizes"
        assert set(states(done).values()) <= {"same-size", "unchecked"}
        assert files_of(done)[ENGINE]["entries"] == ["a-low"]
        assert "only sizes were compared" in desk.run("verify", "--fast").out

    def test_it_says_nothing_of_what_a_link_leads_to(self, desk: Desk, tmp_path: Path) -> None:
        (tmp_path / "secret").write_bytes(b"x" * 1234)
        (desk.site / ENGINE).unlink()
        (desk.site / ENGINE).symlink_to(tmp_path / "secret")
        done = desk.json("verify", "--fast")
        assert done.code == 1
        assert files_of(done)[ENGINE]["state"] == "foreign"
        assert "1234" not in done.out

    def test_it_finds_other_lengths_missing_and_extra_but_not_a_changed_byte(self, desk: Desk) -> None:
        (desk.site / ENGINE).write_bytes(BASE + b"more\n")
        (desk.site / CONFIG).unlink()
        (desk.site / "vllm/new.py").write_bytes(b"")
        (desk.site / "vllm/big.so").write_bytes(b"\x7fELG" * 9000)
        done = desk.json("verify", "--fast")
        assert done.code == 1
        assert wrong(done) == {ENGINE: "foreign", CONFIG: "missing", "vllm/new.py": "extra"}

    def test_a_patched_file_of_another_length_is_foreign(self, desk: Desk) -> None:
        assert desk.run("apply").code == 0
        (desk.site / ADDED).write_bytes(b"longer than it was\n")
        assert wrong(desk.json("verify", "--fast")) == {ADDED: "foreign"}

    def test_nothing_is_opened_for_its_bytes(self, desk: Desk) -> None:
        (desk.site / "vllm/big.so").write_bytes(b"")
        os.truncate(desk.site / "vllm/big.so", 1 << 40)  # a sparse file nobody would want to read
        assert wrong(desk.json("verify", "--fast")) == {"vllm/big.so": "foreign"}


class TestAll:
    def test_every_distribution_of_every_site_of_the_environment(self, tmp_path: Path) -> None:
        root = tmp_path / "env"
        site = make_venv_layout(root)
        install(site, FILES, installer="uv")
        install(site, {"small.py": b"x"}, name="small", build="2", installer="uv")
        install(site, {"bare.py": b"x"}, name="bare", build="2", record=False)
        install(site, {"twice.py": b"x"}, name="twice", build="1", installer="uv")
        install(site, {"twice.py": b"x"}, name="twice", build="2", installer="uv")
        done = patchctl("verify", "--all", "--json", "--python", str(root))
        found = {it["name"]: it["oracle"] for it in done.document["verification"]["distributions"]}
        assert found == {"bare": None, "small": "record", "twice": None, "vllm": "record"}
        assert done.code == 3
        (site / "small.py").write_bytes(b"y")
        done = patchctl("verify", "--all", "--json", "--python", str(root))
        assert states(done, "small") == {"small.py": "foreign"}

    def test_a_broken_registry_keeps_nobody_from_verifying_a_named_distribution(self, desk: Desk) -> None:
        broken = Desk(site=desk.site, registry=desk.site)
        assert broken.run("verify").code == 3
        assert broken.run("verify", "--distribution", "vllm").code == 0
        assert broken.run("verify", "--all").code == 0


class TestBaseline:
    def test_c38_a_slimmed_image_is_accepted_and_a_new_foreign_file_still_found(self, desk: Desk) -> None:
        slimmed = {CONFIG, "vllm/big.so"}
        for path in slimmed:
            (desk.site / path).unlink()
        assert desk.run("verify").code == 1
        done = desk.json("verify", "--baseline")
        assert done.code == 0
        assert complaints(done.document) == []
        assert done.document["transaction"]["state"] == "committed"
        assert desk.run("verify").code == 0
        assert {path for path, state in states(desk.json("verify")).items() if state == "absent"} == slimmed
        (desk.site / ENGINE).write_bytes(b"evil\n")
        write(desk.site / "vllm/evil.py", b"")
        (desk.site / "vllm/__init__.py").unlink()
        done = desk.json("verify")
        assert done.code == 1
        assert wrong(done) == {ENGINE: "foreign", "vllm/evil.py": "extra", "vllm/__init__.py": "missing"}

    def test_foreign_content_is_never_accepted(self, desk: Desk) -> None:
        (desk.site / CONFIG).unlink()
        (desk.site / ENGINE).write_bytes(b"mine\n")
        write(desk.site / "vllm/new.py", b"")
        done = desk.json("verify", "--baseline")
        assert done.code == 1
        assert wrong(done) == {ENGINE: "foreign", "vllm/new.py": "extra"}
        assert wrong(desk.json("verify")) == wrong(done)

    def test_what_comes_back_must_be_what_record_lists(self, desk: Desk) -> None:
        data = (desk.site / CONFIG).read_bytes()
        (desk.site / CONFIG).unlink()
        assert desk.run("verify", "--baseline").code == 0
        (desk.site / CONFIG).write_bytes(b"other")
        assert wrong(desk.json("verify")) == {CONFIG: "foreign"}
        (desk.site / CONFIG).write_bytes(data)
        assert desk.run("verify").code == 0

    def test_it_can_be_taken_back(self, desk: Desk) -> None:
        (desk.site / CONFIG).unlink()
        assert desk.run("verify", "--baseline").code == 0
        done = desk.json("verify", "--drop-baseline")
        assert (done.code, wrong(done)) == (1, {CONFIG: "missing"})
        assert desk.run("verify").code == 1
        assert desk.run("verify", "--drop-baseline").code == 1

    def test_the_absence_of_a_patched_file_is_never_accepted(self, desk: Desk) -> None:
        assert desk.run("apply").code == 0
        (desk.site / ENGINE).unlink()
        done = desk.json("verify", "--baseline")
        assert (done.code, wrong(done)) == (1, {ENGINE: "missing"})

    def test_it_counts_for_its_own_build_only(self, desk: Desk) -> None:
        (desk.site / CONFIG).unlink()
        assert desk.run("verify", "--baseline").code == 0
        (old,) = desk.site.glob("*.dist-info")
        for path in old.iterdir():
            path.unlink()
        old.rmdir()
        install(desk.site, {**FILES, "vllm/news.py": b""}, build="0.25.2")
        (desk.site / CONFIG).unlink()
        done = desk.json("verify")
        assert (done.code, wrong(done)) == (1, {CONFIG: "missing"})
        assert [problem["code"] for problem in done.document["warnings"]] == ["stale-baseline"]

    def test_it_outlives_every_other_verb(self, desk: Desk) -> None:
        (desk.site / CONFIG).unlink()
        assert desk.run("verify", "--baseline").code == 0
        for verb in (["apply"], ["hold", "a-low", "--reason", "x"], ["unhold", "a-low"], ["revert", "--all"]):
            assert desk.run(*verb).code == 0
            assert desk.run("verify").code == 0, verb

    def test_the_same_again_writes_nothing_and_a_dry_run_neither(self, desk: Desk) -> None:
        (desk.site / CONFIG).unlink()
        assert desk.run("verify", "--baseline", "--dry-run").code == 0
        assert not (desk.site / ".patchctl").exists()
        assert desk.run("verify", "--baseline").code == 0
        before = tree(desk.site, but=())
        assert "nothing to record" in desk.run("verify", "--baseline").out
        assert tree(desk.site, but=()) == before

    def test_only_the_ledger_is_written(self, desk: Desk) -> None:
        (desk.site / CONFIG).unlink()
        before = tree(desk.site)
        assert desk.run("verify", "--baseline", "--fast").code == 0
        assert tree(desk.site) == before
        ledger = json.loads((desk.site / ".patchctl/ledger.json").read_bytes())
        assert ledger["baselines"]["vllm"]["absent"] == [CONFIG]

    @pytest.mark.parametrize(
        "options", [["--baseline", "--drop-baseline"], ["--dry-run"], ["--wait", "1"]], ids=" ".join
    )
    def test_options_that_cannot_be_meant_are_refused(self, desk: Desk, options: list[str]) -> None:
        assert desk.json("verify", *options).code == 2


class TestAnswers:
    def test_a_pipe_gets_what_is_not_pristine_and_a_sum(self, desk: Desk) -> None:
        assert desk.run("apply").code == 0
        lines = desk.run("verify").out.splitlines()
        checked = [line.split("\t")[1] for line in lines if line.startswith("checked\t")]
        assert checked == [ENGINE, ADDED]
        (total,) = (line for line in lines if line.startswith("verified\t"))
        assert {"ours=2", "oracle=record", "compared=hashes"} <= set(total.split("\t"))
        every = desk.run("verify", "-v").out
        assert f"checked\t{CONFIG}\tstate=pristine" in every

    def test_an_open_transaction_comes_first(self, desk: Desk) -> None:
        from tests.test_contract import open_journal

        open_journal(desk)
        assert desk.json("verify").code == 4
        assert desk.json("verify", "--baseline").code == 4

    def test_a_file_that_may_not_be_read_is_no_answer(self, desk: Desk) -> None:
        from tests.users import as_service_user, open_the_way

        open_the_way(desk.site)
        (desk.site / ENGINE).chmod(0o600)
        done = as_service_user("verify", "--json", "--site", str(desk.site), "--registry", str(desk.registry))
        assert done.code == 3
        assert states(done)[ENGINE] == "unchecked"
        assert done.document["errors"][0]["code"] == "unreadable-files"


def add_row(site: Path, path: str, digest: str, size: str) -> None:
    (record,) = site.glob("vllm-*.dist-info/RECORD")
    record.write_bytes(record.read_bytes() + f"{path},{digest},{size}\n".encode())


def listed(site: Path, path: str, data: bytes, algorithm: str) -> None:
    """Put a file there and list it with another hash."""
    known = algorithm if algorithm in hashlib.algorithms_available else "sha256"
    digest = base64.urlsafe_b64encode(hashlib.new(known, data).digest()).rstrip(b"=").decode()
    write(site / path, data)
    add_row(site, path, f"{algorithm}={digest}", str(len(data)))


def conda_desk(where: Path, *, record: bool) -> tuple[Desk, Path]:
    """A conda environment with one package, as conda records it."""
    root = where / "env"
    site = root / "lib/python3.11/site-packages"
    info = install(site, FILES, installer="conda", record=record)
    write(root / "bin/python3.11", Content(data=b"\x7fELF", mode=0o755))
    write(root / "bin/vllm", b"#!/opt/env/bin/python\n")
    paths: list[dict[str, Any]] = []
    for path in [*FILES, f"{info}/METADATA"]:
        data = (site / path).read_bytes()
        below = f"lib/python3.11/site-packages/{path}"
        sha256 = hashlib.sha256(data).hexdigest()
        paths.append({"_path": below, "path_type": "hardlink", "sha256": sha256, "size_in_bytes": len(data)})
    script = hashlib.sha256(b"#!/opt/env/bin/python\n").hexdigest()
    placeholder = {"sha256": "0" * 64, "sha256_in_prefix": script, "size_in_bytes": 99}
    paths.append({"_path": "bin/vllm", "path_type": "hardlink", **placeholder})
    paths.append({"_path": "lib/python3.11/site-packages/vllm/__pycache__/x.pyc", "path_type": "pyc_file"})
    conda = root / "conda-meta/vllm-0.20.0-py_0.json"
    write(conda, json.dumps({"name": "vllm", "files": [], "paths_data": {"paths": paths}}).encode())
    registry = make_registry(where / "registry")
    add_entry(registry, "a-low", make_diff({ENGINE: (BASE, LOW)}))
    return Desk(site=site, registry=registry), conda


def test_many_files_that_are_gone_may_be_gone_on_purpose(tmp_path: Path) -> None:
    more = {f"vllm/tests/test_{number:02}.py": b"" for number in range(20)}
    site = make_site(tmp_path, {"vllm/__init__.py": b"", **more})
    desk = Desk(site=site, registry=make_registry(tmp_path / "registry"))
    (site / "vllm/tests/test_00.py").unlink()
    assert desk.json("verify", "--distribution", "vllm").document["warnings"] == []
    for path in list(more)[1:]:
        (site / path).unlink()
    done = desk.json("verify", "--distribution", "vllm")
    (warning,) = done.document["warnings"]
    assert (warning["code"], warning["message"]) == ("many-missing", "20 files of vllm are gone")
    assert "patchctl verify " in warning["hint"]
    assert desk.run("verify", "--distribution", "vllm", "--baseline").code == 0
    assert desk.json("verify", "--distribution", "vllm").document["warnings"] == []
