"""Which files an entry may touch, and in which of them an applied entry still stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from patchctl.diff import ChangeKind, FileDiff
from patchctl.model import Rivals
from patchctl.model.modules import exclude_each_other
from patchctl.verdict.base import BaseKind
from patchctl.verdict.facts import SiteFacts, SourceDiff

_CARRYING = frozenset({BaseKind.RECORDED, BaseKind.NEW})
"""Bases below which a file is not as it stands: what the ledger says is in it goes in again."""

_BRINGING = frozenset({ChangeKind.ADD, ChangeKind.RENAME})
_TAKING = frozenset({ChangeKind.DELETE, ChangeKind.RENAME})
_NO_RIVALS = Rivals()


def outside(site: SiteFacts, distribution: str, file: FileDiff) -> str | None:
    """Return why ``file`` is not the distribution's to change; None when it is. Of a rename both names count.

    A patch may touch only files of the distribution it names, and files it adds itself.

    The rule rests on RECORD. Without one (a Debian package, some conda builds) the file must lie in one of the
    distribution's top-level packages, and the shell warns that hashes alone decide.
    """
    for path in file.paths:
        brings = file.kind is ChangeKind.ADD or (file.kind is ChangeKind.RENAME and path == file.path)
        reason = _outside(site, distribution, path, brings=brings) or _claimed(site, distribution, path)
        if reason is not None:
            return reason if path == file.path else f"{path}: {reason}"
    return None


def _outside(site: SiteFacts, distribution: str, path: str, *, brings: bool) -> str | None:
    found = site.distributions.get(distribution)
    if found is None:
        return f"{distribution} is not installed here"
    top = path.split("/", 1)[0]
    fact = site.ledger.files.get(path)
    if fact is not None and fact.distribution == distribution:
        return None
    if found.editable:
        return None if top in found.grafts else f"{top} is not a package of {distribution}"
    if found.record is None:
        return None if top in site.tops.get(distribution, ()) else f"{top} is not a package of {distribution}"
    if path in found.record:
        return None
    if brings:
        place = path.rpartition("/")[0] or top
        return None if _is_ground(found.record, path) else f"{place} is not a package of {distribution}"
    if site.snapshot.files.get(path) is None:
        return None  # "missing" says it better
    return f"it is not listed in RECORD of {distribution}"


def _claimed(site: SiteFacts, distribution: str, path: str) -> str | None:
    """Say that another distribution has, or may have, the file too."""
    found, fact = site.distributions.get(distribution), site.ledger.files.get(path)
    if found is None or found.editable or (fact is not None and fact.distribution == distribution):
        return None  # an editable install has its files elsewhere; what is in must be able to go out again
    claim = next((claim for claim in site.claims.get(path, ()) if claim.name != distribution), None)
    if claim is None:
        return None
    if not claim.certain:
        return f"RECORD of {claim.name} cannot be read, and may list it too; to mend that: reinstall {claim.name}"
    said = f"RECORD of {claim.name} lists it too, and nobody can tell whose file it is"
    return f"{said}: uninstall the one that it does not belong to, then reinstall the other"


def crowded(site: SiteFacts, file: FileDiff, beside: Iterable[FileDiff]) -> str | None:
    """Return which module a file that a diff adds would shadow, or be shadowed by; None: none that stays.

    Python imports one of them alone. Whoever puts a package in the place of a module takes the module away in the
    same entry.

    Args:
        site: the environment.
        file: what is to be added; of a rename the new name counts.
        beside: all that the entry changes.
    """
    if file.kind not in _BRINGING:
        return None
    if site.live_content(file.path) is not None and site.bases[file.path].kind is BaseKind.RECORDED:
        return None  # it is in: what its receipt says of it is judged by hashes
    files = list(beside)
    gone = {it.paths[0] for it in files if it.kind in _TAKING}
    rivals = site.snapshot.rivals.get(file.path, _NO_RIVALS)
    over = next((path for path in rivals.winners if path not in gone), None)
    if over is not None:
        return f"{over} is what Python would import in its place"
    under = next((path for path in rivals.losers if path not in gone), None)
    if under is not None:
        return f"it would shadow {under}, which Python would not import any more"
    other = next((it.path for it in files if it.kind in _BRINGING and exclude_each_other(file.path, it.path)), None)
    return None if other is None else f"of it and {other}, which the same entry adds, Python imports one alone"


def standing(site: SiteFacts, id_: str, diffs: Sequence[SourceDiff]) -> tuple[SourceDiff, ...]:
    """Return the part of an entry's applied diffs that is in the files now.

    An entry may be drifted or lost by one of its files and stand untouched in another, which it may share with further
    entries. Whatever happens to those, its lines there stay until it is taken out itself.

    Args:
        site: the environment.
        id_: the entry.
        diffs: what was applied.
    """

    def carries(path: str) -> bool:
        fact = site.ledger.files.get(path)
        return fact is not None and id_ in fact.entries and site.bases[path].kind in _CARRYING

    def stands(file: FileDiff) -> bool:
        return all(carries(path) for path in file.paths)

    parts = (diff._replace(files=tuple(file for file in diff.files if stands(file))) for diff in diffs)
    return tuple(part for part in parts if part.files)


def _is_ground(record: Mapping[str, str | None], path: str) -> bool:
    """Tell whether some directory on the way to ``path`` holds a file of the distribution.

    Sharing the first directory is not enough: a namespace package has parts that belong to others.
    """
    slashes = [index for index, character in enumerate(path) if character == "/"]
    if any(f"{path[:slash]}/__init__.py" in record for slash in slashes):
        return True
    above = {path[:slash] for slash in slashes}
    return any(row.rpartition("/")[0] in above for row in record)
