"""What a site or an environment names leads root, who reads it, to what its owner may not read himself."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from patchctl.disk import open_named, read_named
from patchctl.errors import TargetError
from patchctl.model.target import Target
from patchctl.target import conda
from patchctl.target.distributions import read_distribution
from patchctl.target.finding import find_target
from patchctl.target.holdings import find_holdings
from patchctl.target.oracle import read_oracle
from patchctl.target.reading import open_target
from patchctl.target.searching import search_names
from patchctl.target.snapshot import read_snapshot
from tests.registries import add_entry, make_diff, make_registry
from tests.running import patchctl
from tests.sites import install, make_base_layout, make_venv_layout
from tests.strangers import likeness, watched, within
from tests.users import NOBODY

pytestmark = [
    pytest.mark.attack("strange-site"),
    pytest.mark.attack("links"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can be led to do what another user may not"),
]

ENGINE = "vllm/engine.py"
BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 31))
LOW = BASE.replace(b"line_5 = 1\n", b"line_5 = 5\n")
FILES = {"vllm/__init__.py": b"", ENGINE: BASE}
SECRET = "the-secret-of-somebody-else"
ALICE = 1000
DEADLINE = 60


class Scene(NamedTuple):
    """An environment of another user, and beside it a source tree that is private.

    Attributes:
        around: all of it.
        env: the environment.
        site: its site directory.
        private: the tree, of root or of a third user.
        registry: with one entry.
    """

    around: Path
    env: Path
    site: Path
    private: Path
    registry: Path

    @property
    def where(self) -> list[str]:
        return ["--site", str(self.site), "--registry", str(self.registry)]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    around = tmp_path / "around"
    site = make_venv_layout(around / "env")
    registry = make_registry(around / "registry")
    add_entry(registry, "a-low", make_diff({ENGINE: (BASE, LOW)}))
    private = around / "private"
    tree(private, BASE.replace(b"line_5 = 1\n", f"line_5 = '{SECRET}'\n".encode()))
    (private / "secret.json").write_text(SECRET)
    private.chmod(0o700)
    return Scene(around=around, env=around / "env", site=site, private=private, registry=registry)


def tree(root: Path, engine: bytes) -> None:
    for path, data in {**FILES, ENGINE: engine}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    (root / "vllm.egg-info").mkdir()
    (root / "vllm.egg-info/PKG-INFO").write_text(f"Name: vllm\nVersion: 66.6+{SECRET}\n")
    (root / "vllm.egg-info/top_level.txt").write_text("vllm\n")


def give(root: Path, uid: int = NOBODY) -> None:
    for path in (root, *root.rglob("*")):
        os.chown(path, uid, uid, follow_symlinks=False)


def editable(site: Path, directory: Path) -> None:
    """An editable install whose ``.pth`` names ``directory``."""
    info = site / "vllm-0.25.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.25.1\n")
    (info / "direct_url.json").write_text('{"url": "file:///x", "dir_info": {"editable": true}}')
    rows = ("vllm-0.25.1.dist-info/METADATA", "vllm-0.25.1.dist-info/direct_url.json", "__editable__.vllm.pth")
    (info / "RECORD").write_text("".join(f"{row},,\n" for row in rows))
    (site / "__editable__.vllm.pth").write_text(f"{directory}\n")


def lay_egg_link(scene: Scene) -> None:
    (scene.env / "his").symlink_to(scene.private)
    (scene.site / "vllm.egg-link").write_text(f"{scene.env}/his\n.\n")


def lay_egg_link_of_a_directory_on_the_way(scene: Scene) -> None:
    (scene.env / "his").symlink_to(scene.around)
    (scene.site / "vllm.egg-link").write_text(f"{scene.env}/his/private\n.\n")


def lay_egg_link_without_a_link(scene: Scene) -> None:
    (scene.site / "vllm.egg-link").write_text(f"{scene.private}\n.\n")


def lay_pth(scene: Scene) -> None:
    (scene.env / "his").symlink_to(scene.private)
    editable(scene.site, scene.env / "his")


def lay_conda_meta(scene: Scene) -> None:
    install(scene.site, FILES, build="0.25.1", record=False)
    (scene.env / "conda-meta").symlink_to(scene.private)


def lay_conda_record(scene: Scene) -> None:
    install(scene.site, FILES, build="0.25.1", record=False)
    (scene.env / "conda-meta").mkdir()
    (scene.env / "conda-meta/vllm-0.25.1-0.json").symlink_to(scene.private / "secret.json")


def lay_pyvenv_cfg(scene: Scene) -> None:
    install(scene.site, FILES, build="0.25.1")
    (scene.env / "pyvenv.cfg").unlink()
    (scene.env / "pyvenv.cfg").symlink_to(scene.private / "secret.json")


def lay_libraries(scene: Scene) -> None:
    """The environment's ``lib`` is that of a private one."""
    shutil.move(str(scene.env / "lib"), scene.private / "lib")
    install(scene.private / scene.site.relative_to(scene.env), FILES, build=f"0.25.1+{SECRET}")
    (scene.env / "lib").symlink_to(scene.private / "lib")


