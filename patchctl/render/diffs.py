"""Planned edits as a unified diff, for ``apply --dry-run``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from patchctl.model import FileEdit


def edits_as_diff(edits: Iterable[FileEdit]) -> bytes:
    """Return one unified diff (bytes, readable by patch(1) with ``-p1``) of all edits, in their order."""
    import difflib

    out = bytearray()
    for edit in edits:
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
