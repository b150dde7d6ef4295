"""What lies around a file and decides whether editing it can work: mounts, compiled twins."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from patchctl.model.modules import SOURCE, is_extension

_MOUNT_POINT = 4
_OCTAL = ((r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", "\\"))


def mount_points() -> frozenset[str]:
    """Return this process's mount points, absolute.

    A file that is mounted by itself (a bind mount in a container) shows nowhere else, and replacing it fails (EBUSY).
    """
    return frozenset(point for point, _ in _mounts())


def on_one_mount(first: int, second: int) -> bool:
    """Return whether two descriptors were opened in one mount of one file system.

    A directory that is mounted from elsewhere in the same file system (a bind mount) has the same device number: only
    the kernel's number of the mount tells (proc(5), fdinfo), and it cannot be fooled with names.
    """
    if os.fstat(first).st_dev != os.fstat(second).st_dev:
        return False
    return _mount_of(first) == _mount_of(second)


def _mount_of(fd: int) -> str | None:
    try:
        with open(f"/proc/self/fdinfo/{fd}", encoding="ascii", errors="replace") as lines:
            return next((line for line in lines if line.startswith("mnt_id:")), None)
    except OSError:
        return None


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
    if not path.endswith(SOURCE):
        return None
    stem = path.rpartition("/")[2].removesuffix(SOURCE)
    return next((name for name in names if name.startswith(f"{stem}.") and is_extension(name[len(stem) :])), None)


def beside_by_stem(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Group the names in a directory by what stands before the first dot, so that not all are searched for each file.

    A source shares it with its byte code and its compiled twins: :func:`beside` finds them.
    """
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(name.partition(".")[0], []).append(name)
    return {stem: tuple(sorted(group)) for stem, group in found.items()}


def beside(groups: Mapping[str, tuple[str, ...]], path: str) -> tuple[str, ...]:
    """Return the names of a directory that may belong to the source ``path`` in it; sorted."""
    return groups.get(path.rpartition("/")[2].partition(".")[0], ())


def _unescape(point: str) -> str:
    for escape, character in _OCTAL:
        point = point.replace(escape, character)
    return point
