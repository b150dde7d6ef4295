"""Bytes of installed files, and the edits planned on them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple


def sha256_hex(data: bytes) -> str:
    """Return the lower-case hexadecimal sha256 of ``data``."""
    return hashlib.sha256(data).hexdigest()


class FileMeta(NamedTuple):
    """What a file is besides its bytes: permission bits, owner, modification time in nanoseconds."""

    mode: int
    uid: int
    gid: int
    mtime_ns: int


class LiveFile(NamedTuple):
    """A regular file as it is on the disk now; ``sha256`` is lower-case hexadecimal."""

    data: bytes
    meta: FileMeta
    sha256: str


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
        mode: permission bits of the new file; None keeps those of the file it replaces (0o644 for ADD). Set-id bits
            are never given to a file.
        mtime_ns: modification time of the new file. A plan gives new content a whole second that this path never had,
            so that no byte code for the old text can be taken for the new; None: whatever the clock says.
        prune: directories, relative to the site, deepest first, to remove when the edit leaves them empty.
    """

    path: str
    kind: EditKind
    before: bytes | None
    after: bytes | None
    mode: int | None = None
    mtime_ns: int | None = None
    prune: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        wanted = {EditKind.MODIFY: (True, True), EditKind.ADD: (False, True), EditKind.DELETE: (True, False)}
        if (self.before is not None, self.after is not None) != wanted[self.kind]:
            raise ValueError(f"{self.kind.value} of {self.path}: before and after do not fit the kind")
