"""Verbs are registered when they are asked for, so that a run pays for one of them."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import typer

from patchctl.cli import app as application

ROOM = Path(application.__file__).parent
PROGRAM = """
import sys
from patchctl.cli import main
try:
    main()
except SystemExit:
    print(*sorted(sys.modules))
"""


def test_every_verb_that_a_module_registers_can_be_asked_for() -> None:
    registered: dict[str | None, str] = {}
    for path in ROOM.glob("*.py"):
        module = import_module(f"patchctl.cli.{path.stem}")
        if hasattr(module, "register"):
            group = typer.Typer()
            module.register(group)
            registered |= {command.name: path.stem for command in group.registered_commands}
    assert registered == application._MODULES
    verbs = typer.main.get_command(application.app).commands  # type: ignore[attr-defined]
    assert {name: verbs[name].name for name in verbs} == {name: name for name in registered}


def test_a_verb_brings_no_other_verbs_module() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, "check", "-h"], capture_output=True, text=True, check=True)
    loaded = {name.rpartition(".")[2] for name in done.stdout.split() if name.startswith("patchctl.cli.")}
    assert loaded & set(application._MODULES.values()) == {"readers"}
