"""The environment as it was read: one site directory, its distributions, and the files the patches name."""

from __future__ import annotations

import binascii
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from patchctl.errors import Problem
from patchctl.model.files import LiveFile

_SHA256_BYTES = 32


class Distribution(NamedTuple):
    """An installed project as its ``.dist-info`` records it.

    Attributes:
        name: normalised as PEP 503 does (lower case, runs of ``-_.`` become ``-``).
        build: the full version string of METADATA, as written there (``0.20.0+das.dtk2604``).
        info: name of the dist-info directory, relative to the site.
        installer: content of INSTALLER, such as ``pip`` or ``uv``.
        record: RECORD's rows: POSIX path relative to the site -> its hash as ``sha256=<urlsafe base64>``, or None
            where the row has no hash. None: the distribution has no RECORD.
        fingerprint: lower-case hexadecimal sha256 over RECORD's sorted (path, hash) rows without ``..``, dist-info and
            ``.pyc``; None without RECORD. Tells same-version rebuilds apart.
        source_build: the version its own ``_version.py`` states (read, never imported); None when there is none.
        editable: its modules lie outside the site directory (PEP 660, egg-link).
        grafts: of an editable install, top-level package or module file -> absolute directory that holds it.
        obstacle: why none of its files can be edited, whatever is allowed; None: they can.
        oracle: what ``record`` was read from: ``RECORD`` or ``conda-meta``.
    """

    name: str
    build: str
    info: str
    installer: str | None = None
    record: Mapping[str, str | None] | None = None
    fingerprint: str | None = None
    source_build: str | None = None
    editable: bool = False
    grafts: Mapping[str, str] = MappingProxyType({})
    obstacle: Problem | None = None
    oracle: str = "RECORD"


class Target(NamedTuple):
    """One site directory and the distributions in it that were asked for.

    Attributes:
        site: absolute path of the site directory.
        python: the interpreter, absolute, where one is known.
        origin: the setting that chose it: ``--site``, ``--python``, ``VIRTUAL_ENV``, ``CONDA_PREFIX``, ``PATH``.
        distributions: those asked for and found, by name.
        passed_over: other site directories of the same environment that hold one of them too, absolute.
        shared_by: prefix of the virtual environment that shares this site with its base installation and every other
            environment over it; None: the site is the environment's own.
        unusable: distributions that were asked for and are here in a state that nothing can be said about, by name.
    """

    site: str
    python: str | None
    origin: str
    distributions: Mapping[str, Distribution]
    passed_over: tuple[str, ...] = ()
    shared_by: str | None = None
    unusable: Mapping[str, Problem] = MappingProxyType({})

    @property
    def grafts(self) -> dict[str, str]:
        """Top-level names that lie outside the site -> the absolute directory that holds them."""
        return {top: directory for it in self.distributions.values() for top, directory in it.grafts.items()}

    def obstacle(self, name: str) -> Problem | None:
        """Return why nothing of distribution ``name`` can be judged or edited; None: it can, or is not here."""
        found = self.distributions.get(name)
        return self.unusable.get(name) or (found.obstacle if found is not None else None)


class Rivals(NamedTuple):
    """Modules of which Python imports only one. Each is a POSIX path relative to the site, of a file or of a directory.

    Attributes:
        winners: what is imported in the place of a file.
        losers: what is not imported any more where the file is there.
    """

    winners: tuple[str, ...] = ()
    losers: tuple[str, ...] = ()


class Claim(NamedTuple):
    """That the RECORD of a distribution lists a file.

    Attributes:
        name: of the distribution, normalised.
        certain: False: its RECORD cannot be read, so that it may list any file.
    """

    name: str
    certain: bool = True


class Snapshot(NamedTuple):
    """The files that patches, evidence and ledger name, as they were at one moment.

    Attributes:
        files: POSIX path relative to the site -> the file, or None when nothing is there.
        problems: path -> why it cannot be read as a regular file below the site (a link, a directory, a FIFO ...).
        rivals: path -> modules there now that exclude it, or that it excludes; where there are any.
    """

    files: Mapping[str, LiveFile | None]
    problems: Mapping[str, str] = MappingProxyType({})
    rivals: Mapping[str, Rivals] = MappingProxyType({})


def pristine(distribution: Distribution, path: str, sha256: str | None) -> bool | None:
    """Return whether a file equals what RECORD lists; None where RECORD has no sha256 for it, or is missing.

    Args:
        distribution: whose RECORD is asked.
        path: POSIX, relative to the site.
        sha256: of the live file, lower-case hexadecimal; None: there is no file.
    """
    listed = listed_sha256(distribution, path)
    return None if listed is None else listed == sha256


def listed_sha256(distribution: Distribution, path: str) -> str | None:
    """Return the sha256 in hexadecimal that RECORD lists for ``path``; None: no RECORD, no row, or another hash."""
    return row_sha256((distribution.record or {}).get(path))


def row_sha256(listed: str | None) -> str | None:
    """Return the sha256 in hexadecimal of a RECORD row's hash (``sha256=<urlsafe base64>``); None: it is none."""
    if listed is None or not listed.startswith("sha256="):
        return None
    # The wheel specification: urlsafe base64 without the padding, which some tools write all the same.
    text = listed.removeprefix("sha256=").rstrip("=").translate({45: "+", 95: "/"})
    try:
        digest = binascii.a2b_base64(text + "=" * (-len(text) % 4))
    except ValueError:
        return None
    return digest.hex() if len(digest) == _SHA256_BYTES else None
