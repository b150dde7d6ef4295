"""Wheels of an attacker, each with one trick; what pip makes of them is the measure (see ``test_wheel_tricks``)."""

from __future__ import annotations

import base64
import hashlib
import stat
import unicodedata
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.raw_zip import Entry, raw_zip, unicode_path
from tests.sites import record_bytes, record_row

BUILD = "0.25.1"
STEM = f"vllm-{BUILD}"
INFO = f"{STEM}.dist-info"
DATA = f"{STEM}.data"
FILE_NAME = f"{STEM}-py3-none-any.whl"
ONE = "vllm/one.py"
METADATA = f"Metadata-Version: 2.1\nName: vllm\nVersion: {BUILD}\n".encode()
WHEEL = b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
NOTES = [
    record_row(f"{INFO}/METADATA", METADATA),
    record_row(f"{INFO}/WHEEL", WHEEL),
    (f"{INFO}/RECORD", "", ""),
]
"""RECORD's rows of dist-info."""

Rows = Sequence[tuple[str, str, str]]


class Trick(NamedTuple):
    """One wheel.

    Attributes:
        name: what it tries.
        data: the archive.
        file: its name.
        refused: what patchctl must say; None: it reads the wheel as pip installs it.
        also_read: why patchctl reads what pip refuses.
    """

    name: str
    data: bytes
    file: str = FILE_NAME
    refused: str | None = None
    also_read: str | None = None


def member(name: str | bytes, data: bytes, **more: object) -> Entry:
    """Return a member; ``more`` as of :class:`tests.raw_zip.Entry`."""
    return Entry(name.encode("utf-8", "surrogateescape") if isinstance(name, str) else name, data)._replace(**more)  # type: ignore[arg-type]


def packed(
    members: Sequence[Entry],
    *,
    info: str = INFO,
    metadata: bytes | None = METADATA,
    wheel: bytes | None = WHEEL,
    rows: Rows | None = None,
    record: bytes | None = None,
    instead: Callable[[list[Entry]], list[Entry]] = lambda whole: whole,
    **archive: object,
) -> bytes:
    """Return a wheel of vLLM: the members, then dist-info.

    Args:
        members: in this order.
        info: name of the dist-info directory.
        metadata: None: there is none.
        wheel: None: there is none.
        rows: RECORD's rows; None: those of the members.
        record: RECORD's bytes; None: made from ``rows``.
        instead: changes the list of all members at the end.
        archive: as of :func:`tests.raw_zip.raw_zip`.
    """
    whole = list(members)
    for name, data in (("METADATA", metadata), ("WHEEL", wheel)):
        if data is not None:
            whole.append(member(f"{info}/{name}", data))
    if rows is None:
        named = {entry.name.decode("utf-8", "replace"): entry.data for entry in whole if not entry.name.endswith(b"/")}
        rows = [record_row(name, data) for name, data in named.items()] + [(f"{info}/RECORD", "", "")]
    whole.append(member(f"{info}/RECORD", record_bytes(rows, crlf=False) if record is None else record))
    return raw_zip(instead(whole), **archive)  # type: ignore[arg-type]


def with_row(path: str, digest: str, size: str = "") -> bytes:
    """Return a wheel of one file whose row in RECORD is this one."""
    return packed([member(ONE, b"one = 1\n")], rows=[(path, digest, size), *NOTES])


def digest(data: bytes, algorithm: str = "sha256") -> str:
    """Return the hash column of a row, whatever the algorithm."""
    found = hashlib.new(algorithm, data).digest()
    return f"{algorithm}={base64.urlsafe_b64encode(found).rstrip(b'=').decode()}"


A, B = b"a = 1\n", b"b = 2\n"
UNSAFE, UNREADABLE, WRONG = "unsafe-wheel", "unreadable-wheel", "wrong-record"
ASKED = UNSAFE
"""Only where the path is asked for: an environment has another place for it."""
DECOMPOSED = unicodedata.normalize("NFD", "vllm/é.py")


def pair(first: str, second: str, name: str, refused: str | None = UNSAFE, **more: object) -> list[Trick]:
    """Return two members in both orders."""
    return [
        Trick(name, packed([member(first, A), member(second, B, **more)]), refused=refused),
        Trick(f"{name}, the other way round", packed([member(second, B, **more), member(first, A)]), refused=refused),
    ]


