"""Is this fix in these bytes? Claims are judged here on base bytes alone: bytes in, values out.

``findings`` has the answers, ``judge`` the decision tables, ``source`` one installed file as Python text with its
definitions, ``tokens`` the comparison of Python source. Not here: which bytes are the base (``verdict``), what a
version claims (``build``), and the deadline of a regular expression (given by the caller as ``search``).
"""

from patchctl.evidence.findings import FixFinding, FixStatus, ItemFinding, ItemStatus, Sought
from patchctl.evidence.judge import files_named, judge_fix, judge_fixes, sought

__all__ = [
    "FixFinding",
    "FixStatus",
    "ItemFinding",
    "ItemStatus",
    "Sought",
    "files_named",
    "judge_fix",
    "judge_fixes",
    "sought",
]