def lay_base(scene: Scene) -> None:
    """The environment says that it shares the modules of a private installation."""
    base = make_base_layout(scene.private / "usr")
    install(base / "lib/python3.11/site-packages", FILES, build=f"0.25.1+{SECRET}")
    cfg = f"home = {base}/bin\nversion = 3.11.4\ninclude-system-site-packages = true\n"
    (scene.env / "pyvenv.cfg").write_text(cfg)


LAID: list[Callable[[Scene], None]] = [
    lay_egg_link,
    lay_egg_link_of_a_directory_on_the_way,
    lay_egg_link_without_a_link,
    lay_pth,
    lay_conda_meta,
    lay_conda_record,
    lay_pyvenv_cfg,
    lay_libraries,
    lay_base,
]


@pytest.mark.parametrize("lay", LAID)
def test_no_reader_that_is_root_opens_what_the_owner_of_an_environment_leads_to(
    scene: Scene, lay: Callable[[Scene], None]
) -> None:
    lay(scene)
    give(scene.env)
    before = likeness(scene.around)
    named = ["--python", str(scene.env), "--registry", str(scene.registry)]
    wheres = [named] if lay in {lay_libraries, lay_base} else [scene.where, named]

    def read() -> None:
        with watched(scene.private) as seen:
            for where in wheres:
                for verb in ("status", "verify", "doctor", "report"):
                    done = patchctl(verb, *where)
                    assert seen() == [], verb
                    assert done.code in {0, 1, 3}, done
                    assert SECRET not in done.out + done.err, verb

    within(DEADLINE, read)
    assert likeness(scene.around) == before


@pytest.mark.parametrize("lay", [it for it in LAID if it is not lay_conda_record])
def test_where_root_may_be_led_it_finds_the_same_as_anybody(scene: Scene, lay: Callable[[Scene], None]) -> None:
    """The links are root's own, and so are the trees: the traps above are traps for whose they are.

    A link in the place of a record of conda's is one that nobody follows.
    """
    lay(scene)
    with watched(scene.private) as seen:
        patchctl("status", "--python", str(scene.env), "--registry", str(scene.registry))
        assert seen()


def test_what_lies_behind_a_link_in_a_candidate_is_not_listed(scene: Scene) -> None:
    candidate = scene.env / "candidate"
    install(candidate, FILES, build="0.26.0")
    (candidate / "vllm-0.26.0.data").symlink_to(scene.private)
    install(scene.site, FILES, build="0.25.1")
    give(scene.env)
    with watched(scene.private) as seen:
        done = patchctl("preflight", str(candidate), *scene.where)
        assert seen() == []
    assert done.code in {0, 1}, done


