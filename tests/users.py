"""Run a verb as a service user: another uid, which owns nothing and may read what everybody may."""

from __future__ import annotations

import importlib
import os
import pickle
import pkgutil
from pathlib import Path

import pytest

import patchctl as patchctl_package
from tests.running import Done, patchctl

NOBODY = 65534


def as_service_user(*arguments: str) -> Done:
    """Run ``patchctl ARGUMENTS`` in a child that gave up root for good; skipped where the tests are not root.

    The interpreter may lie where that user cannot go (a home directory), so the child is a fork of this process, in
    which everything a verb needs is imported already.
    """
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    _import_everything(arguments)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            done = patchctl(*arguments)
            with os.fdopen(writing, "wb") as stream:
                pickle.dump(done, stream)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        answer = stream.read()
    os.waitpid(pid, 0)
    assert answer, "the child gave no answer"
    found = pickle.loads(answer)
    assert isinstance(found, Done)
    return found


def _import_everything(arguments: tuple[str, ...]) -> None:
    """Import all of patchctl, and what it imports late from elsewhere: readers are run, which change nothing."""
    for module in pkgutil.walk_packages(patchctl_package.__path__, "patchctl."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    "".encode("cp437")  # the codec of zip archives, which a service user may not be able to load later
    where = arguments[next(at for at, word in enumerate(arguments) if word in {"--site", "--python"}) :]
    for verb in ("status", "verify", "doctor"):
        patchctl(verb, *where)


def open_the_way(path: Path) -> None:
    """Let every user enter the directories above ``path`` that are ours: pytest closes its own."""
    for directory in path.parents:
        status = directory.stat()
        if status.st_uid == os.geteuid() and status.st_mode & 0o005 != 0o005 and directory != Path("/root"):
            directory.chmod(status.st_mode | 0o055)
