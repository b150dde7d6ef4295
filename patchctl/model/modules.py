"""Which file Python's import system takes for a module, told from names alone.

Of what lies in one directory under one name, ``importlib.machinery.FileFinder`` takes a directory with an ``__init__``
before any file; then an extension module, a source, byte code without a source, in this order. A directory without
``__init__`` (a namespace package) comes last. Upper and lower case are different letters here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

SOURCE = ".py"
START = "__init__"
"""Stem of the file that makes its directory a package."""

_PLAIN = frozenset({SOURCE, ".pyc"})
_EXTENSION = ".so"
_TAGS = frozenset({"", ".abi3"})
_TAGGED = (".cpython-", ".pypy")


class Module(NamedTuple):
    """What a file is to the import system.

    Attributes:
        place: directory and name, without suffix: where a directory would lie that is the same module.
        is_package: it is the ``__init__`` of the directory ``place``.
    """

    place: str
    is_package: bool


def is_extension(suffix: str) -> bool:
    """Return whether some interpreter loads machine code of this suffix, such as ``.cpython-311-x86_64-linux-gnu.so``.

    Which one it is for is not asked: the interpreter of a site is not always known.
    """
    tag = suffix.removesuffix(_EXTENSION)
    return suffix.endswith(_EXTENSION) and (tag in _TAGS or tag.startswith(_TAGGED))


def modules_of(names: Iterable[str], stem: str) -> tuple[str, ...]:
    """Return those of ``names`` (in one directory) that can be the module ``stem``, sorted."""
    return tuple(sorted(name for name in names if name.startswith(f"{stem}.") and _is_suffix(name[len(stem) :])))


def module_of(path: str) -> Module | None:
    """Return what the file at ``path`` (POSIX, relative) is; None: it can be no module."""
    directory, slash, name = path.rpartition("/")
    stem, dot, rest = name.partition(".")
    if not dot or not stem or not _is_suffix(f".{rest}"):
        return None
    if stem == START and directory:
        return Module(place=directory, is_package=True)
    return Module(place=f"{directory}{slash}{stem}", is_package=False)


def ways_to(path: str) -> tuple[str, ...]:
    """Return the directories that must be packages for ``path`` to be importable, the top one first.

    Of the ``__init__`` of a package not its own directory, which it makes a package itself.
    """
    parts = path.split("/")
    inside = parts[:-2] if parts[-1].partition(".")[0] == START else parts[:-1]
    return tuple("/".join(inside[:depth]) for depth in range(1, len(inside) + 1))


def exclude_each_other(one: str, other: str) -> bool:
    """Return whether two files that are both brought cannot both be imported: a module, and what is in its place.

    Args:
        one: POSIX, relative to the site.
        other: another one.
    """
    first, second = module_of(one), module_of(other)
    if first is None or second is None:
        return False
    if first.place == second.place:
        return first.is_package is not second.is_package
    return _is_over(first, other) or _is_over(second, one)


def _is_over(module: Module, path: str) -> bool:
    return not module.is_package and path.startswith(f"{module.place}/")


def _is_suffix(suffix: str) -> bool:
    return suffix in _PLAIN or is_extension(suffix)
