"""Finds the processes of an environment among all that this ``/proc`` shows.

Who counts: a process into which a file of the site is mapped (a server of compiled packages maps hundreds), whatever
its command line says, since programs overwrite that; and, marked as such, one that only runs the environment's own
interpreter. Not seen is an interpreter that several environments share and that maps nothing of this one.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from patchctl.model.history import Moment
from patchctl.model.processes import Census, ProcessFact
from patchctl.processes import table
from patchctl.processes.patience import ask_all
from patchctl.processes.redaction import redacted

_PATIENCE = 0.5
"""Seconds that one process may take to answer."""

_MOST_ANCESTORS = 64


class _Blocked(NamedTuple):
    """A process of ``uid`` that may not be inspected."""

    uid: int


class _Look:
    """One look at all processes; asked pid by pid."""

    def __init__(
        self,
        site: str,
        proc: str,
        prefixes: Collection[str],
        skip: Collection[int],
        before_ns: int | None,
        *,
        most: int | None,
    ) -> None:
        self.site, self.proc, self.skip, self.before_ns, self.most = site, proc, skip, before_ns, most
        # The kernel shows line ends in paths as octal; everything else as it is.
        spellings = dict.fromkeys((site, os.path.realpath(site)))
        self.mapped = [os.fsencode(f"{it.rstrip('/')}/").replace(b"\n", rb"\012") for it in spellings]
        self.prefixes = prefixes
        self.identity = _identity(site)
        self.stats: dict[int, table.Stat] = {}
        self.found: set[int] = set()
        self.looked_into = 0

    def at(self, pid: int) -> ProcessFact | _Blocked | None:
        """Return the process when it is one of the environment; None: it is not, or it is gone."""
        try:
            if self.most is not None and not self._is_next(pid, self.most):
                return None
            with table.opened(self.proc, pid) as process:
                stat = table.read_stat(process, pid)
                if stat is None or stat.asleep:
                    return None
                self.stats[pid] = stat
                if pid in self.skip or self._came_later(stat):
                    return None
                uid = os.fstat(process).st_uid
                try:
                    fact = self._inspect(process, stat, uid)
                except PermissionError:
                    return _Blocked(uid)
                after = table.read_stat(process, pid)
                if after is None or after.start_ns != stat.start_ns:
                    return None  # the pid was given away while it was read
        except PermissionError:
            return self._blocked(pid)  # not even what everybody may read (hidepid)
        except OSError:
            return None  # gone
        if fact is not None:
            self.found.add(pid)
        return fact

    def _blocked(self, pid: int) -> _Blocked | None:
        if self.most is not None:
            return None
        try:
            return _Blocked(os.stat(f"{self.proc}/{pid}").st_uid)
        except OSError:
            return None

    def _is_next(self, pid: int, most: int) -> bool:
        """Whether a brief look goes into this one: its program is called after Python, and not too many were."""
        if not _is_python(os.readlink(f"{self.proc}/{pid}/exe")):
            return False
        self.looked_into += 1
        return self.looked_into <= most

    def _came_later(self, stat: table.Stat) -> bool:
        return self.before_ns is not None and stat.start_ns >= self.before_ns and stat.parent not in self.found

    def _inspect(self, process: int, stat: table.Stat, uid: int) -> ProcessFact | None:
        mapped = table.maps_any(process, self.mapped) and table.sees_site(process, self.site, self.identity)
        arguments: list[str] | None = None
        if not mapped:
            program = table.linked(process, "exe") if self.prefixes else None
            if program is None or not _is_python(program):
                return None
            arguments = table.read_arguments(process)
            if not self._is_own_interpreter(process, program, arguments):
                return None
        if arguments is None:
            arguments = table.read_arguments(process)
        return ProcessFact(
            pid=stat.pid,
            parent=stat.parent,
            uid=uid,
            start_ns=stat.start_ns,
            command=redacted(arguments or [f"[{table.read_name(process)}]"]),
            mapped=mapped,
            image=table.read_image(process),
        )

    def _is_own_interpreter(self, process: int, program: str, arguments: Sequence[str]) -> bool:
        """A virtual environment's interpreter is a link, so its program is another one: its first argument tells."""
        first = arguments[0] if arguments else ""
        if any(argument.rpartition("/")[2] == "patchctl" for argument in arguments[1:4]):
            return False  # another patchctl, installed here: the lock is what keeps the two apart
        if any(program.startswith(f"{prefix}/bin/") for prefix in self.prefixes):
            return True
        if "/" not in first:
            return first.startswith("python") and table.virtual_env(process) in self.prefixes
        if not first.startswith("/"):
            first = os.path.join(table.linked(process, "cwd") or "/", first)
        first = os.path.normpath(first)
        return any(first.startswith(f"{prefix}/bin/python") for prefix in self.prefixes)

    def ancestors(self) -> list[int]:
        """Return the pids that the processes found came from and that are not among them."""
        wanted: dict[int, None] = {}
        for pid in self.found:
            for parent in self._line(pid):
                if parent not in self.found:
                    wanted[parent] = None
        return list(wanted)

    def _line(self, pid: int) -> Iterator[int]:
        for _ in range(_MOST_ANCESTORS):
            stat = self.stats.get(pid)
            if stat is None or stat.parent in {0, pid}:
                return
            pid = stat.parent
            yield pid

    def image(self, pid: int) -> tuple[bytes, int] | None:
        """Return what the process was executed as, and when it began; None: unknown."""
        stat = self.stats.get(pid)
        if stat is None:
            return None
        try:
            with table.opened(self.proc, pid) as process:
                image = table.read_image(process)
        except OSError:
            return None
        return (image, stat.start_ns) if image else None


