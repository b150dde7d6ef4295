"""Caches are emptied as their owner, through no link, and nothing else goes; a failure is a warning."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from patchctl.caches import NAMES, CacheOwner, Purge, cache_owner, purge_caches
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk
from tests.sites import make_site

PATH = "vllm/engine.py"
BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 21))
AFTER = BASE.replace(b"line_5 = 1\n", b"line_5 = five\n")
COMPILED, INFOS = NAMES


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    site = make_site(tmp_path, {PATH: BASE, "other/a.py": BASE}, build="0.25.1")
    registry = make_registry(tmp_path / "registry")
    add_entry(registry, "one", make_diff({PATH: (BASE, AFTER)}))
    return Desk(site=site, registry=registry)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A cache root with both caches, and what must stay."""
    found = tmp_path / "home/.cache/vllm"
    for path, data in {
        f"{COMPILED}/a/b/graph.bin": b"12345",
        f"{COMPILED}/top": b"1",
        f"{INFOS}/x.json": b"123",
        "assets/logo.png": b"logo",
    }.items():
        (found / path).parent.mkdir(parents=True, exist_ok=True)
        (found / path).write_bytes(data)
    return found


def owner_of(root: Path) -> CacheOwner:
    return CacheOwner(uid=os.geteuid(), gid=os.getegid(), name="me", root=str(root))


def env(root: Path) -> dict[str, str]:
    return {"VLLM_CACHE_ROOT": str(root)}


class TestTheVerb:
    def test_purges_after_a_change_and_lists_what_went(self, desk: Desk, root: Path) -> None:
        done = desk.json("apply", "--purge-caches", env=env(root))
        assert done.code == 0
        assert done.document["caches"] == [
            {"path": f"{root}/{COMPILED}", "state": "purged", "files": 2, "size": 6, "reason": None},
            {"path": f"{root}/{INFOS}", "state": "purged", "files": 1, "size": 3, "reason": None},
        ]
        assert [path.name for path in root.iterdir()] == ["assets"]

    def test_names_the_caches_where_it_is_not_told_to_purge(self, desk: Desk, root: Path) -> None:
        done = desk.json("apply", env=env(root))
        assert any(f"{root}/{COMPILED} and {root}/{INFOS}" in note for note in done.document["notes"])
        assert "caches" not in done.document
        assert (root / COMPILED / "top").exists()

    def test_of_a_dry_run_says_what_would_go(self, desk: Desk, root: Path) -> None:
        done = desk.json("apply", "--purge-caches", "--dry-run", env=env(root))
        assert [cache["state"] for cache in done.document["caches"]] == ["planned", "planned"]
        assert (root / COMPILED / "a/b/graph.bin").exists()

    def test_purges_nothing_where_no_file_changed(self, desk: Desk, root: Path) -> None:
        desk.run("apply", env=env(root))
        done = desk.json("apply", "--purge-caches", env=env(root))
        assert "no file changed, so no cache was purged" in done.document["notes"]
        assert (root / COMPILED / "top").exists()

    @pytest.mark.attack("purge-links")
    def test_that_cannot_purge_warns_and_stays_committed(self, desk: Desk, root: Path, tmp_path: Path) -> None:
        (root / COMPILED).rename(tmp_path / "elsewhere")
        (root / COMPILED).symlink_to(tmp_path / "elsewhere")
        done = desk.json("apply", "--purge-caches", env=env(root))
        assert done.code == 0
        assert (desk.site / PATH).read_bytes() == AFTER
        assert [warning["code"] for warning in done.document["warnings"]] == ["cache-not-purged"]
        assert (tmp_path / "elsewhere/a/b/graph.bin").exists()

    def test_refuses_a_user_without_a_purge_and_warns_of_nobody(self, desk: Desk, root: Path) -> None:
        assert desk.run("apply", "--cache-user", "root").code == 2
        done = desk.json("apply", "--purge-caches", "--cache-user", "no-such-user", env=env(root))
        assert done.code == 0
        assert [warning["code"] for warning in done.document["warnings"]] == ["cache-not-purged"]
        assert (root / COMPILED / "top").exists()


