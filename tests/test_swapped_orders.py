"""Root's orders are swapped after they were looked at: what counts is what was read, not what the path led to once."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from patchctl.commands import Place
from patchctl.commands.locked import open_gate
from patchctl.commands.trusted import refuse_lock_file
from patchctl.errors import UntrustedError
from tests.registries import add_entry, make_diff, make_registry
from tests.running import patchctl
from tests.sites import make_site, tree_state
from tests.strangers import watched
from tests.users import NOBODY

pytestmark = [
    pytest.mark.attack("strange-site"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can be led to do what another user may not"),
]

ENGINE = "vllm/engine.py"
OLD = b"a = 1\nb = 2\nc = 3\n"
SAFE, EVIL = OLD.replace(b"2", b"20"), OLD.replace(b"2", b"666")
DEADLINE = 60


def give(path: Path) -> None:
    for each in (path, *path.rglob("*")):
        os.chown(each, NOBODY, NOBODY, follow_symlinks=False)


@pytest.mark.parametrize("registry_is", ["owned", "writable"])
def test_a_registry_that_is_swapped_while_root_waits_for_the_lock_is_not_read(tmp_path: Path, registry_is: str) -> None:
    site = make_site(tmp_path, {"vllm/__init__.py": b"", ENGINE: OLD})
    home = tmp_path / "home"
    registry, evil = make_registry(home / "registry"), make_registry(home / "evil")
    add_entry(registry, "guard", make_diff({ENGINE: (OLD, SAFE)}))
    entry = add_entry(evil, "guard", make_diff({ENGINE: (OLD, EVIL)}))
    os.chown(home, NOBODY, NOBODY)
    if registry_is == "owned":
        give(evil)
    else:
        (entry / "patch.toml").chmod(0o666)
    (site / ".patchctl").mkdir(mode=0o700)
    lock = site / ".patchctl/lock"
    with lock.open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        before = tree_state(site / "vllm")
        command = [sys.executable, "-m", "patchctl", "apply", "--site", str(site), "--registry", str(registry)]
        command += ["--wait", "50"]
        with (
            watched(lock.parent) as seen,
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child,
        ):
            wait_for_opening(child, seen)
            registry.rename(home / "old")
            evil.rename(registry)
            fcntl.flock(held, fcntl.LOCK_UN)
            child.communicate(timeout=DEADLINE)
    assert child.returncode == 3
    assert tree_state(site / "vllm") == before


def wait_for_opening(child: subprocess.Popen[bytes], seen: Callable[[], list[str]]) -> None:
    """Until somebody opened the lock: what is to be done was decided then, and it waits for its turn."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end and child.poll() is None:
        if any("/lock " in event for event in seen()):
            return
        time.sleep(0.01)
    child.kill()
    pytest.fail("it never opened the lock")


def test_a_lock_file_that_is_swapped_after_it_was_read_is_judged_as_it_was_read(tmp_path: Path) -> None:
    site = make_site(tmp_path, {"vllm/__init__.py": b"", ENGINE: OLD})
    registry = make_registry(tmp_path / "registry")
    add_entry(registry, "guard", make_diff({ENGINE: (OLD, SAFE)}))
    home = tmp_path / "home"
    home.mkdir()
    lock, fine = home / "patchctl.lock", home / "fine"
    where = ["--site", str(site), "--registry", str(registry)]
    assert patchctl("lock", *where, "--output", str(lock)).code == 0
    fine.write_bytes(lock.read_bytes())
    os.chown(lock, NOBODY, NOBODY)
    place = Place(site=str(site), registries=(str(registry),), cwd=str(tmp_path))
    gate = open_gate(place, str(lock))
    fine.rename(lock)
    with pytest.raises(UntrustedError, match="belongs to nobody"):
        refuse_lock_file(place, str(lock), gate.doubt)
    refuse_lock_file(place, str(lock), open_gate(place, str(lock)).doubt)