def scan(
    site: str,
    now: Moment,
    *,
    proc: str = "/proc",
    skip: Collection[int] = (),
    before_ns: int | None = None,
    most: int | None = None,
    budget: float | None = None,
) -> Census:
    """Look at every process.

    Args:
        site: absolute path of the site directory.
        now: this instant.
        proc: where the kernel shows its processes, absolute.
        skip: pids that are none of ours to tell of, such as this process.
        before_ns: leave out those that began at this instant (CLOCK_BOOTTIME) or later, unless a process found before
            them is their parent; None: look at all.
        most: a brief look: only into so many, and only where the program is called after Python, which misses
            interpreters inside others; None: into all.
        budget: seconds for all of it; None: as long as it takes, half a second for each that hangs.
    """
    try:
        names = os.listdir(proc)
    except OSError:
        return Census(now=now, hidden=True, complete=False)
    pids = sorted(int(name) for name in names if name.isascii() and name.isdigit())
    look = _Look(site, proc, _private_prefixes(site), skip, before_ns, most=most)
    answers = ask_all(pids, look.at, seconds=_PATIENCE, budget=budget)
    facts = tuple(answer for answer in answers.given if isinstance(answer, ProcessFact))
    blocked = Counter(answer.uid for answer in answers.given if isinstance(answer, _Blocked))
    images = ask_all(look.ancestors(), look.image, seconds=_PATIENCE, budget=budget)
    return Census(
        now=now,
        found=facts,
        images=tuple(image for image in images.given if image is not None),
        blocked=_ordered(blocked),
        unanswered=answers.hung,
        hidden=1 not in pids,  # with hidepid the processes of others are not even listed
        complete=answers.complete and (most is None or look.looked_into <= most),
    )


def line_of(pid: int, proc: str = "/proc") -> frozenset[int]:
    """Return a process and those that it came from, as far as ``proc`` shows them."""
    line = {pid}
    for _ in range(_MOST_ANCESTORS):
        try:
            with table.opened(proc, pid) as process:
                stat = table.read_stat(process, pid)
        except OSError:
            break
        if stat is None or stat.parent == 0:
            break
        pid = stat.parent
        line.add(pid)
    return frozenset(line)


def _is_python(program: str) -> bool:
    return "python" in program.rpartition("/")[2]


def _ordered(blocked: Mapping[int, int]) -> dict[int, int]:
    return {uid: blocked[uid] for uid in sorted(blocked)}


def _identity(site: str) -> tuple[int, int] | None:
    try:
        status = os.stat(site)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _private_prefixes(site: str) -> tuple[str, ...]:
    """The environment's own root, where its interpreter serves no other: a virtual environment or one of conda's."""
    found = []
    for spelling in dict.fromkeys((site, os.path.realpath(site))):
        parts = spelling.rstrip("/").split("/")
        prefix = "/".join(parts[:-3])
        in_layout = parts[-3:-2] in (["lib"], ["lib64"]) and parts[-1] == "site-packages" and prefix
        if in_layout and any(os.path.exists(f"{prefix}/{mark}") for mark in ("pyvenv.cfg", "conda-meta")):
            found.append(prefix)
    return tuple(found)
