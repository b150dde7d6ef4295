"""What a diff says, as values: files and their hunks, byte for byte."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class ChangeKind(str, Enum):
    """What a section of a diff does to its file."""

    MODIFY = "modify"
    ADD = "add"
    DELETE = "delete"
    RENAME = "rename"


class Hunk(NamedTuple):
    """One contiguous change. Lines carry their own line end; a last line without newline has none.

    Attributes:
        number: 1-based, within its file.
        old_start: 1-based first line of the preimage; 0 when there is none (a file that is added).
        new_start: 1-based first line of the postimage, once the earlier hunks of the same diff are in; 0 when there
            is none. It differs from the ``@@`` line's figure only when the hunk was cut out of a longer diff.
        old_lines: the preimage: context and removed lines.
        new_lines: the postimage: context and added lines.
        leading: context lines before the first change.
        trailing: context lines after the last change.
        line: 1-based line of its ``@@`` in the diff.
        body: the raw lines after the ``@@`` line, with their tags and no-newline markers.
    """

    number: int
    old_start: int
    new_start: int
    old_lines: tuple[bytes, ...]
    new_lines: tuple[bytes, ...]
    leading: int
    trailing: int
    line: int
    body: tuple[bytes, ...]


class FileDiff(NamedTuple):
    """All changes to one file.

    Attributes:
        path: POSIX, relative to the site, unquoted and stripped. Of a rename: the new name.
        kind: MODIFY has hunks with context, or none when only the mode changes; ADD and DELETE have one hunk that is
            the whole file, or none when that file is empty; RENAME has hunks with context, or none.
        hunks: in the order of the file, not overlapping.
        mode: 0o644 or 0o755: what an added file asks for, or the mode it is changed to; None where the diff does not
            say. Git knows no other modes: it is the executable bit that matters.
        old_mode: the mode before, where the diff changes it; never equal to ``mode``.
        old_path: the name that a rename takes the file from; None for every other kind.
        old_blob: git blob id of the preimage as the ``index`` line has it, hexadecimal, often abbreviated; or None.
        new_blob: the same of the postimage.
        shift: lines that the hunks left out above the first one add, by its ``@@`` line; 0 in a whole diff. In a tree
            that has all of them, the postimages stand that much further down than ``new_start`` says.
        line: 1-based line in the diff where the section starts.
    """

    path: str
    kind: ChangeKind
    hunks: tuple[Hunk, ...]
    line: int
    mode: int | None = None
    old_blob: str | None = None
    new_blob: str | None = None
    shift: int = 0
    old_mode: int | None = None
    old_path: str | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that the section touches; of a rename the old one first."""
        return (self.path,) if self.old_path is None else (self.old_path, self.path)