class TestWhere:
    def test_is_where_vllm_looks(self) -> None:
        def at(**environ: str) -> str:
            found = cache_owner({"HOME": "/home/me", **environ})
            assert isinstance(found, CacheOwner)
            return found.root

        assert at() == "/home/me/.cache/vllm"
        assert at(XDG_CACHE_HOME="/x") == "/x/vllm"
        assert at(XDG_CACHE_HOME="/x", VLLM_CACHE_ROOT="/y") == "/y"
        assert at(VLLM_CACHE_ROOT="~/z") == "/home/me/z"
        assert isinstance(cache_owner({"VLLM_CACHE_ROOT": "relative"}), str)

    def test_of_another_user_is_the_default_whatever_ones_own_variables_say(self) -> None:
        found = cache_owner({"VLLM_CACHE_ROOT": "/mine", "XDG_CACHE_HOME": "/mine"}, "nobody")
        assert isinstance(found, CacheOwner)
        assert found.root.endswith("/.cache/vllm")
        assert not found.root.startswith("/mine")
        assert isinstance(cache_owner({}, "no-such-user"), str)


class TestSafety:
    @pytest.mark.attack("purge-links")
    def test_links_inside_are_removed_and_not_followed(self, root: Path, tmp_path: Path) -> None:
        outside = tmp_path / "outside"
        (outside / "deep").mkdir(parents=True)
        (outside / "file").write_bytes(b"x")
        (root / COMPILED / "dir").symlink_to(outside)
        (root / COMPILED / "file").symlink_to(outside / "file")
        (root / COMPILED / "dangling").symlink_to(outside / "nothing")
        found = purge_caches(owner_of(root))
        assert [it.state for it in found] == ["purged", "purged"]
        assert (outside / "file").exists()
        assert (outside / "deep").exists()

    @pytest.mark.attack("purge-links")
    def test_a_linked_root_is_refused(self, root: Path, tmp_path: Path) -> None:
        link = tmp_path / "link"
        link.symlink_to(root)
        assert {it.state for it in purge_caches(owner_of(link))} == {"refused"}
        assert (root / COMPILED / "top").exists()

    def test_what_is_not_there_is_absent(self, tmp_path: Path) -> None:
        assert {it.state for it in purge_caches(owner_of(tmp_path / "none"))} == {"absent"}

    @pytest.mark.attack("purge-links")
    def test_special_files_go_and_what_lies_too_deep_stays(self, root: Path) -> None:
        os.mkfifo(root / INFOS / "fifo")
        deep = root / COMPILED / "/".join("d" * 70)
        deep.mkdir(parents=True)
        (deep / "file").write_bytes(b"x")
        compiled, infos = purge_caches(owner_of(root))
        assert infos == Purge(path=f"{root}/{INFOS}", state="purged", files=2, size=3)
        assert compiled.state == "partial"
        assert "too deep" in (compiled.reason or "")
        assert deep.exists()

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
    @pytest.mark.attack("purge-links")
    def test_root_does_not_purge_what_belongs_to_somebody_else(self, root: Path) -> None:
        os.chown(root / COMPILED, 65534, 65534)
        compiled, infos = purge_caches(owner_of(root))
        assert (compiled.state, infos.state) == ("refused", "purged")
        assert (root / COMPILED / "top").exists()

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as somebody else")
    @pytest.mark.attack("purge-links")
    def test_root_purges_another_users_caches_with_that_users_rights_alone(self, root: Path, tmp_path: Path) -> None:
        for path in (tmp_path, *tmp_path.parents):
            if path.stat().st_mode & 0o077 == 0 and path != Path.home():
                path.chmod(0o755)
        for path in (root, *root.rglob("*")):
            os.chown(path, 65534, 65534)
        (root / COMPILED / "a").chmod(0o755)
        os.chown(root / COMPILED / "a", 0, 0)  # what is in it is not for the user to remove
        compiled, infos = purge_caches(CacheOwner(uid=65534, gid=65534, name="nobody", root=str(root)))
        assert (os.geteuid(), os.getegid()) == (0, 0)
        assert infos.state == "purged"
        assert compiled.state == "partial"
        assert (root / COMPILED / "a/b").exists()
        assert not (root / COMPILED / "top").exists()

    @pytest.mark.skipif(os.geteuid() != 0, reason="making a mount needs root")
    @pytest.mark.attack("purge-links")
    def test_a_mount_below_a_cache_is_left_alone(self, root: Path, tmp_path: Path) -> None:
        import subprocess

        inside = root / COMPILED / "mounted"
        inside.mkdir()
        (tmp_path / "kept").mkdir()
        (tmp_path / "kept/file").write_bytes(b"x")
        done = subprocess.run(
            ["mount", "--bind", str(tmp_path / "kept"), str(inside)], capture_output=True, check=False
        )
        if done.returncode != 0:
            pytest.skip(f"no bind mount here: {done.stderr!r}")
        try:
            compiled, _ = purge_caches(owner_of(root))
        finally:
            subprocess.run(["umount", str(inside)], check=True)
        assert compiled.state == "partial"
        assert (tmp_path / "kept/file").exists()
