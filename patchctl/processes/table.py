"""Reads one process below ``/proc``, by descriptor: the directory stays that of this process when its pid is reused.

What is read is bounded: a command line and a map of memory are as large as their process likes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NANOSECONDS = 1_000_000_000
_CHUNK = 1 << 16
_LARGEST_MAP = 64 << 20
_LARGEST_LINE = 1 << 14
_LARGEST_COMMAND = 1 << 12
_LARGEST_WHOLE_COMMAND = 1 << 21
_LARGEST_STAT = 1 << 12
_LARGEST_ENVIRONMENT = 1 << 18
_LARGEST_IMAGE = 1 << 12
_KERNEL_THREAD = 0x00200000  # PF_KTHREAD
_STATE, _PARENT, _FLAGS, _START = 0, 1, 6, 19  # fields of stat, counted from the one behind the command's ")"
_PATH = 5  # field of a line of maps


class Stat(NamedTuple):
    """What everybody may read of a process.

    Attributes:
        pid: its id.
        parent: its parent's.
        start_ns: CLOCK_BOOTTIME at its beginning, nanoseconds, cut to the clock tick.
        asleep: it is no process to look into: a kernel thread, or one that has ended (a zombie).
    """

    pid: int
    parent: int
    start_ns: int
    asleep: bool


@contextmanager
def opened(proc: str, pid: int) -> Iterator[int]:
    """Open the directory of a process; OSError when there is no such process."""
    fd = os.open(f"{proc}/{pid}", _DIRECTORY)
    try:
        yield fd
    finally:
        os.close(fd)


def read_stat(process: int, pid: int) -> Stat | None:
    """Return what ``stat`` says; None where it says nothing sensible. Raises OSError when the process is gone."""
    # The command may hold anything, blanks and brackets too; the last ")" ends it.
    fields = _read(process, "stat", _LARGEST_STAT).rpartition(b")")[2].split()
    try:
        parent, flags, start = (int(fields[at]) for at in (_PARENT, _FLAGS, _START))
    except (IndexError, ValueError):
        return None
    asleep = bool(flags & _KERNEL_THREAD) or fields[_STATE] in {b"Z", b"X", b"x"}
    start_ns = start * _NANOSECONDS // os.sysconf("SC_CLK_TCK")
    return Stat(pid=pid, parent=parent, start_ns=start_ns, asleep=asleep)


def maps_any(process: int, prefixes: Sequence[bytes]) -> bool:
    """Return whether a file whose path begins with one of ``prefixes`` is mapped into the process.

    Raises OSError where one may not look.
    """
    fd = os.open("maps", _FILE, dir_fd=process)
    try:
        rest, seen = b"", 0
        while seen < _LARGEST_MAP:
            chunk = os.read(fd, _CHUNK)
            if not chunk:
                return _names_any(rest, prefixes)
            seen += len(chunk)
            lines, _, rest = (rest + chunk).rpartition(b"\n")
            if _names_any(lines, prefixes):
                return True
            rest = rest[-_LARGEST_LINE:]
        return False
    finally:
        os.close(fd)


def _names_any(lines: bytes, prefixes: Sequence[bytes]) -> bool:
    # Most processes name none of them: one search over all lines tells. A hit may still be the middle of a path.
    for prefix in prefixes:
        if b" " + prefix not in lines:
            continue
        for line in lines.split(b"\n"):
            fields = line.split(None, _PATH)
            if len(fields) > _PATH and fields[_PATH].startswith(prefix):
                return True
    return False


def read_arguments(process: int) -> list[str]:
    """Return the beginning of the command line as text; bytes that are no UTF-8 become lone surrogates."""
    data = _read(process, "cmdline", _LARGEST_COMMAND)
    return [text for text in data.decode("utf-8", "surrogateescape").split("\0") if text]


def read_name(process: int) -> str:
    """Return the short name, for a process that has no command line."""
    return _read(process, "comm", _LARGEST_COMMAND).decode("utf-8", "surrogateescape").strip("\n")


def read_image(process: int) -> bytes:
    """Return what tells images apart: ``auxv`` has addresses that the kernel draws anew at every exec."""
    return _read(process, "auxv", _LARGEST_IMAGE)


def linked(process: int, name: str) -> str | None:
    """Return what ``exe`` (its program) or ``cwd`` (its directory) leads to; None where one may not look."""
    try:
        return os.readlink(name, dir_fd=process)
    except OSError:
        return None


def read_command(process: int) -> tuple[str, ...]:
    """Return the whole command line, empty arguments included. Raises OSError when the process is gone."""
    data = _read(process, "cmdline", _LARGEST_WHOLE_COMMAND)
    return tuple(data.decode("utf-8", "surrogateescape").removesuffix("\0").split("\0")) if data else ()


def read_environment(process: int) -> dict[str, str] | None:
    """Return the variables that the process was started with; None: not to be read."""
    try:
        data = _read(process, "environ", _LARGEST_ENVIRONMENT)
    except OSError:
        return None
    pairs = (os.fsdecode(item).partition("=") for item in data.split(b"\0"))
    return {name: value for name, sign, value in pairs if sign}


def virtual_env(process: int) -> str | None:
    """Return VIRTUAL_ENV as the process was started with it; None: not set, overwritten, or not to be read."""
    return (read_environment(process) or {}).get("VIRTUAL_ENV")


def sees_site(process: int, site: str, identity: tuple[int, int] | None) -> bool:
    """Return whether ``site`` is the same directory in the file system of the process: a container has its own.

    Args:
        process: descriptor of its directory below ``/proc``.
        site: absolute path.
        identity: (device, inode) of the site here; None: not known.
    """
    try:
        status = os.stat(f"root{site}", dir_fd=process)
    except OSError:
        return True  # not to be told: the path has to do
    return identity is None or (status.st_dev, status.st_ino) == identity


def _read(process: int, name: str, limit: int) -> bytes:
    fd = os.open(name, _FILE, dir_fd=process)
    try:
        data = b""
        while len(data) < limit:
            chunk = os.read(fd, limit - len(data))
            if not chunk:
                break
            data += chunk
        return data
    finally:
        os.close(fd)
