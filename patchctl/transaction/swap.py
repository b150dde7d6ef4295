"""The steps of one edit: make the new file, keep the old one, put the one in the other's place, and put it back.

Every step walks to its directory anew and without following a link, so a parent that is swapped in between makes the
step fail. When which step is taken is not here.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Iterable
from typing import NamedTuple

from patchctl.disk import Found, NotRegularError, Root, leads_to, link_text, read_below
from patchctl.errors import TransactionError
from patchctl.model.files import EditKind, FileEdit, sha256_hex
from patchctl.model.layout import STATE_DIR, object_path
from patchctl.transaction.files import (
    Looks,
    ensure_directory,
    has_capability,
    parent_of,
    put_new,
    remove,
    sync,
    write_link,
    write_new,
)
from patchctl.transaction.journal import JournalEdit
from patchctl.transaction.names import TMP, copy_name, is_state, restored_name, temp_name, undo_path
from patchctl.transaction.opening import OpenSite, open_state_directory
from patchctl.transaction.preflight import changed_meanwhile, read_live
from patchctl.transaction.unsynced import Unsynced

_SET_ID = 0o6000
_PERMISSIONS = 0o777
_NO_HARD_LINK = frozenset({errno.EPERM, errno.EXDEV, errno.EMLINK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EACCES})


class Live(NamedTuple):
    """What is at a path: sha256 and permission bits of a regular file, or the text of a link; nothing: all None."""

    sha256: str | None
    mode: int | None
    link: str | None = None


def live_state(root: Root, path: str, links: Collection[str] = ()) -> Live:
    """Return what is at ``path``, where a link counts only if it is one of ``links``; it is not followed.

    Raises:
        NotRegularError: something else is there.
    """
    link = link_text(root, path) if links else None
    if link is not None and link in links:
        return Live(sha256=None, mode=None, link=link)
    found = read_below(root, path)
    if found is None:
        return Live(sha256=None, mode=None)
    return Live(sha256=sha256_hex(found[0]), mode=found[1].st_mode & _PERMISSIONS)


def make_directories(site: OpenSite, edit: JournalEdit) -> None:
    """Make the directories an added file needs; one that an earlier edit of the transaction made is fine."""
    for directory in reversed(edit.created):
        with parent_of(site.root, directory) as (parent, name):
            os.close(ensure_directory(parent, name, site.owner))
    if is_state(edit.path) and edit.before is None:
        os.close(open_state_directory(site, tuple(edit.path.split("/")[1:-1])))


def write_temp(
    site: OpenSite, transaction: str, index: int, edit: FileEdit, unsynced: Unsynced, new_link: str | None = None
) -> None:
    """Write the new file beside its target, with mode, owner and extended attributes of the file it replaces.

    Args:
        site: the opened site.
        transaction: its id.
        index: of the edit.
        edit: the edit.
        unsynced: takes the new file, to be brought to the disk later.
        new_link: text of the link to make instead; None: a regular file.
    """
    found = None
    if edit.kind is EditKind.MODIFY and not is_state(edit.path):
        found = read_live(site, edit)
        if found is None:
            raise changed_meanwhile(edit.path)
    with parent_of(site.root, edit.path) as (parent, _):
        looks = _looks(site, parent, edit, found)
        name = temp_name(transaction, index)
        if new_link is None:
            write_new(parent, name, edit.after or b"", looks, unsynced.add)
        else:
            write_link(parent, name, new_link, looks.owner, None if edit.link is None else edit.link.mtime_ns)


def _looks(site: OpenSite, parent: int, edit: FileEdit, found: Found | None) -> Looks:
    if found is not None:
        place = found.link_status or found.status
        return Looks(
            mode=found.status.st_mode if edit.mode is None else edit.mode,
            owner=(place.st_uid, place.st_gid),
            mtime_ns=edit.mtime_ns,
            xattrs=found.xattrs,
        )
    owner = site.owner
    if owner is not None and not is_state(edit.path):
        # Owners never come from recorded state: what is brought back, or is new, belongs to whom its neighbours do.
        status = os.fstat(parent)
        owner = (status.st_uid, status.st_gid)
    mode = 0o644 if edit.mode is None else edit.mode
    xattrs = None if edit.xattrs is None else dict(edit.xattrs)
    return Looks(mode=mode, owner=owner, mtime_ns=edit.mtime_ns, xattrs=xattrs)


def keep_undo(site: OpenSite, transaction: str, index: int, edit: FileEdit) -> None:
    """Keep the old file: a second name of its inode, or a copy beside it where hard links cannot be made."""
    found = read_live(site, edit)
    if found is None or _differs(found, edit):
        raise changed_meanwhile(edit.path)
    tmp = open_state_directory(site, (TMP, transaction))
    try:
        with parent_of(site.root, edit.path) as (parent, name):
            try:
                os.link(name, str(index), src_dir_fd=parent, dst_dir_fd=tmp, follow_symlinks=False)
            except OSError as error:
                if error.errno not in _NO_HARD_LINK:
                    raise
                _copy(parent, copy_name(transaction, index), found)
    finally:
        os.close(tmp)


def _copy(parent: int, name: str, found: Found) -> None:
    place = found.link_status or found.status
    owner = (place.st_uid, place.st_gid)
    if found.link is not None:
        write_link(parent, name, found.link, owner, place.st_mtime_ns)
        return
    looks = Looks(mode=place.st_mode, owner=owner, mtime_ns=place.st_mtime_ns, xattrs=found.xattrs)
    write_new(parent, name, found.data, looks)


def sync_names(site: OpenSite, paths: Iterable[str]) -> None:
    """Bring the directories that hold ``paths`` to the disk, each once; one that was never made is left out."""
    directories = {(site.directory_of(path), path.rpartition("/")[0]): path for path in paths}
    for path in directories.values():
        try:
            with parent_of(site.root, path) as (parent, _):
                sync(parent)
        except FileNotFoundError:
            continue


def put_in_place(site: OpenSite, transaction: str, index: int, edit: FileEdit) -> None:
    """Let the new file take the old one's name, or take the name away; the last look at the old bytes comes first."""
    _look_again(site, edit)
    with parent_of(site.root, edit.path) as (parent, name):
        if edit.kind is EditKind.ADD and not is_state(edit.path):
            _add(site, parent, temp_name(transaction, index), name, index, edit)
            return
        if edit.after is not None:
            os.replace(temp_name(transaction, index), name, src_dir_fd=parent, dst_dir_fd=parent)
            return
        os.unlink(name, dir_fd=parent)
        site.checkpoint(f"deleted:{index}")
        remove(parent, temp_name(transaction, index))


