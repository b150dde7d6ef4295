"""The steps of one edit: make the new file, keep the old one, put the one in the other's place, and put it back.

Every step walks to its directory anew and without following a link, so a parent that is swapped in between makes the
step fail. When which step is taken is not here.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable

from patchctl.disk import NotRegularError, read_below
from patchctl.errors import TransactionError
from patchctl.model.files import EditKind, FileEdit, sha256_hex
from patchctl.model.layout import STATE_DIR, object_path
from patchctl.transaction.files import (
    Looks,
    ensure_directory,
    exists,
    parent_of,
    read_xattrs,
    remove,
    sync,
    write_new,
)
from patchctl.transaction.journal import JournalEdit
from patchctl.transaction.names import OBJECTS, TMP, copy_name, is_state, restored_name, temp_name, undo_path
from patchctl.transaction.opening import OpenSite, open_state_directory
from patchctl.transaction.preflight import changed_meanwhile
from patchctl.transaction.unsynced import Unsynced

_SET_ID = 0o6000
_PERMISSIONS = 0o777
_NO_HARD_LINK = frozenset({errno.EPERM, errno.EXDEV, errno.EMLINK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EACCES})


def live_state(root: int, path: str) -> tuple[str | None, int | None]:
    """Return sha256 and permission bits of the regular file at ``path``; None both when nothing is there.

    Raises:
        NotRegularError: something else is there.
    """
    found = read_below(root, path)
    return (None, None) if found is None else (sha256_hex(found[0]), found[1].st_mode & _PERMISSIONS)


def write_object(site: OpenSite, transaction: str, data: bytes, unsynced: Unsynced) -> str | None:
    """Write ``data`` to be kept under its hash, which is returned; None: it is there and intact, or written already.

    :func:`place_objects` lets it take its name.
    """
    sha256 = sha256_hex(data)
    try:
        if live_state(site.root, object_path(sha256))[0] == sha256:
            return None
    except NotRegularError:
        pass  # replaced, as a damaged one is; a directory in its place makes that fail
    tmp = open_state_directory(site, (TMP, transaction))
    try:
        if exists(tmp, sha256):
            return None
        write_new(tmp, sha256, data, site.looks, unsynced.add)
    finally:
        os.close(tmp)
    return sha256


def place_objects(site: OpenSite, transaction: str, objects: Iterable[str]) -> None:
    """Let objects take their names and bring these to the disk, once all are there whole.

    Args:
        site: the opened site.
        transaction: whose tmp directory holds them.
        objects: hashes of what :func:`write_object` wrote, and what is on the disk.
    """
    with Unsynced() as directories:
        tmp = open_state_directory(site, (TMP, transaction))
        try:
            for sha256 in sorted(objects):
                target = open_state_directory(site, (OBJECTS, sha256[:2]), directories.add)
                try:
                    os.replace(sha256, sha256, src_dir_fd=tmp, dst_dir_fd=target)
                    directories.add(target)
                finally:
                    os.close(target)
        finally:
            os.close(tmp)
        directories.settle()


def make_directories(site: OpenSite, edit: JournalEdit) -> None:
    """Make the directories an added file needs; one that an earlier edit of the transaction made is fine."""
    for directory in reversed(edit.created):
        with parent_of(site.root, directory) as (parent, name):
            os.close(ensure_directory(parent, name, site.owner))
    if is_state(edit.path) and edit.before is None:
        os.close(open_state_directory(site, tuple(edit.path.split("/")[1:-1])))


def write_temp(site: OpenSite, transaction: str, index: int, edit: FileEdit, unsynced: Unsynced) -> None:
    """Write the new file beside its target, with mode, owner and extended attributes of the file it replaces."""
    with parent_of(site.root, edit.path) as (parent, name):
        looks = _looks(site, parent, name, edit)
        write_new(parent, temp_name(transaction, index), edit.after or b"", looks, unsynced.add)


def _looks(site: OpenSite, parent: int, name: str, edit: FileEdit) -> Looks:
    if edit.kind is not EditKind.MODIFY or is_state(edit.path):
        mode = 0o644 if edit.mode is None else edit.mode
        return Looks(mode=mode, owner=site.owner, mtime_ns=edit.mtime_ns)
    old = os.stat(name, dir_fd=parent, follow_symlinks=False)
    return Looks(
        mode=old.st_mode if edit.mode is None else edit.mode,
        owner=(old.st_uid, old.st_gid),
        mtime_ns=edit.mtime_ns,
        xattrs=read_xattrs(parent, name),
    )


def keep_undo(site: OpenSite, transaction: str, index: int, edit: FileEdit) -> None:
    """Keep the old file: a second name of its inode, or a copy beside it where hard links cannot be made."""
    found = read_below(site.root, edit.path)
    if found is None or _differs(found, edit):
        raise changed_meanwhile(edit.path)
    data, status = found
    tmp = open_state_directory(site, (TMP, transaction))
    try:
        with parent_of(site.root, edit.path) as (parent, name):
            try:
                os.link(name, str(index), src_dir_fd=parent, dst_dir_fd=tmp, follow_symlinks=False)
            except OSError as error:
                if error.errno not in _NO_HARD_LINK:
                    raise
                looks = Looks(
                    mode=status.st_mode,
                    owner=(status.st_uid, status.st_gid),
                    mtime_ns=status.st_mtime_ns,
                    xattrs=read_xattrs(parent, name),
                )
                write_new(parent, copy_name(transaction, index), data, looks)
    finally:
        os.close(tmp)


def sync_names(site: OpenSite, paths: Iterable[str]) -> None:
    """Bring the directories that hold ``paths`` to the disk, each once; one that was never made is left out."""
    directories = dict.fromkeys(path.rpartition("/")[0] for path in paths)
    for directory in directories:
        try:
            with parent_of(site.root, f"{directory}/." if directory else ".") as (parent, _):
                sync(parent)
        except FileNotFoundError:
            continue


def put_in_place(site: OpenSite, transaction: str, index: int, edit: FileEdit) -> None:
    """Let the new file take the old one's name, or take the name away; the last look at the old bytes comes first."""
    _look_again(site, edit)
    with parent_of(site.root, edit.path) as (parent, name):
        if edit.after is not None:
            os.replace(temp_name(transaction, index), name, src_dir_fd=parent, dst_dir_fd=parent)
            return
        os.unlink(name, dir_fd=parent)
        site.checkpoint(f"deleted:{index}")
        remove(parent, temp_name(transaction, index))


