"""Read and write the lock file, which lies wherever the operator keeps it. What it says is in ``pins``."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from patchctl.errors import LockFileError, UsageError
from patchctl.pins import HEAD, Lock, parse_lock

DEFAULT = "patchctl.lock"
"""In the working directory."""

_LARGEST = (256 << 10) + 1
"""Bytes: one more than a document may have."""

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PERMISSIONS = 0o777


def read_lock(path: str) -> Lock:
    """Return what the lock file at ``path`` (absolute, or relative to the working directory) says.

    Raises:
        LockFileError: it cannot be read, or something in it is wrong; the problems name key and line.
    """
    data = _read(path)
    if data is None:
        raise LockFileError("no-lock-file", f"there is no lock file {path}", hint="patchctl lock writes one", path=path)
    lock, problems = parse_lock(data, file=path)
    if lock is not None:
        return lock
    last = problems[-1]
    error = LockFileError(last.code, last.message, hint=last.hint, path=last.path, line=last.line, key=last.key)
    error.others = problems[:-1]
    raise error


def write_lock(path: str, data: bytes, *, site: str) -> bool:
    """Put ``data`` at ``path`` in one step, and return whether that changed anything.

    Args:
        path: absolute, or relative to the working directory; a link there is followed.
        data: the whole file.
        site: the environment's site directory (absolute), below which nothing but a transaction writes.

    Raises:
        UsageError: it would lie in the site, or another file would be lost.
        LockFileError: it cannot be written.
    """
    place = Path(os.path.realpath(path))
    if place.is_relative_to(os.path.realpath(site)):
        raise UsageError("lock-in-site", f"{path} lies in the site that the lock file speaks of: keep it elsewhere")
    there = _read(path)
    if there == data:
        return False
    if there and not there.startswith(HEAD.encode()):
        hint = "name another file with --output, or move this one away"
        raise UsageError("not-a-lock-file", f"{path} is another file: it is not overwritten", hint=hint)
    try:
        _replace(place, data)
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}"
        raise LockFileError("lock-not-written", message, hint="name another place with --output", path=path) from error
    return True


def _read(path: str) -> bytes | None:
    try:
        # Not blocking: a FIFO in its place must not keep a start script waiting.
        fd = os.open(path, _READ)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _unreadable(path, getattr(error, "strerror", None) or str(error)) from error
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise _unreadable(path, "it is not a regular file")
        with os.fdopen(fd, "rb", closefd=False) as stream:
            return stream.read(_LARGEST)
    except OSError as error:
        raise _unreadable(path, str(error.strerror)) from error
    finally:
        os.close(fd)


def _unreadable(path: str, why: str) -> LockFileError:
    return LockFileError("unreadable-lock-file", f"{path} cannot be used as a lock file: {why}", path=path)


def _replace(place: Path, data: bytes) -> None:
    waiting = place.with_name(f".{place.name}.{os.getpid()}.tmp")
    fd = os.open(waiting, _NEW, 0o666)
    try:
        with os.fdopen(fd, "wb") as stream:
            with suppress(FileNotFoundError):
                os.fchmod(fd, place.stat().st_mode & _PERMISSIONS)
            stream.write(data)
            stream.flush()
            os.fsync(fd)
        waiting.replace(place)
    except BaseException:
        with suppress(OSError):
            waiting.unlink()
        raise
