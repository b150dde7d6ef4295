"""How other tools name an installed distribution: a package URL of the type ``pypi``."""

from __future__ import annotations


def purl_of(name: str, build: str) -> str:
    """Return the package URL of a distribution.

    The name is normalised as PEP 503 does, which is what the type asks for; the version is encoded, so that a ``+``
    does not read as a blank.
    """
    from urllib.parse import quote

    version = quote(build.encode("utf-8", "surrogateescape"), safe=".-")
    return f"pkg:pypi/{quote(name, safe='.-')}@{version}"
