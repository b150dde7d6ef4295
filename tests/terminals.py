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
DEADLINE = 60.0
"""Seconds that a run may take."""


class Shown(NamedTuple):
    """What was written to the terminal, both streams together, and the exit code."""

    raw: bytes
    code: int


def in_terminal(arguments: Sequence[str], *, env: Mapping[str, str] | None = None) -> Shown:
    """Run ``patchctl ARGUMENTS`` on a terminal of 80 columns; words may hold what only bytes could be read as."""
    pid, master = pty.fork()
    if pid == 0:
        _be_patchctl(arguments, env or {})
    return _collected(pid, master)


def through_pipes(arguments: Sequence[str], *, env: Mapping[str, str] | None = None) -> Shown:
    """Run the same with both streams in one pipe."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        null = os.open(os.devnull, os.O_RDONLY)
        for fd, target in ((null, 0), (writing, 1), (writing, 2)):
            os.dup2(fd, target)
        _be_patchctl(arguments, env or {})
    os.close(writing)
    return _collected(pid, reading)


def _be_patchctl(arguments: Sequence[str], env: Mapping[str, str]) -> None:
    """What the child does; it never returns into the tests."""
    code = 70
    try:
        if os.isatty(1):
            tty.setraw(1)
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
        for name in [name for name in os.environ if name.startswith(("PATCHCTL_", "PYTEST_"))]:
            del os.environ[name]
        for name in (
            "VIRTUAL_ENV",
            "CONDA_PREFIX",
            "SOURCE_DATE_EPOCH",
            "SUDO_UID",
            "NO_COLOR",
            "COLUMNS",
            "COLORTERM",
        ):
            os.environ.pop(name, None)
        os.environ.update({"TERM": "xterm-256color"} | dict(env))
        sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False), encoding="utf-8")
        sys.stdout = _writer(1, "strict")
        sys.stderr = _writer(2, "backslashreplace")
        try:
            app(args=list(arguments), prog_name="patchctl")
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        except BaseException:
            traceback.print_exc()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
    except BaseException:
        os.write(2, traceback.format_exc().encode("utf-8", "backslashreplace"))
    finally:
        os._exit(code)


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
