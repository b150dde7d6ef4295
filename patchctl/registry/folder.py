"""One registry folder on the disk: its entries' files, read without ever following a link out of it.

What the files mean is not here. The folder's own name may be a link, since the caller chose it; below it, links are
refused wherever they point, for a link can be turned elsewhere after it was looked at.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from patchctl.disk import open_parent, open_root, read_below
from patchctl.disk.others import doubt_about
from patchctl.errors import RegistryError

ENTRY_FILE = "patch.toml"
REGISTRY_FILE = "registry.toml"
MAX_DIFF_BYTES = 16 << 20


class Item(NamedTuple):
    """One name in a folder; ``is_folder`` also for a link that may mean one: it is refused when somebody enters it."""

    name: str
    is_folder: bool


class Folder(NamedTuple):
    """A registry folder.

    Attributes:
        root: its path as it was given, absolute or relative; paths inside are relative to it.
        owners: uids that may own what is read, and that alone may change it; None: anybody. Asked of what was opened:
            whoever owns a directory above may have put another folder under the path since somebody looked.
    """

    root: str
    owners: Collection[int] | None = None

    def path(self, inside: str) -> str:
        """Return the path that people are shown for a path inside."""
        return f"{self.root.rstrip('/')}/{inside}"

    def identity(self) -> tuple[int, int]:
        """Return device and inode: two spellings of one folder are one registry.

        Raises:
            OSError: it is no directory, or may not be entered.
        """
        with self._open() as root_fd:
            status = os.fstat(root_fd)
        return status.st_dev, status.st_ino

    def read(self, inside: str, *, limit: int = MAX_DIFF_BYTES) -> bytes | None:
        """Return the bytes of a file inside; None when nothing is there.

        Raises:
            OSError: a link or something else than a regular file, larger than ``limit`` bytes, not readable, or not of
                its owners alone.
        """
        with self._open() as root_fd:
            found = read_below(root_fd, inside, limit=limit, look=self._refuse_strange)
        return found[0] if found is not None else None

    def items(self, inside: str = "") -> tuple[Item, ...]:
        """Return what a folder inside holds, by name; names that begin with a dot or an underscore are left out.

        Raises:
            OSError: it is no real directory, or may not be read.
        """
        with self._open() as root_fd:
            fd, _ = open_parent(root_fd, f"{inside}/{ENTRY_FILE}" if inside else ENTRY_FILE)
            try:
                self._refuse_strange(fd)
                with os.scandir(fd) as entries:
                    found = [_item(entry) for entry in entries if not entry.name.startswith((".", "_"))]
            finally:
                os.close(fd)
        return tuple(sorted(found, key=lambda item: item.name))

    def _refuse_strange(self, fd: int) -> None:
        if self.owners is None:
            return
        if doubt_about(os.fstat(fd), "", self.owners, place=fd, group=False) is not None:
            raise PermissionError(errno.EPERM, "somebody else may change it")

    @contextmanager
    def _open(self) -> Iterator[int]:
        root_fd = open_root(self.root)
        try:
            self._refuse_strange(root_fd)
            yield root_fd
        finally:
            os.close(root_fd)


def bundled_registry() -> str:
    """Return the absolute path of the registry that came with this patchctl.

    A wheel carries it inside the package; a source checkout, also when installed as editable, has it beside the
    package.

    Raises:
        RegistryError: it is in neither place.
    """
    package = Path(__file__).resolve().parent.parent
    for path in (package / "_patches", package.parent / "patches"):
        if (path / REGISTRY_FILE).is_file():
            return str(path)
    message = f"patchctl was installed without its registry: {package / '_patches'} is not there"
    raise RegistryError(
        "no-bundled-registry", message, hint="install patchctl again, or name a registry: --registry DIR"
    )


def reason_of(error: OSError) -> str:
    """Return why something could not be read, as the end of a sentence."""
    return error.strerror or str(error)


def _item(entry: os.DirEntry[str]) -> Item:
    try:
        is_folder = entry.is_dir() or (entry.is_symlink() and not entry.is_file())
    except OSError:
        # A link into a circle. The folder's other items stay readable.
        is_folder = True
    return Item(name=entry.name, is_folder=is_folder)
