"""Files of vLLM releases with the diff of ``vllm-mm-placeholder-degrade`` that the registry chooses for them."""

from __future__ import annotations

import functools
import zipfile
from pathlib import Path

from patchctl.build import choose, parse_build
from patchctl.diff import FileDiff, parse_diff
from patchctl.match import locate, splice
from patchctl.patch import Patch, Variant
from patchctl.registry import Registry, load_registry
from tests.wheels import slim_wheel

ENTRY = "vllm-mm-placeholder-degrade"
REGISTRY = Path(__file__).parents[2] / "patches"

MERGE_FILE = "vllm/model_executor/models/utils.py"
V1_FILE = "vllm/v1/worker/gpu_model_runner.py"
V2_FILE = "vllm/v1/worker/gpu/mm/encoder_runner.py"
INPUTS_FILE = "vllm/multimodal/inputs.py"
MM_UTILS_FILE = "vllm/multimodal/utils.py"


@functools.cache
def registry() -> Registry:
    """Return the bundled registry."""
    return load_registry([str(REGISTRY)])


def entry() -> Patch:
    """Return the entry; a broken one fails with what is wrong."""
    found = registry().find(ENTRY)
    assert found is not None, registry().problems_of(ENTRY)
    return found


def variant_for(build: str) -> Variant | None:
    """Return the variant chosen for a build string; None: the entry names no such build."""
    variants = entry().variants
    index, _ = choose([variant.rule for variant in variants], parse_build(build))
    return None if index is None else variants[index]


@functools.cache
def read_release(version: str, path: str) -> bytes:
    """Return a file of upstream's release as its wheel has it."""
    with zipfile.ZipFile(slim_wheel(version)) as wheel:
        return wheel.read(path)


@functools.cache
def release_files(version: str) -> frozenset[str]:
    """Return the paths of all files in upstream's wheel."""
    with zipfile.ZipFile(slim_wheel(version)) as wheel:
        return frozenset(wheel.namelist())


@functools.cache
def file_diffs(build: str) -> tuple[FileDiff, ...]:
    """Return the diff that ``build`` gets, parsed; the entry must name the build."""
    variant = variant_for(build)
    assert variant is not None, f"no variant for {build}"
    return parse_diff(registry().read_diff(entry(), variant), strip=variant.strip)


@functools.cache
def patched_files(version: str) -> dict[str, bytes]:
    """Return the files of upstream's release that its diff changes, with the diff in."""
    return {diff.path: _with(diff, read_release(version, diff.path)) for diff in file_diffs(version)}


def _with(diff: FileDiff, content: bytes) -> bytes:
    result = splice(diff, content, locate(diff, content))
    assert result is not None
    return result
