"""Commands in sentences act on the registry and the environment that the answer was about."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from patchctl.cli.app import app
from patchctl.commands import Place
from patchctl.commands.given import given_options
from patchctl.errors import Problem
from patchctl.render.problems import problem_text
from patchctl.render.spoken import VERBS, document_with_options, record_with_options, with_options
from tests.registries import add_entry, make_diff, make_registry
from tests.running import on_a_terminal, patchctl
from tests.sites import make_site

GIVEN = ("--site", "/srv/site", "--registry", "/srv/my patches")
SAID = "--site /srv/site --registry '/srv/my patches'"


def test_every_verb_is_known() -> None:
    command = get_command(app)
    assert sorted(VERBS) == sorted(command.commands)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2 due: run patchctl apply", f"2 due: run patchctl apply {SAID}"),
        ("patchctl adopt a b", f"patchctl adopt {SAID} a b"),
        ("patchctl revert a; patchctl ps", f"patchctl revert {SAID} a; patchctl ps {SAID}"),
        ("patchctl apply a --registry /other", "patchctl apply --site /srv/site a --registry /other"),
        ("patchctl status --site /other", "patchctl status --registry '/srv/my patches' --site /other"),
        ("patchctl recover --python py", "patchctl recover --registry '/srv/my patches' --python py"),
        ("patchctl show a prints the diff", "patchctl show --registry '/srv/my patches' a prints the diff"),
        ("`patchctl check` is green", f"`patchctl check {SAID}` is green"),
    ],
)
def test_the_options_stand_behind_the_verb_unless_the_command_has_them(text: str, said: str) -> None:
    assert with_options(text, GIVEN) == said


@pytest.mark.parametrize(
    "text",
    [
        "patchctl left it",
        "run patchctl again",
        "another patchctl is at work",
        "/usr/bin/patchctl apply",
        "patchctl show-me",
    ],
)
def test_what_is_no_command_stays(text: str) -> None:
    assert with_options(text, GIVEN) == text


def test_steps_and_registry_texts_stay_as_they_are() -> None:
    assert record_with_options("step\t1\tpatchctl apply", GIVEN) == "step\t1\tpatchctl apply"
    assert record_with_options("why\tsay patchctl apply", GIVEN) == "why\tsay patchctl apply"
    assert record_with_options("note\tpatchctl apply", GIVEN) == f"note\tpatchctl apply {SAID}"
    told = document_with_options({"steps": ["patchctl ps"], "errors": [{"hint": "patchctl ps", "code": "x"}]}, GIVEN)
    assert told == {"steps": ["patchctl ps"], "errors": [{"hint": f"patchctl ps {SAID}", "code": "x"}]}


def test_directories_are_named_so_that_they_are_found_from_another_one() -> None:
    place = Place(site="../x", registries=("./a", ".", "/b"), cwd="/srv")
    said = ("--site", "/srv/../x", "--registry", "/srv/a", "--registry", "/srv", "--registry", "/b")
    assert given_options(place) == said
    assert given_options(Place(python="python3.11", cwd="/srv")) == ("--python", "python3.11")
    assert given_options(Place(python="venv/bin/python", cwd="/srv")) == ("--python", "/srv/venv/bin/python")


def test_what_a_variable_says_needs_no_option() -> None:
    named = Place(site="/s", origin="PATCHCTL_SITE", registries=("/r",), environ={"PATCHCTL_REGISTRY": "/r"})
    assert given_options(named) == ()


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A site with one due entry of a registry that is named by a relative path; said are both, absolute."""
    files = {"vllm/a.py": b"a = 1\nb = 2\nc = 3\n"}
    make_site(tmp_path, files)
    registry = make_registry(tmp_path / "mine")
    add_entry(registry, "due", make_diff({"vllm/a.py": (files["vllm/a.py"], b"a = 1\nb = 3\nc = 3\n")}))
    monkeypatch.chdir(tmp_path)
    return f"--site {tmp_path / 'site'} --registry {tmp_path / 'mine'}"


def test_following_what_is_said_acts_on_the_same_registry_and_site(
    options: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = ("--site", "site", "--registry", "mine")
    done = patchctl("status", *where)
    assert done.out.endswith(f"note\t1 due: run patchctl apply {options}\n")
    unknown = patchctl("apply", "other", "--json", *where)
    (error,) = unknown.document["errors"]
    assert f"patchctl list --registry {tmp_path / 'mine'}" in error["hint"]
    assert error["hint"].endswith("; it may be in another registry, which --registry DIR names")
    assert f"patchctl list --registry {tmp_path / 'mine'}" in patchctl("apply", "other", *where).err
    monkeypatch.chdir("/")
    assert patchctl(*shlex.split(done.out.rpartition("run patchctl ")[2])).code == 0


def test_a_terminal_says_the_options_too(options: str, tmp_path: Path) -> None:
    where = ("--site", str(tmp_path / "site"), "--registry", str(tmp_path / "mine"))
    shown = on_a_terminal("status", *where, columns=400).decode()
    assert f"1 due: run patchctl apply {options}" in shown


def test_a_hint_is_broken_into_lines_and_its_command_is_not() -> None:
    words = "apply --site /srv/a-very-long-place/lib/python3.11/site-packages --registry /srv/patches one"
    problem = Problem(code="x", message="m", hint=f"where both are one registry by two paths: patchctl {words}")
    lines = problem_text(problem, width=40).split("\n\n")[1].split("\n")
    assert lines[-1] == f"patchctl {words}"
    assert all(len(line) <= 40 for line in lines[:-1])
    listed = Problem(code="x", message="m", hint="put it back, run: patchctl recover, then make the edit once again")
    assert "\npatchctl" not in problem_text(listed, width=62)
