"""Read and write the lock file, which lies wherever the operator keeps it. What it says is in ``pins``."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from pathlib import Path

from patchctl.commands.warnings import lock_of_others
from patchctl.disk.others import ROOT_ALONE, Doubt, doubt_about
from patchctl.errors import LockFileError, PatchctlError, Problem, UntrustedError, UsageError
from patchctl.pins import HEAD, Lock, parse_lock
from patchctl.publishing import Bounds, put_whole

_LARGEST = (256 << 10) + 1
"""Bytes: one more than a document may have."""

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def read_lock(path: str, trusted: Collection[int] = ROOT_ALONE) -> tuple[Lock, Doubt | None]:
    """Return what a lock file says, and who else than ``trusted`` (uids) may change the file that was read.

    Args:
        path: absolute, or relative to the working directory.
        trusted: uids that may own it.

    Raises:
        LockFileError: it cannot be read, or something in it is wrong; the problems name key and line.
    """
    found = _read(path, trusted)
    if found is None:
        raise LockFileError("no-lock-file", f"there is no lock file {path}", hint="patchctl lock writes one", path=path)
    lock, problems = parse_lock(found[0], file=path)
    if lock is not None:
        return lock, found[1]
    last = problems[-1]
    error = LockFileError(last.code, last.message, hint=last.hint, path=last.path, line=last.line, key=last.key)
    error.others = problems[:-1]
    raise error


def doubts_about(path: str, *, site: str | None = None) -> tuple[Problem, ...]:
    """Say why what a lock file pins may be another word than that of whoever reviewed it.

    Args:
        path: absolute, or relative to the working directory.
        site: the environment's site directory, absolute; None: it is not known.
    """
    real = Path(os.path.realpath(path))
    try:
        looks = (real.stat(), real.parent.stat())
    except OSError:
        return ()  # reading it says so
    why = None
    if site is not None and real.is_relative_to(os.path.realpath(site)):
        why = "it lies in the site that it speaks of"
    elif any(it.st_mode & stat.S_IWOTH and not it.st_mode & stat.S_ISVTX for it in looks):
        why = "everybody may write there"
    elif os.geteuid() == 0 and any(it.st_uid != 0 for it in looks):
        why = f"it is in the hands of uid {next(it.st_uid for it in looks if it.st_uid != 0)}"
    if why is None:
        return ()
    return (lock_of_others(path, why),)


def write_lock(path: str, data: bytes, bounds: Bounds) -> bool:
    """Put ``data`` at ``path`` in one step, and return whether that changed anything.

    Args:
        path: absolute, or relative to the working directory; a link there is followed, as root only one of an owner.
        data: the whole file, in UTF-8.
        bounds: what is not touched.

    Raises:
        UsageError: it would lie in a site, or another file would be lost.
        UntrustedError: as root, a link on the way or the file itself is another user's.
        LockFileError: it cannot be written.
    """

    def look(there: bytes) -> None:
        if there and not there.startswith(HEAD.encode()):
            hint = "name another file with --output, or move this one away"
            raise UsageError("not-a-lock-file", f"{path} is another file: it is not overwritten", hint=hint)

    try:
        return put_whole(path, data.decode(), bounds, through=True, look=look)
    except (UsageError, UntrustedError):
        raise
    except PatchctlError as error:
        if error.problem.code == "inside-site":
            raise UsageError("lock-in-site", f"{path} lies in a site: keep the lock file elsewhere") from error
        hint = error.problem.hint or "name another place with --output"
        raise LockFileError("lock-not-written", error.problem.message, hint=hint, path=path) from error


def _read(path: str, trusted: Collection[int]) -> tuple[bytes, Doubt | None] | None:
    try:
        # Not blocking: a FIFO in its place must not keep a start script waiting.
        fd = os.open(path, _READ)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _unreadable(path, getattr(error, "strerror", None) or str(error)) from error
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise _unreadable(path, "it is not a regular file")
        doubt = doubt_about(status, path, trusted, place=fd, group=False)
        with os.fdopen(fd, "rb", closefd=False) as stream:
            return stream.read(_LARGEST), doubt
    except OSError as error:
        raise _unreadable(path, str(error.strerror)) from error
    finally:
        os.close(fd)


def _unreadable(path: str, why: str) -> LockFileError:
    return LockFileError("unreadable-lock-file", f"{path} cannot be used as a lock file: {why}", path=path)
