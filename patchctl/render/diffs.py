"""Planned edits as a unified diff, for ``apply --dry-run``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from patchctl.model import OWNER_EXECUTES, FileEdit
from patchctl.render.words import changed_mode


def edits_as_diff(edits: Iterable[FileEdit]) -> bytes:
    """Return one unified diff (bytes, readable by patch(1) with ``-p1``) of all edits, in their order."""
    import difflib

    out = bytearray()
    for edit in edits:
        mode = changed_mode(edit)
        if mode is not None:
            name, bits = edit.path.encode(), 0o755 if mode & OWNER_EXECUTES else 0o644
            out += b"diff --git a/%s b/%s\nold mode 100%o\nnew mode 100%o\n" % (name, name, bits ^ 0o111, bits)
        old = b"/dev/null" if edit.before is None else b"a/" + edit.path.encode()
        new = b"/dev/null" if edit.after is None else b"b/" + edit.path.encode()
        # Lines end at \n alone: a form feed or a lone CR inside a line must not cut it.
        before, after = _lines(edit.before or b""), _lines(edit.after or b"")
        for line in difflib.diff_bytes(difflib.unified_diff, before, after, old, new, lineterm=b"\n"):
            out += line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"
    return bytes(out)


def _lines(data: bytes) -> Sequence[bytes]:
    lines = data.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])
