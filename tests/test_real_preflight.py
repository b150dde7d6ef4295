"""``preflight`` from real vLLM builds to real wheels: the right answer for each entry, and where real code went."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contract import complaints
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk
from tests.wheels import slim_wheel

pytestmark = [pytest.mark.wheels, pytest.mark.slow]

MM = "vllm-mm-placeholder-degrade"
GRAMMAR = "vllm-grammar-compile-containment"
AWQ = "vllm/model_executor/layers/quantization/awq.py"
AUTO_AWQ = "vllm/model_executor/layers/quantization/auto_awq.py"
OLD_INVARIANT = "vllm/model_executor/layers/batch_invariant.py"
INVARIANT = "vllm/model_executor/determinism/batch_invariant.py"
Install = Callable[..., Path]


def candidate(desk: Desk, path: Path) -> dict[str, Any]:
    done = desk.json("preflight", str(path))
    assert complaints(done.document) == []
    (found,) = done.document["candidates"]
    assert done.code == (1 if found["lost"] else 0)
    assert isinstance(found, dict)
    return found


def facts(found: dict[str, Any], id_: str) -> tuple[str, str, dict[str, str]]:
    (entry,) = (entry for entry in found["patches"] if entry["id"] == id_)
    fixes = {fix["ref"]: fix["status"] for fix in entry["there"]["fixes"] if fix["role"] == "fixes"}
    return entry["fate"], entry["protection"], {ref.rpartition("#")[2][-15:]: it for ref, it in fixes.items()}


def of_mm(**statuses: str) -> dict[str, str]:
    names = {"frames": "44509", "size": "45244", "grid": "45918", "slices": " max_slice_nums"}
    return {number: statuses.get(name, "proven") for name, number in names.items()}


def test_from_0_25_1_to_0_26_0(installed: Install, tmp_path: Path) -> None:
    desk = Desk(site=installed("0.25.1"))
    assert desk.run("apply").code == 0
    wheel = slim_wheel("0.26.0")
    found = candidate(desk, wheel)
    assert facts(found, GRAMMAR) == ("retires", "upstream", {"47312": "proven"})
    assert facts(found, MM) == ("applies-with-offset", "patch", of_mm(slices="absent"))
    assert {GRAMMAR, MM} & set(found["lost"]) == set()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "extracted")
    given = (tmp_path / "extracted", installed("0.26.0").parents[2])
    others = [candidate(desk, path) for path in given]
    for one in (found, *others):
        one["path"] = one["kind"] = one["target"] = one["steps"] = one["step_notes"] = None
    assert others == [found, found]


def test_from_the_vendors_0_20_0_to_0_24_0(installed: Install) -> None:
    desk = Desk(site=installed("0.20.0", build="0.20.0+das.dtk2604"))
    assert desk.run("apply").code == 0
    found = candidate(desk, slim_wheel("0.24.0"))
    # 0.24.0 has two of the four fixes: a version number above them all would have taken the net away
    assert facts(found, MM) == ("applies-with-offset", "patch", of_mm(grid="absent", slices="absent"))
    assert facts(found, GRAMMAR) == ("applies-with-offset", "patch", {"47312": "absent"})
    assert {GRAMMAR, MM} & set(found["lost"]) == set()
    assert "das.dtk2604 gives way to one without a label" in found["notes"][0]


def test_from_0_31_0_to_0_33_0(installed: Install) -> None:
    desk = Desk(site=installed("0.31.0"))
    assert desk.run("apply").code == 0
    found = candidate(desk, slim_wheel("0.33.0"))
    assert facts(found, MM) == ("retires", "upstream", of_mm())
    # the build of 0.31.0 has its fix already
    assert GRAMMAR not in [entry["id"] for entry in found["patches"]]


def with_entry(where: Path, site: Path, path: str, old: bytes, new: bytes) -> Desk:
    before = (site / path).read_bytes()
    assert before.count(old) == 1
    registry = make_registry(where)
    add_entry(registry, "one", make_diff({path: (before, before.replace(old, new))}))
    return Desk(site=site, registry=registry)


def test_a_file_renamed_with_its_class_is_found_by_its_lines(installed: Install, tmp_path: Path) -> None:
    """``AWQLinearMethod`` of awq.py is ``AutoAWQLinearMethod`` of auto_awq.py from 0.24.0 on."""
    old = b"out = torch.matmul(reshaped_x, out)"
    desk = with_entry(tmp_path / "r", installed("0.23.0"), AWQ, old, b"out = out_of(reshaped_x, out)")
    assert desk.run("apply").code == 0
    (entry,) = candidate(desk, slim_wheel("0.24.0"))["patches"]
    assert (entry["fate"], entry["protection"]) == ("vanishes", "lost")
    assert [(moved["path"], moved["symbol"]) for moved in entry["moved"]] == [
        (AWQ, None),
        (AWQ, "AWQLinearMethod.apply"),
    ]
    assert [alike["path"] for alike in entry["moved"][0]["alike"]] == [AUTO_AWQ]


def test_a_file_moved_to_another_directory_is_found_by_its_names(installed: Install, tmp_path: Path) -> None:
    old = b"def override_envs_for_invariance("
    site = installed("0.28.0")
    desk = with_entry(tmp_path / "r", site, OLD_INVARIANT, old, b"# ours\n" + old)
    (entry,) = candidate(desk, slim_wheel("0.29.0"))["patches"]
    assert entry["fate"] == "vanishes"
    assert entry["moved"][0]["paths"] == [INVARIANT]
