"""The one way to read below a directory: by descriptor, regular files only, no link followed on the way.

The rooms that touch an environment share it (target, ledger, transaction), so that a path is walked by the same rule
whether it came from a patch, a ledger or a journal. ``walking`` has the walk, ``reading`` what is at its end, ``links``
the one case in which a link there is read through, ``named`` the ways out of a site that its files name, ``way`` how a
file is reached that the operator named (imported by whoever needs it), ``around`` what keeps a file from being edited,
``shadows`` what Python imports in its place. Nothing here writes.
"""

from patchctl.disk.around import beside, beside_by_stem, compiled_twin, file_system_of, mount_points, on_one_mount
from patchctl.disk.links import leads_to, link_text, open_linked, read_linked
from patchctl.disk.marks import Marks, mark_below
from patchctl.disk.named import is_open_to, leads_out, open_named, opened_roots, owner_to_heed, read_named
from patchctl.disk.reading import (
    Found,
    SparseError,
    attributes,
    digests_of,
    open_regular,
    read_below,
    read_whole,
    refuse_hole,
)
from patchctl.disk.shadows import Look, Nearby, Surroundings, ineffective, rivals, winners
from patchctl.disk.walking import (
    NotRegularError,
    Root,
    Roots,
    look_below,
    open_parent,
    open_root,
    walk_below,
)

__all__ = [
    "Found",
    "Look",
    "Marks",
    "Nearby",
    "NotRegularError",
    "Root",
    "Roots",
    "SparseError",
    "Surroundings",
    "attributes",
    "beside",
    "beside_by_stem",
    "compiled_twin",
    "digests_of",
    "file_system_of",
    "ineffective",
    "is_open_to",
    "leads_out",
    "leads_to",
    "link_text",
    "look_below",
    "mark_below",
    "mount_points",
    "on_one_mount",
    "open_linked",
    "open_named",
    "open_parent",
    "open_regular",
    "open_root",
    "opened_roots",
    "owner_to_heed",
    "read_below",
    "read_linked",
    "read_named",
    "read_whole",
    "refuse_hole",
    "rivals",
    "walk_below",
    "winners",
]