class TestBetweenTheLookAndTheOpening:
    def gate(self, scene: Scene) -> tuple[Path, Target]:
        """His tree, found through a directory of his."""
        gate = scene.env / "gate"
        gate.mkdir()
        tree(gate / "his", BASE)
        editable(scene.site, gate / "his")
        give(scene.private, ALICE)
        give(scene.env)
        found = find_target(site=str(scene.site), python=None, environ={}, names=["vllm"])
        assert found.grafts == {"vllm": str(gate / "his")}
        return gate, found

    @pytest.mark.parametrize("how", ["renamed", "link"])
    def test_a_source_tree_is_judged_by_what_was_opened(self, scene: Scene, how: str) -> None:
        gate, found = self.gate(scene)
        (gate / "his").rename(gate / "old")
        if how == "link":
            (gate / "his").symlink_to(scene.private)
            os.chown(gate / "his", NOBODY, NOBODY, follow_symlinks=False)
        else:
            shutil.move(str(scene.private), gate / "his")
        private = gate / "his" if how == "renamed" else scene.private
        with watched(private) as seen:
            for read in (
                lambda: read_snapshot(found, [ENGINE]),
                lambda: search_names(found, found.distributions["vllm"], ["line_5"], ["engine.py"]),
                lambda: open_target(found.site, found.grafts).__enter__(),
            ):
                with pytest.raises(TargetError, match="root does not follow"):
                    read()
            assert seen() == []

    def test_a_verb_shows_nothing_of_what_takes_the_place_of_a_source_tree(self, scene: Scene) -> None:
        """At every opening of a directory on the way in turn, once it was found."""
        gate, _ = self.gate(scene)

        def swapped_at(number: int) -> bool:
            count = 0

            def swap(event: str, arguments: tuple[Any, ...]) -> None:
                nonlocal count
                if event == "open" and arguments[0] in {"gate", str(gate / "his")}:
                    count += 1
                    if count == number:
                        (gate / "his").rename(gate / "old")
                        scene.private.rename(gate / "his")

            sys.addaudithook(swap)
            done = patchctl("status", "a-low", *scene.where)
            assert SECRET not in done.out + done.err
            assert done.code in {0, 1, 3}, done
            if count >= number:
                (gate / "his").rename(scene.private)
                (gate / "old").rename(gate / "his")
            return count >= number

        number = 1
        while within(DEADLINE, partial(swapped_at, number)):
            number += 1
        assert number > 3

    def test_the_tree_of_an_egg_link_is_judged_each_time(self, scene: Scene) -> None:
        tree(scene.env / "his", BASE)
        (scene.site / "vllm.egg-link").write_text(f"{scene.env}/his\n.\n")
        give(scene.env)
        (holding,) = find_holdings(str(scene.site), {"vllm"})
        assert read_distribution(str(scene.site), holding).grafts == {"vllm": f"{scene.env}/his"}
        (scene.env / "his").rename(scene.env / "old")
        scene.private.rename(scene.env / "his")
        with watched(scene.env / "his") as seen:
            with pytest.raises(TargetError, match=r"vllm\.egg-link names"):
                read_distribution(str(scene.site), holding)
            assert find_holdings(str(scene.site), {"vllm"}) == ()
            assert seen() == []

    @pytest.mark.parametrize("name", ["pyvenv.cfg", "python3.11"])
    def test_a_fifo_that_takes_a_place_keeps_nobody_waiting(self, scene: Scene, name: str) -> None:
        """What names an environment is opened after it was looked at; its owner turns it in between."""
        install(scene.site, FILES, build="0.25.1")
        base = scene.around / "env.base"
        place = (scene.env if name == "pyvenv.cfg" else base / "bin") / name
        python = scene.env if name == "pyvenv.cfg" else base / "bin/python3"
        if name != "pyvenv.cfg":
            install(base / "lib/python3.11/site-packages", FILES, build="0.25.1")
        os.mkfifo(scene.around / "fifo")

        def swap(event: str, arguments: tuple[Any, ...]) -> None:
            if event == "open" and str(arguments[0]).rpartition("/")[2] == name and (scene.around / "fifo").exists():
                (scene.around / "fifo").rename(place)

        def read() -> int:
            sys.addaudithook(swap)
            return patchctl("status", "--python", str(python), "--registry", str(scene.registry)).code

        assert within(DEADLINE, read) in {0, 1, 3}
        assert place.is_fifo()


