"""Writing by descriptor: new files, directories, links. No path is followed, no existing file is opened for writing.

Which file is written when, and what happens on failure, is not here.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from patchctl.disk import NotRegularError, Root, open_parent

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LOOK = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_PERMISSIONS = 0o777
DIRECTORY_MODE = 0o755
_NO_XATTRS = frozenset({errno.ENOTSUP, errno.ENOSYS})
_ACL = "system.posix_acl_access"
_NOT_OURS_TO_SET = frozenset({errno.EPERM, errno.EACCES, errno.ENOTSUP})


class Looks(NamedTuple):
    """What a new file gets besides its bytes.

    Attributes:
        mode: permission bits; set-id bits are dropped.
        owner: (uid, gid) to give it; None leaves what the system gave.
        mtime_ns: modification time; None leaves the clock's.
        xattrs: extended attributes to set; never file capabilities. None leaves what the system gave: a new file
            has the access list that its directory hands down, a file that stands for another one must not.
    """

    mode: int = 0o644
    owner: tuple[int, int] | None = None
    mtime_ns: int | None = None
    xattrs: Mapping[str, bytes] | None = None


@contextmanager
def parent_of(root: Root, path: str) -> Iterator[tuple[int, str]]:
    """Walk to the directory that holds ``path`` and yield (its descriptor, the last component); see ``disk``."""
    parent, name = open_parent(root, path)
    try:
        yield parent, name
    finally:
        os.close(parent)


def write_new(parent: int, name: str, data: bytes, looks: Looks, later: Callable[[int], None] | None = None) -> None:
    """Create ``name`` with ``data`` and ``looks`` and bring it to the disk; it must not exist.

    ``later`` puts the wait for the disk off; it gets the descriptor, which is closed after it.

    Owner before mode, because a change of owner clears bits; the mode last but one, because the descriptor was made
    with 0600 so that nobody reads or writes the half-made file.
    """
    fd = os.open(name, _NEW, 0o600, dir_fd=parent)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(fd, rest) :]
        status = os.fstat(fd)
        if looks.owner is not None and looks.owner != (status.st_uid, status.st_gid):
            os.fchown(fd, *looks.owner)
        if looks.xattrs is not None:
            _replace_xattrs(fd, looks.xattrs)
        os.fchmod(fd, looks.mode & _PERMISSIONS)
        if looks.mtime_ns is not None:
            os.utime(fd, ns=(looks.mtime_ns, looks.mtime_ns))
        (later or os.fsync)(fd)
    finally:
        # A full disk may only show here (delayed allocation, NFS): the error must reach the caller.
        os.close(fd)


def write_link(parent: int, name: str, text: str, owner: tuple[int, int] | None, mtime_ns: int | None) -> None:
    """Create the symbolic link ``name`` with ``text``; it must not exist. Whoever makes it syncs its directory."""
    os.symlink(text, name, dir_fd=parent)
    status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if owner is not None and owner != (status.st_uid, status.st_gid):
        os.chown(name, *owner, dir_fd=parent, follow_symlinks=False)
    if mtime_ns is not None:
        os.utime(name, ns=(mtime_ns, mtime_ns), dir_fd=parent, follow_symlinks=False)


def put_new(parent: int, temp: str, name: str) -> None:
    """Give the file ``temp`` the name ``name`` too, which must be nobody's: whatever stands there is never replaced.

    Raises:
        FileExistsError: somebody made a file of that name.
        OSError: hard links cannot be made here, among others.
    """
    os.link(temp, name, src_dir_fd=parent, dst_dir_fd=parent, follow_symlinks=False)


def _replace_xattrs(fd: int, xattrs: Mapping[str, bytes]) -> None:
    """Give the file these attributes; the access list that its directory handed down goes, unless it is among them."""
    if _ACL not in xattrs:
        try:
            os.removexattr(fd, _ACL)
        except OSError as error:
            if error.errno not in {*_NO_XATTRS, errno.ENODATA}:
                raise
    for key, value in xattrs.items():
        _set_xattr(fd, key, value)


def has_capability(parent: int, name: str) -> bool:
    """Return whether a file has a capability; one that cannot be asked counts as having one."""
    fd = os.open(name, _LOOK, dir_fd=parent)
    try:
        os.getxattr(fd, "security.capability")
    except OSError as error:
        return error.errno not in {*_NO_XATTRS, errno.ENODATA}
    finally:
        os.close(fd)
    return True


def ensure_directory(
    parent: int, name: str, owner: tuple[int, int] | None, later: Callable[[int], None] | None = None
) -> int:
    """Return a descriptor of directory ``name``, made with 0755 whatever the umask when it is not there.

    ``later`` puts the wait for the disk off; it gets the descriptor of ``parent``, when anything was made.
    """
    try:
        return open_directory(parent, name)
    except FileNotFoundError:
        pass
    try:
        os.mkdir(name, DIRECTORY_MODE, dir_fd=parent)
    except FileExistsError:
        return open_directory(parent, name)
    fd = open_directory(parent, name)
    try:
        if owner is not None:
            os.fchown(fd, *owner)
        os.fchmod(fd, DIRECTORY_MODE)
        (later or sync)(parent)
    except BaseException:
        os.close(fd)
        raise
    return fd


def open_directory(parent: int, name: str) -> int:
    """Return a descriptor of directory ``name``; NotRegularError when it is a link or no directory."""
    try:
        return os.open(name, DIRECTORY, dir_fd=parent)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENOTDIR}:
            raise NotRegularError(error.errno, "is a link or no directory", name) from None
        raise


def remove(parent: int, name: str) -> bool:
    """Unlink ``name``; returns whether it was there."""
    try:
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        return False
    return True


def remove_directory(parent: int, name: str) -> bool:
    """Remove directory ``name`` when it is empty; returns whether it is gone."""
    try:
        os.rmdir(name, dir_fd=parent)
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno in {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.EBUSY}:
            return False
        raise
    return True


def names_in(directory: int) -> list[str]:
    """Return the names in an open directory, in no order."""
    return os.listdir(directory)


def exists(parent: int, name: str) -> bool:
    """Return whether anything is at ``name``, a dangling link included."""
    try:
        os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def sync(directory: int) -> None:
    """Bring a directory's names to the disk; file systems that cannot do so for directories answer EINVAL."""
    try:
        os.fsync(directory)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise


def _set_xattr(fd: int, key: str, value: bytes) -> None:
    try:
        os.setxattr(fd, key, value)
    except OSError as error:
        # Security modules label a new file themselves and let few set labels; that is no reason to fail.
        if key.startswith(("security.", "trusted.")) and error.errno in _NOT_OURS_TO_SET:
            return
        raise
