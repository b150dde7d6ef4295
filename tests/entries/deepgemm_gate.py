"""Runs ``is_deep_gemm_supported`` of a vLLM release, taken out of its file by ``ast``, on a host made of files.

Nothing of vLLM or torch is imported. The function sees real files, a real PATH and a real (fake) nvcc; what it asks
vLLM for is stood in for, and noted. Nothing is judged here.
"""

from __future__ import annotations

import ast
import functools
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.entries.grammar_entry import patched_files, wheel_files

ENTRY = "vllm-deepgemm-toolchain-gate"
FILE = "vllm/utils/deep_gemm.py"
ADDED = ("_missing_jit_tool", "_only_where_its_jit_works")
DEFAULT_HOME = "/usr/local/cuda"

VARIABLES = (
    "CUDA_HOME",
    "CUDA_PATH",
    "DG_JIT_CACHE_DIR",
    "DG_JIT_NVCC_COMPILER",
    "DG_JIT_USE_NVRTC",
    "DJ_JIT_NVCC_COMPILER",
    "NVCC_CCBIN",
)
"""What DeepGEMM, its JIT and nvcc read besides PATH."""

NVCC = """\
#!/bin/sh
echo "$@" >> "{log}"
command -v gcc > /dev/null || [ -n "$NVCC_CCBIN" ] || exit 1
"""
"""A compiler that, like nvcc, works where gcc is on PATH or named in NVCC_CCBIN, and notes how it is called."""

OLDER = SimpleNamespace(__name__="deep_gemm", _find_cuda_home=lambda: "")
NEWER = SimpleNamespace(__name__="deep_gemm")
"""DeepGEMM as imported: up to 2.6 it looks for the CUDA home in Python and knows NVRTC; 2.8 does neither."""


class Log:
    """Takes the place of vLLM's logger: keeps what it is told, and knows no other level."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warning_once(self, message: str, *args: object) -> None:
        assert all(hash(arg) is not None for arg in args)
        self.warnings.append(message % args)


class Host:
    """A machine without any tool: own PATH, CUDA home, caches and environment; tools are put in one by one."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.default_home = folder / "usr-local-cuda"
        self.vllm_cache = folder / "vllm-cache"
        self.calls = folder / "nvcc.log"
        self.patch = patch
        self.bin.mkdir()
        for name in VARIABLES:
            patch.delenv(name, raising=False)
        patch.setenv("PATH", str(self.bin))
        for name in ("deep_gemm", "vllm.third_party.deep_gemm"):
            patch.delitem(sys.modules, name, raising=False)

    def executable(self, path: Path, text: str = "#!/bin/sh\n") -> Path:
        """Write a program; return where it is."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    def nvcc(self, home: Path | None = None) -> Path:
        """Put nvcc into a CUDA home, or on PATH alone; return where it is."""
        return self.executable((home / "bin" if home else self.bin) / "nvcc", NVCC.format(log=self.calls))

    def toolkit(self, name: str = "cuda") -> Path:
        """Make a CUDA home with nvcc that no variable names; return it."""
        home = self.folder / name
        self.nvcc(home)
        return home

    def compilers(self, *names: str) -> None:
        """Put host compilers on PATH, by default both that nvcc wants."""
        for name in names or ("gcc", "g++"):
            self.executable(self.bin / name)

    def setenv(self, **variables: object) -> None:
        for name, value in variables.items():
            self.patch.setenv(name, str(value))

    def imported(self, module: object, name: str = "vllm.third_party.deep_gemm") -> None:
        """Make DeepGEMM one that was imported already."""
        self.patch.setitem(sys.modules, name, module)

    def cached_kernel(self, root: Path) -> None:
        """Put a compiled kernel into a cache, as either JIT does."""
        self.executable(root / "cache" / "kernel.fp8_gemm.0123" / "kernel.cubin")

    def nvcc_calls(self) -> list[str]:
        return self.calls.read_text().splitlines() if self.calls.exists() else []


class Vllm:
    """What ``is_deep_gemm_supported`` asks of vLLM; ``asked`` notes it in order."""

    def __init__(
        self, *, arch: bool = True, wanted: bool = True, module: bool = True, cuda: bool = True, cache: object = ""
    ) -> None:
        self.asked: list[str] = []
        self.log = Log()
        self.cuda = cuda
        self._answers = {"arch": arch, "wanted": wanted, "module": module}
        self._cache = str(cache)

    def ask(self, name: str) -> bool:
        self.asked.append(name)
        return self._answers[name]

    def names(self) -> dict[str, object]:
        """Return the globals of the function."""
        settings = {"VLLM_USE_DEEP_GEMM": property(lambda _: self.ask("wanted")), "VLLM_CACHE_ROOT": self._cache}
        platform = SimpleNamespace(support_deep_gemm=lambda: self.ask("arch"), is_cuda=lambda: self.cuda)
        return {
            "Callable": Callable,
            "current_platform": platform,
            "envs": type("Envs", (), settings)(),
            "functools": functools,
            "has_deep_gemm": lambda: self.ask("module"),
            "logger": self.log,
            "os": os,
        }


def load(version: str, vllm: Vllm, host: Host | None = None, *, patched: bool = True) -> Callable[[], bool]:
    """Return the function of the release, with its own empty cache; ``/usr/local/cuda`` is the host's."""
    wanted = (*ADDED, "is_deep_gemm_supported")
    body: list[ast.stmt] = [
        node for node in _parse(version, patched=patched).body if getattr(node, "name", None) in wanted
    ]
    module = ast.Module(body=body, type_ignores=[])
    if host is not None:
        # Through text, so that the parsed file, which is kept, stays as it is.
        module = _Moved(str(host.default_home)).visit(ast.parse(ast.unparse(module)))
    names: dict[str, Any] = dict(vllm.names())
    exec(compile(module, "<release>", "exec", dont_inherit=True), names)
    found: Callable[[], bool] = names["is_deep_gemm_supported"]
    return found


def files(version: str, *, patched: bool) -> Mapping[str, bytes]:
    """Return the files of upstream's release, with the entry's diff or without."""
    return patched_files(version, ENTRY) if patched else wheel_files(version)


@functools.cache
def _parse(version: str, *, patched: bool) -> ast.Module:
    return ast.parse(files(version, patched=patched)[FILE])


class _Moved(ast.NodeTransformer):
    """Puts the one place that is named absolutely into a folder of the test."""

    def __init__(self, home: str) -> None:
        self.home = home

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.copy_location(ast.Constant(self.home), node) if node.value == DEFAULT_HOME else node
