"""A registry that Kubernetes mounted: what to say of the links in it. They are not followed here either.

A volume of a ConfigMap, a Secret or a projection keeps its files in a directory of one revision, to which ``..data``
leads, and has a link for each name in its top: ``patch.toml -> ..data/patch.toml``. An update turns ``..data`` alone
(AtomicWriter in kubelet). Mounts with ``subPath`` have no links.
"""

from __future__ import annotations

import os
from pathlib import Path

from patchctl.disk import open_parent, open_root
from patchctl.model.shell import shell_word

_DATA = "..data"


def mount_hint(root: str, inside: str) -> str | None:
    """Return what to do about a file that cannot be read because Kubernetes made a link on its way.

    Args:
        root: path of the registry folder, as it was given.
        inside: path of the file or folder below it, POSIX, relative.

    Returns:
        A sentence that ends with what to name, or with a command; None: no such link is on its way.
    """
    try:
        root_fd = open_root(root)
    except OSError:
        return None
    try:
        parts = inside.split("/")
        if not any(_is_mounted(root_fd, "/".join(parts[: end + 1])) for end in range(len(parts))):
            return None
        whole = _is_whole(root_fd)
    except OSError:
        return None
    finally:
        os.close(root_fd)
    place = str(Path(root).absolute())
    if whole:
        name = shell_word(f"{place.rstrip('/')}/{_DATA}")
        return f"this is a volume of Kubernetes, whose names are links; name what they lead to: --registry {name}"
    copy = shell_word(f"{place}-copy")
    why = "a volume of Kubernetes is in it, whose names are links"
    return f"{why}; name {copy} instead, once it is a copy without them: cp -rLT {shell_word(place)} {copy}"


def _is_mounted(root_fd: int, inside: str) -> bool:
    """Whether one path ends in a link of such a volume; one that does not exist, or lies behind a link, does not."""
    try:
        parent, name = open_parent(root_fd, inside)
    except OSError:
        return False
    try:
        return _is_turned(parent, name)
    finally:
        os.close(parent)


def _is_whole(root_fd: int) -> bool:
    """Whether everything in a registry is of one volume, so that its ``..data`` is the registry without links."""
    return all(_is_turned(root_fd, name) for name in os.listdir(root_fd) if not name.startswith("."))


def _is_turned(parent: int, name: str) -> bool:
    try:
        leads = os.readlink(name, dir_fd=parent) == f"{_DATA}/{name}"
        return leads and "/" not in os.readlink(_DATA, dir_fd=parent)
    except OSError:
        return False
