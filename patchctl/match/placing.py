"""Placing the blocks of one file among each other. Lines count from 0 here."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from patchctl.match.text import Block, Text
from patchctl.match.values import HunkPlace

ROUNDS = 8
"""How often places found lead to further places. Without a bound, repetitive text would cost quadratic time."""


class Piece(NamedTuple):
    """One side of a hunk, to be placed.

    Attributes:
        number: of the hunk.
        block: its lines.
        stated: line the diff states.
        anchors: lines it is tied to; with two of them, both must be the same line.
    """

    number: int
    block: Block
    stated: int
    anchors: tuple[int, ...] = ()

    def may_stand_at(self, line: int) -> bool:
        """Tell whether the anchors allow ``line``."""
        return all(anchor == line for anchor in self.anchors)


def place_all(pieces: Sequence[Piece], text: Text) -> tuple[HunkPlace, ...]:
    """Return one place, or the reason why there is none, for each piece."""
    if all(piece.may_stand_at(piece.stated) and text.holds(piece.block, piece.stated) for piece in pieces):
        return tuple(HunkPlace(number=piece.number, line=piece.stated + 1, offset=0) for piece in pieces)
    table = _Table(pieces, text)
    table.place_unique()
    for _ in range(ROUNDS):
        if not (table.place_between() or table.place_beside()):
            break
    return table.answer()


class _Gap(NamedTuple):
    """A run of pieces that are not placed yet, between the nearest placed ones.

    Attributes:
        indices: of the pieces.
        before: index of the placed piece above them, if any.
        after: index of the placed piece below them, if any.
    """

    indices: tuple[int, ...]
    before: int | None
    after: int | None


class _Table:
    """The places found so far; methods only ever add to them."""

    __slots__ = ("_found", "_pieces", "_places", "_text", "_waiting")

    def __init__(self, pieces: Sequence[Piece], text: Text) -> None:
        self._pieces = pieces
        self._text = text
        self._places: dict[int, int] = {}
        loose = iter(text.find([piece.block for piece in pieces if not piece.anchors], 0, text.count))
        self._found = [self._at_anchor(piece) if piece.anchors else next(loose) for piece in pieces]
        # what occurs several times; a piece leaves when it is placed, or when no occurrence is left between neighbours
        self._waiting = {index for index, found in enumerate(self._found) if len(found) > 1}

    def _at_anchor(self, piece: Piece) -> tuple[int, ...]:
        line = piece.anchors[0]
        return (line,) if piece.may_stand_at(line) and self._text.holds(piece.block, line) else ()

    def place_unique(self) -> None:
        """Place what occurs once, unless it lies above the end of a piece placed before it."""
        end = 0
        for index, found in enumerate(self._found):
            if len(found) == 1 and found[0] >= end:
                end = self._place(index, found[0])

    def place_between(self) -> bool:
        """Place what occurs once between its neighbours; return whether anything was placed."""
        known = len(self._places)
        for gap in self._gaps():
            low, high = self._room(gap)
            found = self._text.find([self._pieces[index].block for index in gap.indices], low, high)
            for index, lines in zip(gap.indices, found, strict=True):
                if not lines:
                    self._waiting.discard(index)
                elif len(lines) == 1 and lines[0] >= low:
                    low = self._place(index, lines[0])
        return len(self._places) > known

    def place_beside(self) -> bool:
        """Place what stands between its neighbours at the offset of one of them; return whether anything was placed."""
        known = len(self._places)
        for gap in self._gaps():
            low, high = self._room(gap)
            offsets = {self._offset(near) for near in (gap.before, gap.after) if near is not None}
            for index in gap.indices:
                piece = self._pieces[index]
                near_lines = [piece.stated + offset for offset in offsets]
                rooms = [line for line in near_lines if low <= line <= high - len(piece.block)]
                lines = [line for line in rooms if self._text.holds(piece.block, line)]
                if len(lines) == 1:
                    low = self._place(index, lines[0])
        return len(self._places) > known

    def answer(self) -> tuple[HunkPlace, ...]:
        """Return the places, and for each piece without one the reason."""
        between: dict[int, tuple[int, ...]] = {}
        for gap in self._gaps():
            blocks = [self._pieces[index].block for index in gap.indices]
            between.update(zip(gap.indices, self._text.find(blocks, *self._room(gap)), strict=True))
        return tuple(self._answer(index, between.get(index, ())) for index in range(len(self._pieces)))

    def _answer(self, index: int, between: tuple[int, ...]) -> HunkPlace:
        number = self._pieces[index].number
        if index in self._places:
            return HunkPlace(number=number, line=self._places[index] + 1, offset=self._offset(index))
        if not self._found[index]:
            return HunkPlace(number=number, reason="not-found")
        reason, lines = ("ambiguous", between) if between else ("out-of-order", self._found[index])
        return HunkPlace(number=number, reason=reason, candidates=tuple(line + 1 for line in lines))

    def _gaps(self) -> list[_Gap]:
        placed = sorted(self._places)
        gaps = []
        for rank, indices in groupby(sorted(self._waiting), key=lambda index: bisect_left(placed, index)):
            before = placed[rank - 1] if rank else None
            after = placed[rank] if rank < len(placed) else None
            gaps.append(_Gap(indices=tuple(indices), before=before, after=after))
        return gaps

    def _room(self, gap: _Gap) -> tuple[int, int]:
        """Return the first line the gap's pieces may use, and the line they have to end at or above."""
        low = 0 if gap.before is None else self._places[gap.before] + len(self._pieces[gap.before].block)
        high = self._text.count if gap.after is None else self._places[gap.after]
        return low, high

    def _place(self, index: int, line: int) -> int:
        self._places[index] = line
        self._waiting.discard(index)
        return line + len(self._pieces[index].block)

    def _offset(self, index: int) -> int:
        return self._places[index] - self._pieces[index].stated
