"""Follow a path that something names which was read: the source tree of an editable install, a ``pyvenv.cfg``.

Whoever wrote it could lead root, who may read everything, to what he himself may not. So root goes through no link that
another user made, and what is at the end is judged by the descriptor that is read from afterwards: a path that is
walked twice leads to two places.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

from patchctl.disk.reading import read_below, read_open
from patchctl.disk.walking import NotRegularError, Roots, open_root

_PLACE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_MOST_LINKS = 40
"""As many as the kernel follows."""


def owner_to_heed(site: int) -> int | None:
    """Return the uid whom the open directory ``site`` belongs to, where root is asked for more than he may read.

    None: the caller is not root, or it is root's own.
    """
    owner = os.fstat(site).st_uid
    return owner if os.geteuid() == 0 and owner != 0 else None


def open_named(path: str, owner: int | None = None, inside: str = ".") -> int:
    """Return a descriptor of the directory ``path`` (absolute); nothing is opened before it was judged.

    Args:
        path: as something in a site names it.
        owner: uid that it must belong to, of :func:`owner_to_heed`; None: anybody.
        inside: what must be his is this in it, one component; a link counts itself.

    Raises:
        NotRegularError: it is another's, or, as root, behind a link of another user.
        OSError: the system refused, or nothing is there.
    """
    if os.geteuid() != 0:
        return open_root(path)
    place = _place(None, path)
    try:
        if owner is not None and os.stat(inside, dir_fd=place, follow_symlinks=False).st_uid != owner:
            whole = path if inside == "." else f"{path}/{inside}"
            raise NotRegularError(errno.EPERM, "is not of the site's owner, whom root does not follow there", whole)
        return os.open(".", _DIRECTORY, dir_fd=place)
    finally:
        os.close(place)


@contextmanager
def opened_roots(site: str, grafts: Mapping[str, str]) -> Iterator[Roots]:
    """Open a site and the directories that hold its grafted packages (top-level name -> absolute directory).

    As root, the packages must belong to the site's owner where that is not root, whatever the paths led to earlier.

    Raises:
        OSError: as of :func:`open_named`.
    """
    with ExitStack() as descriptors:
        root = open_root(site)
        descriptors.callback(os.close, root)
        opened: dict[str, int] = {}
        for top, directory in grafts.items():
            opened[top] = open_named(directory, owner_to_heed(root), top)
            descriptors.callback(os.close, opened[top])
        yield Roots(site=root, grafts=opened)


def read_named(root_fd: int, name: str, *, limit: int) -> bytes | None:
    """Return the bytes of the regular file ``name`` in a directory, or of the one that a link there leads to.

    Args:
        root_fd: of the directory.
        name: one component.
        limit: largest size in bytes that is read.

    Returns:
        None where nothing is there.

    Raises:
        NotRegularError: no regular file, a larger one, or, as root, one behind a link of another user.
        OSError: the system refused.
    """
    try:
        found = read_below(root_fd, name, limit=limit)
    except NotRegularError as error:
        if error.errno != errno.ELOOP:
            raise
        return _read_through(root_fd, name, limit)
    return None if found is None else found[0]


def leads_out(root: str, path: str) -> bool:
    """Return whether, as root, one would get through a link of another user to ``path`` below ``root`` (absolute)."""
    if os.geteuid() != 0:
        return False
    root_fd = open_root(root)
    try:
        os.close(_place(root_fd, path))
    except NotRegularError:
        return True
    except OSError:
        return False  # nothing is there, which is said elsewhere
    finally:
        os.close(root_fd)
    return False


def is_open_to(uid: int | None, path: str) -> bool:
    """Return whether a user may read the directory ``path`` (absolute), as far as owners and modes tell; None: anybody.

    Groups are not asked: what is open to some of them alone is taken for closed.
    """
    if uid is None:
        return True

    def is_closed(status: os.stat_result) -> bool:
        return status.st_uid != uid and not status.st_mode & stat.S_IXOTH

    try:
        os.close(_place(None, path, is_closed))
    except OSError:
        return False
    return True


def _read_through(root_fd: int, name: str, limit: int) -> bytes:
    strict = os.geteuid() == 0
    place = _place(root_fd, name) if strict else os.open(name, os.O_PATH | os.O_CLOEXEC, dir_fd=root_fd)
    try:
        # Looked at before it is opened for reading, which is not free of effects: see ``open_regular``.
        if not stat.S_ISREG(os.fstat(place).st_mode):
            raise NotRegularError(errno.EINVAL, "leads to no regular file", name)
        fd = os.open(f"/proc/self/fd/{place}", _FILE)
    finally:
        os.close(place)
    try:
        return read_open(fd, name, limit)[0]
    finally:
        os.close(fd)


def _place(start: int | None, path: str, is_closed: Callable[[os.stat_result], bool] = lambda _: False) -> int:
    """Walk to what ``path`` leads to through no link of another user; return a descriptor that only stands for it.

    ``start`` is where a relative path begins; None: the path is absolute. What ``is_closed`` says of ends the walk.
    """
    parts = path.split("/")[::-1]
    current = _top() if start is None or path.startswith("/") else os.dup(start)
    links = 0
    try:
        while parts:
            part = parts.pop()
            if not part:
                continue
            following = os.open(part, _PLACE, dir_fd=current)
            status = os.fstat(following)
            if not stat.S_ISLNK(status.st_mode):
                os.close(current)
                current = following
                if is_closed(status):
                    raise NotRegularError(errno.EACCES, "is closed to the owner of what names it", path)
                continue
            links += 1
            try:
                text = _text(following, status, path, links)
            finally:
                os.close(following)
            if text.startswith("/"):
                os.close(current)
                current = _top()
            parts += text.split("/")[::-1]
    except BaseException:
        os.close(current)
        raise
    return current


def _top() -> int:
    return os.open("/", _PLACE)


def _text(link: int, status: os.stat_result, path: str, links: int) -> str:
    """Return the text of the open link itself: its name may be another one's by now."""
    if status.st_uid != 0:
        raise NotRegularError(errno.ELOOP, "is behind a link of another user, which root does not follow", path)
    if links > _MOST_LINKS:
        raise NotRegularError(errno.ELOOP, "is behind too many links", path)
    return os.readlink("", dir_fd=link)
