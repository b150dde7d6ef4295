"""The last net of ``vllm-mm-placeholder-degrade``: ``_merge_multimodal_embeddings`` of really patched releases."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.entries.mm_code import Log, load_merge, watch_operations
from tests.entries.mm_patched import MERGE_FILE, entry, patched_files

torch: Any = pytest.importorskip("torch", reason="runs vLLM's functions with CPU torch")

pytestmark = [pytest.mark.torch, pytest.mark.wheels]

RELEASES = ("0.20.0", "0.25.1", "0.26.0", "0.27.0", "0.33.0")
WIDTH = 8
TOKENS = 400


@pytest.fixture(params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["float32", "bfloat16"])
def dtype(request: pytest.FixtureRequest) -> Any:
    return getattr(torch, request.param)


class Merge:
    """One call of the release's merge.

    Attributes:
        tokens: the token embeddings as they were before.
        mask: where the placeholders are.
        out: what was returned.
        warnings: what was logged.
        operations: what reached the dispatcher: every kernel, copy and synchronisation.
        index_kinds: element types of the index of each assignment.
    """

    def __init__(self, release: str, placeholders: int, embeddings: Any, dtype: Any, *, patched: bool = True) -> None:
        generator = torch.Generator().manual_seed(7)
        self.tokens = torch.rand(TOKENS, WIDTH, generator=generator).to(dtype) - 2
        self.mask = torch.zeros(TOKENS, dtype=torch.bool)
        self.mask[torch.randperm(TOKENS, generator=generator)[:placeholders]] = True
        log = Log()
        merge = load_merge(release, log, patched=patched)
        given = self.tokens.clone()
        with watch_operations() as seen:
            self.out = merge(given, embeddings, self.mask)
        assert self.out is given
        self.warnings = log.warnings
        self.operations = seen.names
        self.index_kinds = seen.index_kinds

    @property
    def taken(self) -> Any:
        """What stands at the placeholders."""
        return self.out[self.mask]

    def text_is_untouched(self) -> bool:
        return bool(torch.equal(self.out[~self.mask], self.tokens[~self.mask]))


def rows(count: int, dtype: Any, seed: int = 1) -> Any:
    """Return ``count`` embeddings of which no value is zero."""
    return (torch.rand(count, WIDTH, generator=torch.Generator().manual_seed(seed)) + 1).to(dtype)


def test_303_for_327_leaves_24_zero_rows_at_the_tail(release: str, dtype: Any) -> None:
    embeddings = rows(303, dtype)
    merge = Merge(release, 327, [embeddings[:100], embeddings[100:]], dtype)

    assert torch.equal(merge.taken[:303], embeddings)
    assert merge.taken[303:].shape[0] == 24
    assert torch.count_nonzero(merge.taken[303:]) == 0
    assert merge.out.dtype == dtype
    assert merge.text_is_untouched()
    assert merge.warnings == ["mm placeholder mismatch: pad 303 embeddings to 327 placeholders (rows: 100 + 203)"]


def test_330_for_327_leaves_out_the_last_three(release: str, dtype: Any) -> None:
    embeddings = rows(330, dtype)
    merge = Merge(release, 327, embeddings.reshape(3, 110, WIDTH), dtype)

    assert torch.equal(merge.taken, embeddings[:327])
    assert merge.text_is_untouched()
    assert merge.warnings == ["mm placeholder mismatch: truncate 330 embeddings to 327 placeholders (rows: 3 x 110)"]


@pytest.mark.parametrize("of", ["float32", "bfloat16"])
def test_327_for_327_is_bit_for_bit_and_operation_for_operation_the_unpatched_merge(
    release: str, dtype: Any, of: str
) -> None:
    embeddings = [rows(200, getattr(torch, of), seed=1), rows(127, getattr(torch, of), seed=2)]
    patched, unpatched = (Merge(release, 327, embeddings, dtype, patched=patched) for patched in (True, False))

    assert torch.equal(patched.out.view(torch.uint8), unpatched.out.view(torch.uint8))
    assert patched.operations == unpatched.operations
    assert patched.index_kinds == unpatched.index_kinds == [torch.bool]
    assert patched.warnings == []


def test_one_for_327_stands_at_the_first_placeholder_and_zeros_behind_it(release: str, dtype: Any) -> None:
    embeddings = rows(1, dtype)
    merge = Merge(release, 327, [embeddings], dtype)

    assert torch.equal(merge.taken[:1], embeddings)
    assert torch.count_nonzero(merge.taken[1:]) == 0
    assert merge.text_is_untouched()
    assert merge.warnings == ["mm placeholder mismatch: pad 1 embeddings to 327 placeholders (rows: 1)"]


def test_unpatched_one_for_327_is_broadcast_in_silence(release: str) -> None:
    embeddings = rows(1, torch.float32)
    merge = Merge(release, 327, [embeddings], torch.float32, patched=False)

    assert torch.equal(merge.taken, embeddings.expand(327, WIDTH))


def test_one_for_one_is_the_unpatched_result_and_asks_the_device_no_more_than_the_mask_does(
    release: str, dtype: Any
) -> None:
    embeddings = rows(1, dtype)
    patched, unpatched = (Merge(release, 1, [embeddings], dtype, patched=patched) for patched in (True, False))

    assert torch.equal(patched.out.view(torch.uint8), unpatched.out.view(torch.uint8))
    assert patched.warnings == []
    # An index that is no mask any more needs no nonzero() of its own.
    assert patched.index_kinds == [torch.int64]
    assert sum("nonzero" in name for name in patched.operations) == 1
    assert not [name for name in patched.operations if "_local_scalar_dense" in name]


def test_one_for_none_is_left_out(release: str) -> None:
    merge = Merge(release, 0, [rows(1, torch.float32)], torch.float32)

    assert torch.equal(merge.out, merge.tokens)
    assert merge.warnings == ["mm placeholder mismatch: truncate 1 embeddings to 0 placeholders (rows: 1)"]


def test_no_row_for_five_is_five_zero_rows(release: str) -> None:
    merge = Merge(release, 5, [rows(0, torch.float32)], torch.float32)

    assert torch.count_nonzero(merge.taken) == 0
    assert merge.warnings == ["mm placeholder mismatch: pad 0 embeddings to 5 placeholders (rows: 0)"]


def test_five_for_one_is_the_first(release: str) -> None:
    embeddings = rows(5, torch.float32)
    merge = Merge(release, 1, [embeddings], torch.float32)

    assert torch.equal(merge.taken, embeddings[:1])
    assert merge.warnings == ["mm placeholder mismatch: truncate 5 embeddings to 1 placeholders (rows: 5)"]


def test_no_embedding_at_all_changes_nothing(release: str) -> None:
    merge = Merge(release, 5, [], torch.float32)

    assert torch.equal(merge.out, merge.tokens)
    assert merge.warnings == []


@pytest.mark.parametrize("count", [1, 327])
def test_embeddings_of_a_wrong_width_are_still_an_error(release: str, count: int) -> None:
    with pytest.raises(ValueError, match="Error during index put operation"):
        Merge(release, count, [torch.ones(count, WIDTH + 1)], torch.float32)


@pytest.mark.parametrize(("given", "kind"), [(303, "pad"), (330, "truncate")])
def test_the_signal_reads_the_warning(given: int, kind: str) -> None:
    merge = Merge("0.20.0", 327, [rows(given, torch.float32)], torch.float32)
    signal = entry().signal

    assert signal is not None
    found = re.search(signal.log, merge.warnings[0])
    assert found is not None
    assert found.groupdict() == {"kind": kind, "embeddings": str(given), "placeholders": "327"}


def test_the_merge_of_0_19_1_is_not_touched() -> None:
    assert MERGE_FILE not in patched_files("0.19.1")
