"""One way to read a file below a site, and one set of words for why it cannot be read."""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager

from patchctl.disk import NotRegularError, Roots, open_root, opened_roots, read_below, read_linked, refuse_hole
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


@contextmanager
def open_target(site: str, grafts: Mapping[str, str]) -> Iterator[Roots]:
    """Open a site (absolute) and the directories of its grafted packages; errors as of :func:`open_site`.

    Raises:
        TargetError: also where what a graft led to when the site was read is not what it leads to now, and root may
            not be led there.
    """
    with ExitStack() as stack:
        try:
            roots = stack.enter_context(opened_roots(site, grafts))
        except NotRegularError as error:
            message = f"{error.filename}, which an editable install of {site} names, {why_unreadable(error)}"
            raise TargetError("unreadable-site", message, hint="run patchctl as the owner of the site") from None
        except OSError as error:
            message = f"the site directory {error.filename or site} cannot be read: {error.strerror}"
            raise TargetError("unreadable-site", message, hint="name another with --site DIR") from None
        yield roots


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


def read_metadata(root_fd: int, path: str, *, limit: int = 16 << 20, listed: Collection[str] = ()) -> bytes | None:
    """Return the bytes of an installer's own file, None when it is not there.

    Args:
        root_fd: descriptor of the site.
        path: of the file, relative to the site.
        limit: largest size in bytes that is read.
        listed: what RECORD lists for it, sha256 in hexadecimal: a link to these very bytes is read through.

    Raises:
        TargetError: something is there that cannot be read as a regular file: without it, who owns which file is
            unknown, and nothing further may be said.
    """
    try:
        found = read_below(root_fd, path, limit=limit, look=refuse_hole)
    except OSError as error:
        if is_link(error) and listed:
            return _read_link(root_fd, path, listed, limit)
        raise _unreadable(path, error) from None
    return None if found is None else found[0]


def _read_link(root_fd: int, path: str, listed: Collection[str], limit: int) -> bytes:
    try:
        return read_linked(root_fd, path, listed, {os.fstat(root_fd).st_uid}, limit=limit).data
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: str, error: OSError) -> TargetError:
    linked = isinstance(error, NotRegularError) and error.errno == errno.ELOOP
    hint = "reinstall it; with uv, --link-mode=copy makes files instead of links" if linked else None
    return TargetError("unreadable-metadata", f"{path} {why_unreadable(error)}", hint=hint, path=path)


def why_unreadable(error: OSError) -> str:
    """Return why a file cannot be read, as a phrase that follows its path."""
    if is_link(error):
        return "is a symbolic link, and only regular files are read and edited"
    if isinstance(error, NotRegularError):
        reason = error.strerror or "cannot be read"
        return f"cannot be reached: {reason}" if reason.startswith("the directory") else reason
    return f"cannot be read: {os.strerror(error.errno) if error.errno else error}"


def is_link(error: OSError) -> bool:
    """Return whether the file itself, not a directory on its way, is a symbolic link."""
    return isinstance(error, NotRegularError) and error.errno == errno.ELOOP and error.strerror == "is a symbolic link"
