"""Local labels (what follows ``+``) and the globs over them.

Labels are compared as text, never ordered: PEP 440 would put ``opt10`` before ``opt2``.
"""

from __future__ import annotations

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
