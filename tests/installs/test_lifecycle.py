"""What installers and people do between two commands: copies, reinstalls, upgrades; and that revert leaves no trace."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.environments import install_wheel, make_environment
from tests.installs.making import BASE, FILES, NEW, PATCHED, PATH, Uv, desk_on, make_wheel
from tests.running import Desk, tree
from tests.sites import Content, make_site
from tests.test_traps import default_acl

ADDED = "small/new/fresh.py"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return desk_on(make_site(tmp_path, FILES, name="small", build="1.0"), tmp_path)


def facts(desk: Desk) -> tuple[str, str]:
    found = desk.json("status").patch("fix")
    return found["verdict"], found["action"]


def test_c04_state_beside_pristine_files_is_lost_and_not_applied(desk: Desk, tmp_path: Path) -> None:
    """As conda-pack leaves it: files from the package store, our state from the environment."""
    packed = tmp_path / "packed"
    shutil.copytree(desk.site, packed)
    assert desk.run("apply").code == 0
    shutil.copytree(desk.site / ".patchctl", packed / ".patchctl")
    unpacked = Desk(site=packed, registry=desk.registry)
    assert facts(unpacked) == ("lost", "apply")
    assert unpacked.run("check").code == 1
    assert unpacked.run("apply").code == 0
    assert (packed / PATH).read_bytes() == PATCHED


@pytest.mark.slow
@pytest.mark.parametrize("installer", ["pip", "uv-hardlink", "uv-symlink"])
def test_c14_after_a_forced_reinstall_it_is_lost_and_apply_works_again(tmp_path: Path, installer: str) -> None:
    wheel = make_wheel(tmp_path)
    name, _, mode = installer.partition("-")
    uv = Uv(tmp_path / "uv") if name == "uv" else None
    site = uv.environment("env", wheel, mode) if uv is not None else make_environment(tmp_path / "env", wheel)
    desk = desk_on(site, tmp_path)
    before = tree(site)
    assert desk.run("apply").code == 0
    if uv is not None:
        uv.install(site.parents[2], wheel, mode, "--reinstall")
    else:
        install_wheel(site.parents[2], wheel, reinstall=True)
    assert (site / PATH).read_bytes() == BASE
    assert facts(desk) == ("lost", "apply")
    assert desk.run("apply").code == 0
    assert desk.run("check").code == 0
    assert desk.run("revert", "--all").code == 0
    assert content(site) == {path: it[4] for path, it in before.items()}


def content(site: Path) -> dict[str, object]:
    return {path: it[4] for path, it in tree(site).items()}


@pytest.mark.slow
def test_c15_an_upgrade_that_ships_the_added_file_keeps_it_on_revert(tmp_path: Path) -> None:
    site = make_environment(tmp_path / "env", make_wheel(tmp_path))
    desk = desk_on(site, tmp_path)
    assert desk.run("apply").code == 0
    upgraded = make_wheel(tmp_path, FILES | {ADDED: NEW, PATH: BASE + b"# 1.1\n"}, version="1.1")
    install_wheel(tmp_path / "env", upgraded)
    assert (site / ADDED).read_bytes() == NEW
    assert desk.run("revert", "--all").code == 0
    assert (site / ADDED).read_bytes() == NEW
    assert (site / PATH).read_bytes() == BASE + b"# 1.1\n"
    assert '"fix"' not in (site / ".patchctl/ledger.json").read_text()


# --- apply and revert leave no trace


def every_kind(where: Path) -> Desk:
    """Make a site of odd files: modes, times with nanoseconds, before 1970 and far ahead."""
    files: dict[str, bytes | Content] = {
        "small/__init__.py": b"",
        PATH: Content(data=BASE, mode=0o640, mtime=1_600_000_000.25),
        "small/old.py": Content(data=FILES["small/old.py"], mode=0o700, mtime=-86_400.5),
    }
    return desk_on(make_site(where, files, name="small", build="1.0"), where)


def both_ways(desk: Desk) -> None:
    """Apply and revert; everything must be as before, extended attributes included."""
    before, attributes = tree(desk.site), xattrs(desk.site)
    assert desk.run("apply").code == 0
    assert (desk.site / PATH).read_bytes() == PATCHED
    assert not (desk.site / "small/old.py").exists()
    assert desk.run("revert", "--all").code == 0
    assert tree(desk.site) == before
    assert xattrs(desk.site) == attributes


def xattrs(site: Path) -> dict[str, dict[str, bytes]]:
    files = [path for path in site.rglob("*") if path.is_file() and ".patchctl" not in path.parts]
    return {str(path): {key: os.getxattr(path, key) for key in os.listxattr(path)} for path in files}


def test_c17_bytes_mode_and_time_are_as_before(tmp_path: Path) -> None:
    both_ways(every_kind(tmp_path))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give files away")
def test_c17_owner_and_group_are_as_before_also_of_a_file_that_was_deleted(tmp_path: Path) -> None:
    desk = every_kind(tmp_path)
    # The site is root's, the package a service's: what comes back belongs to whom its directory does.
    for path in (desk.site / "small", *(desk.site / "small").rglob("*")):
        os.chown(path, 12345, 54321)
    both_ways(desk)


def test_c17_extended_attributes_are_as_before_also_of_a_file_that_was_deleted(tmp_path: Path) -> None:
    desk = every_kind(tmp_path)
    for path in (PATH, "small/old.py"):
        try:
            os.setxattr(desk.site / path, "user.note", b"\0kept\xff")
        except OSError as error:
            pytest.skip(f"this file system has no user attributes: {error.strerror}")
    both_ways(desk)


def test_c17_an_access_list_is_as_before_also_of_a_file_that_was_deleted(tmp_path: Path) -> None:
    desk = every_kind(tmp_path)
    default_acl(desk.site / "small")
    (desk.site / "small/made.py").write_bytes(b"")
    own = os.getxattr(desk.site / "small/made.py", "system.posix_acl_access")
    for path in (PATH, "small/old.py"):
        os.setxattr(desk.site / path, "system.posix_acl_access", own)
    both_ways(desk)


@pytest.mark.parametrize("second", [-1, -(1 << 31), 1 << 31, 1 << 32, 9_224_318_016, 15_000_000_000])
def test_times_before_1970_and_beyond_2262_are_no_trouble(tmp_path: Path, second: int) -> None:
    desk = every_kind(tmp_path)
    for path in (PATH, "small/old.py"):
        os.utime(desk.site / path, ns=(second * 10**9 + 5, second * 10**9 + 5))
        if (desk.site / path).stat().st_mtime_ns != second * 10**9 + 5:
            pytest.skip("this file system has no such times")
    both_ways(desk)
    assert desk.run("apply").code == 0
    fresh = (desk.site / PATH).stat().st_mtime_ns
    assert fresh % 10**9 == 0
    assert (fresh // 10**9) & 0xFFFFFFFF != second & 0xFFFFFFFF
    assert fresh < 4_000_000_000 * 10**9, "a file from the far future does not take the clock along"


@pytest.mark.parametrize("ahead", [0, 1 << 32])
def test_new_content_never_has_the_second_of_the_old_as_byte_code_counts_it(tmp_path: Path, ahead: int) -> None:
    """Byte code keeps 32 bits of the time; the clock says just the second that the file has."""
    desk = every_kind(tmp_path)
    second = 1_600_000_000 + ahead
    os.utime(desk.site / PATH, (second, second))
    if (desk.site / PATH).stat().st_mtime != second:
        pytest.skip("this file system has no such times")
    assert desk.run("apply", env={"SOURCE_DATE_EPOCH": "1600000000"}).code == 0
    assert (desk.site / PATH).stat().st_mtime == 1_600_000_001


def test_an_added_file_never_replaces_one_that_came_meanwhile(tmp_path: Path) -> None:
    from patchctl.errors import RefusedError
    from tests.transaction_tree import add, ledger, litter, make_tree, modify, picture, run

    site = make_tree(tmp_path)
    before = picture(site)

    def meanwhile(name: str, args: tuple[object, ...]) -> None:
        # At the call itself: after every look that the transaction takes.
        if name == "os.link" and str(args[1]) == "d.py" and not (site / "pkg/d.py").exists():
            (site / "pkg/d.py").write_bytes(b"theirs\n")

    import sys

    from tests.transaction_tree import in_child

    def attempt() -> None:
        sys.addaudithook(meanwhile)
        try:
            run(site, [modify("pkg/a.py", b"A = 1\n", b"A = 2\n"), add("pkg/d.py", b"D\n"), ledger()])
        except RefusedError as error:
            os._exit(7 if error.problem.code == "changed-meanwhile" else 8)

    assert in_child(attempt) == 7
    assert (site / "pkg/d.py").read_bytes() == b"theirs\n"
    (site / "pkg/d.py").unlink()
    assert picture(site) == before
    assert litter(site) == []
