"""A registry entry: ``patch.toml`` bytes in, a typed :class:`Patch` or every problem with its line out.

``entry`` has the types, ``positions`` finds the line of a key, ``document`` reads TOML and collects problems,
``table`` and ``shapes`` know the keys, ``texts`` and ``patterns`` check single strings, ``fixes``, ``advice``,
``rules`` and ``parse`` say what the keys mean. Nothing here reads a file or knows of other entries. ``positions`` is
imported late, since only problems need it.
"""

from patchctl.documents.values import KeyPath
from patchctl.patch.document import Document
from patchctl.patch.entry import Avoid, Kind, Patch, Severity, Signal, Trigger, Variant
from patchctl.patch.parse import parse_entry
from patchctl.patch.patterns import parts_of, pattern_tree
from patchctl.patch.shapes import REGISTRY
from patchctl.patch.table import Table
from patchctl.patch.texts import file_name_problem, is_slug

__all__ = [
    "REGISTRY",
    "Avoid",
    "Document",
    "KeyPath",
    "Kind",
    "Patch",
    "Severity",
    "Signal",
    "Table",
    "Trigger",
    "Variant",
    "file_name_problem",
    "is_slug",
    "parse_entry",
    "parts_of",
    "pattern_tree",
]
