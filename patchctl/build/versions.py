"""The one way to ``packaging``: versions, specifiers and what they admit, the same under all its releases.

Specifiers are asked about public versions alone, pre-releases included, because with a label they answer what nobody
means: ``==0.20.0`` admits ``0.20.0+das``, ``!=0.20.0`` and ``>0.20.0`` reject it. The import takes 7 ms and is made
late: an answer that no build string takes part in should not pay for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.specifiers import Specifier, SpecifierSet
    from packaging.version import Version

LONGEST = 512
"""Characters of a version string; METADATA is anybody's text, and a longer one is no version."""


def read_version(text: str) -> Version | None:
    """Return ``text`` as a PEP 440 version, or None when it is none."""
    from packaging.version import Version

    # packaging compiles its pattern with IGNORECASE and without ASCII: the Kelvin sign would pass for a k.
    if len(text) > LONGEST or not text.isascii():
        return None
    try:
        return Version(text)
    except ValueError:
        return None


def read_specifier(text: str) -> SpecifierSet | None:
    """Return ``text`` as a PEP 440 specifier, or None when it is none; empty text is one that admits everything."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return SpecifierSet(text) if text.isascii() else None
    except InvalidSpecifier:
        return None


def refusing(specifier: SpecifierSet, public: Version) -> list[Specifier]:
    """Return the clauses of ``specifier`` that leave the public version out, in a stable order; empty: it is in."""
    return sorted((clause for clause in specifier if not _admits(clause, public)), key=str)


def clause_bound(clause: Specifier) -> Version | None:
    """Return the version a clause compares with, without the ``.*`` of a prefix match."""
    return read_version(clause.version.removesuffix(".*"))


def kinship(version: Version, bound: Version | None) -> str | None:
    """Return ``pre-release`` or ``post-release`` when ``version`` is one of the very release of ``bound``."""
    if bound is None or _release(bound) != _release(version):
        return None
    return variety(version)


def variety(version: Version) -> str | None:
    """Return ``pre-release``, ``post-release``, or None for a final release."""
    if version.pre is not None:
        return "pre-release"
    if version.post is not None:
        return "post-release"
    return "pre-release" if version.dev is not None else None


def _admits(clause: Specifier, public: Version) -> bool:
    # Before packaging 26, ~=0.20 admits 1!0.20.
    if clause.operator == "~=" and (bound := clause_bound(clause)) is not None and bound.epoch != public.epoch:
        return False
    return clause.contains(public, prereleases=True)


def _release(version: Version) -> tuple[int, tuple[int, ...]]:
    """Epoch and release without trailing zeros: 0.22 and 0.22.0 are one release."""
    release = version.release
    while len(release) > 1 and release[-1] == 0:
        release = release[:-1]
    return version.epoch, release
