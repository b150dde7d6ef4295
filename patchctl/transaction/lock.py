"""One writer a site at a time: a kernel lock that its holder's death releases, never taken away by pid.

Why not a lock file library: docs/decisions/0003-kernel-lock.md.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from patchctl.documents import DocumentError, read_json
from patchctl.errors import BusyError, PatchctlError
from patchctl.model.layout import STATE_DIR
from patchctl.transaction.names import LOCK

_OPEN = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_POLL_SECONDS = 0.05
NOTE_LIMIT = 4096
_START_FIELD = 19  # of /proc/PID/stat, counted after the command's closing bracket: field 22, in clock ticks
_NAMELESS_SECONDS = 0.5
"""How long a holder may take to say who it is, or to let go after it took its name away."""
_HELD_BY_OTHERS = frozenset({errno.EWOULDBLOCK, errno.EACCES})


@contextmanager
def exclusive(state: int, site: str, wait: float) -> Iterator[None]:
    """Hold the lock of the site whose ``.patchctl`` is open as ``state``.

    Args:
        state: descriptor of the state directory.
        site: its site, for messages.
        wait: seconds to wait for another holder; 0: do not.

    Raises:
        BusyError: another process holds it still.
        PatchctlError: ``no-lock``: the file system has no locks; ``untrusted-site``: a link is in its place.
        OSError: the system refused.
    """
    note = _holder()
    fd = _acquire(state, site, time.monotonic() + wait)
    try:
        _write_note(fd, note)
        yield
    finally:
        # The note ends with the lock: no busy message names a process that is gone, no image keeps a pid.
        _write_note(fd, b"")
        os.close(fd)


def _acquire(state: int, site: str, deadline: float) -> int:
    nameless = time.monotonic() + _NAMELESS_SECONDS
    while True:
        fd = _open(state, site)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_still(state, fd):
                return fd
        except OSError as error:
            note = _read_note(fd)
            os.close(fd)
            if error.errno not in _HELD_BY_OTHERS:
                raise _no_lock(site, error) from None
            now = time.monotonic()
            # Between lock and note, and between note and release, a holder has no name: it is about to have one,
            # or about to be gone.
            if now >= deadline and (_names(note) or now >= nameless):
                raise _busy(site, note) from None
            time.sleep(_POLL_SECONDS if now < deadline else _POLL_SECONDS / 10)
        else:
            # Somebody removed the file between open and lock: whoever opens it now would hold another lock.
            os.close(fd)


def _names(note: dict[str, object]) -> bool:
    return type(note.get("pid")) is int and isinstance(note.get("host"), str)


def _open(state: int, site: str) -> int:
    try:
        try:
            # A device is not opened to see that it is one.
            if not stat.S_ISREG(os.stat(LOCK, dir_fd=state, follow_symlinks=False).st_mode):
                raise _not_a_file(site)
            fd = os.open(LOCK, _OPEN, dir_fd=state)
        except FileNotFoundError:
            fd = _made(state)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.EISDIR, errno.ENXIO}:
            raise _not_a_file(site) from None
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise _not_a_file(site)
    return fd


def _made(state: int) -> int:
    """Make the file, or open what another patchctl made meanwhile: only what we made ourselves is given a mode."""
    try:
        fd = os.open(LOCK, _OPEN | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=state)
    except FileExistsError:
        return os.open(LOCK, _OPEN, dir_fd=state)
    os.fchmod(fd, 0o644)
    if os.geteuid() == 0:
        os.fchown(fd, -1, os.fstat(state).st_gid)
    return fd


def _is_still(state: int, fd: int) -> bool:
    held = os.fstat(fd)
    try:
        named = os.stat(LOCK, dir_fd=state, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return (held.st_dev, held.st_ino) == (named.st_dev, named.st_ino)


def _holder() -> bytes:
    """Who we are, made before the lock is taken: a lock should be without a name as shortly as can be."""
    import json

    note = {"host": os.uname().nodename, "pid": os.getpid(), "boot": boot_id(), "start": start_of(os.getpid())}
    return json.dumps(note, sort_keys=True).encode("ascii") + b"\n"


def _write_note(fd: int, note: bytes) -> None:
    """Say in the lock file who holds it; an empty note says nobody.

    The note only serves a message: on a full disk, where recovery must still work, there is none. A copy made of hard
    links shares the file with another site, whose bytes are left alone.
    """
    with suppress(OSError):
        if os.fstat(fd).st_nlink == 1:
            os.ftruncate(fd, 0)
            if note:
                os.pwrite(fd, note, 0)


def _read_note(fd: int) -> dict[str, object]:
    try:
        return decode_note(os.pread(fd, NOTE_LIMIT, 0))
    except OSError:
        return {}


def decode_note(data: bytes) -> dict[str, object]:
    """Return what a lock file says of its holder; empty: nothing, or nothing that makes sense."""
    try:
        note = read_json(data, limit=NOTE_LIMIT, strict=True)
    except DocumentError:
        return {}
    return note if isinstance(note, dict) else {}


def boot_id() -> str | None:
    """Return what the kernel calls this boot; None where it does not tell."""
    return _proc("/proc/sys/kernel/random/boot_id")


def start_of(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot: with the boot id it tells a reused pid apart.

    None: there is no such process, or nothing tells.
    """
    line = _proc(f"/proc/{pid}/stat")
    fields = [] if line is None else line.rpartition(")")[2].split()
    return int(fields[_START_FIELD]) if len(fields) > _START_FIELD else None


def _proc(path: str) -> str | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(fd, NOTE_LIMIT).decode("ascii", "replace").strip()
        finally:
            os.close(fd)
    except OSError:
        return None


def _busy(site: str, note: dict[str, object]) -> BusyError:
    pid, host = note.get("pid"), note.get("host")
    who = f"process {pid} on {host}" if _names(note) else "another patchctl"
    return BusyError(
        "busy",
        f"{who} holds the lock of {site}",
        hint="wait for it with --wait SECONDS",
        path=f"{STATE_DIR}/{LOCK}",
    )


def _no_lock(site: str, error: OSError) -> PatchctlError:
    return PatchctlError(
        "no-lock",
        f"{site}/{STATE_DIR}/{LOCK} cannot be locked: {error.strerror}",
        hint="the file system must support flock(2); on NFS start its lock service",
    )


def _not_a_file(site: str) -> PatchctlError:
    path = f"{STATE_DIR}/{LOCK}"
    return PatchctlError(
        "untrusted-site", f"{site}/{path} is a link or no regular file", hint="move it away", path=path
    )
