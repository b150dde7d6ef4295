"""Waits for more in a log that grows, as ``tail -F`` does: over rotation by renaming and by truncating.

What a log gets between the last look and being truncated is lost, as it is to anybody who follows it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from patchctl.errors import PatchctlError
from patchctl.logs.holes import read_on
from patchctl.logs.opening import OpenLog, open_log


class Followed:
    """One file that is followed, from where reading it ended.

    Args:
        log: read to its end, from its beginning.
    """

    __slots__ = ("_at", "_log")

    def __init__(self, log: OpenLog) -> None:
        self._log = log
        self._at = os.lseek(log.fd, 0, os.SEEK_CUR)

    def more(self) -> Iterator[tuple[bytes, int]]:
        """Give what was added since the last call: blocks, and when the file was last written."""
        yield from self._rest()
        try:
            status = os.stat(self._log.name)
        except OSError:
            return  # renamed away, and its successor is not there yet
        if (status.st_dev, status.st_ino) != self._log.inode:
            yield from self._rest()  # written between the last look and the renaming
            try:
                new = open_log(self._log.name)
            except PatchctlError:
                return  # gone again, or nothing that can be read; the next look may find another
            self._log.close()
            self._log, self._at = new, 0
            yield from self._rest()
        elif status.st_size < self._at:
            os.lseek(self._log.fd, 0, os.SEEK_SET)
            self._at = 0
            yield from self._rest()

    def close(self) -> None:
        """Close the file."""
        self._log.close()

    def _rest(self) -> Iterator[tuple[bytes, int]]:
        for piece, passed in read_on(self._log.fd):
            self._at += passed
            if piece:
                yield piece, int(os.fstat(self._log.fd).st_mtime)
