"""Which files the operator means: names, globs, and the older parts of a rotated log, each file once, oldest first."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from patchctl.errors import Problem

STDIN = "-"
_PACKED = re.compile(r"\.(?:gz|xz|zst)$")
_ROTATED = re.compile(
    r"(?P<base>.+?)(?:\.(?P<number>\d{1,3})|[-.](?P<date>\d{4}-?\d\d-?\d\d(?:[-.T_]?\d{2,10}(?:[-:]\d\d)*)?))$",
    re.ASCII,
)
"""As logrotate numbers and dates them. A longer number is rather a port or a pid than the 1,000th rotation."""
_GLOB = re.compile(r"[*?[]")


class LogSet(NamedTuple):
    """One log with its older parts.

    Attributes:
        label: path of the log without what rotation adds.
        paths: of its parts, oldest first.
    """

    label: str
    paths: tuple[str, ...]


class Found(NamedTuple):
    """What names mean.

    Attributes:
        logs: in the order in which they were named first.
        nothing: globs that fit no file.
        warnings: what was left out.
    """

    logs: tuple[LogSet, ...]
    nothing: tuple[str, ...]
    warnings: tuple[Problem, ...]


def find_logs(names: Sequence[str], *, rotated: bool = False) -> Found:
    """Return the logs that names and globs mean.

    Args:
        names: paths and globs; ``-`` is standard input.
        rotated: take the older parts of each log too.
    """
    found: dict[str, list[str]] = {}
    warnings: list[Problem] = []
    nothing: list[str] = []
    seen: set[tuple[int, int]] = set()
    for name in dict.fromkeys(names):
        paths = _expanded(name)
        if not paths:
            nothing.append(name)
        for path in paths:
            base = path if path == STDIN else _split(path)[0]
            parts = [path, *(_siblings(base) if rotated and path != STDIN else ())]
            found.setdefault(base, []).extend(part for part in parts if _is_new(part, seen))
    sets = []
    for base, parts in found.items():
        kept, twice = _without_copies(parts)
        warnings += twice
        if kept:
            sets.append(LogSet(label=base, paths=tuple(sorted(kept, key=_age))))
    return Found(logs=tuple(sets), nothing=tuple(nothing), warnings=tuple(warnings))


def _expanded(name: str) -> list[str]:
    if name == STDIN or os.path.lexists(name) or not _GLOB.search(name):
        return [name]
    return sorted(glob.glob(name))


def _is_new(path: str, seen: set[tuple[int, int]]) -> bool:
    """Tell whether a file was not taken yet, under whatever name; one that is not there is told when it is opened."""
    if path == STDIN:
        return True
    try:
        status = os.stat(path)
    except OSError:
        return True
    if (status.st_dev, status.st_ino) in seen:
        return False
    seen.add((status.st_dev, status.st_ino))
    return True


def _siblings(base: str) -> Iterable[str]:
    folder, name = os.path.split(base)
    try:
        entries = sorted(os.listdir(folder or "."))
    except OSError:
        return ()
    paths = [os.path.join(folder, entry) for entry in entries if entry.startswith(name)]
    return [path for path in paths if _split(path)[0] == base]


def _split(path: str) -> tuple[str, tuple[int, str, int]]:
    """Return the path without what rotation adds, and what sorts the parts: oldest first."""
    folder, name = os.path.split(path)
    name = _PACKED.sub("", name)
    found = _ROTATED.match(name)
    if found is None:
        return os.path.join(folder, name), (1, "", 0)
    base = os.path.join(folder, found["base"])
    if found["date"] is not None:
        return base, (0, found["date"], 0)
    number = int(found["number"])
    return base, (0, "", -number) if number else (1, "", 0)


def _age(path: str) -> tuple[int, str, int]:
    return _split(path)[1]


def _without_copies(paths: list[str]) -> tuple[list[str], list[Problem]]:
    """Leave out a packed file whose unpacked one is there too: logrotate is at work on it, or somebody unpacked it."""
    known = set(paths)
    kept, problems = [], []
    for path in paths:
        plain = _PACKED.sub("", path)
        if plain != path and plain in known:
            message = f"{path} is left out: {plain} is read, of which it seems to be a copy"
            problems.append(Problem(code="packed-copy", message=message))
        else:
            kept.append(path)
    return kept, problems
