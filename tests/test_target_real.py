"""Real environments: ``python -m venv``, pip, and a real vLLM wheel under a vendor's build string."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from patchctl.errors import TargetError
from patchctl.model.target import Distribution, Target, pristine
from patchctl.target import find_target, read_snapshot, search_names, top_levels
from tests.sites import tree_state, write
from tests.wheels import WheelUnavailableError, relabelled

pytestmark = [pytest.mark.wheels, pytest.mark.slow]

BUILD = "0.20.0+das.dtk2604"


def pip(*arguments: str | Path) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def wheel(build: str, into: Path) -> Path:
    try:
        return relabelled("0.20.0", build, into)
    except WheelUnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a virtual environment with the vendor build in it, installed by pip."""
    where = tmp_path_factory.mktemp("real")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", where / "env"], check=True)
    pip("--python", where / "env/bin/python", "install", "--no-deps", "--no-index", wheel(BUILD, where))
    return where / "env"


def find(environment: Path) -> tuple[Target, Distribution]:
    target = find_target(site=None, python=str(environment / "bin/python"), environ={}, names=["vllm"])
    return target, target.distributions["vllm"]


def test_a_real_environment_is_found_by_each_setting_and_left_as_it_is(environment: Path) -> None:
    before = tree_state(environment)
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    settings: list[tuple[str, str | None, dict[str, str]]] = [
        ("--python", str(environment / "bin/python"), {}),
        ("VIRTUAL_ENV", None, {"VIRTUAL_ENV": str(environment)}),
        ("CONDA_PREFIX", None, {"CONDA_PREFIX": str(environment)}),
        ("PATH", None, {"PATH": f"{environment / 'bin'}:/usr/bin"}),
    ]
    for origin, python, environ in settings:
        target = find_target(site=None, python=python, environ=environ, names=["vllm"])
        assert (target.origin, target.site) == (origin, str(environment / "lib" / version / "site-packages"))
        assert target.passed_over == ()
    assert tree_state(environment) == before


def test_the_vendor_build_is_read_in_full(environment: Path) -> None:
    target, vllm = find(environment)
    assert (vllm.build, vllm.source_build, vllm.installer, vllm.editable) == (BUILD, "0.20.0", "pip", False)
    assert vllm.record is not None
    assert sum("," in path for path in vllm.record) == 533
    assert vllm.record["../../../bin/vllm"] is not None
    assert b"\r\n" in Path(target.site, vllm.info, "RECORD").read_bytes()
    assert top_levels(target, vllm) == ("vllm",)


def test_every_python_file_of_a_fresh_install_is_pristine(environment: Path) -> None:
    target, vllm = find(environment)
    assert vllm.record is not None
    paths = [path for path in vllm.record if path.startswith("vllm/") and path.endswith(".py")]
    snapshot = read_snapshot(target, paths)
    assert snapshot.problems == {}
    wrong = [path for path, live in snapshot.files.items() if live is None or not pristine(vllm, path, live.sha256)]
    assert len(paths) > 1500
    assert wrong == []


def test_moved_names_are_found_in_the_whole_of_vllm_in_no_time(environment: Path) -> None:
    target, vllm = find(environment)
    words, names = ("grammar_init", "_gather_mm_embeddings", "no_such_function"), ("encoder_runner.py",)
    found = search_names(target, vllm, words, names)
    start = time.perf_counter()
    assert search_names(target, vllm, words, names) == found
    took = time.perf_counter() - start
    assert found["grammar_init"] == ("vllm/v1/structured_output/__init__.py",)
    assert found["_gather_mm_embeddings"] == ("vllm/v1/worker/gpu_model_runner.py",)
    assert found["no_such_function"] == ()
    assert found["encoder_runner.py"] == ("vllm/v1/worker/gpu/mm/encoder_runner.py",)
    assert took < 0.5, f"{took * 1000:.0f} ms"


def test_an_upgrade_with_target_leaves_an_ambiguity(tmp_path: Path) -> None:
    site = tmp_path / "site"
    for build in (BUILD, "0.20.0+das.dtk2605"):
        archive = wheel(build, tmp_path)
        pip("install", "--no-deps", "--no-index", "--no-compile", "--upgrade", "--target", site, archive)
    with pytest.raises(TargetError) as caught:
        find_target(site=str(site), python=None, environ={}, names=["vllm"])
    assert caught.value.problem.code == "ambiguous-distribution"
    assert f"vllm-{BUILD}.dist-info and vllm-0.20.0+das.dtk2605.dist-info" in caught.value.problem.message


@pytest.mark.parametrize("backend", ["setuptools", "hatchling"])
def test_a_real_editable_install_is_seen(tmp_path: Path, backend: str) -> None:
    module = {"setuptools": "setuptools.build_meta", "hatchling": "hatchling.build"}[backend]
    text = f'[build-system]\nrequires = ["{backend}"]\nbuild-backend = "{module}"\n'
    text += '[project]\nname = "small-one"\nversion = "1.0"\n'
    write(tmp_path / "src/pyproject.toml", text.encode())
    write(tmp_path / "src/small_one/__init__.py", b"")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    python = str(tmp_path / "env/bin/python")
    command = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--editable"]
    done = subprocess.run([*command, str(tmp_path / "src")], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"{backend} cannot be fetched here: {done.stderr.strip()[-200:]}")
    target = find_target(site=None, python=python, environ={}, names=["small_one"])
    assert target.distributions["small-one"].editable is True
