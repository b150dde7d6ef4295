"""Other processes, and work whose end must be enforced from outside.

``searching`` is a regular expression search with a real deadline, ``matching`` its child. The rest looks at the
processes of this machine: ``clock`` is when, ``table`` reads one of them, ``patience`` gives up on those that hang,
``scanning`` finds those of an environment, ``redaction`` takes secrets out of command lines, ``secrets`` knows them,
``judging`` tells who runs old code, ``launching`` how one was started. Nothing here writes.

The search alone is loaded at once; what looks at processes when its name is first asked for (PEP 562), since most
commands never do.
"""

from typing import TYPE_CHECKING

from patchctl.processes.searching import Searcher

if TYPE_CHECKING:
    from patchctl.processes.clock import read_moment
    from patchctl.processes.judging import changed_at, judge_processes
    from patchctl.processes.launching import Started, read_started, root_of
    from patchctl.processes.redaction import shown_arguments
    from patchctl.processes.scanning import line_of, scan
    from patchctl.processes.secrets import HIDDEN, is_secret, without_secrets

__all__ = [
    "HIDDEN",
    "Searcher",
    "Started",
    "changed_at",
    "is_secret",
    "judge_processes",
    "line_of",
    "read_moment",
    "read_started",
    "root_of",
    "scan",
    "shown_arguments",
    "without_secrets",
]

_HOMES = {
    "HIDDEN": "secrets",
    "Started": "launching",
    "is_secret": "secrets",
    "read_started": "launching",
    "root_of": "launching",
    "without_secrets": "secrets",
    "shown_arguments": "redaction",
    "changed_at": "judging",
    "judge_processes": "judging",
    "line_of": "scanning",
    "read_moment": "clock",
    "scan": "scanning",
}


def __getattr__(name: str) -> object:
    """Load what looks at processes from the module it lives in."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