def one(name: str, path: str | bytes, refused: str | None = UNSAFE, data: bytes = B, **more: object) -> Trick:
    """Return a wheel with one member beside a harmless one."""
    return Trick(name, packed([member(ONE, A), member(path, data, **more)]), refused=refused)


def placed() -> list[Trick]:
    """Two members for one path, by way of ``.data``."""
    other = "vllm-0.25.2.data"
    return [
        *pair(ONE, f"{DATA}/purelib/{ONE}", "purelib over the package"),
        *pair(ONE, f"{DATA}/platlib/{ONE}", "platlib over the package"),
        *pair(f"{DATA}/platlib/{ONE}", f"{DATA}/purelib/{ONE}", "platlib and purelib"),
        *pair(ONE, f"{DATA}/data/lib/python/{ONE}", "data over the package, by --target's own scheme"),
        *pair(ONE, f"{DATA}/data/lib/python3.11/site-packages/{ONE}", "data over the package, by a venv's scheme"),
        *pair(ONE, f"{DATA}/data/lib/python3/dist-packages/{ONE}", "data over the package, by Debian's scheme"),
        *pair(ONE, f"{DATA}/data/lib64/python3.11/site-packages/{ONE}", "data over the package, by way of lib64"),
        one("data beside a module, compiled", f"{DATA}/data/lib/python/vllm/one.cpython-311-x86_64-linux-gnu.so"),
        one("data over dist-info", f"{DATA}/data/lib/python/{INFO}/METADATA"),
        one("data as a package beside", f"{DATA}/data/vllm/two.py", ASKED),
        one("data as a package of its own", f"{DATA}/data/other/two.py", ASKED),
        one("data elsewhere", f"{DATA}/data/etc/vllm.conf", ASKED),
        one("purelib beside the package", f"{DATA}/purelib/vllm/two.py", None),
        one("platlib with a package of its own", f"{DATA}/platlib/other/two.py", None),
        one("a script", f"{DATA}/scripts/tool", ASKED, data=b"#!python\nprint()\n"),
        one("a script called as a package", f"{DATA}/scripts/vllm", ASKED),
        one("a header", f"{DATA}/headers/vllm.h", None),
        one("a header beside the site", f"{DATA}/headers/python/vllm/one.py", None),
        one("an unknown scheme", f"{DATA}/stdlib/os.py"),
        one("no scheme", f"{DATA}/two.py"),
        one("a file called purelib", f"{DATA}/purelib"),
        one("a file called scripts", f"{DATA}/scripts"),
        one("a file that is called as a data directory", "two.data"),
        one("another's data directory", "other-1.data/purelib/vllm/two.py"),
        *pair(f"{DATA}/purelib/vllm/two.py", f"{other}/purelib/vllm/two.py", "data directories of two versions"),
        one("the data directory in other case", f"{DATA.upper()}/purelib/vllm/two.py", None),
        one("the data directory in another spelling", f"VLLM-{BUILD}.data/purelib/vllm/two.py"),
        one("data in the middle of a name", f"vllm/{DATA}/purelib/two.py", None),
        Trick("a purelib wheel that is none", packed([member(ONE, A)], wheel=WHEEL.replace(b"true", b"false"))),
        Trick("a file only in platlib", packed([member(f"{DATA}/platlib/{ONE}", A)])),
    ]


