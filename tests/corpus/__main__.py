"""Survey all pairs of neighbouring releases and print the tables: ``python -m tests.corpus [EVERY]``.

EVERY is of how many changed files one is taken; 1, which takes an hour, without it.
"""

from __future__ import annotations

import sys
import tempfile
from itertools import pairwise
from pathlib import Path

from tests.corpus.survey import Survey, survey
from tests.corpus.table import tables
from tests.wheels import RELEASES


def main() -> None:
    """Print what broke a rule, pair by pair, and one table over all."""
    every = int(sys.argv[1]) if sys.argv[1:] else 1
    total = Survey()
    with tempfile.TemporaryDirectory() as folder:
        for old, new in pairwise(RELEASES):
            found = survey(old, new, Path(folder), every=every)
            total.add(found)
            print(f"{old} -> {new}", *found.broken, sep="\n  ", flush=True)
    print("\n".join(tables(total)))


if __name__ == "__main__":
    main()
