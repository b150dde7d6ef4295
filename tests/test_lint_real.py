"""The bundled registry on released wheels: every cell as it was found in the wheels' files by hand, no wrong claim.

The tables here are written by whoever read the releases, never taken from the output. A new entry adds its row to
``ENTRIES``, and the first release with each of its fixes to ``FIRST_WITH``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.contract import complaints
from tests.running import Done, patchctl
from tests.wheels import relabelled, slim_wheel

pytestmark = [pytest.mark.wheels, pytest.mark.slow]

RELEASES = ("0.19.1", "0.20.0", "0.21.0", "0.22.0", "0.24.0", "0.25.1", "0.26.0", "0.28.0", "0.31.0", "0.33.0")
PAGE = Path(__file__).parent.parent / "docs" / "matrix.md"
AGAIN = (
    "patchctl lint --matrix --markdown --against WHEEL... > docs/matrix.md, with the ten wheels of RELEASES in order"
)

# What an entry comes to on each of RELEASES. fits: named, and the diff fits, wherever its hunks lie; fixed: nothing is
# needed; unnamed: the diff fits, but nobody looked at the bug there; "-": not named.
ENTRIES = {
    "vllm-awq-batch-invariant": ["-"] + ["fits"] * 9,  # 0.19.1 has no batch-invariant mode in its AWQ
    "vllm-deepgemm-toolchain-gate": ["fits"] * 10,
    "vllm-dspark-1017-degenerate": ["-"] * 10,
    "vllm-dsv41-cudagraph-uniform-batch": ["-"] * 8 + ["fits"] * 2,
    "vllm-grammar-compile-containment": ["fits"] * 6 + ["fixed"] * 4,
    "vllm-minicpmv46-grid-order": ["-"] * 3 + ["fits"] * 2 + ["fixed"] * 5,
    "vllm-minicpmv46-image-size-order": ["-"] * 3 + ["fits"] + ["fixed"] * 6,
    "vllm-minicpmv46-max-slice-nums": ["-"] * 3 + ["fits"] * 6 + ["fixed"],
    "vllm-mm-placeholder-degrade": ["fits"] * 9 + ["fixed"],
}
# The first of RELEASES that has the change in its files; None: none of them.
FIRST_WITH = {
    "vllm-project/vllm#44509": "0.24.0",  # first in 0.23.0
    "vllm-project/vllm#45244": "0.24.0",
    "vllm-project/vllm#45918": "0.25.1",  # first in 0.25.0
    "vllm-project/vllm#47312": "0.26.0",
    "vllm-project/vllm#52231": "0.33.0",  # first in 0.32.0
    "vllm-project/vllm#60479": None,
    "vllm-project/vllm: get_image_prompt_texts honours max_slice_nums": "0.33.0",  # first in 0.32.0
    "vllm-project/vllm: DeepSeek-V4.1 metadata builders declare UNIFORM_BATCH": None,
}
VENDORS = {
    "0.20.0+das.dtk2604": "0.20.0",
    "0.25.1+das185.dtk2604.torch2110.2608171710.g7b108a": "0.25.1",
    "0.22.0+rocm722": "0.22.0",
    "0.28.0+cu129": "0.28.0",
}
"""Build strings seen in the wild, on upstream's files."""

Row = Mapping[str, Any]


@pytest.fixture(scope="module")
def done() -> Done:
    return patchctl("lint", "--json", "--matrix", "--against", *(str(slim_wheel(version)) for version in RELEASES))


def rows(done: Done, id_: str) -> list[Row]:
    return [cell for cell in done.document["lint"]["matrix"] if cell["patch"] == id_]


def ids() -> list[str]:
    return [entry["id"] for entry in patchctl("list", "--json").document["entries"]]


def word(cell: Row) -> str:
    if cell["need"] == "fixed":
        return "fixed"
    if cell["match"]["rule"] == "none":
        return "unnamed" if cell["need"] == "unknown-build" else "-"
    return "fits" if cell["offset"] is not None else str(cell["fit"])


def test_no_claim_is_wrong(done: Done) -> None:
    errors = [finding for finding in done.document["lint"]["findings"] if finding["severity"] == "error"]
    assert (errors, done.document["errors"], done.code) == ([], [], 0)
    assert complaints(done.document) == []


def test_nothing_is_odd_about_a_released_wheel(done: Done) -> None:
    assert done.document["warnings"] == []


@pytest.mark.parametrize("id_", ids())
def test_an_entry_comes_to_what_was_found_by_hand(done: Done, id_: str) -> None:
    assert id_ in ENTRIES, f"add the row of {id_} to ENTRIES, from the files of RELEASES"
    cells = rows(done, id_)
    assert [cell["tree"]["build"] for cell in cells] == list(RELEASES)
    assert [word(cell) for cell in cells] == ENTRIES[id_]


@pytest.mark.parametrize("id_", ids())
def test_a_fix_is_proven_from_the_release_on_that_has_it(done: Done, id_: str) -> None:
    for number, (release, cell) in enumerate(zip(RELEASES, rows(done, id_), strict=True)):
        for fix in cell["fixes"]:
            if fix["role"] != "fixes":
                continue
            assert fix["ref"] in FIRST_WITH, f"add {fix['ref']} to FIRST_WITH, from the files of RELEASES"
            first = FIRST_WITH[fix["ref"]]
            is_in = first is not None and number >= RELEASES.index(first)
            assert fix["status"] in ({"proven"} if is_in else {"absent", "moved"}), (release, fix)


def test_upstreams_claims_hold_on_the_same_files_under_a_vendors_name(tmp_path: Path) -> None:
    wheels = [str(relabelled(version, build, tmp_path)) for build, version in VENDORS.items()]
    found = patchctl("lint", "--json", "--matrix", "--against", *wheels)
    assert found.code == 0
    for cell in found.document["lint"]["matrix"]:
        if cell["patch"] in ENTRIES:
            at = RELEASES.index(VENDORS[cell["tree"]["build"]])
            assert word(cell) == ENTRIES[cell["patch"]][at], (cell["patch"], cell["tree"]["build"])
    assert not [it for it in found.document["lint"]["untested"] if it["message"].endswith(" for 0.20.0+das.dtk2604")]


def test_the_page_in_the_docs_is_what_the_command_makes() -> None:
    made = patchctl("lint", "--matrix", "--markdown", "--against", *(str(slim_wheel(version)) for version in RELEASES))
    assert made.out == PAGE.read_text("utf-8"), f"make it again: {AGAIN}"
