"""The decision tables: from items of evidence to one fix, over base bytes.

Tables are read from the top; the first row that fits counts. Code that is not there proves nothing, neither what
should stand in it nor what should not: a missing file is never a fix.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import MappingProxyType

from patchctl.evidence.diffs import diff_paths
from patchctl.evidence.findings import FixFinding, FixStatus, ItemFinding, ItemStatus, Sought
from patchctl.evidence.installed import Installed, Search
from patchctl.evidence.items import glance, judge_item
from patchctl.model import EvidenceItem, Fix

NOWHERE: Mapping[str, tuple[str, ...]] = MappingProxyType({})


def files_named(fixes: Iterable[Fix]) -> frozenset[str]:
    """Return every path that the evidence reads, alternatives and the files of evidence diffs included.

    Paths are POSIX, relative to the site, and not checked here.
    """
    named: set[str] = set()
    for item in _leaves(item for fix in fixes for item in fix.evidence):
        named.update(diff_paths(item))
        if item.file:
            named.add(item.file)
    return frozenset(named)


def sought(
    fixes: Iterable[Fix], files: Mapping[str, bytes | None], *, unreadable: Collection[str] = ()
) -> frozenset[Sought]:
    """Return what is gone from its place and could change a status if it were found elsewhere.

    A fix of which some item surely fails asks for nothing: no finding elsewhere would make it ``moved``. Files are
    parsed only where their layout leaves a definition in doubt.

    Args:
        fixes: those whose evidence is about to be judged.
        files: base bytes by path, as for ``judge_fix``.
        unreadable: as for ``judge_fix``.
    """
    installed = Installed(files=files, unreadable=unreadable, elsewhere=NOWHERE, search=_no_search)
    wanted: set[Sought] = set()
    for fix in fixes:
        missing = [glance(item, installed) for item in fix.evidence]
        if None not in missing:
            wanted.update(*(found for found in missing if found is not None))
    return frozenset(wanted)


def judge_fix(
    fix: Fix,
    *,
    files: Mapping[str, bytes | None],
    claimed: bool,
    search: Search,
    elsewhere: Mapping[str, tuple[str, ...]] = NOWHERE,
    unreadable: Collection[str] = (),
) -> FixFinding:
    """Judge one upstream change by its evidence; its role makes no difference here.

    Args:
        fix: with the evidence, all of which must hold.
        files: base bytes by path (POSIX, relative to the site); None, or no such key: the file is not there.
        claimed: whether the installed version number claims the fix.
        search: finds a regular expression in a text within a deadline; None when it could not.
        elsewhere: :attr:`Sought.name` -> paths where that file, class or function was found.
        unreadable: paths whose base bytes are not known, whatever ``files`` says of them.
    """
    (finding,) = judge_fixes(
        (fix,), files=files, claimed=lambda _: claimed, search=search, elsewhere=elsewhere, unreadable=unreadable
    )
    return finding


def judge_fixes(
    fixes: Iterable[Fix],
    *,
    files: Mapping[str, bytes | None],
    claimed: Callable[[Fix], bool],
    search: Search,
    elsewhere: Mapping[str, tuple[str, ...]] = NOWHERE,
    unreadable: Collection[str] = (),
) -> tuple[FixFinding, ...]:
    """Judge several upstream changes as :func:`judge_fix` does, in order; a file is parsed once for all of them."""
    installed = Installed(files=files, unreadable=unreadable, elsewhere=elsewhere, search=search)
    return tuple(_judge(fix, installed, claimed=claimed(fix)) for fix in fixes)


def fix_status(items: Collection[ItemStatus], *, claimed: bool) -> FixStatus:
    """Return what the items of evidence and the claim come to (the table "fix" of the architecture)."""
    if not items:
        return FixStatus.CLAIMED if claimed else FixStatus.ABSENT
    if all(status is ItemStatus.HOLDS for status in items):
        return FixStatus.PROVEN
    if ItemStatus.FAILS in items:
        return FixStatus.CONTRADICTED if claimed else FixStatus.ABSENT
    if ItemStatus.MOVED in items:
        return FixStatus.MOVED
    if ItemStatus.GONE in items and not claimed:
        return FixStatus.ABSENT
    return FixStatus.UNKNOWN


def _judge(fix: Fix, installed: Installed, *, claimed: bool) -> FixFinding:
    items = tuple(judge_item(item, installed) for item in fix.evidence)
    status = fix_status([finding.status for finding in items], claimed=claimed)
    return FixFinding(fix=fix, status=status, claimed=claimed, items=items, reason=_reason(status, items, claimed))


DECISIVE = (ItemStatus.FAILS, ItemStatus.MOVED, ItemStatus.GONE, ItemStatus.UNKNOWN)
"""Which item a status rests on: the first of the first of these that there is."""


def _reason(status: FixStatus, items: tuple[ItemFinding, ...], claimed: bool) -> str:
    if not items:
        return f"{'claimed' if claimed else 'not claimed'} by the version; the registry gives no evidence to look for"
    if status is FixStatus.PROVEN:
        return f"all {len(items)} items of evidence hold" if len(items) > 1 else items[0].reason
    decisive = next(item for wanted in DECISIVE for item in items if item.status is wanted)
    return f"the version claims it, but {decisive.reason}" if claimed else decisive.reason


def _leaves(items: Iterable[EvidenceItem]) -> Iterator[EvidenceItem]:
    for item in items:
        if item.alternatives:
            yield from _leaves(item.alternatives)
        else:
            yield item


def _no_search(_pattern: str, _text: str) -> None:
    return None
