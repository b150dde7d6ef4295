"""The members of a wheel: which names and kinds are harmless, and where an installer puts each.

What two readers could read differently refuses the whole wheel. Bytes, and what RECORD says of them, are not here.
"""

from __future__ import annotations

import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from patchctl.model.paths import LONGEST_COMPONENT, LONGEST_PATH
from patchctl.target.wheel.refusal import RefusedError

if TYPE_CHECKING:
    from zipfile import ZipInfo

_UTF8 = 0x800
_FLAGS = 0x2 | 0x4 | 0x8 | _UTF8
"""How hard the packer tried, sizes behind the data, and names in UTF-8; all others are encryption and the like."""
_STORED, _DEFLATED = 0, 8
_UNICODE_PATH = 0x7075
_DOS_DIRECTORY = 0x10
_NO_NAMES = frozenset({"", ".", ".."})
_IN_SITE = frozenset({"purelib", "platlib"})
_SCHEMES = _IN_SITE | {"scripts", "headers", "data"}
_SITES = frozenset({"site-packages", "dist-packages"})
_PREFIX = frozenset({"lib", "lib64", "lib/python", "bin", "include"})
"""Below an environment's prefix, or ``pip install --target``'s: directories, always."""
_HOME_SITE = "lib/python/"
"""Where ``pip install --target`` puts a wheel before it moves what it put there."""
_STATE = ".patchctl"
_LONGEST_SHOWN = 80
"""Characters of a name; a member's may have 65,535."""


class Places(NamedTuple):
    """Where an installer puts the members.

    Attributes:
        site: path below a site (POSIX) -> the member.
        beside: the same of what a site gets by ``pip install --target`` alone: scripts and data, which have other
            places in an environment. Headers are not among them: their place names the interpreter.
    """

    site: Mapping[str, str]
    beside: Mapping[str, str]


def checked_members(entries: Sequence[ZipInfo]) -> dict[str, ZipInfo]:
    """Return the files of an archive by name.

    Raises:
        RefusedError: a reader could take one for another, or for no file.
    """
    members: dict[str, ZipInfo] = {}
    directories: set[str] = set()
    for entry in entries:
        _check_name(entry)
        _check_kind(entry)
        name = entry.filename
        if name in members:
            raise RefusedError(f"{name} is in it twice")
        if name.endswith("/"):
            directories.add(name.removesuffix("/"))
        else:
            members[name] = entry
    _refuse_both(members, directories)
    return members


def is_executable(entry: ZipInfo) -> bool:
    """Return whether an installer makes the file executable: pip asks for a regular file's mode with any such bit."""
    mode = entry.external_attr >> 16
    return stat.S_ISREG(mode) and bool(mode & 0o111)


def info_directory(entries: Iterable[ZipInfo]) -> str:
    """Return the name of the one dist-info directory; whatever is called so counts, as it does for pip.

    Raises:
        RefusedError: there is none, or more than one.
    """
    found = {top for entry in entries if (top := entry.filename.partition("/")[0]).endswith(".dist-info")}
    if len(found) != 1:
        raise RefusedError(f"it has {len(found)} dist-info directories")
    return found.pop()


def place_members(members: Collection[str], info: str) -> Places:
    """Find where each member goes (the wheel specification, "The .data directory").

    Args:
        members: their names.
        info: the dist-info directory's.

    Raises:
        RefusedError: two are for one path, installers disagree, or it brings what is not a wheel's to bring.
    """
    data = f"{info.removesuffix('.dist-info')}.data"
    site: dict[str, str] = {}
    beside: dict[str, str] = {}
    for name in members:
        scheme, place = _scheme(name, data)
        if scheme not in _IN_SITE:
            if scheme == "data":
                _check_data(name, place)
            if scheme != "headers":
                beside[f"bin/{place}" if scheme == "scripts" else place] = name
            continue
        if place in site:
            raise RefusedError(f"{site[place]} and {name} would be one file")
        _check_top(name, place, info)
        site[place] = name
    _refuse_both(site, ())
    return Places(site=site, beside=beside)


def _scheme(name: str, data: str) -> tuple[str, str]:
    top, _, rest = name.partition("/")
    if not top.endswith(".data"):
        return "purelib", name
    scheme, _, place = rest.partition("/")
    # Of a foreign .data directory pip makes the same as of the wheel's own, uv a plain directory.
    if top != data or scheme not in _SCHEMES or not place:
        raise RefusedError(f"installers disagree on where {name} goes")
    return scheme, place


