"""Many blocks of lines looked for in one pass (Aho and Corasick, 1975), with a cap on what is reported.

The cap matters: blocks that are ends of each other may occur together at every line, and listing all of that would
take more than linear time. A block that has been reported often enough is left out of the chains for good.
"""

from __future__ import annotations

from collections.abc import Sequence


def find_all(blocks: Sequence[tuple[bytes, ...]], lines: Sequence[bytes], cap: int) -> list[list[int]]:
    """Return for each block the first ``cap`` indices of ``lines`` at which it begins.

    Args:
        blocks: sequences of lines, none of them empty; equal ones may repeat.
        lines: the text, compared line by line.
        cap: largest number of indices per block; at least 1.
    """
    automaton = _Automaton()
    ends = [automaton.insert(block) for block in blocks]
    automaton.link()
    found: dict[int, list[int]] = {end: [] for end in ends}
    state = 0
    for index, line in enumerate(lines):
        state = automaton.step(state, line)
        node = automaton.reporting(state)
        while node:
            hits = found[node]
            hits.append(index + 1 - automaton.depth[node])
            if len(hits) == cap:
                automaton.silence(node)
            node = automaton.reporting(automaton.above[node])
    return [found[end] for end in ends]


class _Automaton:
    """Nodes are numbers, 0 the root; a node stands for the lines on the way to it."""

    __slots__ = ("above", "depth", "fallback", "following", "reports")

    def __init__(self) -> None:
        self.following: list[dict[bytes, int]] = [{}]
        self.depth = [0]
        self.reports = [False]
        self.fallback: list[int] = [0]
        self.above: list[int] = [0]

    def insert(self, block: tuple[bytes, ...]) -> int:
        node = 0
        for line in block:
            following = self.following[node]
            if line not in following:
                following[line] = len(self.following)
                self.following.append({})
                self.depth.append(self.depth[node] + 1)
                self.reports.append(False)
            node = following[line]
        self.reports[node] = True
        return node

    def link(self) -> None:
        """Give every node its fallback: the node of the longest proper end of its lines that begins a block too."""
        self.fallback = [0] * len(self.following)
        queue = list(self.following[0].values())
        for node in queue:
            for line, child in self.following[node].items():
                self.fallback[child] = self.step(self.fallback[node], line)
                queue.append(child)
        self.above = list(self.fallback)

    def step(self, state: int, line: bytes) -> int:
        while state and line not in self.following[state]:
            state = self.fallback[state]
        return self.following[state].get(line, 0)

    def reporting(self, node: int) -> int:
        """Return the first node from ``node`` upwards that still reports, or the root; shortens the way up."""
        while node and not self.reports[node]:
            up = self.above[node]
            if not self.reports[up]:
                self.above[node] = self.above[up]
            node = up
        return node

    def silence(self, node: int) -> None:
        self.reports[node] = False
