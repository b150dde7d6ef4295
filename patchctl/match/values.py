"""Answers about one file diff and one file's bytes."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Direction(str, Enum):
    """FORWARD looks for preimages (to apply), REVERSE for postimages (to take out, or because it is applied)."""

    FORWARD = "forward"
    REVERSE = "reverse"


class HunkPlace(NamedTuple):
    """Where one hunk is, or why it has no place.

    Attributes:
        number: of the hunk, 1-based.
        line: 1-based line of the content where its block begins; None without a place. ``too-far`` keeps it.
        offset: ``line`` less the line the diff states; None without a place.
        reason: None when it has its place; ``not-found``: the block is nowhere it may be; ``ambiguous``: at several
            places; ``out-of-order``: only outside the room its neighbours leave; ``too-far``: beyond the bound given.
        candidates: lines where the block occurs when it is ``ambiguous`` or ``out-of-order``, the first few.
    """

    number: int
    line: int | None = None
    offset: int | None = None
    reason: str | None = None
    candidates: tuple[int, ...] = ()


class Match(NamedTuple):
    """The places of all hunks of one file diff in one direction.

    Attributes:
        direction: which side of the hunks was looked for.
        hunks: one place each, in the order of the diff.
        reason: why the file as a whole does not fit: ``file-missing``, ``file-exists``, ``content-differs`` or
            ``mode-differs``.
    """

    direction: Direction
    hunks: tuple[HunkPlace, ...]
    reason: str | None = None

    @property
    def fits(self) -> bool:
        """Whether the diff can be applied in this direction."""
        return self.reason is None and all(place.reason is None for place in self.hunks)

    @property
    def exact(self) -> bool:
        """Whether it fits with every hunk at its stated line."""
        return self.fits and not any(place.offset for place in self.hunks)

    @property
    def largest_offset(self) -> int:
        """The largest distance of a placed hunk from its stated line, without sign; 0 when none is placed."""
        return max((abs(place.offset) for place in self.hunks if place.offset is not None), default=0)


class Fit(str, Enum):
    """What the bytes of one file say about one file diff.

    PRESENT: it is in. APPLICABLE: it can go in. PARTIAL: some hunks are in, some could go in. UNDECIDED: both readings
    hold. CONFLICT: neither does. MISSING: the file it modifies or deletes is not there.
    """

    PRESENT = "present"
    APPLICABLE = "applicable"
    PARTIAL = "partial"
    UNDECIDED = "undecided"
    CONFLICT = "conflict"
    MISSING = "missing"


class FitReport(NamedTuple):
    """A fit and both matches behind it.

    Attributes:
        fit: the answer. MISSING also when a file to be deleted is not there: ``reverse`` fits then, but a missing
            file is no proof that anybody removed it.
        forward: the preimages.
        reverse: the postimages.
    """

    fit: Fit
    forward: Match
    reverse: Match

    @property
    def mode(self) -> Fit | None:
        """PRESENT where the mode is changed already, APPLICABLE where it is not yet; None: the diff changes none."""
        if self.forward.reason == "mode-differs":
            return Fit.PRESENT
        return Fit.APPLICABLE if self.reverse.reason == "mode-differs" else None

    @property
    def hunks(self) -> tuple[Fit, ...]:
        """What each hunk says by itself: PRESENT, APPLICABLE, UNDECIDED (both sides have a place) or CONFLICT."""
        sides = zip(self.forward.hunks, self.reverse.hunks, strict=True)
        return tuple(_ALONE[forward.reason is None, reverse.reason is None] for forward, reverse in sides)


_ALONE = {
    (True, False): Fit.APPLICABLE,
    (False, True): Fit.PRESENT,
    (True, True): Fit.UNDECIDED,
    (False, False): Fit.CONFLICT,
}
