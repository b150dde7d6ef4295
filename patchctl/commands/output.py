"""Where a file may go that the operator names for an answer: what is known here of places that are out of bounds."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

from patchctl.commands.given import absolute
from patchctl.commands.place import Place
from patchctl.commands.trusted import callers
from patchctl.errors import UsageError
from patchctl.model import Target
from patchctl.publishing import Bounds


def bounds_of(place: Place, target: Target | None) -> Bounds:
    """Return what an output file must not touch: each site that is named or was found, and what it has elsewhere.

    Args:
        place: where the command works.
        target: the environment that it found; None: it did not look for one, or found none.
    """
    sites = [] if place.site is None else [absolute(place.site, place.cwd)]
    if target is not None:
        grafts = (graft for it in target.distributions.values() for graft in it.grafts.items())
        # of an editable install's source tree the packages alone: its README is where a banner goes
        sites += [target.site, *(f"{directory}/{top}" for top, directory in grafts)]
    return Bounds(sites=tuple(sites), owners=callers(place) if os.geteuid() == 0 else None)


def refuse_source(output: str, sources: Iterable[str]) -> None:
    """Refuse to write an answer over what it was read from: ``--output`` before a glob takes the first file that fits.

    Raises:
        UsageError: ``output`` is one of ``sources``, paths as they were given.
    """
    for source in sources:
        with suppress(OSError):  # one of them is not there, and so is not the other
            if os.path.samefile(output, source):  # noqa: PTH121
                message = f"{output} is what is to be read: the answer would take its place"
                raise UsageError("output-is-source", message, hint="name another file behind --output")
