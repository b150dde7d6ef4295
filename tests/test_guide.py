"""The operator's guide does what it says: its commands run, in order, and print what it shows, in both languages.

``UPDATE_GUIDE=1`` rewrites the outputs that changed; read the difference before it is committed.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.environments import without_decisions
from tests.guide import HOME, Mask, Walk, commands, outputs_of, read_page, write_page
from tests.guide_scenes import SCENES, prepare

ROOT = Path(__file__).parent.parent
GUIDE = ROOT / "docs" / "guide.md"
CHINESE = ROOT / "docs" / "zh-CN" / "guide.md"


@pytest.fixture
def deployment() -> Iterator[Path]:
    """An empty directory with a path as long as the guide's: where a line breaks depends on it."""
    for number in range(1000):
        root = Path(f"/tmp/g{number:03}")
        try:
            root.mkdir()
        except FileExistsError:
            continue
        yield root
        shutil.rmtree(root)
        return
    pytest.skip("no free directory of that length in /tmp")


def surroundings(root: Path, tools: Path) -> Mapping[str, str]:
    """What the commands of the guide find: a plain terminal, patchctl, and a pip that needs no index."""
    tools.mkdir()
    program = tools / "patchctl"
    program.write_text(f'#!/bin/sh\ncase $1 in advise|hits) exec /tmp/wt/$1/.venv/bin/patchctl "$@";; esac\nexec "{sys.executable}" -m patchctl "$@"\n')
    program.chmod(0o755)
    pip = {"NO_INDEX": "1", "NO_DEPS": "1", "NO_COMPILE": "1", "QUIET": "1", "IGNORE_REQUIRES_PYTHON": "1"}
    kept = {key: value for key, value in without_decisions(os.environ).items() if not key.startswith("PIP_")}
    return {
        **kept,
        **{f"PIP_{key}": value for key, value in pip.items()},
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PATH": f"{tools}:{os.environ['PATH']}",
        "TERM": "xterm",
        "NO_COLOR": "1",
        "LC_ALL": "C.UTF-8",
        "VLLM_CACHE_ROOT": str(root / "cache"),
    }


@pytest.mark.wheels
@pytest.mark.slow
def test_every_command_prints_what_the_guide_shows(deployment: Path, tmp_path: Path) -> None:
    pieces = read_page(GUIDE.read_text("utf-8"))
    assert len(str(deployment)) == len(HOME)
    prepare(deployment)
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    walk = Walk(root=deployment, python=python, environ=surroundings(deployment, tmp_path / "bin"))
    shown, printed, wrong = Mask(), Mask(), {}
    for number, (command, output) in enumerate(zip(commands(pieces), outputs_of(pieces, walk, SCENES), strict=True)):
        if shown(command.shown) != printed(output):
            wrong[number] = output
    if os.environ.get("UPDATE_GUIDE"):
        for page in (GUIDE, CHINESE):
            page.write_text(write_page(read_page(page.read_text("utf-8")), wrong), "utf-8")
        return
    for number, output in wrong.items():
        command = commands(pieces)[number]
        assert Mask()(output) == Mask()(command.shown), f"$ {command.typed}\nUPDATE_GUIDE=1 rewrites what is shown"
    assert wrong == {}
