"""Looks, before anything is written, whether every edit can be done: refusing now costs nothing.

Everything here is read-only but for a nameless probe file in each directory. What a plan may contain is not decided
here, only whether this site lets it happen.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass

from patchctl.disk import (
    Found,
    NotRegularError,
    Root,
    Surroundings,
    compiled_twin,
    leads_to,
    mount_points,
    open_parent,
    open_root,
    read_linked,
    read_whole,
    winners,
)
from patchctl.errors import RefusedError
from patchctl.model.files import EditKind, FileEdit, sha256_hex
from patchctl.model.layout import LEDGER_PATH
from patchctl.transaction.bytecode import SUFFIX
from patchctl.transaction.causes import remedy
from patchctl.transaction.files import names_in, parent_of, remove
from patchctl.transaction.journal import JournalEdit
from patchctl.transaction.names import PROBE, edit_problem, is_state
from patchctl.transaction.opening import OpenSite

_PERMISSIONS = 0o777
_SPARE_BYTES = 1 << 20
_LARGEST = 64 << 20
"""A file that could not be read back could not be reverted; see ``disk.read_below``."""
_NO_NAMELESS = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT})


@dataclass(slots=True)
class _Room:
    """Bytes needed and to be had on one file system."""

    free: int
    needed: int = _SPARE_BYTES


def missing_directories(site: str, path: str) -> tuple[str, ...]:
    """Return the directories an addition of ``path`` would have to make, deepest first. Reads only.

    Args:
        site: absolute path of the site directory.
        path: POSIX, relative to the site.

    Raises:
        RefusedError: ``unsafe-path``, or ``not-regular`` when a link or a file is on the way.
    """
    _check_path(path)
    root = open_root(site)
    try:
        return _missing(root, path)
    except NotRegularError as error:
        raise _not_regular(path, error) from None
    finally:
        os.close(root)


def inspect(site: OpenSite, edits: Sequence[FileEdit], *, kept: Sequence[bytes] = ()) -> tuple[JournalEdit, ...]:
    """Return the edits as the journal will name them, or refuse; ``kept`` are objects that need room too.

    Raises:
        RefusedError: ``unsafe-path``, ``not-regular``, ``changed-meanwhile``, ``compiled-twin``, ``shadowed``,
            ``bind-mount``, ``foreign-owner``, ``not-writable`` or ``no-space``; nothing was written.
        ValueError: the edits are not a transaction: the ledger is not last, a path stands twice, nothing changes.
    """
    _check_whole(edits)
    mounts = mount_points()
    bases = {directory: os.path.realpath(directory) for directory in (site.site, *site.grafts.values())}
    rooms: dict[int, _Room] = {}
    probed: set[tuple[int, int]] = set()
    facts = []
    for edit in edits:
        _check_path(edit.path)
        if len(edit.after or b"") > _LARGEST:
            raise RefusedError("too-large", f"{edit.path} would be larger than {_LARGEST} bytes", path=edit.path)
        if f"{bases[site.directory_of(edit.path)]}/{edit.path}" in mounts:
            raise RefusedError(
                "bind-mount",
                f"{edit.path} is a mount point of its own and cannot be replaced",
                hint="patch the file that is mounted there, or take the mount away",
                path=edit.path,
            )
        try:
            facts.append(_inspect_edit(site, edit, rooms, probed))
        except NotRegularError as error:
            raise _not_regular(edit.path, error) from None
        except OSError as error:
            raise _not_writable(site, edit.path, error) from None
    _refuse_shadowed(site, edits)
    _check_space(site, edits, rooms, kept)
    return tuple(facts)


def _check_whole(edits: Sequence[FileEdit]) -> None:
    if not edits or edits[-1].path != LEDGER_PATH or edits[-1].after is None:
        raise ValueError("the last edit of a transaction is the ledger")
    if len({edit.path for edit in edits}) != len(edits):
        raise ValueError("a transaction edits one file twice")
    for edit in edits:
        if edit.before == edit.after and edit.mode in {None, edit.before_mode}:
            raise ValueError(f"the edit of {edit.path} changes nothing")
        for directory in edit.prune:
            if not directory or not edit.path.startswith(f"{directory}/") or is_state(edit.path):
                raise ValueError(f"{directory} is not on the way to {edit.path}")


def _check_path(path: str) -> None:
    problem = edit_problem(path)
    if problem is not None:
        raise RefusedError("unsafe-path", f"{path!r} cannot be edited: it {problem}", path=path)


def read_live(site: OpenSite, edit: FileEdit) -> Found | None:
    """Return the file that ``edit`` replaces as it is now; None when nothing is there.

    Where the edit names a link, that very link must be there and lead to the bytes that it names.

    Raises:
        RefusedError: ``changed-meanwhile``: there is another link, or it leads elsewhere.
        NotRegularError: something else is in its place.
    """
    if edit.before_link is None or edit.before is None:
        return read_whole(site.root, edit.path)
    try:
        found = read_linked(site.root, edit.path, {sha256_hex(edit.before)}, site.owners)
    except NotRegularError:
        raise changed_meanwhile(edit.path) from None
    if found.link != edit.before_link:
        raise changed_meanwhile(edit.path)
    return found


def _missing(root: Root, path: str) -> tuple[str, ...]:
    parts = path.split("/")[:-1]
    missing = []
    for depth in range(len(parts), 0, -1):
        directory = "/".join(parts[:depth])
        try:
            fd, _ = open_parent(root, f"{directory}/.")
        except FileNotFoundError:
            missing.append(directory)
            continue
        os.close(fd)
        break
    return tuple(missing)


def _inspect_edit(site: OpenSite, edit: FileEdit, rooms: dict[int, _Room], probed: set[tuple[int, int]]) -> JournalEdit:
    found = read_live(site, edit)
    if (None if found is None else found[0]) != edit.before:
        raise changed_meanwhile(edit.path)
    status = None if found is None else found.status
    if status is not None and edit.before_mode not in {None, status.st_mode & _PERMISSIONS}:
        raise changed_meanwhile(edit.path)
    if found is not None and _changes_hands(found.link_status or found.status):
        raise RefusedError(
            "foreign-owner",
            f"{edit.path} belongs to another user or group and would change hands",
            hint="run patchctl as the owner of the installation",
            path=edit.path,
        )
    created: tuple[str, ...] = ()
    if not is_state(edit.path):
        created = _missing(site.root, edit.path) if edit.kind is EditKind.ADD else ()
        _inspect_directory(site, edit, created, rooms, probed)
    after = None if edit.after is None else sha256_hex(edit.after)
    return JournalEdit(
        path=edit.path,
        before=None if edit.before is None else sha256_hex(edit.before),
        after=after,
        created=created,
        prune=edit.prune,
        mode=None if status is None else status.st_mode & _PERMISSIONS,
        mtime_ns=None if found is None else (found.link_status or found.status).st_mtime_ns,
        new_mode=None if edit.mode is None else edit.mode & _PERMISSIONS,
        link=edit.before_link,
        new_link=_new_link(site, edit, after),
    )


def _new_link(site: OpenSite, edit: FileEdit, after: str | None) -> str | None:
    """The link to put back; None where it no longer leads to the bytes, because a cache was cleaned, say."""
    if edit.link is None or after is None:
        return None
    return edit.link.target if leads_to(site.root, edit.path, edit.link.target, {after}, site.owners) else None


def _changes_hands(status: os.stat_result) -> bool:
    """Only root can give a new file to another user, or to a group that the caller is not in."""
    if os.geteuid() == 0:
        return False
    return status.st_uid != os.geteuid() or status.st_gid not in {os.getegid(), *os.getgroups()}


def _inspect_directory(
    site: OpenSite, edit: FileEdit, created: tuple[str, ...], rooms: dict[int, _Room], probed: set[tuple[int, int]]
) -> None:
    """Look at the directory that takes the temp file, or the nearest one there is when that must be made."""
    with parent_of(site.root, created[-1] if created else edit.path) as (parent, _):
        status = os.fstat(parent)
        if (status.st_dev, status.st_ino) not in probed:
            probed.add((status.st_dev, status.st_ino))
            _probe(parent)
        if edit.path.endswith(SUFFIX) and edit.kind is not EditKind.DELETE and not created:
            _refuse_compiled_twin(parent, edit.path)
        room = rooms.setdefault(status.st_dev, _Room(_free_bytes(parent)))
        # New bytes beside the target, and the old ones too where no hard link can be made.
        room.needed += len(edit.after or b"") + len(edit.before or b"")


def _probe(parent: int) -> None:
    """Make and drop a file: permission bits alone do not tell (root-squash, read-only mounts, quotas)."""
    try:
        fd = os.open(".", os.O_WRONLY | os.O_TMPFILE | os.O_CLOEXEC, 0o600, dir_fd=parent)
    except OSError as error:
        if error.errno not in _NO_NAMELESS:
            raise
        # Its own leftover may be there, when an earlier probe was killed between the two calls.
        remove(parent, PROBE)
        fd = os.open(PROBE, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=parent)
        remove(parent, PROBE)
    os.close(fd)


def _refuse_compiled_twin(parent: int, path: str) -> None:
    twin = compiled_twin(names_in(parent), path)
    if twin is not None:
        raise RefusedError(
            "compiled-twin",
            f"{path} would be applied but not effective: {twin} beside it is what Python imports",
            hint="use a patch that avoids the compiled module, or rebuild it",
            path=path,
        )


def _refuse_shadowed(site: OpenSite, edits: Sequence[FileEdit]) -> None:
    """A package of a module's name, or a module in the place of a directory: Python imports that, not the file."""
    gone = {edit.path for edit in edits if edit.kind is EditKind.DELETE}
    surroundings = Surroundings(site.root)
    for edit in edits:
        if is_state(edit.path) or edit.path in gone:
            continue
        try:
            over = next((it for it in winners(edit.path, surroundings.around(edit.path)) if it not in gone), None)
        except OSError as error:
            raise _not_writable(site, edit.path, error) from None
        if over is not None:
            raise RefusedError(
                "shadowed",
                f"{edit.path} would be applied but not effective: {over} is what Python imports",
                hint=f"look where {over} comes from, and take away the one that should not be there",
                path=edit.path,
            )


