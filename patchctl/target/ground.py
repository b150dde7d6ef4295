"""What a site stands on: file system, mounts, owners, permissions, other names of files. Looks only, opens nothing."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from patchctl.disk import file_system_of, look_below, mount_points, open_parent, open_root, walk_below

_OTHERS_READ = 0o004
_OTHERS_ENTER = 0o005


class Ground(NamedTuple):
    """A site directory as the system sees it.

    Attributes:
        file_system: its type, such as ``ext4`` or ``overlay``; None: nothing tells.
        read_only: mounted so.
        mounts: mount points below it, relative to it, sorted.
        uid: owner.
        gid: group.
        mode: permission bits.
    """

    file_system: str | None
    read_only: bool
    mounts: tuple[str, ...]
    uid: int
    gid: int
    mode: int


class Standing(NamedTuple):
    """A file as its directory has it.

    Attributes:
        path: relative to the site.
        kind: ``file``, ``link`` or ``other``.
        names: how many names (hard links) it has.
        mode: permission bits.
    """

    path: str
    kind: str
    names: int
    mode: int


def ground_of(site: str) -> Ground:
    """Look at ``site`` (absolute).

    Raises:
        OSError: it is not there, or may not be looked at.
    """
    real = os.path.realpath(site)
    status = os.stat(site)
    below = sorted(point[len(real) + 1 :] for point in mount_points() if point.startswith(f"{real}/"))
    return Ground(
        file_system=file_system_of(real),
        read_only=bool(os.statvfs(site).f_flag & os.ST_RDONLY),
        mounts=tuple(below),
        uid=status.st_uid,
        gid=status.st_gid,
        mode=stat.S_IMODE(status.st_mode),
    )


def stand(site: str, paths: Iterable[str]) -> tuple[Standing, ...]:
    """Return those of ``paths`` (checked, relative to ``site``) that are there; one behind a link counts as a link."""
    found = []
    root_fd = open_root(site)
    try:
        for path in sorted(set(paths)):
            try:
                parent, name = open_parent(root_fd, path)
            except FileNotFoundError:
                continue
            except OSError:
                found.append(Standing(path=path, kind="link", names=1, mode=0))
                continue
            try:
                status = os.stat(name, dir_fd=parent, follow_symlinks=False)
            except OSError:
                continue
            finally:
                os.close(parent)
            kind = "file" if stat.S_ISREG(status.st_mode) else "link" if stat.S_ISLNK(status.st_mode) else "other"
            mode = stat.S_IMODE(status.st_mode)
            found.append(Standing(path=path, kind=kind, names=status.st_nlink, mode=mode))
    finally:
        os.close(root_fd)
    return tuple(found)


def closed_to_others(site: str, directory: str) -> tuple[str, ...]:
    """Return what below ``directory`` (relative to ``site``) another user could not read, sorted; itself included."""
    found: list[str] = []
    root_fd = open_root(site)
    try:
        for path, mode in _modes(root_fd, directory):
            wanted = _OTHERS_ENTER if stat.S_ISDIR(mode) else _OTHERS_READ
            if mode & wanted != wanted:
                found.append(path)
    finally:
        os.close(root_fd)
    return tuple(sorted(found))


def _modes(root_fd: int, directory: str) -> Iterator[tuple[str, int]]:
    try:
        yield directory, os.stat(directory, dir_fd=root_fd, follow_symlinks=False).st_mode
        for inside, names, files, fd in walk_below(root_fd, directory):
            for name in (*names, *files):
                yield f"{inside}/{name}", os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
    except OSError:
        return  # gone meanwhile, or closed to us, which the mode of the directory said


def owner_of(site: str, path: str) -> int | None:
    """Return the uid of what is at ``path`` below ``site``; None: nothing is there, or it may not be seen."""
    found = look_below(site, path)
    return None if found is None else found.st_uid


def umask() -> int | None:
    """Return this process's umask without changing it; None where the kernel does not tell (before Linux 4.7)."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as lines:
            found = next((line for line in lines if line.startswith("Umask:")), "")
        return int(found.split()[1], 8)
    except (OSError, ValueError, IndexError):
        return None


def unchecked_byte_code(site: str, paths: Iterable[str]) -> tuple[str, ...]:
    """Return byte code of the sources ``paths`` that Python runs without looking at them (PEP 552), sorted."""
    found = []
    root_fd = open_root(site)
    try:
        for directory, stems in _stems(paths).items():
            cache = f"{directory}/__pycache__" if directory else "__pycache__"
            try:
                fd, _ = open_parent(root_fd, f"{cache}/.")
            except OSError:
                continue
            try:
                named = [name for name in os.listdir(fd) if name.partition(".")[0] in stems and name.endswith(".pyc")]
                found += [f"{cache}/{name}" for name in named if _is_unchecked(fd, name)]
            finally:
                os.close(fd)
    finally:
        os.close(root_fd)
    return tuple(sorted(found))


def _stems(paths: Iterable[str]) -> dict[str, set[str]]:
    stems: dict[str, set[str]] = {}
    for path in paths:
        directory, _, name = path.rpartition("/")
        if name.endswith(".py"):
            stems.setdefault(directory, set()).add(name[:-3])
    return stems


def _is_unchecked(cache: int, name: str) -> bool:
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=cache)
    except OSError:
        return False
    try:
        return int.from_bytes(os.pread(fd, 4, 4), "little") == 1  # flags: by hash, and the source is not asked
    except OSError:
        return False
    finally:
        os.close(fd)
