"""What is refused before anything is written, with the reason and a remedy."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from patchctl.errors import Outcome, PatchctlError, RefusedError
from patchctl.model import FileEdit
from patchctl.transaction import missing_directories
from tests.transaction_tree import (
    add,
    delete,
    in_child,
    ledger,
    litter,
    make_tree,
    modify,
    picture,
    put,
    run,
    the_edits,
)

CHANGE_A = modify("pkg/a.py", b"A = 1\n", b"A = 2\n")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return make_tree(tmp_path)


def refused(site: Path, edits: list[FileEdit], code: str, path: str | None) -> RefusedError:
    """Run ``edits``, which must be refused as ``code`` with the tree untouched."""
    before = picture(site)
    with pytest.raises(RefusedError) as caught:
        run(site, [*edits, ledger()])
    assert (caught.value.problem.code, caught.value.problem.path) == (code, path)
    assert caught.value.outcome is Outcome.ATTENTION
    assert caught.value.problem.hint or code == "unsafe-path"
    assert picture(site) == before
    assert litter(site) == []
    assert not (site / ".patchctl/ledger.json").exists()
    assert not (site / ".patchctl/objects").exists()
    return caught.value


@pytest.mark.parametrize(
    "path",
    [
        "../outside.py",
        "/etc/passwd",
        "pkg/../../outside.py",
        "vllm-1.dist-info/RECORD",
        ".patchctl/journal.json",
        ".patchctl/lock",
        ".patchctl/objects/ab/cd",
        ".patchctl/patches/short",
        ".patchctl/patches/../ledger.json",
        ".PATCHCTL/ledger.json",
        "evil.pth",
        "pkg/a\nb.py",
    ],
)
def test_a_path_that_must_not_be_touched(site: Path, path: str) -> None:
    error = refused(site, [CHANGE_A, add(path, b"x")], "unsafe-path", path)
    assert "cannot be edited" in str(error)
    with pytest.raises(RefusedError):
        missing_directories(str(site), path)


@pytest.mark.parametrize(
    "edit",
    [
        modify("pkg/a.py", b"A = 0\n", b"A = 2\n"),
        modify("pkg/absent.py", b"A = 0\n", b"A = 2\n"),
        modify("absent/a.py", b"A = 0\n", b"A = 2\n"),
        delete("other/old.py", b"OLD = 0\n"),
        add("pkg/a.py", b"A = 2\n"),
        add("pkg/a.py", b"A = 1\n"),
    ],
    ids=["other bytes", "no file", "no directory", "other bytes to delete", "something there", "the same there"],
)
def test_a_file_that_is_not_what_the_plan_was_made_for(site: Path, edit: FileEdit) -> None:
    refused(site, [edit], "changed-meanwhile", edit.path)


def make_link(file: Path, outside: Path) -> None:
    file.unlink()
    file.symlink_to(outside / "a.py")


def make_directory(file: Path, _outside: Path) -> None:
    file.unlink()
    file.mkdir()


def make_fifo(file: Path, _outside: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def make_linked_parent(file: Path, outside: Path) -> None:
    file.parent.rename(file.parent.with_name("moved"))
    file.parent.symlink_to(outside)


def make_file_for_parent(file: Path, _outside: Path) -> None:
    file.parent.rename(file.parent.with_name("moved"))
    file.parent.write_bytes(b"")


@pytest.mark.parametrize("make", [make_link, make_directory, make_fifo, make_linked_parent, make_file_for_parent])
def test_anything_but_a_regular_file_in_real_directories(
    site: Path, tmp_path: Path, make: Callable[[Path, Path], None]
) -> None:
    outside = put(tmp_path, "outside/a.py", b"A = 1\n").parent
    make(site / "pkg/a.py", outside)
    refused(site, [CHANGE_A], "not-regular", "pkg/a.py")
    assert (outside / "a.py").read_bytes() == b"A = 1\n"


def test_an_addition_below_a_linked_directory(site: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (site / "pkg/new").symlink_to(tmp_path / "outside")
    refused(site, [add("pkg/new/deep/d.py", b"D\n")], "not-regular", "pkg/new/deep/d.py")
    with pytest.raises(RefusedError):
        missing_directories(str(site), "pkg/new/deep/d.py")
    assert list((tmp_path / "outside").iterdir()) == []


@pytest.mark.parametrize("twin", ["a.cpython-311-x86_64-linux-gnu.so", "a.abi3.so", "a.so", "a.pypy310-pp73-x86_64.so"])
def test_a_compiled_module_beside_the_source_wins_the_import(site: Path, twin: str) -> None:
    (site / "pkg" / twin).write_bytes(b"\x7fELF")
    error = refused(site, [CHANGE_A], "compiled-twin", "pkg/a.py")
    assert twin in str(error)


@pytest.mark.parametrize("name", ["ab.abi3.so", "a.txt", "a.libs.so", "_a.abi3.so"])
def test_other_neighbours_do_not(site: Path, name: str) -> None:
    (site / "pkg" / name).write_bytes(b"\x7fELF")
    run(site, [CHANGE_A, ledger()])
    assert (site / "pkg/a.py").read_bytes() == b"A = 2\n"


def test_a_compiled_module_does_not_keep_an_addition_from_being_taken_out(site: Path) -> None:
    (site / "other/old.abi3.so").write_bytes(b"\x7fELF")
    run(site, [delete("other/old.py", b"OLD = 1\n"), ledger()])
    assert not (site / "other/old.py").exists()


@pytest.fixture
def mounted(site: Path, tmp_path: Path) -> Iterator[Callable[..., None]]:
    """Mount something over a path of the site; unmounted at the end."""
    mounts: list[Path] = []

    def mount(path: Path, *arguments: str) -> None:
        try:
            subprocess.run(["mount", *arguments, path], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"cannot mount: {error}")
        mounts.append(path)

    yield mount
    for path in reversed(mounts):
        subprocess.run(["umount", path], check=True)


def test_a_file_that_is_a_mount_point_of_its_own(site: Path, tmp_path: Path, mounted: Callable[..., None]) -> None:
    source = put(tmp_path, "mounted.py", b"A = 1\n")
    mounted(site / "pkg/a.py", "--bind", str(source))
    refused(site, [modify("pkg/b.py", b"B = 1\n", b"B = 2\n"), CHANGE_A], "bind-mount", "pkg/a.py")


def test_a_mount_point_is_seen_through_a_linked_site_and_a_space(tmp_path: Path, mounted: Callable[..., None]) -> None:
    site = make_tree(tmp_path / "with space")
    source = put(tmp_path, "mounted.py", b"A = 1\n")
    mounted(site / "pkg/a.py", "--bind", str(source))
    (tmp_path / "lib64").symlink_to(site)
    refused(tmp_path / "lib64", [CHANGE_A], "bind-mount", "pkg/a.py")


def test_a_directory_of_the_site_that_is_read_only(site: Path, mounted: Callable[..., None]) -> None:
    mounted(site / "other", "--bind", str(site / "other"))
    subprocess.run(["mount", "-o", "remount,bind,ro", site / "other"], check=True)
    error = refused(site, [CHANGE_A, delete("other/old.py", b"OLD = 1\n")], "not-writable", "other/old.py")
    assert "Read-only file system" in str(error)


def test_a_site_that_is_read_only_is_not_even_locked(site: Path, mounted: Callable[..., None]) -> None:
    mounted(site, "--bind", str(site))
    subprocess.run(["mount", "-o", "remount,bind,ro", site], check=True)
    with pytest.raises(RefusedError, match="Read-only file system") as caught:
        run(site, the_edits())
    assert caught.value.problem.code == "not-writable"


def test_a_directory_on_another_file_system_is_edited_and_rolled_back_all_the_same(
    site: Path, mounted: Callable[..., None]
) -> None:
    """Hard links do not reach there, so the old file is kept as a copy beside itself."""
    mounted(site / "pkg", "-t", "tmpfs", "none")
    put(site, "pkg/a.py", b"A = 1\n", mode=0o640)
    put(site, "pkg/b.py", b"B = 1\n")
    before = picture(site)

    def fail(step: str) -> None:
        if step == "ledger":
            assert len(list((site / "pkg").glob(".patchctl-*.undo"))) == 2
            raise RuntimeError(step)

    with pytest.raises(RuntimeError):
        run(site, the_edits(), fail)
    assert picture(site) == before
    assert litter(site) == []
    run(site, the_edits())
    assert (site / "pkg/a.py").read_bytes() == b"A = 2\n"
    assert litter(site) == []


def test_too_little_space(site: Path, mounted: Callable[..., None]) -> None:
    mounted(site / "pkg", "-t", "tmpfs", "-o", "size=1m", "none")
    put(site, "pkg/a.py", b"A = 1\n")
    error = refused(site, [CHANGE_A], "no-space", None)
    assert "are needed" in str(error)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make another user's files")
class TestOtherOwners:
    def test_a_file_of_another_user_would_change_hands(self, site: Path) -> None:
        for path in (site, *site.rglob("*")):
            os.chown(path, 65534, 65534)
        os.chown(site / "pkg/b.py", 1234, 65534)
        (site / "pkg/b.py").chmod(0o644)
        assert as_nobody(site, the_edits()) == ("foreign-owner", "pkg/b.py")

    def test_a_directory_of_another_user(self, site: Path) -> None:
        for path in (site, *site.rglob("*")):
            os.chown(path, 65534, 65534)
        os.chown(site / "other", 0, 0)
        assert as_nobody(site, the_edits()) == ("not-writable", "other/c.py")


def as_nobody(site: Path, edits: list[FileEdit]) -> tuple[str, str | None]:
    """Run ``edits`` as user 65534 and return the code and path of the refusal."""
    inside = os.open(site, os.O_RDONLY)
    reading, writing = os.pipe()

    def attempt() -> None:
        os.fchdir(inside)
        os.setgid(65534)
        os.setuid(65534)
        try:
            run(Path(), edits)
        except PatchctlError as error:
            os.write(writing, f"{error.problem.code} {error.problem.path}".encode())

    assert in_child(attempt) == 0
    os.close(inside)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        code, path = stream.read().decode().split(" ")
    assert litter(site) == []
    return code, path