def _check_space(site: OpenSite, edits: Sequence[FileEdit], rooms: dict[int, _Room], kept: Sequence[bytes]) -> None:
    state = rooms.setdefault(os.fstat(site.state).st_dev, _Room(_free_bytes(site.state)))
    # Originals and results go to the objects; diffs and ledger are written whole before they replace anything.
    state.needed += sum(len(edit.before or b"") + len(edit.after or b"") for edit in edits) + sum(map(len, kept))
    for room in rooms.values():
        if room.free < room.needed:
            raise RefusedError(
                "no-space",
                f"the file system of {site.site} has {room.free} bytes free, {room.needed} are needed",
                hint="free some space and run the command again",
            )


def _free_bytes(directory: int) -> int:
    status = os.fstatvfs(directory)
    if status.f_blocks == 0:
        return 1 << 62  # a file system that keeps no count
    return (status.f_bfree if os.geteuid() == 0 else status.f_bavail) * status.f_frsize


def changed_meanwhile(path: str) -> RefusedError:
    """Return the refusal for a file that is not what its edit says it replaces."""
    return RefusedError(
        "changed-meanwhile",
        f"{path} is not what the plan was made for: somebody changed it in the meantime",
        hint="run the command again; it plans from what is there now",
        path=path,
    )


def _not_regular(path: str, error: OSError) -> RefusedError:
    return RefusedError(
        "not-regular",
        f"{path} cannot be edited: {error.strerror}",
        hint="only regular files reached through real directories are edited",
        path=path,
    )


def _not_writable(site: OpenSite, path: str, error: OSError) -> RefusedError:
    where = f"{site.directory_of(path)}/{path}".rpartition("/")[0]
    return RefusedError(
        "not-writable",
        f"the directory of {path} cannot be written: {error.strerror} ({where})",
        hint=f"{remedy(error)}, then run the command again",
        path=path,
    )
