"""What is judged and what is found, as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from patchctl.diff import FileDiff
from patchctl.patch import Patch

Search = Callable[[str, str], "bool | None"]
"""``search(pattern, text)``: whether the pattern is found; None: no answer in time."""


class Grade(str, Enum):
    """How bad a finding is: an ERROR must be mended, a WARNING looked at."""

    ERROR = "error"
    WARNING = "warning"


class Finding(NamedTuple):
    """One thing that is wrong with an entry.

    Attributes:
        grade: how bad.
        code: kebab-case word that scripts may compare.
        message: one sentence.
        key: key path in ``patch.toml`` that it is about, such as ``variant[0].diff``.
        hint: what to do about it.
        file: name of a file in the entry's folder; None: ``patch.toml``.
        line: 1-based line in that file; None: the line of ``key``, or no line.
    """

    grade: Grade
    code: str
    message: str
    key: str | None = None
    hint: str | None = None
    file: str | None = None
    line: int | None = None


class NamedDiff(NamedTuple):
    """A diff that an entry names.

    Attributes:
        name: its file name in the entry's folder.
        data: its bytes.
        key: the first key that names it, such as ``variant[0].diff`` or ``fix[0].evidence[1].diff``.
        strip: leading components to drop from its names.
        distribution: normalised name of the distribution whose files it names.
        evidence: it is an upstream diff that evidence asks for; never applied.
    """

    name: str
    data: bytes
    key: str
    distribution: str
    strip: int = 1
    evidence: bool = False


class ParsedDiff(NamedTuple):
    """A diff that the gate let through, and what it says."""

    given: NamedDiff
    files: tuple[FileDiff, ...]


class Entry(NamedTuple):
    """An entry that loads, with all that lies in its folder.

    Attributes:
        patch: the entry.
        text: of its ``patch.toml``.
        diffs: every diff that it names and that can be read, each name and strip level once.
        names: of all that is in its folder, ``patch.toml`` included.
        others: every entry that loads, by id.
        known: ids of every entry, broken ones included.
    """

    patch: Patch
    text: str
    diffs: tuple[NamedDiff, ...]
    names: tuple[str, ...] = ()
    others: Mapping[str, Patch] = MappingProxyType({})
    known: frozenset[str] = frozenset()


def error(code: str, message: str, key: str | None = None, hint: str | None = None) -> Finding:
    """Return an error about a key of ``patch.toml``."""
    return Finding(grade=Grade.ERROR, code=code, message=message, key=key, hint=hint)


def warning(code: str, message: str, key: str | None = None, hint: str | None = None) -> Finding:
    """Return a warning about a key of ``patch.toml``."""
    return Finding(grade=Grade.WARNING, code=code, message=message, key=key, hint=hint)


def in_diff(finding: Finding, given: NamedDiff, line: int | None) -> Finding:
    """Return the finding with its place in a diff, under the key that names the diff."""
    return finding._replace(file=given.name, line=line, key=given.key)
