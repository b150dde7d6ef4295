"""One entry in one environment: its verdict, need and action, with per-hunk evidence.

``base`` finds the bytes on which patches are folded, ``fold`` puts diffs over them, ``judge`` reads off the facts,
``facts`` names them, ``explaining`` adds why a diff does not fit. Nothing here reads, writes, or decides what to do
about a verdict: that is ``plan``.
"""

from patchctl.verdict.adoption import Adoption, adoption
from patchctl.verdict.base import Base, BaseKind, base_of, is_rebuilt
from patchctl.verdict.departing import aside_words, builds_words
from patchctl.verdict.explaining import explained
from patchctl.verdict.facts import (
    DUE,
    Action,
    Assessment,
    Case,
    FileFinding,
    Meeting,
    Namesake,
    Need,
    SiteFacts,
    SourceDiff,
    Verdict,
)
from patchctl.verdict.fold import Fold, fold_diffs, hunk_words, lines_words, misfit_words, taken_out
from patchctl.verdict.judge import assess
from patchctl.verdict.need import blocked_by, misfit, states_words
from patchctl.verdict.scope import crowded, outside, standing
from patchctl.verdict.together import Clash, by_itself, clashes, fits_alone
from patchctl.verdict.unfold import Stuck, bases_without_ours, new_base

__all__ = [
    "DUE",
    "Action",
    "Adoption",
    "Assessment",
    "Base",
    "BaseKind",
    "Case",
    "Clash",
    "FileFinding",
    "Fold",
    "Meeting",
    "Namesake",
    "Need",
    "SiteFacts",
    "SourceDiff",
    "Stuck",
    "Verdict",
    "adoption",
    "aside_words",
    "assess",
    "base_of",
    "bases_without_ours",
    "blocked_by",
    "builds_words",
    "by_itself",
    "clashes",
    "crowded",
    "explained",
    "fits_alone",
    "fold_diffs",
    "hunk_words",
    "is_rebuilt",
    "lines_words",
    "misfit",
    "misfit_words",
    "new_base",
    "outside",
    "standing",
    "states_words",
    "taken_out",
]
