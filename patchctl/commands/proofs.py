"""Judge the fixes of all entries: on which bytes, and where in the distribution what is gone is looked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from patchctl.build import claims, parse_build
from patchctl.commands.selection import Selection
from patchctl.evidence import FixFinding, files_named, judge_fixes, sought
from patchctl.model import Fix, Target, pristine, sha256_hex
from patchctl.patch import Patch
from patchctl.processes import Searcher
from patchctl.target import Tree
from patchctl.verdict import BaseKind, SiteFacts, taken_out


def judge_all_fixes(
    entries: Iterable[Patch], tree: Tree, site: SiteFacts, selections: Sequence[Selection]
) -> tuple[dict[str, tuple[FixFinding, ...]], bool]:
    """Judge every fix on base bytes; search the distribution only for what is gone from its file.

    Returns:
        Entry id -> its findings, for the entries of which a fix speaks of a distribution that is installed; and
        whether all of it was judged on the base as it is, with nothing taken out.
    """
    target = tree.target
    entries = [entry for entry in entries if any(fix.distribution in target.distributions for fix in entry.fixes)]
    named = {path for entry in entries for path in files_named(entry.fixes)}
    files = _evidence_files(named, site, selections)
    unreadable = {path for path in named if site.bases[path].kind is BaseKind.FOREIGN}
    elsewhere = _search(entries, tree, files, unreadable)
    with Searcher() as searcher:
        found = iter(
            judge_fixes(
                [fix for entry in entries for fix in entry.fixes],
                files=files,
                claimed=lambda fix: _claimed(fix, target),
                search=searcher.search,
                elsewhere=elsewhere,
                unreadable=unreadable,
            )
        )
    findings = {entry.id: tuple(islice(found, len(entry.fixes))) for entry in entries}
    return findings, all(data is site.bases[path].data for path, data in files.items())


def _evidence_files(named: Iterable[str], site: SiteFacts, selections: Sequence[Selection]) -> dict[str, bytes | None]:
    """The bytes on which evidence is judged: the base, without what our own diffs may have put there.

    Where the base is as RECORD lists it, that is the base itself. Otherwise it may hold changes that nobody recorded,
    or whose record was lost before the base was taken.
    """
    ours = [(diff.distribution, file) for selection in selections for diff in selection.all() for file in diff.files]
    listed = {(name, file.path): False for name, file in ours}
    for name, path in listed:
        listed[name, path] = _is_as_listed(site, name, path)
    bare = taken_out([file for name, file in ours if not listed[name, file.path]], site.base_content)
    contents = {path: bare.get(path, site.bases[path].content) for path in named}
    return {path: None if content is None else content.data for path, content in contents.items()}


def _is_as_listed(site: SiteFacts, name: str, path: str) -> bool:
    distribution, data = site.distributions.get(name), site.bases[path].data
    return distribution is not None and data is not None and pristine(distribution, path, sha256_hex(data)) is True


def _claimed(fix: Fix, target: Target) -> bool:
    distribution = target.distributions.get(fix.distribution)
    return distribution is not None and claims(fix.claimed, parse_build(distribution.build))


def _search(
    entries: Iterable[Patch], tree: Tree, files: Mapping[str, bytes | None], unreadable: set[str]
) -> dict[str, tuple[str, ...]]:
    """Where the distribution has what evidence did not find in its place: name of a symbol or file -> paths.

    Where the version claims the fix, somebody may believe that it is in: the whole distribution is read. Where it does
    not, only the neighbours of a file that is there are, since reading files would be most of what a status costs.
    """
    target = tree.target
    found: dict[str, tuple[str, ...]] = {}
    for name, distribution in target.distributions.items():
        fixes = [fix for entry in entries for fix in entry.fixes if fix.distribution == name]
        for claimed in (False, True):
            wanted = sought((fix for fix in fixes if _claimed(fix, target) is claimed), files, unreadable=unreadable)
            gone = {item.file for item in wanted if files.get(item.file) is None}
            words = {item.name for item in wanted if item.symbol and (claimed or item.file not in gone)}
            basenames = {path.rpartition("/")[2] for path in gone}
            near = None if claimed else {item.file.rpartition("/")[0] for item in wanted}
            if words or basenames:
                found |= tree.search(distribution, words, basenames, directories=near)
    return found
