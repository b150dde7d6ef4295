"""Which hours stand out. Deliberately simple, so that it can be explained in a sentence.

An hour stands out when it has at least :data:`LEAST` lines and more than ``mean + 3 * sqrt(mean)`` of the other hours
between the first and the last hit, hours without any counted in. If hits came independently of each other at a steady
rate, the counts would be Poisson, ``sqrt(mean)`` their spread, and about one hour in a thousand would exceed it.
"""

from __future__ import annotations

from collections.abc import Mapping

from patchctl.signals.values import Spike

LEAST = 5
SPREADS = 3
_FEWEST_HOURS = 3
_MOST_SPIKES = 100


def find_spikes(hours: Mapping[int, int]) -> tuple[Spike, ...]:
    """Return the hours that stand out, in order; the 100 largest where there are more."""
    if not hours:
        return ()
    span = max(hours) - min(hours) + 1
    if span < _FEWEST_HOURS:
        return ()
    total = sum(hours.values())
    found = []
    for hour, lines in hours.items():
        mean = (total - lines) / (span - 1)
        limit = mean + SPREADS * mean**0.5
        if lines >= LEAST and lines > limit:
            found.append(Spike(hour=hour, lines=lines, limit=limit))
    largest = sorted(found, key=lambda spike: -spike.lines)[:_MOST_SPIKES]
    return tuple(sorted(largest, key=lambda spike: spike.hour))
