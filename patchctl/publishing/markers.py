"""The part of a file that lies between two markers. Bytes in, bytes out; what is around them is never touched."""

from __future__ import annotations

from typing import NamedTuple

from patchctl.errors import RefusedError

BEGIN = "<!-- patchctl:begin -->"
"""The line after which the page goes; a comment in HTML, and so in Markdown."""

END = "<!-- patchctl:end -->"
"""The line before which it ends."""


class _Line(NamedTuple):
    """A line of the file: where it starts, where its text ends, where the next one starts, and its number from 1."""

    start: int
    text_end: int
    end: int
    number: int


def between_markers(data: bytes, page: str, path: str) -> bytes:
    """Return ``data`` with ``page`` between its two markers, in the line ends of the line that has the first.

    Args:
        data: the file.
        page: each line of it is ended by a line feed.
        path: what messages call the file.

    Raises:
        RefusedError: there is not exactly one pair, each marker alone on its line, the first one first.
    """
    begins, ends = _lines_with(data, BEGIN), _lines_with(data, END)
    if not begins and not ends:
        raise _refused("no-markers", f"{path} does not say where the page goes", path)
    for name, found in (("begin", begins), ("end", ends)):
        if not found:
            raise _refused("one-marker", f"{path} has no {name} marker", path, line=(begins or ends)[0].number)
        if len(found) > 1:
            numbers = " and ".join(str(line.number) for line in found[:3])
            raise _refused("many-markers", f"{path} has more than one {name} marker: lines {numbers}", path)
    (begin,), (end,) = begins, ends
    for line, marker in ((begin, BEGIN), (end, END)):
        if data[line.start : line.text_end].strip(b" \t\r") != marker.encode():
            message = f"in {path} a marker shares its line with other text"
            raise _refused("marker-not-alone", message, path, line=line.number)
    if end.start < begin.start:
        raise _refused("markers-swapped", f"in {path} the end marker comes first", path, line=end.number)
    # The line has an end: the other marker stands below it.
    newline = b"\r\n" if data[begin.start : begin.end].endswith(b"\r\n") else b"\n"
    return data[: begin.end] + page.encode().replace(b"\n", newline) + data[end.start :]


def _lines_with(data: bytes, marker: str) -> list[_Line]:
    """Return the line of every occurrence; a line that has two is returned twice."""
    found = []
    at = data.find(marker.encode())
    number, counted = 1, 0
    while at >= 0:
        number += data.count(b"\n", counted, at)
        counted = at
        start = data.rfind(b"\n", 0, at) + 1
        text_end = data.find(b"\n", at)
        text_end = len(data) if text_end < 0 else text_end
        found.append(_Line(start=start, text_end=text_end, end=min(text_end + 1, len(data)), number=number))
        at = data.find(marker.encode(), at + 1)
    return found


def _refused(code: str, message: str, path: str, *, line: int | None = None) -> RefusedError:
    hint = f"where the page belongs put the line {BEGIN} and below it the line {END}, each once in the file"
    return RefusedError(code, f"{message}; nothing was written", hint=hint, path=path, line=line)
