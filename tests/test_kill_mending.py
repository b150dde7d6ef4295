"""SIGKILL at every change of the file system in the verbs that mend: all-old or all-new, files and ledger alike."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, tree
from tests.sites import make_site
from tests.small_wheels import make_wheel
from tests.test_kill import BASE, HIGH, LOW, MOVES, in_child, kill_at, litter, same

pytestmark = pytest.mark.slow

FILES = {"vllm/one.py": BASE, "vllm/sub/two.py": BASE, "vllm/three.py": BASE, "vllm/old.py": b"old = 1\n"}
FILES |= {"vllm/tool.py": b"tool = 1\n", "vllm/before.py": b"moved = 1\n"}
ONE = "vllm/one.py"
BOTH = LOW.replace(b"line_25 = 1\n", b"line_25 = twenty_five\n")


class Accident(NamedTuple):
    """What happened to a patched site, and the verb that mends it."""

    desk: Desk
    verb: tuple[str, ...]


def edited(desk: Desk, before: bytes, after: bytes) -> None:
    file = desk.site / ONE
    assert before in file.read_bytes()
    file.write_bytes(file.read_bytes().replace(before, after))


def lost_ledger(desk: Desk, where: Path) -> Accident:
    shutil.rmtree(desk.site / ".patchctl")
    return Accident(desk=desk, verb=("adopt",))


def foreign_edit(desk: Desk, where: Path) -> Accident:
    edited(desk, b"line_15 = 1\n", b"import theirs\n")
    return Accident(desk=desk, verb=("revert", "a-first", "--keep-edits"))


def edit_inside_a_hunk(desk: Desk, where: Path) -> Accident:
    edited(desk, b"line_6 = 1\n", b"import theirs\n")
    wheel = make_wheel(where, list(FILES.items()))
    return Accident(desk=desk, verb=("restore", ONE, "--from", str(wheel)))


@pytest.mark.parametrize("accident", [lost_ledger, foreign_edit, edit_inside_a_hunk])
def test_c19_sigkill_at_every_step_leaves_all_old_or_all_new(
    tmp_path: Path, accident: Callable[[Desk, Path], Accident]
) -> None:
    site = make_site(tmp_path, FILES)
    registry = make_registry(tmp_path / "registry")
    first = {ONE: (BASE, LOW), "vllm/sub/two.py": (BASE, LOW), "vllm/new/four.py": (None, b"four = 4\n")}
    second = {ONE: (BASE, HIGH), "vllm/three.py": (BASE, HIGH), "vllm/old.py": (b"old = 1\n", None)}
    add_entry(registry, "a-first", make_diff(first) + MOVES)
    add_entry(registry, "b-second", make_diff(second))
    assert Desk(site=site, registry=registry).run("apply").code == 0
    desk, verb = accident(Desk(site=site, registry=registry), tmp_path)
    begun = tmp_path / "begun"
    shutil.copytree(site, begun, symlinks=True)
    old = tree(site), ledger(desk)
    assert desk.run(*verb).code == 0
    new = tree(site), ledger(desk)
    assert new != old

    outcomes, number = {"old": 0, "new": 0}, 0
    while True:
        number += 1
        shutil.rmtree(site)
        shutil.copytree(begun, site, symlinks=True)
        code = in_child(desk, verb, kill_at(number, signal.SIGKILL))
        if code == 0:
            break
        assert code == -signal.SIGKILL
        for stop in (2, 5):  # recovery may be killed too, and run again
            in_child(desk, ["recover"], kill_at(stop, signal.SIGKILL))
        assert desk.run("recover").code == 0
        found = tree(site), ledger(desk)
        is_old = same(found[0], old[0]) and found[1] == old[1]
        is_new = same(found[0], new[0]) and found[1] == new[1]
        assert is_old or is_new, f"mixed after request {number}"
        assert litter(desk) == [], f"litter after request {number}"
        outcomes["old" if is_old else "new"] += 1
    told = f"{outcomes['old']} all-old, {outcomes['new']} all-new"
    print(f"{verb[0]}: killed at {number - 1} requests, {told}")
    assert number > 30
    assert outcomes["new"] > 0


def ledger(desk: Desk) -> object:
    """The ledger without its times: a run a second later has others."""
    import json

    path = desk.site / ".patchctl" / "ledger.json"
    if not path.exists():
        return None
    found = json.loads(path.read_bytes())
    return found | {"last_second": 0, "receipts": [it | {"applied_at": ""} for it in found["receipts"]]}
