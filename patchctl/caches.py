"""vLLM's caches of what it compiled or learnt from its own source: where they are, and how they are emptied.

Only the directories named here, below one user's cache root; as that user, by descriptor, through no link, on one file
system. Whether a cache should go is not decided here.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from patchctl.disk import on_one_mount

NAMES = ("torch_compile_cache", "modelinfos")
"""Of graphs, keyed by the traced files but not by module constants and custom operators; of facts about models."""

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_DEEPEST = 64


class CacheOwner(NamedTuple):
    """Whose caches: the user, and the directory that vLLM's caches of this user lie in (absolute)."""

    uid: int
    gid: int
    name: str
    root: str


class Purge(NamedTuple):
    """What became of one cache.

    Attributes:
        path: of its directory, absolute.
        state: ``purged``, ``planned`` (a dry run), ``absent``, ``refused`` (nothing was touched) or ``partial``.
        files: files and links that were removed, or would be.
        size: their bytes.
        reason: why it was refused or is not gone whole.
    """

    path: str
    state: str
    files: int = 0
    size: int = 0
    reason: str | None = None


class _Sum:
    """What one walk came to."""

    def __init__(self) -> None:
        self.files = self.size = 0
        self.troubles: list[str] = []


def cache_owner(environ: Mapping[str, str], user: str | None = None) -> CacheOwner | str:
    """Return whose caches are meant and where they are; a str: why that cannot be told.

    Args:
        environ: VLLM_CACHE_ROOT and XDG_CACHE_HOME say where, as they do for vLLM, when the caller's own are meant.
        user: name of another user, whose caches are where they are by default; None: the caller.
    """
    import pwd

    try:
        found = pwd.getpwuid(os.geteuid()) if user is None else pwd.getpwnam(user)
    except KeyError:
        return f"no user is called {user}" if user is not None else f"uid {os.geteuid()} has no home directory"
    home = found.pw_dir
    root = f"{home}/.cache/vllm"
    if user is None:
        home = environ.get("HOME") or home
        root = environ.get("VLLM_CACHE_ROOT") or f"{environ.get('XDG_CACHE_HOME') or f'{home}/.cache'}/vllm"
        root = f"{home}{root[1:]}" if root == "~" or root.startswith("~/") else root
    if not os.path.isabs(root):
        return f"{root} is not absolute"
    return CacheOwner(uid=found.pw_uid, gid=found.pw_gid, name=found.pw_name, root=os.path.normpath(root))


def purge_caches(owner: CacheOwner, *, remove: bool = True) -> tuple[Purge, ...]:
    """Empty the caches of ``owner`` and say what was removed; never raises for what the system refuses.

    Args:
        owner: from :func:`cache_owner`. The kernel judges every step by this user's rights, also when root asks.
        remove: False: count only.
    """
    paths = [f"{owner.root}/{name}" for name in NAMES]
    try:
        with _acting_as(owner):
            return tuple(_purge(owner, name, remove=remove) for name in NAMES)
    except OSError as error:
        reason = f"cannot act as {owner.name}: {error.strerror}"
        return tuple(Purge(path=path, state="refused", reason=reason) for path in paths)


@contextmanager
def _acting_as(owner: CacheOwner) -> Iterator[None]:
    """Give root's rights up for the time being: what a link or a swapped directory leads to is then the owner's."""
    uid, gid, groups = os.geteuid(), os.getegid(), os.getgroups()
    if uid == owner.uid:
        yield
        return
    # Rights are changed in all threads at once, and one that hangs in the kernel would never let that end.
    if threading.active_count() > 1:
        raise OSError(errno.EBUSY, "a look at a process that does not answer is still going on")
    os.setgroups([owner.gid])  # refused for everybody but root
    try:
        os.setegid(owner.gid)
        os.seteuid(owner.uid)
        yield
    finally:
        os.seteuid(uid)
        os.setegid(gid)
        os.setgroups(groups)


def _purge(owner: CacheOwner, name: str, *, remove: bool) -> Purge:
    path = f"{owner.root}/{name}"
    found = _Sum()
    try:
        with _opened(owner, owner.root, None) as root, _opened(owner, name, root) as cache:
            if not on_one_mount(cache, root):
                return Purge(path=path, state="refused", reason="it is a file system of its own")
            _walk(cache, found, _DEEPEST, remove=remove)
            if remove and not found.troubles:
                os.rmdir(name, dir_fd=root)
    except FileNotFoundError:
        return Purge(path=path, state="absent")
    except PermissionError as error:
        return Purge(path=path, state="refused", reason=error.strerror)
    except OSError as error:
        found.troubles.append(str(error.strerror))
    if found.troubles:
        return Purge(path=path, state="partial", files=found.files, size=found.size, reason=found.troubles[0])
    return Purge(path=path, state="purged" if remove else "planned", files=found.files, size=found.size)


@contextmanager
def _opened(owner: CacheOwner, name: str, parent: int | None) -> Iterator[int]:
    """Open a directory that must be no link and the owner's; what lies above the cache root is the caller's choice."""
    try:
        fd = os.open(name, _DIRECTORY, dir_fd=parent)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENOTDIR}:
            raise PermissionError(errno.EPERM, f"{name} is a link or no directory") from None
        raise
    try:
        if os.fstat(fd).st_uid != owner.uid:
            raise PermissionError(errno.EPERM, f"{name} does not belong to {owner.name}")
        yield fd
    finally:
        os.close(fd)


def _walk(directory: int, found: _Sum, depth: int, *, remove: bool) -> None:
    for name in os.listdir(directory):
        try:
            status = os.stat(name, dir_fd=directory, follow_symlinks=False)
            if not stat.S_ISDIR(status.st_mode):
                if remove:
                    os.unlink(name, dir_fd=directory)
                found.files += 1
                found.size += status.st_size if stat.S_ISREG(status.st_mode) else 0
                continue
            if depth == 0:
                found.troubles.append(f"{name} in it lies too deep")
                continue
            inside = os.open(name, _DIRECTORY, dir_fd=directory)
            try:
                if not on_one_mount(inside, directory):
                    found.troubles.append(f"{name} in it is another file system")
                    continue
                _walk(inside, found, depth - 1, remove=remove)
            finally:
                os.close(inside)
            if remove:
                os.rmdir(name, dir_fd=directory)
        except FileNotFoundError:
            continue  # somebody else removed it
        except OSError as error:
            found.troubles.append(f"{name} in it: {error.strerror}")
