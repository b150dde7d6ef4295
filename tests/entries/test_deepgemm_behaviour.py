"""What ``is_deep_gemm_supported`` answers with the diff of ``vllm-deepgemm-toolchain-gate``, host by host."""

from __future__ import annotations

import itertools
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.entries.deepgemm_gate import ENTRY, NEWER, OLDER, Host, Vllm, load
from tests.entries.grammar_entry import entry
from tests.wheels import RELEASES

pytestmark = pytest.mark.wheels

KINDS = ("0.19.1", "0.29.0", "0.33.0")
"""Nothing vendored; the last with an older DeepGEMM; the last."""


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    return Host(tmp_path, monkeypatch)


def _ask(host: Host, version: str = "0.33.0") -> tuple[bool, list[str]]:
    """Return the answer where vLLM chooses DeepGEMM, and what ``[signal]`` reads from each warning."""
    vllm = Vllm(cache=host.vllm_cache)
    answer = load(version, vllm, host)()
    signal = entry(ENTRY).signal
    assert signal is not None
    hits = [re.search(signal.log, warning) for warning in vllm.log.warnings]
    return answer, [hit["missing"] if hit else "unread" for hit in hits]


CHOSEN: tuple[bool, list[str]] = (True, [])


@pytest.mark.parametrize("version", RELEASES)
def test_a_wheel_only_host_gets_no_deep_gemm(host: Host, version: str) -> None:
    assert _ask(host, version) == (False, ["CUDA home"])


@pytest.mark.parametrize("version", RELEASES)
def test_without_the_diff_the_same_host_gets_it(host: Host, version: str) -> None:
    vllm = Vllm()
    assert load(version, vllm, host, patched=False)() is True


@pytest.mark.parametrize("version", RELEASES)
def test_a_complete_toolchain_changes_nothing_in_any_combination(host: Host, version: str) -> None:
    host.setenv(CUDA_HOME=host.toolkit())
    host.compilers()
    for arch, wanted, module, cuda in itertools.product((True, False), repeat=4):
        before, after = (Vllm(arch=arch, wanted=wanted, module=module, cuda=cuda) for _ in range(2))
        expected = load(version, before, host, patched=False)()
        assert load(version, after, host)() is expected
        assert after.asked == before.asked
        assert after.log.warnings == []
    assert host.nvcc_calls() == []


@pytest.mark.parametrize("version", KINDS)
def test_where_the_answer_is_no_anyway_nothing_is_looked_for_or_said(host: Host, version: str) -> None:
    for arch, wanted, module in itertools.product((True, False), repeat=3):
        before, after = (Vllm(arch=arch, wanted=wanted, module=module) for _ in range(2))
        if load(version, before, host, patched=False)():
            continue
        assert load(version, after, host)() is False
        assert (after.asked, after.log.warnings) == (before.asked, [])


def test_a_platform_that_is_not_cuda_is_left_alone(host: Host) -> None:
    vllm = Vllm(cuda=False)
    assert load("0.33.0", vllm, host)() is True
    assert vllm.log.warnings == []


@pytest.mark.parametrize("version", KINDS)
def test_it_is_decided_and_said_once(host: Host, version: str) -> None:
    vllm = Vllm()
    supported = load(version, vllm, host)
    assert [supported(), supported()] == [False, False]
    host.setenv(CUDA_HOME=host.toolkit())
    host.compilers()
    assert supported() is False
    assert len(vllm.log.warnings) == 1
    assert len(vllm.asked) == 3


def test_the_warning_says_what_is_missing_and_what_to_do(host: Host) -> None:
    home = host.folder / "cuda"
    home.mkdir()
    host.setenv(CUDA_HOME=home)
    vllm = Vllm()
    load("0.33.0", vllm, host)()
    (warning,) = vllm.log.warnings
    assert f"finds no nvcc ({home}/bin/nvcc)." in warning
    assert all(advice in warning for advice in ("CUDA toolkit", "host compiler", "CUDA_HOME", "VLLM_USE_DEEP_GEMM=0"))


@pytest.mark.parametrize("variable", ["CUDA_HOME", "CUDA_PATH"])
def test_a_variable_names_the_home(host: Host, variable: str) -> None:
    host.compilers()
    host.setenv(**{variable: host.toolkit()})
    assert _ask(host) == CHOSEN


def test_nvcc_on_path_gives_the_home(host: Host) -> None:
    host.compilers()
    host.setenv(PATH=f"{host.bin}:{host.toolkit() / 'bin'}")
    assert _ask(host) == CHOSEN


