"""What a child does that searches: takes requests from a pipe, and answers each before its timer kills it.

Request and answer are binary, since a text may hold anything. Who starts the child, and how often, is not here.
"""

from __future__ import annotations

import os
import select
import signal
import struct
import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from enum import IntEnum
from typing import NamedTuple

_REQUEST = struct.Struct("=BIId")
_ANSWER = struct.Struct("=?dI")
_SIZE = struct.Struct("=I")
NOT_FOUND, FOUND = b"\0", b"\1"
_MEMORY = 1 << 29
"""Bytes that a child may add to what its parent had: the matcher keeps every place that it may come back to."""
_PIECE = 1 << 16
_MOST_TRIED = 1 << 12
_DATA = 5
"""Field of ``/proc/self/statm``: pages of data and stack."""


class Kind(IntEnum):
    """What is asked: is it found anywhere, or at the start, and then what do the groups hold."""

    SEARCH = 0
    MATCH = 1


class Answer(NamedTuple):
    """What a child says: whether it could tell, how many seconds of the processor it took, and what it found."""

    told: bool
    seconds: float
    found: bytes


def ask(
    requests: int, answers: int, kind: Kind, pattern: str, text: str, seconds: float, *, patience: float
) -> Answer | None:
    """Ask a child, and wait for it no longer than ``patience`` seconds; None: it ended, or is still at it.

    Raises:
        OSError: it ended earlier.
    """
    sought, given = _encoded(pattern), _encoded(text)
    _write(requests, _REQUEST.pack(kind, len(sought), len(given), seconds) + sought + given)
    poll = select.poll()
    poll.register(answers, select.POLLIN)
    if not poll.poll(patience * 1000):
        return None
    head = _read(answers, _ANSWER.size)
    if head is None:
        return None
    told, took, size = _ANSWER.unpack(head)
    found = _read(answers, size)
    return None if found is None else Answer(told=told, seconds=took, found=found)


def groups_of(found: bytes) -> Mapping[str, str]:
    """Return the named groups that an answer to :attr:`Kind.MATCH` carries."""
    texts, at = [], len(FOUND)
    while at < len(found):
        (size,) = _SIZE.unpack_from(found, at)
        at += _SIZE.size + size
        texts.append(found[at - size : at].decode("utf-8", "surrogatepass"))
    return dict(zip(texts[::2], texts[1::2], strict=True))


def serve(requests: int, answers: int) -> None:
    """Answer until the pipe ends. For a child that does nothing else: its signals, limits and files are changed."""
    _keep_only(requests, answers)
    _limit_memory()
    warnings.simplefilter("ignore")  # "possible nested set" and the like are no news to whoever runs a command
    while (head := _read(0, _REQUEST.size)) is not None:
        kind, sought, given, seconds = _REQUEST.unpack(head)
        pattern, text = _read(0, sought), _read(0, given)
        if pattern is None or text is None:
            return
        signal.setitimer(signal.ITIMER_REAL, seconds)
        began = time.process_time()
        found = _found(Kind(kind), _decoded(pattern), _decoded(text))
        took = time.process_time() - began
        signal.setitimer(signal.ITIMER_REAL, 0)
        _write(1, _ANSWER.pack(found is not None, took, len(found or b"")) + (found or b""))


def _keep_only(requests: int, answers: int) -> None:
    """Keep no file but the pipes, so that no lock and no output stays open through this process, and no handler."""
    requests, answers = os.dup(requests), os.dup(answers)  # one of them may be 0 or 1 itself
    os.dup2(requests, 0)
    os.dup2(answers, 1)
    for fd in _open_files():
        if fd > 1:
            with suppress(OSError):  # the list itself was read from one of them
                os.close(fd)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for the parent, which may go on asking
    for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _open_files() -> list[int]:
    """Return the descriptors that are open; up to the limit there may be a thousand million numbers to try.

    ``os.closerange`` tries them one by one on kernels older than 5.9, which have no close_range(2).
    """
    try:
        return [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:
        return list(range(min(os.sysconf("SC_OPEN_MAX"), _MOST_TRIED)))


def _limit_memory() -> None:
    import resource

    try:
        with open("/proc/self/statm", "rb") as file:
            now = int(file.read().split()[_DATA]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_DATA, (now + _MEMORY, now + _MEMORY))
    except (OSError, ValueError, IndexError):
        pass  # a stricter limit is in force, or this kernel does not tell


def _found(kind: Kind, pattern: str, text: str) -> bytes | None:
    import re

    try:
        found = re.search(pattern, text) if kind is Kind.SEARCH else re.match(pattern, text)
    except (re.error, RecursionError, OverflowError, MemoryError, RuntimeError):
        return None
    if found is None:
        return NOT_FOUND
    if kind is Kind.SEARCH:
        return FOUND
    pieces = [_encoded(it) for pair in found.groupdict().items() if pair[1] is not None for it in pair]
    return FOUND + b"".join(_SIZE.pack(len(piece)) + piece for piece in pieces)


def _read(fd: int, size: int) -> bytes | None:
    """Return so many bytes; None: the pipe ends before."""
    data = bytearray()
    while len(data) < size:
        piece = os.read(fd, min(size - len(data), _PIECE))
        if not piece:
            return None
        data += piece
    return bytes(data)


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view[:_PIECE]) :]


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
