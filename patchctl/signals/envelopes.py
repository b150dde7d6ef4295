"""What container runtimes and log daemons put before a line, and how to take it off.

A log has one kind of envelope from beginning to end: it is recognised once, from the first lines, so that a message
which merely looks like an envelope is never taken for one. Records of the journal's export format span lines and are
read in ``journal``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum

from patchctl.signals.civil import stamp_with_zone, stamp_without_year
from patchctl.signals.records import json_record
from patchctl.signals.values import Line, Stamp

_DATE = rb"(\d{4})-(\d\d)-(\d\d)"
_TIME = rb"(\d\d):(\d\d):(\d\d)(?:[.,]\d{1,9})?"
_ISO = _DATE + rb"[T ]" + _TIME + rb"(Z|[+-]\d\d:?\d\d)"
_CRI = re.compile(_ISO + rb" (stdout|stderr) ([FP])(?::\S*)? ?")
_STAMPED = re.compile(_ISO + rb" ")
_COMPOSE = re.compile(rb"(?:\x1b\[[0-9;]*m)?([A-Za-z0-9][\w.-]{0,127}) +\| (?:\x1b\[[0-9;]*m)?(?:" + _ISO + rb" )?")
_SENDER = rb" \S{1,255} ([^\s:\[]{1,128})(?:\[(\d{1,10})\])?: "
_SHORT = re.compile(rb"(?:<\d{1,3}>)?([A-Z][a-z]{2}) {1,2}(\d{1,2}) " + _TIME + _SENDER)
_SHORT_ISO = re.compile(_DATE + rb"T" + _TIME + rb"(Z|[+-]\d\d:?\d\d)?" + _SENDER)
_SHORT_FULL = re.compile(rb"[A-Z][a-z]{2} " + _DATE + rb" " + _TIME + rb" ([A-Z]{1,5}|[+-]\d\d(?::?\d\d)?)" + _SENDER)
_MONTHS: Mapping[bytes, int] = {
    name: number
    for number, name in enumerate(
        (b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"), 1
    )
}
_DIGITS_OF_FRACTION = 1_000_000
_MOST_LOOKED_AT = 20
_LONGEST_TIME = 17
"""Digits of microseconds since 1970: to the year 5138."""


class Envelope(Enum):
    """What stands before the lines of a log."""

    PLAIN = "plain"
    DOCKER_JSON = "docker-json"
    JOURNAL_JSON = "journal-json"
    JOURNAL_EXPORT = "journal-export"
    CRI = "cri"
    SHORT_FULL = "short-full"
    SHORT_ISO = "short-iso"
    SHORT = "short"
    COMPOSE = "compose"
    STAMPED = "stamped"


def recognise(head: bytes) -> Envelope:
    """Return the envelope of a log from its first lines: the one that most of them wear."""
    lines = [line for line in head.split(b"\n")[:_MOST_LOOKED_AT] if line.strip(b"\0\r ")]
    if lines and lines[0].startswith(b"__CURSOR="):
        return Envelope.JOURNAL_EXPORT
    for envelope, read in _READERS.items():
        if lines and 2 * sum(read(line, 0) is not None for line in lines) >= len(lines):
            return envelope
    return Envelope.PLAIN


def unwrap(envelope: Envelope, raw: bytes, latest: int) -> Line | None:
    """Take the envelope off one line.

    Args:
        envelope: of the log.
        raw: the line, without its line feed.
        latest: seconds since 1970: when the log was last written, for dates without a year.

    Returns:
        The line; None: it does not wear this envelope.
    """
    reader = _READERS.get(envelope)
    return reader(raw, latest) if reader is not None else Line(text=raw.lstrip(b"\0"))


def _iso(groups: tuple[bytes, ...]) -> Stamp | None:
    year, month, day, hour, minute, second = map(int, groups[:6])
    return stamp_with_zone((year, month, day), (hour, minute, second), groups[6])


def _docker_json(raw: bytes, _: int) -> Line | None:
    if not raw.startswith(b'{"log":'):
        return None
    record = json_record(raw)
    text = record.get("log")
    if not isinstance(text, str):
        return None
    found = _STAMPED.match(f"{record.get('time')} ".encode("ascii", "replace"))
    return Line(
        text=_encoded(text.removesuffix("\n")),
        stamp=_iso(found.groups()) if found is not None else None,
        stream=str(record.get("stream")).encode("utf-8", "replace"),
        partial=not text.endswith("\n"),
    )


def _journal_json(raw: bytes, _: int) -> Line | None:
    if not raw.startswith(b"{") or b'"__REALTIME_TIMESTAMP"' not in raw:
        return None
    return journal_line(json_record(raw))


def journal_line(record: Mapping[str, object]) -> Line | None:
    """Return what an entry of the journal says; None: it has no message.

    Args:
        record: names of fields -> text, or, as ``journalctl -o json`` writes what is no text, a list of byte values.
    """
    text = record.get("MESSAGE")
    if isinstance(text, list):
        text = _from_numbers(text)
    if not isinstance(text, str):
        return None
    micro = record.get("__REALTIME_TIMESTAMP")
    second = None
    if isinstance(micro, str) and micro.isascii() and micro.isdecimal() and len(micro) <= _LONGEST_TIME:
        second = int(micro) // _DIGITS_OF_FRACTION
    unit = record.get("_SYSTEMD_UNIT") or record.get("CONTAINER_NAME") or record.get("SYSLOG_IDENTIFIER")
    pid = record.get("_PID")
    name = unit if isinstance(unit, str) else None
    return Line(
        text=_encoded(text),
        stamp=Stamp(second=second, utc=True) if second is not None else None,
        stream=_encoded(f"{name} {pid}"),
        name=name,
        pid=pid if isinstance(pid, str) else None,
    )


def _from_numbers(values: list[object]) -> str | None:
    try:
        return bytes(value for value in values if isinstance(value, int)).decode("utf-8", "surrogateescape")
    except ValueError:
        return None


def _encoded(text: str) -> bytes:
    """Bytes again; a lone surrogate that JSON spelled out is none of ours."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def _cri(raw: bytes, _: int) -> Line | None:
    found = _CRI.match(raw)
    if found is None:
        return None
    return Line(text=raw[found.end() :], stamp=_iso(found.groups()), stream=found[8], partial=found[9] == b"P")


