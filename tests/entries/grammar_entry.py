"""The entry ``vllm-grammar-compile-containment`` and the files of the released wheels it speaks of."""

from __future__ import annotations

import functools
import zipfile
from collections.abc import Mapping
from pathlib import Path

from patchctl.build import choose, parse_build
from patchctl.diff import FileDiff, parse_diff
from patchctl.evidence import files_named
from patchctl.match import locate, splice
from patchctl.patch import Patch, Variant
from patchctl.registry import Registry, load_registry
from tests.entries import grammar_client, grammar_engine
from tests.wheels import RELEASES, slim_wheel

ENTRY = "vllm-grammar-compile-containment"
REGISTRY = Path(__file__).parents[2] / "patches"

AFFECTED = tuple(version for version in RELEASES if version < "0.26")
"""Releases without the fix that the entry is for."""


@functools.cache
def registry() -> Registry:
    """Return the bundled registry."""
    return load_registry([str(REGISTRY)])


def entry(name: str = ENTRY) -> Patch:
    """Return an entry of the bundled registry; a broken one fails with what is wrong."""
    found = registry().find(name)
    assert found is not None, registry().problems_of(name)
    return found


def variant_for(build: str, name: str = ENTRY) -> Variant | None:
    """Return the variant chosen for a build string; None: the entry names no such build."""
    variants = entry(name).variants
    index, _ = choose([variant.rule for variant in variants], parse_build(build))
    return None if index is None else variants[index]


@functools.cache
def diffs_for(build: str, name: str = ENTRY) -> tuple[FileDiff, ...]:
    """Return what the diff chosen for a build string says; of an advisory, which has none: nothing."""
    variant = variant_for(build, name)
    assert variant is not None, f"no variant for {build}"
    if variant.diff is None:
        return ()
    return parse_diff(registry().read_diff(entry(name), variant), strip=variant.strip)


@functools.cache
def wheel_files(version: str) -> Mapping[str, bytes]:
    """Return path -> bytes of what the tests read of a released wheel."""
    wanted = {*grammar_engine.REAL, *grammar_client.FILES}
    for patch in registry().entries:
        wanted |= files_named(patch.fixes)
        if variant_for(version, patch.id) is not None:
            wanted.update(diff.path for diff in diffs_for(version, patch.id))
    with zipfile.ZipFile(slim_wheel(version)) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name in wanted}


@functools.cache
def patched_files(version: str, name: str = ENTRY) -> Mapping[str, bytes]:
    """Return the same with the diff applied that an entry chooses for upstream's release."""
    files = dict(wheel_files(version))
    for diff in diffs_for(version, name):
        after = splice(diff, files[diff.path], locate(diff, files[diff.path]))
        assert after is not None
        files[diff.path] = after
    return files
