"""When the entries for ``minicpmv4_6.py`` may go: what their evidence says of every released wheel."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest

from patchctl.build import claims, parse_build
from patchctl.evidence import FixStatus, files_named, judge_fixes
from patchctl.model import FixRole
from tests.entries.minicpm_entry import (
    AFFECTED,
    ENTRIES,
    FILE,
    FIRST_FIXED,
    NET,
    SLICES,
    WITH_FILE,
    entry,
    model_file,
    patched,
)
from tests.entries.mm_patched import read_release
from tests.wheels import RELEASES

pytestmark = pytest.mark.wheels


def statuses(id_: str, release: str, content: bytes | None) -> list[FixStatus]:
    """Judge an entry's fixes on a release whose model file has this content."""
    needed = [fix for fix in entry(id_).fixes if fix.role is FixRole.FIXES]
    files = {path: content if path == FILE else read_release(release, path) for path in files_named(needed)}
    build = parse_build(release)
    found = judge_fixes(needed, files=files, claimed=lambda fix: claims(fix.claimed, build), search=_search)
    return [it.status for it in found]


def _search(pattern: str, text: str) -> bool:
    return bool(re.search(pattern, text))


@pytest.mark.parametrize("release", RELEASES)
def test_each_fix_is_proven_exactly_from_the_release_on_that_has_it_first(release: str) -> None:
    for id_ in ENTRIES:
        fixed = RELEASES.index(release) >= RELEASES.index(FIRST_FIXED[id_])
        expected = FixStatus.PROVEN if fixed else FixStatus.ABSENT
        assert statuses(id_, release, model_file(release)) == [expected], id_


def test_each_has_one_fix_and_claims_it_from_that_release_on() -> None:
    for id_ in ENTRIES:
        (fix,) = entry(id_).fixes
        assert fix.claimed is not None
        for release in RELEASES:
            fixed = RELEASES.index(release) >= RELEASES.index(FIRST_FIXED[id_])
            assert claims(fix.claimed, parse_build(release)) == fixed


def applicable(release: str) -> Iterable[str]:
    return [id_ for id_ in ENTRIES if release in AFFECTED[id_]]


@pytest.mark.parametrize("release", AFFECTED[SLICES])
def test_no_diff_proves_any_fix_of_any_entry(release: str) -> None:
    """Even where the ledger is lost and nobody knows that the lines are ours."""
    for id_ in (*ENTRIES, NET):
        before = statuses(id_, release, patched(release))
        assert statuses(id_, release, patched(release, applicable(release))) == before


@pytest.mark.parametrize("release", WITH_FILE)
def test_the_net_and_the_cause_agree_on_every_fix(release: str) -> None:
    found = {fix.ref: fix for fix in entry(NET).fixes}
    for id_ in ENTRIES:
        (fix,) = entry(id_).fixes
        assert (fix.claimed, fix.evidence) == (found[fix.ref].claimed, found[fix.ref].evidence)
        (status,) = statuses(id_, release, patched(release))
        index = [it.ref for it in entry(NET).fixes if it.role is FixRole.FIXES].index(fix.ref)
        assert statuses(NET, release, patched(release))[index] is status


def test_half_of_a_fix_is_none() -> None:
    """0.24.0's size order with one call left as it was, 0.25.0's grid order in the images alone."""
    for id_, old, new in [
        (ENTRIES[1], b"get_refine_size(\n            hf_image_size", b"get_refine_size(\n            image_size"),
        (ENTRIES[0], b"slice_ph * grids[1] for _ in range(grids[0])", b"slice_ph * grids[0] for _ in range(grids[1])"),
        (ENTRIES[2], b"max_slice_nums=image_max_slice", b"max_slice_nums=None"),
    ]:
        whole = patched(FIRST_FIXED[id_])
        assert whole.count(old) == 1
        assert statuses(id_, FIRST_FIXED[id_], whole) == [FixStatus.PROVEN]
        assert statuses(id_, FIRST_FIXED[id_], whole.replace(old, new)) == [FixStatus.CONTRADICTED]
