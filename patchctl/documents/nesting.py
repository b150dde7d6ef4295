"""How deep the brackets of a JSON text nest, known before a parser sees them. Numbers of bytes, never of values."""

from __future__ import annotations

import re
from itertools import accumulate

_OPENING = b"[{"
_CLOSING = b"]}"
_UP, _DOWN = b"\x01", b"\xff"
_MARKS = bytes.maketrans(_OPENING + _CLOSING, _UP * 2 + _DOWN * 2)
_NO_MARKS = bytes(set(range(256)) - {*_OPENING, *_CLOSING, *b'"'})
_STRING = re.compile(rb'"[^"]*"?')


def opened(data: bytes | str) -> int:
    """Return how many brackets are opened, those in strings included; most texts have so few that nothing is deep."""
    if isinstance(data, str):
        return data.count("[") + data.count("{")
    return data.count(b"[") + data.count(b"{")


def depth_of(data: bytes | str) -> int:
    """Return the depth of brackets outside of strings, in time proportional to the length.

    Behind the first character that is no JSON the answer means nothing, and no parser comes there. No loop over
    characters is Python's: the text is boiled down to quotes and steps first.
    """
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    if b"\\" in data:
        # In a string backslashes go in pairs from the left, so that afterwards one before a quote escapes it.
        data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    steps = data.translate(_MARKS, _NO_MARKS)
    # Two quotes side by side change nothing for what stands around them: inside stays inside.
    steps = steps.replace(b'""', b"")
    if b'"' in steps:
        steps = _STRING.sub(b"", steps)
    return max(accumulate(memoryview(steps).cast("b")), default=0)
