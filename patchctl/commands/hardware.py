"""What the GPUs of this machine are called: what the operator says, what the build is for, else what NVML tells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from patchctl.advice import Surroundings
from patchctl.build import parse_build
from patchctl.errors import UsageError

_CAPABILITY = re.compile(r"(\d{1,2})\.(\d)")
_CHIP = re.compile(r"[a-z0-9][a-z0-9._-]{0,30}")
_FAMILIES = (("das", "rocm"), ("dtk", "rocm"), ("rocm", "rocm"), ("cpu", "cpu"), ("xpu", "xpu"), ("maca", "maca"))
"""Segments of a build's label -> what it runs on, which is no NVIDIA GPU."""


def surroundings(builds: Mapping[str, str], gpus: Sequence[str]) -> Surroundings:
    """Return builds and hardware.

    Args:
        builds: distribution -> build string.
        gpus: as the operator names them; they beat everything else.

    Raises:
        UsageError: one of them is no name of a GPU.
    """
    if gpus:
        chips = tuple(dict.fromkeys(_chip(name) for name in gpus))
        return Surroundings(builds=builds, chips=chips, chips_from="--gpu says so")
    family = _family(builds.values())
    if family is not None:
        return Surroundings(builds=builds, chips=(family,), chips_from="the build's label says so")
    found, why = _from_nvml()
    return Surroundings(builds=builds, chips=found, chips_from=why)


def _chip(name: str) -> str:
    """``sm120``, ``SM_120``, ``12.0`` and ``sm_90a`` are what NVIDIA calls compute capabilities; others stay."""
    word = name.strip().lower()
    capability = _CAPABILITY.fullmatch(word)
    if capability is not None:
        return f"sm{capability[1]}{capability[2]}"
    word = re.sub(r"^(?:sm|compute)_?(\d{2,3})[af]?$", r"sm\1", word)
    if not _CHIP.fullmatch(word):
        raise UsageError("bad-gpu", f"{name!r} is no name of a GPU", hint="write it as sm120 or 12.0")
    return word


def _family(builds: Iterable[str]) -> str | None:
    for raw in builds:
        for segment in (parse_build(raw).label or "").split("."):
            for beginning, family in _FAMILIES:
                if segment.startswith(beginning):
                    return family
    return None


def _from_nvml() -> tuple[tuple[str, ...] | None, str]:
    from importlib import import_module

    try:
        pynvml = import_module("pynvml")  # nvidia-ml-py, an optional extra
    except ImportError:
        return None, "the GPU is not known: say --gpu, or install patchctl[nvml]"
    try:
        pynvml.nvmlInit()
        try:
            handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
            pairs = [pynvml.nvmlDeviceGetCudaComputeCapability(handle) for handle in handles]
        finally:
            pynvml.nvmlShutdown()
    except pynvml.NVMLError:
        return None, "the GPU is not known: NVML does not answer, say --gpu"
    chips = tuple(dict.fromkeys(f"sm{major}{minor}" for major, minor in pairs))
    return (chips, "NVML says so") if chips else (None, "the GPU is not known: NVML sees none, say --gpu")
