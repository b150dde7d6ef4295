"""Run patchctl as a user does, in this process: arguments in; exit code, stdout and stderr out."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from patchctl.cli.app import app


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a run left: exit code, and both streams as text."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document on stdout."""
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found

    def patch(self, id_: str) -> dict[str, Any]:
        """The document's patch of that id."""
        (found,) = (patch for patch in self.document["patches"] if patch["id"] == id_)
        assert isinstance(found, dict)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """A site and a registry to run verbs on."""

    site: Path
    registry: Path | None = None

    def run(self, *arguments: str, env: Mapping[str, str] | None = None) -> Done:
        """Run ``patchctl ARGUMENTS --site SITE [--registry DIR]``.

        Sentences of the answer are as they would be without these two options: ``test_spoken`` is about those. Steps
        stay as they are.
        """
        registry = ["--registry", str(self.registry)] if self.registry is not None else []
        done = patchctl(*arguments, "--site", str(self.site), *registry, env=env)
        return Done(code=done.code, out=self._bare(done.out), err=self._bare(done.err))

    def _bare(self, text: str) -> str:
        registry = f" --registry {self.registry}" if self.registry is not None else ""
        said = re.compile(rf"(patchctl [a-z]+)(?: --site {re.escape(str(self.site))})?{re.escape(registry)}")
        # A banner and its JSON are pages: whoever reads them has no other words than these.
        steps = re.compile(r'step\t|> | *"patchctl | *"text": ')
        return "".join(line if steps.match(line) else said.sub(r"\1", line) for line in re.split(r"(?<=\n)", text))

    def json(self, *arguments: str, env: Mapping[str, str] | None = None) -> Done:
        """The same with ``--json``; the document is checked to carry the exit code."""
        done = self.run(*arguments, "--json", env=env)
        assert done.document["exit_code"] == done.code
        return done


def patchctl(*arguments: str, env: Mapping[str, str] | None = None) -> Done:
    """Run the command line with ``env`` added to an environment that decides nothing."""
    clean: dict[str, str | None] = {key: None for key in os.environ if key.startswith("PATCHCTL_")}
    clean |= dict.fromkeys(("VIRTUAL_ENV", "CONDA_PREFIX", "SOURCE_DATE_EPOCH", "SUDO_UID", "NO_COLOR"))
    result = CliRunner().invoke(app, list(arguments), env=clean | dict(env or {}), prog_name="patchctl")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Done(code=result.exit_code, out=result.stdout, err=result.stderr)


def killed_at(desk: Desk, name: str, *verb: str) -> None:
    """Run a verb in another process and kill it just before a file whose name ends with ``name`` takes its place."""
    script = (
        "import os, signal, sys\n"
        "def die(event, args):\n"
        f"    if event == 'os.rename' and str(args[1]).endswith({name!r}):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "sys.addaudithook(die)\n"
        "from patchctl.cli import main\n"
        "main()\n"
    )
    arguments = [*verb, "--site", str(desk.site), "--registry", str(desk.registry)]
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL


def on_a_terminal(*arguments: str, columns: int = 80, env: Mapping[str, str] | None = None) -> bytes:
    """The raw bytes that the command writes to a terminal, stdout and stderr together."""
    script = "import os,sys; from patchctl.cli import main; main()"
    pid, master = pty.fork()
    if pid == 0:
        clean = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "PYTHONWARNINGS"}}
        os.execve(
            sys.executable,
            [sys.executable, "-c", script, *arguments],
            clean | {"TERM": "xterm-256color", "COLUMNS": str(columns), "LINES": "40"} | dict(env or {}),
        )
    out = b""
    while True:
        try:
            chunk = os.read(master, 1 << 16)
        except OSError:
            break
        if not chunk:
            break
        out += chunk
    os.waitpid(pid, 0)
    os.close(master)
    return out


def tree(root: Path, *, but: tuple[str, ...] = (".patchctl",)) -> dict[str, tuple[Any, ...]]:
    """Everything below ``root`` but some top names: path -> (mode, owner, group, mtime, bytes or target)."""
    found: dict[str, tuple[Any, ...]] = {}
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        if relative.parts[0] in but:
            continue
        status = path.lstat()
        body: Any = None
        if path.is_symlink():
            body = str(path.readlink())
        elif path.is_file():
            body = path.read_bytes()
        mtime = None if path.is_dir() else status.st_mtime_ns
        found[str(relative)] = (status.st_mode, status.st_uid, status.st_gid, mtime, body)
    return found
