"""What advice may do to a launch. Advice comes from a registry, is shown to operators and pasted into start scripts.

It must not be able to do more than switch a feature of the service: options and variables are those that are listed
here, none of which loads code, reads a file, opens the service or holds a secret; values are plain words, and no word
may mean more to a shell, to systemd or to compose than itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from patchctl.launch.json_text import leaves, read_object
from patchctl.launch.options import parse_options
from patchctl.launch.values import Item, Word

_PREFIXES = (
    "AITER_",
    "ASCEND_",
    "CUBLAS_",
    "CUDA_",
    "CUDNN_",
    "DG_",
    "FLASHINFER_",
    "GLOO_",
    "HF_HUB_",
    "HIP_",
    "HSA_",
    "KMP_",
    "MIOPEN_",
    "MKL_",
    "NCCL_",
    "NVTE_",
    "OMP_",
    "OPENBLAS_",
    "PYTORCH_",
    "RAY_",
    "RCCL_",
    "ROCM_",
    "ROCR_",
    "TOKENIZERS_",
    "TORCH_",
    "TORCHINDUCTOR_",
    "TRANSFORMERS_",
    "TRITON_",
    "UCX_",
    "VLLM_",
    "XGRAMMAR_",
)
"""Beginnings of variables that advice may set: those of the libraries that inference services are made of. A variable
that begins with the name of the entry's own distribution is allowed as well."""

