"""When the entry may go: what the evidence of its fixes says of the released wheels, and of patched files."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from patchctl.build import claims, parse_build
from patchctl.evidence import FixFinding, FixStatus, judge_fix
from patchctl.model import Fix, FixRole
from tests.entries.grammar_entry import AFFECTED, ENTRY, entry, patched_files, wheel_files
from tests.wheels import RELEASES

pytestmark = pytest.mark.wheels

SINCE_FIX = tuple(version for version in RELEASES if version >= "0.26.0")


MM = "vllm-mm-placeholder-degrade"


def _judge(files: Mapping[str, bytes], version: str, fix: Fix | None = None) -> FixFinding:
    fix = fix or _fix("vllm-project/vllm#47312")
    claimed = claims(fix.claimed, parse_build(version))
    return judge_fix(fix, files=files, claimed=claimed, search=lambda pattern, text: bool(re.search(pattern, text)))


def _fix(ref: str) -> Fix:
    (found,) = (fix for fix in entry().fixes if fix.ref == ref)
    return found


def test_47312_alone_decides_and_44401_is_rejected() -> None:
    assert [fix.ref for fix in entry().fixes if fix.role is FixRole.FIXES] == ["vllm-project/vllm#47312"]
    rejected = _fix("vllm-project/vllm#44401")
    assert rejected.role is FixRole.REJECTED
    assert rejected.claimed is None
    assert rejected.note is not None
    assert "closed without being merged" in rejected.note


@pytest.mark.parametrize("version", SINCE_FIX)
def test_the_fix_is_proven_from_0_26_0_on(version: str) -> None:
    finding = _judge(wheel_files(version), version)
    assert finding.status is FixStatus.PROVEN, finding


@pytest.mark.parametrize("version", AFFECTED)
def test_the_fix_is_absent_before_and_no_item_of_its_evidence_holds(version: str) -> None:
    finding = _judge(wheel_files(version), version)
    assert finding.status is FixStatus.ABSENT
    assert {item.status.value for item in finding.items} == {"fails"}


@pytest.mark.parametrize(
    ("applied", "version"), [*((ENTRY, version) for version in AFFECTED), *((MM, version) for version in RELEASES)]
)
def test_neither_entrys_diff_changes_what_any_item_of_evidence_says(applied: str, version: str) -> None:
    for fix in (*entry(ENTRY).fixes, *entry(MM).fixes):
        before, after = (
            _judge(files, version, fix) for files in (wheel_files(version), patched_files(version, applied))
        )
        assert after.status is before.status, fix.ref
        assert [item.status for item in after.items] == [item.status for item in before.items], fix.ref


def test_a_version_number_over_old_files_contradicts_itself() -> None:
    assert _judge(wheel_files("0.25.1"), "0.26.0").status is FixStatus.CONTRADICTED


def test_fixed_files_under_an_old_version_number_are_proof() -> None:
    assert _judge(wheel_files("0.26.0"), "0.25.1").status is FixStatus.PROVEN


@pytest.mark.parametrize("path", sorted({item.file for item in _fix("vllm-project/vllm#47312").evidence if item.file}))
def test_a_file_that_is_gone_is_no_proof(path: str) -> None:
    files = {name: data for name, data in wheel_files("0.26.0").items() if name != path}
    assert _judge(files, "0.26.0").status not in {FixStatus.PROVEN, FixStatus.CLAIMED}
