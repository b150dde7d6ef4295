"""The three entries for ``minicpmv4_6.py``, and that file of the released wheels with any of their diffs in it."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from patchctl.build import MatchRule, choose, parse_build
from patchctl.diff import FileDiff, parse_diff
from patchctl.match import locate, splice
from patchctl.patch import Patch, Variant
from tests.entries.mm_patched import read_release, registry, release_files
from tests.wheels import RELEASES

FILE = "vllm/model_executor/models/minicpmv4_6.py"
PARSE_FILE = "vllm/multimodal/parse.py"

GRID = "vllm-minicpmv46-grid-order"
SIZE = "vllm-minicpmv46-image-size-order"
SLICES = "vllm-minicpmv46-max-slice-nums"
ENTRIES = (GRID, SIZE, SLICES)
NET = "vllm-mm-placeholder-degrade"

FIRST_FIXED = {SIZE: "0.24.0", GRID: "0.25.0", SLICES: "0.32.0"}
"""The release that has each entry's fix first."""

WITH_FILE = tuple(release for release in RELEASES if release >= "0.22")
"""Releases that have the model file."""

AFFECTED = {id_: tuple(it for it in WITH_FILE if it < fixed) for id_, fixed in FIRST_FIXED.items()}
"""Releases that have each fault."""


def entry(id_: str) -> Patch:
    """Return an entry; a broken one fails with what is wrong."""
    found = registry().find(id_)
    assert found is not None, registry().problems_of(id_)
    return found


def chosen(id_: str, build: str) -> tuple[MatchRule, Variant | None]:
    """Return how an entry matches a build string, and the variant that is chosen."""
    variants = entry(id_).variants
    index, outcome = choose([variant.rule for variant in variants], parse_build(build))
    return outcome.rule, None if index is None else variants[index]


@functools.cache
def diff_named(id_: str, name: str) -> FileDiff:
    """Return a diff of an entry by its file name, parsed; it changes one file."""
    variant = next(it for it in entry(id_).variants if it.diff == name)
    (found,) = parse_diff(registry().read_diff(entry(id_), variant), strip=variant.strip)
    return found


def diff_for(id_: str, build: str) -> FileDiff:
    """Return the diff that an entry has for a build; it must have one."""
    _, variant = chosen(id_, build)
    assert variant is not None, f"{id_} has no variant for {build}"
    assert variant.diff is not None
    return diff_named(id_, variant.diff)


def model_file(release: str) -> bytes | None:
    """Return the file of the released wheel; None: the release has none."""
    return read_release(release, FILE) if FILE in release_files(release) else None


def patched(release: str, ids: Iterable[str] = ()) -> bytes:
    """Return the model file of a release with the diffs of some entries, folded in the order given."""
    content = read_release(release, FILE)
    for id_ in ids:
        diff = diff_for(id_, release)
        result = splice(diff, content, locate(diff, content))
        assert result is not None, f"{id_} does not go into {release}"
        content = result
    return content
