"""A build string taken apart, and the question whether two of them are one build."""

from __future__ import annotations

from typing import NamedTuple

from patchctl.build.labels import normal_label
from patchctl.build.versions import read_version


class BuildId(NamedTuple):
    """A build string taken apart.

    Attributes:
        raw: as METADATA spells it.
        public: the part before ``+`` in normal form; None when ``raw`` is no PEP 440 version.
        label: the local label after ``+`` in normal form (lower case, ``-`` and ``_`` are ``.``, numbers without
            leading zeros); None when there is none.
        valid: whether ``raw`` is a PEP 440 version. If not, only exact builds and file contents can decide.
    """

    raw: str
    public: str | None
    label: str | None
    valid: bool


def parse_build(raw: str) -> BuildId:
    """Take a build string apart; one that PEP 440 does not know comes back with ``valid`` False."""
    version = read_version(raw)
    if version is None:
        return BuildId(raw=raw, public=None, label=None, valid=False)
    label = None if version.local is None else normal_label(version.local)
    return BuildId(raw=raw, public=version.public, label=label, valid=True)


def is_release(build: BuildId) -> bool:
    """Return whether it is what upstream published under that number: no label, no pre-release, nothing between two."""
    version = read_version(build.raw) if build.valid and build.label is None else None
    return version is not None and not version.is_prerelease


def find_build(builds: tuple[str, ...], build: BuildId) -> int | None:
    """Return the index in ``builds`` of this very build, however it is spelled; None: it is not there."""
    if build.raw in builds:
        return builds.index(build.raw)
    version = read_version(build.raw) if build.valid else None
    if version is None:
        return None
    return next((index for index, name in enumerate(builds) if read_version(name) == version), None)
