"""The operator's guide does what it says: its commands run, in order, and print what it shows, in both languages.

``UPDATE_GUIDE=1`` rewrites the outputs that changed; read the difference before it is committed.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.environments import without_decisions
from tests.guide import (
    HOME,
    Mask,
    Piece,
    Prose,
    Walk,
    commands,
    cut_like,
    on_terminal,
    outputs_of,
    read_page,
    write_page,
)
from tests.guide_scenes import SCENES, prepare

ROOT = Path(__file__).parent.parent
GUIDE = ROOT / "docs" / "guide.md"
CHINESE = ROOT / "docs" / "zh-CN" / "guide.md"
README = ROOT / "README.md"
CHINESE_README = ROOT / "docs" / "zh-CN" / "README.md"


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
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m patchctl "$@"\n')
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
    outputs = tuple(outputs_of(pieces, walk, SCENES))
    if os.environ.get("UPDATE_GUIDE"):
        for page in (GUIDE, CHINESE, README, CHINESE_README):
            page.write_text(renewed(page, pieces, outputs), "utf-8")
    shown, printed = Mask(), Mask()
    for command, output in zip(commands(read_page(GUIDE.read_text("utf-8"))), outputs, strict=True):
        cut = cut_like(command.shown, output)
        assert printed(cut) == shown(command.shown), f"$ {command.typed}\nUPDATE_GUIDE=1 rewrites what is shown"


def renewed(page: Path, guide: tuple[Piece, ...], outputs: tuple[str, ...]) -> str:
    """Return a page with what its commands print now; what differs in times and ids alone stays as it is."""
    pieces, text = read_page(page.read_text("utf-8")), {}
    typed = [command.typed for command in commands(guide)]
    numbers = iter(range(len(typed)))
    for place, command in enumerate(commands(pieces)):
        number = next(number for number in numbers if typed[number] == command.typed)
        cut = cut_like(command.shown, outputs[number])
        if Mask()(cut) != Mask()(command.shown):
            text[place] = cut
    return write_page(pieces, text)


def test_both_languages_run_and_show_the_same() -> None:
    english, chinese = (read_page(page.read_text("utf-8")) for page in (GUIDE, CHINESE))
    assert [piece for piece in english if not isinstance(piece, Prose)] == [
        piece for piece in chinese if not isinstance(piece, Prose)
    ]
    # What is not run is the same too: the files, and the text of the crash.
    assert fenced(GUIDE) == fenced(CHINESE)


def fenced(page: Path) -> list[str]:
    return re.findall(r"^```\w+\n.*?^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", [README, CHINESE_README])
def test_what_a_readme_shows_is_of_the_guide_in_its_order(page: Path) -> None:
    guide = iter(commands(read_page(GUIDE.read_text("utf-8"))))
    shown = commands(read_page(page.read_text("utf-8")))
    assert shown != ()
    for command in shown:
        assert any(other == command for other in guide), f"$ {command.typed} is not so in the guide, or not there"


class TestCutting:
    def test_leaves_out_what_the_page_leaves_out(self) -> None:
        assert cut_like("a\n[...]\nd\n", "a\nb\nc\nd\n") == "a\n[...]\nd\n"
        assert cut_like("a\n[...]\nc\n[...]\ne\n", "a\nb\nc\nd\ne\n") == "a\n[...]\nc\n[...]\ne\n"
        assert cut_like("[...]\nd\n", "a\nb\nd\n") == "[...]\nd\n"

    def test_hides_no_other_line(self) -> None:
        assert cut_like("a\nd\n", "a\nb\nd\n") == "a\nb\nd\n"
        assert cut_like("a\n[...]\nd\n", "a\nb\nc\n") == "a\n[...]\nc\n"
        assert cut_like("a\n[...]\nb\n", "a\nb\n") == "a\nb\n"

    def test_an_id_that_changes_where_it_should_stay_is_told(self) -> None:
        one, other = "a" * 32, "b" * 32
        assert Mask()(f"{one} {one}\n") != Mask()(f"{one} {other}\n")
        assert Mask()(f"{one} {one}\n") == Mask()(f"{other} {other}\n")


def test_a_page_is_read_and_written_again_byte_for_byte() -> None:
    text = GUIDE.read_text("utf-8")
    assert write_page(read_page(text), {}) == text


def test_a_progress_bar_leaves_nothing_on_the_terminal(tmp_path: Path) -> None:
    line = r"printf 'one\nbar 1\r\033[2Kbar 2\n\033[1A\033[2Ktwo\n'"
    assert on_terminal(line, tmp_path, {"PATH": os.environ["PATH"]}) == (0, "one\ntwo\n")


def test_a_failure_that_the_page_does_not_show_is_one(tmp_path: Path) -> None:
    walk = Walk(root=tmp_path, python="python3.11", environ={"PATH": os.environ["PATH"]})
    pieces = read_page("```console\n$ true\n$ false\n```\n")
    with pytest.raises(AssertionError, match="false: exit code 1"):
        list(outputs_of(pieces, walk, {}))
