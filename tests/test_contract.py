"""What scripts may rely on: one JSON document on every path, exit codes, streams, plain pipes, escaped terminals."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from patchctl.cli.runner import EXIT_CODES
from patchctl.errors import Outcome
from patchctl.render.escape import visible
from tests.contract import complaints
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, Done, killed_at, on_a_terminal, patchctl, tree
from tests.sites import make_site, make_venv_layout
from tests.small_wheels import make_wheel

PATH = "vllm/engine.py"
BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 31))
LOW = BASE.replace(b"line_5 = 1\n", b"line_5 = five\n")
HOSTILE = "\x1b]0;owned\x07\x1b[31mred\x9b2J\u202edlrow\u2066[bold]markup[/bold]"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    site = make_site(tmp_path, {PATH: BASE}, build="0.25.1")
    registry = make_registry(tmp_path / "registry")
    add_entry(registry, "a-low", make_diff({PATH: (BASE, LOW)}))
    return Desk(site=site, registry=registry)


def open_journal(desk: Desk) -> None:
    """Kill an apply in the middle, so that its journal stays."""
    killed_at(desk, "engine.py", "apply")


def under_lock(desk: Desk, verb: str, *, open_first: bool = False) -> Done:
    """Run ``verb`` under a lock of the desk as it is, with nothing applied."""
    lock = str(desk.site.parent / "patchctl.lock")
    assert desk.run("lock", "--output", lock).code == 0
    if open_first:
        open_journal(desk)
    return desk.json(verb, "--locked", lock)


def no_target(desk: Desk) -> Done:
    empty = desk.site.parent / "empty"
    empty.mkdir()
    return Desk(site=empty, registry=desk.registry).json("status")


def busy(desk: Desk) -> Done:
    import fcntl

    desk.run("apply")
    with (desk.site / ".patchctl" / "lock").open("r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return desk.json("revert", "--all")


def left_open(desk: Desk, verb: str) -> Done:
    open_journal(desk)
    return desk.json(verb)


def history_of_one(desk: Desk) -> Done:
    desk.run("apply")
    return desk.json("history", "a-low")


def unfinished(desk: Desk, *verb: str) -> Done:
    open_journal(desk)
    return desk.json(*(verb or ("check",)))


def recovered(desk: Desk) -> Done:
    open_journal(desk)
    return desk.json("recover")


def drifted(desk: Desk) -> Done:
    desk.run("apply")
    (desk.site / PATH).write_bytes(LOW + b"mine\n")
    return desk.json("revert", "a-low")


def broken(desk: Desk) -> Done:
    assert desk.registry is not None
    (desk.registry / "vllm" / "a-low" / "fix.diff").write_bytes(b"not a diff\n")
    return desk.json("check")


def lint_broken(desk: Desk) -> Done:
    assert desk.registry is not None
    (desk.registry / "vllm" / "a-low" / "fix.diff").write_bytes(b"not a diff\n")
    return desk.json("lint")


def lint_strict(desk: Desk) -> Done:
    assert desk.registry is not None
    (desk.registry / "vllm" / "a-low" / "unused.diff").write_bytes(b"")
    return desk.json("lint", "--strict")


def in_child(desk: Desk, event: str, effect: str) -> Done:
    """Run ``apply --json`` in a process of its own, in which ``effect`` happens at the first ``event``."""
    script = (
        "import os, signal, sys\n"
        "def at(event, args):\n"
        f"    if event == {event!r} and any('engine.py' in str(it) for it in args):\n"
        f"        {effect}\n"
        "sys.addaudithook(at)\n"
        "from patchctl.cli import main\n"
        "main()\n"
    )
    arguments = ["apply", "--json", "--site", str(desk.site), "--registry", str(desk.registry)]
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False)
    return Done(code=done.returncode, out=done.stdout, err=done.stderr)


def terminated(desk: Desk) -> Done:
    return in_child(desk, "os.rename", "os.kill(os.getpid(), signal.SIGTERM)")


def interrupted(desk: Desk) -> Done:
    return in_child(desk, "os.rename", "os.kill(os.getpid(), signal.SIGINT)")


def failed(desk: Desk) -> Done:
    return in_child(desk, "os.rename", "raise OSError(28, 'No space left on device')")


def a_bug(desk: Desk) -> Done:
    return in_child(desk, "open", "raise ZeroDivisionError('nobody thought of this')")


def locked_by_another(desk: Desk, *verb: str) -> Done:
    import fcntl

    desk.run("hold", "a-low", "--reason", "x")
    with (desk.site / ".patchctl" / "lock").open("r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return desk.json(*verb)


def foreign(desk: Desk) -> Done:
    (desk.site / PATH).write_bytes(b"mine\n")
    return desk.json("verify")


def no_record(desk: Desk) -> Done:
    next(desk.site.glob("*.dist-info/RECORD")).unlink()
    return desk.json("verify")


def baseline_busy(desk: Desk) -> Done:
    (desk.site / PATH).unlink()
    return locked_by_another(desk, "verify", "--baseline")


def leftover(desk: Desk) -> Done:
    (desk.site / "~llm").mkdir()
    return desk.json("doctor")


def kept(desk: Desk) -> Done:
    desk.run("apply")
    (desk.site / PATH).write_bytes(LOW + b"mine\n")
    return desk.json("revert", "a-low", "--keep-edits")


def adopted(desk: Desk) -> Done:
    (desk.site / PATH).write_bytes(LOW)
    return desk.json("adopt")


def adopt_busy(desk: Desk) -> Done:
    (desk.site / PATH).write_bytes(LOW)
    desk.run("hold", "a-low", "--reason", "x")
    desk.run("unhold", "a-low")
    import fcntl

    with (desk.site / ".patchctl" / "lock").open("r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return desk.json("adopt")


def restored(desk: Desk, *more: str) -> Done:
    (desk.site / PATH).write_bytes(b"mine\n")
    wheel = make_wheel(desk.site.parent, [(PATH, BASE)])
    return desk.json("restore", PATH, "--from", str(wheel), *more)


PATHS: dict[str, tuple[Callable[[Desk], Done], int]] = {
    "status": (lambda desk: desk.json("status"), 0),
    "status --all": (lambda desk: desk.json("status", "--all"), 0),
    "check, due": (lambda desk: desk.json("check"), 1),
    "apply": (lambda desk: desk.json("apply"), 0),
    "apply --dry-run": (lambda desk: desk.json("apply", "--dry-run"), 0),
    "apply, unknown id": (lambda desk: desk.json("apply", "nothing"), 2),
    "apply --all with ids": (lambda desk: desk.json("apply", "a-low", "--all"), 2),
    "apply --assume-build without ids": (lambda desk: desk.json("apply", "--assume-build", "1"), 2),
    "revert": (lambda desk: desk.json("revert", "--all"), 0),
    "revert without ids": (lambda desk: desk.json("revert"), 2),
    "revert, drifted": (drifted, 1),
    "hold": (lambda desk: desk.json("hold", "a-low", "--reason", "because"), 0),
    "hold without words": (lambda desk: desk.json("hold", "a-low", "--reason", " "), 2),
    "unhold": (lambda desk: desk.json("unhold", "a-low"), 0),
    "retire": (lambda desk: desk.json("retire"), 0),
    "retire, unproven": (lambda desk: desk.json("retire", "a-low"), 1),
    "list": (lambda desk: desk.json("list"), 0),
    "show": (lambda desk: desk.json("show", "a-low"), 0),
    "show, unknown id": (lambda desk: desk.json("show", "nothing"), 2),
    "lint": (lambda desk: desk.json("lint"), 0),
    "lint --strict": (lint_strict, 1),
    "lint, broken": (lint_broken, 1),
    "lint, no registry": (lambda desk: Desk(site=desk.site, registry=desk.site).json("lint"), 3),
    "lint --against": (lambda desk: desk.json("lint", "--against", str(desk.site), "--matrix"), 0),
    "lint --against, nothing there": (lambda desk: desk.json("lint", "--against", "none.whl"), 3),
    "lint, nothing to show": (lambda desk: desk.json("lint", "--matrix"), 2),
    "lint, unknown id": (lambda desk: desk.json("lint", "nothing"), 2),
    "verify": (lambda desk: desk.json("verify"), 0),
    "verify, foreign": (foreign, 1),
    "verify, no record": (no_record, 3),
    "verify --baseline": (lambda desk: desk.json("verify", "--baseline"), 0),
    "verify --baseline, busy": (baseline_busy, 5),
    "verify, unfinished": (lambda desk: unfinished(desk, "verify"), 4),
    "verify, two decisions": (lambda desk: desk.json("verify", "--baseline", "--drop-baseline"), 2),
    "doctor": (lambda desk: desk.json("doctor"), 0),
    "doctor, needed": (leftover, 1),
    "doctor --clean --gc": (lambda desk: desk.json("doctor", "--clean", "--gc"), 0),
    "doctor --gc, unfinished": (lambda desk: unfinished(desk, "doctor", "--gc"), 4),
    "doctor, no environment": (lambda desk: Desk(site=desk.site / "none", registry=desk.registry).json("doctor"), 3),
    "history": (lambda desk: desk.json("history"), 0),
    "history, no environment": (lambda desk: Desk(site=desk.site / "none", registry=desk.registry).json("history"), 3),
    "history of one": (history_of_one, 0),
    "history, unfinished": (lambda desk: left_open(desk, "history"), 4),
    "advise": (lambda desk: desk.json("advise"), 0),
    "advise --strict": (lambda desk: desk.json("advise", "--strict", "--command", "vllm serve m"), 1),
    "advise, no launch": (lambda desk: desk.json("advise", "--command", "ls"), 3),
    "advise, no file": (lambda desk: desk.json("advise", "--unit", "none.service"), 3),
    "advise, bad GPU": (lambda desk: desk.json("advise", "--gpu", "a b"), 2),
    "advise, unfinished": (lambda desk: left_open(desk, "advise"), 4),
    "report": (lambda desk: desk.json("report"), 0),
    "report --output": (lambda desk: desk.json("report", "--output", str(desk.site.parent / "page.md")), 0),
    "report --into, no markers": (lambda desk: desk.json("report", "--into", str(desk.registry) + "/registry.toml"), 1),
    "report --output, in the site": (lambda desk: desk.json("report", "--output", str(desk.site / "page.md")), 1),
    "report --output, no directory": (lambda desk: desk.json("report", "--output", str(desk.site / "../no/page")), 3),
    "report, unknown format": (lambda desk: desk.json("report", "--format", "pdf"), 2),
    "report, unfinished": (lambda desk: left_open(desk, "report"), 4),
    "report --format openvex": (lambda desk: desk.json("report", "--format", "openvex"), 0),
    "ps": (lambda desk: desk.json("ps"), 0),
    "lock": (lambda desk: desk.json("lock", "--output", str(desk.site.parent / "patchctl.lock")), 0),
    "lock, printed": (lambda desk: desk.json("lock", "--output", "-"), 0),
    "lock, unfinished": (lambda desk: left_open(desk, "lock"), 4),
    "lock, in the site": (lambda desk: desk.json("lock", "--output", str(desk.site / "x.lock")), 2),
    "check --locked, no file": (lambda desk: desk.json("check", "--locked", str(desk.site.parent / "none")), 3),
    "check --locked": (lambda desk: under_lock(desk, "check"), 1),
    "check --locked, unfinished": (lambda desk: under_lock(desk, "check", open_first=True), 4),
    "status --locked": (lambda desk: under_lock(desk, "status"), 0),
    "apply --locked": (lambda desk: under_lock(desk, "apply"), 0),
    "apply --locked with ids": (lambda desk: desk.json("apply", "a-low", "--locked", "x"), 2),
    "status --digest": (lambda desk: desk.json("status", "--digest"), 0),
    "status --oneline": (lambda desk: desk.json("status", "--oneline"), 0),
    "check --expect": (lambda desk: desk.json("check", "--expect", "patchctl1:" + "0" * 64), 1),
    "check --expect, no digest": (lambda desk: desk.json("check", "--expect", "x"), 2),
    "ps, unfinished": (lambda desk: left_open(desk, "ps"), 4),
    "apply --cache-user without purge": (lambda desk: desk.json("apply", "--cache-user", "root"), 2),
    "revert --keep-edits": (kept, 0),
    "adopt": (adopted, 0),
    "adopt, not in": (lambda desk: desk.json("adopt", "a-low"), 1),
    "adopt --unproven without ids": (lambda desk: desk.json("adopt", "--unproven"), 2),
    "adopt, busy": (adopt_busy, 5),
    "restore": (restored, 0),
    "restore --dry-run": (lambda desk: restored(desk, "--dry-run"), 0),
    "restore, unlisted": (lambda desk: desk.json("restore", "vllm/none.py", "--from", "none.whl"), 1),
    "restore, no wheel": (lambda desk: restored(desk, "--from", "none.whl"), 3),
    "recover, nothing": (lambda desk: desk.json("recover"), 0),
    "recover": (recovered, 0),
    "check, unfinished": (unfinished, 4),
    "check, broken": (broken, 3),
    "no distribution": (no_target, 3),
    "no registry": (lambda desk: Desk(site=desk.site, registry=desk.site).json("status"), 3),
    "busy": (busy, 5),
    "hold, busy": (lambda desk: locked_by_another(desk, "hold", "a-low", "--reason", "y"), 5),
    "unhold, busy": (lambda desk: locked_by_another(desk, "unhold", "a-low"), 5),
    "list, no registry": (lambda desk: Desk(site=desk.site, registry=desk.site).json("list"), 3),
    "recover, no environment": (lambda desk: Desk(site=desk.site / "none", registry=desk.registry).json("recover"), 3),
    "terminated": (terminated, 143),
    "interrupted": (interrupted, 130),
    "failed and rolled back": (failed, 4),
    "a bug": (a_bug, 70),
    "decision in the environment": (lambda desk: desk.json("apply", env={"PATCHCTL_DRY_RUN": "1"}), 2),
    "registry under sudo": (
        lambda desk: patchctl("list", "--json", env={"SUDO_UID": "1000", "PATCHCTL_REGISTRY": str(desk.registry)}),
        2,
    ),
    "a bad epoch": (lambda desk: desk.json("status", env={"SOURCE_DATE_EPOCH": "soon"}), 2),
}


@pytest.mark.parametrize("name", PATHS)
def test_every_path_prints_one_valid_document_and_its_exit_code(desk: Desk, name: str) -> None:
    run, code = PATHS[name]
    done = run(desk)
    assert done.code == code
    assert complaints(done.document) == []
    assert done.document["exit_code"] == code
    refused = name in {"revert, drifted", "retire, unproven", "adopt, not in", "restore, unlisted", "check --expect"}
    refused = refused or name in {"report --into, no markers", "report --output, in the site"}
    assert bool(done.document["errors"]) is (code not in {0, 1} or refused)


def test_exit_codes_are_those_of_the_contract() -> None:
    expected = {
        Outcome.OK: 0,
        Outcome.ATTENTION: 1,
        Outcome.USAGE: 2,
        Outcome.CANNOT_ANSWER: 3,
        Outcome.UNFINISHED: 4,
        Outcome.BUSY: 5,
        Outcome.BUG: 70,
        Outcome.INTERRUPTED: 130,
        Outcome.TERMINATED: 143,
    }
    assert expected == EXIT_CODES
    assert set(EXIT_CODES) == set(Outcome)


def test_c31_an_open_journal_is_4_on_a_read_only_tree_too(desk: Desk) -> None:
    open_journal(desk)
    before = tree(desk.site, but=())
    for path in sorted(desk.site.rglob("*"), reverse=True):
        if path.is_dir():
            path.chmod(0o555)
    try:
        done = desk.run("check")
        assert done.code == 4
        assert "patchctl recover" in done.out + done.err
    finally:
        for path in sorted(desk.site.rglob("*")):
            if path.is_dir():
                path.chmod(0o755)
    assert tree(desk.site, but=())[PATH] == before[PATH]
    assert desk.run("apply").code == 0
    assert (desk.site / PATH).read_bytes() == LOW


def test_documents_hold_no_time(desk: Desk) -> None:
    desk.run("hold", "a-low", "--reason", "x")
    text = desk.json("status", "--all").out + desk.json("unhold", "a-low").out + desk.json("apply").out
    assert "T0" not in text
    assert "since" not in text


def test_piped_output_is_one_record_a_line_without_colour_or_boxes(desk: Desk) -> None:
    for verb in (["status"], ["check"], ["list"], ["show", "a-low"], ["apply"], ["revert", "--all"]):
        done = desk.run(*verb)
        assert "\x1b" not in done.out
        assert not any("\u2500" <= char <= "\u257f" for char in done.out)
        for line in done.out.splitlines():
            assert line.split("\t")[0].isidentifier(), line


def test_on_failure_stdout_is_empty_and_the_hint_follows_a_blank_line(desk: Desk) -> None:
    for done in (desk.run("apply", "nothing"), desk.run("retire", "a-low"), desk.run("revert")):
        assert done.code != 0
        assert done.out == ""
        assert "error: " in done.err
        assert "\n\nhint: " in done.err


def test_quiet_says_nothing_but_errors(desk: Desk) -> None:
    assert desk.run("check", "-q").out == ""
    assert desk.run("check", "-q").code == 1
    assert "error:" in desk.run("apply", "nothing", "-q").err


def test_verbose_names_the_source_of_every_setting(desk: Desk) -> None:
    env = {"PATCHCTL_SITE": str(desk.site), "PATCHCTL_REGISTRY": str(desk.registry)}
    done = patchctl("status", "-v", env=env)
    assert f"setting: site = {desk.site} (PATCHCTL_SITE)" in done.err
    assert f"setting: registry = {desk.registry} (PATCHCTL_REGISTRY)" in done.err
    assert "--site)" in desk.run("status", "-v").err


def test_the_first_line_of_every_answer_names_the_environment(desk: Desk, tmp_path: Path) -> None:
    for verb in (["status"], ["check"], ["apply"], ["recover"]):
        assert (
            desk.run(*verb).out.splitlines()[0].startswith(f"environment\t{desk.site}\tchosen-by=--site\tvllm=0.25.1")
        )
    site = make_venv_layout(tmp_path / "env")
    done = patchctl("status", "--registry", str(desk.registry), env={"VIRTUAL_ENV": str(tmp_path / "env")})
    assert done.code == 3
    assert str(site) in done.err


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def live_controls(raw: bytes) -> list[str]:
    """Control characters on a terminal that are not a colour, a line end or a tab, nor a progress bar's own."""
    import re

    bar = rb"\?25[lh]|1A|2K"  # cursor off and on, one line up, the line away
    text = re.sub(rb"\x1b\[(?:[0-9;]*m|" + bar + rb")", b"", raw).decode("utf-8", "replace")
    return [char for char in text if char not in "\r\n\t" and visible(char) != char]


