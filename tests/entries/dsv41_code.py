"""Runs DeepSeek-V4.1's metadata builders of a vLLM release, and the release's own code that asks them.

The builders' files are executed whole, with the entry's diff in or without it, over the release's own base classes.
Whatever else they import is a stand-in, and so is torch: an import that the patch forgot fails as it would in vLLM.
The callers are taken out of their files by ``ast``. Nothing is judged here.
"""

from __future__ import annotations

import abc
import builtins
import enum
import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

from tests.entries.grammar_entry import patched_files
from tests.entries.mm_code import definitions
from tests.entries.mm_patched import read_release

ENTRY = "vllm-dsv41-cudagraph-uniform-batch"

MODEL = "vllm.models.deepseek_v41"
BACKEND = "vllm.v1.attention.backend"
SWA = "vllm.v1.attention.backends.mla.sparse_swa"
SPARSE, FLASHMLA, FLASHINFER, COMPRESSOR = (
    f"{MODEL}.{name}" for name in ("sparse_mla", "nvidia.flashmla", "nvidia.flashinfer_sparse", "compressor")
)

BACKENDS = {
    "flashmla": (
        (SPARSE, "DeepseekV4FlashMLABackend"),
        (FLASHMLA, "DeepseekSparseSWAFlashMLABackend"),
        (COMPRESSOR, "CompressorBackend"),
    ),
    "flashmla mega": (
        (SPARSE, "FlashMLAMegaAttnBackend"),
        (FLASHMLA, "DeepseekSparseSWAFlashMLABackend"),
        (COMPRESSOR, "CompressorBackend"),
    ),
    "flashinfer": (
        (FLASHINFER, "DeepseekV4FlashInferMLASparseBackend"),
        (FLASHINFER, "DeepseekSparseSWAFlashInferBackend"),
        (COMPRESSOR, "CompressorBackend"),
    ),
}
"""The attention backends of the model's layers on CUDA, for each way to compute attention."""

BASES = ((SPARSE, "DeepseekV4SparseMLAMetadataBuilder"), (SPARSE, "DeepseekV41SparseSWAMetadataBuilder"))
"""Builders whose children on ROCm the entry leaves alone."""

ATTENTION_FILE = "vllm/v1/worker/gpu/attn_utils.py"
ADAPTIVE_FILE = "vllm/v1/worker/gpu/spec_decode/adaptive_verification.py"
MODES_FILE = "vllm/config/compilation.py"

_EXECUTED = frozenset({BACKEND, SWA, SPARSE, FLASHMLA, FLASHINFER, COMPRESSOR})


class _Anything(abc.ABCMeta):
    """The class of stand-ins: every attribute is another one, and calling one or subscribing it gives one."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _stand_in(name)

    def __call__(cls, *args: object, **kwargs: object) -> Any:
        return _stand_in("called") if "stand_in" in vars(cls) else super().__call__(*args, **kwargs)

    def __getitem__(cls, key: object) -> Any:
        return cls


def _stand_in(name: str) -> Any:
    return _Anything(name, (), {"stand_in": True})


class _Module(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _stand_in(name)


class Release:
    """The model's modules of one release, with the entry's diff in or without it."""

    def __init__(self, version: str, *, patched: bool) -> None:
        self.version = version
        self._files: Mapping[str, bytes] = patched_files(version, ENTRY) if patched else {}
        self._modules: dict[str, ModuleType] = {}
        self.builtins = {**vars(builtins), "__import__": self._import}
        self._callers: dict[str, Any] = {}

    def take(self, module: str, name: str) -> Any:
        """Return a name of one of the executed modules."""
        return getattr(self._module(module), name)

    def groups(self, attention: str) -> list[list[Any]]:
        """Return the attention groups of a model, as the runner holds them: each asks its backend for its builder."""
        found = []
        for module, name in BACKENDS[attention]:
            backend = self.take(module, name)
            found.append([group(backend, backend.get_builder_cls())])
        return found

    def caller(self, name: str) -> Any:
        """Return a function or class of the runner that asks builders, or decides by what they say."""
        if not self._callers:
            self._callers = self._load_callers()
        return self._callers[name]

    def resolve(self, mode: str, support: Any, *, pieces: bool = True) -> str:
        """Return what the release's configuration makes of a ``cudagraph_mode``, by name.

        ``pieces``: attention is a piece of its own, as it is with VLLM_COMPILE.
        """
        modes = self.caller("CUDAGraphMode")
        configuration = SimpleNamespace(cudagraph_mode=modes[mode], splitting_ops_contain_attention=lambda: pieces)
        resolved = self.caller("resolve_cudagraph_mode_and_sizes")(
            configuration, support, "some backend", uniform_decode_query_len=6, use_v2_model_runner=True
        )
        assert configuration.cudagraph_mode is resolved
        name: str = resolved.name
        return name

    def _load_callers(self) -> dict[str, Any]:
        given: dict[str, object] = {
            "__builtins__": self.builtins,
            "__name__": __name__,
            "dataclass": dataclass,
            "enum": enum,
            "AttentionCGSupport": self.take(BACKEND, "AttentionCGSupport"),
            "logger": logging.getLogger(__name__),
            "AdaptiveVerificationManager": lambda *args, **kwargs: ("adaptive", kwargs["max_total_logits"]),
        }
        picked: dict[str, Sequence[str]] = {
            MODES_FILE: ("CUDAGraphMode", "CompilationConfig.resolve_cudagraph_mode_and_sizes"),
            ATTENTION_FILE: (
                "AttentionCGSupportInfo",
                "get_attn_cg_support",
                "get_query_lens_mismatch_unsupported_backend",
                "get_varlen_cudagraph_unsupported_backend",
            ),
            ADAPTIVE_FILE: ("resolve_adaptive_cudagraph_mode", "maybe_create_adaptive_verification_manager"),
        }
        for path, names in picked.items():
            given = definitions(self.version, path, names, given)
        return given

    def _module(self, name: str) -> ModuleType:
        if name not in self._modules:
            path = name.replace(".", "/") + ".py"
            # Under this module's name: dataclasses looks the module of a class up among the imported ones.
            self._modules[name] = module = ModuleType(__name__)
            vars(module)["__builtins__"] = self.builtins
            source = self._files.get(path) or read_release(self.version, path)
            exec(compile(source, path, "exec", dont_inherit=True), vars(module))
        return self._modules[name]

    def _import(self, name: str, *scope: Any) -> ModuleType:
        """Take the place of ``__import__``; ``scope`` is globals, locals, the names wanted, and the level."""
        if name in _EXECUTED:
            return self._module(name)
        if name.partition(".")[0] in sys.stdlib_module_names:
            return __import__(name, *scope)
        return _Module(name)


def group(backend: Any, builder: Any) -> Any:
    """Return an attention group, as far as the runner's questions about CUDA graphs go."""
    return SimpleNamespace(
        backend=backend, layer_names=["a layer"], kv_cache_spec=None, get_metadata_builder=lambda index: builder
    )


def configuration(tokens: int | None, *, v2: bool = True, parallel: bool = False) -> Any:
    """Return vLLM's configuration with ``tokens`` speculative tokens; None: without speculative decoding."""
    speculative = SimpleNamespace(
        num_speculative_tokens=tokens, parallel_drafting=parallel, enable_adaptive_verification=True
    )
    return SimpleNamespace(speculative_config=None if tokens is None else speculative, use_v2_model_runner=v2)