def named() -> list[Trick]:
    """Names that climb out, or that another reader reads otherwise."""
    return [
        *pair(ONE, ONE, "a member twice with other bytes"),
        Trick("a member twice", packed([member(ONE, A), member(ONE, A)]), refused=UNSAFE),
        *pair(ONE, "vllm/ONE.py", "names that differ in case", None),
        *pair("vllm/é.py", DECOMPOSED, "names that differ in their normal form", None),
        *pair(ONE, f"{ONE}/", "a directory called as a file", UNSAFE),
        *pair(ONE, f"./{ONE}", "a dot before"),
        *pair(ONE, "vllm/./one.py", "a dot within"),
        *pair(ONE, "vllm//one.py", "an empty part"),
        *pair(ONE, f"vllm/sub/../{ONE[5:]}", "up and down again"),
        one("up", "../two.py"),
        one("up from within", "vllm/../../two.py"),
        one("up from purelib", f"{DATA}/purelib/../two.py"),
        one("up from a scheme into another", f"{DATA}/scripts/../purelib/two.py"),
        one("up from the data directory", f"{DATA}/../vllm/two.py"),
        one("absolute", "/vllm/two.py"),
        one("absolute in a scheme", f"{DATA}/purelib//etc/two.py"),
        one("a backslash", "vllm\\two.py"),
        one("a drive", "C:two.py", None),
        one("a drive and a backslash", "C:\\two.py"),
        one("a NUL", b"vllm/two.py\0.txt"),
        one("a control character", "vllm/two\x01.py"),
        one("a line end", "vllm/two\n.py"),
        one("a delete", "vllm/two\x7f.py", None),
        one("a bidirectional control", "vllm/two\u202e.py", None),
        one("blanks around", " vllm/two.py ", None),
        one("no name", b""),
        one("a name of 255 bytes", "vllm/" + "a" * 255, None),
        one("a name of 256 bytes", "vllm/" + "a" * 256),
        one("a path of 5,000 bytes", "vllm/" + "a/" * 2500 + "x"),
        one("no UTF-8 under its flag", b"vllm/\xff\xfe.py", UNREADABLE),
        one("the old code page", "vllm/é.py".encode("cp437"), UNSAFE, utf8=False),
        one("UTF-8 without its flag", "vllm/é.py", UNSAFE, utf8=False),
        one("another name in an extra field", "vllm/two.py", extra=unicode_path(b"vllm/two.py", b"vllm/three.py")),
        one("a file below a file", f"{ONE}/two.py"),
        one("a file below a file, by way of purelib", f"{DATA}/purelib/{ONE}/two.py"),
        one("a file where dist-info is", f"{DATA}/purelib/{INFO}/WHEEL/x"),
        one("a script below a directory", f"{DATA}/scripts/tool/x", ASKED),
        Trick(
            "a script and one below it",
            packed([member(ONE, A), member(f"{DATA}/scripts/tool", B), member(f"{DATA}/scripts/tool/x", B)]),
            refused=UNSAFE,
        ),
    ]


def moded() -> list[Trick]:
    """What is no file, and bits that nobody should get."""
    return [
        one("a link", "vllm/two.py", UNSAFE, mode=stat.S_IFLNK | 0o777, data=b"/etc/passwd"),
        one("a link for a directory", "vllm/sub", UNSAFE, mode=stat.S_IFLNK | 0o777, data=b"/etc"),
        one("a FIFO", "vllm/two.py", UNSAFE, mode=stat.S_IFIFO | 0o644),
        one("a device", "vllm/two.py", UNSAFE, mode=stat.S_IFCHR | 0o666),
        one("a block device", "vllm/two.py", UNSAFE, mode=stat.S_IFBLK | 0o666),
        one("a socket", "vllm/two.py", UNSAFE, mode=stat.S_IFSOCK | 0o666),
        one("an unheard kind", "vllm/two.py", UNSAFE, mode=0o030644),
        one("set-user-id", "vllm/two.py", None, mode=stat.S_IFREG | 0o6755),
        one("sticky, and nothing for anybody", "vllm/two.py", None, mode=stat.S_IFREG | 0o1000),
        one("executable for others only", "vllm/two.py", None, mode=stat.S_IFREG | 0o001),
        one("no mode", "vllm/two.py", None, mode=0),
        one("permissions without a kind", "vllm/two.py", None, mode=0o755),
        one("executable, by another system", "vllm/two.py", None, mode=stat.S_IFREG | 0o755, central={"system": 0}),
        one("a directory's mode", "vllm/two.py", UNSAFE, mode=stat.S_IFDIR | 0o755),
        one("a directory's flag", "vllm/two.py", UNSAFE, central={"attributes": 0x10}),
        one("a directory with content", "vllm/sub/", UNSAFE),
        one("a directory with a file's mode", "vllm/sub/", UNSAFE, data=b""),
        one("a directory", "vllm/sub/", None, data=b"", mode=stat.S_IFDIR | 0o755),
        one("a directory that climbs out", "../sub/", UNSAFE, data=b"", mode=stat.S_IFDIR | 0o755),
        one("executable, in data", f"{DATA}/purelib/vllm/two.py", None, mode=stat.S_IFREG | 0o755),
    ]


