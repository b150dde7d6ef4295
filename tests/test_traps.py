"""Traps of real file systems and environments that a review found, each as it would be met."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk
from tests.sites import Content, make_site

F1 = "vllm/f1.py"
BASE = b"".join(b"line_%d = 0\n" % number for number in range(40))
PATCHED = BASE.replace(b"line_5 = 0\n", b"line_5 = 5\n")
ACL = "system.posix_acl_access"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    site = make_site(tmp_path, {F1: Content(data=BASE, mode=0o664), "vllm/__init__.py": b""})
    registry = make_registry(tmp_path / "registry")
    add_entry(registry, "a", make_diff({F1: (BASE, PATCHED)}))
    return Desk(site=site, registry=registry)


def default_acl(directory: Path) -> None:
    """Give a directory a default access list that lets uid 1000 write what is made in it."""

    def entry(tag: int, permissions: int, who: int = 0xFFFFFFFF) -> bytes:
        return tag.to_bytes(2, "little") + permissions.to_bytes(2, "little") + who.to_bytes(4, "little")

    rows = entry(1, 7) + entry(2, 7, 1000) + entry(4, 5) + entry(16, 7) + entry(32, 5)
    try:
        os.setxattr(directory, "system.posix_acl_default", (2).to_bytes(4, "little") + rows)
    except OSError as error:
        pytest.skip(f"this file system has no access lists: {error.strerror}")


def test_a_patched_file_gets_no_access_list_from_its_directory(desk: Desk) -> None:
    default_acl(desk.site / "vllm")
    for verb in (["apply"], ["revert", "--all"]):
        assert desk.run(*verb).code == 0
        assert ACL not in os.listxattr(desk.site / F1), verb


def test_an_access_list_of_its_own_is_kept(desk: Desk) -> None:
    default_acl(desk.site / "vllm")
    (desk.site / "vllm/made.py").write_bytes(b"")
    own = os.getxattr(desk.site / "vllm/made.py", ACL)
    os.setxattr(desk.site / F1, ACL, own)
    before = os.getxattr(desk.site / F1, ACL)
    for verb in (["apply"], ["revert", "--all"]):
        assert desk.run(*verb).code == 0
        assert os.getxattr(desk.site / F1, ACL) == before, verb


def test_a_carriage_return_in_a_mount_is_no_line_end(desk: Desk, tmp_path: Path) -> None:
    where = tmp_path / "mounted"
    where.mkdir()
    script = f"mount -t tmpfs \"$(printf 'x\\ry')\" {where} && {sys.executable} -m patchctl status --site {desk.site}"
    command = ["unshare", "-m", "sh", "-c", f"{script} --registry {desk.registry}"]
    try:
        probe = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("no unshare here")
    if probe.returncode != 0:
        pytest.skip("no mount namespaces here")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_signal_after_the_commit_does_not_make_it_a_failure(desk: Desk) -> None:
    script = (
        "import os, signal, sys\n"
        "committed = False\n"
        "def at(event, args):\n"
        "    global committed\n"
        "    if event == 'os.rename' and str(args[1]).endswith('ledger.json'):\n"
        "        committed = True\n"
        "    elif committed and event == 'open' and str(args[0]).endswith('f1.py'):\n"
        "        committed = False\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.addaudithook(at)\n"
        "from patchctl.cli import main\n"
        "main()\n"
    )
    arguments = ["apply", "--json", "--site", str(desk.site), "--registry", str(desk.registry)]
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert '"state": "committed"' in done.stdout
    assert (desk.site / F1).read_bytes() == PATCHED


def test_a_hangup_in_mid_transaction_rolls_back(desk: Desk) -> None:
    script = (
        "import os, signal, sys\n"
        "def at(event, args):\n"
        "    if event == 'os.rename' and str(args[1]).endswith('f1.py'):\n"
        "        os.kill(os.getpid(), signal.SIGHUP)\n"
        "sys.addaudithook(at)\n"
        "from patchctl.cli import main\n"
        "main()\n"
    )
    arguments = ["apply", "--site", str(desk.site), "--registry", str(desk.registry)]
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 128 + signal.SIGTERM
    assert "SIGHUP" in done.stderr
    assert (desk.site / F1).read_bytes() == BASE
    assert desk.run("check").code == 1


def test_state_directories_that_a_kill_left_closed_are_opened_again(desk: Desk) -> None:
    state = desk.site / ".patchctl"
    for directory in (state, state / "objects", state / "patches"):
        directory.mkdir(0o700)
    assert desk.run("apply").code == 0
    for directory in (state, state / "objects", state / "patches"):
        assert directory.stat().st_mode & 0o777 == 0o755


def test_a_neighbour_with_a_like_name_and_no_readable_metadata_is_nobodys_business(desk: Desk) -> None:
    other = desk.site / "vllm_extra-1.0.dist-info"
    other.mkdir()
    (other / "METADATA").symlink_to("/nowhere")
    assert desk.run("status").code == 0


def test_a_top_level_file_of_zeros_is_no_crash(tmp_path: Path, desk: Desk) -> None:
    site = make_site(tmp_path / "bare", {F1: BASE}, record=False)
    (info,) = site.glob("*.dist-info")
    (info / "top_level.txt").write_bytes(b"\0" * 40)
    assert Desk(site=site, registry=desk.registry).run("status").code == 0


def test_a_newer_layout_stops_readers_and_dry_runs_as_it_stops_writers(desk: Desk) -> None:
    assert desk.run("apply").code == 0
    (desk.site / ".patchctl/format").write_bytes(b"2\n")
    for verb in (["status"], ["check"], ["revert", "--all", "--dry-run"], ["revert", "--all"]):
        assert desk.run(*verb).code == 3, verb


def test_a_pipe_in_place_of_an_interpreter_does_not_hang(tmp_path: Path) -> None:
    from tests.running import patchctl

    pipe = tmp_path / "python3.11"
    os.mkfifo(pipe)
    assert patchctl("status", "--python", str(pipe)).code == 3


def test_a_relative_site_below_a_directory_that_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f"cd {gone} && rmdir {gone} && {sys.executable} -P -m patchctl status --site ./x"
    done = subprocess.run(["sh", "-c", script.replace(" -P", "")], capture_output=True, text=True, check=False)
    assert done.returncode != 70
