"""A site opened for writing: its descriptors, whom it is trusted to belong to, and its state directory.

The lock is in ``lock``; what is written below the site is decided elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import MappingProxyType
from typing import NamedTuple

from patchctl.disk import NotRegularError, Roots, open_root, read_below
from patchctl.errors import PatchctlError, TargetError
from patchctl.model.layout import LAYOUT, STATE_DIR, is_transaction_id
from patchctl.transaction.files import (
    DIRECTORY_MODE,
    Looks,
    ensure_directory,
    names_in,
    open_directory,
    parent_of,
    remove,
    remove_directory,
    sync,
    write_new,
)
from patchctl.transaction.names import FORMAT, NEW, TMP, is_tmp_name
from patchctl.transaction.trust import no_directory, refuse_graft, refuse_site, refuse_state

_FORMAT_LIMIT = 64


class OpenSite(NamedTuple):
    """A site whose lock is held.

    Attributes:
        site: its absolute path, for messages, mount points and byte code.
        root: descriptor of the site directory, and of those that hold the packages of editable installs.
        state: descriptor of its ``.patchctl``.
        owner: (uid, gid) that new files of our own get; None: whatever the system gives.
        pycache_prefix: the target's PYTHONPYCACHEPREFIX, absolute; None: it has none.
        checkpoint: called with the name of every step before the step.
        grafts: top-level names that lie outside the site -> the absolute directory that holds them.
    """

    site: str
    root: Roots
    state: int
    owner: tuple[int, int] | None
    pycache_prefix: str | None
    checkpoint: Callable[[str], None]
    grafts: Mapping[str, str] = MappingProxyType({})

    def directory_of(self, path: str) -> str:
        """Return the absolute directory that ``path`` is relative to."""
        return self.grafts.get(path.partition("/")[0], self.site)

    @property
    def owners(self) -> tuple[int, ...]:
        """Whose files a link may lead to, besides root and the caller: the site's owner could change it anyway."""
        return (os.fstat(self.root.site).st_uid,)

    @property
    def looks(self) -> Looks:
        """How a file of patchctl's own state looks: readable by everyone, because no secrets are in it."""
        return Looks(owner=self.owner)


