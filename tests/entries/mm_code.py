"""Runs functions of a vLLM release, taken out of its files by ``ast``, on CPU torch and without importing vLLM.

A function is executed with the globals it needs and nothing else: a name that the patch reads and that is not among
them fails. Nothing is judged here.
"""

from __future__ import annotations
import __future__

import ast
import bisect
import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

from tests.entries.mm_patched import (
    INPUTS_FILE,
    MERGE_FILE,
    MM_UTILS_FILE,
    V1_FILE,
    V2_FILE,
    patched_files,
    read_release,
)

Gathered = tuple[list[Any], Any]
"""Embeddings an item at a time, and the mask over the step's tokens."""


class Log:
    """Takes the place of vLLM's logger: keeps warnings as they would be printed, and knows no other level."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warning(self, message: str, *args: object) -> None:
        self.warnings.append(message % args)


def definitions(
    version: str, path: str, names: Sequence[str], given: Mapping[str, object], *, patched: bool = False
) -> dict[str, Any]:
    """Execute functions and classes of a file, methods as ``Class.method``, and return them by bare name.

    Annotations are not evaluated. A name that the file does not define is left out.
    """
    tree = parse(version, path, patched=patched)
    picked: list[ast.stmt] = [found for name in names if (found := _find(tree, name)) is not None]
    module = ast.Module(body=picked, type_ignores=[])
    code = compile(module, "<release>", "exec", flags=__future__.annotations.compiler_flag, dont_inherit=True)
    namespace: dict[str, Any] = dict(given)
    exec(code, namespace)
    return namespace


@functools.cache
def parse(version: str, path: str, *, patched: bool) -> ast.Module:
    """Return a file of the release, with or without the entry's diff; files it does not touch are the same."""
    return ast.parse(
        patched_files(version).get(path) or read_release(version, path) if patched else read_release(version, path)
    )


def _find(tree: ast.Module, name: str) -> ast.stmt | None:
    body: Sequence[ast.stmt] = tree.body
    found: ast.stmt | None = None
    for part in name.split("."):
        found = next((node for node in body if getattr(node, "name", None) == part), None)
        if found is None:
            return None
        body = getattr(found, "body", ())
    return found


def load_merge(version: str, log: Log, *, patched: bool = True) -> Callable[..., Any]:
    """Return ``_merge_multimodal_embeddings`` of the release."""
    torch = importlib.import_module("torch")
    names = ("_flatten_embeddings", "_embedding_count_expression", "_merge_multimodal_embeddings")
    given = {"torch": torch, "nn": torch.nn, "logger": log}
    loaded = definitions(version, MERGE_FILE, names, given, patched=patched)
    merge: Callable[..., Any] = loaded["_merge_multimodal_embeddings"]
    return merge


@dataclass(frozen=True, kw_only=True)
class Item:
    """A multimodal item of a prompt.

    Attributes:
        offset: its first token.
        length: how many tokens it takes.
        rows: what the encoder gave for it, a row an embedding.
        is_embed: which of its tokens are placeholders; None: all.
        name: under which its rows are cached; empty: one of its own.
    """

    offset: int
    length: int
    rows: Any
    is_embed: Any = None
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request by its name, with the number of tokens of its prompt and the items in it."""

    name: str
    tokens: int
    items: tuple[Item, ...]


@dataclass(frozen=True, kw_only=True)
class Window:
    """What a step does of a request: ``scheduled`` tokens, from token ``computed`` on."""

    request: Request
    computed: int
    scheduled: int


class Runner:
    """The gather of one release's model runner over an encoder cache that holds all items of the requests."""

    def __init__(self, version: str, requests: Sequence[Request], log: Log, *, patched: bool = True) -> None:
        torch = importlib.import_module("torch")
        self.version = version
        self.patched = patched
        range_needs = {"torch": torch, "dataclass": dataclass, "cached_property": cached_property, "__name__": __name__}
        placeholder_range = definitions(version, INPUTS_FILE, ("PlaceholderRange",), range_needs)["PlaceholderRange"]
        self.features: dict[str, list[Any]] = {}
        self.outputs: dict[str, Any] = {}
        for request in requests:
            self.features[request.name] = []
            for item in request.items:
                name = item.name or f"{request.name}@{item.offset}"
                place = placeholder_range(item.offset, item.length, item.is_embed)
                feature = SimpleNamespace(mm_position=place, identifier=name, modality="image")
                self.features[request.name].append(feature)
                self.outputs[name] = item.rows
        given = {"torch": _PlainTorch(torch), "logger": log, "PIN_MEMORY": False}
        names = ("get_mm_features_in_window", "set_mm_embedding_modality", "copy_mm_embedding_modality")
        given |= definitions(version, MM_UTILS_FILE, names, {"bisect": bisect})
        self._loaded = self._load(given)

    def _load(self, given: Mapping[str, object]) -> dict[str, Any]:
        raise NotImplementedError

    def gather(self, step: Sequence[Window], *, ahead: int = 0) -> Gathered:
        """Gather a step's embeddings; ``ahead`` is 1 for the drafter, whose tokens are one further."""
        raise NotImplementedError


