"""The environment as it lies on the disk: which site directory is meant, what is installed in it, what files hold.

Everything is read statically: no interpreter is started, nothing of the environment is imported, nothing is written.
``layout`` knows where environments keep their site directories, ``finding`` chooses one, ``metadata`` reads
distributions (``record`` their RECORD, ``conda`` what conda lists where there is none, ``redirects`` where the modules
of an editable install are), ``snapshot`` reads the files that patches name, ``searching`` looks for names
that moved, ``wheel`` reads a wheel that need not be installed, ``tree`` is what site and wheel have in common,
``candidate`` opens what an upgrade would install, ``overlay`` is what a site will be after it, and ``brought`` tells a
state that came with a wheel.

Not here: what the bytes mean (``verdict``, ``evidence``), and patchctl's own state (``ledger``).
"""

from patchctl.target.brought import refuse_brought_state
from patchctl.target.candidate import CandidateKind, OpenCandidate, opened_candidate
from patchctl.target.finding import editable_grafts, find_target, site_directories
from patchctl.target.overlay import OverlaidTree
from patchctl.target.reading import path_below
from patchctl.target.searching import Definers, search_names, top_levels
from patchctl.target.snapshot import read_snapshot
from patchctl.target.tree import SiteTree, Tree
from patchctl.target.wheel import WheelFile, read_wheel_files

__all__ = [
    "CandidateKind",
    "Definers",
    "OpenCandidate",
    "OverlaidTree",
    "SiteTree",
    "Tree",
    "WheelFile",
    "editable_grafts",
    "find_target",
    "opened_candidate",
    "path_below",
    "read_snapshot",
    "read_wheel_files",
    "refuse_brought_state",
    "search_names",
    "site_directories",
    "top_levels",
]