def framed() -> list[Trick]:
    """Archives that two readers read otherwise."""
    two = "vllm/two.py"
    plain = packed([member(ONE, A, deflated=False)])
    end = plain.index(b"PK\5\6")
    other = packed([member(ONE, B, deflated=False)])
    bad = zlib.crc32(B) ^ 1
    return [
        one("a descriptor", two, None, descriptor=True),
        one("sizes of 64 bits", two, None, zip64=True),
        Trick("an end record of 64 bits", packed([member(ONE, A)], zip64_end={})),
        Trick("two end records that disagree", packed([member(ONE, A)], zip64_end={"count": 1}), refused=UNSAFE),
        Trick("an end record elsewhere", packed([member(ONE, A)], zip64_end={"at": 7}), refused=UNSAFE),
        Trick("an end record of two disks", packed([member(ONE, A)], zip64_end={"disks": 2}), refused=UNSAFE),
        one("another name in the local header", two, UNSAFE, local={"name": b"vllm/TWO.py"}),
        one("another size in the local header", two, UNSAFE, local={"size": 3}),
        one("another packed size in the local header", two, UNSAFE, local={"packed": 3}),
        one("another checksum in the local header", two, UNSAFE, local={"crc": 1}),
        one("another method in the local header", two, UNSAFE, local={"method": 0}),
        one("other flags in the local header", two, UNSAFE, local={"flags": 8}),
        one("a wrong checksum", two, UNREADABLE, local={"crc": bad}, central={"crc": bad}),
        one("a size that is too small", two, UNREADABLE, local={"size": 3}, central={"size": 3}),
        one("a size that is too large", two, UNSAFE, local={"size": 99}, central={"size": 99}),
        one("an entry that is another's", two, UNSAFE, central={"offset": 0}),
        one("an entry behind the end", two, UNSAFE, central={"offset": 1 << 20}),
        one("encrypted", two, UNSAFE, flags=1),
        one("encrypted in the local header", two, UNSAFE, local={"flags": 1}),
        one("strongly encrypted", two, UNSAFE, flags=0x41),
        one("a patch of the archive", two, UNSAFE, flags=0x20),
        *(
            one(f"packed by method {method}", two, UNSAFE, local={"method": method}, central={"method": method})
            for method in (1, 9, 12, 14, 93, 99)
        ),
        one("no deflated data", two, UNREADABLE, packed=b"\xff\xff\xff\xff"),
        one("deflated data that goes on", two, None, packed=_deflated(B) + b"more"),
        Trick("a program before it", b"#!/bin/sh\nexit\n" + plain, refused=UNSAFE),
        Trick("a program before it, counted", packed([member(ONE, A)], before=b"MZ", relative=False), refused=UNSAFE),
        Trick("another archive before it", other + plain, refused=UNSAFE),
        Trick("another archive behind it", plain + other, refused=UNSAFE),
        Trick("something behind it", plain + b"\0", refused=UNSAFE),
        Trick("a comment", packed([member(ONE, A)], comment=b"hello"), refused=UNSAFE),
        Trick(
            "an archive in its comment",
            packed([member(ONE, A)], comment=other),
            refused=UNSAFE,
        ),
        Trick("an end in its comment", plain[:end] + plain[end:-2] + b"\x16\0" + plain[end:], refused=UNSAFE),
        Trick("a hidden member", packed([member(ONE, A)], hidden=_hidden()), refused=UNSAFE),
        Trick("something hidden", packed([member(ONE, A)], hidden=b"payload"), refused=UNSAFE),
        Trick("too few members", packed([member(ONE, A), member(two, B)], end={"count": 3}), refused=UNSAFE),
        Trick("too many members", packed([member(ONE, A)], end={"count": 9}), refused=UNSAFE),
        Trick("a directory that begins elsewhere", packed([member(ONE, A)], end={"offset": 3}), refused=UNSAFE),
        Trick("a directory that is longer", packed([member(ONE, A)], end={"size": 9999}), refused=UNSAFE),
        Trick("a directory that is shorter", packed([member(ONE, A)], end={"size": 60}), refused=UNSAFE),
        Trick("another disk", packed([member(ONE, A)], end={"disk": 1}), refused=UNSAFE),
        Trick("a comment that is not there", packed([member(ONE, A)], end={"comment": 9}), refused=UNSAFE),
        Trick("an empty archive", raw_zip([]), refused=UNSAFE),
        Trick("no archive", b"no archive", refused=UNREADABLE),
        Trick("nothing", b"", refused=UNREADABLE),
    ]


