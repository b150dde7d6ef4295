"""Somebody swaps what is on the way between plan and write: no step follows a link, and nothing else is touched.

At every step of a transaction one thing is exchanged: a directory on the way for a link to its twin outside, which
holds the very same bytes, so that only the walk itself can tell; or a file, or its byte code, for something else.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from patchctl.errors import PatchctlError
from patchctl.transaction import recover
from tests.transaction_tree import (
    ADDED,
    FILES,
    do_not_wait_for_the_disk,
    make_tree,
    picture,
    put,
    run,
    steps_of,
    the_edits,
)

OLD = {path: data for path, (data, _) in FILES.items()}
NEW = OLD | {"pkg/a.py": b"A = 2\n", "pkg/b.py": b"B = 2\n", "other/c.py": b"C = 22\r\n", ADDED: b"D = 1\n"}
del NEW["other/old.py"]
CACHED = "pkg/__pycache__/a.cpython-311.pyc"


@pytest.fixture(autouse=True)
def _no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    do_not_wait_for_the_disk(monkeypatch)


def make_pair(where: Path) -> tuple[Path, Path]:
    """Make a site with byte code and the start of the added file's directory, and its twin outside."""
    site = make_tree(where)
    for path in (CACHED, "pkg/__pycache__/a.cpython-311.opt-1.pyc", "other/__pycache__/old.cpython-311.pyc"):
        put(site, path, b"byte code")
    put(site, "pkg/new/keep.py", b"K = 1\n")
    twin = where / "outside"
    shutil.copytree(site, twin)
    return site, twin


def all_steps(where: Path) -> list[str]:
    site, _ = make_pair(where / "steps")
    return steps_of(lambda checkpoint: run(site, the_edits(), checkpoint))


def contents(site: Path) -> dict[str, bytes]:
    """The bytes of the files that the transaction is about."""
    return {path: (site / path).read_bytes() for path in {*OLD, ADDED} if (site / path).is_file()}


def swapped_at(wanted: str, swap: Callable[[], None]) -> Callable[[str], None]:
    def checkpoint(step: str) -> None:
        if step == wanted:
            swap()

    return checkpoint


def fresh(where: Path, steps: list[str]) -> Iterator[tuple[str, Path, Path]]:
    """A new pair for each step."""
    for number, step in enumerate(steps):
        place = where / str(number)
        yield step, *make_pair(place)
        shutil.rmtree(place)


@pytest.mark.parametrize("directory", ["pkg", "other", "pkg/new", "pkg/__pycache__"])
@pytest.mark.attack("links")
def test_a_directory_swapped_for_a_link_at_any_step_leads_nowhere(tmp_path: Path, directory: str) -> None:
    steps = all_steps(tmp_path)
    for step, site, twin in fresh(tmp_path, steps):
        before, moved = picture(twin), site / "moved"

        def swap(site: Path = site, twin: Path = twin, moved: Path = moved) -> None:
            (site / directory).rename(moved)
            (site / directory).symlink_to(twin / directory)

        committed = False
        with suppress(PatchctlError):
            run(site, the_edits(), swapped_at(step, swap))
            committed = True
        assert picture(twin) == before, step
        with suppress(PatchctlError):
            recover(str(site))
        assert picture(twin) == before, step
        (site / directory).unlink()
        moved.rename(site / directory)
        recover(str(site))
        assert contents(site) == (NEW if committed else OLD), step


def link(path: Path, twin: Path) -> None:
    path.symlink_to(twin)


def dangling_link(path: Path, twin: Path) -> None:
    path.symlink_to(twin.with_name("new-outside"))


def fifo(path: Path, _twin: Path) -> None:
    os.mkfifo(path)


def directory(path: Path, _twin: Path) -> None:
    path.mkdir()


def device(path: Path, _twin: Path) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root can make a device")


SWAPS = [link, dangling_link, fifo, directory, device]


@pytest.mark.parametrize("swap", [link, fifo, directory])
@pytest.mark.parametrize("path", ["pkg/a.py", "other/old.py", ADDED, CACHED], ids=["modify", "delete", "add", "purge"])
@pytest.mark.attack("links")
def test_a_file_swapped_at_any_step_is_never_followed(
    tmp_path: Path, path: str, swap: Callable[[Path, Path], None]
) -> None:
    steps = all_steps(tmp_path)
    for step, site, twin in fresh(tmp_path, steps):
        put(twin, ADDED, b"D = 1\n")
        before = picture(twin)

        def exchange(site: Path = site, twin: Path = twin) -> None:
            (site / path).parent.mkdir(parents=True, exist_ok=True)
            (site / path).unlink(missing_ok=True)
            swap(site / path, twin / path)

        committed = False
        with suppress(PatchctlError):
            run(site, the_edits(), swapped_at(step, exchange))
            committed = True
        with suppress(PatchctlError):
            recover(str(site))
        assert picture(twin) == before, step
        now, wanted = contents_of_real_files(site), NEW if committed else OLD
        if not (site / ".patchctl/journal.json").exists():
            assert {key: now.get(key) for key in wanted if key != path} == {
                key: wanted[key] for key in wanted if key != path
            }, step


def contents_of_real_files(site: Path) -> dict[str, bytes]:
    return {path: data for path, data in contents(site).items() if not (site / path).is_symlink()}


@pytest.mark.attack("links")
def test_a_file_swapped_before_it_is_replaced_stops_everything(tmp_path: Path) -> None:
    """What stands there instead is left as it is, and the others go back."""
    for swap in SWAPS:
        site, twin = make_pair(tmp_path / swap.__name__)

        def exchange(site: Path = site, twin: Path = twin, swap: Callable[[Path, Path], None] = swap) -> None:
            (site / "other/c.py").unlink()
            swap(site / "other/c.py", twin / "other/c.py")

        with pytest.raises(PatchctlError) as caught:
            run(site, the_edits(), swapped_at("replace:2", exchange))
        assert caught.value.problem.code == "changed-meanwhile", swap
        assert not stat.S_ISREG((site / "other/c.py").lstat().st_mode), swap
        assert {path: (site / path).read_bytes() for path in OLD if path != "other/c.py"} == {
            path: data for path, data in OLD.items() if path != "other/c.py"
        }
