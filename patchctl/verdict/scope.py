"""A patch may touch only files of the distribution it names, and files it adds itself."""

from __future__ import annotations

from patchctl.diff import ChangeKind, FileDiff
from patchctl.model import Distribution
from patchctl.verdict.facts import SiteFacts


def outside(site: SiteFacts, distribution: str, file: FileDiff) -> str | None:
    """Return why ``file`` is not the distribution's to change; None when it is.

    The rule rests on RECORD. Without one (a Debian package, some conda builds) the file must lie in one of the
    distribution's top-level packages, and the shell warns that hashes alone decide.
    """
    found = site.distributions.get(distribution)
    if found is None:
        return f"{distribution} is not installed here"
    top = file.path.split("/", 1)[0]
    if file.path in site.ledger.files:
        return None
    if found.record is None:
        return None if top in site.tops.get(distribution, ()) else f"{top} is not a package of {distribution}"
    if file.path in found.record:
        return None
    if file.kind is ChangeKind.ADD:
        return None if _has_top(found, top) else f"{top} is not a package of {distribution}"
    if site.snapshot.files.get(file.path) is None:
        return None  # "missing" says it better
    return f"it is not listed in RECORD of {distribution}"


def _has_top(distribution: Distribution, top: str) -> bool:
    prefix = top + "/"
    return any(path.startswith(prefix) for path in distribution.record or ())
