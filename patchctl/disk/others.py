"""Who else may change what is at a path: its owner, everybody, its group, or whom an access list names.

What is refused because of it, and what to do about it, is not decided here. A reader that may read more than others
finds here which users it has to take for strangers.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
from collections.abc import Collection
from typing import NamedTuple

ROOT_ALONE = frozenset({0})
"""Who may have a say in what root does."""

_ACL = "system.posix_acl_access"
_ACL_HEAD, _ACL_ENTRY = 4, struct.Struct("<HHI")  # acl(5) as the kernel stores it: a version, then tag, rights, id
_ACL_USER, _ACL_GROUP, _ACL_WRITE = 0x02, 0x08, 0x02
_NO_ACL = frozenset({errno.ENODATA, errno.ENOTSUP, errno.ENOSYS})


class Doubt(NamedTuple):
    """Somebody else may change it.

    Attributes:
        path: what he may change, as messages call it.
        uid: its owner, where he is the one; None: it is writable by others.
        who: by whom, as a phrase that follows "is writable by"; empty where it is the owner.
    """

    path: str
    uid: int | None = None
    who: str = ""


def doubt_about(
    status: os.stat_result, path: str, trusted: Collection[int] = ROOT_ALONE, *, place: int | str, group: bool
) -> Doubt | None:
    """Return who else may change a file or directory; None: nobody but ``trusted``.

    Args:
        status: of it.
        path: what messages call it.
        trusted: uids that may own it.
        place: a descriptor of it, or a path to it, for its access list.
        group: write permission of its group is fine whoever is in it; otherwise only where no stranger is.
    """
    if status.st_uid not in trusted:
        return Doubt(path=path, uid=status.st_uid)
    if stat.S_ISLNK(status.st_mode):
        return None
    if status.st_mode & stat.S_IWOTH:
        return Doubt(path=path, who="everybody")
    # The group's bits are the access list's mask where there is one.
    if status.st_mode & stat.S_IWGRP:
        if _names_writers(place, trusted):
            return Doubt(path=path, who="others, as its access list says")
        if not group and not _is_private(status.st_gid, trusted):
            return Doubt(path=path, who="its group")
    return None


def user_name(uid: int) -> str | None:
    """Return what the passwd database calls a user; None: it does not know him."""
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return None


def _names_writers(place: int | str, trusted: Collection[int]) -> bool:
    """Whether an access list lets a user or group of its own write; its mask does, since the group's bits do."""
    try:
        data = os.getxattr(place, _ACL)
    except OSError as error:
        return error.errno not in _NO_ACL
    whole = len(data) - _ACL_HEAD - (len(data) - _ACL_HEAD) % _ACL_ENTRY.size
    for tag, rights, who in _ACL_ENTRY.iter_unpack(data[_ACL_HEAD : _ACL_HEAD + max(whole, 0)]):
        named = (tag == _ACL_USER and who not in trusted) or (tag == _ACL_GROUP and not _is_private(who, trusted))
        if named and rights & _ACL_WRITE:
            return True
    return False


def _is_private(gid: int, trusted: Collection[int]) -> bool:
    """Whether nobody but ``trusted`` is in a group, as far as the databases tell; of an unknown group nothing is known.

    Group 0 is root's, who gives it to whom he trusts: images for OpenShift have everything writable by it.
    """
    import grp
    import pwd

    if gid == 0:
        return True
    try:
        names = grp.getgrgid(gid).gr_mem
    except KeyError:
        return False
    users = pwd.getpwall()
    members = {user.pw_uid for user in users if user.pw_gid == gid or user.pw_name in names}
    return members <= set(trusted) and set(names) <= {user.pw_name for user in users}
