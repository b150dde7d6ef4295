"""Where the hunks of a file diff belong in given bytes, forward or in reverse, and what that says about the bytes.

``locate`` finds places, ``splice`` makes the bytes of a match that fits, ``judge_fit`` tells applied from applicable.
Why a diff does not fit is said by ``match.explain``, which is not handed on from here: hardly any run needs it.
Several files at once, ledger and registry are not known here.
"""

from patchctl.match.fit import judge_fit
from patchctl.match.locating import locate
from patchctl.match.splicing import splice
from patchctl.match.text import LISTED
from patchctl.match.values import Direction, Fit, FitReport, HunkPlace, Match

__all__ = ["LISTED", "Direction", "Fit", "FitReport", "HunkPlace", "Match", "judge_fit", "locate", "splice"]
