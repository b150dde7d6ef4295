"""Who sees the progress of long work: whoever looks at standard error on a terminal, and nobody else."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from patchctl.cli.options import Common


@contextmanager
def bar(common: Common, label: str, *, counted: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Yield what shows progress: a bar where a person looks at standard error, otherwise nothing.

    Args:
        common: the common options.
        label: what is being done.
        counted: things are counted, not bytes.
    """
    if common.json or common.quiet or sys.stderr is None or not sys.stderr.isatty():
        yield lambda _done, _all: None
        return
    from patchctl.render.progress import Bar

    colour = not (common.no_color or os.environ.get("PATCHCTL_NO_COLOR"))
    with Bar(sys.stderr, label, colour=colour, counted=counted) as shown:
        yield shown.show
