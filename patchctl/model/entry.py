"""What a registry entry says about builds and upstream fixes, in a form that several core rooms share."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class BuildRule(NamedTuple):
    """Which builds of a distribution a variant is for.

    Attributes:
        builds: exact build strings; they beat everything else.
        versions: PEP 440 specifier over the public part; None: no range.
        label: what the local label must be for ``versions`` to count: ``"any"``, ``"none"``, or globs over the
            normalised label, of which one must match.
    """

    builds: tuple[str, ...] = ()
    versions: str | None = None
    label: str | tuple[str, ...] = "none"


class FixRole(str, Enum):
    """What an upstream reference is to the entry; only FIXES counts towards retirement."""

    FIXES = "fixes"
    RELATED = "related"
    REJECTED = "rejected"


class EvidenceItem(NamedTuple):
    """One thing that must hold in the installed bytes.

    Either ``alternatives`` is given (one of them must hold) and everything else is empty, or ``file`` and exactly one
    of ``contains``, ``absent``, ``matches`` and ``diff`` are.

    Attributes:
        file: POSIX path relative to the site; with ``diff`` it may be empty (the diff names its files).
        symbol: dotted name of a class or function in the file, such as ``StructuredOutputManager.grammar_init``; None:
            the whole file.
        contains: Python source whose tokens must stand in the symbol, in this order, next to each other.
        absent: Python source whose tokens must not stand in the symbol (the symbol itself must be there).
        matches: regular expression that must be found in the symbol's source text.
        diff: bytes of a unified diff all of whose hunks must fit in reverse.
        diff_name: its file name in the entry's folder.
        alternatives: items of which one must hold.
    """

    file: str = ""
    symbol: str | None = None
    contains: str | None = None
    absent: str | None = None
    matches: str | None = None
    diff: bytes | None = None
    diff_name: str | None = None
    alternatives: tuple[EvidenceItem, ...] = ()


class Fix(NamedTuple):
    """An upstream change that must be in before the patch may go.

    Attributes:
        ref: the change, such as ``vllm-project/vllm#47312``.
        role: whether it is a fix at all.
        claimed: PEP 440 specifier over public versions said to contain it; None: nobody claims any.
        source: https address of the claim.
        note: what it really does, for ``related`` and ``rejected``.
        distribution: whose version the claim speaks of.
        evidence: all must hold.
    """

    ref: str
    role: FixRole
    claimed: str | None = None
    source: str | None = None
    note: str | None = None
    distribution: str = ""
    evidence: tuple[EvidenceItem, ...] = ()
