"""Has anything in a registry folder changed? Told from what the file system says of every file; none is opened."""

from __future__ import annotations

import os

from patchctl.disk import Marks

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def mark_registry(root: str, marks: Marks) -> None:
    """Add every file and directory of a registry, down to the files of its entries, whatever an entry says of them.

    Args:
        root: path of the registry folder.
        marks: filled.

    Raises:
        OSError: something cannot be looked at, or changes while it is.
    """
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        marks.add(root, os.fstat(fd))
        _mark_below(fd, marks, depth=2)
    finally:
        os.close(fd)


def _mark_below(directory: int, marks: Marks, depth: int) -> None:
    for name in sorted(os.listdir(directory)):
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        marks.add(name, status)
        if depth and marks.is_directory(status):
            fd = os.open(name, _DIRECTORY, dir_fd=directory)
            try:
                _mark_below(fd, marks, depth - 1)
            finally:
                os.close(fd)
