"""What the pages promise of every verb, whatever the situation.

Watched from inside the interpreter (PEP 578 audit events): readers and dry runs open nothing for writing and take no
lock; no verb uses the network, starts a process, or imports or runs anything of the target. And the promise that
scripts are built on: when a bare ``apply`` exits 0, an immediate ``check`` exits 0.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import pytest

from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk
from tests.sites import install, make_site, make_venv_layout, tree_state
from tests.small_wheels import make_wheel

WATCH = """
import os, sys

SITE, READS = sys.argv[1], sys.argv[2] == "reads"
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = {"os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink",
           "os.truncate", "os.utime", "os.setxattr", "os.removexattr", "fcntl.flock", "fcntl.lockf"}
# A fork is patchctl still, and is watched as well: regular expressions are searched in one.
STARTS = {"os.exec", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen"}


def watch(event, args):
    bad = event in STARTS or event.startswith(("socket.", "urllib.", "http.", "ftplib.", "smtplib."))
    if event == "import":
        bad = bool(args[1]) and str(args[1]).startswith(SITE)
    if event == "exec":
        bad = str(args[0].co_filename).startswith(SITE)
    if READS:
        bad = bad or event in CHANGES or (event == "open" and bool(args[2] & WRITING))
    if bad:
        sys.stderr.write(f"PROMISE BROKEN: {event} {args!r}\\n")
        sys.stderr.flush()
        os._exit(99)


del sys.argv[1:3]
from patchctl.cli import main
sys.addaudithook(watch)
main()
"""
BASE, AFTER = b"raise SystemExit(98)\nx = 1\n", b"raise SystemExit(98)\nx = 2\n"
FIX = {
    "ref": "vllm-project/vllm#1",
    "role": "fixes",
    "claimed": ">=0.1",
    "evidence": [
        {"file": "vllm/__init__.py", "contains": "x = 3"},
        {"file": "vllm/gone.py", "symbol": "gone", "matches": "x+"},
    ],
}


class Bench:
    """A virtual environment whose package ends whoever imports it, a registry, and a watched patchctl."""

    def __init__(self, where: Path) -> None:
        self.root = where / "venv"
        self.site = make_venv_layout(self.root)
        install(self.site, {"vllm/__init__.py": BASE, "vllm/_version.py": b"raise SystemExit(98)\n"})
        self.registry = make_registry(where / "registry")
        add_entry(self.registry, "one", make_diff({"vllm/__init__.py": (BASE, AFTER)}), fixes=[FIX])

    def run(self, *arguments: str, reads: bool) -> subprocess.CompletedProcess[str]:
        words = [str(self.site) if word == "SITE" else word for word in arguments]
        command = [sys.executable, "-B", "-c", WATCH, str(self.site), "reads" if reads else "writes", *words]
        environ = {"PATH": "/usr/bin:/bin", "VIRTUAL_ENV": str(self.root), "PATCHCTL_REGISTRY": str(self.registry)}
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environ, cwd=CHECKOUT)


CHECKOUT = Path(__file__).parent.parent
READING = (
    (("status",), 0),
    (("status", "--json", "-v"), 0),
    (("check",), 1),
    (("list",), 0),
    (("show", "one"), 0),
    (("history",), 0),
    (("ps", "--json"), 0),
    (("advise", "--json"), 0),
    (("lint",), 0),
    (("lock", "--output", "-"), 0),
    (("status", "--digest"), 0),
    (("status", "--oneline"), 0),
    (("lint", "--against", "SITE", "--matrix"), 1),
    (("apply", "--dry-run"), 0),
    (("hold", "one", "--reason", "why", "--dry-run"), 0),
    (("revert", "--all", "--dry-run"), 0),
    (("retire", "--dry-run"), 0),
    (("revert", "--all", "--keep-edits", "--dry-run"), 0),
    (("adopt", "--dry-run"), 0),
    (("adopt",), 0),
    (("adopt", "one"), 1),
    (("restore", "vllm/__init__.py", "--from", "none.whl"), 0),
    (("restore", "vllm/none.py", "--from", "none.whl", "--dry-run"), 1),
    (("recover",), 0),
    (("revert", "one"), 0),
    (("unhold", "one"), 0),
    (("verify",), 1),
    (("verify", "--all", "--fast"), 1),
    (("verify", "--drop-baseline"), 1),
    (("verify", "--baseline", "--dry-run"), 0),
    (("doctor",), 0),
    (("doctor", "--clean", "--gc"), 0),
    (("preflight", "none.whl"), 3),
)
"""Readers, dry runs, and what has nothing to do."""


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.parametrize(("arguments", "code"), READING, ids=[" ".join(arguments) for arguments, _ in READING])
def test_reading_opens_nothing_for_writing(bench: Bench, arguments: tuple[str, ...], code: int) -> None:
    before = tree_state(bench.root)
    done = bench.run(*arguments, reads=True)
    assert (done.returncode, done.stderr if "PROMISE" in done.stderr else "") == (code, "")
    assert tree_state(bench.root) == before


def test_nothing_to_do_opens_nothing_for_writing(bench: Bench) -> None:
    assert bench.run("apply", reads=False).returncode == 0
    before = tree_state(bench.root)
    for arguments, code in ((("apply",), 0), (("apply", "one"), 0), (("check",), 0), (("retire",), 0)):
        done = bench.run(*arguments, reads=True)
        assert (done.returncode, done.stderr if "PROMISE" in done.stderr else "") == (code, "")
    assert tree_state(bench.root) == before


def test_looking_ahead_opens_nothing_for_writing(bench: Bench, tmp_path: Path) -> None:
    assert bench.run("apply", reads=False).returncode == 0
    wheel = make_wheel(tmp_path, [("vllm/moved/one.py", BASE)], build="0.26.0")
    there = Bench(tmp_path / "there")
    before = tree_state(tmp_path)
    for candidate in (wheel, there.root, there.site):
        done = bench.run("preflight", str(candidate), reads=True)
        code = 1 if candidate is wheel else 0
        assert (done.returncode, done.stderr if "PROMISE" in done.stderr else "") == (code, "")
    assert tree_state(tmp_path) == before


@pytest.mark.attack("strange-interpreter")
def test_writing_uses_no_network_starts_nothing_and_runs_nothing_of_the_target(bench: Bench) -> None:
    for arguments in (("apply",), ("hold", "one", "--reason", "why"), ("revert", "--all"), ("unhold", "one")):
        done = bench.run(*arguments, reads=False)
        assert (done.returncode, done.stderr if "PROMISE" in done.stderr else "") == (0, ""), arguments
    assert (bench.site / "vllm/__init__.py").read_bytes() == BASE


@pytest.mark.attack("strange-interpreter")
def test_mending_uses_no_network_starts_nothing_and_runs_nothing_of_the_target(bench: Bench, tmp_path: Path) -> None:
    file = bench.site / "vllm/__init__.py"
    wheel = make_wheel(tmp_path, [("vllm/__init__.py", BASE)])
    for text, arguments in (
        (AFTER, ("adopt",)),
        (AFTER + b"y = 1\n" * 9, ("restore", "vllm/__init__.py", "--from", str(wheel))),
        (AFTER + b"y = 1\n", ("restore", "vllm/__init__.py", "--from", str(wheel))),
        (AFTER, ("revert", "one", "--keep-edits")),
    ):
        file.write_bytes(text)
        done = bench.run(*arguments, reads=False)
        assert (done.returncode, done.stderr if done.returncode else "") == (0, ""), arguments
    assert file.read_bytes() == BASE


def test_the_watch_sees_what_it_is_there_for(bench: Bench) -> None:
    done = bench.run("apply", reads=True)
    assert done.returncode == 99
    assert "PROMISE BROKEN" in done.stderr
    assert not (bench.site / ".patchctl").exists()


ENGINE = "vllm/engine.py"
LINES = [b"line_%d = 1\n" % number for number in range(1, 21)]
OLD = b"".join(LINES)
NEW = OLD.replace(b"line_5 = 1\n", b"line_5 = five\n")
NEWER = OLD.replace(b"line_5 = 1\n", b"line_5 = FIVE\n")
FOUND = {
    "pristine": OLD,
    "patched": NEW,
    "other": OLD.replace(b"line_5 = 1\n", b"line_5 = one\n"),
    "gone": None,
}
BEFORE = ("never applied", "applied", "applied to another build", "held in", "held out")
REGISTRY = ("same", "newer revision", "optional", "another build", "broken", "advisory beside", "gone")


@pytest.mark.parametrize(("before", "found", "registry"), list(itertools.product(BEFORE, FOUND, REGISTRY)))
def test_when_a_bare_apply_exits_0_so_does_an_immediate_check(
    tmp_path: Path, before: str, found: str, registry: str
) -> None:
    site = make_site(tmp_path, {ENGINE: OLD}, build="0.19.0" if before == "applied to another build" else "0.20.0")
    desk = Desk(site=site, registry=make_registry(tmp_path / "registry"))
    folder = add_entry(tmp_path / "registry", "one", make_diff({ENGINE: (OLD, NEW)}))
    if before not in {"never applied", "held out"}:
        assert desk.run("apply").code == 0
    if before.startswith("held"):
        assert desk.run("hold", "one", "--reason", "why").code == 0
    _rebuild(site, FOUND[found]) if before == "applied to another build" else _leave(site, FOUND[found])
    _change_registry(tmp_path / "registry", folder, registry)
    first = desk.run("apply")
    check = desk.run("check")
    assert check.code == 0 if first.code == 0 else check.code != 0
    assert desk.run("apply").code == first.code


def _leave(site: Path, data: bytes | None) -> None:
    """Leave the file as somebody might: as it is when patchctl has just patched it and it is to be ``patched``."""
    path = site / ENGINE
    if data is None:
        path.unlink()
    elif path.read_bytes() != data:
        path.write_bytes(data)


def _rebuild(site: Path, data: bytes | None) -> None:
    for path in next(site.glob("*.dist-info")).iterdir():
        path.unlink()
    next(site.glob("*.dist-info")).rmdir()
    install(site, {ENGINE: data if data is not None else OLD, "vllm/news.py": b""}, build="0.20.0")
    if data is None:
        (site / ENGINE).unlink()


def _change_registry(registry: Path, folder: Path, how: str) -> None:
    if how == "newer revision":
        add_entry(registry, "one", make_diff({ENGINE: (OLD, NEWER)}), revision=2)
    elif how == "optional":
        add_entry(registry, "one", make_diff({ENGINE: (OLD, NEW)}), default=False)
    elif how == "another build":
        add_entry(registry, "one", make_diff({ENGINE: (OLD, NEW)}), variant={"versions": "==0.19.0"})
    elif how == "broken":
        (folder / "patch.toml").write_text("id = 1\n")
    elif how == "advisory beside":
        add_entry(registry, "two", None, kind="advisory", avoid=[{"args": ["--safe"]}])
    elif how == "gone":
        for path in folder.iterdir():
            path.unlink()
        add_entry(registry, "two", None, kind="advisory", avoid=[{"args": ["--safe"]}])
