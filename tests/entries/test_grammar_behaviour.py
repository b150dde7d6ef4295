"""What a grammar that does not compile does to the engine, in the really patched files of released wheels."""

from __future__ import annotations

import inspect
import logging
import re
import time
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from tests.entries.grammar_doubles import ReadyAtSecondLook
from tests.entries.grammar_engine import LATE, MALFORMED, PANIC, SLOW, VALID, Engine, GrammarSyntaxError, release
from tests.entries.grammar_entry import AFFECTED, entry, patched_files, wheel_files

pytestmark = pytest.mark.wheels

Load = Callable[[str], ModuleType]
MODES = pytest.mark.parametrize("async_compilation", [True, False], ids=["async", "sync"])


@pytest.fixture(params=AFFECTED)
def patched(request: pytest.FixtureRequest) -> Iterator[Load]:
    """The patched modules of a release."""
    with release(patched_files(request.param)) as load:
        yield load


@pytest.fixture(params=AFFECTED)
def unpatched(request: pytest.FixtureRequest) -> Iterator[Load]:
    """The modules of a release as it was published."""
    with release(wheel_files(request.param)) as load:
        yield load


def test_without_the_patch_the_exception_leaves_the_engines_step(unpatched: Load) -> None:
    engine = Engine(unpatched, async_compilation=True)
    engine.add("valid", VALID)
    engine.step()
    engine.add("malformed", MALFORMED)
    engine.settle()
    with pytest.raises(GrammarSyntaxError):
        engine.step()


def test_without_the_patch_the_exception_leaves_add_request_when_compiling_synchronously(unpatched: Load) -> None:
    engine = Engine(unpatched, async_compilation=False)
    with pytest.raises(GrammarSyntaxError):
        engine.add("malformed", MALFORMED)


@MODES
def test_a_malformed_grammar_ends_its_request_with_an_error_and_no_other(
    patched: Load, async_compilation: bool
) -> None:
    engine = Engine(patched, async_compilation=async_compilation)
    engine.add("plain")
    engine.add("before", VALID)
    engine.settle()
    engine.step()
    engine.add("malformed", MALFORMED)
    engine.add("after", VALID)
    engine.settle()
    engine.step(6)
    assert engine.reasons() == {"plain": "length", "before": "length", "malformed": "error", "after": "length"}
    assert [engine.tokens(name) for name in ("plain", "before", "malformed", "after")] == [3, 3, 0, 3]
    assert_nothing_left(engine)


@MODES
def test_the_engine_is_idle_again_after_a_malformed_grammar_alone(patched: Load, async_compilation: bool) -> None:
    engine = Engine(patched, async_compilation=async_compilation)
    engine.add("malformed", MALFORMED)
    engine.settle()
    engine.step()
    assert engine.reasons() == {"malformed": "error"}
    engine.step()  # hands the finished id to the workers
    assert not engine.core.scheduler.has_requests()
    assert_nothing_left(engine)


def test_a_request_never_scheduled_holds_no_blocks_and_is_freed_once(patched: Load) -> None:
    engine = Engine(patched, async_compilation=False)
    request = engine.add("malformed", MALFORMED)
    scheduled = engine.core.scheduler.schedule()
    assert "malformed" not in scheduled.num_scheduled_tokens
    assert not engine.blocks
    engine.step()
    assert request.is_finished()
    assert engine.encoder_freed == ["malformed"]


@MODES
def test_several_malformed_grammars_in_one_step_each_reach_their_own_client(
    patched: Load, async_compilation: bool
) -> None:
    engine = Engine(patched, async_compilation=async_compilation)
    engine.add("one", MALFORMED, client=0)
    engine.add("valid", VALID, client=1)
    engine.add("two", MALFORMED, client=1)
    engine.settle()
    engine.step()
    failed = [(client, output.request_id) for client, output in engine.outputs if str(output.finish_reason) == "error"]
    assert sorted(failed) == [(0, "one"), (1, "two")]
    engine.step(3)
    assert engine.reasons()["valid"] == "length"
    assert_nothing_left(engine)


