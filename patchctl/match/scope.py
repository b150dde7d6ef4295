"""In which class and function a line of Python source stands, for people: read off the indentation, not parsed.

A file that a diff does not fit may be no valid Python, or none at all; then there may be nothing to say.
"""

from __future__ import annotations

from collections.abc import Sequence

LOOKED_BACK = 2000
"""How many lines above a place are searched for its headings."""

LONGEST = 100
"""Bytes given of one heading."""

_HEADINGS = (b"class ", b"def ", b"async def ")
_NO_STATEMENT = (b"#", b")", b"]", b"}")
"""How lines begin that say nothing of depth: comments, and the end of a signature that takes several lines."""
_TAB = 8


def headings(lines: Sequence[bytes], at: int) -> tuple[bytes, ...]:
    """Return the ``class`` and ``def`` lines around a line, the outermost first, without their indentation.

    Args:
        lines: of the file.
        at: the line, from 0; a blank line stands for the next one that is not.
    """
    start = next((number for number in range(at, min(at + LOOKED_BACK, len(lines))) if lines[number].strip()), None)
    if start is None:
        return ()
    found: list[bytes] = []
    depth = _depth(lines[start])
    if _is_heading(lines[start]):
        found.append(lines[start].strip()[:LONGEST])
    for number in range(start - 1, max(start - 1 - LOOKED_BACK, -1), -1):
        if depth == 0:
            break
        line = lines[number]
        if line.strip() and not line.lstrip().startswith(_NO_STATEMENT) and _depth(line) < depth:
            depth = _depth(line)
            if _is_heading(line):
                found.append(line.strip()[:LONGEST])
    return tuple(reversed(found))


def _depth(line: bytes) -> int:
    text = line.expandtabs(_TAB)
    return len(text) - len(text.lstrip())


def _is_heading(line: bytes) -> bool:
    return line.lstrip().startswith(_HEADINGS)
