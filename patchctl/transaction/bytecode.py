"""Removes byte code compiled from a source that changed, so that no interpreter runs the old text.

By descriptor, never through a link, on the source's own file system, and only names that an interpreter gives: every
tag and optimisation level, the sourceless sibling, and the mirror below a pycache prefix. Compiling is in ``compiled``.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from patchctl.disk import Root, on_one_mount, open_parent, open_root
from patchctl.transaction.files import names_in, open_directory, parent_of, remove, sync

SUFFIX = ".py"
CACHE = "__pycache__"
_HEADER = slice(4, 8)  # of a .pyc: flags, little-endian (PEP 552)
_FLAGS = 0b11
_PERMISSIONS = 0o777
_UNCHECKED_HASH = 0b01
_LOOK = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Unchecked(NamedTuple):
    """Byte code with an unchecked hash that was removed: an interpreter would have run it without a look at the source.

    Attributes:
        path: of its source, POSIX, relative to the site.
        name: its name in ``__pycache__``.
        mode: its permission bits.
        owner: its (uid, gid).
    """

    path: str
    name: str
    mode: int
    owner: tuple[int, int]


class Purged(NamedTuple):
    """What a purge could not do, and what it took away that may be made anew.

    Attributes:
        unchecked: byte code with unchecked hashes that lay beside the source and is gone.
        errno: of the first error that left something stuck; 0: nothing is.
        stuck: files of byte code that stay and that an interpreter would run without looking at the source.
        notes: sentences about byte code that stays but is checked against the source before it runs, or may be.
    """

    stuck: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    unchecked: tuple[Unchecked, ...] = ()
    errno: int = 0


def purge(root: Root, site: str, path: str, pycache_prefix: str | None, settle: Callable[[int], None] = sync) -> Purged:
    """Remove the byte code of source ``path``.

    Args:
        root: where ``path`` starts.
        site: the absolute directory that it is relative to, which the mirror's names are made of.
        path: POSIX, relative to the site; anything but a ``.py`` file has no byte code.
        pycache_prefix: absolute directory of the mirror; None: there is none.
        settle: gets the descriptor of each directory that names went from, to bring it to the disk now or later.
    """
    if not path.endswith(SUFFIX):
        return Purged()
    stem = path.rpartition("/")[2].removesuffix(SUFFIX)
    stuck: list[tuple[int, str]] = []
    notes: list[str] = []
    unchecked: list[Unchecked] = []
    try:
        with parent_of(root, path) as (parent, _):
            _purge_names(parent, [f"{stem}.pyc"], path, stuck, notes, settle)
            with _cache(parent, path, notes) as cache:
                if cache is not None:
                    unchecked += _unchecked(cache, _compiled(cache, stem), path)
                    _purge_names(cache, _compiled(cache, stem), path, stuck, notes, settle)
    except FileNotFoundError:
        pass  # its directory is gone, and the byte code with it
    if pycache_prefix is not None:
        _purge_mirror(pycache_prefix, site, path, stem, stuck, notes, settle)
    return Purged(
        stuck=tuple(words for _, words in stuck),
        notes=tuple(notes),
        unchecked=() if stuck else tuple(unchecked),
        errno=stuck[0][0] if stuck else 0,
    )


def _unchecked(cache: int, names: list[str], path: str) -> Iterator[Unchecked]:
    for name in names:
        try:
            status = os.stat(name, dir_fd=cache, follow_symlinks=False)
        except FileNotFoundError:
            continue
        if stat.S_ISREG(status.st_mode) and status.st_size > _HEADER.stop and _runs_unchecked(cache, name):
            mode = stat.S_IMODE(status.st_mode) & _PERMISSIONS
            yield Unchecked(path=path, name=name, mode=mode, owner=(status.st_uid, status.st_gid))


def remove_empty_cache(directory: int) -> None:
    """Remove ``__pycache__`` below ``directory`` when nothing is left in it."""
    try:
        os.rmdir(CACHE, dir_fd=directory)
    except OSError:
        return


def _compiled(cache: int, stem: str) -> list[str]:
    """Names in ``cache`` that some interpreter compiled from ``stem``: ``stem.TAG.pyc``, ``stem.TAG.opt-N.pyc``."""
    found = []
    for name in names_in(cache):
        if not (name.startswith(f"{stem}.") and name.endswith(".pyc")):
            continue
        tag, _, level = name[len(stem) + 1 : -len(".pyc")].partition(".")
        if tag and (not level or (level.startswith("opt-") and "." not in level)):
            found.append(name)
    return found


@contextmanager
def _cache(parent: int, path: str, notes: list[str]) -> Iterator[int | None]:
    try:
        cache = open_directory(parent, CACHE)
    except FileNotFoundError:
        yield None
        return
    except OSError:
        notes.append(f"byte code of {path} was left alone: {CACHE} beside it is a link or no directory")
        yield None
        return
    try:
        if not on_one_mount(cache, parent):
            notes.append(f"byte code of {path} was left alone: {CACHE} beside it is another file system")
            yield None
        else:
            yield cache
    finally:
        os.close(cache)


def _purge_names(
    directory: int,
    names: list[str],
    path: str,
    stuck: list[tuple[int, str]],
    notes: list[str],
    settle: Callable[[int], None],
) -> None:
    removed = False
    for name in names:
        try:
            removed |= remove(directory, name)
        except OSError as error:
            if _runs_unchecked(directory, name):
                stuck.append((error.errno or 0, f"{name}, byte code of {path}, cannot be removed: {error.strerror}"))
            else:
                notes.append(f"{name}, byte code of {path}, stays ({error.strerror}); the next import renews it")
    if removed:
        settle(directory)


def _runs_unchecked(directory: int, name: str) -> bool:
    """Whether an interpreter would run it without comparing it to the source; unreadable counts as such."""
    try:
        fd = os.open(name, _LOOK, dir_fd=directory)
        try:
            flags = int.from_bytes(os.read(fd, _HEADER.stop)[_HEADER], "little")
        finally:
            os.close(fd)
    except IsADirectoryError:
        return False
    except OSError:
        return True
    return flags & _FLAGS == _UNCHECKED_HASH


def _purge_mirror(
    prefix: str,
    site: str,
    path: str,
    stem: str,
    stuck: list[tuple[int, str]],
    notes: list[str],
    settle: Callable[[int], None],
) -> None:
    """The mirror of ``/site/pkg/mod.py`` is ``PREFIX/site/pkg/mod.TAG.pyc``; a linked site may be spelt either way."""
    try:
        top = open_root(prefix)
    except OSError:
        return  # a prefix that does not exist holds nothing
    try:
        for spelling in dict.fromkeys((site, os.path.realpath(site))):
            directory = f"{spelling.strip('/')}/{path}".rpartition("/")[0]
            try:
                mirror, _ = open_parent(top, f"{directory}/{stem}")
            except FileNotFoundError:
                continue
            except OSError:
                notes.append(f"byte code of {path} below {prefix} was left alone: a link is on its way")
                continue
            try:
                if on_one_mount(mirror, top):
                    _purge_names(mirror, _compiled(mirror, stem), path, stuck, notes, settle)
                else:
                    notes.append(f"byte code of {path} below {prefix} was left alone: another file system")
            finally:
                os.close(mirror)
    finally:
        os.close(top)