def _deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def _hidden() -> bytes:
    whole = raw_zip([member("vllm/two.py", B)])
    return whole[: whole.index(b"PK\1\2")]


def recorded() -> list[Trick]:
    """A RECORD that is not true. pip asks it for nothing, so that refusing is all there is to do."""
    right = record_row(ONE, b"one = 1\n")
    last = NOTES[-1]

    def rows(*some: tuple[str, str, str]) -> bytes:
        return packed([member(ONE, b"one = 1\n")], rows=[*some, *NOTES[:-1]])

    return [
        Trick("no row", rows(last), refused=WRONG),
        Trick("no hash", rows((ONE, "", ""), last), refused=WRONG),
        Trick("no RECORD row", rows(right)),
        Trick("the hash of other bytes", with_row(ONE, digest(b"other")), refused=WRONG),
        Trick("MD5", with_row(ONE, digest(b"one = 1\n", "md5")), refused=WRONG),
        Trick("SHA-1", with_row(ONE, digest(b"one = 1\n", "sha1")), refused=WRONG),
        Trick("SHA-512", with_row(ONE, digest(b"one = 1\n", "sha512")), refused=WRONG),
        Trick("padding", with_row(ONE, right[1] + "=")),
        Trick(
            "hexadecimal",
            with_row(ONE, f"sha256={hashlib.sha256(b'one = 1' + bytes([10])).hexdigest()}"),
            refused=WRONG,
        ),
        Trick("upper case", with_row(ONE, right[1].replace("sha256", "SHA256")), refused=WRONG),
        Trick("a wrong size", with_row(ONE, right[1], "7")),
        Trick("no number for a size", with_row(ONE, right[1], "x")),
        Trick("quotes", packed([member("vllm/a,b.py", A), member('vllm/"c".py', B)])),
        Trick("another spelling of the path", with_row(f"./{ONE}", right[1]), refused=WRONG),
        Trick("a backslash in the path", with_row(ONE.replace("/", "\\"), right[1]), refused=WRONG),
        Trick("a row for no file", rows(right, ("vllm/gone.py", right[1], ""), last)),
        Trick("a row far away", rows(right, ("../../../etc/x", right[1], ""), ("/etc/y", "", ""), last)),
        Trick("two rows", rows(right, right, last)),
        Trick("two rows that disagree", rows((ONE, digest(b"other"), ""), right, last), refused=WRONG),
        Trick("two rows that disagree, the other way", rows(right, (ONE, digest(b"other"), ""), last), refused=WRONG),
        Trick("a hash for RECORD", rows(right, (f"{INFO}/RECORD", digest(b"x"), "1"))),
        Trick("RECORD twice", packed([member(ONE, A), member(f"{INFO}/RECORD", b"")]), refused=UNSAFE),
        Trick(
            "signatures",
            packed([member(ONE, A), member(f"{INFO}/RECORD.jws", b"{}"), member(f"{INFO}/RECORD.p7s", b"x")]),
        ),
        Trick("an open quote", packed([member(ONE, A)], record=b'"vllm/one.py,,\n'), refused=WRONG),
        Trick("no text", packed([member(ONE, A)], record=b"\xff\xfe,,\n"), refused=WRONG),
        Trick("a NUL", packed([member(ONE, A)], record=b"vllm/\0,,\n"), refused=WRONG),
        Trick("an empty RECORD", packed([member(ONE, A)], record=b""), refused=WRONG),
        Trick("no RECORD at all", packed([member(ONE, A)], instead=lambda whole: whole[:-1]), refused=WRONG),
        Trick(
            "RECORD in other case",
            packed(
                [member(ONE, A)],
                instead=lambda whole: [*whole[:-1], whole[-1]._replace(name=f"{INFO}/record".encode())],
            ),
            refused=WRONG,
        ),
    ]