def test_priority_scheduling_passes_over_the_failed_request_too(patched: Load) -> None:
    engine = Engine(patched, async_compilation=False, policy="priority")
    engine.add("plain", priority=1)
    engine.add("malformed", MALFORMED, priority=0)
    engine.add("valid", VALID, priority=2)
    engine.step(4)
    assert engine.reasons() == {"plain": "length", "malformed": "error", "valid": "length"}
    assert_nothing_left(engine)


def test_the_client_is_told_once_when_several_steps_in_flight_see_the_failure(patched: Load) -> None:
    engine = Engine(patched, async_compilation=False, batch_queue=2)
    engine.add("plain")
    engine.add("malformed", MALFORMED)
    engine.step(8)
    assert [output.request_id for _, output in engine.outputs if str(output.finish_reason) == "error"] == ["malformed"]
    assert engine.reasons()["plain"] == "length"
    assert_nothing_left(engine)


def test_a_grammar_not_compiled_yet_keeps_its_request_waiting_and_nobody_else(patched: Load) -> None:
    engine = Engine(patched, async_compilation=True)
    engine.add("late", LATE)
    engine.add("slow", SLOW)
    engine.add("plain")
    engine.step(4)
    assert engine.reasons() == {"plain": "length"}
    engine.compiler.gate.set()
    engine.settle()
    engine.step(4)
    assert engine.reasons() == {"plain": "length", "late": "error", "slow": "length"}
    assert_nothing_left(engine)


def test_a_grammar_that_gets_ready_while_the_scheduler_looks_is_not_taken_for_a_failure(patched: Load) -> None:
    engine = Engine(patched, async_compilation=True)
    request = engine.add("valid", VALID)
    engine.settle()
    request.structured_output_request.grammar = ReadyAtSecondLook(request.structured_output_request.grammar)
    engine.step(5)
    assert engine.reasons() == {"valid": "length"}


def test_a_request_aborted_before_its_compilation_fails_does_no_harm(patched: Load) -> None:
    engine = Engine(patched, async_compilation=True)
    engine.add("late", LATE)
    engine.add("valid", VALID)
    engine.step()
    engine.core.abort_requests(["late"])
    engine.compiler.gate.set()
    engine.settle()
    engine.step(4)
    assert engine.compiler.compiled.count(LATE) == 1
    assert engine.reasons() == {"valid": "length"}
    assert_nothing_left(engine)


@MODES
def test_a_request_aborted_after_its_compilation_failed_does_no_harm(patched: Load, async_compilation: bool) -> None:
    engine = Engine(patched, async_compilation=async_compilation)
    engine.add("malformed", MALFORMED)
    engine.settle()
    engine.core.abort_requests(["malformed"])
    engine.add("valid", VALID)
    engine.settle()
    engine.step(4)
    assert engine.reasons() == {"valid": "length"}
    assert_nothing_left(engine)


def test_an_abort_between_schedule_and_update_wins_and_frees_once(patched: Load) -> None:
    engine = Engine(patched, async_compilation=False)
    engine.add("malformed", MALFORMED)
    engine.core.aborts_queue.put_nowait(["malformed"])  # the engine reads it while the model runs
    engine.step(2)
    assert engine.reasons() == {}
    assert engine.encoder_freed == ["malformed"]
    assert_nothing_left(engine)


def test_a_new_request_under_an_aborted_id_is_not_taken_for_the_failed_one(patched: Load) -> None:
    engine = Engine(patched, async_compilation=False)
    engine.add("again", MALFORMED)
    scheduled = engine.core.scheduler.schedule()
    engine.core.abort_requests(["again"])
    engine.add("again", VALID)
    engine.core.scheduler.update_from_output(scheduled, engine.core.model_executor.execute_model(scheduled).result())
    engine.step(4)
    assert engine.reasons() == {"again": "length"}
    assert engine.tokens("again") == 3
    assert_nothing_left(engine)


