"""What an upgrade does to a build string. That the number rises says nothing of what is in the files."""

from __future__ import annotations

from enum import Enum

from patchctl.build.identity import parse_build
from patchctl.build.versions import read_version


class BuildChange(str, Enum):
    """How one build string follows another.

    UPGRADE, DOWNGRADE: the public version rises or falls. RELABEL: it stays, the local label does not. SAME: the very
    same build string. OTHER: they cannot be compared, because one is no PEP 440 version.
    """

    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    RELABEL = "relabel"
    SAME = "same"
    OTHER = "other"


def change_of(old: str, new: str) -> BuildChange:
    """Return how the build string ``new`` follows ``old``."""
    before, after = parse_build(old), parse_build(new)
    if not before.valid or not after.valid:
        return BuildChange.SAME if old == new else BuildChange.OTHER
    first, second = read_version(before.public or ""), read_version(after.public or "")
    if first is None or second is None:
        return BuildChange.OTHER
    if first != second:
        return BuildChange.UPGRADE if first < second else BuildChange.DOWNGRADE
    return BuildChange.SAME if before.label == after.label else BuildChange.RELABEL
