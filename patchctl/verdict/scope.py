"""Which files an entry may touch, and in which of them an applied entry still stands."""

from __future__ import annotations

from collections.abc import Sequence

from patchctl.diff import ChangeKind, FileDiff
from patchctl.model import Distribution
from patchctl.verdict.base import BaseKind
from patchctl.verdict.facts import SiteFacts, SourceDiff


def outside(site: SiteFacts, distribution: str, file: FileDiff) -> str | None:
    """Return why ``file`` is not the distribution's to change; None when it is.

    A patch may touch only files of the distribution it names, and files it adds itself.

    The rule rests on RECORD. Without one (a Debian package, some conda builds) the file must lie in one of the
    distribution's top-level packages, and the shell warns that hashes alone decide.
    """
    found = site.distributions.get(distribution)
    if found is None:
        return f"{distribution} is not installed here"
    top = file.path.split("/", 1)[0]
    fact = site.ledger.files.get(file.path)
    if fact is not None and fact.distribution == distribution:
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


def standing(site: SiteFacts, id_: str, diffs: Sequence[SourceDiff]) -> tuple[SourceDiff, ...]:
    """Return the part of an entry's applied diffs that is in the files now.

    An entry may be drifted or lost by one of its files and stand untouched in another, which it may share with further
    entries. Whatever happens to those, its lines there stay until it is taken out itself.

    Args:
        site: the environment.
        id_: the entry.
        diffs: what was applied.
    """

    def stands(file: FileDiff) -> bool:
        fact = site.ledger.files.get(file.path)
        return fact is not None and id_ in fact.entries and site.bases[file.path].kind is BaseKind.RECORDED

    parts = (diff._replace(files=tuple(file for file in diff.files if stands(file))) for diff in diffs)
    return tuple(part for part in parts if part.files)


def _has_top(distribution: Distribution, top: str) -> bool:
    prefix = top + "/"
    return any(path.startswith(prefix) for path in distribution.record or ())
