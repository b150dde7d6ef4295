"""Bytes of installed files, and the edits planned on them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple


def sha256_hex(data: bytes) -> str:
    """Return the lower-case hexadecimal sha256 of ``data``."""
    return hashlib.sha256(data).hexdigest()


OWNER_EXECUTES = 0o100
"""The permission bit that git's two modes, 644 and 755, tell apart."""

_READABLE = 0o444
_EXECUTABLE = 0o111
_PERMISSIONS = 0o777


class Content(NamedTuple):
    """What a file is as far as a diff can say: its bytes, and its permission bits, of which one may be changed."""

    data: bytes
    mode: int = 0o644

    @property
    def executable(self) -> bool:
        """Whether its owner may execute it."""
        return bool(self.mode & OWNER_EXECUTES)

    def changed_to(self, mode: int | None) -> Content:
        """Return it with the executable bit of ``mode``, given to whoever may read it; None keeps its mode."""
        if mode is None or bool(mode & OWNER_EXECUTES) is self.executable:
            return self
        if mode & OWNER_EXECUTES:
            return self._replace(mode=self.mode | (self.mode & _READABLE) >> 2 | OWNER_EXECUTES)
        return self._replace(mode=self.mode & _PERMISSIONS & ~_EXECUTABLE)


class FileMeta(NamedTuple):
    """What a file is besides its bytes.

    Attributes:
        mode: permission bits.
        uid: of its owner.
        gid: of its group.
        mtime_ns: modification time in nanoseconds.
        xattrs: extended attributes that another file may carry, sorted by name.
    """

    mode: int
    uid: int
    gid: int
    mtime_ns: int
    xattrs: tuple[tuple[str, bytes], ...] = ()


class Link(NamedTuple):
    """A symbolic link in a file's place: its text, and its own modification time in nanoseconds."""

    target: str
    mtime_ns: int


class LiveFile(NamedTuple):
    """A regular file as it is on the disk now; ``sha256`` is lower-case hexadecimal.

    With ``link`` the file lies elsewhere and a link stands in its place, as uv makes them into its cache: bytes, mode
    and modification time are the file's, the owner is the link's.
    """

    data: bytes
    meta: FileMeta
    sha256: str
    link: Link | None = None


class EditKind(str, Enum):
    """What an edit does to the name it edits."""

    MODIFY = "modify"
    ADD = "add"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEdit:
    """One compare-and-swap of one file: ``before`` must be what is there, ``after`` is what will be.

    Attributes:
        path: POSIX, relative to the site.
        kind: MODIFY has both byte strings, ADD no ``before``, DELETE no ``after``.
        before: bytes that must be there now; None: the file must not exist.
        after: bytes that will be there; None: the file is removed.
        before_mode: permission bits that must be there now; None: nobody looked.
        mode: permission bits of the new file; None keeps those of the file it replaces (0o644 for ADD). Set-id bits
            are never given to a file. Bytes may stay as they are where the mode does not.
        mtime_ns: modification time of the new file. A plan gives new content a whole second that this path never had,
            so that no byte code for the old text can be taken for the new; None: whatever the clock says.
        prune: directories, relative to the site, deepest first, to remove when the edit leaves them empty.
        before_link: text of the symbolic link that stands there now and leads to ``before``; the link itself is
            replaced, never what it leads to. None: a regular file is there.
        link: the link to put there, as it was before, as long as it still leads to ``after``; otherwise a regular file
            is made. None: a regular file.
        xattrs: extended attributes of an added file that brings a deleted one back; None: what its directory gives.
    """

    path: str
    kind: EditKind
    before: bytes | None
    after: bytes | None
    before_mode: int | None = None
    mode: int | None = None
    mtime_ns: int | None = None
    prune: tuple[str, ...] = ()
    before_link: str | None = None
    link: Link | None = None
    xattrs: tuple[tuple[str, bytes], ...] | None = None

    def __post_init__(self) -> None:
        wanted = {EditKind.MODIFY: (True, True), EditKind.ADD: (False, True), EditKind.DELETE: (True, False)}
        if (self.before is not None, self.after is not None) != wanted[self.kind]:
            raise ValueError(f"{self.kind.value} of {self.path}: before and after do not fit the kind")
