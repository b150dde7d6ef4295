"""An EngineCore of a vLLM release on a CPU without torch: its real scheduler, queues, requests and grammar manager.

Real are the modules of ``REAL``, executed from the bytes given. Stood in for are the model (every scheduled request
gets one token), the KV cache manager (it counts who holds blocks) and the grammar compiler (it does what the spec
says). Nothing here knows whether the release is patched.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from types import ModuleType, SimpleNamespace
from typing import Any

from tests.entries.grammar_doubles import EXTRA, Bitmask, Grammar, Model, engine_config
from tests.entries.grammar_stubs import imported

REAL = (
    "vllm/v1/core/sched/interface.py",
    "vllm/v1/core/sched/output.py",
    "vllm/v1/core/sched/request_queue.py",
    "vllm/v1/core/sched/scheduler.py",
    "vllm/v1/core/sched/utils.py",
    "vllm/v1/engine/__init__.py",
    "vllm/v1/engine/core.py",
    "vllm/v1/metrics/stats.py",
    "vllm/v1/request.py",
    "vllm/v1/structured_output/__init__.py",
    "vllm/v1/structured_output/backend_types.py",
    "vllm/v1/structured_output/request.py",
)

VALID = 'root ::= "yes" | "no"'
MALFORMED = "root ::= malformed"
PANIC = "root ::= panic"
LATE = "root ::= late malformed"
SLOW = "root ::= slow"
"""Grammars, as the compiler below understands them; LATE (malformed) and SLOW (valid) wait until its gate opens."""


class GrammarSyntaxError(RuntimeError):
    """What the compiler raises; its text quotes the grammar, as xgrammar's does."""


class PanicException(BaseException):
    """What a panic in a Rust extension arrives as."""


class Compiler:
    """The only backend of the manager: a grammar compiles, or raises, as its text says."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.compiled: list[str] = []
        self.error: BaseException | None = None

    def compile_grammar(self, request_type: object, grammar_spec: str) -> object:
        if grammar_spec in {LATE, SLOW} and not self.gate.wait(timeout=30):
            raise AssertionError("the test did not open the gate")
        self.compiled.append(grammar_spec)
        if grammar_spec in {MALFORMED, LATE}:
            raise self.error or GrammarSyntaxError(f"EBNF parser error in {grammar_spec!r}")
        if grammar_spec == PANIC:
            raise PanicException("index out of bounds")
        return Grammar()

    def allocate_token_bitmask(self, rows: int) -> object:
        return Bitmask(rows)


class Engine:
    """One engine of one release.

    Attributes:
        core: the real ``EngineCore``, made without its constructor (that loads a model).
        compiler: its grammar compiler.
        blocks: ids of the requests that hold KV blocks.
        encoder_freed: ids of the requests whose encoder cache was freed.
        outputs: (client index, ``EngineCoreOutput``) of everything sent so far.
    """

    def __init__(
        self,
        load: Callable[[str], ModuleType],
        *,
        async_compilation: bool,
        batch_queue: int = 1,
        policy: str = "fcfs",
    ) -> None:
        self.compiler = Compiler()
        self.blocks: set[str] = set()
        self.encoder_freed: list[str] = []
        self.outputs: list[tuple[int, Any]] = []
        self._compilations: list[Future[object]] = []
        self._load = load
        self._config = engine_config(async_compilation=async_compilation, policy=policy)
        manager = load("vllm.v1.structured_output").StructuredOutputManager(self._config)
        manager.backend = self.compiler
        self.core = self._core(manager, batch_queue)

    def add(self, request_id: str, grammar: str | None = None, *, client: int = 0, priority: int = 0) -> Any:
        """Hand a request in as the input thread and then the engine's loop do; return the engine's ``Request``."""
        spec = {"json": None, "regex": None, "choice": None, "json_object": None, "structural_tag": None}
        structured = None if grammar is None else _Structured(**spec, grammar=grammar)
        params = SimpleNamespace(
            max_tokens=3, min_tokens=0, structured_outputs=structured, eos_token_id=None, stop_token_ids=None,
            repetition_detection=None, logprobs=None, num_logprobs=None, extra_args=None,
            skip_reading_prefix_cache=None,
        )  # fmt: skip
        wire = SimpleNamespace(
            request_id=request_id, client_index=client, priority=priority, sampling_params=params, pooling_params=None,
            prompt_token_ids=[1, 2, 3, 4], prompt_embeds=None, prompt_is_token_ids=None, mm_features=None,
            arrival_time=1.0, lora_request=None, cache_salt=None, trace_headers=None, resumable=False,
            reasoning_ended=None, reasoning_parser_kwargs=None, abort_immediately=False, current_wave=0,
        )  # fmt: skip
        request, wave = self.core.preprocess_add_request(wire)
        if grammar is not None and isinstance(compilation := request.structured_output_request._grammar, Future):
            self._compilations.append(compilation)
        self.core.add_request(request, wave)
        return request

    def step(self, times: int = 1) -> None:
        """Let the engine's own step function run, and keep what it would send to its clients."""
        for _ in range(times):
            sent, _ = self.core.step_fn()
            for client, message in (sent or {}).items():
                self.outputs += [(client, output) for output in message.outputs]

    def settle(self) -> None:
        """Wait until every compilation submitted so far has ended."""
        assert not wait(self._compilations, timeout=30).not_done

    def reasons(self) -> dict[str, str]:
        """Return request id -> finish reason of every request whose end was sent to a client."""
        return {output.request_id: str(output.finish_reason) for _, output in self.outputs if output.finished}

    def tokens(self, request_id: str) -> int:
        """Return how many tokens of a request were sent."""
        return sum(len(output.new_token_ids) for _, output in self.outputs if output.request_id == request_id)

    def _core(self, manager: object, batch_queue: int) -> Any:
        module = self._load("vllm.v1.engine.core")
        scheduler = self._load("vllm.v1.core.sched.scheduler").Scheduler(
            vllm_config=self._config,
            kv_cache_config=SimpleNamespace(kv_cache_groups=[], has_mamba_layers=False, needs_kv_cache_zeroing=False),
            structured_output_manager=manager,
            block_size=16,
            mm_registry=SimpleNamespace(supports_multimodal_inputs=lambda config: False),
            include_finished_set=True,
            log_stats=True,
        )
        scheduler.kv_cache_manager.holders = self.blocks
        scheduler.encoder_cache_manager.freed = self.encoder_freed
        core = object.__new__(module.EngineCore)
        core.scheduler, core.structured_output_manager, core.vllm_config = scheduler, manager, self._config
        core.model_executor, core.mm_receiver_cache, core.request_block_hasher = Model(), None, None
        core.is_pooling_model, core.is_ec_consumer, core.use_spec_decode = False, True, False
        core.check_for_draft_tokens, core.async_scheduling = False, False
        core.aborts_queue = module.queue.Queue()
        core.batch_queue_size = batch_queue
        core.batch_queue = module.deque(maxlen=batch_queue) if batch_queue > 1 else None
        core.step_fn = core.step if core.batch_queue is None else core.step_with_batch_queue
        return core


@contextlib.contextmanager
def release(files: Mapping[str, bytes]) -> Iterator[Callable[[str], ModuleType]]:
    """While the context is open, ``Engine`` can be made from the files of one release (path -> bytes)."""
    with imported(files, REAL, EXTRA) as load:
        yield load


class _Structured(SimpleNamespace):
    """Stands for StructuredOutputsParams."""

    def all_constraints_none(self) -> bool:
        return False
