"""What an entry advises and promises: launch arguments and variables, the log line at each hit, the fixes it waits for.

Advice is shown to operators and put into commands. It must not be able to do more than switch a feature of the
service, so that variables are taken from an allow-list, and nothing may weaken who may use the service.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from patchctl.lint.signals import signal_findings
from patchctl.lint.values import Finding, ParsedDiff, error, warning
from patchctl.model import FixRole
from patchctl.patch import Avoid, Kind, Patch

ALLOWED_PREFIXES = (
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


def advice_findings(patch: Patch, parsed: list[ParsedDiff]) -> Iterator[Finding]:
    """Return what is wrong with avoidance, signal and fixes of an entry."""
    for number, avoid in enumerate(patch.avoid):
        yield from _variables(avoid, f"avoid[{number}]", patch)
        yield from _arguments(avoid, f"avoid[{number}]")
    if patch.signal is not None:
        yield from signal_findings(patch.signal.log, parsed)
    elif patch.kind is Kind.CONTAINMENT:
        message = "a containment without a signal: nobody can tell how often it is hit"
        hint = "let the diff write one warning a hit, and give its log line in [signal]"
        yield warning("no-signal", message, "kind", hint)
    for number, fix in enumerate(patch.fixes):
        if fix.role is FixRole.FIXES and not fix.evidence:
            message = f"{fix.ref} has no evidence: it is never proven, so that this entry is never retired"
            yield warning("fix-without-evidence", message, f"fix[{number}].ref", "add [[fix.evidence]]")


def _variables(avoid: Avoid, key: str, patch: Patch) -> Iterator[Finding]:
    own = tuple(name.upper().replace("-", "_") + "_" for name in patch.distributions)
    for name, value in avoid.env.items():
        place = f"{key}.env.{name}"
        if not name.startswith((*ALLOWED_PREFIXES, *own)):
            message = f"advice may not set {name}: only variables that configure the service or its libraries"
            yield error("unsafe-advice", message, place, "advise an option of the service, or describe it in `when`")
        elif _SECRET.search(name):
            yield error("unsafe-advice", f"advice may not set {name}, which looks like a secret", place)
        yield from _plain(value, place)


def _arguments(avoid: Avoid, key: str) -> Iterator[Finding]:
    for index, word in enumerate(avoid.args):
        place = f"{key}.args[{index}]"
        option = word.partition("=")[0]
        if option.startswith("-") and any(character.isspace() for character in option):
            message = f"{word!r} is two words: the service would be given them as one"
            yield error("unsafe-advice", message, place, "write them as two")
        if re.split(r"\s", option)[0] in _OPENING:
            message = f"advice may not give {option}, which opens the service or holds a secret"
            yield error("unsafe-advice", message, place)
        yield from _plain(word, place)
    for index, word in enumerate(avoid.remove_args):
        place = f"{key}.remove_args[{index}]"
        if word.partition("=")[0] in _PROTECTING:
            yield error("unsafe-advice", f"advice may not drop {word}, which protects the service", place)
        elif not _OPTION.match(word):
            message = f"{word!r} is no option that could be left out"
            yield error("unsafe-advice", message, place, 'name the option alone: "--speculative-config"')
        yield from _plain(word, place)


def _plain(text: str, key: str) -> Iterator[Finding]:
    """A word that somebody will paste into a start script must not mean more to a shell than itself."""
    found = _META.search(text)
    if found is not None:
        message = f"the shell would take {found[0]!r} for more than a character"
        yield error("shell-characters", message, key, "advise a value that needs none")
