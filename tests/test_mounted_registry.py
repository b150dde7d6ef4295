"""A registry in a volume of Kubernetes: its links are refused as all others are, and the hint works as it is printed.

Four ways to mount one: the whole of it with ``items[].path``, a volume for each entry, one for each distribution, and
``subPath``, which has no links. The layout is what kubelet's AtomicWriter leaves.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk
from tests.sites import make_site, tree_state

pytestmark = [pytest.mark.attack("registry-hijack")]

ENGINE = "vllm/engine.py"
OLD, NEW = b"a = 1\nb = 2\nc = 3\n", b"a = 1\nb = 3\nc = 3\n"


def mount(plain: Path, revision: str = "..2024_01_01_00_00_00.123456789") -> None:
    """Make a directory what a volume with its content is: links in its top, files in a directory of one revision."""
    names = sorted(it.name for it in plain.iterdir() if not it.name.startswith(".."))
    (plain / revision).mkdir()
    for name in names:
        (plain / name).rename(plain / revision / name)
        (plain / name).symlink_to(f"..data/{name}")
    (plain / "..data").symlink_to(revision)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    registry = make_registry(tmp_path / "a registry")  # of a name that a shell has to be quoted for
    add_entry(registry, "guard", make_diff({ENGINE: (OLD, NEW)}))
    return Desk(site=make_site(tmp_path, {ENGINE: OLD}), registry=registry)


def registry_of(desk: Desk) -> Path:
    assert desk.registry is not None
    return desk.registry


def as_printed(hint: str) -> Path:
    """Do what the hint says, and return what it says to name."""
    copied = re.search(r": (cp .*)$", hint)
    if copied is None:
        option, path = shlex.split(hint.rpartition(": ")[2])
        assert option == "--registry"
        return Path(path)
    subprocess.run(copied[1], shell=True, check=True)
    named = re.search(r"; name (.*) instead", hint)
    assert named is not None
    assert shlex.split(copied[1])[-1] == shlex.split(named[1])[0]
    return Path(shlex.split(named[1])[0])


@pytest.mark.parametrize("mounted", [".", "vllm/guard", "vllm"])
@pytest.mark.parametrize("verb", ["list", "apply", "lint"])
def test_its_links_are_refused_and_the_hint_works_as_it_is_printed(desk: Desk, mounted: str, verb: str) -> None:
    registry = registry_of(desk)
    mount(registry / mounted)
    before = tree_state(registry)
    document = desk.json(verb).document
    error = (document.get("lint", {}).get("findings") or document["errors"])[0]
    assert "symbolic link" in error["message"]
    assert desk.run("list").err.count("hint: ") == 1
    assert (desk.site / ENGINE).read_bytes() == OLD
    named = Desk(site=desk.site, registry=as_printed(error["hint"]))
    assert [entry["id"] for entry in named.json("list").document["entries"]] == ["guard"]
    assert named.run("lint").code == 0
    assert named.run("apply").code == 0
    assert (desk.site / ENGINE).read_bytes() == NEW
    assert tree_state(registry) == before


def test_a_volume_at_the_top_with_others_in_it_is_copied_with_them(desk: Desk) -> None:
    registry = registry_of(desk)
    inside = registry / "vllm"
    aside = inside.rename(registry.parent / "aside")
    mount(registry)
    aside.rename(inside)
    mount(inside / "guard")
    (error,) = desk.json("list").document["errors"]
    named = Desk(site=desk.site, registry=as_printed(error["hint"]))
    assert [entry["id"] for entry in named.json("list").document["entries"]] == ["guard"]


def test_an_update_of_the_volume_is_the_same_registry(desk: Desk) -> None:
    registry = registry_of(desk)
    mount(registry)
    named = Desk(site=desk.site, registry=registry / "..data")
    assert named.run("apply").code == 0
    newer = make_registry(registry / "..2024_02_02_00_00_00.1")
    add_entry(newer, "guard", make_diff({ENGINE: (OLD, NEW.replace(b"3", b"4"))}), revision=2)
    (registry / "..data_tmp").symlink_to(newer.name)
    (registry / "..data_tmp").rename(registry / "..data")
    assert named.run("apply").code == 0
    assert (desk.site / ENGINE).read_bytes() == NEW.replace(b"3", b"4")
    assert named.run("check").code == 0


@pytest.mark.parametrize("name", ["registry.toml", "vllm", "vllm/guard", "vllm/guard/patch.toml"])
def test_other_links_have_no_such_hint(desk: Desk, name: str) -> None:
    registry = registry_of(desk)
    real = (registry / name).rename(registry.parent / "real")
    (registry / name).symlink_to(real)
    (registry / "..data").symlink_to("elsewhere")
    (error,) = desk.json("list").document["errors"]
    assert "symbolic link" in error["message"]
    assert "Kubernetes" not in str(error)


def test_a_file_of_its_own_mount_is_read(desk: Desk) -> None:
    """``subPath`` binds the file itself: nothing is a link, and nothing is refused."""
    assert desk.json("list").document["errors"] == []
