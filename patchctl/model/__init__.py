"""Values made in the shell and judged in the core: no behaviour beyond their own consistency, no I/O.

``files`` has bytes and edits, ``target`` the environment, ``entry`` what a registry entry can say about builds and
fixes, ``listing`` what installers list and what is on the disk, ``state`` what patchctl recorded about itself.
"""

from patchctl.model.entry import BuildRule, EvidenceItem, Fix, FixRole
from patchctl.model.files import OWNER_EXECUTES, Content, EditKind, FileEdit, FileMeta, Link, LiveFile, sha256_hex
from patchctl.model.listing import Baseline, Listed, Look
from patchctl.model.state import (
    FileFact,
    Hold,
    LedgerState,
    ProvenFix,
    Receipt,
    ReceiptDiff,
    RegistryPlace,
    Retirement,
    SetAside,
)
from patchctl.model.target import Claim, Distribution, Rivals, Snapshot, Target, listed_sha256, pristine, row_sha256

__all__ = [
    "OWNER_EXECUTES",
    "Baseline",
    "BuildRule",
    "Claim",
    "Content",
    "Distribution",
    "EditKind",
    "EvidenceItem",
    "FileEdit",
    "FileFact",
    "FileMeta",
    "Fix",
    "FixRole",
    "Hold",
    "LedgerState",
    "Link",
    "Listed",
    "LiveFile",
    "Look",
    "ProvenFix",
    "Receipt",
    "ReceiptDiff",
    "RegistryPlace",
    "Retirement",
    "Rivals",
    "SetAside",
    "Snapshot",
    "Target",
    "listed_sha256",
    "pristine",
    "row_sha256",
    "sha256_hex",
]
