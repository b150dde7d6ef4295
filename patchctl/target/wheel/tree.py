"""A wheel as the environment that installing it would make: one distribution, its files, and where names are in them.

Not here: whether the wheel's tags fit an interpreter, and its dependencies; an installer says both.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager

from patchctl.disk import beside, beside_by_stem, compiled_twin
from patchctl.errors import TargetError
from patchctl.model.files import FileMeta, LiveFile, sha256_hex
from patchctl.model.paths import path_problem
from patchctl.model.target import Distribution, Snapshot, Target
from patchctl.target.distributions import parse_source_version
from patchctl.target.holdings import normal_name, parse_headers
from patchctl.target.record import fingerprint
from patchctl.target.searching import LARGEST_SEARCHED, Definers, is_listed_below, listed_tops
from patchctl.target.wheel.archive import Archive, opened_wheel

_HINT = "take the file as its index gives it: pip download --no-deps DISTRIBUTION==VERSION"
_MAJOR = b"1"
_PARTS = 2


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
        self._beside = {directory: beside_by_stem(names) for directory, names in lying.items()}
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
        for path in dict.fromkeys(paths):
            problem = path_problem(path) or self._obstructed(path)
            if problem is None:
                files[path] = self._live(path)
            else:
                problems[path] = problem
        return Snapshot(files=files, problems=problems)

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

    def _obstructed(self, path: str) -> str | None:
        """Say why there would be no such file to edit, in the words of a site's snapshot."""
        directory, _, name = path.rpartition("/")
        around = directory
        while around:
            if around in self._archive.places:
                name = around.rpartition("/")[2]
                return f"cannot be reached: the directory {name!r} on its way is not what it should be"
            around = around.rpartition("/")[0]
        if path in self._beside:
            return "is not a regular file"
        names = beside(self._beside.get(directory, {}), path)
        compiled = f"{name.removesuffix('.py')}.pyc"
        if name not in names and name.endswith(".py") and compiled in names:
            return f"has no source here: there is only {compiled}, and byte code is not patched"
        twin = compiled_twin(names, path)
        return None if twin is None else f"is shadowed by {twin}: a patch on it would not be effective"


@contextmanager
def wheel_tree(wheel: str) -> Iterator[WheelTree]:
    """Open a wheel (path) as a tree, until the block ends.

    Raises:
        TargetError: as of :func:`patchctl.target.wheel.opened_wheel`, and where its names disagree.
    """
    with opened_wheel(wheel) as archive:
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
    for needed in ("METADATA", "WHEEL"):
        if f"{archive.info}/{needed}" not in archive.members:
            raise _refused(archive, f"it has no {needed}")
    _check_format(archive)
    name, build = parse_headers(archive.bytes(f"{archive.info}/METADATA"))
    if not name or not build:
        raise _refused(archive, "its METADATA gives no name or no version")
    file = archive.path.rpartition("/")[2]
    spelt = file.removesuffix(".whl").split("-")
    inside = archive.info.removesuffix(".dist-info").split("-")
    for words, where in ((spelt, f"the file's name {file}"), (inside, f"the directory {archive.info}")):
        if len(words) < _PARTS or normal_name(words[0]) != normal_name(name):
            raise _refused(archive, f"its METADATA names {name}, {where} does not")
        # How a version is spelt in names: the wheel specification, "Escaping and Unicode".
        if _spelt(words[1]) != _spelt(build):
            raise _refused(archive, f"its METADATA says version {build}, {where} {words[1]}")
    return normal_name(name), build


def _check_format(archive: Archive) -> None:
    for line in archive.bytes(f"{archive.info}/WHEEL").split(b"\n"):
        key, _, value = line.partition(b":")
        if key.strip().lower() == b"wheel-version":
            if value.strip().partition(b".")[0] != _MAJOR:
                raise _refused(
                    archive, f"its format is {value.strip().decode('ascii', 'replace')}, and installers know 1"
                )
            return
    raise _refused(archive, "its WHEEL gives no Wheel-Version")


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
    return TargetError("unsafe-wheel", f"{archive.path} is refused: {what}", hint=_HINT)
