"""For attacks: what a tree is like to the last attribute, who opened something, and runs that must not hang."""

from __future__ import annotations

import ctypes
import os
import pickle
import select
import signal
import socket
import stat
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

Answer = TypeVar("Answer")

ACL = "system.posix_acl_access"
_SEEN = 0x1 | 0x2 | 0x4 | 0x20 | 0x40 | 0x80 | 0x100 | 0x200  # access, modify, attrib, open, moved, create, delete
_EVENT = struct.Struct("iIII")


def likeness(root: Path) -> dict[str, tuple[object, ...]]:
    """Everything at and below ``root``: kind, mode, owner, times, attributes, and bytes or where a link leads."""
    found: dict[str, tuple[object, ...]] = {}
    for path in (root, *sorted(root.rglob("*"))):
        status = path.lstat()
        body: object = status.st_rdev
        if stat.S_ISLNK(status.st_mode):
            body = path.readlink()
        elif stat.S_ISREG(status.st_mode):
            body = path.read_bytes() if status.st_size < 1 << 24 else status.st_size
        xattrs = {} if path.is_symlink() else {key: os.getxattr(path, key) for key in os.listxattr(path)}
        found[str(path)] = (status.st_mode, status.st_uid, status.st_gid, status.st_mtime_ns, xattrs, body)
    return found


def access_list(*entries: tuple[int, int, int]) -> bytes:
    """An access list as the kernel stores it: (tag, rights, id) of each entry."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def make_socket(path: Path) -> None:
    """Leave a socket at ``path``, however long that is: unix(7) takes 108 bytes, and a descriptor's name is short."""
    parent = os.open(path.parent, os.O_PATH)
    try:
        with socket.socket(socket.AF_UNIX) as end:
            end.bind(f"/proc/self/fd/{parent}/{path.name}")
    finally:
        os.close(parent)


def within(seconds: int, action: Callable[[], Answer]) -> Answer:
    """Do ``action`` in a child that is killed when it takes longer: a hang is a failure, not a wait for ever."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(seconds)
        try:
            answer: tuple[bool, object] = True, action()
        except BaseException as error:
            answer = False, f"{type(error).__name__}: {error}"
        with os.fdopen(writing, "wb") as stream:
            pickle.dump(answer, stream)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        data = stream.read()
    _, status = os.waitpid(pid, 0)
    assert data, f"it hung, or died of signal {os.WTERMSIG(status)}"
    done, found = pickle.loads(data)
    assert done, found
    return found  # type: ignore[no-any-return]


def become_root_of_a_namespace(uid: int) -> str | None:
    """Make this process, which is root, root of a user namespace of its own in which only ``uid`` has a name.

    So a container without rights on the machine sees it. Returns why that cannot be done here; None: it is done.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    ready, go = os.pipe(), os.pipe()
    pid = os.getpid()
    helper = os.fork()
    if helper == 0:
        os.read(ready[0], 1)
        try:
            for name in ("uid_map", "gid_map"):
                Path(f"/proc/{pid}/{name}").write_text(f"0 {uid} 1\n")
            os.write(go[1], b"1")
        finally:
            os._exit(0)
    os.close(go[1])
    failed = libc.unshare(0x10000000) != 0  # CLONE_NEWUSER
    os.write(ready[1], b"1")
    mapped = os.read(go[0], 1) == b"1"
    os.waitpid(helper, 0)
    if failed or not mapped:
        return f"no user namespace here: {os.strerror(ctypes.get_errno())}"
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    return None


@contextmanager
def watched(root: Path) -> Iterator[Callable[[], list[str]]]:
    """Yield a function that names everything at and below ``root`` that was opened or changed since it was last asked.

    By inotify(7): whoever opens something with O_PATH, or looks at its status, is not seen.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    assert fd >= 0
    names: dict[int, Path] = {}
    try:
        for path in (root, *root.rglob("*")):
            if path.is_dir() and not path.is_symlink():
                names[libc.inotify_add_watch(fd, os.fsencode(path), _SEEN)] = path

        def seen() -> list[str]:
            found = []
            while select.select([fd], [], [], 0)[0]:
                data = os.read(fd, 1 << 16)
                while data:
                    watch, mask, _, length = _EVENT.unpack_from(data)
                    name = os.fsdecode(data[_EVENT.size : _EVENT.size + length].rstrip(b"\0"))
                    found.append(f"{names.get(watch, root)}/{name} {mask:#x}")
                    data = data[_EVENT.size + length :]
            return found

        yield seen
    finally:
        os.close(fd)