def told() -> list[Trick]:
    """Names, versions and formats that disagree."""
    second = [
        member(ONE, A),
        member("second-1.dist-info/METADATA", b"Metadata-Version: 2.1\nName: second\nVersion: 1\n"),
    ]

    def metadata(data: bytes | None, refused: str | None = UNSAFE, name: str = "") -> Trick:
        return Trick(name or f"METADATA {data!r}"[:60], packed([member(ONE, A)], metadata=data), refused=refused)

    def wheel(data: bytes | None, refused: str | None = UNSAFE) -> Trick:
        return Trick(f"WHEEL {data!r}"[:80], packed([member(ONE, A)], wheel=data), refused=refused)

    def info(name: str, refused: str | None = UNSAFE) -> Trick:
        return Trick(f"dist-info called {name}", packed([member(ONE, A)], info=name), refused=refused)

    def file(name: str, refused: str | None = UNSAFE, also_read: str | None = None) -> Trick:
        return Trick(
            f"a wheel called {name}", packed([member(ONE, A)]), file=name, refused=refused, also_read=also_read
        )

    tags = "whether tags fit an interpreter is not judged"
    version = f"Version: {BUILD}".encode()
    return [
        Trick("two dist-infos", packed(second), refused=UNSAFE),
        Trick(
            "an empty second dist-info",
            packed([member(ONE, A), member("second-1.dist-info/", b"", mode=stat.S_IFDIR | 0o755)]),
            refused=UNSAFE,
        ),
        Trick(
            "a file called as a dist-info", packed([member(ONE, A), member("second-1.dist-info", b"")]), refused=UNSAFE
        ),
        Trick(
            "a second dist-info by way of purelib",
            packed(
                [
                    member(ONE, A),
                    member(f"{DATA}/purelib/second-1.dist-info/METADATA", METADATA.replace(b"vllm", b"second")),
                ]
            ),
            refused=UNSAFE,
        ),
        Trick(
            "a file for dist-info by way of purelib",
            packed([member(ONE, A), member(f"{DATA}/purelib/{INFO}/top_level.txt", b"x\n")]),
            refused=None,
        ),
        info("vllm-0.25.2.dist-info"),
        info(f"torch-{BUILD}.dist-info"),
        info("vllm.dist-info"),
        info(f"VLLM-{BUILD}.dist-info", None),
        info(f"vllm-{BUILD}.DIST-INFO"),
        info(f"vllm-{BUILD}-1.dist-info"),
        info(f"vllm_x-{BUILD}.dist-info"),
        metadata(None, name="no METADATA"),
        metadata(b""),
        metadata(METADATA.replace(b"vllm", b"torch")),
        metadata(METADATA.replace(BUILD.encode(), b"0.25.2")),
        metadata(METADATA.replace(b"vllm", b"VLLM"), None),
        metadata(METADATA.replace(b"Name: vllm\n", b"Name: vllm\nName: torch\n")),
        metadata(METADATA.replace(b"Name: vllm\n", b"Name: torch\nName: vllm\n")),
        metadata(METADATA + version + b".post1\n"),
        metadata(METADATA.replace(b"Name: vllm\n", b"Summary: x\rName: torch\nName: vllm\n")),
        metadata(METADATA.replace(b"Name: vllm\n", b"no header\nName: vllm\n")),
        metadata(METADATA.replace(b"Name: vllm\n", b"Name: vllm\n torch\n")),
        metadata(METADATA.replace(b"Name:", b"Name :")),
        metadata(METADATA.replace(b"Name:", b"NAME:"), None),
        metadata(b"\n" + METADATA),
        metadata(METADATA.replace(b"\n", b"\r\n"), None),
        metadata(METADATA.replace(b"Name: vllm", b"Name: vllm\xff")),
        metadata(METADATA + b"Author: \xff\xfe\n\nbody \xff\n", name="bytes that are no text in METADATA"),
        metadata(b"\xef\xbb\xbf" + METADATA),
        wheel(None),
        wheel(b""),
        wheel(WHEEL.replace(b"1.0", b"2.0")),
        wheel(WHEEL.replace(b"1.0", b"1.9"), None),
        wheel(WHEEL.replace(b"1.0", b"1"), None),
        wheel(WHEEL.replace(b"1.0", b"1.x")),
        wheel(WHEEL.replace(b"1.0", b"0.9")),
        wheel(WHEEL.replace(b"1.0", b"")),
        wheel(b"\n" + WHEEL),
        wheel(b"Wheel-Version: 2.0\n" + WHEEL),
        wheel(WHEEL + b"Wheel-Version: 2.0\n"),
        wheel(b"Tag: x\r" + WHEEL),
        wheel(b"Root-Is-Purelib: true\n\nWheel-Version: 1.0\n"),
        wheel(WHEEL + b"\xff\n"),
        file(f"{STEM}-1-py3-none-any.whl", None),
        file(f"{STEM}-1build-py3-none-any.whl", None),
        file(f"{STEM}-build1-py3-none-any.whl"),
        file(f"{STEM}-py3-none-win_amd64.whl", None, tags),
        file(f"{STEM}-cp27-cp27mu-any.whl", None, tags),
        file(f"{STEM}.whl"),
        file(f"{STEM}-py3-none.whl"),
        file(f"{STEM}-1-2-py3-none-any.whl"),
        file("vllm-0.25.2-py3-none-any.whl"),
        file("torch-0.25.1-py3-none-any.whl"),
        file("VLLM-0.25.1-py3-none-any.whl", None),
        file("vllm-v0.25.1-py3-none-any.whl"),
        file("vllm-0.25.1.0-py3-none-any.whl"),
    ]


