"""Of a large registry only what may concern the environment is read again: the answer is always the whole one's."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from patchctl.commands import Place
from patchctl.commands.glance import LEAST, gather_glance
from patchctl.commands.judging import Scene
from patchctl.commands.scene import gather
from patchctl.notes import recall, remember
from patchctl.verdict import Need
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk
from tests.sites import install, make_site, tree_state

FILES = {f"vllm/m{number}.py": b"".join(b"line_%d = 1\n" % line for line in range(1, 31)) for number in range(6)}
OLDER = b"".join(b"older_%d = 1\n" % line for line in range(1, 31))
FIX = {
    "ref": "vllm-project/vllm#1",
    "role": "fixes",
    "claimed": ">=9",
    "evidence": [{"file": "vllm/m1.py", "contains": "fixed = 1"}],
}


def changed(data: bytes) -> bytes:
    return data.replace(b"_5 = 1", b"_5 = 5")


def fitting(path: str) -> bytes:
    return make_diff({path: (FILES[path], changed(FILES[path]))})


def old(path: str) -> bytes:
    return make_diff({path: (OLDER, changed(OLDER))})


class Ground:
    """A site, a large registry of which two entries concern it, and a cache directory."""

    def __init__(self, where: Path) -> None:
        self.site = make_site(where, FILES, build="0.20.0")
        self.registry = make_registry(where / "registry")
        (self.site / "vllm/m1").mkdir()
        self.cache = where / "cache"
        self.cache.mkdir(mode=0o700)
        add_entry(self.registry, "wanted", fitting("vllm/m0.py"), variant={"versions": "==0.20.0"}, fixes=[FIX])
        add_entry(self.registry, "needed", fitting("vllm/m2.py"), variant={"versions": "==0.20.0"}, default=False)
        for number in range(LEAST):
            variant = {"versions": "<0.10"}
            path = f"vllm/m{number % 3 + 1}.py"
            add_entry(self.registry, f"old-{number}", old(path), variant=variant, fixes=[FIX])
        for number in range(5):
            add_entry(self.registry, f"else-{number}", old("acme/x.py"), distribution="acme")
        self.desk = Desk(site=self.site, registry=self.registry)
        assert self.desk.run("hold", "needed", "--reason", "so that there is a ledger").code == 0

    @property
    def place(self) -> Place:
        environ = {"XDG_CACHE_HOME": str(self.cache)}
        return Place(site=str(self.site), registries=(str(self.registry),), environ=environ, cwd="/")

    def glance(self, *, later: int = 3600) -> Scene:
        """Glance as if the command began ``later`` seconds from now, when all that was written here has settled."""
        return gather_glance(self.place, time.time_ns() + later * 1_000_000_000)


def answer(scene: Scene) -> tuple[Any, ...]:
    """All that is shown of a scene."""
    shown = [found for found in scene.in_registry_order() if found.need is not Need.NOT_CONCERNED]
    return shown, scene.errors, scene.warnings, scene.target, scene.unknown, scene.journal


def entry(ground: Ground, id_: str) -> Path:
    return ground.registry / "vllm" / id_


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def test_the_second_time_only_what_may_concern_the_environment_is_read(ground: Ground) -> None:
    whole = gather(ground.place)
    assert answer(ground.glance()) == answer(whole)
    again = ground.glance()
    assert {found.id for found in again.registry.entries} == {"wanted", "needed"}
    assert len(whole.registry.entries) == LEAST + 7
    assert answer(again) == answer(whole)


def test_what_a_link_leads_to_counts(ground: Ground, tmp_path: Path) -> None:
    path = "vllm/m0.py"
    (ground.site / path).rename(tmp_path / "kept.py")
    (ground.site / path).symlink_to(tmp_path / "kept.py")
    ground.glance()
    assert len(ground.glance().registry.entries) == 2
    (tmp_path / "kept.py").write_bytes(b"other = 1\n")
    assert answer(ground.glance()) == answer(gather(ground.place))


def test_the_source_tree_of_an_editable_install_counts(ground: Ground, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (ground.site / "vllm").rename(source / "vllm")
    for info in ground.site.glob("*.dist-info"):
        shutil.rmtree(info)
    install(ground.site, {"__editable__.vllm-0.20.0.pth": f"{source}\n".encode()}, build="0.20.0")
    assert gather(ground.place).target.grafts == {"vllm": str(source)}
    ground.glance()
    assert len(ground.glance().registry.entries) == 2
    (source / "vllm/m0.py").write_bytes(b"other = 1\n")
    assert answer(ground.glance()) == answer(gather(ground.place))


def test_what_changed_a_moment_ago_is_not_relied_on(ground: Ground) -> None:
    ground.glance(later=0)
    assert list(ground.cache.rglob("*")) in ([], [ground.cache / "patchctl"])
    assert len(ground.glance(later=0).registry.entries) == LEAST + 7


def test_a_small_registry_leaves_no_note(ground: Ground) -> None:
    for number in range(10):
        shutil.rmtree(entry(ground, f"old-{number}"))
    ground.glance()
    assert list(ground.cache.iterdir()) == []


def rewrite(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


def same_size_and_time(path: Path, before: str, after: str) -> None:
    status = path.stat()
    rewrite(path, before, after)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size


def turn_into_link(path: Path, moved: Path) -> None:
    path.rename(moved)
    path.symlink_to(moved)


def replace_by_older(site: Path) -> None:
    shutil.rmtree(site)
    make_site(site.parent, dict.fromkeys(FILES, OLDER), build="0.9")


CHANGES: dict[str, Callable[[Ground], object]] = {
    "an entry is for this build now": lambda it: rewrite(entry(it, "old-7") / "patch.toml", "<0.10", "<0.99"),
    "the same, size and time as before": lambda it: same_size_and_time(
        entry(it, "old-7") / "patch.toml", "<0.10", "<0.30"
    ),
    "an entry is broken": lambda it: rewrite(entry(it, "old-7") / "patch.toml", "revision = 1", "revision = x"),
    "a diff is another one": lambda it: (entry(it, "old-7") / "fix.diff").write_bytes(fitting("vllm/m1.py")),
    "a diff is gone": lambda it: (entry(it, "old-7") / "fix.diff").unlink(),
    "an entry is new": lambda it: add_entry(it.registry, "new", fitting("vllm/m3.py")),
    "an entry of a new folder": lambda it: add_entry(it.registry, "new", old("acme/x.py"), distribution="bcme"),
    "an entry is gone": lambda it: shutil.rmtree(entry(it, "wanted")),
    "an entry is a link": lambda it: turn_into_link(entry(it, "old-7"), it.cache / "x"),
    "an id is taken twice": lambda it: add_entry(it.registry, "old-7", old("acme/x.py"), distribution="acme"),
    "another revision": lambda it: rewrite(it.registry / "registry.toml", "revision = 1", "revision = 2"),
    "a file is what an old entry is for": lambda it: (it.site / "vllm/m1.py").write_bytes(OLDER),
    "a file has the fix": lambda it: (it.site / "vllm/m1.py").write_bytes(b"fixed = 1\n"),
    "a file carries an old entry": lambda it: (it.site / "vllm/m1.py").write_bytes(changed(OLDER)),
    "a file is gone": lambda it: (it.site / "vllm/m1.py").unlink(),
    "a directory is a link": lambda it: turn_into_link(it.site / "vllm", it.site / "v"),
    "a compiled twin": lambda it: (it.site / "vllm/m0.abi3.so").write_bytes(b""),
    "a package in a module's place": lambda it: (it.site / "vllm/m1/__init__.py").write_bytes(b""),
    "an entry is applied": lambda it: it.desk.run("apply", "wanted"),
    "an entry is held": lambda it: it.desk.run("hold", "old-7", "--reason", "why"),
    "another distribution comes in": lambda it: install(it.site, {"acme/x.py": OLDER}, name="acme", build="1.0"),
    "an older build": lambda it: replace_by_older(it.site),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_whatever_changes_is_seen_at_once(ground: Ground, change: Callable[[Ground], object]) -> None:
    before = answer(ground.glance())
    change(ground)
    whole = gather(ground.place)
    assert answer(ground.glance()) == answer(whole)
    assert answer(ground.glance()) == answer(whole)
    if change in {CHANGES[name] for name in ("an entry is for this build now", "a file is what an old entry is for")}:
        assert answer(whole) != before


def test_what_one_that_concerns_it_requires_or_replaces_is_read_with_it(ground: Ground) -> None:
    add_entry(ground.registry, "asks", fitting("vllm/m4.py"), requires=["old-1"], replaces=["old-2"])
    rewrite(entry(ground, "old-1") / "patch.toml", "revision = 1", 'revision = 1\nrequires = ["old-3"]')
    whole = gather(ground.place)
    ground.glance()
    again = ground.glance()
    assert {found.id for found in again.registry.entries} == {"wanted", "needed", "asks", "old-1", "old-2", "old-3"}
    assert answer(again) == answer(whole)


def test_a_broken_entry_is_told_every_time_and_hides_no_other(ground: Ground) -> None:
    rewrite(entry(ground, "old-7") / "patch.toml", "revision = 1", "revision = one")
    (entry(ground, "old-8") / "fix.diff").write_bytes(b"--- a\n")
    rewrite(entry(ground, "old-9") / "patch.toml", "revision = 1", 'revision = 1\nrequires = ["nobody"]')
    for _ in range(3):
        scene = ground.glance()
        assert {problem.patch for problem in scene.errors} == {"old-7", "old-8", "old-9"}
        assert scene.find("wanted") is not None


def test_what_was_taken_out_of_a_file_in_memory_leaves_no_note(ground: Ground) -> None:
    """A stranger's change may be what evidence must not see."""
    (ground.site / "vllm/m1.py").write_bytes(changed(OLDER))
    ground.glance()
    assert len(ground.glance().registry.entries) == LEAST + 7


