"""Where a file may go that the operator names for an answer: what is known here of places that are out of bounds."""

from __future__ import annotations

import os

from patchctl.commands.given import absolute
from patchctl.commands.place import Place
from patchctl.commands.trusted import callers
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
