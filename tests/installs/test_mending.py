"""Adopt, restore and kept edits where links stood, where a source tree is, and in a base that is shared."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.installs.making import BASE, FILES, PATCHED, PATH, desk_on, make_entries, make_wheel
from tests.running import Desk, Done, patchctl, tree
from tests.sites import install, make_site, make_venv_layout

MINE = b"mine = 1\n"


@pytest.fixture
def linked(tmp_path: Path) -> tuple[Desk, Path]:
    """A site whose files are links into a cache, as uv's symlink mode leaves them, with everything applied."""
    site = make_site(tmp_path, FILES, name="small", build="1.0", installer="uv")
    cache = tmp_path / "cache"
    for path in FILES:
        kept = cache / path
        kept.parent.mkdir(parents=True, exist_ok=True)
        (site / path).rename(kept)
        (site / path).symlink_to(kept)
    desk = desk_on(site, tmp_path)
    assert desk.run("apply").code == 0
    return desk, cache


def test_c02_a_restored_file_is_patched_again_and_revert_still_knows_the_link(
    linked: tuple[Desk, Path], tmp_path: Path
) -> None:
    desk, cache = linked
    before = tree(cache)
    (desk.site / PATH).write_bytes(MINE)
    assert desk.run("restore", PATH, "--from", str(make_wheel(tmp_path))).code == 0
    assert (desk.site / PATH).read_bytes() == PATCHED
    assert not (desk.site / PATH).is_symlink()
    assert desk.run("revert", "--all").code == 0
    assert (desk.site / PATH).readlink() == cache / PATH
    assert tree(cache) == before
    assert desk.run("verify").code == 0


def test_c02_a_kept_edit_is_a_file_of_its_own(linked: tuple[Desk, Path]) -> None:
    desk, cache = linked
    before = tree(cache)
    (desk.site / PATH).write_bytes(MINE + PATCHED)
    assert desk.run("revert", "--all", "--keep-edits").code == 0
    assert not (desk.site / PATH).is_symlink()
    assert (desk.site / PATH).read_bytes() == MINE + BASE
    assert (desk.site / "small/old.py").is_symlink()
    assert tree(cache) == before


def test_c02_what_was_adopted_comes_back_as_pristine_files(linked: tuple[Desk, Path]) -> None:
    """Where the ledger is lost nobody knows any more that a link stood there."""
    desk, cache = linked
    before = tree(cache)
    shutil.rmtree(desk.site / ".patchctl")
    patched = tree(desk.site)
    assert desk.run("adopt").code == 0
    assert tree(desk.site) == patched
    assert desk.run("revert", "--all").code == 0
    assert (desk.site / PATH).read_bytes() == BASE
    assert desk.run("verify").code == 0
    assert tree(cache) == before


def test_c07_restore_sends_the_owner_of_a_source_tree_to_its_own_history(tmp_path: Path) -> None:
    source = tmp_path / "source"
    for path, data in FILES.items():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_bytes(data)
    site = make_site(tmp_path, {"__editable__.small-1.0.pth": f"{source}\n".encode()}, name="small", build="1.0")
    desk = desk_on(site, tmp_path)
    before = tree(source)
    done = desk.json("restore", PATH, "--from", str(make_wheel(tmp_path)))
    (problem,) = done.document["errors"]
    assert (done.code, problem["code"]) == (1, "editable-install")
    assert "git -C" in problem["hint"]
    assert tree(source) == before


# --- a base that is shared


def shared(where: Path, *arguments: str) -> Done:
    env = {"VIRTUAL_ENV": str(where / "env")}
    return patchctl(*arguments, "--registry", str(where / "registry-small"), env=env)


@pytest.mark.parametrize("verb", ["adopt", "restore", "verify --baseline"])
def test_c08_mending_in_a_shared_base_needs_the_flag_too(tmp_path: Path, verb: str) -> None:
    make_venv_layout(tmp_path / "env", cfg={"include-system-site-packages": "true"})
    site = tmp_path / "env.base/lib/python3.11/site-packages"
    install(site, FILES, name="small", build="1.0")
    make_entries(tmp_path)
    arguments = verb.split()
    if verb == "adopt":
        assert shared(tmp_path, "apply", "--allow-base").code == 0
        shutil.rmtree(site / ".patchctl")
    elif verb == "restore":
        (site / PATH).write_bytes(MINE)
        arguments += [PATH, "--from", str(make_wheel(tmp_path))]
    else:
        (site / "small/old.py").unlink()
    before = tree(site, but=())
    done = shared(tmp_path, *arguments)
    assert (done.code, "--allow-base" in done.err) == (1, True), done.err
    assert tree(site, but=()) == before
    assert shared(tmp_path, *arguments, "--allow-base").code == 0
    assert (site / ".patchctl/ledger.json").exists()
