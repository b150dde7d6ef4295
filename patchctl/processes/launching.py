"""How a process was started: its whole command line, its variables, its directory. Nothing of it is fit to be shown."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from patchctl.processes import table
from patchctl.processes.patience import ask_all

_PATIENCE = 0.5


class Started(NamedTuple):
    """How one process was started.

    Attributes:
        pid: its id.
        uid: whose it is.
        arguments: as it has them; a program may have overwritten them.
        environment: as it was started with, secrets included; None: not to be read.
        root: its root directory, seen from here.
        cwd: its directory, below that root; None: not to be read.
    """

    pid: int
    uid: int
    arguments: tuple[str, ...]
    environment: Mapping[str, str] | None
    root: str
    cwd: str | None


def read_started(pids: Sequence[int], proc: str = "/proc") -> tuple[tuple[int, Started | None], ...]:
    """Return for each pid how it was started; None: it is gone, hangs, or may not be inspected."""

    def ask(pid: int) -> Started | None:
        try:
            with table.opened(proc, pid) as process:
                before = table.read_stat(process, pid)
                started = Started(
                    pid=pid,
                    uid=os.fstat(process).st_uid,
                    arguments=table.read_command(process),
                    environment=table.read_environment(process),
                    root=f"{proc}/{pid}/root",
                    cwd=table.linked(process, "cwd"),
                )
                after = table.read_stat(process, pid)
        except OSError:
            return None
        return started if before is not None and after is not None and before.start_ns == after.start_ns else None

    found = {it.pid: it for it in ask_all(pids, ask, seconds=_PATIENCE).given if it is not None}
    return tuple((pid, found.get(pid)) for pid in pids)


def root_of(started: Started, path: str) -> str:
    """Return where a path that the process names lies, seen from here."""
    return f"{started.root}{os.path.normpath(os.path.join(started.cwd or '/', path))}"
