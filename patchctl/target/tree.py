"""Installed files that can be judged, whatever they lie in: a site directory, or a wheel that nobody installed yet.

Judging asks a tree five things, and needs nothing else: who is in it, what some files hold, where names are, which
top-level names belong to a distribution, and who else lists a file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple, Protocol

from patchctl.model.target import Claim, Distribution, Snapshot, Target
from patchctl.target.claims import read_claims
from patchctl.target.searching import search_names, top_levels
from patchctl.target.snapshot import read_snapshot


class Tree(Protocol):
    """Files as an installer leaves them. Paths are POSIX, relative to the site."""

    @property
    def target(self) -> Target:
        """The site and the distributions in it; of a wheel, the site is the path of its file."""

    def read(self, paths: Iterable[str]) -> Snapshot:
        """Return the files at ``paths``; see :func:`patchctl.target.read_snapshot`."""

    def search(
        self,
        distribution: Distribution,
        words: Collection[str],
        names: Collection[str],
        *,
        directories: Collection[str] | None = None,
    ) -> Mapping[str, tuple[str, ...]]:
        """Return where words are defined and files of some names lie; see :func:`patchctl.target.search_names`."""

    def tops(self, distribution: Distribution) -> tuple[str, ...]:
        """Return a distribution's top-level names; see :func:`patchctl.target.top_levels`."""

    def claims(self, paths: Collection[str]) -> Mapping[str, tuple[Claim, ...]]:
        """Return which distributions list files, wanted or not; see :func:`patchctl.target.claims.read_claims`."""


class SiteTree(NamedTuple):
    """The site directory of a target."""

    target: Target

    def read(self, paths: Iterable[str]) -> Snapshot:
        """Return the files as they are now."""
        return read_snapshot(self.target, paths)

    def search(
        self,
        distribution: Distribution,
        words: Collection[str],
        names: Collection[str],
        *,
        directories: Collection[str] | None = None,
    ) -> Mapping[str, tuple[str, ...]]:
        """Look for names below the site."""
        return search_names(self.target, distribution, words, names, directories=directories)

    def tops(self, distribution: Distribution) -> tuple[str, ...]:
        """Return what belongs to a distribution at the top of the site."""
        return top_levels(self.target, distribution)

    def claims(self, paths: Collection[str]) -> Mapping[str, tuple[Claim, ...]]:
        """Return whose RECORDs list files."""
        return read_claims(self.target, paths)
