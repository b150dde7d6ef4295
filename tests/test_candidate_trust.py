"""``retire --for`` as root: what a candidate proves takes patches out, so it is not another user's to write."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, Done
from tests.sites import install, make_site
from tests.small_wheels import make_wheel
from tests.strangers import likeness
from tests.transaction_tree import do_not_wait_for_the_disk
from tests.users import NOBODY, as_service_user, open_the_way

pytestmark = [
    pytest.mark.attack("strange-site"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can be led to do what another user may not"),
]

ENGINE = "vllm/engine.py"
BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 31))
PATCHED = BASE.replace(b"line_5 = 1\n", b"line_5 = 5\n")


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    do_not_wait_for_the_disk(monkeypatch)
    site = make_site(tmp_path / "around", {"vllm/__init__.py": b"", ENGINE: BASE}, build="0.25.1")
    registry = make_registry(tmp_path / "around/registry")
    add_entry(registry, "a-low", make_diff({ENGINE: (BASE, PATCHED)}))
    desk = Desk(site=site, registry=registry)
    assert desk.run("apply").code == 0
    return desk


def wheel(where: Path) -> Path:
    return make_wheel(where, [("vllm/__init__.py", b""), (ENGINE, PATCHED)], build="0.26.0")


def extracted(where: Path) -> Path:
    install(where / "extracted", {"vllm/__init__.py": b"", ENGINE: PATCHED}, build="0.26.0")
    return where / "extracted"


def environment(where: Path) -> Path:
    lib = where / f"env/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    install(lib, {"vllm/__init__.py": b"", ENGINE: PATCHED}, build="0.26.0")
    (where / "env/pyvenv.cfg").write_text("home = /usr/bin\n")
    return where / "env"


def his_file(path: Path) -> None:
    inside = [path] if path.is_file() else [it for it in path.rglob("*") if it.name == "__init__.py"]
    os.chown(inside[0], NOBODY, NOBODY)


def open_file(path: Path) -> None:
    path = path if path.is_file() else next(path.rglob("engine.py"))
    path.chmod(0o666)


def hint_of(done: Done) -> str:
    return done.err.partition("\n\nhint: ")[2].strip()


@pytest.mark.parametrize("spoil", [his_file, open_file])
@pytest.mark.parametrize("make", [wheel, extracted, environment])
def test_root_takes_nothing_out_on_the_word_of_another_user(
    desk: Desk, make: Callable[[Path], Path], spoil: Callable[[Path], None]
) -> None:
    around = desk.site.parent
    candidate = make(around)
    spoil(candidate)
    before = likeness(around)
    for dry in ([], ["--dry-run"]):
        done = desk.json("retire", "--for", str(candidate), *dry)
        assert (done.code, done.document["errors"][0]["code"]) == (3, "untrusted-candidate")
        assert likeness(around) == before
    assert desk.run("preflight", str(candidate)).code in {0, 1}  # which acts on nothing
    told = hint_of(desk.run("retire", "--for", str(candidate)))
    subprocess.run(["sh", "-c", told], check=True)
    assert desk.run("retire", "--for", str(candidate)).code == 0


def test_who_called_root_with_sudo_may_have_his_own_and_others_are_held_by_the_kernel(desk: Desk) -> None:
    candidate = wheel(desk.site.parent)
    his_file(candidate)
    open_the_way(candidate)
    words = ["retire", "--for", str(candidate), "--dry-run", "--site", str(desk.site), "--registry", str(desk.registry)]
    assert as_service_user(*words).code != 3
    assert desk.run("retire", "--for", str(candidate), env={"SUDO_UID": str(NOBODY)}).code == 0


def test_what_is_restored_is_bound_by_its_hash_whoever_could_write_the_wheel(desk: Desk) -> None:
    candidate = make_wheel(desk.site.parent, [("vllm/__init__.py", b""), (ENGINE, BASE)], build="0.25.1")
    his_file(candidate)
    candidate.chmod(0o666)
    (desk.site / ENGINE).unlink()
    assert desk.run("restore", ENGINE, "--from", str(candidate)).code == 0
    assert (desk.site / ENGINE).read_bytes() == PATCHED  # what is applied goes in again over it
    (desk.site.parent / "forged").mkdir()
    forged = make_wheel(
        desk.site.parent / "forged", [("vllm/__init__.py", b""), (ENGINE, b"evil = 1\n")], build="0.25.1"
    )
    (desk.site / ENGINE).unlink()
    assert desk.run("restore", ENGINE, "--from", str(forged)).code == 1
    assert not (desk.site / ENGINE).exists()
