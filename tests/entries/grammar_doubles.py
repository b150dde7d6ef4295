"""What stands around a vLLM scheduler in the tests of this entry: model, caches, config, and pieces of dependencies.

Each says no more than the real scheduler and grammar manager ask it. What is under test is in ``grammar_engine``.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotReadyError
from types import SimpleNamespace
from typing import Any

from tests.entries.grammar_stubs import Stub


class Grammar:
    """A grammar that accepts everything."""

    def is_terminated(self) -> bool:
        return False

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        return True

    def fill_bitmask(self, bitmask: object, index: int) -> None:
        return None


class ReadyAtSecondLook(Future[object]):
    """A compilation that ends right after it was first asked for its result."""

    def __init__(self, grammar: object) -> None:
        super().__init__()
        self._ready_grammar = grammar

    def result(self, timeout: float | None = None) -> object:
        if not self.done():
            self.set_result(self._ready_grammar)
            raise NotReadyError
        return super().result(timeout)


class Bitmask:
    """Stands for the tensor of bitmasks."""

    def __init__(self, rows: int) -> None:
        self.shape = (rows, 1)

    def __getitem__(self, rows: object) -> Bitmask:
        return self

    def numpy(self) -> str:
        return "bitmask"


class Model:
    """Stands for the executor: one token for each request scheduled."""

    max_concurrent_batches = 1

    def execute_model(self, scheduler_output: Any, non_block: bool = False) -> Future[Any]:
        ids = list(scheduler_output.num_scheduled_tokens)
        output = _ModelOutput(
            req_ids=ids,
            req_id_to_index={request_id: index for index, request_id in enumerate(ids)},
            sampled_token_ids=[[7] for _ in ids],
            prompt_logprobs_dict={},
        )
        self._last: Future[Any] = Future()
        self._last.set_result(output)
        return self._last

    def sample_tokens(self, grammar_output: object, non_block: bool = False) -> Future[Any]:
        return self._last


class _ModelOutput(SimpleNamespace):
    """Stands for ModelRunnerOutput; what a release reads beyond the tokens is None."""

    def __getattr__(self, name: str) -> None:
        return None


class _Blocks:
    def get_block_ids(self, allow_none: bool = False) -> tuple[list[int], ...]:
        return ([],)


class _KVCacheManager:
    """Counts who holds blocks; there is always room."""

    usage = 0.0
    empty_kv_cache_blocks = _Blocks()

    def __init__(self, **_: object) -> None:
        self.holders: set[str] = set()
        self.block_pool = Stub()

    def get_computed_blocks(self, request: Any) -> tuple[_Blocks, int]:
        return _Blocks(), 0

    def can_fit_full_sequence(self, *_: object, **__: object) -> bool:
        return True

    def allocate_slots(self, request: Any, *_: object, **__: object) -> _Blocks:
        self.holders.add(request.request_id)
        return _Blocks()

    def get_blocks(self, request_id: str) -> _Blocks:
        return _Blocks()

    def free(self, request: Any) -> None:
        self.holders.discard(request.request_id)

    def new_step_starts(self) -> None:
        return None

    def take_events(self) -> None:
        return None

    def get_num_common_prefix_blocks(self, request_id: str) -> list[int]:
        return []

    def make_prefix_cache_stats(self) -> Stub:
        return Stub()


class _EncoderCacheManager:
    def __init__(self, *, cache_size: int = 0, **_: object) -> None:
        self.cache_size = cache_size
        self.freed: list[str] = []

    def free(self, request: Any) -> None:
        self.freed.append(request.request_id)

    def get_freed_mm_hashes(self) -> list[str]:
        return []


class _Struct:
    """Stands for msgspec.Struct: fields by annotation, in order, with their defaults."""

    def __init_subclass__(cls, **_: object) -> None:
        super().__init_subclass__()

    def __init__(self, *args: object, **kwargs: object) -> None:
        names = list(type(self).__annotations__)
        values = dict(zip(names, args, strict=False)) | kwargs
        for name in names:
            self.__dict__[name] = values.pop(name) if name in values else getattr(type(self), name)
        if values:
            raise TypeError(f"{type(self).__name__} has no {', '.join(values)}")


class _LazyTorch:
    """Stands for the manager's lazily imported torch."""

    int32 = "int32"

    def __init__(self, *_: object) -> None: ...

    def tensor(self, value: object, dtype: object) -> object:
        return value


def _view(tokens: list[int]) -> list[int]:
    """Stands for ConstantList: the list itself."""
    return tokens


def _instrument(**_: object) -> Callable[[Any], Any]:
    return lambda function: function


EXTRA: dict[str, dict[str, object]] = {
    "msgspec": {"Struct": _Struct},
    "vllm.logger": {"init_logger": logging.getLogger},
    "vllm.tracing": {"instrument": _instrument},
    "vllm.utils": {"length_from_prompt_token_ids_or_embeds": lambda tokens, embeds: len(tokens)},
    "vllm.utils.import_utils": {"LazyLoader": _LazyTorch},
    "vllm.v1.core.encoder_cache_manager": {"EncoderCacheManager": _EncoderCacheManager},
    "vllm.v1.core.kv_cache_manager": {"KVCacheManager": _KVCacheManager},
    "vllm.v1.utils": {"ConstantList": _view, "record_function_or_nullcontext": contextlib.nullcontext},
}
"""Attributes of stub modules that a scheduler does not do without."""


def engine_config(*, async_compilation: bool, policy: str) -> Any:
    """Return what stands for VllmConfig."""
    backend = "mp" if async_compilation else "external_launcher"
    return SimpleNamespace(
        scheduler_config=SimpleNamespace(
            max_num_seqs=4, max_num_scheduled_tokens=64, max_num_batched_tokens=64, policy=policy,
            long_prefill_token_threshold=0, enable_chunked_prefill=True, scheduler_reserve_full_isl=True,
            async_scheduling=False, disable_chunked_mm_input=False, watermark=0.0,
        ),
        model_config=SimpleNamespace(
            is_encoder_decoder=False, max_model_len=64, enable_return_routed_experts=False, is_diffusion=False,
            skip_tokenizer_init=False, get_vocab_size=lambda: 32,
        ),
        cache_config=SimpleNamespace(num_gpu_blocks=8, enable_prefix_caching=False, mamba_cache_mode="none"),
        parallel_config=SimpleNamespace(
            data_parallel_index=0, decode_context_parallel_size=1, prefill_context_parallel_size=1,
            pipeline_parallel_size=1, distributed_executor_backend=backend,
        ),
        observability_config=SimpleNamespace(
            kv_cache_metrics=False, enable_mfu_metrics=False, enable_logging_iteration_details=False,
        ),
        structured_outputs_config=SimpleNamespace(
            reasoning_parser="", reasoning_parser_plugin="", enable_in_reasoning=False, backend="xgrammar",
        ),
        lora_config=None, kv_events_config=None, kv_transfer_config=None, ec_transfer_config=None,
        speculative_config=None, num_speculative_tokens=0, use_v2_model_runner=False, max_concurrent_batches=1,
    )  # fmt: skip
