"""The header of one file section: git's extended header, and the ``---``/``+++`` pair."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from patchctl.diff.names import LONGEST_HEADER, HeaderName, read_name
from patchctl.diff.prose import BINARY, GIT_HEADERS
from patchctl.diff.source import header_text, shown
from patchctl.errors import DiffError

_MODES = {b"100644": 0o644, b"100755": 0o755}
_SPECIAL_MODES = {b"120000": ("symlink", "a symbolic link"), b"160000": ("submodule", "a submodule")}
_COPIES = (b"copy from", b"copy to")
IDENTICAL = 100
"""Per cent, of a ``similarity index`` line: git rounds down, so only equal files have it."""


@dataclass(slots=True, kw_only=True)
class Header:
    """What the lines before the first hunk of a section say; filled while they are read.

    Attributes:
        at: index of the section's first line.
        git_names: the rest of the ``diff --git`` line; None in a plain section.
        old: name of the ``---`` line; None when the section has none.
        new: name of the ``+++`` line.
        added: ``new file mode`` was given.
        deleted: ``deleted file mode`` was given.
        mode: permission bits of an added file, or those the mode is changed to.
        old_mode: permission bits that the mode is changed from.
        rename_from: name of the ``rename from`` line; it never has the prefix that ``---`` has.
        rename_to: the same of ``rename to``.
        similarity: figure of the ``similarity index`` line, in per cent.
        blobs: both ids of the ``index`` line, hexadecimal.
        seen: keywords met, to refuse a second one.
    """

    at: int
    git_names: bytes | None = None
    old: HeaderName | None = None
    new: HeaderName | None = None
    added: bool = False
    deleted: bool = False
    mode: int | None = None
    old_mode: int | None = None
    rename_from: HeaderName | None = None
    rename_to: HeaderName | None = None
    similarity: int | None = None
    blobs: tuple[str, str] | None = None
    seen: set[bytes] = field(default_factory=set)

    @property
    def changes_mode(self) -> bool:
        """Whether ``old mode`` and ``new mode`` were given."""
        return self.old_mode is not None

    @property
    def keeps_content(self) -> bool:
        """Whether nothing in the header speaks of another content than before."""
        same_blobs = self.blobs is None or self.blobs[0] == self.blobs[1]
        return self.old is None and same_blobs and self.similarity in {None, IDENTICAL}


def read_header(lines: list[bytes], at: int) -> tuple[Header, int]:
    """Read the header of the section that starts at index ``at``; return it and the index after it.

    Raises:
        DiffError: what the section does is out of scope, or its header cannot be trusted.
    """
    header = Header(at=at)
    if lines[at].startswith(b"diff --git "):
        header.git_names = header_text(lines, at).removeprefix(b"diff --git ")
        if len(header.git_names) > LONGEST_HEADER:
            raise DiffError("bad-name", "the names in a header line are too long", line=at + 1)
        at = _read_extended(header, lines, at + 1)
        _check_pairs(header)
    if at < len(lines) and lines[at].startswith(b"--- "):
        at = _read_pair(header, lines, at)
    return header, at


def _read_extended(header: Header, lines: list[bytes], at: int) -> int:
    while at < len(lines) and lines[at].startswith((*GIT_HEADERS, *BINARY)):
        text = header_text(lines, at)
        if text.startswith(BINARY):
            raise DiffError("binary", "the section changes a binary file", line=at + 1)
        keyword = next(known for known in GIT_HEADERS if text.startswith(known)).rstrip()
        if keyword in header.seen:
            raise DiffError("unknown-header", f"a second header line of its kind: {shown(text)}", line=at + 1)
        header.seen.add(keyword)
        _take(header, keyword, text[len(keyword) + 1 :], at)
        at += 1
    return at


def _take(header: Header, keyword: bytes, value: bytes, at: int) -> None:
    if keyword in _COPIES:
        raise DiffError("copy", "the section copies a file, which is not supported", line=at + 1)
    if keyword == b"index":
        _take_index(header, value, at)
    elif keyword.endswith(b"mode"):
        _take_mode(header, keyword, _permission_bits(keyword, value, at))
    elif keyword == b"similarity index":
        header.similarity = _per_cent(value, at)
    elif keyword == b"rename from":
        header.rename_from = read_name(value, at)
    elif keyword == b"rename to":
        header.rename_to = read_name(value, at)


def _take_mode(header: Header, keyword: bytes, bits: int) -> None:
    if keyword == b"old mode":
        header.old_mode = bits
    elif keyword == b"deleted file mode":
        header.deleted = True
    else:
        header.added = header.added or keyword == b"new file mode"
        header.mode = bits


def _per_cent(value: bytes, at: int) -> int:
    found = re.fullmatch(rb"([0-9]{1,3})%", value)
    if found is None or int(found[1]) > IDENTICAL:
        raise DiffError("unknown-header", f"not a similarity in per cent: {shown(value)}", line=at + 1)
    return int(found[1])


def _check_pairs(header: Header) -> None:
    """Lines that belong together, and what a section cannot do at once."""
    line = header.at + 1
    modes = {b"old mode", b"new mode"} & header.seen
    renames = {b"rename from", b"rename to"} & header.seen
    for name, found in (("mode", modes), ("rename", renames)):
        if len(found) == 1:
            (given,) = found
            raise DiffError("unknown-header", f"'{given.decode()}' without the other half of the {name}", line=line)
    if (modes or renames) and (header.added or header.deleted):
        message = "the section changes a file's name or mode, and adds or deletes it too"
        raise DiffError("kind-disagrees", message, line=line)
    if modes and header.mode == header.old_mode:
        raise DiffError("no-op", "the section changes a mode to itself", line=line)


def _take_index(header: Header, value: bytes, at: int) -> None:
    found = re.fullmatch(rb"([0-9a-f]{4,64})\.\.([0-9a-f]{4,64})(?: ([0-7]{6}))?", value)
    if found is None:
        code = "combined" if b"," in value else "unknown-header"
        raise DiffError(code, f"not an index line of a plain diff: {shown(value)}", line=at + 1)
    if found[3] is not None:
        _permission_bits(b"index", found[3], at)
    header.blobs = found[1].decode(), found[2].decode()


def _permission_bits(keyword: bytes, value: bytes, at: int) -> int:
    if value in _SPECIAL_MODES:
        code, what = _SPECIAL_MODES[value]
        raise DiffError(code, f"the section is about {what}, which is not supported", line=at + 1)
    if value not in _MODES:
        message = f"'{keyword.decode()}' has a mode other than 100644 and 100755: {shown(value)}"
        raise DiffError("bad-mode", message, line=at + 1)
    return _MODES[value]


def _read_pair(header: Header, lines: list[bytes], at: int) -> int:
    if at + 1 == len(lines) or not lines[at + 1].startswith(b"+++ "):
        raise DiffError("leftover", "a '---' line without '+++' below it", line=at + 1)
    header.old = read_name(header_text(lines, at).removeprefix(b"--- "), at)
    header.new = read_name(header_text(lines, at + 1).removeprefix(b"+++ "), at + 1)
    return at + 2
