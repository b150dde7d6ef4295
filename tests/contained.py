"""Run something that may take all memory or all time, in a process that gets little of either."""

from __future__ import annotations

import os
import pickle
import resource
import select
import signal
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Made = TypeVar("Made")
SECONDS = 120.0
"""A hang is the failure, not a slow machine."""


def contained(work: Callable[[], Made], *, memory: int = 1 << 30, seconds: float = SECONDS) -> Made:
    """Return what ``work`` returns in a child that may take ``memory`` bytes more than this process has.

    Args:
        work: what is tried; its answer can be pickled.
        memory: bytes of address space.
        seconds: after them the child is killed and the test fails.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _answer(work, memory, writer)
    os.close(writer)
    try:
        data = _read(reader, time.monotonic() + seconds)
    except TimeoutError:
        os.kill(child, signal.SIGKILL)
        raise AssertionError(f"no answer after {seconds} seconds") from None
    finally:
        os.close(reader)
        _, status = os.waitpid(child, 0)
    assert status == 0, f"it ended with status {status}: {data[-4000:]!r}"
    made: Made = pickle.loads(data)  # our own child wrote it
    return made


def _answer(work: Callable[[], object], memory: int, writer: int) -> None:
    """Work and end: nothing of the test's own ending runs a second time."""
    status = 1
    try:
        most = _address_space() + memory
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        data = pickle.dumps(work())
        status = 0
    except BaseException:
        data = traceback.format_exc().encode("utf-8", "replace")
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(writer, rest) :]
    os._exit(status)


def _address_space() -> int:
    return int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()


def _read(reader: int, deadline: float) -> bytes:
    data = b""
    while True:
        ready, _, _ = select.select([reader], [], [], max(deadline - time.monotonic(), 0))
        if not ready:
            raise TimeoutError
        piece = os.read(reader, 1 << 16)
        if not piece:
            return data
        data += piece
