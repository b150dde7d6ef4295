"""Numbers from outside: digits without end, digits of other scripts, and what int() reads besides."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from patchctl.cli.app import app
from patchctl.commands.author import sudo_uid
from patchctl.commands.place import Place
from patchctl.commands.trusted import callers
from patchctl.logs import find_logs
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk
from tests.sites import make_site
from tests.transaction_tree import do_not_wait_for_the_disk

BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 31))
PATCHED = BASE.replace(b"line_5 = 1\n", b"line_5 = 5\n")
LINE = b"INFO 01-02 03:04:05 [engine.py:10] contained one\n" * 3
ODD = [
    "9" * 6000,
    "4294967295",
    "4294967296",
    "-1",
    "+1",
    " 1",
    "1_0",
    "\uff11\uff12",
    "\u0663",
    "\u00b2",
    "0x1",
    "",
    "1.0",
]


def shown(text: str) -> str:
    return ascii(text[:24])


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    do_not_wait_for_the_disk(monkeypatch)
    site = make_site(tmp_path, {"vllm/__init__.py": b"", "vllm/engine.py": BASE}, build="0.25.1")
    registry = make_registry(tmp_path / "registry")
    add_entry(registry, "a-low", make_diff({"vllm/engine.py": (BASE, PATCHED)}), signal={"log": "contained one"})
    (tmp_path / "a.log").write_bytes(LINE)
    return Desk(site=site, registry=registry)


@pytest.mark.attack("sudo-registry")
@pytest.mark.parametrize("odd", ODD, ids=shown)
def test_a_caller_who_is_no_uid_is_as_if_there_were_none(desk: Desk, odd: str) -> None:
    assert sudo_uid({"SUDO_UID": odd}) is None
    assert callers(Place(environ={"SUDO_UID": odd})) == {0}
    variables = dict.fromkeys(("SUDO_UID", "SUDO_GID", "SUDO_USER", "DOAS_USER", "PKEXEC_UID"), odd)
    assert desk.run("apply", env=variables).code == 0
    assert desk.json("history", env=variables).document["history"][0]["author"]["sudo_uid"] is None
    assert callers(Place(environ={"SUDO_UID": "65534"})) == {0, 65534}


@pytest.mark.parametrize(
    "odd", [*(it for it in ODD if it not in {"", "4294967295"}), " 1_0 ", "9" * 20, "9" * 21], ids=shown
)
def test_a_time_is_written_in_digits_alone(desk: Desk, odd: str) -> None:
    done = desk.json("status", env={"SOURCE_DATE_EPOCH": odd})
    assert (done.code, [it["code"] for it in done.document["errors"]]) == (2, ["bad-epoch"])
    assert len(done.document["errors"][0]["message"]) < 200
    assert desk.run("status", env={"SOURCE_DATE_EPOCH": "4294967295"}).code == 0
    assert desk.run("status", env={"SOURCE_DATE_EPOCH": "0000000000001"}).code == 0


NEEDED = {"hits": ["--all", "{log}", "--csv"], "advise": [], "hold": ["a-low"], "unhold": ["a-low"], "restore": ["x"]}


def number_options() -> list[tuple[str, str]]:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    found = [(verb, it) for verb in commands for it in commands[verb].params]
    return [(verb, it.opts[0]) for verb, it in found if "int" in it.type.name or "float" in it.type.name]


def test_the_options_that_take_a_number_are_found() -> None:
    assert {option for _, option in number_options()} >= {"--requests", "--ranks", "--last", "--wait", "--max-offset"}


@pytest.mark.parametrize("number", ["9" * 400, "9" * 6000, "1000000000000000"], ids=shown)
def test_no_number_on_the_command_line_is_a_bug(desk: Desk, number: str) -> None:
    for verb, option in number_options():
        words = [word.format(log=desk.site.parent / "a.log") for word in NEEDED.get(verb, [])]
        done = desk.run(verb, *words, option, number)
        assert done.code in {0, 1, 2, 3}, (verb, option, done)
        assert "bug" not in done.err
    log = str(desk.site.parent / "a.log")
    assert desk.run("hits", "--all", log, "--requests", number).code == (0 if len(number) < 20 else 2)


def test_parts_of_a_rotated_log_are_numbered_in_ascii(tmp_path: Path) -> None:
    for name in ("v.log", "v.log.1", "v.log.\uff11", "v.log.\u0662"):
        (tmp_path / name).write_bytes(LINE)
    found = find_logs([str(tmp_path / "v.log")], rotated=True)
    assert [[Path(path).name for path in log.paths] for log in found.logs] == [["v.log.1", "v.log"]]