def brought() -> list[Trick]:
    """What a wheel may bring that an installer, Python or patchctl writes."""
    editable = b'{"url": "file:///", "dir_info": {"editable": true}}'
    written = (("INSTALLER", b"uv"), ("REQUESTED", b"x"), ("direct_url.json", editable))
    notes = [member(f"{INFO}/{name}", data) for name, data in written]
    ledger = [member(ONE, A), member(".patchctl/ledger.json", b"{}")]
    entry = "whether entry points can be called is not judged"
    points = member(f"{INFO}/entry_points.txt", b"[console_scripts]\ntool = vllm.one\n")
    return [
        Trick("an installer's notes", packed([member(ONE, A), *notes])),
        Trick("a state of patchctl", packed(ledger), refused=UNSAFE),
        Trick(
            "a state of patchctl by way of purelib",
            packed([member(ONE, A), member(f"{DATA}/purelib/.patchctl/ledger.json", b"{}")]),
            refused=UNSAFE,
        ),
        Trick(
            "a state of patchctl by way of data",
            packed([member(ONE, A), member(f"{DATA}/data/.patchctl/ledger.json", b"{}")]),
            refused=UNSAFE,
        ),
        Trick("a file called as the state", packed([member(ONE, A), member(".patchctl", b"")]), refused=UNSAFE),
        Trick(
            "code at every start",
            packed([member(ONE, A), member("x.pth", b"import vllm\n"), member("sitecustomize.py", b"")]),
        ),
        Trick(
            "byte code",
            packed(
                [member(ONE, A), member("vllm/__pycache__/one.cpython-311.pyc", b"x"), member("vllm/two.pyc", b"x")]
            ),
        ),
        Trick("another's files", packed([member(ONE, A), member("numpy/__init__.py", B)])),
        Trick("a namespace", packed([member(ONE, A), member("google/vllm/x.py", B)])),
        Trick(
            "a command", packed([member(ONE, A), points._replace(data=b"[console_scripts]\ntool = vllm.one:main\n")])
        ),
        Trick("a command that cannot be called", packed([member(ONE, A), points]), also_read=entry),
        Trick(
            "a wheel that wants another Python",
            packed([member(ONE, A)], metadata=METADATA + b"Requires-Python: >=4\n"),
            also_read="what Python a wheel wants is not judged",
        ),
        Trick(
            "files of every kind",
            packed(
                [member(ONE, A), member("vllm/empty.py", b""), member("vllm/cr.py", b"a\r\nb\r"), member("top.py", B)]
            ),
        ),
    ]


def tricks() -> list[Trick]:
    """Return them all; their names tell them apart."""
    return [*placed(), *named(), *moded(), *framed(), *recorded(), *told(), *brought()]


def written(trick: Trick, into: Path) -> Path:
    """Write the wheel into a directory of its own below ``into``."""
    into.mkdir(parents=True)
    path = into / trick.file
    path.write_bytes(trick.data)
    return path
