"""One lock file for a fleet: real vLLM builds that pip installed, vendor relabellings and a release with a fix."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.running import Desk, tree

pytestmark = [pytest.mark.wheels, pytest.mark.slow]

MM = "vllm-mm-placeholder-degrade"
GRAMMAR = "vllm-grammar-compile-containment"
Install = Callable[..., Path]


def states(desk: Desk, lock: str) -> tuple[int, dict[str, str]]:
    done = desk.json("check", "--locked", lock)
    return done.code, {it["id"]: it["state"] for it in done.document["lock"]["entries"]}


def test_one_lock_serves_builds_that_take_other_diffs_and_refuses_an_unknown_one(
    installed: Install, tmp_path: Path
) -> None:
    lock = str(tmp_path / "patchctl.lock")
    vendor = Desk(site=installed("0.20.0", build="0.20.0+das.dtk2604"))
    assert vendor.run("apply").code == 0
    assert vendor.run("lock", "--output", lock).code == 0
    text = Path(lock).read_bytes()

    twin = Desk(site=installed("0.20.0", build="0.20.0+das.dtk2604"))
    code, found = states(twin, lock)
    assert (code, set(found.values())) == (1, {"due"})
    assert {MM, GRAMMAR} <= set(found)
    assert twin.run("apply", "--locked", lock).code == 0
    code, found = states(twin, lock)
    assert (code, set(found.values())) == (0, {"applied"})
    hashes = {desk.run("status", "--digest").out for desk in (vendor, twin)}
    assert len(hashes) == 1
    assert twin.run("check", "--locked", lock, "--expect", hashes.pop().strip()).code == 0
    twin.run("lock", "--output", lock)
    assert Path(lock).read_bytes() == text

    fixed = Desk(site=installed("0.26.0"))
    assert states(fixed, lock)[1][GRAMMAR] == "fixed"
    assert fixed.run("apply", "--locked", lock).code == 0
    code, found = states(fixed, lock)
    assert (code, found[GRAMMAR], found[MM]) == (0, "fixed", "applied")
    assert fixed.run("status", "--digest").out != vendor.run("status", "--digest").out

    unknown = Desk(site=installed("0.20.0", build="0.20.0+acme.7"))
    before = tree(unknown.site, but=())
    code, found = states(unknown, lock)
    assert (code, set(found.values())) == (1, {"no-match"})
    assert unknown.run("apply", "--locked", lock).code == 1
    assert tree(unknown.site, but=()) == before
