"""AWQ's linear method of a vLLM release, on CPU torch, with the release's own ``envs`` and ``matmul_batch_invariant``.

The method and the function are taken out of the release's files by ``ast``. Stubs stand for what needs a GPU alone: the
Triton kernel, and the two AWQ operations. Nothing is judged here.
"""

from __future__ import annotations

import ast
import functools
import importlib
import math
import types
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from patchctl.match import locate, splice
from tests.entries.grammar_entry import diffs_for
from tests.entries.mm_patched import read_release, release_files
from tests.wheels import RELEASES

ENTRY = "vllm-awq-batch-invariant"

QUANTIZATION = "vllm/model_executor/layers/quantization"
OLD_FILE, NEW_FILE = f"{QUANTIZATION}/awq.py", f"{QUANTIZATION}/auto_awq.py"
LINEAR_FILE = "vllm/model_executor/layers/linear.py"

SERVED = tuple(release for release in RELEASES if release != "0.19.1")
"""Releases whose AWQ knows the batch-invariant mode."""

PACKED = 8
"""Weights of 4 bits in an integer of 32."""

GROUP = 8
"""Rows of the weight that share a scale."""


def awq_file(release: str) -> tuple[str, str]:
    """Return the path of the file with AWQ's linear method, and the name of its class."""
    minor = int(release.split(".")[1])
    return (OLD_FILE, "AWQLinearMethod") if minor < 24 else (NEW_FILE, "AutoAWQLinearMethod")


def mode_module(release: str) -> str:
    """Return the dotted name of the module that the release has ``matmul_batch_invariant`` in."""
    (found,) = (
        f"vllm.model_executor.{folder}.batch_invariant"
        for folder in ("layers", "determinism")
        if f"vllm/model_executor/{folder}/batch_invariant.py" in release_files(release)
    )
    return found


@functools.cache
def awq_source(release: str, *, patched: bool) -> bytes:
    """Return the file with AWQ's linear method, with the diff in or as the wheel has it."""
    path, _ = awq_file(release)
    content = read_release(release, path)
    if not patched:
        return content
    (diff,) = diffs_for(release, ENTRY)
    assert diff.path == path
    result = splice(diff, content, locate(diff, content))
    assert result is not None
    return result


@functools.cache
def parse(source: bytes) -> ast.Module:
    """Parse a file, each one once."""
    return ast.parse(source)


def imported(source: bytes) -> dict[str, tuple[str, str]]:
    """Return what a module imports at its top level by ``from``: local name -> module and name in it."""
    nodes = [node for node in parse(source).body if isinstance(node, ast.ImportFrom) and node.module]
    return {alias.asname or alias.name: (str(node.module), alias.name) for node in nodes for alias in node.names}


