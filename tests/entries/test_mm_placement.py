"""Where the diffs of ``vllm-mm-placeholder-degrade`` go in every released wheel, and for which builds they are."""

from __future__ import annotations

import ast
import builtins
import dis
import types
from collections.abc import Iterator

import pytest

from patchctl.match import Direction, Fit, judge_fit, locate, splice
from tests.entries.mm_patched import (
    MERGE_FILE,
    V1_FILE,
    V2_FILE,
    file_diffs,
    patched_files,
    read_release,
)
from tests.wheels import RELEASES

pytestmark = pytest.mark.wheels

FAR = 300
"""Lines of offset from which status warns."""

FUNCTIONS = {
    V1_FILE: "_gather_mm_embeddings",
    V2_FILE: "gather_mm_embeddings",
    MERGE_FILE: "_merge_multimodal_embeddings",
}

RELABELLED = {
    "0.18.1+das.dtk2604.torch2100.2606041655.ge5a62f": "0.18.1",
    "0.18.1+das.dtk2604.hy3": "0.18.1",
    "0.20.0+das.dtk2604": "0.20.0",
    "0.20.0+das.dtk2604.torch2100.2606041655.ge5a62f": "0.20.0",
    "0.25.1+das185.dtk2604.torch2110.2608171710.g7b108a": "0.25.1",
    "0.20.2+cu129": "0.20.2",
    "0.22.0+rocm722": "0.22.0",
}
"""Builds with a label, and the upstream release each is made from."""


@pytest.mark.parametrize("build", [*RELEASES, *RELABELLED])
def test_every_hunk_has_one_place_and_comes_out_again_byte_for_byte(build: str) -> None:
    release = RELABELLED.get(build, build)
    for diff in file_diffs(build):
        content = read_release(release, diff.path)
        match = locate(diff, content)
        for place in match.hunks:
            print(f"{build:20} {diff.path} hunk {place.number}: line {place.line}, offset {place.offset}")
        assert match.fits, match
        assert match.largest_offset <= FAR
        result = splice(diff, content, match)
        assert result is not None
        compile(result, diff.path, "exec", dont_inherit=True)
        assert judge_fit(diff, content).fit is Fit.APPLICABLE
        assert judge_fit(diff, result).fit is Fit.PRESENT
        assert splice(diff, result, locate(diff, result, Direction.REVERSE)) == content


@pytest.mark.parametrize("release", ["0.19.1", "0.20.0", "0.31.0"])
def test_each_diff_is_exact_on_the_release_it_was_cut_from(release: str) -> None:
    assert all(locate(diff, read_release(release, diff.path)).exact for diff in file_diffs(release))


@pytest.mark.parametrize("release", RELEASES)
def test_the_merge_is_left_alone_in_0_19_1_only(release: str) -> None:
    files = {V1_FILE, V2_FILE} if release == "0.19.1" else {V1_FILE, V2_FILE, MERGE_FILE}

    assert set(patched_files(release)) == files


@pytest.mark.parametrize("release", RELEASES)
def test_every_global_name_of_the_patched_functions_is_defined(release: str) -> None:
    for path, patched in patched_files(release).items():
        known = {*_top_level_names(ast.parse(patched)), *dir(builtins)}
        (function,) = [it for it in _codes(compile(patched, path, "exec")) if it.co_name == FUNCTIONS[path]]
        loads = [it.argval for code in _codes(function) for it in dis.get_instructions(code) if "GLOBAL" in it.opname]

        assert "logger" in loads
        assert set(loads) <= known


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a code object and all those inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _top_level_names(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
