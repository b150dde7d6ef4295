"""Counts requests: the access lines that uvicorn writes for requests to the model.

Counted are POST requests to the paths below, whatever their status: a hit may end its request with an error. Only a
line that begins as uvicorn begins it counts; the same text inside a message does not.
"""

from __future__ import annotations

import re

from patchctl.signals.headers import without_colours
from patchctl.signals.records import json_record

MARK = b"POST /"
"""Stands in every access line that counts, once, also where JSON escapes the quotation mark or colours follow it."""

_QUOTED_MARK = b'"POST /'

_PATHS = (
    rb"/(?:v[12]/(?:chat/completions|completions|responses|messages|embeddings|score|rerank|audio/[a-z]+)"
    rb"|generate|inference/v1/generate|invocations|pooling|classify|embed|score|rerank)"
)
_REQUEST = rb'- "POST (' + _PATHS + rb')(?:\?[^ "\n]{0,8192})? HTTP/[0-9.]{1,3}" [1-5][0-9]{2}'
_CLIENT = rb"[^ \n]{1,255} "
_HEAD = rb"(?:\([A-Za-z][\w.:-]{0,80} pid=\d{1,10}(?:,[^()\n]{0,100})?\) ){0,3}INFO: {1,8}"
_LINE = re.compile(rb"(" + _HEAD + rb")" + _CLIENT + _REQUEST)
_JSON_MESSAGE = re.compile(_CLIENT + _REQUEST)
_MOST_PAIRS = 8


def is_request(text: bytes) -> bool:
    """Return whether a line without its envelope is an access line that counts."""
    if text.startswith(b"{"):
        record = json_record(text)
        message = record.get("message")
        named = record.get("name") == "uvicorn.access" and isinstance(message, str)
        return named and _JSON_MESSAGE.match(str(message).encode("utf-8", "replace")) is not None
    return _LINE.match(without_colours(text)) is not None


class RequestCounter:
    """Counts the access lines of one log without an envelope, whole blocks at a time.

    Nearly every access line of a log begins with the same bytes up to the client's address and asks for the same path.
    Those pairs are learned, and a regular expression that is little more than their text counts a block. Where the mark
    occurs more often than that found, the lines are looked at one by one; so the count is the same, whatever was
    learned.
    """

    __slots__ = ("_pairs",)

    def __init__(self) -> None:
        self._pairs: dict[tuple[bytes, bytes], re.Pattern[bytes]] = {}

    def count(self, data: bytes | bytearray, start: int, end: int) -> int:
        """Return the access lines that count in ``data[start:end]``, which are whole lines.

        The byte before ``start``, if there is one, is a line feed.
        """
        # Without colours the quotation mark is right before it, and a longer text is found faster.
        mark = _QUOTED_MARK if data.find(b"\x1b", start, end) < 0 else MARK
        first = data.find(mark, start, end)
        if first < 0:
            return 0
        before = max(start - 1, 0)
        found = sum(len(pattern.findall(data, before, end)) for pattern in self._pairs.values())
        if found and found == data.count(mark, start, end):
            return found
        return self._one_by_one(data, first, start, end)

    def _one_by_one(self, data: bytes | bytearray, at: int, start: int, end: int) -> int:
        found = 0
        while at >= 0:
            begin = data.rfind(b"\n", start, at) + 1 or start
            line_end = data.find(b"\n", at, end)
            line_end = end if line_end < 0 else line_end
            line = _LINE.match(data, begin, line_end)
            if line is not None:
                found += 1
                self._learn(bytes(line[1]), bytes(line[2]))
            elif data.startswith((b"{", b"\x1b"), begin):
                found += is_request(bytes(data[begin:line_end]))
            at = data.find(MARK, line_end, end)
        return found

    def _learn(self, head: bytes, path: bytes) -> None:
        if (head, path) not in self._pairs and len(self._pairs) < _MOST_PAIRS:
            text = rb"\n" + re.escape(head) + rb'[^ \n]+ - "POST ' + re.escape(path) + rb' HTTP/[0-9.]+" [1-5]()'
            self._pairs[head, path] = re.compile(text)  # the empty group keeps the matches from being copied
