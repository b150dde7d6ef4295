"""What AWQ's linear method does in really patched releases, with ``VLLM_BATCH_INVARIANT`` set and without."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from tests.entries.awq_code import SERVED, Layer

torch: Any = pytest.importorskip("torch", reason="runs vLLM's functions with CPU torch")

pytestmark = [pytest.mark.torch, pytest.mark.wheels]

FEW, MANY = 5, 300
"""Rows below and above the 256 from which on AWQ dequantises in any case."""

CALLS = [(shape, biased) for shape in ((FEW,), (MANY,), (2, 3), (3, 100), (2, 2, 2)) for biased in (False, True)]
"""Shape of the input without its last dimension, and whether the layer has a bias."""

VARIABLE = "VLLM_BATCH_INVARIANT"


@pytest.fixture(params=SERVED)
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[None, "0", "1"])
def variable(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str | None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if request.param is not None:
        monkeypatch.setenv(VARIABLE, request.param)
    return str(request.param) if request.param is not None else None


def inputs(layer: Layer, *shape: int) -> Any:
    return torch.rand((*shape, layer.width), generator=torch.Generator().manual_seed(5)) - 0.5


def test_the_batch_invariant_product_is_taken_exactly_when_the_variable_is_set(
    release: str, variable: str | None
) -> None:
    for shape, biased in CALLS:
        layer = Layer(release=release, patched=True)
        x = inputs(layer, *shape)
        rows = x.numel() // layer.width
        out = layer.run(x, layer.bias if biased else None)

        if variable == "1":
            assert layer.calls == ["dequantize", "kernel"]
            assert layer.shapes == [((rows, layer.width), (layer.width, 16))]
        else:
            assert layer.calls == (["dequantize", "matmul"] if rows >= 256 else ["gemm"])
        assert out.shape == (*shape, 16)


def test_the_result_is_bit_for_bit_that_of_the_release(release: str, variable: str | None) -> None:
    for shape, biased in CALLS:
        patched, unpatched = (Layer(release=release, patched=patched) for patched in (True, False))
        results = [layer.run(inputs(layer, *shape), layer.bias if biased else None) for layer in (patched, unpatched)]

        assert torch.equal(*results)
        assert torch.count_nonzero(results[0])
        if variable == "1":
            assert unpatched.calls == ["dequantize", "matmul"], "the bug is not in this release"
        else:
            assert (patched.calls, patched.shapes) == (unpatched.calls, unpatched.shapes)


def test_neither_input_nor_weights_are_written_to(release: str, variable: str | None) -> None:
    layer = Layer(release=release, patched=True)
    x = inputs(layer, FEW)
    held = [x, layer.bias, *vars(layer.weights).values()]
    before = [it.clone() for it in held]
    layer.run(x, layer.bias)

    assert all(torch.equal(*pair) for pair in zip(held, before, strict=True)), variable


def graph_of(release: str, rows: int, *, patched: bool) -> tuple[str, list[str]]:
    """Compile the method as vLLM does, in one graph; return its code and the names of what it calls."""
    layer = Layer(release=release, patched=patched, noting=False)
    graphs: list[Any] = []

    def keep(graph: Any, _: object) -> Any:
        graphs.append(graph)
        return graph.forward

    torch.compiler.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = torch.compile(layer.run, backend=keep, fullgraph=True, dynamic=False)
        out = compiled(inputs(layer, rows), layer.bias)
    assert torch.equal(out, Layer(release=release, patched=patched).run(inputs(layer, rows), layer.bias))
    (graph,) = graphs
    called = [node.target for node in graph.graph.nodes if node.op == "call_function"]
    return graph.code, [getattr(target, "__name__", str(target)) for target in called]


@pytest.mark.parametrize("release", ["0.20.0", "0.23.0", "0.24.0", "0.28.0", "0.29.0", "0.33.0"])
@pytest.mark.parametrize("rows", [FEW, MANY])
def test_compiled_the_graph_has_the_kernel_with_the_variable_and_is_the_releases_own_without(
    release: str, rows: int, variable: str | None
) -> None:
    code, called = graph_of(release, rows, patched=True)
    original, original_calls = graph_of(release, rows, patched=False)

    assert "triton_kernel" not in original_calls
    if variable == "1":
        assert called.count("triton_kernel") == 1
        assert "matmul" not in called
        assert "matmul" in original_calls, "the bug is not in this release"
    else:
        assert code == original
        assert called == original_calls
