"""What a page never touches, wherever the operator says that it goes: a site, and what another user could turn."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import NamedTuple

from patchctl.model.layout import STATE_DIR

_PASS = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_EVERYBODY = stat.S_IWOTH | stat.S_ISVTX
_INFO = ".dist-info"
"""What every installer leaves beside what it installed. A source tree has .egg-info, and its README is no site's."""


class Bounds(NamedTuple):
    """What a page never touches.

    Attributes:
        sites: directories (absolute) below which nothing is written.
        owners: for root, uids whose links are followed and whose files are replaced; None: anybody's, since whoever is
            not root can do no more than the kernel lets him.
    """

    sites: tuple[str, ...] = ()
    owners: frozenset[int] | None = None


def site_around(directory: int, sites: tuple[str, ...]) -> bool:
    """Return whether an open directory is a site or lies below one, by whichever path it was reached.

    One of ``sites`` (absolute paths), or any directory in which something is installed, or patchctl's state lies.
    """
    known = {place for site in sites if (place := _place_of(site)) is not None}
    current = os.dup(directory)
    try:
        here = _place(os.fstat(current))
        while here not in known and not _is_site(current):
            above = os.open("..", _PASS, dir_fd=current)
            os.close(current)
            current, below, here = above, here, _place(os.fstat(above))
            if here == below:
                return False
        return True
    except PermissionError:
        return False  # whoever may not look further up came here by no path from there
    finally:
        os.close(current)


def _place(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _place_of(path: str) -> tuple[int, int] | None:
    try:
        return _place(os.stat(path))
    except OSError:
        return None


def _is_site(directory: int) -> bool:
    if os.fstat(directory).st_mode & _EVERYBODY == _EVERYBODY:
        return False  # in /tmp anybody may leave a name that looks like it
    with contextlib.suppress(OSError):
        if stat.S_ISDIR(os.stat(STATE_DIR, dir_fd=directory, follow_symlinks=False).st_mode):
            return True
    with contextlib.suppress(OSError):
        inside = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory)
        try:
            return any(name.endswith(_INFO) for name in os.listdir(inside))
        finally:
            os.close(inside)
    return False