def _add(site: OpenSite, parent: int, temp: str, name: str, index: int, edit: FileEdit) -> None:
    """Give an added file its name, unless somebody made a file of that name since the last look.

    Where hard links cannot be made the name is taken with a rename, which would replace such a file: the time between
    the last look and this call is left to chance there (FAT, some FUSE and network file systems).
    """
    try:
        put_new(parent, temp, name)
    except FileExistsError:
        raise changed_meanwhile(edit.path) from None
    except OSError as error:
        if error.errno not in _NO_HARD_LINK:
            raise
        os.replace(temp, name, src_dir_fd=parent, dst_dir_fd=parent)
        return
    site.checkpoint(f"added:{index}")
    remove(parent, temp)


def _look_again(site: OpenSite, edit: FileEdit) -> None:
    """The last look: bytes and mode must be what the plan was made for."""
    try:
        found = read_live(site, edit)
    except NotRegularError:
        raise changed_meanwhile(edit.path) from None
    if (found is None) is not (edit.before is None) or (found is not None and _differs(found, edit)):
        raise changed_meanwhile(edit.path)


def _differs(found: Found, edit: FileEdit) -> bool:
    return found.data != edit.before or edit.before_mode not in {None, found.status.st_mode & _PERMISSIONS}


def has_temp(root: Root, transaction: str, index: int, path: str) -> bool:
    """Return whether the temp file of an edit waits beside its target, that is, has not taken its name.

    An added file has both names for a moment: then it has taken it.
    """
    try:
        with parent_of(root, path) as (parent, name):
            temp = os.stat(temp_name(transaction, index), dir_fd=parent, follow_symlinks=False)
            try:
                target = os.stat(name, dir_fd=parent, follow_symlinks=False)
            except FileNotFoundError:
                return True
            return (temp.st_dev, temp.st_ino) != (target.st_dev, target.st_ino)
    except FileNotFoundError:
        return False


