"""What an operator is told to do next around an upgrade: when to restart, and what a step does beside its purpose."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, on_a_terminal
from tests.sites import make_site
from tests.small_wheels import make_wheel

PATH = "vllm/one.py"
BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 31))
LOW = BASE.replace(b"line_5 = 1\n", b"line_5 = 5\n")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A site in which an entry is applied that is for this build alone."""
    site = make_site(tmp_path, {PATH: BASE}, build="0.25.1")
    registry = make_registry(tmp_path / "registry")
    add_entry(registry, "low", make_diff({PATH: (BASE, LOW)}), variant={"versions": "<0.26"})
    found = Desk(site=site, registry=registry)
    assert found.run("apply").code == 0
    return found


def wheel(where: Path, data: bytes, build: str) -> str:
    return str(make_wheel(where, [(PATH, data)], build=build))


def test_what_is_set_aside_must_not_be_restarted_into(desk: Desk, tmp_path: Path) -> None:
    done = desk.run("retire", "--for", wheel(tmp_path, b"# newer\n" + BASE, "0.25.2"))
    assert done.code == 0
    assert "restart your vLLM processes for it to take effect" not in done.out
    assert "note\tdo not restart yet: what is set aside protects nothing until patchctl apply " in done.out
    assert "note\tthe installer brings dependencies too: --no-deps keeps those" in done.out


def test_a_reinstallation_brings_no_dependencies(desk: Desk, tmp_path: Path) -> None:
    done = desk.run("retire", "--for", wheel(tmp_path, BASE, "0.25.1"))
    assert "--no-deps" in done.out
    assert "dependencies" not in done.out


def test_a_diff_that_fits_a_build_that_nobody_named_is_told_so(desk: Desk, tmp_path: Path) -> None:
    candidate = wheel(tmp_path, BASE, "0.26.0")
    done = desk.json("retire", "--for", candidate)
    (error,) = done.document["errors"]
    assert error["message"].startswith(f"low would be lost: its diff fits {candidate}, but no variant names that build")
    assert error["hint"].startswith("read the code there, and widen the entry's versions, label or builds; or decide: ")
    (found,) = desk.json("preflight", candidate).document["candidates"][0]["patches"]
    assert (
        "read the code there, and widen the entry's versions, label or builds, or revert or hold it" in found["about"]
    )


def test_a_diff_that_does_not_fit_is_not_told_to_be_widened(desk: Desk, tmp_path: Path) -> None:
    done = desk.json("retire", "--for", wheel(tmp_path, BASE.replace(b"line_5", b"other_5"), "0.26.0"))
    (error,) = done.document["errors"]
    assert "neither proven fixed nor can it go in" in error["message"]


def test_steps_that_stand_on_a_decision_say_so_in_every_shape(desk: Desk, tmp_path: Path) -> None:
    candidate = wheel(tmp_path, BASE.replace(b"line_5", b"other_5"), "0.26.0")
    condition = "the commands are for when low is ported, held or reverted; then preflight again: they change"
    restart = "restart your processes after the last of the commands, not before"
    done = desk.run("preflight", candidate)
    assert done.code == 1
    lines = done.out.split("\n")
    assert lines.index(f"note\t{condition}") < lines.index(f"note\t{restart}")
    notes = desk.json("preflight", candidate).document["candidates"][0]["step_notes"]
    assert [note for note in notes if note in {condition, restart}] == [condition, restart]
    arguments = ("preflight", candidate, "--site", str(desk.site), "--registry", str(desk.registry))
    shown = on_a_terminal(*arguments, columns=300).decode()
    assert condition in shown
    assert restart in shown


def test_steps_that_stand_on_none_only_end_with_the_restart(desk: Desk, tmp_path: Path) -> None:
    done = desk.run("preflight", wheel(tmp_path, b"# newer\n" + BASE, "0.25.2"))
    assert done.code == 0
    assert "ported" not in done.out
    assert "note\trestart your processes after the last of the commands, not before\n" in done.out


def test_a_check_calls_fixed_what_upstream_fixed_not_by_what_the_diff_would_meet(tmp_path: Path) -> None:
    site = make_site(tmp_path, {PATH: BASE.replace(b"line_5 = 1", b"line_5 = 6")}, build="0.25.1")
    registry = make_registry(tmp_path / "registry")
    fix = {"ref": "x/y#1", "role": "fixes", "claimed": ">=0.25", "evidence": [{"file": PATH, "contains": "line_5 = 6"}]}
    add_entry(registry, "low", make_diff({PATH: (BASE, LOW)}), fixes=[fix])
    shown = on_a_terminal("check", "--site", str(site), "--registry", str(registry)).decode()
    assert "fixed upstream" in shown
    assert "conflict" not in shown
    assert "verdict=conflict" in Desk(site=site, registry=registry).run("check").out


def test_a_bare_apply_names_the_entry_whose_build_nobody_named(tmp_path: Path) -> None:
    site = make_site(tmp_path, {PATH: BASE}, build="0.25.1+acme.7")
    registry = make_registry(tmp_path / "registry")
    add_entry(registry, "low", make_diff({PATH: (BASE, LOW)}), variant={"versions": "<0.26"})
    (error,) = Desk(site=site, registry=registry).json("apply").document["errors"]
    assert error["code"] == "needs-port"
    assert error["hint"].endswith("; if the detection is wrong: patchctl apply low --assume-build BUILD")
