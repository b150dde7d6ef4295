"""Replaces one file in one step: whoever reads it sees the old text or the new one, never half of it.

The directory is opened once and everything is done in it, so that nobody who swaps a directory on the way can lead a
writer that runs as root elsewhere. Links in the place of the file itself are refused: they would be replaced. What is
out of bounds is judged in ``bounds``.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from patchctl.disk import NotRegularError, attributes, open_regular
from patchctl.disk.others import user_name
from patchctl.disk.way import StrangeLinkError, open_way
from patchctl.errors import PatchctlError, RefusedError, UntrustedError
from patchctl.model.shell import shell_word
from patchctl.publishing.bounds import Bounds, site_around
from patchctl.publishing.markers import between_markers

LARGEST = 16 << 20
"""Bytes; a larger file is no README."""

_SCRATCH = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PERMISSIONS = 0o777
_UNTRUSTED = "untrusted-output"


class _Old(NamedTuple):
    """The file as it was found."""

    data: bytes
    status: os.stat_result
    xattrs: dict[str, bytes]


def put_whole(
    path: str, page: str, bounds: Bounds, *, through: bool = False, look: Callable[[bytes], None] | None = None
) -> bool:
    """Make ``page`` the content of the file at ``path``; return False when it is already.

    Args:
        path: absolute, or relative to the working directory; the file may be there or not, its directory must be.
        page: its text, written as UTF-8.
        bounds: what is not touched.
        through: a link in the place of the file is followed to the file that is meant.
        look: gets the old content, where there is some, and raises what is raised.

    Raises:
        RefusedError: no regular file is there, it lies below a site, or it changed meanwhile.
        UntrustedError: ``untrusted-output``: as root, a link on the way, or the file, is another user's.
        PatchctlError: the system refused.
    """
    with _directory_of(path, bounds, through=through) as (directory, name):
        old = _read(directory, name, path)
        if old is not None:
            if look is not None:
                look(old.data)
            _refuse_strange(old, path, bounds)
        return _put(directory, name, path, old, page.encode("utf-8", "backslashreplace"))


def put_between(path: str, page: str, bounds: Bounds) -> bool:
    """Put ``page`` between the markers of the file at ``path``; as :func:`put_whole`.

    Raises:
        RefusedError: also when there is no such file, or not exactly one pair of markers.
        UntrustedError: its owner can run the same command.
    """
    with _directory_of(path, bounds, through=False) as (directory, name):
        old = _read(directory, name, path)
        if old is None:
            raise RefusedError("no-such-file", f"{path} is not there; nothing was written", path=path)
        _refuse_strange(old, path, bounds, is_kept=True)
        return _put(directory, name, path, old, between_markers(old.data, page, path))


@contextlib.contextmanager
def _directory_of(path: str, bounds: Bounds, *, through: bool) -> Iterator[tuple[int, str]]:
    if os.path.basename(path) in {"", ".", ".."}:
        raise RefusedError("not-regular", f"{path} is not the name of a file", path=path)
    try:
        directory, name = open_way(path, bounds.owners, through=through)
        try:
            if site_around(directory, bounds.sites):
                message = f"{path} lies in a site directory, which only transactions change; nothing was written"
                raise RefusedError("inside-site", message, path=path)
            yield directory, name
        finally:
            os.close(directory)
    except StrangeLinkError as error:
        whose = f"{path} is reached through {error.link}, a link of {_called(error.uid)}"
        message = f"{whose}, who could lead root anywhere; nothing was written: look where it leads first"
        raise UntrustedError(_UNTRUSTED, message, hint=f"chown -h root: {shell_word(error.link)}", path=path) from None
    except NotRegularError as error:
        hint = "name the file itself" if error.errno == errno.ELOOP else "name a regular file"
        raise RefusedError(
            "not-regular", f"{path} {error.strerror}; nothing was written", hint=hint, path=path
        ) from None
    except OSError as error:
        raise PatchctlError("cannot-write", f"{path} cannot be written: {error.strerror}", path=path) from None


def _refuse_strange(old: _Old, path: str, bounds: Bounds, *, is_kept: bool = False) -> None:
    """Refuse a file of somebody else's: the page would be his, to read and to change."""
    uid = old.status.st_uid
    if bounds.owners is None or uid in bounds.owners:
        return
    message = f"{path} belongs to {_called(uid)}, who could read and change what root writes there; nothing was written"
    named = path if path.startswith("/") else f"./{path}"
    error = UntrustedError(_UNTRUSTED, message, hint=f"rm {shell_word(named)}", path=path)
    if is_kept:
        error.login = user_name(uid) or f"#{uid}"
    raise error


def _called(uid: int) -> str:
    return user_name(uid) or f"uid {uid}"


def _read(directory: int, name: str, path: str) -> _Old | None:
    try:
        fd, status = open_regular(directory, name, path)
    except FileNotFoundError:
        return None
    with os.fdopen(fd, "rb") as stream:
        if status.st_size > LARGEST:
            raise RefusedError("not-regular", f"{path} is larger than {LARGEST} bytes; nothing was written", path=path)
        return _Old(data=stream.read(LARGEST), status=status, xattrs=attributes(stream.fileno()))


def _put(directory: int, name: str, path: str, old: _Old | None, data: bytes) -> bool:
    if old is not None and old.data == data:
        return False
    scratch = f".patchctl-{os.getpid()}-{os.urandom(4).hex()}.tmp"
    try:
        with os.fdopen(os.open(scratch, _SCRATCH, 0o666 if old is None else 0o600, dir_fd=directory), "wb") as stream:
            stream.write(data)
            stream.flush()
            if old is not None:
                _make_like(stream.fileno(), old)
            os.fsync(stream.fileno())
        # Somebody may have saved it in an editor since it was read; what is left is the moment of the rename itself.
        if not _is_still(directory, name, old):
            raise RefusedError("changed-meanwhile", f"{path} changed meanwhile; nothing was written", path=path)
        os.rename(scratch, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(scratch, dir_fd=directory)
        raise
    with contextlib.suppress(OSError):  # some file systems have no word for it
        os.fsync(directory)
    return True


def _make_like(fd: int, old: _Old) -> None:
    """Give a new file owner, permissions and attributes of the one it replaces.

    Raises:
        OSError: the owner cannot be kept: nobody is given a file that was another's.
    """
    status = os.fstat(fd)
    if (status.st_uid, status.st_gid) != (old.status.st_uid, old.status.st_gid):
        os.fchown(fd, old.status.st_uid, old.status.st_gid)
    os.fchmod(fd, old.status.st_mode & _PERMISSIONS)
    present = attributes(fd)
    for key, value in old.xattrs.items():
        if present.get(key) != value:
            os.setxattr(fd, key, value)


def _is_still(directory: int, name: str, old: _Old | None) -> bool:
    try:
        now = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return old is None
    if old is None:
        return False
    was = old.status
    return (now.st_ino, now.st_mtime_ns, now.st_size) == (was.st_ino, was.st_mtime_ns, was.st_size)
