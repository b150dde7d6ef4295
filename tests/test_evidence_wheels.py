"""What the files of released vLLM wheels show about reported fixes; every release on both sides of each change."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Mapping

import pytest

from patchctl.evidence import FixStatus, ItemStatus, files_named, judge_fix, judge_fixes, sought
from patchctl.evidence.source import Source
from patchctl.evidence.tokens import tokens
from patchctl.model import EvidenceItem, Fix, FixRole
from tests.test_evidence_tokens import standard_tokens
from tests.wheels import RELEASES, slim_wheel

pytestmark = pytest.mark.wheels

MODEL = "vllm/model_executor/models/minicpmv4_6.py"
SCHEDULER = "vllm/v1/core/sched/scheduler.py"
MANAGER = "vllm/v1/structured_output/__init__.py"
REQUEST = "vllm/v1/structured_output/request.py"
OLD_INVARIANT = "vllm/model_executor/layers/batch_invariant.py"
NEW_INVARIANT = "vllm/model_executor/determinism/batch_invariant.py"
PROMOTED = "if isinstance({}.grammar, Exception): self.grammar_compile_error_reqs"
MM_OUT = '_batch_invariant_LIB.impl("aten::mm.out", mm_out_batch_invariant'


def fix_of(ref: str, *evidence: EvidenceItem) -> Fix:
    return Fix(ref=ref, role=FixRole.FIXES, evidence=evidence)


def item(file: str, symbol: str, contains: str) -> EvidenceItem:
    return EvidenceItem(file=file, symbol=symbol, contains=contains)


FIXES = {
    "0.23.0": fix_of(
        "vllm-project/vllm#44509",
        item(MODEL, "MiniCPMV4_6MultiModalProcessor.process_videos", '"video_image_sizes": per_video_image_sizes'),
        item(MODEL, "MiniCPMV4_6MultiModalProcessor._get_prompt_updates", 'video_item.get("video_image_sizes")'),
        item(
            "vllm/multimodal/parse.py",
            "VideoProcessorItems.get_frame_size",
            "h, w = image.shape[0], image.shape[1]",
        ),
    ),
    "0.24.0": fix_of(
        "vllm-project/vllm#45244",
        item(
            MODEL,
            "MiniCPMV4_6ProcessingInfo._compute_visual_tokens",
            "hf_image_size = (image_size.height, image_size.width)",
        ),
        item(
            MODEL, "MiniCPMV4_6ProcessingInfo._compute_visual_tokens", "get_sliced_grid(hf_image_size, max_slice_nums"
        ),
    ),
    "0.25.0": fix_of(
        "vllm-project/vllm#45918",
        item(
            MODEL,
            "MiniCPMV4_6ProcessingInfo.get_slice_image_placeholder",
            "num_rows, num_cols = grids[0], grids[1]",
        ),
        item(
            MODEL,
            "MiniCPMV4_6MultiModalProcessor.get_video_prompt_texts",
            "slice_ph * grids[1] for _ in range(grids[0])",
        ),
    ),
    "0.26.0": fix_of(
        "vllm-project/vllm#47312",
        item(MANAGER, "StructuredOutputManager.grammar_init", "grammar.set_exception"),
        item(
            REQUEST,
            "StructuredOutputRequest._check_grammar_completion",
            "except Exception as e:\n    self._grammar = e",
        ),
        EvidenceItem(
            alternatives=(
                item(
                    SCHEDULER,
                    "Scheduler._handle_blocked_waiting_request",
                    PROMOTED.format("struct_output_req"),
                ),
                item(
                    SCHEDULER,
                    "Scheduler._try_promote_blocked_waiting_request",
                    PROMOTED.format("structured_output_req"),
                ),
            )
        ),
        item(
            SCHEDULER,
            "Scheduler.update_from_output",
            "self.finish_requests(error_req_ids, RequestStatus.FINISHED_ERROR",
        ),
    ),
    "0.32.0": fix_of(
        "vllm-project/vllm: get_image_prompt_texts honours max_slice_nums",
        item(MODEL, "MiniCPMV4_6MultiModalProcessor.get_image_prompt_texts", "max_slice_nums=max_slice_nums"),
        item(MODEL, "MiniCPMV4_6MultiModalProcessor._get_prompt_updates", "max_slice_nums=image_max_slice"),
    ),
}
INVARIANT = fix_of(
    "vllm-project/vllm#52231",
    EvidenceItem(
        alternatives=(
            item(OLD_INVARIANT, "enable_batch_invariant_mode", MM_OUT),
            item(NEW_INVARIANT, "enable_batch_invariant_mode", MM_OUT),
        )
    ),
)


def search(pattern: str, text: str) -> bool | None:
    return re.search(pattern, text) is not None


def base_of(version: str, paths: Iterable[str]) -> Mapping[str, bytes | None]:
    with zipfile.ZipFile(slim_wheel(version)) as archive:
        names = set(archive.namelist())
        return {path: archive.read(path) if path in names else None for path in paths}


def statuses(version: str, *, claimed: bool) -> dict[str, FixStatus]:
    fixes = tuple(FIXES.values())
    files = base_of(version, files_named(fixes))
    findings = judge_fixes(fixes, files=files, claimed=lambda _: claimed, search=search)
    return {first: finding.status for first, finding in zip(FIXES, findings, strict=True)}


@pytest.mark.parametrize("version", RELEASES)
def test_each_fix_is_proven_from_its_release_on_and_not_before(version: str) -> None:
    found = statuses(version, claimed=False)
    for first, status in found.items():
        fixed = RELEASES.index(version) >= RELEASES.index(first)
        assert status is (FixStatus.PROVEN if fixed else FixStatus.ABSENT), f"{FIXES[first].ref} in {version}"


@pytest.mark.parametrize("version", ["0.22.0", "0.25.1"])
def test_a_claim_that_the_files_do_not_bear_out_is_contradicted(version: str) -> None:
    found = statuses(version, claimed=True)
    assert found["0.26.0"] is FixStatus.CONTRADICTED
    assert found["0.32.0"] is FixStatus.CONTRADICTED


@pytest.mark.parametrize("version", ["0.20.0", "0.21.0"])
def test_a_model_that_is_not_in_the_build_is_no_fix_of_it(version: str) -> None:
    found = statuses(version, claimed=True)
    assert found["0.24.0"] is FixStatus.UNKNOWN
    assert found["0.32.0"] is FixStatus.UNKNOWN


@pytest.mark.parametrize("version", RELEASES)
def test_the_overrides_of_mm_out_are_proven_from_0_32_on_wherever_the_file_is(version: str) -> None:
    files = base_of(version, files_named([INVARIANT]))
    finding = judge_fix(INVARIANT, files=files, claimed=True, search=search)
    fixed = RELEASES.index(version) >= RELEASES.index("0.32.0")
    assert finding.status is (FixStatus.PROVEN if fixed else FixStatus.CONTRADICTED)


@pytest.mark.parametrize("version", ["0.28.0", "0.29.0", "0.33.0"])
def test_a_file_that_moved_is_not_a_bug_that_was_fixed(version: str) -> None:
    there = item(OLD_INVARIANT, "enable_batch_invariant_mode", MM_OUT)
    fix = fix_of("vllm-project/vllm#52231", there)
    files = base_of(version, [OLD_INVARIANT])
    with zipfile.ZipFile(slim_wheel(version)) as archive:
        names = archive.namelist()
    elsewhere = {
        wanted.name: tuple(name for name in names if name.rpartition("/")[2] == wanted.name)
        for wanted in sought([fix], files)
        if wanted.symbol is None
    }
    finding = judge_fix(fix, files=files, elsewhere=elsewhere, claimed=False, search=search)
    if version == "0.28.0":
        assert elsewhere == {}
        assert finding.status is FixStatus.ABSENT
    else:
        assert finding.status is FixStatus.MOVED
        assert finding.items[0].elsewhere == (NEW_INVARIANT,)


@pytest.mark.parametrize("version", ["0.20.0", "0.25.1"])
def test_nothing_of_the_grammar_fix_is_sought_where_it_fails_anyway(version: str) -> None:
    fix = FIXES["0.26.0"]
    assert sought([fix], base_of(version, files_named([fix]))) == set()


def test_the_scheduler_renamed_away_altogether_is_unknown_never_proven() -> None:
    fix = FIXES["0.26.0"]
    files = {**base_of("0.26.0", files_named([fix])), SCHEDULER: None}
    finding = judge_fix(fix, files=files, claimed=True, search=search)
    assert finding.status is FixStatus.UNKNOWN
    statuses = [found.status for found in finding.items]
    assert statuses == [ItemStatus.HOLDS, ItemStatus.HOLDS, ItemStatus.GONE, ItemStatus.GONE]


def test_every_definition_that_layout_shows_is_one_that_parsing_finds() -> None:
    with zipfile.ZipFile(slim_wheel("0.26.0")) as archive:
        for path in (MODEL, SCHEDULER, MANAGER, "vllm/v1/worker/gpu_model_runner.py"):
            source = Source(archive.read(path))
            classes = re.findall(r"^class (\w+)", source.text, re.MULTILINE)
            methods = set(re.findall(r"^    (?:async )?def (\w+)", source.text, re.MULTILINE))
            shown = [f"{name}.{method}" for name in classes for method in methods]
            for symbol in (*classes, *shown):
                assert not source.looks_to_define(symbol) or source.definitions(symbol), f"{path}: {symbol}"


def test_the_standard_tokenizer_agrees_over_modules_of_a_release() -> None:
    with zipfile.ZipFile(slim_wheel("0.33.0")) as archive:
        modules = [name for name in archive.namelist() if re.match(r"vllm/(v1/(core|engine)|multimodal)/.*\.py$", name)]
        assert len(modules) > 40
        for name in modules:
            source = archive.read(name).decode()
            assert tokens(source) == standard_tokens(source), name