def test_the_default_home_is_enough(host: Host) -> None:
    host.compilers()
    host.nvcc(host.default_home)
    assert _ask(host) == CHOSEN


def test_an_empty_variable_is_none(host: Host) -> None:
    host.compilers()
    host.nvcc(host.default_home)
    host.setenv(CUDA_HOME="", CUDA_PATH="")
    assert _ask(host) == CHOSEN


def test_the_variable_goes_before_path_and_the_default(host: Host) -> None:
    """DeepGEMM takes nvcc out of the home that is named; one on PATH does not help it."""
    host.compilers()
    host.nvcc(host.default_home)
    host.nvcc()
    host.setenv(CUDA_HOME=host.folder / "runtime-only")
    (host.folder / "runtime-only").mkdir()
    assert _ask(host) == (False, ["nvcc"])


@pytest.mark.parametrize("version", KINDS)
def test_a_runtime_image_has_a_home_without_nvcc(host: Host, version: str) -> None:
    host.compilers()
    (host.default_home / "lib64").mkdir(parents=True)
    assert _ask(host, version) == (False, ["nvcc"])


@pytest.mark.parametrize(("deep_gemm", "outcome"), [(OLDER, CHOSEN), (NEWER, (False, ["CUDA home"]))])
def test_a_named_home_that_is_not_there_ends_the_newer_jit_alone(host: Host, deep_gemm: Any, outcome: object) -> None:
    host.compilers()
    host.imported(deep_gemm)
    host.setenv(CUDA_HOME=host.folder / "gone", DG_JIT_NVCC_COMPILER=host.nvcc(host.folder / "opt"))
    assert _ask(host) == outcome


@pytest.mark.parametrize("variable", ["DG_JIT_NVCC_COMPILER", "DJ_JIT_NVCC_COMPILER"])
def test_a_compiler_that_is_named_goes_before_the_home(host: Host, variable: str) -> None:
    host.compilers()
    (host.default_home).mkdir()
    host.setenv(**{variable: host.nvcc(host.folder / "opt")})
    assert _ask(host) == CHOSEN


def test_a_compiler_that_is_named_needs_a_home_all_the_same(host: Host) -> None:
    host.compilers()
    host.setenv(DG_JIT_NVCC_COMPILER=host.nvcc(host.folder / "opt"))
    assert _ask(host) == (False, ["CUDA home"])


def test_a_compiler_that_is_named_and_not_there_is_missing(host: Host) -> None:
    host.compilers()
    host.setenv(CUDA_HOME=host.toolkit(), DG_JIT_NVCC_COMPILER=host.folder / "gone")
    assert _ask(host) == (False, ["nvcc"])


@pytest.mark.parametrize("kind", ["file", "directory"])
def test_an_nvcc_that_cannot_be_executed_is_missing(host: Host, kind: str) -> None:
    host.compilers()
    home = host.folder / "cuda"
    (home / "bin").mkdir(parents=True)
    if kind == "file":
        (home / "bin" / "nvcc").write_text("")
    else:
        (home / "bin" / "nvcc").mkdir()
    host.setenv(CUDA_HOME=home)
    assert _ask(host) == (False, ["nvcc"])


def test_a_filled_cache_replaces_neither_nvcc_nor_the_home(host: Host) -> None:
    host.compilers()
    host.cached_kernel(host.vllm_cache / "deep_gemm")
    assert _ask(host) == (False, ["CUDA home"])
    host.setenv(CUDA_HOME=host.folder)
    assert _ask(host) == (False, ["nvcc"])


@pytest.mark.parametrize("name", ["deep_gemm", "vllm.third_party.deep_gemm"])
def test_nvrtc_needs_neither_nvcc_nor_a_host_compiler(host: Host, name: str) -> None:
    host.default_home.mkdir()
    host.imported(OLDER, name)
    host.setenv(DG_JIT_USE_NVRTC="1")
    assert _ask(host, "0.29.0") == CHOSEN


def test_nvrtc_needs_a_home(host: Host) -> None:
    host.imported(OLDER)
    host.setenv(DG_JIT_USE_NVRTC="1")
    assert _ask(host, "0.29.0") == (False, ["CUDA home"])


@pytest.mark.parametrize("value", ["0", ""])
def test_nvrtc_may_be_switched_off(host: Host, value: str) -> None:
    host.default_home.mkdir()
    host.imported(OLDER)
    host.setenv(DG_JIT_USE_NVRTC=value)
    assert _ask(host, "0.29.0") == (False, ["nvcc"])


