"""Files of a wheel, read as an installer would place them, without extracting anything.

A wheel comes from anywhere: what two readers could read differently is refused rather than guessed (members that stand
twice, names that leave the site, links, a RECORD that disagrees with the members). Nothing of it runs.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from patchctl.errors import TargetError
from patchctl.model.files import sha256_hex
from patchctl.model.target import row_sha256
from patchctl.target.record import parse_record

if TYPE_CHECKING:
    from zipfile import ZipFile, ZipInfo

_MEMBERS = 200_000
_LARGEST = 64 << 20
"""Bytes of one member that is read, RECORD included; as everywhere below a site."""
_ENCRYPTED = 0x1
_STORED, _DEFLATED = 0, 8
_EXECUTABLE = 0o111
_NO_NAMES = frozenset({"", ".", ".."})
_IN_SITE = frozenset({"purelib", "platlib"})
_SCHEMES = _IN_SITE | {"scripts", "headers", "data"}
_HINT = "take the file that was installed: pip download --no-deps DISTRIBUTION==VERSION"


class WheelFile(NamedTuple):
    """One file of a wheel: its bytes, and whether an installer makes it executable."""

    data: bytes
    executable: bool


class Archive(NamedTuple):
    """An opened wheel that can be read in one way only.

    Attributes:
        path: of the file, as it was given.
        zipped: the open archive.
        members: name in the archive -> its entry.
        places: path below a site (POSIX) -> the member that an installer puts there.
        info: name of the dist-info directory.
        listed: RECORD's rows, by member name: hash as ``sha256=<urlsafe base64>``, or None where a row has none.
        overlays: members that go below the environment's prefix, by the last part of their names.
    """

    path: str
    zipped: ZipFile
    members: Mapping[str, ZipInfo]
    places: Mapping[str, str]
    info: str
    listed: Mapping[str, str | None]
    overlays: Mapping[str, tuple[str, ...]]

    def read(self, path: str) -> WheelFile | None:
        """Return what would be installed at ``path`` (POSIX, relative to a site); None: nothing would be.

        Raises:
            TargetError: ``unsafe-wheel``: two installers could make two things of it, or it is too large;
                ``wrong-record``: it is not what the wheel's own RECORD lists.
        """
        _refuse_overlay(self.overlays.get(_basename(path), ()), path, self.path)
        name = self.places.get(path)
        if name is None:
            return None
        data = self.bytes(name)
        if row_sha256(self.listed.get(name)) != sha256_hex(data):
            raise TargetError("wrong-record", f"{self.path}: {name} is not what its own RECORD lists", hint=_HINT)
        return WheelFile(data=data, executable=bool(self.members[name].external_attr >> 16 & _EXECUTABLE))

    def bytes(self, name: str) -> bytes:
        """Return the bytes of a member, whatever RECORD says of it; errors as of :meth:`read`."""
        with _told(self.path):
            return _bytes(self.zipped, self.members[name], self.path)


@contextmanager
def opened_wheel(wheel: str) -> Iterator[Archive]:
    """Open a wheel (path); what is read of it while it is open raises as this does.

    Only the central directory and the members that are asked for are read.

    Raises:
        TargetError: ``unreadable-wheel``: no wheel, or damaged; ``unsafe-wheel``: it could be read in two ways, or a
            member is too large; ``wrong-record``: its RECORD is missing or damaged.
    """
    import zipfile

    with ExitStack() as stack:
        with _told(wheel):
            zipped = stack.enter_context(zipfile.ZipFile(stack.enter_context(_opened(wheel))))
            archive = _archive(zipped, wheel)
        yield archive


@contextmanager
def _told(wheel: str) -> Iterator[None]:
    """Say of every error of reading that the wheel is no wheel, or damaged."""
    import zipfile
    import zlib

    try:
        yield
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise TargetError("unreadable-wheel", f"{wheel} cannot be read as a wheel: {why}", hint=_HINT) from None


def read_wheel_files(wheel: str, paths: Collection[str]) -> dict[str, WheelFile | None]:
    """Return what ``wheel`` would install at each of ``paths``; None where it would install nothing.

    ``NAME.data/purelib`` and ``NAME.data/platlib`` are placed in the site (the wheel specification, "The .data
    directory"); scripts and headers are no files of it.

    Args:
        wheel: the archive's path.
        paths: POSIX, relative to a site.

    Raises:
        TargetError: as of :func:`opened_wheel` and :meth:`Archive.read`.
    """
    with opened_wheel(wheel) as archive:
        return {path: archive.read(path) for path in paths}


def _opened(wheel: str) -> BinaryIO:
    """Open a regular file; a FIFO would hang, a directory has no bytes."""
    fd = os.open(wheel, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "it is not a regular file")
    return os.fdopen(fd, "rb")


def _archive(zipped: ZipFile, wheel: str) -> Archive:
    members = _members(zipped, wheel)
    info = _info_directory(members, wheel)
    places = _places(members, info.removesuffix(".dist-info"), wheel)
    listed = parse_record(_bytes(zipped, members[f"{info}/RECORD"], wheel))
    if listed is None:
        raise TargetError("wrong-record", f"{wheel}: its RECORD is damaged", hint=_HINT)
    return Archive(
        path=wheel, zipped=zipped, members=members, places=places, info=info, listed=listed, overlays=_overlays(members)
    )


def _members(archive: ZipFile, wheel: str) -> dict[str, ZipInfo]:
    """The files of the archive by name; one that a reader could take for another refuses the whole wheel."""
    entries = archive.infolist()
    if len(entries) > _MEMBERS:
        raise _unsafe(wheel, f"it has more than {_MEMBERS} members")
    members: dict[str, ZipInfo] = {}
    for entry in entries:
        name = entry.filename
        mode = entry.external_attr >> 16
        if entry.orig_filename != name or not _is_harmless(name.removesuffix("/")):
            raise _unsafe(wheel, f"a member has the name {entry.orig_filename!r}")
        if stat.S_IFMT(mode) not in {0, stat.S_IFREG, stat.S_IFDIR}:
            raise _unsafe(wheel, f"{name} is a link or no regular file")
        if name in members:
            raise _unsafe(wheel, f"{name} is in it twice")
        if not name.endswith("/"):
            members[name] = entry
    return members


def _is_harmless(name: str) -> bool:
    spelled = all(part not in _NO_NAMES for part in name.split("/"))
    return spelled and "\\" not in name and not any(character < " " for character in name)


def _info_directory(members: Mapping[str, ZipInfo], wheel: str) -> str:
    found = {top for name in members if (top := name.partition("/")[0]).endswith(".dist-info") and "/" in name}
    if len(found) != 1:
        raise _unsafe(wheel, f"it has {len(found)} dist-info directories")
    (info,) = found
    if f"{info}/RECORD" not in members:
        raise TargetError("wrong-record", f"{wheel}: it has no RECORD", hint=_HINT)
    return info


def _places(members: Mapping[str, ZipInfo], stem: str, wheel: str) -> dict[str, str]:
    """Path below the site -> the member that an installer puts there; two for one path refuse the wheel."""
    places: dict[str, str] = {}
    for name in members:
        top, _, rest = name.partition("/")
        place = name
        if top.endswith(".data") and rest:
            scheme, _, place = rest.partition("/")
            # Of a foreign .data directory pip makes the same as of the wheel's own, uv a plain directory.
            if top != f"{stem}.data" or scheme not in _SCHEMES:
                raise _unsafe(wheel, f"installers disagree on where {name} goes")
            if scheme not in _IN_SITE:
                continue
        if place in places:
            raise _unsafe(wheel, f"{places[place]} and {name} would be one file")
        places[place] = name
    return places


def _overlays(members: Iterable[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for name in members:
        if ".data/data/" in name:
            found.setdefault(_basename(name), []).append(name)
    return {basename: tuple(names) for basename, names in found.items()}


def _basename(path: str) -> str:
    return path.rpartition("/")[2]


def _refuse_overlay(overlays: Iterable[str], path: str, wheel: str) -> None:
    """What goes below the environment's own prefix may reach a site there and stand for the file asked for."""
    for name in overlays:
        if name.endswith((f"/site-packages/{path}", f"/dist-packages/{path}")):
            raise _unsafe(wheel, f"{name} may take the place of {path}")


def _bytes(archive: ZipFile, entry: ZipInfo, wheel: str) -> bytes:
    """The bytes of a member; never more than it says, and never more than the limit."""
    if entry.flag_bits & _ENCRYPTED or entry.compress_type not in {_STORED, _DEFLATED}:
        raise _unsafe(wheel, f"{entry.filename} is encrypted, or packed in a way that wheels are not")
    if entry.file_size > _LARGEST:
        raise _unsafe(wheel, f"{entry.filename} is larger than {_LARGEST} bytes")
    with archive.open(entry) as stream:
        data = stream.read(_LARGEST + 1)
    if len(data) != entry.file_size:
        raise _unsafe(wheel, f"{entry.filename} does not have the size that it says")
    return data


def _unsafe(wheel: str, what: str) -> TargetError:
    return TargetError("unsafe-wheel", f"{wheel} is refused: {what}", hint=_HINT)