def _stamped(raw: bytes, _: int) -> Line | None:
    found = _STAMPED.match(raw)
    return None if found is None else Line(text=raw[found.end() :], stamp=_iso(found.groups()))


def _compose(raw: bytes, _: int) -> Line | None:
    found = _COMPOSE.match(raw)
    if found is None:
        return None
    stamp = _iso(found.groups()[1:]) if found[2] is not None else None
    return Line(text=raw[found.end() :], stamp=stamp, stream=found[1], name=found[1].decode("ascii", "replace"))


def _short(raw: bytes, latest: int) -> Line | None:
    found = _SHORT.match(raw)
    if found is None or found[1] not in _MONTHS:
        return None
    time = int(found[3]), int(found[4]), int(found[5])
    return _sent(raw, found, stamp_without_year(_MONTHS[found[1]], int(found[2]), time, latest), 6)


def _short_iso(raw: bytes, _: int) -> Line | None:
    found = _SHORT_ISO.match(raw)
    return None if found is None else _sent(raw, found, _iso(found.groups()), 8)


def _short_full(raw: bytes, _: int) -> Line | None:
    found = _SHORT_FULL.match(raw)
    if found is None:
        return None
    groups = found.groups()
    # The name of a zone such as CST means more than one offset: then only the clock is known.
    known = groups[6] == b"UTC" or groups[6][:1] in b"+-"
    return _sent(raw, found, _iso((*groups[:6], groups[6] if known else b"")), 8)


def _sent(raw: bytes, found: re.Match[bytes], stamp: Stamp | None, group: int) -> Line:
    sender, pid = found[group], found[group + 1]
    return Line(
        text=raw[found.end() :],
        stamp=stamp,
        stream=sender + b" " + (pid or b""),
        name=sender.decode("utf-8", "surrogateescape"),
        pid=pid.decode("ascii") if pid else None,
    )


_READERS: Mapping[Envelope, Callable[[bytes, int], Line | None]] = {
    Envelope.DOCKER_JSON: _docker_json,
    Envelope.JOURNAL_JSON: _journal_json,
    Envelope.CRI: _cri,
    Envelope.SHORT_FULL: _short_full,
    Envelope.SHORT_ISO: _short_iso,
    Envelope.SHORT: _short,
    Envelope.COMPOSE: _compose,
    Envelope.STAMPED: _stamped,
}
