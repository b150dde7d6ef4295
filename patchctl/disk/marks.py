"""What tells that files are still the same without a look into them: names, inodes and times."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from patchctl.disk.walking import open_root


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

    Of a link both it and what it leads to count.

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
                status = os.stat(path, dir_fd=root_fd, follow_symlinks=False)
                marks.add(path, status)
                if stat.S_ISLNK(status.st_mode):
                    marks.add(f"{path}/.", os.stat(path, dir_fd=root_fd))
            except (FileNotFoundError, NotADirectoryError):
                marks.add(path, None)
    finally:
        os.close(root_fd)
