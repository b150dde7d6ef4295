"""Whom a writer takes a site from: looks at who else may change it and its state.

Root does what the state says. Whoever could have written that state would have root write what he likes, where he
likes; so root works only where root alone has a say. Anybody else takes state from himself, from root and from the
site's owner. Nothing is opened for writing here. Directories above the site are not looked at: their owner could put
another site there, but only one that is root's.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from patchctl.disk import NotRegularError, open_root
from patchctl.disk.others import ROOT_ALONE, Doubt, doubt_about, user_name
from patchctl.errors import PatchctlError, UntrustedError
from patchctl.model.layout import STATE_DIR, is_transaction_id
from patchctl.model.shell import shell_line, shell_word
from patchctl.transaction.files import names_in, open_directory
from patchctl.transaction.names import CONTENT, TMP

_CODE = "untrusted-site"
_DEEPEST = 3
"""Directories below one of ``CONTENT``; ours have two at most."""


def refuse_untrusted(
    site: str,
    grafts: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Refuse a site that another user could have prepared; a look, nothing is made.

    The same goes for its state, and for the directories outside the site that are to be edited and the packages in
    them. A change that would be refused for it is so before anything is planned, and a dry run too.

    Args:
        site: absolute.
        grafts: top-level names that lie outside the site -> the absolute directory that holds them.

    Raises:
        UntrustedError: ``untrusted-site``.
    """
    try:
        root = open_root(site)
    except OSError:
        return  # whoever needs it will say so
    try:
        refuse_site(root, site)
        try:
            state = open_directory(root, STATE_DIR)
        except FileNotFoundError:
            pass
        except NotRegularError:
            raise no_directory(f"{site}/{STATE_DIR}") from None
        else:
            try:
                refuse_state(state, f"{site}/{STATE_DIR}", os.fstat(root).st_uid)
            finally:
                os.close(state)
    finally:
        os.close(root)
    for top, directory in grafts.items():
        try:
            fd = open_root(directory)
        except OSError:
            continue
        try:
            refuse_graft(fd, directory, top)
        finally:
            os.close(fd)


def refuse_site(root: int, site: str) -> None:
    """As root, refuse an open site that is somebody else's, or that others may write to; not for its group's sake.

    Raises:
        UntrustedError: ``untrusted-site``.
    """
    if os.geteuid() != 0:
        return
    doubt = doubt_about(os.fstat(root), site, place=root, group=True)
    if doubt is None:
        return
    mended = f"chmod {'o-w' if doubt.who == 'everybody' else 'g-w'} {shell_word(site)}"
    error = _refusal(doubt, mended if doubt.uid is None else f"sudo -u {shell_word(_login(doubt.uid))} patchctl")
    if doubt.uid is not None:
        error.login, error.site = _login(doubt.uid), site
    raise error


def refuse_graft(fd: int, directory: str, top: str) -> None:
    """The same with the directory that holds an editable install's package, open as ``fd``, and with the package."""
    if os.geteuid() != 0:
        return
    package = f"{directory}/{top}"
    for status, path in ((os.fstat(fd), directory), (os.stat(top, dir_fd=fd, follow_symlinks=False), package)):
        doubt = doubt_about(status, path, place=path, group=True)
        if doubt is not None:
            both = shell_line((directory, package))
            raise _refusal(doubt, f"chown root: {both}" if doubt.uid is not None else f"chmod go-w {both}")


def refuse_state(state: int, path: str, site_uid: int) -> None:
    """Refuse a state directory, open as ``state``, of which anything is not as we leave it.

    As root: anything in it that another user owns or may write to, but for the old files of an open transaction, which
    belong to whom the files of the site do. Otherwise: what belongs to a stranger.

    Raises:
        UntrustedError: ``untrusted-site``.
    """
    as_root = os.geteuid() == 0
    trusted = ROOT_ALONE if as_root else frozenset({0, os.geteuid(), site_uid})
    for status, where in ((os.fstat(state), path), *_content(state, path)):
        doubt: Doubt | None
        if as_root:
            doubt = doubt_about(status, where, trusted, place=where, group=False)
        else:
            doubt = None if status.st_uid in trusted else Doubt(path=where, uid=status.st_uid)
        if doubt is not None:
            raise _refusal(doubt, _mended(doubt, path))


def no_directory(path: str) -> PatchctlError:
    """Return the refusal of a link, or a file, in the place of the state directory (absolute)."""
    hint = f"mv {shell_word(path)} {shell_word(f'{path}.untrusted')}"
    return PatchctlError(_CODE, f"{path} is a link or no directory; nothing was touched", hint=hint, path=STATE_DIR)


def _mended(doubt: Doubt, state: str) -> str:
    """State of a stranger is not believed: what is in the files can be recorded again."""
    if doubt.uid is None:
        return f"chmod -R go-w {shell_word(state)}"
    return f"mv {shell_word(state)} {shell_word(f'{state}.untrusted')} && patchctl adopt"


def _content(state: int, path: str) -> Iterator[tuple[os.stat_result, str]]:
    """Yield everything below the state directory that has a name of ours, and what lies below that."""
    for name in CONTENT:
        try:
            status = os.stat(name, dir_fd=state, follow_symlinks=False)
        except FileNotFoundError:
            continue
        yield status, f"{path}/{name}"
        if stat.S_ISDIR(status.st_mode):
            yield from _below(state, name, path, depth=_DEEPEST)


def _below(parent: int, name: str, path: str, *, depth: int) -> Iterator[tuple[os.stat_result, str]]:
    try:
        directory = open_directory(parent, name)
    except OSError:
        return  # gone meanwhile, or closed to us: then nothing in it is read either
    is_old_files = is_transaction_id(name) and path.endswith(f"/{STATE_DIR}/{TMP}")
    try:
        for inside in names_in(directory):
            try:
                status = os.stat(inside, dir_fd=directory, follow_symlinks=False)
            except FileNotFoundError:
                continue
            is_directory = stat.S_ISDIR(status.st_mode)
            if is_directory or not is_old_files:
                yield status, f"{path}/{name}/{inside}"
            if is_directory and depth:
                yield from _below(directory, inside, f"{path}/{name}", depth=depth - 1)
    finally:
        os.close(directory)


def _refusal(doubt: Doubt, hint: str) -> UntrustedError:
    what = f"belongs to {_called(doubt.uid)}" if doubt.uid is not None else f"is writable by {doubt.who}"
    whom = "root" if os.geteuid() == 0 else "you"
    message = f"{doubt.path} {what}, who could make {whom} write anything; nothing was touched"
    return UntrustedError(_CODE, message, hint=hint)


def _called(uid: int) -> str:
    return user_name(uid) or f"uid {uid}"


def _login(uid: int) -> str:
    """The user's name, or ``#`` and his uid where he has none."""
    return user_name(uid) or f"#{uid}"
