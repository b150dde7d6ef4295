"""A file is swapped between the look at it and its opening: what was opened counts, and nobody waits."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from patchctl.disk import read_below, read_whole
from patchctl.target.hashing import Wanted, look_at
from tests.registries import add_entry, make_diff, make_registry
from tests.running import patchctl
from tests.sites import make_site
from tests.strangers import likeness, watched, within
from tests.transaction_tree import do_not_wait_for_the_disk
from tests.users import NOBODY

pytestmark = pytest.mark.attack("links")

ENGINE = "vllm/engine.py"
OLD, NEW = b"a = 1\nb = 2\nc = 3\n", b"a = 1\nb = 20\nc = 3\n"
SECRET = b"the-secret-of-somebody-else\n"
DEADLINE = 60
AS_ROOT = os.geteuid() == 0


def to_link(place: Path, outside: Path) -> None:
    place.unlink()
    place.symlink_to(outside / "secret")
    if AS_ROOT:
        os.chown(place, NOBODY, NOBODY, follow_symlinks=False)


def to_fifo(place: Path, outside: Path) -> None:
    place.unlink()
    os.mkfifo(place)


SWAPS = [to_link, to_fifo]
READERS = ["status", "check", "verify", "report"]
"""Each opens the file, and is asked again and again: once for every time that it does."""
WRITERS = [["apply"], ["revert", "--all"]]


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    made = tmp_path / "outside"
    made.mkdir()
    (made / "secret").write_bytes(SECRET)
    return made


def swapped_at(
    number: int, place: Path, outside: Path, swap: Callable[[Path, Path], None], act: Callable[[], object]
) -> bool:
    """Do ``act`` and swap the file at ``place`` right before it is opened for the n-th time; False: it never was."""
    count = 0

    def at(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        # a look with O_PATH opens nothing
        if event == "open" and arguments[0] == place.name and not arguments[2] & (os.O_PATH | os.O_CREAT):
            count += 1
            if count == number:
                swap(place, outside)

    sys.addaudithook(at)
    with watched(outside) as seen:
        act()
        # Whoever is not root made the link himself here, and may have it followed to what is listed.
        assert not AS_ROOT or seen() == []
    return count >= number


@pytest.mark.parametrize("swap", SWAPS)
@pytest.mark.parametrize("read", [read_below, read_whole], ids=lambda it: it.__name__)
def test_what_reads_below_a_root_opens_what_it_looked_at(
    tmp_path: Path, outside: Path, swap: Callable[[Path, Path], None], read: Callable[[int, str], object]
) -> None:
    place = tmp_path / "site" / ENGINE
    place.parent.mkdir(parents=True)
    place.write_bytes(OLD)

    def act() -> None:
        root = os.open(tmp_path / "site", os.O_RDONLY)
        with pytest.raises(OSError, match="is "):
            read(root, ENGINE)

    assert within(DEADLINE, partial(swapped_at, 1, place, outside, swap, act))


@pytest.mark.parametrize("swap", SWAPS)
def test_what_hashes_opens_what_it_looked_at(tmp_path: Path, outside: Path, swap: Callable[[Path, Path], None]) -> None:
    (tmp_path / "engine.py").write_bytes(OLD)

    def act() -> None:
        root = os.open(tmp_path, os.O_RDONLY)
        looks = look_at(root, [Wanted(path="engine.py", algorithms=("sha256",))], progress=lambda _: None)
        found = looks["engine.py"]
        assert found is not None
        assert found.problem is not None
        assert not found.digests

    assert within(DEADLINE, partial(swapped_at, 1, tmp_path / "engine.py", outside, swap, act))


@pytest.mark.parametrize("swap", SWAPS)
@pytest.mark.parametrize("verb", [*([it] for it in READERS), *WRITERS], ids=" ".join)
def test_at_whichever_opening_a_verb_meets_it(
    tmp_path: Path,
    outside: Path,
    monkeypatch: pytest.MonkeyPatch,
    swap: Callable[[Path, Path], None],
    verb: list[str],
) -> None:
    do_not_wait_for_the_disk(monkeypatch)
    template = make_site(tmp_path / "template", {"vllm/__init__.py": b"", ENGINE: OLD})
    registry = make_registry(tmp_path / "registry")
    add_entry(registry, "guard", make_diff({ENGINE: (OLD, NEW)}))
    if verb[0] != "apply":
        assert patchctl("apply", "--site", str(template), "--registry", str(registry)).code == 0
    site = tmp_path / "site"
    before = likeness(outside)

    def act() -> None:
        done = patchctl(*verb, "--site", str(site), "--registry", str(registry))
        assert done.code in {0, 1, 2, 3, 4}, done
        assert SECRET.decode().strip() not in done.out + done.err
        assert "Traceback" not in done.err

    number = 0
    going_on = True
    while going_on:
        shutil.rmtree(site, ignore_errors=True)
        shutil.copytree(template, site, symlinks=True)
        number += 1
        going_on = within(DEADLINE, partial(swapped_at, number, site / ENGINE, outside, swap, act))
    assert number > (4 if verb in WRITERS else 1), "it never opened the file"
    assert likeness(outside) == before
