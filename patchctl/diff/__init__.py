"""Diff bytes become typed values, or are refused: nothing of a diff is ever dropped in silence.

``parse_diff`` is the way in. Where a hunk belongs in a file is not known here; that is ``match``.
"""

from patchctl.diff.parse import parse_diff
from patchctl.diff.values import ChangeKind, FileDiff, Hunk

__all__ = ["ChangeKind", "FileDiff", "Hunk", "parse_diff"]