@contextmanager
def opened(
    site: str,
    pycache_prefix: str | None,
    checkpoint: Callable[[str], None],
    grafts: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[OpenSite]:
    """Open ``site`` and its state directory, which is made when it is not there; and the directories of ``grafts``.

    Raises:
        TargetError: there is no such directory.
        PatchctlError: ``untrusted-site`` as root where another user could forge what is read here, ``newer-state``.
        OSError: the system refused.
    """
    with ExitStack() as descriptors:
        try:
            root = open_root(site)
        except (FileNotFoundError, NotADirectoryError):
            raise TargetError("no-site", f"{site} is not a directory") from None
        descriptors.callback(os.close, root)
        status = os.fstat(root)
        refuse_site(root, site)
        roots = Roots(site=root, grafts=_open_grafts(descriptors, grafts))
        # Only root can give files away; everyone else owns what he makes.
        owner = (status.st_uid, status.st_gid) if os.geteuid() == 0 else None
        state = _open_state(root, site, owner)
        descriptors.callback(os.close, state)
        _refuse_newer(root)
        yield OpenSite(
            site=site,
            root=roots,
            state=state,
            owner=owner,
            pycache_prefix=pycache_prefix,
            checkpoint=checkpoint,
            grafts=grafts,
        )


def _open_grafts(descriptors: ExitStack, grafts: Mapping[str, str]) -> dict[str, int]:
    """Open the directories that hold an editable install's packages; as root, both must be trusted."""
    opened_grafts = {}
    for top, directory in grafts.items():
        try:
            fd = open_root(directory)
            descriptors.callback(os.close, fd)
            os.stat(top, dir_fd=fd, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            message = f"{directory}, where the editable install has {top}, is not there any more"
            raise TargetError("no-source-tree", message, hint="install it again") from None
        refuse_graft(fd, directory, top)
        opened_grafts[top] = fd
    return opened_grafts


def _open_state(root: int, site: str, owner: tuple[int, int] | None) -> int:
    path = f"{site}/{STATE_DIR}"
    try:
        state = ensure_directory(root, STATE_DIR, owner)
    except NotRegularError:
        raise no_directory(path) from None
    try:
        refuse_state(state, path, os.fstat(root).st_uid)
        status = os.fstat(state)
        # What a kill between mkdir and chmod leaves under umask 077: others must be able to read the state.
        if status.st_mode & DIRECTORY_MODE != DIRECTORY_MODE and status.st_uid == os.geteuid():
            os.fchmod(state, DIRECTORY_MODE)
    except BaseException:
        os.close(state)
        raise
    return state


def _refuse_newer(root: int) -> None:
    found = read_below(root, f"{STATE_DIR}/{FORMAT}", limit=_FORMAT_LIMIT)
    if found is None:
        return
    if found[0].strip() != LAYOUT:
        raise PatchctlError(
            "newer-state",
            f"{STATE_DIR}/{FORMAT} names a layout this patchctl does not know",
            hint="use the patchctl version that wrote it, or a newer one",
            path=f"{STATE_DIR}/{FORMAT}",
        )


def put_state_file(site: OpenSite, transaction: str, directory: tuple[str, ...], name: str, data: bytes) -> None:
    """Put a file below ``.patchctl`` in one step: it is there whole, on the disk, or not at all.

    Args:
        site: the opened site.
        transaction: id whose tmp directory takes the file while it is made.
        directory: directories below ``.patchctl`` that hold it; made when missing.
        name: its name; a file of that name is replaced.
        data: its bytes.
    """
    tmp = open_state_directory(site, (TMP, transaction))
    try:
        write_new(tmp, NEW, data, site.looks)
        target = open_state_directory(site, directory)
        try:
            os.replace(NEW, name, src_dir_fd=tmp, dst_dir_fd=target)
            sync(target)
        finally:
            os.close(target)
    finally:
        os.close(tmp)


def open_state_directory(site: OpenSite, parts: tuple[str, ...], later: Callable[[int], None] | None = None) -> int:
    """Return a descriptor of a directory below ``.patchctl``, made when it is not there.

    ``later`` puts the wait for the disk off, as of :func:`ensure_directory`.
    """
    current = os.dup(site.state)
    for part in parts:
        try:
            following = ensure_directory(current, part, site.owner, later)
        finally:
            os.close(current)
        current = following
        status = os.fstat(current)
        # What a kill between mkdir and chmod leaves under umask 077: others must be able to read the state.
        if status.st_mode & DIRECTORY_MODE != DIRECTORY_MODE and status.st_uid == os.geteuid():
            os.fchmod(current, DIRECTORY_MODE)
    return current


def write_layout(site: OpenSite, transaction: str) -> None:
    """Write the layout's version when it is not there yet; ``transaction`` lends its tmp directory."""
    if read_below(site.root, f"{STATE_DIR}/{FORMAT}", limit=_FORMAT_LIMIT) is None:
        put_state_file(site, transaction, (), FORMAT, LAYOUT + b"\n")


def sweep(site: OpenSite) -> None:
    """Remove what dead transactions left below ``tmp``; only names that we give, never through a link.

    The caller holds the lock and no journal is open, so nobody needs any of it.
    """
    try:
        tmp = open_directory(site.state, TMP)
    except FileNotFoundError:
        return
    try:
        for transaction in filter(is_transaction_id, names_in(tmp)):
            drop_tmp(site, transaction)
    finally:
        os.close(tmp)
    remove_directory(site.state, TMP)


def drop_tmp(site: OpenSite, transaction: str) -> None:
    """Remove a transaction's directory below ``tmp`` and what it holds."""
    try:
        with parent_of(site.root, f"{STATE_DIR}/{TMP}/{transaction}") as (tmp, name):
            try:
                held = open_directory(tmp, name)
            except NotRegularError:
                return  # nothing we made, so nothing of ours is in it
            try:
                for item in filter(is_tmp_name, names_in(held)):
                    remove(held, item)
            finally:
                os.close(held)
            remove_directory(tmp, name)
    except FileNotFoundError:
        return