@dataclass(kw_only=True)
class Layer:
    """A quantised layer and the method of a release that runs it.

    Attributes:
        calls: what was called, in order: "dequantize", "kernel" (the Triton kernel of the mode), "matmul", "gemm".
        shapes: of the operands of each call of "kernel" and "matmul".
        noting: whether the two above are kept; torch.compile would trace it.
    """

    release: str
    patched: bool
    calls: list[str] = field(default_factory=list)
    shapes: list[tuple[tuple[int, ...], ...]] = field(default_factory=list)
    noting: bool = True

    def __post_init__(self) -> None:
        torch = importlib.import_module("torch")
        generator = torch.Generator().manual_seed(3)
        rows, columns = 4 * GROUP, 2
        ints = functools.partial(torch.randint, 2**31 - 1, generator=generator, dtype=torch.int32)
        self.weights = SimpleNamespace(
            qweight=ints((rows, columns)),
            qzeros=ints((rows // GROUP, columns)),
            scales=torch.rand((rows // GROUP, columns * PACKED), generator=generator),
        )
        self.bias = torch.rand(columns * PACKED, generator=generator)
        self.width = rows
        self._method = SimpleNamespace(quant_config=SimpleNamespace(pack_factor=PACKED))
        self._apply = self._load(torch)

    def run(self, x: Any, bias: Any = None) -> Any:
        """Call the method's ``apply``."""
        return self._apply(self._method, self.weights, x, bias)

    def _note(self, call: str, *operands: Any) -> None:
        if self.noting:
            self.calls.append(call)
            if operands:
                self.shapes.append(tuple(tuple(it.shape) for it in operands))

    def _load(self, torch: Any) -> Any:
        source = awq_source(self.release, patched=self.patched)
        _, name = awq_file(self.release)
        known = {"torch": _Torch(torch, self._note), "ops": self._ops(torch), "envs": _envs(self.release)}
        wanted = imported(source)
        assert wanted["envs"] == ("vllm", "envs")
        if "matmul_batch_invariant" in wanted:
            module, function = wanted["matmul_batch_invariant"]
            known["matmul_batch_invariant"] = self._mode(torch, module)[function]
        return _definitions(source, [f"{name}.apply"], known)["apply"]

    def _mode(self, torch: Any, module: str) -> dict[str, Any]:
        """Return the release's functions from the module that the patched file imports, above the Triton kernel."""
        source = read_release(self.release, module.replace(".", "/") + ".py")
        product = _triton_product(torch)

        def kernel(a: Any, b: Any, bias: Any = None) -> Any:
            assert bias is None
            self._note("kernel", a, b)
            return product(a, b)

        given = {"torch": torch, "math": math, "matmul_persistent": kernel}
        return _definitions(source, ["mm_batch_invariant", "matmul_batch_invariant"], given)

    def _ops(self, torch: Any) -> SimpleNamespace:
        def unpack(packed: Any) -> Any:
            nibbles = [(packed >> (4 * place)) & 15 for place in range(PACKED)]
            return torch.stack(nibbles, dim=-1).reshape(packed.shape[0], -1)

        def weight(qweight: Any, scales: Any, qzeros: Any) -> Any:
            zeros = unpack(qzeros).repeat_interleave(GROUP, dim=0)
            return (unpack(qweight) - zeros) * scales.repeat_interleave(GROUP, dim=0)

        def dequantize(qweight: Any, scales: Any, qzeros: Any, *tuning: int) -> Any:
            assert tuning == (0, 0, 0)
            self._note("dequantize")
            return weight(qweight, scales, qzeros)

        def gemm(x: Any, qweight: Any, scales: Any, qzeros: Any, pack_factor: int) -> Any:
            assert pack_factor == PACKED
            self._note("gemm")
            return x @ weight(qweight, scales, qzeros)

        return SimpleNamespace(awq_dequantize=dequantize, awq_gemm=gemm)


@functools.cache
def _triton_product(torch: Any) -> Any:
    """Return a matrix product that stands in a compiled graph under a name of its own, as the Triton kernel does."""

    def triton_kernel(a: Any, b: Any) -> Any:
        return torch.mm(a, b)

    return torch.compiler.allow_in_graph(triton_kernel)


class _Torch:
    """Torch that tells of ``matmul``."""

    def __init__(self, torch: Any, note: Any) -> None:
        self.Tensor, self.nn = torch.Tensor, torch.nn
        self._torch, self._note = torch, note

    def matmul(self, a: Any, b: Any) -> Any:
        self._note("matmul", a, b)
        return self._torch.matmul(a, b)


@functools.cache
def _envs(release: str) -> types.ModuleType:
    """Return the release's ``vllm.envs``, which reads the environment whenever it is asked."""
    module = types.ModuleType("vllm.envs")
    exec(compile(read_release(release, "vllm/envs.py"), "vllm/envs.py", "exec", dont_inherit=True), module.__dict__)
    return module


def _definitions(source: bytes, names: list[str], given: dict[str, Any]) -> dict[str, Any]:
    """Execute functions of a module, methods as ``Class.method``; what the module does not define is left out."""
    tree = parse(source)
    picked: list[ast.stmt] = []
    for name in names:
        body: list[ast.stmt] = tree.body
        for part in name.split("."):
            found = next((node for node in body if getattr(node, "name", None) == part), None)
            body = getattr(found, "body", [])
        picked += [found] if found is not None else []
    namespace = dict(given)
    exec(compile(ast.Module(body=picked, type_ignores=[]), "<release>", "exec", dont_inherit=True), namespace)
    return namespace