def _check_data(name: str, place: str) -> None:
    """What goes below the environment's own prefix may reach a site there, and hide or shadow a file of it."""
    if place in _PREFIX or place.startswith(_HOME_SITE) or not _SITES.isdisjoint(place.split("/")):
        raise RefusedError(f"{name} would go into a site, or in the way of one")
    _check_state(name, place)


def _check_top(name: str, place: str, info: str) -> None:
    top = place.partition("/")[0]
    if top.endswith(".dist-info") and top != info:
        raise RefusedError(f"{name} would be the metadata of a second distribution")
    _check_state(name, place)


def _check_state(name: str, place: str) -> None:
    """A state that came with a wheel tells what its author likes: what is applied, held, and was there before."""
    if place.partition("/")[0].lower() == _STATE:
        raise RefusedError(f"{name} would be patchctl's own state, which no wheel brings")


def _check_name(entry: ZipInfo) -> None:
    name = entry.filename
    told = name.isascii() or entry.flag_bits & _UTF8
    # Where the UTF-8 flag is missing, or an extra field has a name too, readers differ in what the name is.
    if entry.orig_filename != name or not told or _UNICODE_PATH in _extra_fields(entry.extra):
        raise RefusedError(f"a member has the name {_shown(entry.orig_filename)}, or another one")
    if not _is_harmless(name.removesuffix("/")):
        raise RefusedError(f"a member has the name {_shown(name)}")


def _shown(name: str) -> str:
    return repr(name) if len(name) <= _LONGEST_SHOWN else f"{name[:_LONGEST_SHOWN]!r}..."


def undecodable_words(error: UnicodeDecodeError) -> str:
    """Return which member's name is no UTF-8, though its flag says so, and where."""
    name, at = error.object, error.start
    shown = repr(name[:_LONGEST_SHOWN])[1:] + "..." * (len(name) > _LONGEST_SHOWN)
    where = f"from byte {at + 1} on (0x{name[at]:02x})"
    return f"a member has the name {shown}, which is said to be UTF-8, and is none {where}"


def _is_harmless(name: str) -> bool:
    if len(name.encode()) > LONGEST_PATH or "\\" in name or any(character < " " for character in name):
        return False
    return all(part not in _NO_NAMES and len(part.encode()) <= LONGEST_COMPONENT for part in name.split("/"))


def _extra_fields(extra: bytes) -> Iterator[int]:
    while len(extra) >= 4:  # noqa: PLR2004  # two numbers of 16 bits
        yield int.from_bytes(extra[:2], "little")
        extra = extra[4 + int.from_bytes(extra[2:4], "little") :]


def _check_kind(entry: ZipInfo) -> None:
    name, kind = entry.filename, stat.S_IFMT(entry.external_attr >> 16)
    if kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
        raise RefusedError(f"{name} is a link or no regular file")
    says = kind == stat.S_IFDIR or (kind == 0 and bool(entry.external_attr & _DOS_DIRECTORY))
    if name.endswith("/"):
        if kind == stat.S_IFREG or entry.file_size or entry.compress_size > _EMPTY_PACKED:
            raise RefusedError(f"{name} is called as a directory, and is a file")
    elif says or entry.external_attr & _DOS_DIRECTORY:
        raise RefusedError(f"{name} is called as a file, and is a directory")
    if entry.flag_bits & ~_FLAGS or entry.compress_type not in {_STORED, _DEFLATED}:
        raise RefusedError(f"{name} is encrypted, or packed in a way that wheels are not")
    if entry.compress_type == _STORED and entry.file_size != entry.compress_size:
        raise RefusedError(f"{name} has two sizes")


_EMPTY_PACKED = 2
"""Bytes that deflate makes of nothing."""


def _refuse_both(files: Collection[str], directories: Iterable[str]) -> None:
    """One name is a file or a directory: pip fails in mid-installation where it is both."""
    known = set(directories)
    for name in files:
        parent = name.rpartition("/")[0]
        while parent and parent not in known:
            known.add(parent)
            parent = parent.rpartition("/")[0]
    both = sorted(name for name in known if name in files)
    if both:
        raise RefusedError(f"{both[0]} is a file, and a directory of others")
