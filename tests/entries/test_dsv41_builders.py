"""What DeepSeek-V4.1's builders answer, and what the runner makes of it: the releases' own code, patched and not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.entries.dsv41_code import BACKENDS, BASES, Release, configuration, group

pytestmark = pytest.mark.wheels

VERSIONS = ("0.31.0", "0.32.0", "0.33.0")
MODES = ("FULL", "FULL_AND_PIECEWISE", "FULL_DECODE_ONLY", "PIECEWISE", "NONE")


@pytest.fixture(scope="module", params=VERSIONS)
def patched(request: pytest.FixtureRequest) -> Release:
    return Release(request.param, patched=True)


@pytest.fixture(scope="module", params=VERSIONS)
def released(request: pytest.FixtureRequest) -> Release:
    return Release(request.param, patched=False)


def answers(release: Release, attention: str, configuration: Any) -> dict[str, tuple[str, int | None]]:
    found = {}
    for (held,) in release.groups(attention):
        builder = held.get_metadata_builder(0)
        support = builder.get_cudagraph_support(configuration, held.kv_cache_spec)
        width = builder.get_varlen_cudagraph_max_query_len(configuration, held.kv_cache_spec)
        found[builder.__name__] = (support.name, width)
    return found


@pytest.mark.parametrize("attention", BACKENDS)
def test_released_builders_promise_a_graph_for_any_batch(released: Release, attention: str) -> None:
    assert set(answers(released, attention, configuration(5)).values()) == {("ALWAYS", None)}


@pytest.mark.parametrize("attention", BACKENDS)
@pytest.mark.parametrize(("tokens", "width"), [(None, 1), (1, 2), (5, 6), (7, 8)])
def test_patched_builders_promise_decode_batches_and_say_how_wide(
    patched: Release, attention: str, tokens: int | None, width: int
) -> None:
    found = answers(patched, attention, configuration(tokens))

    assert len(found) == 3
    assert set(found.values()) == {("UNIFORM_BATCH", width)}


def test_the_width_is_the_releases_own_and_not_a_copy_of_it(patched: Release) -> None:
    first_runner = configuration(5, v2=False, parallel=True)
    own = patched.take("vllm.v1.attention.backend", "max_decode_query_len")(first_runner)

    assert own == 11
    assert set(answers(patched, "flashmla", first_runner).values()) == {("UNIFORM_BATCH", own)}


@pytest.mark.parametrize(("module", "name"), BASES)
def test_what_rocm_builders_inherit_is_left_alone(patched: Release, module: str, name: str) -> None:
    builder = patched.take(module, name)

    assert builder.get_cudagraph_support(configuration(5), None).name == "UNIFORM_BATCH"
    assert builder.get_varlen_cudagraph_max_query_len(configuration(5), None) is None


@pytest.mark.parametrize("attention", BACKENDS)
def test_the_runner_finds_the_weakest_support(patched: Release, attention: str) -> None:
    groups = patched.groups(attention)
    found = patched.caller("get_attn_cg_support")(groups, configuration(5))

    assert found.min_cg_support.name == "UNIFORM_BATCH"
    assert found.min_cg_attn_backend == groups[0][0].backend.__name__


@pytest.mark.parametrize("attention", BACKENDS)
@pytest.mark.parametrize("bonus", [1, 2])
def test_adaptive_verification_starts_with_the_graphs_it_captures_and_with_no_wider_ones(
    patched: Release, attention: str, bonus: int
) -> None:
    if bonus == 1:
        assert start_adaptive(patched, patched.groups(attention), bonus) == ("adaptive", 4096)
        return
    with pytest.raises(ValueError, match=r"vary up to 7, but \w+ allows at most 6"):
        start_adaptive(patched, patched.groups(attention), bonus)


def test_released_builders_are_asked_for_no_width(released: Release) -> None:
    assert start_adaptive(released, released.groups("flashmla"), 2) == ("adaptive", 4096)


def test_a_builder_that_declares_decode_batches_and_no_width_would_switch_adaptive_verification_off(
    patched: Release,
) -> None:
    builder = patched.take(*BASES[0])
    backend = type("Bare", (), {"supports_device_cpu_query_lens_mismatch": staticmethod(lambda: True)})

    with pytest.raises(ValueError, match="Bare allows none"):
        start_adaptive(patched, [*patched.groups("flashmla"), [group(backend, builder)]], 1)


def start_adaptive(release: Release, groups: list[list[Any]], bonus: int) -> Any:
    """Start adaptive verification as the runner does, for five speculative tokens and ``bonus`` more a request."""
    return release.caller("maybe_create_adaptive_verification_manager")(
        enable_adaptive_verification=True,
        attn_groups=groups,
        req_states=SimpleNamespace(num_speculative_steps=5),
        query_start_loc=None,
        num_bonus_tokens=bonus,
        max_total_logits=4096,
        vllm_config=configuration(5),
    )


@pytest.mark.parametrize("attention", BACKENDS)
def test_full_graphs_of_mixed_batches_are_given_up_and_no_other_mode_changes(patched: Release, attention: str) -> None:
    support = patched.caller("get_attn_cg_support")(patched.groups(attention), configuration(5)).min_cg_support

    assert [patched.resolve(mode, support) for mode in MODES] == ["FULL_AND_PIECEWISE", *MODES[1:]]
    assert [patched.resolve(mode, support, pieces=False) for mode in MODES] == ["FULL_DECODE_ONLY", *MODES[1:]]


def test_as_released_every_mode_stands_the_full_graph_of_mixed_batches_too(released: Release) -> None:
    support = released.caller("get_attn_cg_support")(released.groups("flashmla"), configuration(5)).min_cg_support

    assert [released.resolve(mode, support) for mode in MODES] == list(MODES)


@pytest.mark.parametrize("mode", MODES[:3])
@pytest.mark.parametrize("pieces", [True, False])
def test_adaptive_verification_takes_full_from_nobody(released: Release, mode: str, pieces: bool) -> None:
    modes = released.caller("CUDAGraphMode")
    chosen = released.caller("resolve_adaptive_cudagraph_mode")(modes[mode], piecewise_capture_available=pieces)

    assert chosen.mixed_mode().name != "FULL"
    assert chosen.decode_mode().name == "FULL"