class V1Runner(Runner):
    """``GPUModelRunner._gather_mm_embeddings``."""

    def _load(self, given: Mapping[str, object]) -> dict[str, Any]:
        methods = ("GPUModelRunner._gather_mm_embeddings", "GPUModelRunner._get_encoder_output_from_cache")
        return definitions(self.version, V1_FILE, methods, given, patched=self.patched)

    def gather(self, step: Sequence[Window], *, ahead: int = 0) -> Gathered:
        total = sum(window.scheduled for window in step)
        this = SimpleNamespace(
            input_batch=SimpleNamespace(req_ids=[window.request.name for window in step]),
            requests={
                window.request.name: SimpleNamespace(
                    num_computed_tokens=window.computed, mm_features=self.features[window.request.name]
                )
                for window in step
            },
            encoder_cache=self.outputs,
            is_multimodal_pruning_enabled=False,
            uses_mrope=False,
            is_mm_embed_idx=0,
            is_mm_embed_buffers=[_Buffer(total), _Buffer(total)],
        )
        if "_get_encoder_output_from_cache" in self._loaded:
            this._get_encoder_output_from_cache = self._loaded["_get_encoder_output_from_cache"].__get__(this)
        scheduled = {window.request.name: window.scheduled for window in step}
        output = SimpleNamespace(total_num_scheduled_tokens=total, num_scheduled_tokens=scheduled)
        gathered: Gathered = self._loaded["_gather_mm_embeddings"](this, output, shift_computed_tokens=ahead)
        return gathered


class V2Runner(Runner):
    """``EncoderRunner.gather_mm_embeddings``; one object over all steps, as in the engine."""

    def _load(self, given: Mapping[str, object]) -> dict[str, Any]:
        cache = SimpleNamespace(mm_features=self.features, encoder_outputs=self.outputs)
        self.this = SimpleNamespace(encoder_cache=cache, device="cpu", is_realtime=False)
        method = ("EncoderRunner.gather_mm_embeddings",)
        return definitions(self.version, V2_FILE, method, given, patched=self.patched)

    def gather(self, step: Sequence[Window], *, ahead: int = 0) -> Gathered:
        numpy = importlib.import_module("numpy")
        gather = self._loaded["gather_mm_embeddings"]
        computed = numpy.array([window.computed for window in step])
        scheduled = numpy.array([window.scheduled for window in step])
        extra = {}
        if ahead and "draft_lookahead" in gather.__code__.co_varnames:
            extra["draft_lookahead"] = ahead
        else:
            # Up to 0.23 the drafter's call differs from the target's in this figure alone.
            computed = computed + ahead
        gathered: Gathered = gather(
            self.this,
            [window.request.name for window in step],
            int(scheduled.sum()),
            scheduled,
            numpy.concatenate(([0], numpy.cumsum(scheduled))),
            numpy.array([window.request.tokens for window in step]),
            computed,
            **extra,
        )
        return gathered


class _PlainTorch:
    """Torch whose ``zeros`` never pins memory, which needs an accelerator."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._torch, name)

    def zeros(self, *size: int, pin_memory: bool = False, **options: Any) -> Any:
        return self._torch.zeros(*size, **options)


class _Buffer:
    """The pair of host and device tensor of 0.19.1; both are the host's here."""

    def __init__(self, size: int) -> None:
        torch = importlib.import_module("torch")
        self.cpu = torch.zeros(size, dtype=torch.bool)

    def copy_to_gpu(self, size: int) -> Any:
        return self.cpu[:size]


def watch_operations() -> Any:
    """Return a context that notes what reaches torch's dispatcher: every kernel, copy and synchronisation.

    ``names`` has the operations; ``index_kinds`` the element type of the index of each indexed assignment.
    """
    mode = importlib.import_module("torch.utils._python_dispatch").TorchDispatchMode

    def dispatch(watch: Any, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        watch.names.append(str(function))
        if "index_put" in str(function):
            watch.index_kinds.append(args[1][0].dtype)
        return function(*args, **(kwargs or {}))

    return type("Watch", (mode,), {"__torch_dispatch__": dispatch, "names": [], "index_kinds": []})()