def test_nothing_is_ever_written_in_the_site_or_the_registry(ground: Ground) -> None:
    before = tree_state(ground.site), tree_state(ground.registry)
    ground.glance()
    ground.glance()
    assert (tree_state(ground.site), tree_state(ground.registry)) == before


def test_named_entries_and_writing_commands_read_everything(ground: Ground) -> None:
    env = {"XDG_CACHE_HOME": str(ground.cache)}
    assert ground.desk.run("check", "old-3", env=env).code == 0
    assert ground.desk.run("apply", "wanted", "--dry-run", env=env).code == 0
    assert ground.desk.run("status", "--all", env=env).code == 0
    assert list(ground.cache.iterdir()) == []


KEY = "0" * 64
NOTE = {"words": ("one", "two"), "none": ()}


class TestNotes:
    def test_come_back_as_they_were(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o700)
        for environ in ({"XDG_CACHE_HOME": str(tmp_path)}, {"HOME": str(tmp_path)}):
            assert recall(environ, KEY) is None
            remember(environ, KEY, NOTE)
            assert recall(environ, KEY) == NOTE
        assert (tmp_path / ".cache" / "patchctl" / KEY).stat().st_mode & 0o777 == 0o600

    @pytest.mark.parametrize("environ", [{}, {"HOME": "home"}, {"HOME": "/nonexistent"}, {"XDG_CACHE_HOME": "cache"}])
    def test_need_a_directory(self, environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "home").mkdir()
        remember(environ, KEY, NOTE)
        assert recall(environ, KEY) is None
        assert list((tmp_path / "home").iterdir()) == []

    @pytest.mark.parametrize("path", ["", "patchctl", "patchctl/" + KEY])
    def test_of_a_directory_or_file_that_others_may_write_are_none(self, tmp_path: Path, path: str) -> None:
        tmp_path.chmod(0o700)
        environ = {"XDG_CACHE_HOME": str(tmp_path)}
        remember(environ, KEY, NOTE)
        (tmp_path / path).chmod(0o722)
        assert recall(environ, KEY) is None

    @pytest.mark.parametrize("path", ["patchctl", "patchctl/" + KEY])
    def test_are_not_looked_for_behind_links(self, tmp_path: Path, path: str) -> None:
        tmp_path.chmod(0o700)
        environ = {"XDG_CACHE_HOME": str(tmp_path)}
        remember(environ, KEY, NOTE)
        (tmp_path / path).rename(tmp_path / "elsewhere")
        (tmp_path / path).symlink_to(tmp_path / "elsewhere")
        assert recall(environ, KEY) is None

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
    def test_of_root_are_not_kept_in_the_home_of_who_called_sudo(self, tmp_path: Path) -> None:
        os.chown(tmp_path, 12345, 12345)
        remember({"HOME": str(tmp_path)}, KEY, NOTE)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"a": "b"}', b'{"a": [1]}', b"\xff", b"[" * 100000])
    def test_that_are_damaged_are_none(self, tmp_path: Path, data: bytes) -> None:
        tmp_path.chmod(0o700)
        environ = {"XDG_CACHE_HOME": str(tmp_path)}
        remember(environ, KEY, NOTE)
        (tmp_path / "patchctl" / KEY).write_bytes(data)
        assert recall(environ, KEY) is None


def test_a_note_that_is_nonsense_is_no_note(ground: Ground) -> None:
    ground.glance()
    (note,) = (ground.cache / "patchctl").iterdir()
    note.write_text('{"digest": [], "aside": ["wanted"], "distributions": [], "paths": ["../../x", ""]}')
    assert answer(ground.glance()) == answer(gather(ground.place))