@pytest.mark.attack("terminal-text")
def test_hostile_text_reaches_a_terminal_escaped(tmp_path: Path) -> None:
    hostile = HOSTILE.encode()
    after = BASE.replace(b"line_5 = 1\n", b"line_5 = '" + hostile + b"'\n")
    # The environment's own path, the registry's, and every free text of an entry.
    odd = tmp_path / ("odd\x1b[2J\u202e" + "x")
    site = make_site(odd, {PATH: BASE}, build="0.25.1")
    registry = make_registry(odd / "registry", name="name")
    texts: dict[str, Any] = dict.fromkeys(("why", "how", "removal"), HOSTILE)
    add_entry(registry, "a-low", make_diff({PATH: (BASE, after)}), title=HOSTILE, **texts)
    broken = make_diff({"vllm/\x1b[2J.py": (BASE, after)})
    add_entry(registry, "b-path", broken)
    where = ["--site", str(site), "--registry", str(registry)]
    assert b"x1b" in on_a_terminal("list", *where)
    for verb in (
        ["list"],
        ["show", "a-low"],
        ["status"],
        ["verify", "-v"],
        ["doctor"],
        ["apply", "--dry-run"],
        ["apply"],
        ["status", "nothing\x1b[2J"],
    ):
        raw = on_a_terminal(*verb, *where)
        assert live_controls(raw) == [], verb
    assert b"[bold]markup[/bold]" in on_a_terminal("show", "a-low", *where)
    # Piped text cannot be trusted to stay away from a terminal either.
    piped = patchctl("show", "a-low", *where).out
    assert [char for char in piped if char not in "\n\t" and visible(char) != char] == []