_SECRET = re.compile(r"API_?KEY|TOKEN(?!IZER)|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_LEADING_WORDS = """
ADDR ADDRESS COMPILER DEV ENDPOINT HOOK HOST INJECTION INJECTION64 INSECURE IP LIB LIBRARIES LIBRARY LOGDEST NVCC OUT
PLUGIN PLUGINS PORT PRELOAD PTXAS REDIRECT REDIRECTS RUNTIME SERIALIZATION SERVER SO TRACE URI URL
"""
_LEADING = frozenset(_LEADING_WORDS.split())
"""Words in names of variables that load code, run a program, write a file, or lead to another host."""
_ALONE = frozenset({"VLLM_CONFIGURE_LOGGING", "VLLM_USE_MODELSCOPE", "VLLM_DEBUG_LOG_API_SERVER_RESPONSE"})
"""Variables that nothing in their names gives away: they silence the log, load from elsewhere, or show answers."""
_PLACES = frozenset({"DIR", "FILE", "HOME", "PATH", "ROOT"})
_PATHS = ("/usr/", "/opt/")
"""Below these only root puts files: where a toolkit may lie that a variable names."""

_MAY_GIVE_NAMES = """
all2all-backend async-scheduling attention-backend attention-config block-size calculate-kv-scales compilation-config
cp-kv-cache-interleave-size cpu-offload-gb cudagraph-capture-sizes data-parallel-size data-parallel-size-local
dbo-decode-token-threshold dbo-prefill-token-threshold dcp-comm-backend dcp-kv-cache-interleave-size dcp-q-replicate
decode-context-parallel-size disable-cascade-attn disable-chunked-mm-input disable-custom-all-reduce
disable-hybrid-kv-cache-manager disable-nccl-for-dp-synchronization disable-sliding-window
distributed-executor-backend distributed-timeout-seconds dtype enable-batch-sharded-sampling
enable-bf16x3-router-gemm enable-chunked-prefill enable-cumem-allocator enable-dbo enable-ep-weight-filter enable-eplb
enable-expert-parallel enable-flash-late-interaction enable-flashinfer-autotune enable-hc-sp enable-lora
enable-mamba-cache-stochastic-rounding enable-mamba-fine-grained-prefix-cache enable-mamba-shared-prefix-checkpoint
enable-mixed-moe-lora-format enable-moe-shared-loras enable-nccl-comm-suspend enable-prefix-caching
enable-shm-tensor-arena enable-tower-connector-lora enforce-eager eplb-config exclude-tools-when-tool-choice-none
expert-placement-strategy fully-sharded-loras gdn-prefill-backend gpu-memory-utilization interleave-mm-strings
ir-op-priority kda-decode-backend kda-prefill-backend kernel-config kv-cache-dtype kv-cache-dtype-skip-layers
kv-cache-memory-bytes kv-sharing-fast-prefill language-model-only limit-mm-per-prompt linear-backend logprobs-mode
long-prefill-token-threshold long-prefill-token-threshold-adaptive lora-dtype mamba-backend mamba-block-size
mamba-cache-dtype mamba-cache-mode mamba-cache-philox-rounds mamba-ssm-cache-dtype mamba-ssu-algorithm max-cpu-loras
max-cudagraph-capture-size max-logprobs max-long-partial-prefills max-lora-rank max-loras max-model-len
max-num-active-seqs max-num-batched-tokens max-num-partial-prefills max-num-queued-reqs max-num-queued-tokens
max-num-scheduled-tokens max-num-seqs max-parallel-loading-workers mm-device-do-normalize mm-encoder-attn-backend
mm-encoder-attn-dtype mm-encoder-only mm-encoder-tp-mode mm-ipc-gpu-memory-gb mm-processor-cache-gb
mm-processor-cache-type mm-processor-device mm-processor-kwargs mm-shm-cache-max-object-size-mb mm-tensor-ipc
model-impl moe-backend monokernel num-gpu-blocks-override offload-backend offload-group-size offload-num-in-group
offload-prefetch-step optimization-level override-attention-dtype override-generation-config performance-mode
pipeline-parallel-size pooler-config prefill-context-parallel-size prefill-schedule-interval
prefix-cache-retention-interval prefix-caching-hash-algo prefix-match-unit quantization reasoning-parser
renderer-num-workers replayssm-buffer-len runner safetensors-load-strategy scheduler-reserve-full-isl
scheduling-policy seed skip-mm-profiling sleep-mode-offload-cudagraph sparse-indexer-topk-backend
specialize-active-lora spec-method spec-tokens speculative-config stream-interval structured-outputs-config
swa-bounded-replay tensor-parallel-size tokenizer-mode tool-call-parser ubatch-size use-fp64-gumbel use-replayssm
use-tqdm-on-load video-pruning-method video-pruning-rate
"""
_MAY_GIVE = frozenset(f"--{name}" for name in _MAY_GIVE_NAMES.split())
"""Options that switch features and limits of the engine."""

_MAY_DROP_NAMES = """
ec-transfer-config enable-log-outputs enable-log-requests enable-mm-embeds enable-prompt-embeds enable-sleep-mode
kv-events-config kv-offloading-backend kv-offloading-size kv-transfer-config load-format logits-processors lora-modules
spec-model trust-remote-code trust-request-chat-template trust-request-mm-kwargs
"""
_MAY_DROP = _MAY_GIVE | frozenset(f"--{name}" for name in _MAY_DROP_NAMES.split())
"""Options without which a launch does less, and protects no less."""

_META = re.compile(r"[;|&$`<>()\\'%~!#*?^\x00-\x1f\x7f]|[^\x00-\x7f]")
_OPTION = re.compile(r"-{1,2}[A-Za-z0-9][A-Za-z0-9_.-]*\Z")
_MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\.[A-Za-z_]|::")
_LOADING = re.compile(
    r"(?:^|[_.-])(?:model|models|tokenizer|revision|path|module|cls|class|plugins?|pass|passes|hook|ur[il]|host|ip"
    r"|addr|address|port|dir|directory|file|root|code|token|key|password|secret)(?:$|[_.-])",
    re.IGNORECASE,
)
"""Keys of objects that name what is loaded, from where, or a secret."""


class AdviceProblem(NamedTuple):
    """What is wrong with a word of an advice.

    Attributes:
        at: index of the word among the arguments.
        text: what is wrong, as a clause.
    """

    at: int
    text: str


def variable_problem(name: str, value: str, distributions: Sequence[str]) -> str | None:
    """Return why advice may not set a variable; None: it may. ``distributions``: those that the entry is for."""
    own = tuple(distribution.upper().replace("-", "_") + "_" for distribution in distributions)
    if not name.startswith((*_PREFIXES, *own)):
        return f"advice may not set {name}: only variables that configure the service or its libraries"
    if _SECRET.search(name):
        return f"advice may not set {name}, which looks like a secret"
    behind = next((name[len(prefix) :] for prefix in own if name.startswith(prefix)), name)
    words = set(behind.upper().split("_"))
    if name in _ALONE or words & _LEADING:
        return f"advice may not set {name}, which can load code, write files, or lead to another host"
    if "/" not in value and not words & _PLACES:
        return _value_problem(name, value)
    if value.startswith(_PATHS) and "/../" not in f"{value}/":
        return None
    return f"advice may not set {name} to {value!r}: a path has to be below /usr or /opt"


def given_problems(args: Sequence[str]) -> Iterator[AdviceProblem]:
    """Yield why advice may not give these arguments, for each option that it may not."""
    for index, word in enumerate(args):
        option, *more = word.partition("=")[0].split() or [""]
        if option.startswith("-") and (more or not word.startswith(option)):
            yield AdviceProblem(index, f"{word!r} is two words: the service would be given them as one")
            return
    at = 0
    for item in parse_options(tuple(Word(word) for word in args), loose=0).items:
        problem = _item_problem(item)
        if problem is not None:
            yield AdviceProblem(at, problem)
        at += len(item.words)


def dropped_problem(word: str) -> str | None:
    """Return why advice may not leave an option out; None: it may."""
    if not _OPTION.match(word):
        return f"{word!r} is no option that could be left out"
    (item,) = parse_options((Word(word),), loose=0).items
    if item.known and item.name not in _MAY_DROP:
        return f"advice may not drop {word}, which may protect the service or say what it serves"
    return None


def characters_problem(text: str) -> str | None:
    """Return why a word means more to a shell, systemd or compose than itself; None: it does not."""
    found = _META.search(text)
    return None if found is None else f"the shell would take {found[0]!r} for more than a character"


def advice_problem(
    args: Sequence[str], env: Mapping[str, str], remove: Sequence[str], distributions: Sequence[str]
) -> str | None:
    """Return the first thing that is wrong with an advice as a whole; None: it may be shown."""
    problems = (
        *(variable_problem(name, value, distributions) for name, value in env.items()),
        *(problem.text for problem in given_problems(args)),
        *(_unknown_problem(it) for it in parse_options(tuple(Word(word) for word in (*args, *remove)), loose=0).items),
        *(dropped_problem(word) for word in remove),
        *(characters_problem(word) for word in (*args, *env.values(), *remove)),
    )
    return next((problem for problem in problems if problem is not None), None)


def _unknown_problem(item: Item) -> str | None:
    """An option that vLLM does not have, as far as is known: nobody can say what it does."""
    return None if item.known else f"advice may not touch {item.head}, which is no option that is known"


def _item_problem(item: Item) -> str | None:
    if not item.name or item.name == "--":
        return f"{item.words[0].text!r} belongs to no option"
    if not item.known:
        return None
    if item.name not in _MAY_GIVE:
        return f"advice may not give {item.name}: only options that switch a feature of the engine"
    for value in item.values:
        whole = read_object(value.text)
        found = [(item.keys, value.text)] if whole is None else [(path, it) for path, it in leaves(whole)]
        for path, it in found:
            problem = _key_problem(item.name, (*item.keys, *path)) or _value_problem(item.name, str(it))
            if problem is not None:
                return problem
    return None


def _key_problem(name: str, keys: Sequence[str]) -> str | None:
    loading = next((key for key in keys if _LOADING.search(key)), None)
    return None if loading is None else f"advice may not set {loading} in {name}, which names what is loaded"


def _value_problem(name: str, value: str) -> str | None:
    if "/" in value or _MODULE.search(value):
        return f"advice may not set {name} to {value!r}, which looks like a file, an address or a module"
    return None
