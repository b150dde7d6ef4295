"""Zip archives byte by byte: every field of both headers can be told otherwise, which no library would write."""

from __future__ import annotations

import stat
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

UTF8 = 0x800
DESCRIPTOR = 0x8
FILE = stat.S_IFREG | 0o644
ZIP64 = 0xFFFFFFFF
_UNIX = 3


class Entry(NamedTuple):
    """One member.

    Attributes:
        name: in the central directory, and in the local header unless that says otherwise.
        data: what it unpacks to.
        mode: Unix mode with the file type.
        deflated: packed, else stored.
        descriptor: sizes and checksum follow the data; the local header has none.
        zip64: sizes are in the extra field.
        flags: beside that of UTF-8, which every name that is not ASCII gets.
        utf8: False: the name is left in doubt.
        extra: extra field of both headers.
        local: fields of the local header that are not true: ``name``, ``method``, ``flags``, ``crc``, ``packed``,
            ``size``, ``extra``.
        central: the same of the central directory, with ``offset``, ``attributes`` and ``system``.
        packed: the packed bytes themselves; None: made from ``data``.
    """

    name: bytes
    data: bytes
    mode: int = FILE
    deflated: bool = True
    descriptor: bool = False
    zip64: bool = False
    flags: int = 0
    utf8: bool = True
    extra: bytes = b""
    local: Mapping[str, int | bytes] = {}  # never changed
    central: Mapping[str, int | bytes] = {}
    packed: bytes | None = None


def raw_zip(
    entries: Sequence[Entry],
    *,
    before: bytes = b"",
    hidden: bytes = b"",
    comment: bytes = b"",
    after: bytes = b"",
    end: Mapping[str, int] | None = None,
    zip64_end: Mapping[str, int] | None = None,
    relative: bool = True,
) -> bytes:
    """Return an archive.

    Args:
        entries: the members, in this order in both places.
        before: what stands before the first member.
        hidden: what stands between the last member and the central directory.
        comment: of the archive.
        after: what stands behind the end.
        end: fields of the end record that are not true: ``count``, ``size``, ``offset``, ``disk``, ``comment``.
        zip64_end: a second end record with sizes of 64 bits: fields that are not true, as of ``end``.
        relative: offsets count from the first member, not from the beginning of the file.
    """
    out, places = bytearray(before), []
    base = len(before) if relative else 0
    for entry in entries:
        places.append(len(out) - base)
        out += _local(entry)
    out += hidden
    start = len(out) - base
    for entry, place in zip(entries, places, strict=True):
        out += _central(entry, place)
    size = len(out) - base - start
    if zip64_end is not None:
        at = len(out)
        true = {"count": len(entries), "size": size, "offset": start, "at": at - base, "disks": 1} | dict(zip64_end)
        numbers = true["count"], true["count"], true["size"], true["offset"]
        out += struct.pack("<4sQHHLLQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, *numbers)
        out += struct.pack("<4sLQL", b"PK\6\7", 0, true["at"], true["disks"])
    said = {"count": len(entries), "size": size, "offset": start, "disk": 0, "comment": len(comment)} | dict(end or {})
    fields = said["disk"], said["disk"], said["count"], said["count"], said["size"], said["offset"], said["comment"]
    out += struct.pack("<4sHHHHLLH", b"PK\5\6", *fields)
    return bytes(out + comment + after)


def unicode_path(name: bytes, says: bytes) -> bytes:
    """Return an extra field that gives a member another name than its header does (Info-ZIP's 0x7075)."""
    body = b"\1" + zlib.crc32(name).to_bytes(4, "little") + says
    return struct.pack("<HH", 0x7075, len(body)) + body


def _packed(entry: Entry) -> bytes:
    if entry.packed is not None:
        return entry.packed
    if not entry.deflated:
        return entry.data
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return packer.compress(entry.data) + packer.flush()


def _fields(entry: Entry, other: Mapping[str, int | bytes], *, local: bool) -> dict[str, int | bytes]:
    packed = _packed(entry)
    flags = entry.flags | (UTF8 if entry.utf8 and not entry.name.isascii() else 0)
    fields: dict[str, int | bytes] = {
        "name": entry.name,
        "extra": entry.extra,
        "flags": flags | (DESCRIPTOR if entry.descriptor else 0),
        "method": 8 if entry.deflated else 0,
        "crc": zlib.crc32(entry.data),
        "packed": len(packed),
        "size": len(entry.data),
    }
    if local and entry.descriptor:
        fields |= {"crc": 0, "packed": 0, "size": 0}
    elif entry.zip64:
        wide = struct.pack("<HHQQ", 1, 16, len(entry.data), len(packed))
        fields |= {"packed": ZIP64, "size": ZIP64, "extra": wide + entry.extra}
    return fields | dict(other)


def _local(entry: Entry) -> bytes:
    fields = _fields(entry, entry.local, local=True)
    name, extra = fields["name"], fields["extra"]
    assert isinstance(name, bytes)
    assert isinstance(extra, bytes)
    numbers = fields["flags"], fields["method"], 0, 33, fields["crc"], fields["packed"], fields["size"]
    head = struct.pack("<4sHHHHHLLLHH", b"PK\3\4", 20, *numbers, len(name), len(extra))
    tail = b""
    if entry.descriptor:
        tail = struct.pack("<4sLLL", b"PK\7\10", zlib.crc32(entry.data), len(_packed(entry)), len(entry.data))
    return head + name + extra + _packed(entry) + tail


def _central(entry: Entry, place: int) -> bytes:
    fields = _fields(entry, {"offset": place, "attributes": entry.mode << 16, "system": _UNIX}, local=False)
    fields |= dict(entry.central)
    name, extra, system = fields["name"], fields["extra"], fields["system"]
    assert isinstance(name, bytes)
    assert isinstance(extra, bytes)
    assert isinstance(system, int)
    numbers = fields["flags"], fields["method"], 0, 33, fields["crc"], fields["packed"], fields["size"]
    sizes = len(name), len(extra), 0, 0, 0
    head = struct.pack(
        "<4sBBHHHHHLLLHHHHHLL",
        b"PK\1\2", 20, system, 20, *numbers, *sizes, fields["attributes"], fields["offset"],
    )  # fmt: skip
    return head + name + extra
