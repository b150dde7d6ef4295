"""A real terminal in raw mode: every byte that patchctl writes to it, from a fork of this process."""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
import traceback
import tty
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from patchctl.cli.app import app

COLUMNS = 80
DEADLINE = 120.0
"""Seconds that all lines of a child may take."""

_DECIDING = frozenset(
    {"VIRTUAL_ENV", "CONDA_PREFIX", "SOURCE_DATE_EPOCH", "SUDO_UID", "NO_COLOR", "COLUMNS", "LINES", "COLORTERM"}
)


class Shown(NamedTuple):
    """What was written to the terminal, both streams together, and the worst exit code."""

    raw: bytes
    code: int


Line = Sequence[str]
"""A command line without its program."""


def in_terminal(*lines: Line, env: Mapping[str, str] | None = None) -> Shown:
    """Run command lines one after another on a terminal of 80 columns.

    Words may hold what only bytes could be read as. Several lines share one child, which costs more than a run.
    """
    pid, master = pty.fork()
    if pid == 0:
        _be_patchctl(lines, env or {})
    return _collected(pid, master)


def through_pipes(*lines: Line, env: Mapping[str, str] | None = None) -> Shown:
    """Run the same with both streams in one pipe."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        null = os.open(os.devnull, os.O_RDONLY)
        for fd, target in ((null, 0), (writing, 1), (writing, 2)):
            os.dup2(fd, target)
        _be_patchctl(lines, env or {})
    os.close(writing)
    return _collected(pid, reading)


def _be_patchctl(lines: Sequence[Line], env: Mapping[str, str]) -> None:
    """What the child does; it never returns into the tests."""
    code = 0
    try:
        if os.isatty(1):
            tty.setraw(1)
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
        for name in list(os.environ):
            if name.startswith(("PATCHCTL_", "PYTEST_")) or name in _DECIDING:
                del os.environ[name]
        os.environ.update({"TERM": "xterm-256color"} | dict(env))
        sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False), encoding="utf-8")
        sys.stdout = _writer(1, "strict")
        sys.stderr = _writer(2, "backslashreplace")
        for line in lines:
            code = max(code, _run(line))
    except BaseException:
        code = 70
        os.write(2, traceback.format_exc().encode("utf-8", "backslashreplace"))
    finally:
        os._exit(code)


def _run(line: Line) -> int:
    code = 70
    try:
        app(args=list(line), prog_name="patchctl")
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    return code


def _writer(fd: int, errors: str) -> io.TextIOWrapper:
    """A stream as the interpreter makes it."""
    raw = io.BufferedWriter(io.FileIO(fd, "w", closefd=False))
    return io.TextIOWrapper(raw, encoding="utf-8", errors=errors, line_buffering=True)


def _collected(pid: int, fd: int) -> Shown:
    raw, until = b"", time.monotonic() + DEADLINE
    while True:
        ready, _, _ = select.select([fd], [], [], max(until - time.monotonic(), 0))
        if not ready:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise AssertionError(f"no answer within {DEADLINE} seconds")
        try:
            chunk = os.read(fd, 1 << 16)
        except OSError:  # the other side of a terminal is closed
            chunk = b""
        if not chunk:
            break
        raw += chunk
    os.close(fd)
    _, status = os.waitpid(pid, 0)
    return Shown(raw=raw, code=os.waitstatus_to_exitcode(status))
