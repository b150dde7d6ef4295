"""A fresh interpreter always runs the text that is there, whatever byte code was lying around."""

from __future__ import annotations

import os
import py_compile
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.installs.making import BASE, FILES, PATCHED, PATH, clean_environ, desk_on, fresh_python
from tests.running import Desk
from tests.sites import make_site
from tests.transaction_tree import in_child, litter

SHOW = "import small.a; print(small.a.VALUE)"
TAG = sys.implementation.cache_tag


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return desk_on(make_site(tmp_path, FILES, name="small", build="1.0"), tmp_path)


def cached(desk: Desk) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (desk.site / "small").rglob("*.pyc")}


def compile_as(desk: Desk, mode: str, level: int = 0) -> Path:
    kind = py_compile.PycInvalidationMode[mode]
    made = py_compile.compile(str(desk.site / PATH), invalidation_mode=kind, optimize=level, doraise=True)
    return Path(str(made))


def test_c10_a_patch_of_the_same_size_taken_in_and_out_within_a_second(desk: Desk) -> None:
    assert len(BASE) == len(PATCHED)
    assert fresh_python(desk.site, SHOW) == "1"
    assert cached(desk), "the interpreter must have kept byte code, or nothing is proved"
    for _ in range(3):
        assert desk.run("apply").code == 0
        assert fresh_python(desk.site, SHOW) == "2"
        assert desk.run("revert", "--all").code == 0
        assert fresh_python(desk.site, SHOW) == "1"


def test_c10_an_importer_that_raced_the_replacement_leaves_nothing_that_runs(desk: Desk) -> None:
    """It read the old text before, and writes its byte code after everything is done."""
    made = compile_as(desk, "TIMESTAMP")
    late = made.read_bytes()
    assert desk.run("apply").code == 0
    made.parent.mkdir(exist_ok=True)
    made.write_bytes(late)
    assert fresh_python(desk.site, SHOW) == "2"
    late = made.read_bytes()
    assert desk.run("revert", "--all").code == 0
    made.write_bytes(late)
    assert fresh_python(desk.site, SHOW) == "1"


@pytest.mark.parametrize("level", [0, 1, 2])
def test_c11_unchecked_byte_code_is_made_anew_in_the_same_mode(desk: Desk, level: int) -> None:
    made = compile_as(desk, "UNCHECKED_HASH", level)
    made.chmod(0o640)
    options = ["-" + "O" * level] if level else []
    for verb, value in ((["apply"], "2"), (["revert", "--all"], "1")):
        done = desk.run(*verb)
        assert (done.code, done.err) == (0, "")
        assert made.read_bytes()[4:8] == b"\1\0\0\0", "unchecked, as before"
        assert made.stat().st_mode & 0o777 == 0o640
        # Not even a source that differs is looked at: what runs is this byte code.
        kept = made.read_bytes()
        assert fresh_python(desk.site, SHOW, *options) == value
        assert made.read_bytes() == kept
    assert not (desk.site / ".patchctl/tmp").exists()


def test_c11_a_kill_while_it_is_made_anew_costs_time_at_an_import_and_nothing_else(desk: Desk) -> None:
    made = compile_as(desk, "UNCHECKED_HASH")

    def attempt() -> None:
        def at(event: str, arguments: tuple[object, ...]) -> None:
            if event == "os.rename" and str(arguments[1]) == made.name:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(at)
        desk.run("apply")

    assert in_child(attempt) == -signal.SIGKILL
    assert not made.exists()
    assert desk.run("check").code == 0
    assert fresh_python(desk.site, SHOW) == "2"
    assert desk.run("recover").code == 0
    assert litter(desk.site) == []


def test_c11_checked_hashes_are_simply_removed(desk: Desk) -> None:
    made = compile_as(desk, "CHECKED_HASH")
    assert desk.run("apply").code == 0
    assert not made.exists()
    assert fresh_python(desk.site, SHOW) == "2"


