"""Files of a wheel, read as an installer would place them, without extracting anything.

A wheel comes from anywhere: what two readers could read differently is refused rather than guessed. ``framing`` judges
the archive, ``members`` the names in it and where they go; here it is opened and read. Nothing of it runs.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from patchctl.errors import TargetError
from patchctl.model.files import sha256_hex
from patchctl.model.target import row_sha256
from patchctl.target.record import parse_record
from patchctl.target.wheel.framing import check_layout, read_frame
from patchctl.target.wheel.members import (
    Places,
    checked_members,
    info_directory,
    is_executable,
    place_members,
    undecodable_words,
)
from patchctl.target.wheel.refusal import HINT, RefusedError

if TYPE_CHECKING:
    from zipfile import ZipFile, ZipInfo

_LARGEST = 64 << 20
"""Bytes of one member that is read, RECORD included; as everywhere below a site."""


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
        beside: the same of what goes there by ``pip install --target`` alone.
        info: name of the dist-info directory.
        listed: RECORD's rows, by member name: hash as ``sha256=<urlsafe base64>``, or None where a row has none.
    """

    path: str
    zipped: ZipFile
    members: Mapping[str, ZipInfo]
    places: Mapping[str, str]
    beside: Mapping[str, str]
    info: str
    listed: Mapping[str, str | None]

    def read(self, path: str) -> WheelFile | None:
        """Return what would be installed at ``path`` (POSIX, relative to a site); None: nothing would be.

        Raises:
            TargetError: ``unsafe-wheel``: two installers could make two things of it, or it is too large;
                ``wrong-record``: it is not what the wheel's own RECORD lists.
        """
        name = self.places.get(path)
        if name is None:
            if path in self.beside:
                raise _unsafe(self.path, f"whether {self.beside[path]} goes to {path} is for the installer to say")
            return None
        data = self.bytes(name)
        if row_sha256(self.listed.get(name)) != sha256_hex(data):
            raise TargetError("wrong-record", f"{self.path}: {name} is not what its own RECORD lists", hint=HINT)
        return WheelFile(data=data, executable=is_executable(self.members[name]))

    def bytes(self, name: str) -> bytes:
        """Return the bytes of a member, whatever RECORD says of it; errors as of :meth:`read`."""
        with _told(self.path):
            return _bytes(self.zipped, self.members[name])


@contextmanager
def opened_wheel(wheel: str, look: Callable[[int], None] | None = None) -> Iterator[Archive]:
    """Open a wheel (path); what is read of it while it is open raises as this does.

    Only the directory, the members' own headers, and the members that are asked for are read. ``look`` gets the
    descriptor before that, and raises what is raised.

    Raises:
        TargetError: ``unreadable-wheel``: no wheel, or damaged; ``unsafe-wheel``: it could be read in two ways, or a
            member is too large; ``wrong-record``: its RECORD is missing or damaged.
    """
    with ExitStack() as stack:
        with _told(wheel):
            archive = _archive(stack, stack.enter_context(_opened(wheel, look)), wheel)
        yield archive


@contextmanager
def _told(wheel: str) -> Iterator[None]:
    """Say of every error of reading that the wheel is no wheel, or damaged."""
    import zipfile
    import zlib

    try:
        yield
    except RefusedError as error:
        raise _unsafe(wheel, str(error)) from None
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise TargetError("unreadable-wheel", f"{wheel} cannot be read as a wheel: {why}", hint=HINT) from None


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


def _opened(wheel: str, look: Callable[[int], None] | None) -> BinaryIO:
    """Open a regular file; a FIFO would hang, a directory has no bytes."""
    fd = os.open(wheel, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "it is not a regular file")
    stream = os.fdopen(fd, "rb")
    try:
        if look is not None:
            look(fd)
    except BaseException:
        stream.close()
        raise
    return stream


def _archive(stack: ExitStack, stream: BinaryIO, wheel: str) -> Archive:
    import zipfile

    frame = read_frame(stream)
    if frame is None:
        if zipfile.is_zipfile(stream):
            raise RefusedError("something stands behind it, or it has a comment")
        raise zipfile.BadZipFile("it is no zip archive, or ends too early")
    try:
        zipped = stack.enter_context(zipfile.ZipFile(stream))
    except UnicodeDecodeError as error:  # of a member's name, which is all that zipfile decodes so
        raise zipfile.BadZipFile(undecodable_words(error)) from None
    entries = zipped.infolist()
    members = checked_members(entries)
    check_layout(stream, frame, entries)
    info = info_directory(entries)
    places: Places = place_members(members, info)
    if f"{info}/RECORD" not in members:
        raise TargetError("wrong-record", f"{wheel}: it has no RECORD", hint=HINT)
    listed = parse_record(_bytes(zipped, members[f"{info}/RECORD"]), strict=True)
    if listed is None:
        raise TargetError("wrong-record", f"{wheel}: its RECORD is damaged, or lists a file twice", hint=HINT)
    return Archive(
        path=wheel,
        zipped=zipped,
        members=members,
        places=places.site,
        beside=places.beside,
        info=info,
        listed=listed,
    )


def _bytes(archive: ZipFile, entry: ZipInfo) -> bytes:
    """The bytes of a member; never more than it says, and never more than the limit."""
    if entry.file_size > _LARGEST:
        raise RefusedError(f"{entry.filename} is larger than {_LARGEST} bytes")
    with archive.open(entry) as stream:
        data = stream.read(_LARGEST + 1)
    if len(data) != entry.file_size:
        raise RefusedError(f"{entry.filename} does not have the size that it says")
    return data


def _unsafe(wheel: str, what: str) -> TargetError:
    return TargetError("unsafe-wheel", f"{wheel} is refused: {what}", hint=HINT)
