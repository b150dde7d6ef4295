"""git and GNU patch as users run them, many cases in one process.

Every case is a file of its own in a scratch folder, named by its number. Both tools tell files apart: ``git apply
--reject`` and ``patch`` go on after a file that does not fit and leave ``NAME.rej`` beside it; what they do with the
others is what they do alone (a test holds this). No repository above, no configuration.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

GIT = ("git", "apply", "-p1", "--whitespace=nowarn", "--reject", "-")
GNU = ("patch", "-p1", "--fuzz=0", "--binary", "--batch", "--forward", "--silent", "--no-backup-if-mismatch")


class Made(NamedTuple):
    """What a tool made of a file; None: the file is gone."""

    content: bytes | None


def environment(folder: Path) -> dict[str, str]:
    """Variables under which no repository and no configuration is found."""
    clean = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    return clean | {"GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}


def versions() -> str:
    """Which git and which patch were compared with."""
    lines = [subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout for tool in TOOLS]
    return ", ".join(line.split("\n")[0] for line in lines)


TOOLS = ("git", "patch")


def have_tools() -> bool:
    """Whether both are installed."""
    return all(shutil.which(tool) for tool in TOOLS)


def apply_all(
    command: Sequence[str],
    folder: Path,
    contents: Sequence[bytes | None],
    section: Callable[[int, str], bytes],
) -> list[Made | None]:
    """Apply ``section(number, name)`` to the content of that number; None where the tool refuses.

    Args:
        command: GIT or GNU.
        folder: scratch; made, and removed afterwards.
        contents: the files; None: not there.
        section: the diff of a case under a name.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    names = [f"{number:06d}" for number in range(len(contents))]
    for name, content in zip(names, contents, strict=True):
        if content is not None:
            (folder / name).write_bytes(content)
    diff = b"".join(section(number, name) for number, name in enumerate(names))
    done = subprocess.run(command, cwd=folder, input=diff, capture_output=True, env=environment(folder), check=False)
    assert done.returncode in {0, 1}, done.stderr[-500:]
    made = [_made(folder, name, content) for name, content in zip(names, contents, strict=True)]
    shutil.rmtree(folder)
    return made


def _made(folder: Path, name: str, before: bytes | None) -> Made | None:
    after = (folder / name).read_bytes() if (folder / name).exists() else None
    # what was refused before any hunk was tried (a file that exists, or is not there) leaves no reject
    return None if (folder / f"{name}.rej").exists() or after == before else Made(content=after)


def merged(folder: Path, current: bytes, base: bytes, other: bytes) -> Made | None:
    """What ``git merge-file`` makes of it; None: a conflict."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in (("current", current), ("base", base), ("other", other)):
        (folder / name).write_bytes(content)
    command = ["git", "merge-file", "-p", "current", "base", "other"]
    done = subprocess.run(command, cwd=folder, capture_output=True, env=environment(folder), check=False)
    assert done.returncode < 128, done.stderr
    return Made(content=done.stdout) if done.returncode == 0 else None


def git_diff(old: Mapping[str, bytes], new: Mapping[str, bytes], folder: Path, *options: str) -> bytes:
    """One git diff from ``old`` to ``new``, files that are equal left out."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, files in (("a", old), ("b", new)):
        (folder / name).mkdir(parents=True)
        for path, content in files.items():
            if old.get(path) != new.get(path):
                (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / name / path).write_bytes(content)
    command = ["git", "diff", "--no-index", "--no-renames", "--no-prefix", "--full-index", *options, "a", "b"]
    done = subprocess.run(command, cwd=folder, capture_output=True, env=environment(folder), check=False)
    shutil.rmtree(folder)
    return done.stdout
