"""The one way to read below a directory: by descriptor, regular files only, no link followed on the way.

The rooms that touch an environment share it (target, ledger, transaction), so that a path is walked by the same rule
whether it came from a patch, a ledger or a journal. ``walking`` has the walk, ``reading`` what is at its end, ``links``
the one case in which a link there is read through, ``around`` what keeps a file from being edited. Nothing here writes.
"""

from patchctl.disk.around import compiled_twin, mount_points
from patchctl.disk.links import leads_to, link_text, read_linked
from patchctl.disk.reading import Found, attributes, read_below, read_whole
from patchctl.disk.walking import NotRegularError, Root, Roots, open_parent, open_root, opened_roots

__all__ = [
    "Found",
    "NotRegularError",
    "Root",
    "Roots",
    "attributes",
    "compiled_twin",
    "leads_to",
    "link_text",
    "mount_points",
    "open_parent",
    "open_root",
    "opened_roots",
    "read_below",
    "read_linked",
    "read_whole",
]
