"""What an installer lists of a file, what lies on the disk, and what was accepted as absent: values for ``verify``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Listed(NamedTuple):
    """One file as its installer lists it, in RECORD or in conda's package record.

    Attributes:
        path: POSIX, as the row has it: relative to the site, ``../`` for what lies outside, or absolute.
        algorithm: of the digest, such as ``sha256``; None: the row has no hash.
        digest: lower-case hexadecimal; None where the row has none, or none that can be read.
        size: in bytes; None where the row has none.
    """

    path: str
    algorithm: str | None = None
    digest: str | None = None
    size: int | None = None


class Look(NamedTuple):
    """What is at a path now.

    Attributes:
        size: in bytes.
        mode: permission bits.
        digests: algorithm -> lower-case hexadecimal, those that were asked for.
        problem: why it is not a regular file that could be read, a phrase that follows the path; None: it is one.
        denied: it was not read, so nothing is known of its bytes: the system refused, or nearly all of it is a hole.
    """

    size: int = 0
    mode: int = 0
    digests: Mapping[str, str] = MappingProxyType({})
    problem: str | None = None
    denied: bool = False


class Baseline(NamedTuple):
    """Files of a distribution whose absence the operator accepted; it holds for this one build.

    Attributes:
        distribution: normalised name.
        build: full version string.
        fingerprint: of that build; None where it has no RECORD.
        absent: paths as the installer lists them, sorted.
        recorded_at: UTC time, ISO 8601 with ``Z``.
    """

    distribution: str
    build: str
    fingerprint: str | None
    absent: tuple[str, ...]
    recorded_at: str
