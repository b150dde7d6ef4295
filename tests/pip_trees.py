"""What pip makes of many wheels: one process that knows pip already, and forks for each of them."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

OPTIONS = ("--no-deps", "--no-index", "--no-compile", "--no-cache-dir", "--ignore-installed", "--quiet", "--no-input")
_DRIVER = """
import json, os, sys
from pip._internal.cli.main import main

def install(wheel, target, log, options):
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1), os.dup2(out, 2)
    return main(["install", *options, "--target", target, wheel])

answers = os.fdopen(os.dup(1), "w")
first, *jobs = map(json.loads, sys.stdin)
print(install(*first), file=answers, flush=True)  # what it imported here, the children need not
for job in jobs:
    child = os.fork()
    if not child:
        code = 70
        try:
            code = install(*job)
        finally:
            os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=answers, flush=True)
"""


class Installed(NamedTuple):
    """What pip made: path below the target -> (bytes, executable); None: it refused, with ``why``."""

    files: dict[str, tuple[bytes, bool]] | None
    why: str


def pip_trees(wheels: Sequence[Path], scratch: Path, *, deadline: float = 120) -> list[Installed]:
    """Install each wheel into a directory of its own below ``scratch``, as ``pip install --no-deps --target`` does."""
    scratch.mkdir(exist_ok=True)
    jobs = [
        (str(wheel), str(scratch / f"tree{number}"), str(scratch / f"log{number}"), OPTIONS)
        for number, wheel in enumerate(wheels)
    ]
    done = subprocess.run(
        [sys.executable, "-c", _DRIVER],
        input="".join(json.dumps(job) + "\n" for job in jobs),
        capture_output=True,
        text=True,
        check=True,
        timeout=deadline,
        cwd=scratch,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(scratch),
            "TMPDIR": str(scratch),
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PYTHONWARNINGS": "ignore",
        },
    )
    codes = [int(line) for line in done.stdout.split()]
    assert len(codes) == len(jobs)
    return [_installed(code, Path(job[1]), Path(job[2])) for code, job in zip(codes, jobs, strict=True)]


def _installed(code: int, target: Path, log: Path) -> Installed:
    why = log.read_text(errors="replace")
    return Installed(files=_tree(target) if code == 0 else None, why=why)


def _tree(root: Path) -> dict[str, tuple[bytes, bool]]:
    found = {}
    for directory, _, names in os.walk(os.fsencode(root)):
        for name in names:
            path = directory + b"/" + name
            status = os.lstat(path)
            assert stat.S_ISREG(status.st_mode), path
            at = os.fsdecode(os.path.relpath(path, os.fsencode(root)))
            found[at] = (Path(os.fsdecode(path)).read_bytes(), bool(status.st_mode & 0o100))
    return found