def test_c11_unchecked_byte_code_of_another_python_is_removed_and_said(desk: Desk) -> None:
    made = compile_as(desk, "UNCHECKED_HASH")
    other = made.with_name("a.cpython-36.opt-1.pyc")
    made.rename(other)
    done = desk.run("apply")
    assert done.code == 0
    assert "a.cpython-36.opt-1.pyc" in done.out
    assert "this patchctl runs on" in done.out
    assert not other.exists()


def test_c11_leftovers_of_every_level_go_and_the_new_code_runs_under_each(desk: Desk) -> None:
    for level in (0, 1, 2):
        compile_as(desk, "TIMESTAMP", level)
    stray = desk.site / "small/__pycache__/a.cpython-35.opt-2.pyc"
    stray.write_bytes(b"stale")
    beside = desk.site / "small/a.pyc"
    beside.write_bytes((desk.site / f"small/__pycache__/a.{TAG}.pyc").read_bytes())
    assert desk.run("apply").code == 0
    assert not any(name.startswith("a.") for name in cached(desk))
    for options in ((), ("-O",), ("-OO",)):
        assert fresh_python(desk.site, SHOW, *options) == "2"


def test_c11_a_patched_text_that_does_not_compile_is_said_and_nothing_stale_runs(tmp_path: Path) -> None:
    from tests.registries import add_entry, make_diff

    site = make_site(tmp_path, FILES, name="small", build="1.0")
    desk = desk_on(site, tmp_path)
    assert desk.registry is not None
    add_entry(
        desk.registry,
        "fix",
        make_diff({PATH: (BASE, BASE.replace(b"VALUE = 1", b"VALUE = ("))}),
        distribution="small",
    )
    made = compile_as(desk, "UNCHECKED_HASH")
    done = desk.run("apply")
    assert done.code == 0
    assert "does not compile" in done.out
    assert not made.exists()


@pytest.mark.parametrize("level", ["", "-O", "-OO"])
def test_c12_byte_code_below_the_services_pycache_prefix_goes_when_it_is_given(
    desk: Desk, tmp_path: Path, level: str
) -> None:
    prefix = str(tmp_path / "prefix")
    options = [level] if level else []
    environ = {"PYTHONPYCACHEPREFIX": prefix}
    assert fresh_python(desk.site, SHOW, *options, **environ) == "1"
    (kept,) = Path(prefix).rglob("a.*.pyc")
    unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(
        str(desk.site / PATH), cfile=str(kept), invalidation_mode=unchecked, optimize=len(level.removeprefix("-"))
    )
    assert desk.run("apply", env=environ).code == 0
    assert not kept.exists()
    assert fresh_python(desk.site, SHOW, *options, **environ) == "2"


def test_c12_without_it_a_prefix_is_safe_by_the_new_time_of_the_source(desk: Desk, tmp_path: Path) -> None:
    environ = {"PYTHONPYCACHEPREFIX": str(tmp_path / "prefix")}
    assert fresh_python(desk.site, SHOW, **environ) == "1"
    assert desk.run("apply").code == 0
    assert fresh_python(desk.site, SHOW, **environ) == "2"
    assert desk.run("revert", "--all").code == 0
    assert fresh_python(desk.site, SHOW, **environ) == "1"


def test_another_interpreter_of_the_target_runs_the_new_text_too(desk: Desk) -> None:
    other = next((it for it in Path("/usr/bin").glob("python3.*") if it.name[7:].replace(".", "").isdigit()), None)
    if other is None or os.path.realpath(other) == os.path.realpath(sys.executable):
        pytest.skip("there is no other interpreter here")
    environ = clean_environ(PYTHONPATH=str(desk.site))

    def show() -> str:
        return subprocess.run([other, "-c", SHOW], env=environ, capture_output=True, text=True, check=True).stdout

    assert show() == "1\n"
    assert desk.run("apply").code == 0
    assert show() == "2\n"
