"""The one way to read below a directory: by descriptor, regular files only, no link followed on the way.

The rooms that touch an environment share it (target, ledger, transaction), so that a path is walked by the same rule
whether it came from a patch, a ledger or a journal. ``walking`` has the walk, ``reading`` what is at its end, ``links``
the one case in which a link there is read through, ``around`` what keeps a file from being edited, ``way`` how a file
is reached that the operator named, whose links are not refused but judged; the last is imported by whoever needs it.
Nothing here writes.
"""

from patchctl.disk.around import beside, beside_by_stem, compiled_twin, file_system_of, mount_points, on_one_mount
from patchctl.disk.links import leads_to, link_text, open_linked, read_linked
from patchctl.disk.marks import Marks, mark_below
from patchctl.disk.reading import Found, attributes, digests_of, open_regular, read_below, read_whole
from patchctl.disk.walking import (
    NotRegularError,
    Root,
    Roots,
    look_below,
    open_parent,
    open_root,
    opened_roots,
    walk_below,
)

__all__ = [
    "Found",
    "Marks",
    "NotRegularError",
    "Root",
    "Roots",
    "attributes",
    "beside",
    "beside_by_stem",
    "compiled_twin",
    "digests_of",
    "file_system_of",
    "leads_to",
    "link_text",
    "look_below",
    "mark_below",
    "mount_points",
    "on_one_mount",
    "open_linked",
    "open_parent",
    "open_regular",
    "open_root",
    "opened_roots",
    "read_below",
    "read_linked",
    "read_whole",
    "walk_below",
]
