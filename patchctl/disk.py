"""Reads below a directory without ever following a link: every step by descriptor, regular files only.

The rooms that touch an environment share this one way in (target, ledger, transaction), so that a path is walked by
the same rule whether it came from a patch, a ledger or a journal. Nothing here writes.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Collection, Iterable

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MOUNT_POINT = 4
_BLOCK = 1 << 18
_OCTAL = ((r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", "\\"))
_SOURCE = ".py"
_EXTENSION = ".so"
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class NotRegularError(OSError):
    """Something is at the path, but not a regular file reached through real directories."""


class Marks:
    """What tells files that did not change from files that did, without a look into them.

    Attributes:
        newest: the latest change of any of them, in nanoseconds since the epoch; nobody but the system sets that time.
    """

    __slots__ = ("_seen", "newest")

    def __init__(self) -> None:
        self._seen: list[str] = []
        self.newest = 0

    def add(self, name: str, status: os.stat_result | None) -> None:
        """Add a file or directory as it is now; None: nothing is there."""
        if status is None:
            self._seen.append(f"{name}\0")
            return
        self.newest = max(self.newest, status.st_ctime_ns)
        self._seen.append(
            f"{name}\0{status.st_dev} {status.st_ino} {status.st_mode} {status.st_size} "
            f"{status.st_mtime_ns} {status.st_ctime_ns}"
        )

    def add_words(self, *words: object) -> None:
        """Add something that is no file."""
        self._seen.append(repr(words))

    def digest(self) -> str:
        """Return a sha256 in hexadecimal: the same for the same files as long as none of them changes."""
        import hashlib

        return hashlib.sha256("\n".join(self._seen).encode("utf-8", "backslashreplace")).hexdigest()

    @staticmethod
    def is_directory(status: os.stat_result) -> bool:
        """Tell whether it is a directory, not a link to one."""
        return stat.S_ISDIR(status.st_mode)


def mark_below(root: str, paths: Iterable[str], marks: Marks) -> None:
    """Add the files at ``paths`` (POSIX, relative to the directory ``root``) and every directory on their way.

    Raises:
        OSError: something cannot be looked at.
    """
    wanted = set(paths)
    for path in tuple(wanted):
        directory = path.rpartition("/")[0]
        while directory and directory not in wanted:
            wanted.add(directory)
            directory = directory.rpartition("/")[0]
    root_fd = open_root(root)
    try:
        marks.add(root, os.fstat(root_fd))
        for path in sorted(wanted):
            try:
                marks.add(path, os.stat(path, dir_fd=root_fd, follow_symlinks=False))
            except (FileNotFoundError, NotADirectoryError):
                marks.add(path, None)
    finally:
        os.close(root_fd)


def open_root(root: str) -> int:
    """Return a descriptor of the directory ``root`` (absolute; its own links are followed: the caller chose it)."""
    return os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def open_parent(root_fd: int, path: str) -> tuple[int, str]:
    """Walk to the directory that holds ``path`` and return (its descriptor, the last component).

    Args:
        root_fd: descriptor of the directory that ``path`` is relative to; it stays open.
        path: POSIX, relative, without ``..`` (the caller has checked it).

    Raises:
        FileNotFoundError: a directory on the way is not there.
        NotRegularError: a component on the way is a link or no directory.
    """
    *parents, name = path.split("/")
    current = os.dup(root_fd)
    try:
        for part in parents:
            current = _step(current, part, path)
    except BaseException:
        os.close(current)
        raise
    return current, name


def read_below(root_fd: int, path: str, *, limit: int = 64 << 20) -> tuple[bytes, os.stat_result] | None:
    """Return the bytes and status of the regular file at ``path``; None when nothing is there.

    Args:
        root_fd: descriptor of the directory that ``path`` is relative to.
        path: POSIX, relative, without ``..``.
        limit: largest size in bytes that is read.

    Raises:
        NotRegularError: a link, directory, FIFO or device is there, or the file is larger than ``limit``.
        OSError: the system refused (permission, input/output error).
    """
    try:
        parent, name = open_parent(root_fd, path)
    except FileNotFoundError:
        return None
    try:
        fd, status = open_regular(parent, name, path)
    except FileNotFoundError:
        return None
    finally:
        os.close(parent)
    try:
        if status.st_size > limit:
            raise NotRegularError(errno.EFBIG, f"is larger than {limit} bytes", path)
        with os.fdopen(fd, "rb", closefd=False) as stream:
            # Asking for the limit itself would allocate it, however small the file is.
            return stream.read(status.st_size + 1), status
    finally:
        os.close(fd)


def open_regular(parent: int, name: str, path: str) -> tuple[int, os.stat_result]:
    """Return a descriptor for reading of the regular file ``name`` in the directory ``parent``, and its status.

    Args:
        parent: descriptor of the directory, from :func:`open_parent`; it stays open.
        name: one component.
        path: what messages call the file.

    Raises:
        FileNotFoundError: nothing is there.
        NotRegularError: a link, directory, FIFO or device is there.
        OSError: the system refused (permission, input/output error).
    """
    try:
        fd = os.open(name, _FILE, dir_fd=parent)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENXIO, errno.ENODEV}:
            raise NotRegularError(error.errno, _describe(parent, name), path) from None
        raise
    status = os.fstat(fd)
    # Looked at before any reading, which refuses a directory with an error of its own.
    if not stat.S_ISREG(status.st_mode):
        os.close(fd)
        raise NotRegularError(errno.EINVAL, "is not a regular file", path)
    return fd, status


def digests_of(fd: int, algorithms: Collection[str]) -> dict[str, str]:
    """Return the hexadecimal digests of an open file from where it stands to its end, however large it is.

    A few blocks of memory are used, and hashlib lets other threads run while it works on one.

    Args:
        fd: descriptor, open for reading.
        algorithms: names that ``hashlib.new`` knows; empty: nothing is read.
    """
    hashes = {name: hashlib.new(name, usedforsecurity=False) for name in algorithms}
    if not hashes:
        return {}
    block = memoryview(bytearray(_BLOCK))
    while count := os.readv(fd, [block]):
        for running in hashes.values():
            running.update(block[:count])
    return {name: running.hexdigest() for name, running in hashes.items()}


def _step(current: int, part: str, path: str) -> int:
    """Open directory ``part`` below ``current``, which is closed on success."""
    try:
        following = os.open(part, _DIRECTORY, dir_fd=current)
    except OSError as error:
        # Linux answers ENOTDIR for a link opened with O_DIRECTORY | O_NOFOLLOW, ELOOP elsewhere.
        if error.errno in {errno.ELOOP, errno.ENOTDIR}:
            raise NotRegularError(
                error.errno, f"the directory {part!r} on its way {_describe(current, part)}", path
            ) from None
        raise
    os.close(current)
    return following


def _describe(parent: int, name: str) -> str:
    try:
        mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
    except OSError:
        return "changed while it was read"
    return "is a symbolic link" if stat.S_ISLNK(mode) else "is not what it should be"


def mount_points() -> frozenset[str]:
    """Return this process's mount points, absolute.

    A file that is mounted by itself (a bind mount in a container) shows nowhere else, and replacing it fails (EBUSY).
    """
    return frozenset(point for point, _ in _mounts())


def file_system_of(path: str) -> str | None:
    """Return the type of the file system that ``path`` (absolute, links resolved) lies on; None: nothing tells."""
    found = None
    deepest = -1
    for point, kind in _mounts():
        holds = point in {"/", path} or path.startswith(f"{point}/")
        # Of several mounts on one point the last one is on top.
        if holds and len(point) >= deepest:
            found, deepest = kind, len(point)
    return found


def _mounts() -> list[tuple[str, str | None]]:
    """Mount point and file system type of every row of mountinfo (proc(5)), in order of mounting."""
    try:
        # Lines end at \n alone: the kernel does not escape a carriage return in a mount's source.
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape", newline="\n") as lines:
            rows = [line.split(" ") for line in lines]
    except OSError:
        return []
    return [
        # A variable number of optional fields ends in a dash; the type follows it.
        (_unescape(row[_MOUNT_POINT]), row[row.index("-") + 1] if "-" in row[:-1] else None)
        for row in rows
        if len(row) > _MOUNT_POINT
    ]


def compiled_twin(names: Iterable[str], path: str) -> str | None:
    """Return which of ``names`` is an extension module that the import system prefers to the source ``path``.

    importlib tries the suffixes of extension modules before those of sources, so a patch on the source would be
    applied and not effective.

    Args:
        names: what lies beside the source.
        path: of the source; anything that does not end in ``.py`` has no twin.
    """
    if not path.endswith(_SOURCE):
        return None
    stem = path.rpartition("/")[2].removesuffix(_SOURCE)
    for name in names:
        if name.startswith(f"{stem}.") and name.endswith(_EXTENSION):
            tag = name[len(stem) : -len(_EXTENSION)]
            if tag in {"", ".abi3"} or tag.startswith((".cpython-", ".pypy")):
                return name
    return None


def _unescape(point: str) -> str:
    for escape, character in _OCTAL:
        point = point.replace(escape, character)
    return point
