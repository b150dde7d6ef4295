"""Which file Python would import in the place of another one, as the directories around them show.

``model.modules`` has the rule; here are the looks. A site is looked at by descriptor (:class:`Surroundings`), a wheel
by the names in it. Nothing is imported, and no link is followed: one that may lead to a package is told as a doubt.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

from patchctl.disk.around import beside, beside_by_stem, compiled_twin
from patchctl.disk.walking import NotRegularError, Root, Roots, open_parent, walk_below
from patchctl.model.modules import SOURCE, START, module_of, modules_of, ways_to
from patchctl.model.target import Rivals

_MOST = 1000
"""Modules of a directory that are named; no diff adds a module in the place of a larger package."""


class Nearby(NamedTuple):
    """What lies in a directory.

    Attributes:
        groups: its names by what stands before the first dot; see :func:`patchctl.disk.beside_by_stem`.
        start: the name of the file that makes it a package; None: it is none.
        linked: it is a link, and where that leads was not looked at.
    """

    groups: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    start: str | None = None
    linked: bool = False


Look = Callable[[str], "Nearby | None"]
"""Directory (POSIX, relative; empty: the site) -> what lies in it; None: there is no such directory."""


def winners(path: str, look: Look) -> tuple[str, ...]:
    """Return what Python would import in the place of the source ``path`` (POSIX, relative), there or to be added.

    A package of its name, and a module in the place of a directory on its way that is no package. Compiled twins are
    :func:`patchctl.disk.compiled_twin`'s.
    """
    if not path.endswith(SOURCE):
        return ()
    found = [module for directory in ways_to(path) for module in _over(directory, look)]
    module = module_of(path)
    inside = None if module is None or module.is_package else look(module.place)
    if module is not None and inside is not None:
        if inside.linked:
            found.append(module.place)
        elif inside.start is not None:
            found.append(f"{module.place}/{inside.start}")
    return tuple(found)


def rivals(path: str, look: Look, below: Callable[[str], Iterable[str]]) -> Rivals:
    """Return which modules the source ``path`` excludes, or is excluded by.

    Args:
        path: POSIX, relative.
        look: what lies in a directory.
        below: directory -> the files in it and below; asked only where a directory lies in the module's place.
    """
    over = winners(path, look)
    module = module_of(path) if path.endswith(SOURCE) else None
    if module is None:
        return Rivals(winners=over)
    if module.is_package:
        return Rivals(winners=over, losers=_modules_at(module.place, look))
    place = look(module.place)
    if place is None or place.linked:
        return Rivals(winners=over)
    inside = list(islice((it for it in below(module.place) if module_of(it) is not None), _MOST + 1))
    whole = [module.place] if len(inside) > _MOST else []  # which no diff takes away
    return Rivals(winners=over, losers=tuple(sorted({*inside[:_MOST], *whole} - set(over))))


def ineffective(path: str, look: Look, over: Collection[str], *, is_there: bool) -> str | None:
    """Return why a patch on the source ``path`` would have no effect, as a phrase that follows the path; None: it has.

    Of a source that is yet to be added only what no diff can take away is told: the rest depends on what else a patch
    does.

    Args:
        path: POSIX, relative.
        look: what lies in a directory.
        over: its winners.
        is_there: there is such a file.
    """
    directory, _, name = path.rpartition("/")
    nearby = look(directory)
    around = () if nearby is None else beside(nearby.groups, path)
    compiled = f"{name.removesuffix(SOURCE)}.pyc"
    if not is_there and name.endswith(SOURCE) and compiled in around:
        return f"has no source here: there is only {compiled}, and byte code is not patched"
    twin = compiled_twin(around, path)
    if twin is not None:
        return f"is shadowed by {twin}: a patch on it would not be effective"
    return next((_shadow_words(path, winner) for winner in over), None) if is_there else None


def _shadow_words(path: str, winner: str) -> str:
    directory = path.rpartition("/")[0]
    name = winner.removeprefix(f"{directory}/") if directory else winner
    if module_of(winner) is None:
        return f"lies beside the link {name}, which is not followed: where it leads to a package, Python imports that"
    return f"is shadowed by {name}: a patch on it would not be effective"


def _over(directory: str, look: Look) -> tuple[str, ...]:
    """Modules that are imported in the place of a directory."""
    inside = look(directory)
    return () if inside is not None and inside.start is not None else _modules_at(directory, look)


def _modules_at(place: str, look: Look) -> tuple[str, ...]:
    directory, slash, stem = place.rpartition("/")
    around = look(directory)
    names = () if around is None else around.groups.get(stem.partition(".")[0], ())
    return tuple(f"{directory}{slash}{name}" for name in modules_of(names, stem))


class Surroundings:
    """The directories of a site, each looked at once."""

    def __init__(self, roots: Root) -> None:
        """Start with none; the descriptors of ``roots`` stay open."""
        self._roots = roots
        self._seen: dict[tuple[int, str], Nearby | None] = {}

    def around(self, path: str) -> Look:
        """Return the look that goes with ``path`` (POSIX, relative).

        Raises:
            OSError: a directory may not be looked at.
        """
        return partial(self._look, self._root(path))

    def below(self, path: str, directory: str) -> Iterable[str]:
        """Yield the files below ``directory`` that are no byte code beside a source; the root is that of ``path``."""
        for place, inside, names, _ in walk_below(self._root(path), directory):
            inside[:] = sorted(name for name in inside if name != "__pycache__")
            yield from (f"{place}/{name}" for name in names)

    def _root(self, path: str) -> int:
        return self._roots.of(path) if isinstance(self._roots, Roots) else self._roots

    def _look(self, root: int, directory: str) -> Nearby | None:
        key = root, directory
        if key not in self._seen:
            self._seen[key] = self._read(root, directory)
        return self._seen[key]

    def _read(self, root: int, directory: str) -> Nearby | None:
        above, _, name = directory.rpartition("/")
        around = self._seen.get((root, above)) if directory else None
        if around is not None and name not in around.groups.get(name.partition(".")[0], ()):
            return None
        try:
            fd, _ = open_parent(root, f"{directory}/." if directory else ".")
        except FileNotFoundError:
            return None
        except NotRegularError as error:
            return Nearby(linked=True) if (error.strerror or "").endswith("is a symbolic link") else None
        try:
            groups = beside_by_stem(os.listdir(fd))
            return Nearby(groups=groups, start=_start(fd, groups.get(START, ())))
        finally:
            os.close(fd)


def _start(fd: int, names: Iterable[str]) -> str | None:
    """The file that makes a directory a package: a link counts, for importlib would follow it."""
    for name in modules_of(names, START):
        try:
            mode = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
        except FileNotFoundError:
            continue
        if stat.S_ISREG(mode) or stat.S_ISLNK(mode):
            return name
    return None
