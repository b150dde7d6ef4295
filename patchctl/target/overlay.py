"""A site as an upgrade will leave it: the candidate's distributions over those that stay.

An installer replaces the distributions that a candidate brings and leaves the others alone, so an entry that patches
two of them must be judged on files of both. Nothing is installed for that, and nothing here judges.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from patchctl.model.target import Claim, Distribution, Snapshot, Target
from patchctl.target.tree import Tree


class OverlaidTree:
    """Two trees as one; see :class:`patchctl.target.tree.Tree`."""

    def __init__(self, upper: Tree, lower: Tree, kept: Collection[str] = ()) -> None:
        """Put one tree over another.

        Args:
            upper: the candidate; its site is the site of the whole.
            lower: what is installed now; it has those distributions alone that ``upper`` does not bring.
            kept: paths that belong to the lower one although no RECORD says so.
        """
        self._upper, self._lower, self._kept = upper, lower, frozenset(kept)
        brought, named = upper.target.distributions, {*upper.target.distributions, *upper.target.unusable}
        self._stays = {name: it for name, it in lower.target.distributions.items() if name not in named}
        below = {name: problem for name, problem in lower.target.unusable.items() if name not in named}
        self._upper_tops = {top for it in brought.values() for top in upper.tops(it)}
        self._lower_tops = {top for it in self._stays.values() for top in lower.tops(it)}
        self.target: Target = upper.target._replace(
            distributions={**brought, **self._stays}, unusable={**upper.target.unusable, **below}
        )

    def read(self, paths: Iterable[str]) -> Snapshot:
        """Return the files, each from the tree that it would be in."""
        asked = tuple(paths)
        below = [path for path in asked if self._is_below(path)]
        upper = self._upper.read(path for path in asked if path not in set(below))
        lower = self._lower.read(below)
        return Snapshot(
            files={**upper.files, **lower.files},
            problems={**upper.problems, **lower.problems},
            rivals={**upper.rivals, **lower.rivals},
        )

    def claims(self, paths: Collection[str]) -> Mapping[str, tuple[Claim, ...]]:
        """Return who lists files in the candidate, and in the site, of the distributions that stay there."""
        found: dict[str, tuple[Claim, ...]] = dict(self._upper.claims(paths))
        gone = {*self._upper.target.distributions, *self._upper.target.unusable}
        for path, claims in self._lower.claims(paths).items():
            staying = (claim for claim in claims if claim.name not in gone)
            found[path] = tuple(dict.fromkeys((*found.get(path, ()), *staying)))
        return found

    def search(
        self,
        distribution: Distribution,
        words: Collection[str],
        names: Collection[str],
        *,
        directories: Collection[str] | None = None,
    ) -> Mapping[str, tuple[str, ...]]:
        """Look for names in the tree that has the distribution."""
        return self._home(distribution).search(distribution, words, names, directories=directories)

    def tops(self, distribution: Distribution) -> tuple[str, ...]:
        """Return what belongs to a distribution at the top."""
        return self._home(distribution).tops(distribution)

    def _home(self, distribution: Distribution) -> Tree:
        return self._lower if distribution.name in self._stays else self._upper

    def _is_below(self, path: str) -> bool:
        """A file that both list is the candidate's: it is installed later."""
        if any(path in (it.record or ()) for it in self._upper.target.distributions.values()):
            return False
        if path in self._kept or any(path in (it.record or ()) for it in self._stays.values()):
            return True
        top = path.partition("/")[0]
        return top not in self._upper_tops and top in self._lower_tops
