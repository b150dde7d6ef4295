"""C34: a disk that somebody else fills after the look at its free space, to 30 levels and to 15 counts of inodes.

``test_places.py`` has the 30 levels that the look itself finds; here the transaction is under way when room ends.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import TABLES
from tests.installs.test_places import leave_free, mounted, root_only
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, tree
from tests.sites import make_site
from tests.transaction_tree import litter

PAGE = 4096
BASE = b"".join(b"line_%d = 0\n" % number for number in range(3000))
PATCHED = BASE.replace(b"line_1500 = 0", b"line_1500 = 1")
PATHS = ("small/a.py", "small/b.py", "small/c.py")
FAILED, REFUSED = "rolled back", "refused"


def make_desk(where: Path, scratch: Path) -> Desk:
    """Two entries over three files of 9 pages each on the small disk; the registry is elsewhere."""
    site = make_site(where, dict.fromkeys(PATHS, BASE), name="small", build="1.0")
    registry = make_registry(scratch / "registry")
    add_entry(registry, "a-first", make_diff(dict.fromkeys(PATHS[:2], (BASE, PATCHED))), distribution="small")
    add_entry(registry, "b-second", make_diff({PATHS[2]: (BASE, PATCHED)}), distribution="small")
    return Desk(site=site, registry=registry)


def take_inodes(where: Path, left: int) -> None:
    (where / "taken").mkdir()
    for number in range(os.statvfs(where).f_ffree - left):
        (where / "taken" / str(number)).touch()


def apply_while_it_fills(desk: Desk, monkeypatch: pytest.MonkeyPatch, *, pages: int, inodes: int | None) -> Any:
    """Run ``apply``; right after the last look at the free space nothing but this is left of it."""
    look, where = os.fstatvfs, desk.site.parent
    done: list[int] = []

    def look_and_lose(directory: int) -> os.statvfs_result:
        found = look(directory)
        if not done:
            done.append(directory)
            if inodes is None:
                leave_free(where, pages * PAGE)
            else:
                take_inodes(where, inodes)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(os, "fstatvfs", look_and_lose)
        result = desk.run("apply")
    assert done, "nobody looked"
    return result


@root_only
@pytest.mark.parametrize("what", ["pages", "inodes"])
def test_c34_a_disk_that_is_filled_under_way_leaves_the_tree_intact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, what: str
) -> None:
    levels = range(30) if what == "pages" else range(15)
    ends: Counter[str] = Counter()
    for level in levels:
        scratch = tmp_path / str(level)
        scratch.mkdir()
        with mounted(scratch / "disk", "-t", "tmpfs", "-o", "size=2m,nr_inodes=200", "none"):
            desk = make_desk(scratch / "disk", scratch)
            before = tree(desk.site)
            inodes = None if what == "pages" else level
            done = apply_while_it_fills(desk, monkeypatch, pages=level, inodes=inodes)
            assert done.code != 0, level
            assert "No space left" in done.err, (level, done.err)
            assert "hint: " in done.err, (level, done.err)
            assert "Traceback" not in done.err
            assert tree(desk.site) == before, level
            assert litter(desk.site, recorded=True) == [], level
            ends[f"exit {done.code}"] += 1
            assert desk.run("check").code == 1, level
    told = ", ".join(f"{count} with {name}" for name, count in sorted(ends.items()))
    line = f"C34 {len(levels)} levels of free {what}, filled under way: tree intact {len(levels)} times; {told}"
    request.config.stash.setdefault(TABLES, []).append(line)