def put_back(site: OpenSite, transaction: str, index: int, edit: JournalEdit) -> None:
    """Undo an edit whose result is live: the old inode takes its name again, or an added file goes."""
    with parent_of(site.root, edit.path) as (parent, name):
        if edit.before is None:
            remove(parent, name)
            return
        undo, copy = undo_path(transaction, index), copy_name(transaction, index)
        owner = _owner_of(parent, name)
        if _is_intact(site.root, undo, edit, owner):
            with parent_of(site.root, undo) as (source, kept):
                os.replace(kept, name, src_dir_fd=source, dst_dir_fd=parent)
            return
        if _is_intact(parent, copy, edit, owner):
            os.replace(copy, name, src_dir_fd=parent, dst_dir_fd=parent)
            return
        _put_back_from_object(site, parent, name, transaction, index, edit)


def _owner_of(parent: int, name: str) -> tuple[int, int] | None:
    try:
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return status.st_uid, status.st_gid


def _is_intact(root: Root, keep: str, edit: JournalEdit, owner: tuple[int, int] | None) -> bool:
    """Whether what was kept is the old link, or has the old bytes and nothing else that a file of state could bring in.

    That is no set-id bits, no capability, and no other owner than the new file, which was given the old one's.
    """
    if edit.link is not None:
        return link_text(root, keep) == edit.link
    try:
        found = read_below(root, keep)
    except NotRegularError:
        return False
    if found is None or sha256_hex(found[0]) != edit.before or found[1].st_mode & _SET_ID:
        return False
    with parent_of(root, keep) as (parent, name):
        return owner in {None, (found[1].st_uid, found[1].st_gid)} and not has_capability(parent, name)


def _put_back_from_object(
    site: OpenSite, parent: int, name: str, transaction: str, index: int, edit: JournalEdit
) -> None:
    """The last resort, when the kept file is lost (a copied tree): same bytes, mode and time in a new file."""
    found = None if edit.before is None else read_below(site.root, object_path(edit.before))
    if found is None or sha256_hex(found[0]) != edit.before:
        raise TransactionError(
            "original-lost",
            f"the original of {edit.path} is kept nowhere below {STATE_DIR}; the journal stays",
            hint=f"put the original of {edit.path} back by hand, then run: patchctl recover",
            path=edit.path,
        )
    owner = _owner_of(parent, name) or site.owner
    mode = 0o644 if edit.mode is None else edit.mode
    # A name of its own, for what a kill leaves half-made: the temp file's would say that the target was not replaced,
    # the copy's that this is the original already.
    made = restored_name(transaction, index)
    remove(parent, made)
    if edit.link is not None and leads_to(site.root, edit.path, edit.link, {edit.before or ""}, site.owners):
        write_link(parent, made, edit.link, owner, edit.mtime_ns)
        os.replace(made, name, src_dir_fd=parent, dst_dir_fd=parent)
        return
    write_new(parent, made, found[0], Looks(mode=mode, owner=owner, mtime_ns=edit.mtime_ns, xattrs={}))
    os.replace(made, name, src_dir_fd=parent, dst_dir_fd=parent)


def drop_temps(site: OpenSite, transaction: str, index: int, path: str) -> None:
    """Remove what an edit left beside its target."""
    try:
        with parent_of(site.root, path) as (parent, _):
            gone = [remove(parent, name_of(transaction, index)) for name_of in (temp_name, copy_name, restored_name)]
            if any(gone):
                sync(parent)
    except FileNotFoundError:
        return