class TestNamedPaths:
    def test_links_of_root_are_followed_wherever_they_lead(self, tmp_path: Path) -> None:
        (tmp_path / "a/b").mkdir(parents=True)
        (tmp_path / "x").symlink_to("a/./b/../b")
        (tmp_path / "y").symlink_to(tmp_path / "x")
        fd = open_named(f"{tmp_path}/a/../y/")
        try:
            assert os.path.samestat(os.fstat(fd), (tmp_path / "a/b").stat())
        finally:
            os.close(fd)

    def test_a_circle_ends(self, tmp_path: Path) -> None:
        (tmp_path / "x").symlink_to("y")
        (tmp_path / "y").symlink_to("x")
        with pytest.raises(OSError, match="too many links"):
            open_named(str(tmp_path / "x"))

    def test_a_file_behind_a_link_of_root_is_read(self, tmp_path: Path) -> None:
        (tmp_path / "f").write_bytes(b"data")
        (tmp_path / "l").symlink_to("f")
        os.mkfifo(tmp_path / "fifo")
        (tmp_path / "to fifo").symlink_to("fifo")
        fd = os.open(tmp_path, os.O_RDONLY)
        try:
            assert read_named(fd, "l", limit=9) == b"data"
            with pytest.raises(OSError, match="larger than"):
                read_named(fd, "l", limit=3)
            with pytest.raises(OSError, match="no regular file"):
                read_named(fd, "to fifo", limit=9)
            assert read_named(fd, "gone", limit=9) is None
        finally:
            os.close(fd)


@pytest.mark.attack("bombs")
class TestFloodsOfCondaRecords:
    """Each needs minutes where it is not bounded; the deadline is the test."""

    def test_records_that_are_holes_cost_nothing(self, scene: Scene) -> None:
        install(scene.site, FILES, build="0.25.1", record=False)
        (scene.env / "conda-meta").mkdir()
        for number in range(4000):
            with (scene.env / f"conda-meta/p{number}.json").open("wb") as file:
                file.truncate(64 << 20)
        listed = {"_path": "lib/python3.11/site-packages/vllm-0.25.1.dist-info/METADATA", "sha256": "0" * 64}
        (scene.env / "conda-meta/z.json").write_text(json.dumps({"paths_data": {"paths": [listed]}}))
        give(scene.env)
        done = within(DEADLINE, lambda: patchctl("status", "--json", *scene.where))
        (found,) = done.document["target"]["distributions"]
        assert found["oracle"] == "conda-meta"

    @pytest.mark.parametrize("limit", ["MOST_DOCUMENTS", "MOST_READ", "MOST_PARSED"])
    def test_where_not_all_is_searched_the_answer_says_so(
        self, scene: Scene, limit: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        install(scene.site, FILES, build="0.25.1", record=False)
        (scene.env / "conda-meta").mkdir()
        listed = {"_path": "lib/python3.11/site-packages/vllm-0.25.1.dist-info-of-another/x", "sha256": "0" * 64}
        text = json.dumps(
            {"paths_data": {"paths": [listed]}, "of": "lib/python3.11/site-packages/vllm-0.25.1.dist-info"}
        )
        for number in range(5):
            (scene.env / f"conda-meta/p{number}.json").write_text(text)
        target = find_target(site=str(scene.site), python=None, environ={}, names=["vllm"])

        def reason() -> str | None:
            return read_oracle(str(scene.site), target.distributions["vllm"]).reason

        assert reason() == "it has no RECORD and no conda-meta record names its files"
        monkeypatch.setattr(conda, limit, 4 if limit == "MOST_DOCUMENTS" else 4 * len(text))
        assert "conda-meta has more" in (reason() or "")
        assert conda.conda_record(str(scene.site), "vllm-0.25.1.dist-info") is None
        done = patchctl("verify", *scene.where)
        assert (done.code, "conda-meta has more" in done.out + done.err) == (3, True), done
