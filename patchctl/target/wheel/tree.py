"""A wheel as the environment that installing it would make: one distribution, its files, and where names are in them.

Not here: whether the wheel's tags fit an interpreter, and its dependencies; an installer says both.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from patchctl.disk import Nearby, beside_by_stem, ineffective, rivals
from patchctl.errors import TargetError
from patchctl.model.files import FileMeta, LiveFile, sha256_hex
from patchctl.model.modules import START, modules_of
from patchctl.model.paths import path_problem
from patchctl.model.target import Claim, Distribution, Rivals, Snapshot, Target
from patchctl.target.distributions import parse_source_version
from patchctl.target.holdings import normal_name, parse_headers
from patchctl.target.record import fingerprint
from patchctl.target.searching import LARGEST_SEARCHED, Definers, is_listed_below, listed_tops
from patchctl.target.wheel.archive import Archive, opened_wheel
from patchctl.target.wheel.refusal import HINT

LARGEST_NOTE = 16 << 20
"""Bytes of METADATA and WHEEL; as in a site."""
_FIRST, _LAST = 0x21, 0x7E
"""What the name of a header is made of."""

_MAJOR = "1"
_DIGITS = "0123456789"
_PARTS, _TAGS = 2, 3
_OLD_FORMS = (".egg-info", ".egg-link", ".egg")


class WheelTree:
    """An open wheel, seen as a site directory; see :class:`patchctl.target.tree.Tree`."""

    def __init__(self, archive: Archive) -> None:
        """Read who it is.

        Raises:
            TargetError: ``unsafe-wheel``: an installer would refuse it, since its name, METADATA and WHEEL disagree.
        """
        self._archive = archive
        lying: dict[str, list[str]] = {}
        for place in archive.places:
            directory, _, name = place.rpartition("/")
            lying.setdefault(directory, []).append(name)
        for directory in tuple(lying):
            for at, character in enumerate(directory):
                if character == "/":
                    lying.setdefault(directory[:at], [])
        self._beside = {directory: _nearby(names) for directory, names in lying.items()}
        distribution = _distribution(archive)
        self.target = Target(
            site=archive.path, python=None, origin="wheel", distributions={distribution.name: distribution}
        )

    def read(self, paths: Iterable[str]) -> Snapshot:
        """Return the files that would lie at ``paths``, as :func:`patchctl.target.read_snapshot` does of a site.

        Raises:
            TargetError: two installers could make two things of one of them, or RECORD lists other bytes.
        """
        files: dict[str, LiveFile | None] = {}
        problems: dict[str, str] = {}
        excluding: dict[str, Rivals] = {}
        for path in dict.fromkeys(paths):
            found = rivals(path, self._beside.get, self._below)
            problem = path_problem(path) or self._obstructed(path, found.winners)
            if problem is not None:
                problems[path] = problem
                continue
            files[path] = self._live(path)
            if found != Rivals():
                excluding[path] = found
        return Snapshot(files=files, problems=problems, rivals=excluding)

    def search(
        self,
        distribution: Distribution,
        words: Collection[str],
        names: Collection[str],
        *,
        directories: Collection[str] | None = None,
    ) -> Mapping[str, tuple[str, ...]]:
        """Return where names are, as :func:`patchctl.target.search_names` does in a site."""
        paths = sorted(path for path in distribution.record or () if is_listed_below(path))
        found: dict[str, list[str]] = {key: [] for key in (*words, *names)}
        for path in paths:
            if path.rpartition("/")[2] in names:
                found[path.rpartition("/")[2]].append(path)
        definers = Definers(words)
        for path in paths if words else ():
            if path.endswith(".py") and (directories is None or path.rpartition("/")[0] in directories):
                for word in definers.found(self._source(path)):
                    found[word].append(path)
        return {key: tuple(dict.fromkeys(hits)) for key, hits in found.items()}

    def tops(self, distribution: Distribution) -> tuple[str, ...]:
        """Return the top-level packages and modules of the distribution."""
        return listed_tops(distribution.record or ())

    def claims(self, paths: Collection[str]) -> Mapping[str, tuple[Claim, ...]]:
        """Return nobody: a wheel is one distribution."""
        return {}

    def _live(self, path: str) -> LiveFile | None:
        file = self._archive.read(path)
        if file is None:
            return None
        meta = FileMeta(mode=0o755 if file.executable else 0o644, uid=0, gid=0, mtime_ns=0)
        return LiveFile(data=file.data, meta=meta, sha256=sha256_hex(file.data))

    def _source(self, path: str) -> bytes:
        name = self._archive.places.get(path)
        if name is None or self._archive.members[name].file_size > LARGEST_SEARCHED:
            return b""
        return self._archive.bytes(name)

    def _obstructed(self, path: str, over: Collection[str]) -> str | None:
        """Say why there would be no such file to edit, in the words of a site's snapshot."""
        around = path.rpartition("/")[0]
        while around:
            if around in self._archive.places:
                name = around.rpartition("/")[2]
                return f"cannot be reached: the directory {name!r} on its way is not what it should be"
            around = around.rpartition("/")[0]
        if path in self._beside:
            return "is not a regular file"
        return ineffective(path, self._beside.get, over, is_there=path in self._archive.places)

    def _below(self, directory: str) -> Iterator[str]:
        return (path for path in self._archive.places if path.startswith(f"{directory}/"))


def _nearby(names: Sequence[str]) -> Nearby:
    groups = beside_by_stem(names)
    return Nearby(groups=groups, start=next(iter(modules_of(groups.get(START, ()), START)), None))