def _look_again(site: OpenSite, edit: FileEdit) -> None:
    """The last look: bytes and mode must be what the plan was made for."""
    try:
        found = read_below(site.root, edit.path)
    except NotRegularError:
        raise changed_meanwhile(edit.path) from None
    if (found is None) is not (edit.before is None) or (found is not None and _differs(found, edit)):
        raise changed_meanwhile(edit.path)


def _differs(found: tuple[bytes, os.stat_result], edit: FileEdit) -> bool:
    data, status = found
    return data != edit.before or edit.before_mode not in {None, status.st_mode & _PERMISSIONS}


def has_temp(root: int, transaction: str, index: int, path: str) -> bool:
    """Return whether the temp file of an edit is still there, that is, has not replaced its target."""
    try:
        with parent_of(root, path) as (parent, _):
            return exists(parent, temp_name(transaction, index))
    except FileNotFoundError:
        return False


def put_back(site: OpenSite, transaction: str, index: int, edit: JournalEdit) -> None:
    """Undo an edit whose result is live: the old inode takes its name again, or an added file goes."""
    with parent_of(site.root, edit.path) as (parent, name):
        if edit.before is None:
            remove(parent, name)
            return
        for keep in (undo_path(transaction, index), _beside(edit.path, copy_name(transaction, index))):
            if _is_intact(site.root, keep, edit):
                with parent_of(site.root, keep) as (source, kept):
                    os.replace(kept, name, src_dir_fd=source, dst_dir_fd=parent)
                return
        _put_back_from_object(site, parent, name, transaction, index, edit)


def _beside(path: str, name: str) -> str:
    directory, slash, _ = path.rpartition("/")
    return f"{directory}{slash}{name}"


def _is_intact(root: int, keep: str, edit: JournalEdit) -> bool:
    """Whether a kept file has the old bytes and no set-id bits; state is not trusted for either."""
    try:
        found = read_below(root, keep)
    except NotRegularError:
        return False
    return found is not None and sha256_hex(found[0]) == edit.before and not found[1].st_mode & _SET_ID


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
    try:
        live = os.stat(name, dir_fd=parent, follow_symlinks=False)
        owner: tuple[int, int] | None = (live.st_uid, live.st_gid)
    except FileNotFoundError:
        owner = site.owner
    mode = 0o644 if edit.mode is None else edit.mode
    # A name of its own, for what a kill leaves half-made: the temp file's would say that the target was not replaced,
    # the copy's that this is the original already.
    made = restored_name(transaction, index)
    remove(parent, made)
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
