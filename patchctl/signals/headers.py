r"""What stands before a message: the logger's own prefix, in the forms that vLLM's releases write.

====================  ==============================================================================
to 0.7                ``WARNING 07-01 12:00:00 utils.py:123] message``
from 0.8              ``WARNING 07-01 12:00:00 [utils.py:123] message``
0.10 to 0.32          the same behind ``(Worker_TP0 pid=123)``, which is put before every line of the process
0.33                  the same, where the logger writes it
colours               each part in escape sequences
``--logging-config``  ``{"asctime": ..., "levelname": ..., "name": ..., "message": ...}``, 0.33
====================  ==============================================================================

A message of several lines is written with the whole prefix before each of them, and with ``\r\n`` between them:
``vllm/logging_utils/formatter.py``, all releases. So a prefix alone does not tell where a message begins.
"""

from __future__ import annotations

import re

from patchctl.signals.civil import stamp_with_zone, stamp_without_year
from patchctl.signals.records import json_record
from patchctl.signals.values import Header, Stamp

_TAG = rb"\(([A-Za-z][\w.:-]{0,80}) pid=(\d{1,10})(?:,[^()\n]{0,100})?\) "
_TAGGED = re.compile(_TAG)
_LEVEL = rb"(DEBUG|INFO|WARNING|ERROR|CRITICAL)"
_WHEN = rb"(?:(\d{4})-)?(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,]\d{1,9})?(Z|[+-]\d\d:?\d\d)?"
_WHERE = rb"(?:\[([^\]\s:]{1,200}):\d{1,7}\]|([^\]\s:\[]{1,200}):\d{1,7}\])"
_COLOUR = re.compile(rb"\x1b\[[0-9;]{0,12}m")
_LONGEST = 8192
"""Bytes of a message that are looked at: a signal is a sentence."""
_ENOUGH = 64


class HeaderForm:
    """Reads the logger's prefix. One for all lines; it keeps nothing of them.

    Args:
        prefix: what ``VLLM_LOGGING_PREFIX`` was set to.
    """

    __slots__ = ("_pattern",)

    def __init__(self, prefix: bytes = b"") -> None:
        own = re.escape(prefix) + rb"(?:" + _TAG + rb")?" if prefix else b""
        tags = rb"(?:" + _TAG + rb"){0,3}"
        self._pattern = re.compile(tags + own + _LEVEL + rb" " + _WHEN + rb" " + _WHERE + rb" ")

    def read(self, text: bytes) -> Header | None:
        """Return prefix and message of one line without envelope; None: it is none of the logger's."""
        if text.startswith(b"{"):
            return _from_json(text)
        written, text = text, without_colours(text)
        found = self._pattern.match(text)
        if found is None:
            return None
        *tags, level, year, month, day, hour, minute, second, zone, where, old_where = found.groups()
        message = text[found.end() : found.end() + _LONGEST]
        return Header(
            level=level.decode("ascii"),
            file=(where or old_where).rpartition(b"/")[2].decode("utf-8", "surrogateescape"),
            message=message,
            # Behind the operator's own prefix the logger writes the tag itself; before it, the stream does.
            process=_named(text[: found.end()], tags[-2] or tags[0]),
            pid=_text(tags[-1] or tags[1]),
            when=(year, month, day, hour, minute, second, zone),
            raw=text[: found.end()] if written is text else written[: max(written.find(message[:_ENOUGH]), 0)],
        )


def stamp_of(header: Header, latest: int) -> Stamp | None:
    """Return when a line was written; None: it does not say, or names no date that exists.

    Args:
        header: of the line.
        latest: seconds since 1970: when the log was last written, for dates without a year.
    """
    if header.when is None:
        return None
    year, zone = header.when[0], header.when[6]
    month, day, hour, minute, second = (int(it or b"0") for it in header.when[1:6])
    if year is None:
        return stamp_without_year(month, day, (hour, minute, second), latest)
    return stamp_with_zone((int(year), month, day), (hour, minute, second), zone)


def without_colours(text: bytes) -> bytes:
    """Return a line without the sequences that colour it on a terminal; the very object where there are none."""
    return _COLOUR.sub(b"", text[:_LONGEST]) if b"\x1b" in text else text


def _named(prefix: bytes, one: bytes | None) -> str | None:
    """Every process that left its name before the line, the one that the line passed last in front.

    A forked process writes through its parent, so two names are in order; but what somebody makes a process print may
    begin with a name too, and must not hide the one that really stands before it. ``one`` is one of them; None: none.
    """
    if one is None or prefix.count(b" pid=") == 1:
        return _text(one)
    names = (found[1].decode("ascii", "replace") for found in _TAGGED.finditer(prefix))
    return "/".join(dict.fromkeys(names))


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("ascii", "replace")


_JSON_WHEN = re.compile(rb"(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,]\d{1,9})?(Z|[+-]\d\d:?\d\d)?")


def _from_json(text: bytes) -> Header | None:
    record = json_record(text)
    level, name, message = record.get("levelname"), record.get("name"), record.get("message")
    if not (isinstance(level, str) and isinstance(name, str) and isinstance(message, str)):
        return None
    found = _JSON_WHEN.match(str(record.get("asctime")).encode("ascii", "replace"))
    process = record.get("processName")
    pid = record.get("process")
    return Header(
        level=level,
        file=name,
        message=message.encode("utf-8", "replace")[:_LONGEST],
        process=process if isinstance(process, str) else None,
        pid=str(pid) if isinstance(pid, int) else None,
        when=found.groups() if found is not None else None,
    )
