"""The table of attacks in ``docs/attacks.md``, and what became of each in a run of the tests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple

PAGE = Path(__file__).parent.parent / "docs/attacks.md"
WIDTH = 116


class Attack(NamedTuple):
    """A row of the page: the name that tests use, what is tried, and the rule against it."""

    id: str
    attack: str
    rule: str


class Tried(NamedTuple):
    """One test that tried an attack; ``reason`` tells why it was skipped."""

    attack: str
    test: str
    outcome: str
    reason: str | None = None


def attacks() -> list[Attack]:
    """Return the rows of the page."""
    rows = re.findall(r"^\| `([a-z-]+)` \| (.+?) \| (.+?) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return [Attack(*row) for row in rows]


def table(tried: Sequence[Tried]) -> Iterator[str]:
    """Yield lines: each attack that was tried, its outcome, and the tests with the number of their cases."""
    for row in attacks():
        mine = [one for one in tried if one.attack == row.id]
        if mine:
            yield from wrap(f"{row.id}: {row.attack}", WIDTH)
            yield f"    -> {outcome(mine)}"
            yield from (f"       {line}" for line in _tests(mine))


def outcome(tried: Iterable[Tried]) -> str:
    """Return what came of an attack in a word, and why some of it was not tried."""
    tried = list(tried)
    failed = sum(one.outcome == "failed" for one in tried)
    passed = sum(one.outcome == "passed" for one in tried)
    reasons = sorted({str(one.reason) for one in tried if one.outcome == "skipped"})
    skipped = sum(one.outcome == "skipped" for one in tried)
    word = f"NOT HELD: {failed} failed" if failed else f"held in {passed} cases" if passed else "NOT TRIED"
    return word + (f"; {skipped} not tried here ({'; '.join(reasons)})" if skipped else "")


def _tests(tried: Iterable[Tried]) -> Iterator[str]:
    counts: dict[str, int] = {}
    for one in tried:
        name = one.test.partition("[")[0].removeprefix("tests/")
        counts[name] = counts.get(name, 0) + 1
    for name, count in counts.items():
        yield name if count == 1 else f"{name} ({count})"
