"""What was written and is not on the disk yet: brought there together, because one wait then does for many files.

A file is held open until then. A write error shows on a descriptor that was open when it happened; one that is opened
later may never hear of it. When the disk must have what is the business of ``run``.
"""

from __future__ import annotations

import os
import stat

from patchctl.transaction.files import sync

_HELD = 128
"""Descriptors held at most; a process may have 1,024 as a rule."""


class Unsynced:
    """Files and directories to bring to the disk; as a context manager it closes what an error left."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: dict[tuple[int, int], int] = {}

    def __enter__(self) -> Unsynced:
        return self

    def __exit__(self, *_error: object) -> None:
        while self._held:
            os.close(self._held.popitem()[1])

    def add(self, fd: int) -> None:
        """Bring the file or directory of ``fd`` to the disk later; the caller closes ``fd``. One inode counts once."""
        status = os.fstat(fd)
        if (status.st_dev, status.st_ino) not in self._held:
            self._held[status.st_dev, status.st_ino] = os.dup(fd)
        if len(self._held) >= _HELD:
            self.settle()

    def settle(self) -> None:
        """Bring everything to the disk.

        Raises:
            OSError: the disk is full or failed; some of it may not be there.
        """
        while self._held:
            _, fd = self._held.popitem()
            try:
                # A full disk may only show here or at the close (delayed allocation, NFS).
                if stat.S_ISDIR(os.fstat(fd).st_mode):
                    sync(fd)
                else:
                    os.fsync(fd)
            finally:
                os.close(fd)