@contextmanager
def wheel_tree(wheel: str, look: Callable[[int], None] | None = None) -> Iterator[WheelTree]:
    """Open a wheel (path) as a tree, until the block ends; ``look`` gets its descriptor first.

    Raises:
        TargetError: as of :func:`patchctl.target.wheel.opened_wheel`, and where its names disagree.
    """
    with opened_wheel(wheel, look) as archive:
        yield WheelTree(archive)


def _distribution(archive: Archive) -> Distribution:
    name, build = _identity(archive)
    record = {place: archive.listed.get(member) for place, member in archive.places.items()}
    return Distribution(
        name=name,
        build=build,
        info=archive.info,
        record=record,
        fingerprint=fingerprint(record),
        source_build=_source_build(archive, name),
    )


def _identity(archive: Archive) -> tuple[str, str]:
    """Name and version, which a wheel says three times: in its file name, its dist-info's name and METADATA."""
    _check_format(archive)
    name, build = _stated(archive, "METADATA", "Name"), _stated(archive, "METADATA", "Version")
    if parse_headers(archive.bytes(f"{archive.info}/METADATA")) != (name, build):
        raise _refused(archive, "its METADATA can be read in two ways")
    file = archive.path.rpartition("/")[2]
    spelt = _file_words(archive, file)
    inside = archive.info.removesuffix(".dist-info").split("-")
    if len(inside) != _PARTS:
        raise _refused(archive, f"{archive.info} is not NAME-VERSION.dist-info")
    for words, where in ((spelt, f"the file's name {file}"), (inside, f"the directory {archive.info}")):
        if normal_name(words[0]) != normal_name(name):
            raise _refused(archive, f"its METADATA names {name}, {where} does not")
        # How a version is spelt in names: the wheel specification, "Escaping and Unicode".
        if _spelt(words[1]) != _spelt(build):
            raise _refused(archive, f"its METADATA says version {build}, {where} {words[1]}")
    _refuse_second(archive, normal_name(name))
    return normal_name(name), build


def _file_words(archive: Archive, file: str) -> list[str]:
    """The parts of ``NAME-VERSION[-BUILD]-PYTHON-ABI-PLATFORM.whl``; whether the last three fit is not asked."""
    words = file.removesuffix(".whl").split("-")
    build = words[2:-_TAGS]
    if len(words) < _PARTS + _TAGS or len(build) > 1 or not all(words) or any(it[0] not in _DIGITS for it in build):
        raise _refused(archive, f"{file} is no name of a wheel")
    return words


def _refuse_second(archive: Archive, name: str) -> None:
    """Metadata of an older form, which would make a second distribution of the same name beside this one."""
    for top in {place.partition("/")[0] for place in archive.places}:
        stem = top.rpartition(".")[0].partition("-")[0]
        if top.endswith(_OLD_FORMS) and normal_name(stem) == name:
            raise _refused(archive, f"{top} would be the metadata of a second {name}")


def _stated(archive: Archive, file: str, key: str) -> str:
    """The one value of a header in a file of dist-info, where pip reads the same."""
    member = f"{archive.info}/{file}"
    if member not in archive.members:
        raise _refused(archive, f"it has no {file}")
    if archive.members[member].file_size > LARGEST_NOTE:
        raise _refused(archive, f"its {file} is larger than {LARGEST_NOTE} bytes")
    data = archive.bytes(member)
    try:
        data.decode()
    except UnicodeDecodeError:
        raise _refused(archive, f"its {file} is no UTF-8") from None
    values = list(_values(data, key.lower().encode()))
    if len(values) != 1 or not values[0]:
        raise _refused(archive, f"its {file} gives {'no' if not values else 'not one'} {key}")
    if values[0].isspace() or b"\r" in values[0]:
        raise _refused(archive, f"its {file} can be read in two ways")
    return values[0].decode()


def _values(data: bytes, key: bytes) -> Iterator[bytes]:
    """The values of a header, as the email package takes them: a line that is none ends the headers.

    A value over several lines, or a carriage return that would begin one, comes with the carriage return in it.
    """
    wanted = False
    for line in io.BytesIO(data):
        text = line.removesuffix(b"\n").removesuffix(b"\r")
        name, colon, value = text.partition(b":")
        if text[:1] in {b" ", b"\t"}:
            if wanted:
                yield b"\r"
            continue
        if b"\r" in text:
            yield b"\r"
            return
        if not colon or any(not _FIRST <= byte <= _LAST for byte in name):
            return
        wanted = name.lower() == key
        if wanted:
            yield value.strip()


def _check_format(archive: Archive) -> None:
    version = _stated(archive, "WHEEL", "Wheel-Version")
    numbers = version.split(".")
    if numbers[0] != _MAJOR or not all(number.isascii() and number.isdigit() for number in numbers):
        raise _refused(archive, f"its format is {version}, and installers know 1")


def _spelt(version: str) -> str:
    return version.lower().replace("-", ".").replace("_", ".")


def _source_build(archive: Archive, name: str) -> str | None:
    """What its own ``_version.py`` states, found as in an installation."""
    usual = f"{name.replace('-', '_')}/_version.py"
    if usual not in archive.places:
        deeper = [path for path in archive.places if path.endswith("/_version.py") and path.count("/") == 1]
        if len(deeper) != 1:
            return None
        usual = deeper[0]
    return parse_source_version(archive.bytes(archive.places[usual]))


def _refused(archive: Archive, what: str) -> TargetError:
    return TargetError("unsafe-wheel", f"{archive.path} is refused: {what}", hint=HINT)