@pytest.mark.parametrize("columns", [80, 40, 200])
def test_terminal_lines_fit_the_width(desk: Desk, columns: int) -> None:
    import re

    raw = on_a_terminal("status", "--site", str(desk.site), "--registry", str(desk.registry), columns=columns)
    text = re.sub(rb"\x1b\[[0-9;]*m", b"", raw).decode()
    assert max(len(line.rstrip("\r")) for line in text.split("\n")) <= columns
    assert "apply" in text


def test_a_bar_shows_on_a_terminal_and_only_where_somebody_looks(desk: Desk) -> None:
    where = ["--site", str(desk.site), "--registry", str(desk.registry)]
    assert b"verifying" in on_a_terminal("verify", *where)
    for silent in ("--json", "-q"):
        assert b"verifying" not in on_a_terminal("verify", silent, *where)
    assert "verifying" not in patchctl("verify", *where).err


def test_colour_can_be_switched_off(desk: Desk) -> None:
    where = ["--site", str(desk.site), "--registry", str(desk.registry)]
    assert b"\x1b[" in on_a_terminal("status", *where)
    assert b"\x1b[" not in on_a_terminal("status", "--no-color", *where)


def test_a_reader_that_goes_away_is_no_crash(desk: Desk) -> None:
    command = [sys.executable, "-m", "patchctl", "status", "--site", str(desk.site), "--registry", str(desk.registry)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
        assert process.wait() == 0


def test_python_dash_m_is_the_console_script() -> None:
    done = subprocess.run([sys.executable, "-m", "patchctl", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("patchctl ")
    assert "apply" in patchctl("--help").out


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1", "soon"])
def test_a_wait_is_a_number_of_seconds(desk: Desk, seconds: str) -> None:
    assert desk.run("apply", "--wait", seconds).code == 2


def test_a_shell_completes_verbs_and_ids(desk: Desk) -> None:
    def completed(words: str) -> list[str]:
        environ = {"_PATCHCTL_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        command = [sys.executable, "-c", "from patchctl.cli import main; main()"]
        added = environ | {"PATCHCTL_REGISTRY": str(desk.registry)}
        done = subprocess.run(command, env=dict(os.environ) | added, capture_output=True, text=True, check=False)
        return done.stdout.split()

    assert "revert" in completed("patchctl re")
    assert completed("patchctl revert a-") == ["a-low"]
    assert completed("patchctl show zzz") == []