def test_a_release_that_has_not_imported_deep_gemm_yet_has_an_older_one(host: Host) -> None:
    host.default_home.mkdir()
    host.setenv(DG_JIT_USE_NVRTC="1")
    assert _ask(host, "0.19.1") == CHOSEN


def test_the_newer_jit_knows_no_nvrtc(host: Host) -> None:
    host.default_home.mkdir()
    host.imported(NEWER)
    host.setenv(DG_JIT_USE_NVRTC="1")
    assert _ask(host) == (False, ["nvcc"])


def test_an_installed_package_goes_before_the_vendored_one(host: Host) -> None:
    host.default_home.mkdir()
    host.imported(NEWER)
    host.imported(OLDER, "deep_gemm")
    host.setenv(DG_JIT_USE_NVRTC="1")
    assert _ask(host) == CHOSEN


@pytest.mark.parametrize("version", KINDS)
def test_without_a_host_compiler_nvcc_is_no_help(host: Host, version: str) -> None:
    host.setenv(CUDA_HOME=host.toolkit())
    assert _ask(host, version) == (False, ["host compiler"])
    (call,) = host.nvcc_calls()
    assert call.startswith("-cubin -o ")


@pytest.mark.parametrize("variable", ["CC", "CXX"])
def test_nvcc_reads_neither_cc_nor_cxx(host: Host, variable: str) -> None:
    host.setenv(**{"CUDA_HOME": host.toolkit(), variable: host.executable(host.folder / "opt" / "g++")})
    assert _ask(host) == (False, ["host compiler"])


def test_a_compiler_that_nvcc_alone_knows_counts(host: Host) -> None:
    host.setenv(CUDA_HOME=host.toolkit(), NVCC_CCBIN="/opt/gcc/bin/g++")
    assert _ask(host) == CHOSEN
    assert len(host.nvcc_calls()) == 1


@pytest.mark.parametrize(("compiler", "outcome"), [("gcc", CHOSEN), ("g++", (False, ["host compiler"]))])
def test_with_half_a_compiler_nvcc_is_asked(host: Host, compiler: str, outcome: object) -> None:
    host.setenv(CUDA_HOME=host.toolkit())
    host.compilers(compiler)
    assert _ask(host) == outcome
    assert len(host.nvcc_calls()) == 1


@pytest.mark.parametrize("place", ["default", "named", "second of a list"])
def test_kernels_of_before_run_without_a_host_compiler(host: Host, place: str) -> None:
    host.setenv(CUDA_HOME=host.toolkit())
    named = host.folder / "ker[n]els"
    if place != "default":
        host.setenv(DG_JIT_CACHE_DIR=named if place == "named" else f"{host.folder / 'new'}:{named}")
    assert _ask(host) == (False, ["host compiler"])
    host.cached_kernel(host.vllm_cache / "deep_gemm" if place == "default" else named)
    assert _ask(host) == CHOSEN


def test_what_a_failed_compilation_left_is_no_kernel(host: Host) -> None:
    host.setenv(CUDA_HOME=host.toolkit())
    (host.vllm_cache / "deep_gemm" / "tmp" / "0123").mkdir(parents=True)
    (host.vllm_cache / "deep_gemm" / "tmp" / "0123" / "kernel.cu").write_text("")
    assert _ask(host) == (False, ["host compiler"])


@pytest.mark.parametrize(
    "trouble", [OSError("no process"), subprocess.TimeoutExpired("nvcc", 60)], ids=["OSError", "TimeoutExpired"]
)
def test_what_cannot_be_told_counts_as_there(host: Host, trouble: Exception) -> None:
    def fail(*_: object, **__: object) -> None:
        raise trouble

    host.setenv(CUDA_HOME=host.toolkit())
    host.patch.setattr(subprocess, "run", fail)
    assert _ask(host) == CHOSEN


def test_an_nvcc_that_was_killed_tells_nothing(host: Host) -> None:
    home = host.folder / "cuda"
    host.executable(home / "bin" / "nvcc", "#!/bin/sh\nkill -KILL $$\n")
    host.setenv(CUDA_HOME=home)
    assert _ask(host) == CHOSEN


def test_asking_nvcc_leaves_nothing_behind(host: Host, tmp_path_factory: pytest.TempPathFactory) -> None:
    scratch = tmp_path_factory.mktemp("scratch")
    host.patch.setattr("tempfile.tempdir", str(scratch))
    host.setenv(CUDA_HOME=host.toolkit())
    _ask(host)
    assert list(scratch.iterdir()) == []
