"""How other tools name an installed distribution: a package URL of the type ``pypi``."""

from __future__ import annotations

from patchctl.render.escape import visible


def purl_of(name: str, build: str) -> str:
    """Return the package URL of a distribution.

    The name is normalised as PEP 503 does, which is what the type asks for; the version is encoded, so that a ``+``
    does not read as a blank. What nobody could see is escaped as everywhere: no URL could hold all of it.
    """
    from urllib.parse import quote

    return f"pkg:pypi/{quote(visible(name), safe='.-')}@{quote(visible(build), safe='.-')}"
