"""Whether an archive has one reading: its members fill the file from the first byte to the central directory.

A zip archive tells everything twice, in a header before each member and in the directory at its end, and readers differ
in what they believe: a program or another archive before it, a second end record, members that the directory does not
list (PyPI refuses such uploads, and uv such files; CVE-2025-54368). zipfile, and so pip, reads the directory alone.
What the names mean is in ``members``.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from patchctl.target.wheel.refusal import RefusedError

if TYPE_CHECKING:
    from zipfile import ZipInfo

MOST_MEMBERS = 200_000
LARGEST_DIRECTORY = 64 << 20
"""Bytes of the central directory, which zipfile holds in memory whole."""

_END = struct.Struct("<4sHHHHLLH")
_WIDE_END = struct.Struct("<4sQHHLLQQQQ")
_LOCATOR = struct.Struct("<4sLQL")
_LOCAL = struct.Struct("<4sHHHHHLLLHH")
_CENTRAL = struct.Struct("<4s24xHHHH10x")
_WIDE_BODY = _WIDE_END.size - 12
_DESCRIPTOR_FLAG = 0x8
_LONGEST_DESCRIPTOR = 24
_NO_SHORT, _NO_LONG = 0xFFFF, 0xFFFFFFFF
_MARKERS = (_NO_SHORT, _NO_LONG, _NO_LONG)
"""What stands in the end record where the wide one has the number."""
_WIDE_FIELD = 1


class Frame(NamedTuple):
    """The central directory, as the end of the file tells it: how many members, and where it begins."""

    members: int
    offset: int


def read_frame(stream: BinaryIO) -> Frame | None:
    """Return where the central directory is; None: the end record is not at the very end, if there is one at all.

    Raises:
        RefusedError: what stands there says two things, or there is too much of it.
    """
    fd = stream.fileno()
    at = os.fstat(fd).st_size - _END.size
    data = os.pread(fd, _END.size, at) if at >= 0 else b""
    if len(data) != _END.size or not data.startswith(b"PK\5\6"):
        return None
    _, disk, its_disk, here, count, size, offset, comment = _END.unpack(data)
    if comment or disk or its_disk or here != count:
        raise RefusedError("its end has a comment that is not there, or names other disks")
    wide = _wide_frame(fd, at)
    if wide is not None:
        at, own = wide
        told = (count, size, offset)
        if any(it not in (its_own, most) for it, its_own, most in zip(told, own, _MARKERS, strict=True)):
            raise RefusedError("its two end records disagree")
        count, size, offset = own
    if count > MOST_MEMBERS or size > LARGEST_DIRECTORY:
        limits = f"{MOST_MEMBERS} members, or a directory of more than {LARGEST_DIRECTORY} bytes"
        raise RefusedError(f"it has more than {limits}")
    if offset + size != at:
        raise RefusedError("it is not the whole file: something stands before it, or within")
    # zipfile makes an object of each that is there, however many the end record says.
    if _count(os.pread(fd, size, offset)) != count:
        raise RefusedError("its directory has not as many members as its end says")
    return Frame(members=count, offset=offset)


def _count(directory: bytes) -> int | None:
    """How many members a central directory has; None: it is none, or names other disks."""
    count = at = 0
    while at < len(directory):
        if not directory.startswith(b"PK\1\2", at) or len(directory) - at < _CENTRAL.size:
            return None
        _, name, extra, comment, disk = _CENTRAL.unpack_from(directory, at)
        if disk:
            return None
        at += _CENTRAL.size + name + extra + comment
        count += 1
    return count if at == len(directory) else None


def _wide_frame(fd: int, at: int) -> tuple[int, tuple[int, int, int]] | None:
    """The end record of 64 bits before the one at ``at``: where it begins, and its count, size and offset."""
    where = at - _LOCATOR.size
    data = os.pread(fd, _LOCATOR.size, where) if where >= 0 else b""
    if not data.startswith(b"PK\6\7"):
        return None
    _, disk, told, disks = _LOCATOR.unpack(data)
    at = where - _WIDE_END.size
    data = os.pread(fd, _WIDE_END.size, at) if at >= 0 else b""
    if disk or disks != 1 or told != at or not data.startswith(b"PK\6\6"):
        raise RefusedError("its end record of 64 bits is not where it should be")
    _, body, _, _, disk, its_disk, here, count, size, offset = _WIDE_END.unpack(data)
    if body != _WIDE_BODY or disk or its_disk or here != count:
        raise RefusedError("its end record of 64 bits has more in it, or names other disks")
    return at, (count, size, offset)


def check_layout(stream: BinaryIO, frame: Frame, entries: Sequence[ZipInfo]) -> None:
    """Hold every member's own header against the directory, and see that nothing lies between them.

    Args:
        stream: the archive.
        frame: its directory.
        entries: of the directory; their names are ASCII or UTF-8.

    Raises:
        RefusedError: both say different things, or something lies between.
    """
    ordered = sorted(entries, key=lambda entry: entry.header_offset)
    starts = [*(entry.header_offset for entry in ordered), frame.offset]
    if starts[0] != 0:
        raise RefusedError("something stands before its first member")
    fd = stream.fileno()
    for entry, (start, end) in zip(ordered, pairwise(starts), strict=True):
        problem = _entry_problem(fd, entry, start, end)
        if problem is not None:
            raise RefusedError(f"{entry.filename}: {problem}")


def _entry_problem(fd: int, entry: ZipInfo, start: int, end: int) -> str | None:
    name = entry.filename.encode()
    data = os.pread(fd, _LOCAL.size + len(name), start)
    if len(data) < _LOCAL.size or not data.startswith(b"PK\3\4"):
        return "there is no such member where the directory says"
    _, _, flags, method, _, _, crc, packed, size, name_length, extra_length = _LOCAL.unpack_from(data)
    if (flags, method) != (entry.flag_bits, entry.compress_type) or data[_LOCAL.size :] != name:
        return "its own header has another name, packing or flag than the directory"
    if name_length != len(name):
        return "its own header has another name than the directory"
    begin = start + _LOCAL.size + name_length
    if _NO_LONG in (packed, size):
        packed, size = _wide_sizes(os.pread(fd, extra_length, begin), packed, size)
    true = (entry.CRC, entry.compress_size, entry.file_size)
    later = bool(flags & _DESCRIPTOR_FLAG)
    if (crc, packed, size) != true and not (later and not any((crc, packed, size))):
        return "its own header has another size or checksum than the directory"
    begin += extra_length + entry.compress_size
    if not later:
        return None if begin == end else "something lies between it and what follows"
    if not 0 <= end - begin <= _LONGEST_DESCRIPTOR or os.pread(fd, end - begin, begin) not in _descriptors(true):
        return "what follows it is not its size and checksum"
    return None


def _wide_sizes(extra: bytes, packed: int, size: int) -> tuple[int, int]:
    """The sizes of 64 bits in a member's extra field, which has those alone that do not fit the header."""
    while len(extra) >= 4:  # noqa: PLR2004  # two numbers of 16 bits
        kind, length = struct.unpack_from("<HH", extra)
        body, extra = extra[4 : 4 + length], extra[4 + length :]
        if kind == _WIDE_FIELD:
            numbers = [int.from_bytes(body[at : at + 8], "little") for at in range(0, len(body), 8)]
            if size == _NO_LONG and numbers:
                size = numbers.pop(0)
            if packed == _NO_LONG and numbers:
                packed = numbers.pop(0)
            break
    return packed, size


def _descriptors(true: tuple[int, int, int]) -> set[bytes]:
    """What may follow a member's data: its checksum and sizes, with a signature or without, in 32 bits or 64."""
    forms = [struct.pack("<LQQ", *true)]
    if max(true) <= _NO_LONG:
        forms.append(struct.pack("<LLL", *true))
    return {signature + form for form in forms for signature in (b"", b"PK\7\10")}
