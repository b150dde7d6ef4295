"""The launches of live processes, and whether they still run the code from before the last change."""

from __future__ import annotations

import os

from patchctl.commands.place import Place
from patchctl.commands.plainfile import text_or_none
from patchctl.commands.running import look
from patchctl.commands.sources import Found, Sources, Wanted, configured
from patchctl.errors import PatchctlError, Problem
from patchctl.launch import Command, Launch, ShellError, launches_of, plain
from patchctl.model.processes import Age
from patchctl.processes import Started, read_started, root_of


def running_launches(place: Place, site: str, wanted: Wanted) -> tuple[Sources, frozenset[int]]:
    """Return the launches of the processes that are asked about, and the pids that run old code.

    Raises:
        PatchctlError: a named process is gone, may not be inspected, or does not start vLLM; none is running.
    """
    seen = look(place, site)
    stale = frozenset(process.pid for process in seen.of_age(Age.STALE))
    found: list[Found] = []
    for pid, started in read_started(wanted.pids, place.proc):
        if started is None:
            hint = "run it as root, or as the user of the service"
            raise PatchctlError("cannot-inspect", f"process {pid} is gone or may not be inspected", hint=hint)
        launches = _launches(started)
        if not launches:
            hint = "name the process that was started, not one of its children: patchctl ps lists them all"
            raise PatchctlError("no-launch", f"the command line of process {pid} does not start vLLM", hint=hint)
        found += launches
    warnings: tuple[Problem, ...] = ()
    if wanted.all_running:
        pids = [process.pid for process, _ in seen.judged if process.pid not in wanted.pids]
        running = [it for _, started in read_started(pids, place.proc) if started for it in _launches(started)]
        found += running
        if not seen.census.whole:
            message = f"cannot inspect {seen.census.unseen or 'some'} processes: what they run is not told"
            warnings = (Problem(code="cannot-inspect", message=message),)
        if not running and not wanted.pids:
            message = "no process of this environment starts vLLM, as far as can be seen"
            raise PatchctlError("no-launch", message, hint="patchctl ps lists the processes of the environment")
    return Sources(found=tuple(configured(it) for it in found), warnings=warnings), stale


def _launches(started: Started) -> list[Found]:
    command = Command(
        words=plain(started.arguments),
        environment=started.environment or {},
        open_environment=started.environment is None,
    )
    try:
        launches: tuple[Launch, ...] = launches_of(command)
    except ShellError:
        return []

    def local(path: str) -> str | None:
        # A link that another user lays must not make us read and show what only we may read.
        own = started.cwd is not None and started.uid == os.geteuid()
        return text_or_none(root_of(started, path)) if own else None

    return [Found(source=f"process {started.pid}", launch=it, local=local, pid=started.pid) for it in launches]
