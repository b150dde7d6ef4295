"""One way to read a file below a site, and one set of words for why it cannot be read."""

from __future__ import annotations

import errno
import os

from patchctl.disk import NotRegularError, open_root, read_below
from patchctl.errors import TargetError


def open_site(site: str) -> int:
    """Return a descriptor of the site directory (absolute).

    Raises:
        TargetError: it is not there, is no directory, or may not be entered.
    """
    try:
        return open_root(site)
    except OSError as error:
        message = f"the site directory {site} cannot be read: {error.strerror}"
        raise TargetError("unreadable-site", message, hint="name another with --site DIR") from None


def path_below(site: str, file: str) -> str:
    """Return ``file`` as a POSIX path relative to ``site``; one that is not below it stays as it is.

    Args:
        site: absolute path of the site directory.
        file: relative to it, or absolute; its links are not followed.
    """
    if not file.startswith("/"):
        return file.removeprefix("./")
    for root in (site, os.path.realpath(site)):
        prefix = root.rstrip("/") + "/"
        if file.startswith(prefix):
            return file.removeprefix(prefix)
    return file


def read_metadata(root_fd: int, path: str, *, limit: int = 16 << 20) -> bytes | None:
    """Return the bytes of an installer's own file, None when it is not there.

    Raises:
        TargetError: something is there that cannot be read as a regular file: without it, who owns which file is
            unknown, and nothing further may be said.
    """
    try:
        found = read_below(root_fd, path, limit=limit)
    except OSError as error:
        message = f"{path} {why_unreadable(error)}"
        hint = "uv installs links with --link-mode=symlink: install with --link-mode=copy" if is_link(error) else None
        raise TargetError("unreadable-metadata", message, hint=hint, path=path) from None
    return None if found is None else found[0]


def why_unreadable(error: OSError) -> str:
    """Return why a file cannot be read, as a phrase that follows its path."""
    if is_link(error):
        return "is a symbolic link, and only regular files are read and edited"
    if isinstance(error, NotRegularError):
        reason = error.strerror or ""
        return f"cannot be reached: {reason}" if reason.startswith("the directory") else reason
    return f"cannot be read: {os.strerror(error.errno) if error.errno else error}"


def is_link(error: OSError) -> bool:
    """Return whether the file itself, not a directory on its way, is a symbolic link."""
    return isinstance(error, NotRegularError) and error.errno == errno.ELOOP and error.strerror == "is a symbolic link"
