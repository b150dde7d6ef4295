"""What the bytes show about a fix, per item of evidence and in all."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from patchctl.model import EvidenceItem, Fix


class FixStatus(str, Enum):
    """What is known of an upstream change here; the first that fits, in the order of ``judge.fix_status``."""

    PROVEN = "proven"
    CONTRADICTED = "contradicted"
    ABSENT = "absent"
    MOVED = "moved"
    UNKNOWN = "unknown"
    CLAIMED = "claimed"


class ItemStatus(str, Enum):
    """What one item of evidence came to.

    HOLDS and FAILS are said only of code that is there. GONE: the file or the symbol is not there; MOVED: neither is
    it, but a file or a definition of that name is elsewhere in the distribution. UNKNOWN: the bytes gave no answer.
    """

    HOLDS = "holds"
    FAILS = "fails"
    GONE = "gone"
    MOVED = "moved"
    UNKNOWN = "unknown"


class ItemFinding(NamedTuple):
    """One item of evidence, judged.

    Attributes:
        item: as the registry gives it.
        status: what it came to.
        reason: the same in words, with the file and the symbol.
        elsewhere: for MOVED, paths (POSIX, relative to the site) that hold what is gone here.
        slow: patterns whose search gave no answer in time.
    """

    item: EvidenceItem
    status: ItemStatus
    reason: str
    elsewhere: tuple[str, ...] = ()
    slow: tuple[str, ...] = ()


class FixFinding(NamedTuple):
    """One upstream change, judged.

    Attributes:
        fix: as the registry gives it.
        status: what is known of it.
        claimed: whether the version number claims it.
        items: its evidence, in registry order.
        reason: why the status is what it is, in words.
    """

    fix: Fix
    status: FixStatus
    claimed: bool
    items: tuple[ItemFinding, ...]
    reason: str


class Sought(NamedTuple):
    """Something evidence needs and that is not where it should be: worth a search through the distribution.

    Attributes:
        file: POSIX path relative to the site that should hold it.
        symbol: None: the file is not there. Otherwise the dotted name up to its first part that is not there; that
            last part is the name of the class or function to look for.
    """

    file: str
    symbol: str | None = None

    @property
    def name(self) -> str:
        """What to search for, and the key under which ``judge_fix`` expects the paths found.

        It is the file's last path component, or the name a ``class`` or ``def`` statement would give.
        """
        return self.file.rpartition("/")[2] if self.symbol is None else self.symbol.rpartition(".")[2]
