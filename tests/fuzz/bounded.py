"""Damage seeds and run an oracle on each, in a process with little memory: ``python -m tests.fuzz.bounded``.

It takes the name of an oracle, the seed of the random numbers, and how many inputs to try.
The limits are part of what is tested: an input that asks for more memory or time than its size is worth ends the run.
"""

from __future__ import annotations

import base64
import importlib
import resource
import signal
import sys
from random import Random
from typing import Any

MEMORY = 1 << 30
SECONDS = 20
"""For one input; most take a thousandth of one."""
ORACLES = {
    "diff": ("oracles.check_diff", "diffs"),
    "wheel": ("streams.check_wheel", "wheels"),
    "log": ("streams.check_log", "logs"),
    "packed": ("streams.check_packed", "packed_logs"),
}
SHOWN = 4096


def main(name: str, seed: int, count: int) -> None:
    """Run; the first finding is printed and ends it."""
    oracle, seeds = ORACLES[name]
    room, _, function = oracle.partition(".")
    check: Any = getattr(importlib.import_module(f"tests.fuzz.{room}"), function)
    mutated: Any = importlib.import_module("tests.fuzz.mutating").mutated
    beginnings: list[bytes] = getattr(importlib.import_module("tests.fuzz.seeds"), seeds)()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    random, accepted = Random(seed), 0
    for number in range(count):
        whole = beginnings[number % len(beginnings)] if number < len(beginnings) else random.choice(beginnings[:30])
        data = whole if number < len(beginnings) else mutated(whole, random, beginnings)
        signal.alarm(SECONDS)
        try:
            accepted += bool(check(data))
        except BaseException:
            sys.stderr.write(f"{name}, input {number}: {base64.b85encode(data[:SHOWN]).decode()}\n")
            raise
    signal.alarm(0)
    print(f"{name}: {count} inputs, {accepted} accepted")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
