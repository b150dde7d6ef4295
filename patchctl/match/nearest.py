"""The place in a file that comes nearest to a block which stands nowhere in it. Lines count from 0 here.

This is for people who read why a diff does not fit. Nothing is ever applied at a place that was found here, so lines
are compared without their white space and line ends: moved and reformatted code is found again.

Every line of the block votes for the places at which it would stand where the file has it; lines that the file has
seldom weigh more. How many places one line may vote for is bounded, so the work is linear in the file and the blocks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

VOTES = 8
"""For how many places one line of a block votes at most: those nearest to where it is expected."""

NEAR = 3
"""So far from the rest of its block a single line may stand and still be taken for a part of it."""

_WHOLE_VOTE = 1 << 20
_ELECTED = 4
_BRIDGED = 16
"""So many lines that came in are bridged for the sake of one line that the file has only once."""

_SAME, _SIMILAR, _ON_LINE = 8, 6, 1
"""What a pair of lines counts for when their order is settled: equal, equal but for white space, not displaced."""

_COMPANY = 2
"""So many lines displaced alike are no strangers."""


class Nearest(NamedTuple):
    """A place that resembles a block.

    Attributes:
        start: first line of the place.
        stop: the line behind its last.
        pairs: (line of the block, line of the file) that belong together, rising in both; the lines of a pair are
            equal, or differ in white space or line end alone.
    """

    start: int
    stop: int
    pairs: tuple[tuple[int, int], ...]


class Index:
    """The lines of one file, and where each of them stands; made once for all blocks that are looked for."""

    __slots__ = ("_places", "lines")

    def __init__(self, content: bytes) -> None:
        rows = content.split(b"\n")
        rest = rows.pop()
        self.lines = [row + b"\n" for row in rows] + ([rest] if rest else [])
        self._places: dict[bytes, list[int]] = {}
        for number, line in enumerate(self.lines):
            self._places.setdefault(key_of(line), []).append(number)

    def near(self, key: bytes, wanted: int, low: int, high: int) -> tuple[Sequence[int], int]:
        """Return the lines with ``key`` nearest to ``wanted`` from ``low`` to before ``high``, and how many there are.

        At most ``VOTES`` lines are returned.
        """
        places = self._places.get(key, [])
        first, last = bisect_left(places, low), bisect_left(places, high)
        if last - first <= VOTES:
            return places[first:last], last - first
        middle = bisect_left(places, wanted, first, last)
        begin = min(max(first, middle - VOTES // 2), last - VOTES)
        return places[begin : begin + VOTES], last - first


def key_of(line: bytes) -> bytes:
    """Return what two lines have in common that differ in white space or line end alone."""
    return b"".join(line.split())


def find_nearest(block: Sequence[bytes], index: Index, expected: int, low: int, high: int) -> Nearest | None:
    """Return the place most like ``block`` between the lines ``low`` and ``high``; None: no line of it is there.

    Args:
        block: lines with their line ends.
        index: the file.
        expected: line at which the block would stand; it decides between places that are equally like it.
        low: first line that may be used.
        high: line that ends the room.
    """
    keys = [key_of(line) for line in block]
    worth = [_worth(key, index, low, high) for key in keys]
    best: tuple[int, tuple[tuple[int, int], ...]] | None = None
    for start in _elect(keys, worth, index, expected, low, high):
        pairs = _in_order(_candidates(block, keys, index, start, low, high))
        rank = sum(worth[row] for row, _ in pairs) - _cost_of_width(pairs)
        best = (rank, pairs) if best is None or rank > best[0] else best
    if best is None:
        return None
    pairs = best[1]
    (first_row, first), (last_row, last) = pairs[0], pairs[-1]
    return Nearest(
        start=max(low, first - first_row),
        stop=min(high, last + len(block) - last_row),
        pairs=pairs,
    )


def _cost_of_width(pairs: Sequence[tuple[int, int]]) -> int:
    """What it costs to take in lines that the block does not have: a line worth little is not fetched from afar."""
    (first_row, first), (last_row, last) = pairs[0], pairs[-1]
    return max(0, (last - first) - (last_row - first_row)) * (_WHOLE_VOTE // _BRIDGED)


def _worth(key: bytes, index: Index, low: int, high: int) -> int:
    """What a line says about where its block belongs: the more, the fewer lines are like it; a blank one nothing."""
    total = index.near(key, low, low, high)[1]
    return max(1, _WHOLE_VOTE // total) if key and total else 0


def _elect(keys: Sequence[bytes], worth: Sequence[int], index: Index, expected: int, low: int, high: int) -> list[int]:
    """Return the lines at which the block would stand by the votes of its lines, the few best first.

    Of equal ones the nearest to ``expected`` comes first.

    Each is compared line by line afterwards. Where lines came in or went out in the middle, the two parts of a block
    vote for different starts, and neither may have most votes.
    """
    votes: dict[int, int] = {}
    for row, key in enumerate(keys):
        for place in index.near(key, expected + row, low, high)[0] if worth[row] else ():
            votes[place - row] = votes.get(place - row, 0) + worth[row]
    elected: list[int] = []
    for start in sorted(votes, key=lambda start: (-votes[start], abs(start - expected), start)):
        if all(abs(start - other) > NEAR for other in elected):
            elected.append(start)
        if len(elected) == _ELECTED:
            break
    return elected


def _reach(rows: int) -> int:
    """How many lines may have come in or gone out in the middle of a block of ``rows`` lines."""
    return NEAR + rows


def _candidates(
    block: Sequence[bytes], keys: Sequence[bytes], index: Index, start: int, low: int, high: int
) -> list[tuple[int, int, int]]:
    """Return (line of the block, line of the file, weight) of the pairs that may belong together around ``start``.

    A line away from the others is left out unless another one lies away just as far: it is likely to be a stranger.
    """
    reach = _reach(len(block))
    low, high = max(low, start - reach), min(high, start + len(block) + reach)
    found = []
    company: dict[int, int] = {}
    for row, key in enumerate(keys):
        for place in index.near(key, start + row, low, high)[0]:
            found.append((row, place))
            shift = place - row
            company[shift] = company.get(shift, 0) + bool(key)
    pairs = []
    for row, place in found:
        shift = place - row
        if shift != start and company[shift] < _COMPANY and (not keys[row] or abs(shift - start) > NEAR):
            continue
        weight = _SAME if block[row] == index.lines[place] else _SIMILAR
        # a blank line is a line like any other, but says next to nothing about where it belongs
        pairs.append((row, place, (weight if keys[row] else 1) + _ON_LINE * (shift == start)))
    return pairs


def _in_order(pairs: Sequence[tuple[int, int, int]]) -> tuple[tuple[int, int], ...]:
    """Return the heaviest choice of pairs that rises in both lines."""
    lowest = min(place for _, place, _ in pairs)
    heaviest = _PrefixBest(max(place for _, place, _ in pairs) - lowest + 1)
    before: list[int | None] = [None] * len(pairs)
    best, last = 0, 0
    # of one line of the block the lowest place comes first, so that no pair follows another of the same line
    order = sorted(range(len(pairs)), key=lambda number: (pairs[number][0], -pairs[number][1]))
    for number in order:
        _, place, weight = pairs[number]
        sum_before, previous = heaviest.up_to(place - lowest)
        before[number] = previous
        heaviest.offer(place - lowest, sum_before + weight, number)
        if sum_before + weight > best:
            best, last = sum_before + weight, number
    return tuple(reversed([pairs[number][:2] for number in _chain(before, last)]))


def _chain(before: Sequence[int | None], last: int) -> Iterator[int]:
    number: int | None = last
    while number is not None:
        yield number
        number = before[number]


class _PrefixBest:
    """The best of all offers below a position, in logarithmic time (a Fenwick tree of maxima)."""

    __slots__ = ("_best",)

    def __init__(self, size: int) -> None:
        self._best: list[tuple[int, int | None]] = [(0, None)] * (size + 1)

    def up_to(self, position: int) -> tuple[int, int | None]:
        """Return sum and number of the best offer before ``position``."""
        best: tuple[int, int | None] = (0, None)
        while position > 0:
            best = max(best, self._best[position], key=lambda offer: offer[0])
            position &= position - 1
        return best

    def offer(self, position: int, total: int, number: int) -> None:
        """Offer ``total`` at ``position``."""
        position += 1
        while position < len(self._best):
            if total > self._best[position][0]:
                self._best[position] = (total, number)
            position += position & -position
