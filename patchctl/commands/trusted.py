"""Whom a writing command takes its orders from, besides its command line: registry, lock file and candidate.

Root installs what a registry and a lock file say, so that whoever may change them installs as root; and takes out what
a candidate proves fixed. Fine are files of root, and of the user who had root called with sudo: what he says on the
command line counts as well.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from patchctl.commands.author import sudo_uid
from patchctl.commands.given import absolute
from patchctl.commands.place import Place
from patchctl.disk import open_root, walk_below
from patchctl.disk.others import ROOT_ALONE, Doubt, doubt_about, user_name
from patchctl.errors import UntrustedError
from patchctl.model import Target
from patchctl.model.shell import shell_word

_LEFT_OUT = (".", "_")
"""What begins so in a registry is not read."""
_INSTALL = "install anything"
_TAKE_OUT = "take out patches that are still needed"


def with_owners(place: Place) -> Place:
    """Return ``place`` for a verb that writes: as root, nothing of a registry is read that others may change.

    For what is read under the lock. :func:`refuse_registry` looks before, and says in words what to do; but whoever
    owns a directory above a registry may put another one under its path while the command waits.
    """
    return place._replace(owners=callers(place)) if os.geteuid() == 0 else place


def refuse_registry(place: Place) -> None:
    """As root, refuse a registry that others may change.

    Raises:
        UntrustedError: ``untrusted-registry``.
    """
    if os.geteuid() != 0:
        return
    trusted = callers(place)
    for folder in place.registries:
        path = absolute(folder, place.cwd)
        for doubt in _doubts_in(path, trusted):
            quoted = shell_word(path)
            hint = f"chown -Rh root: {quoted} && chmod -R go-w {quoted}"
            raise _refusal("untrusted-registry", f"the registry {path}", doubt, hint, _INSTALL)


def refuse_lock_file(place: Place, path: str, doubt: Doubt | None) -> None:
    """As root, refuse a lock file that others may change.

    Args:
        place: where.
        path: of it, as it was given.
        doubt: who else may change the file that was read; it may be another one by now.

    Raises:
        UntrustedError: ``untrusted-lock-file``.
    """
    if os.geteuid() != 0 or doubt is None:
        return
    whole = absolute(path, place.cwd)
    quoted = shell_word(whole)
    hint = f"chown root: {quoted}" if doubt.uid is not None else f"chmod go-w {quoted}"
    raise _refusal("untrusted-lock-file", f"the lock file {whole}", doubt._replace(path=whole), hint, _INSTALL)


def refuse_wheel(place: Place, path: str) -> Callable[[int], None] | None:
    """Return what refuses, as root, a candidate wheel that others may change, given its descriptor.

    What is open is judged: another one may lie at the path by then. None: whoever is not root may be led by anybody.

    Raises:
        UntrustedError: ``untrusted-candidate``, when it is called.
    """
    if os.geteuid() != 0:
        return None
    whole = absolute(path, place.cwd)

    def look(fd: int) -> None:
        doubt = doubt_about(os.fstat(fd), whole, callers(place), place=fd, group=False)
        if doubt is not None:
            quoted = shell_word(whole)
            hint = f"chown root: {quoted}" if doubt.uid is not None else f"chmod go-w {quoted}"
            raise _refusal("untrusted-candidate", f"the wheel {whole}", doubt, hint, _TAKE_OUT)

    return look


def refuse_tree(place: Place, target: Target) -> None:
    """As root, refuse a candidate that is installed or extracted, and that others may change.

    Raises:
        UntrustedError: ``untrusted-candidate``.
    """
    if os.geteuid() != 0:
        return
    packages = (f"{where}/{top}" for it in target.distributions.values() for top, where in it.grafts.items())
    for path in (target.site, *packages):
        for doubt in _doubts_in(path, callers(place), but=()):
            quoted = shell_word(path)
            hint = f"chown -Rh root: {quoted} && chmod -R go-w {quoted}"
            raise _refusal("untrusted-candidate", f"the candidate {path}", doubt, hint, _TAKE_OUT)


def callers(place: Place) -> frozenset[int]:
    """Return root's uid, and that of whoever had it called; only he could have set the variable otherwise."""
    caller = sudo_uid(place.environ)
    return ROOT_ALONE if caller is None else ROOT_ALONE | {caller}


def _doubts_in(path: str, trusted: frozenset[int], but: tuple[str, ...] = _LEFT_OUT) -> Iterator[Doubt]:
    """Look at whatever may be read below a directory; a link there is judged when it is read."""
    try:
        root = open_root(path)
    except OSError:
        return
    try:
        top = doubt_about(os.fstat(root), path, trusted, place=root, group=False)
        if top is not None:
            yield top
        for directory, names, files, fd in walk_below(root, "."):
            names[:] = [name for name in names if not name.startswith(but)]
            for name in (*names, *(name for name in files if not name.startswith(but))):
                where = os.path.normpath(f"{path}/{directory}/{name}")
                status = os.stat(name, dir_fd=fd, follow_symlinks=False)
                doubt = doubt_about(status, where, trusted, place=where, group=False)
                if doubt is not None:
                    yield doubt
    except OSError:
        return  # it changes at this moment, and whoever reads it will say so
    finally:
        os.close(root)


def _refusal(code: str, what: str, doubt: Doubt, hint: str, harm: str) -> UntrustedError:
    whose = f"belongs to {user_name(doubt.uid) or f'uid {doubt.uid}'}" if doubt.uid is not None else ""
    why = f"{doubt.path} {whose or f'is writable by {doubt.who}'}, who could have root {harm}"
    message = f"{what} is not root's alone: {why}; nothing was touched: read it before you make it root's"
    return UntrustedError(code, message, hint=hint)