@MODES
def test_a_panic_of_a_rust_backend_is_contained_too(patched: Load, async_compilation: bool) -> None:
    engine = Engine(patched, async_compilation=async_compilation)
    engine.add("panic", PANIC)
    engine.settle()
    engine.step()
    assert engine.reasons() == {"panic": "error"}
    assert_nothing_left(engine)


@MODES
def test_a_timeout_raised_by_the_compiler_is_no_grammar_that_is_not_ready(
    patched: Load, async_compilation: bool
) -> None:
    engine = Engine(patched, async_compilation=async_compilation)
    engine.compiler.error = TimeoutError("took too long")
    engine.add("malformed", MALFORMED)
    engine.settle()
    engine.step()
    assert engine.reasons() == {"malformed": "error"}


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_during_a_synchronous_compilation_stays_an_interrupt(
    patched: Load, interrupt: type[BaseException]
) -> None:
    engine = Engine(patched, async_compilation=False)
    engine.compiler.error = interrupt()
    with pytest.raises(interrupt):
        engine.add("malformed", MALFORMED)


def test_request_statistics_of_the_failed_request_are_times_that_passed(patched: Load) -> None:
    engine = Engine(patched, async_compilation=False)
    engine.add("malformed", MALFORMED)
    engine.step()
    ((_, output),) = engine.outputs
    stats = patched("vllm.v1.metrics.stats")
    request, iteration = stats.RequestStateStats(arrival_time=time.time()), stats.IterationStats()
    timestamp = output.events[-1].timestamp + 0.5
    update = iteration.update_from_output
    length = (4,) if "prompt_len" in inspect.signature(update).parameters else ()  # until 0.19.1
    update(output, timestamp, True, *length, request, stats.LoRARequestStates(), None)
    finish = iteration.update_from_finished_request
    named = ("malformed",) if "request_id" in inspect.signature(finish).parameters else ()  # from 0.20.0 on
    finish(output.finish_reason, *named, 4, 3, request)
    (finished,) = iteration.finished_requests
    for name in ("queued_time", "prefill_time", "inference_time", "decode_time"):
        assert 0 <= getattr(finished, name) < 60, name


@MODES
def test_one_warning_a_hit_matches_the_signal_and_quotes_no_grammar(
    patched: Load, async_compilation: bool, caplog: pytest.LogCaptureFixture
) -> None:
    engine = Engine(patched, async_compilation=async_compilation)
    with caplog.at_level(logging.INFO):
        engine.add("valid", VALID)
        engine.add("malformed", MALFORMED)
        engine.settle()
        engine.step(5)
    (record,) = (record for record in caplog.records if record.name.startswith("vllm"))
    signal = entry().signal
    assert signal is not None
    found = re.search(signal.log, record.getMessage())
    assert found is not None
    assert found["error"] == "GrammarSyntaxError"
    assert record.levelno == logging.WARNING
    assert MALFORMED not in caplog.text
    assert record.exc_info is None


@pytest.mark.parametrize("version", AFFECTED)
@MODES
def test_requests_whose_grammars_compile_are_served_as_without_the_patch(version: str, async_compilation: bool) -> None:
    served = [_serve(files, async_compilation) for files in (wheel_files(version), patched_files(version))]
    assert served[0] == served[1]
    assert len(served[0]) == 9


def _serve(files: Any, async_compilation: bool) -> list[tuple[int, str, list[int], str]]:
    with release(files) as load:
        engine = Engine(load, async_compilation=async_compilation)
        engine.add("plain")
        engine.add("valid", VALID)
        engine.add("other", VALID, client=1)
        engine.settle()
        engine.step(5)
    return [(client, out.request_id, out.new_token_ids, str(out.finish_reason)) for client, out in engine.outputs]


def assert_nothing_left(engine: Engine) -> None:
    """No request, no block, no queue entry and no note of a failure is left behind."""
    scheduler = engine.core.scheduler
    assert not engine.blocks
    assert not scheduler.requests
    assert not scheduler.running
    assert not scheduler.waiting
    assert not scheduler.skipped_waiting
    assert not scheduler.grammar_failed_reqs
