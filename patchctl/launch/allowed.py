"""What advice may do to a launch. Advice comes from a registry, is shown to operators and pasted into start scripts.

It must not be able to do more than switch a feature of the service: variables come from an allow-list, nothing may
weaken who may use the service or hold a secret, and no word may mean more to a shell than itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from patchctl.launch.options import parse_options
from patchctl.launch.values import Word

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
_META = re.compile(r"[;|&$`<>()\\'\n\r\x00]")
_OPTION = re.compile(r"-{1,2}[A-Za-z0-9][A-Za-z0-9_.-]*(?:=.*)?\Z", re.DOTALL)
_PROTECTING = frozenset({"--api-key", "--ssl-keyfile", "--ssl-certfile", "--ssl-ca-certs", "--ssl-cert-reqs"})
_OPENING = frozenset(
    {"--api-key", "--trust-remote-code", "--allowed-origins", "--host", "--middleware", "--allowed-local-media-path"}
)


def variable_problem(name: str, distributions: Sequence[str]) -> str | None:
    """Return why advice may not set a variable; None: it may. ``distributions``: those that the entry is for."""
    own = tuple(distribution.upper().replace("-", "_") + "_" for distribution in distributions)
    if not name.startswith((*_PREFIXES, *own)):
        return f"advice may not set {name}: only variables that configure the service or its libraries"
    return f"advice may not set {name}, which looks like a secret" if _SECRET.search(name) else None


def given_problem(word: str) -> str | None:
    """Return why advice may not give an option; None: it may, or the word is none."""
    option, *more = word.partition("=")[0].split() or [""]
    if _meant(option) & _OPENING or option in _OPENING:
        return f"advice may not give {option}, which opens the service or holds a secret"
    if option.startswith("-") and (more or not word.startswith(option)):
        return f"{word!r} is two words: the service would be given them as one"
    return None


def dropped_problem(word: str) -> str | None:
    """Return why advice may not leave an option out; None: it may."""
    if not _OPTION.match(word):
        return f"{word!r} is no option that could be left out"
    if (_meant(word) | {word.partition("=")[0]}) & _PROTECTING:
        return f"advice may not drop {word}, which protects the service"
    return None


def characters_problem(text: str) -> str | None:
    """Return why a word means more to a shell than itself; None: it does not."""
    found = _META.search(text)
    return None if found is None else f"the shell would take {found[0]!r} for more than a character"


def advice_problem(
    args: Sequence[str], env: Mapping[str, str], remove: Sequence[str], distributions: Sequence[str]
) -> str | None:
    """Return the first thing that is wrong with an advice as a whole; None: it may be shown."""
    problems = (
        *(variable_problem(name, distributions) for name in env),
        *(given_problem(word) for word in args),
        *(dropped_problem(word) for word in remove),
        *(characters_problem(word) for word in (*args, *env.values(), *remove)),
    )
    return next((problem for problem in problems if problem is not None), None)


def _meant(word: str) -> set[str]:
    """The long name of the option that a word means: a beginning or underscores must not get around a list."""
    return {item.name for item in parse_options((Word(word),)).items}
