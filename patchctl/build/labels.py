"""Local labels (what follows ``+``) and the globs over them.

Labels are compared as text, never ordered: PEP 440 would put ``opt10`` before ``opt2``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

LONGEST_COMPARED = 128
"""Characters of a glob that is compared with another; the time grows with the product of their lengths."""

_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789.*")


def normal_label(text: str) -> str:
    """Normalise a label, or a glob over labels, as PEP 440 does: lower case, dots, numbers without leading zeros."""
    segments = text.lower().replace("-", ".").replace("_", ".").split(".")
    return ".".join((segment.lstrip("0") or "0") if segment.isdecimal() else segment for segment in segments)


def glob_fits(glob: str, label: str) -> bool:
    """Return whether ``glob`` covers the whole of a normalised label; ``*`` is any run of characters, dots included.

    Takes linear time whatever the glob: no regular expression, no backtracking.
    """
    first, *pieces = normal_label(glob).split("*")
    if not pieces:
        return first == label
    last = pieces.pop()
    if len(label) < len(first) + len(last) or not label.startswith(first) or not label.endswith(last):
        return False
    place, end = len(first), len(label) - len(last)
    for piece in pieces:
        found = label.find(piece, place, end)
        if found < 0:
            return False
        place = found + len(piece)
    return True


def glob_problem(glob: str) -> str | None:
    """Return what is wrong with a glob of a registry; None: it can be used."""
    normal = normal_label(glob)
    if not normal or set(normal) - _CHARACTERS:
        return f"{glob!r} is no glob over the label: letters, digits, dots and `*`, without the `+`, such as das*"
    if normal in {"any", "none"}:
        return f'{glob!r} in a list means a label of that name: write label = "{normal}"'
    return None


def common_label(first: str, second: str) -> str | None:
    """Return a normalised label that both globs cover, as short as there is; None: no label fits both.

    The two are walked through side by side, breadth first: a place in each, and what the label's last segment is so
    far, since no label has an empty segment, or a number with a leading zero, in normal form. Nothing is said of globs
    longer than ``LONGEST_COMPARED``.
    """
    left, right = normal_label(first), normal_label(second)
    if max(len(left), len(right)) > LONGEST_COMPARED:
        return None
    waiting: deque[tuple[int, int, str, str]] = deque([(0, 0, "", "")])
    seen = set()
    while waiting:
        i, j, segment, label = waiting.popleft()
        if (i, j, segment) in seen:
            continue
        seen.add((i, j, segment))
        if i == len(left) and j == len(right) and _may_end(segment):
            return label
        mine, other = left[i : i + 1], right[j : j + 1]
        if mine == "*":
            waiting.appendleft((i + 1, j, segment, label))
        if other == "*":
            waiting.appendleft((i, j + 1, segment, label))
        for character, step_i, step_j in _steps(mine, other):
            if character != "." or _may_end(segment):
                waiting.append((i + step_i, j + step_j, _segment(segment, character), label + character))
    return None


def _steps(mine: str, other: str) -> Iterator[tuple[str, int, int]]:
    """Return what character can come next, and how far it leads in either glob."""
    if mine == other == "*":
        # Where both leave it open, a letter will do, since it makes any segment whole.
        yield "x", 0, 0
    elif mine and other and (mine == other or "*" in (mine, other)):
        yield (other if mine == "*" else mine), mine != "*", other != "*"


def _segment(segment: str, character: str) -> str:
    """Return what is to be known of a segment with one more character: empty, 0, 1 (a number), 00 (none), or x."""
    if character == ".":
        return ""
    if not character.isdecimal() or segment == "x":
        return "x"
    if segment == "":
        return "0" if character == "0" else "1"
    return "00" if segment.startswith("0") else "1"


def _may_end(segment: str) -> bool:
    return segment not in {"", "00"}
