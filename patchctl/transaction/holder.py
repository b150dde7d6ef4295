"""Who holds the lock of a site, found out without taking it.

The lock is the kernel's: it ends with its holder, and what stands in the lock file is only a note. A note of a process
that is dead, or of another boot, is therefore no lock at all; it is recognised here so that a person need not wonder.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from patchctl.disk import open_root, read_below
from patchctl.model.layout import STATE_DIR
from patchctl.transaction.lock import NOTE_LIMIT, boot_id, decode_note, start_of
from patchctl.transaction.names import LOCK

_LOCKS = "/proc/locks"
_LOCK_FIELDS = 6


class LockState(NamedTuple):
    """What can be said of the lock of a site.

    Attributes:
        held: a process holds it now; None: the kernel does not tell (another container's processes are not listed).
        pid: of the holder, or of the process that left the note.
        host: where that process runs or ran.
        leftover: why the note is no lock: ``ended``, ``other-boot``; None: it is of a living process, of another
            host, or there is none.
    """

    held: bool | None
    pid: int | None = None
    host: str | None = None
    leftover: str | None = None


def lock_state(site: str) -> LockState | None:
    """Say who holds the lock of ``site`` (absolute); None: there is no lock file, or it cannot be read."""
    try:
        root = open_root(site)
        try:
            found = read_below(root, f"{STATE_DIR}/{LOCK}", limit=NOTE_LIMIT)
        finally:
            os.close(root)
    except OSError:
        return None
    if found is None:
        return None
    note = decode_note(found[0])
    pid, host = note.get("pid"), note.get("host")
    owner = _kernel_holder(found[1])
    if type(pid) is not int or not isinstance(host, str):
        return LockState(held=owner is not None, pid=owner, host=os.uname().nodename if owner is not None else None)
    leftover = _leftover(note, pid, host)
    # A holder in another pid namespace is not in the kernel's list: its note, if it may be alive, leaves it open.
    held = True if owner is not None else (False if leftover is not None else None)
    return LockState(held=held, pid=pid, host=host, leftover=None if held else leftover)


def _leftover(note: dict[str, object], pid: int, host: str) -> str | None:
    if host != os.uname().nodename:
        return None  # nothing can be known of another machine's processes
    here = boot_id()
    if here is not None and isinstance(note.get("boot"), str) and note["boot"] != here:
        return "other-boot"
    start = start_of(pid)
    if start is None or (isinstance(note.get("start"), int) and note["start"] != start):
        return "ended"
    return None


def _kernel_holder(status: os.stat_result) -> int | None:
    """Return the process with an exclusive flock(2) on the file, by /proc/locks (proc(5)); None: none is listed."""
    wanted = f":{status.st_ino}"
    try:
        with open(_LOCKS, encoding="ascii", errors="replace") as lines:
            rows = [line.split() for line in lines]
    except OSError:
        return None
    for row in rows:
        # A row with an arrow is of a process that waits.
        if len(row) < _LOCK_FIELDS or row[1:4] != ["FLOCK", "ADVISORY", "WRITE"]:
            continue
        major, _, rest = row[5].partition(":")
        minor, _, inode = rest.partition(":")
        same = f":{inode}" == wanted and _is_device(major, minor, status.st_dev)
        if same and row[4].isdecimal():
            return int(row[4])
    return None


def _is_device(major: str, minor: str, device: int) -> bool:
    try:
        return (int(major, 16), int(minor, 16)) == (os.major(device), os.minor(device))
    except ValueError:
        return False
