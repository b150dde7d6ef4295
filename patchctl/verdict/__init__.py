"""One entry in one environment: its verdict, need and action, with per-hunk evidence.

``base`` finds the bytes on which patches are folded, ``fold`` puts diffs over them, ``judge`` reads off the facts,
``facts`` names them. Nothing here reads, writes, or decides what to do about a verdict: that is ``plan``.
"""

from patchctl.verdict.base import Base, BaseKind, base_of, is_rebuilt
from patchctl.verdict.facts import (
    DUE,
    Action,
    Assessment,
    Candidate,
    FileFinding,
    Need,
    SiteFacts,
    SourceDiff,
    Verdict,
)
from patchctl.verdict.fold import Fold, fold_diffs, misfit_words, taken_out
from patchctl.verdict.judge import assess
from patchctl.verdict.need import blocked_by
from patchctl.verdict.scope import outside, standing

__all__ = [
    "DUE",
    "Action",
    "Assessment",
    "Base",
    "BaseKind",
    "Candidate",
    "FileFinding",
    "Fold",
    "Need",
    "SiteFacts",
    "SourceDiff",
    "Verdict",
    "assess",
    "base_of",
    "blocked_by",
    "fold_diffs",
    "is_rebuilt",
    "misfit_words",
    "outside",
    "standing",
    "taken_out",
]
