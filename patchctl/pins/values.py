"""The content of a lock file as values. How it is written is in ``file``."""

from __future__ import annotations

from typing import NamedTuple


class PinnedDiff(NamedTuple):
    """One diff that a pinned entry may be applied with.

    Attributes:
        distribution: normalised name of the distribution it changes.
        diff: its file name in the entry's folder.
        sha256: of its bytes, lower-case hexadecimal.
    """

    distribution: str
    diff: str
    sha256: str


class Pin(NamedTuple):
    """One entry that must be in.

    Attributes:
        id: of the entry.
        revision: of the entry.
        diffs: every diff that this revision may be applied with, one or more for each distribution: builds differ.
        hold: why it was held in where the lock was made, for people; None: it was not.
    """

    id: str
    revision: int
    diffs: tuple[PinnedDiff, ...]
    hold: str | None = None

    def allows(self, distribution: str, sha256: str) -> bool:
        """Return whether a diff of that digest (hexadecimal) is pinned for ``distribution``."""
        return any(it.distribution == distribution and it.sha256 == sha256 for it in self.diffs)


class LockedHold(NamedTuple):
    """One entry that is held out, by the team's decision, and why."""

    id: str
    reason: str


class LockedRegistry(NamedTuple):
    """The registry that a lock was made with: for people, nothing is compared."""

    name: str
    revision: int


class Lock(NamedTuple):
    """A whole lock file.

    Attributes:
        pins: the entries that must be in.
        holds: the entries that are held out.
        registries: what it was made with.
    """

    pins: tuple[Pin, ...] = ()
    holds: tuple[LockedHold, ...] = ()
    registries: tuple[LockedRegistry, ...] = ()

    @property
    def ids(self) -> frozenset[str]:
        """The ids of the pinned entries."""
        return frozenset(pin.id for pin in self.pins)
