"""One distribution, every file of it, against what its installer lists and what the ledger recorded.

Reads only. Which distributions are meant, and what a baseline is for, is in ``verify``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from patchctl.disk import open_root
from patchctl.errors import TargetError
from patchctl.model import Baseline, Distribution, FileFact, LedgerState, Listed, Look
from patchctl.model.layout import object_path
from patchctl.model.paths import path_problem
from patchctl.target.hashing import Wanted, look_at, sizes_of
from patchctl.target.oracle import Oracle, Spot, prefix_of, read_oracle, rewritten_by_conda, spot_of
from patchctl.target.unlisted import find_unlisted
from patchctl.verdict.attribution import (
    OUTSIDE,
    PROVING,
    Attribution,
    Facts,
    FileState,
    attribute,
    attribute_by_size,
    is_byte_code,
    unprovable,
)

Progress = Callable[[int, int], None]
"""Called with the bytes that are done and the bytes there are."""


class Subject(NamedTuple):
    """A distribution that is to be verified.

    Attributes:
        site: absolute path of its site directory.
        name: normalised.
        build: full version string; empty where nothing tells it.
        distribution: in full; None where ``reason`` says why it cannot be read.
        reason: see above.
    """

    site: str
    name: str
    build: str
    distribution: Distribution | None
    reason: str | None = None


class DistributionCheck(NamedTuple):
    """What was found of one distribution.

    Attributes:
        site: absolute path of its site directory.
        name: normalised.
        build: full version string.
        fingerprint: of the build; None without RECORD.
        oracle: ``record``, ``conda-meta``, or None: nobody can say what its files should be.
        reason: why nobody can.
        files: what is said of every file, in RECORD's order, what nobody lists last.
        baseline: how many absences are recorded for this build.
        stale_baseline: the build that absences are recorded for, when it is another one; they count for nothing.
    """

    site: str
    name: str
    build: str
    fingerprint: str | None
    oracle: str | None
    reason: str | None
    files: tuple[Attribution, ...] = ()
    baseline: int = 0
    stale_baseline: str | None = None

    def of(self, *states: FileState) -> tuple[Attribution, ...]:
        """Return the files that have one of these states."""
        return tuple(file for file in self.files if file.state in states)


class Work(NamedTuple):
    """A subject with everything that is needed to look at it."""

    subject: Subject
    ledger: LedgerState
    oracle: Oracle
    files: tuple[tuple[str, Listed | None, Spot | None], ...]

    @property
    def size(self) -> int:
        """Bytes that its installer lists."""
        return sum(row.size or 0 for _, row, _ in self.files if row is not None)


def prepare(subject: Subject, ledger: LedgerState) -> Work:
    """Read what the files of ``subject`` should be."""
    if subject.distribution is None:
        return Work(subject=subject, ledger=ledger, oracle=Oracle(kind=None, reason=subject.reason), files=())
    try:
        oracle = read_oracle(subject.site, subject.distribution)
    except TargetError as error:
        oracle = Oracle(kind=None, reason=error.problem.message)
    base, prefix = os.path.realpath(subject.site), prefix_of(subject.site)
    files = [(row.path, row, spot_of(base, prefix, row.path)) for row in oracle.rows]
    listed = {row.path for row in oracle.rows}
    added = [path for path in _facts(ledger, subject) if path not in listed and oracle.kind is not None]
    return Work(
        subject=subject,
        ledger=ledger,
        oracle=oracle,
        files=(*files, *((path, None, Spot(in_site=True, path=path)) for path in sorted(added))),
    )


def inspect(work: Work, *, fast: bool, progress: Callable[[int], None]) -> DistributionCheck:
    """Look at every file of a distribution.

    Args:
        work: from :func:`prepare`.
        fast: sizes alone.
        progress: called with listed bytes when they are done.
    """
    subject, found = work.subject, work.subject.distribution
    fingerprint = found.fingerprint if found is not None else None
    baseline = work.ledger.baselines.get(subject.name)
    valid = baseline is not None and is_for(baseline, subject.build, fingerprint)
    check = DistributionCheck(
        site=subject.site,
        name=subject.name,
        build=subject.build,
        fingerprint=fingerprint,
        oracle=work.oracle.kind,
        reason=work.oracle.reason,
        baseline=len(baseline.absent) if baseline is not None and valid else 0,
        stale_baseline=baseline.build if baseline is not None and not valid else None,
    )
    if found is None or work.oracle.kind is None:
        return check
    looks = _look(work, fast=fast, progress=progress)
    accepted = frozenset(baseline.absent) if baseline is not None and valid else frozenset()
    files = _attributed(work, looks, accepted, fingerprint, fast=fast)
    return check._replace(files=(*files, *_extras(work, found)))


def is_for(baseline: Baseline, build: str, fingerprint: str | None) -> bool:
    """Return whether a baseline was taken of this very build: of another one it says nothing."""
    return (baseline.build, baseline.fingerprint) == (build, fingerprint)


def _facts(ledger: LedgerState, subject: Subject) -> dict[str, FileFact]:
    return {path: fact for path, fact in ledger.files.items() if fact.distribution == subject.name}


def _look(work: Work, *, fast: bool, progress: Callable[[int], None]) -> dict[Spot, Look | None]:
    facts = _facts(work.ledger, work.subject)
    wanted: dict[bool, dict[str, Wanted]] = {True: {}, False: {}}
    for path, row, spot in work.files:
        if spot is not None:
            algorithms = () if fast else _algorithms(row, patched=path in facts)
            size = row.size if row is not None and row.size is not None else 0
            wanted[spot.in_site][spot.path] = Wanted(
                path=spot.path, algorithms=algorithms, size=size, listed=_provable(row)
            )
    roots = {True: work.subject.site, False: prefix_of(work.subject.site) or work.subject.site}
    looks: dict[Spot, Look | None] = {}
    for in_site, files in wanted.items():
        if files:
            looks |= {Spot(in_site, path): it for path, it in _look_below(roots[in_site], files, progress).items()}
    return looks


def _look_below(root: str, files: Mapping[str, Wanted], progress: Callable[[int], None]) -> dict[str, Look | None]:
    try:
        root_fd = open_root(root)
    except OSError as error:
        raise TargetError("unreadable-site", f"{root} cannot be read: {error.strerror}") from None
    try:
        return look_at(root_fd, files.values(), progress=progress)
    finally:
        os.close(root_fd)


def _algorithms(row: Listed | None, *, patched: bool) -> tuple[str, ...]:
    """What must be computed: the listed kind, and sha256 where the ledger or conda may know the bytes."""
    own = () if row is None or unprovable(row) is not None or row.algorithm is None else (row.algorithm,)
    return tuple(dict.fromkeys((*own, *PROVING[:1]))) if patched else own


def _provable(row: Listed | None) -> tuple[str, str] | None:
    """The digest that proves a file's bytes, where it has one."""
    if row is None or row.algorithm is None or row.digest is None or unprovable(row) is not None:
        return None
    return row.algorithm, row.digest


def _attributed(
    work: Work, looks: Mapping[Spot, Look | None], accepted: Iterable[str], fingerprint: str | None, *, fast: bool
) -> list[Attribution]:
    facts = _facts(work.ledger, work.subject)
    sizes = _result_sizes(work.subject.site, facts.values()) if fast else {}
    judge = attribute_by_size if fast else attribute
    rewritten: Mapping[str, str] | None = None
    found = []
    for path, row, spot in work.files:
        if spot is None:
            found.append(Attribution(path=path, state=FileState.UNCHECKED, reason=OUTSIDE))
            continue
        fact = facts.get(path)
        known = Facts(
            listed=row,
            fact=fact,
            fingerprint=fingerprint,
            accepted=path in accepted,
            result_size=sizes.get(fact.result) if fact is not None and fact.result is not None else None,
        )
        said = judge(path, looks.get(spot), known)
        if said is not None and said.state is FileState.FOREIGN and work.oracle.kind == "record" and fact is None:
            if rewritten is None:
                rewritten = rewritten_by_conda(work.subject.site, _of(work))
            if path in rewritten and not fast:
                said = _second_opinion(work, spot, path, known._replace(rewritten=rewritten[path]))
        if said is not None:
            found.append(said)
    return found


def _of(work: Work) -> Distribution:
    if work.subject.distribution is None:
        raise ValueError(f"{work.subject.name} cannot be read")
    return work.subject.distribution


def _second_opinion(work: Work, spot: Spot, path: str, known: Facts) -> Attribution | None:
    """Look once more, at a sha256: conda knows that kind alone."""
    root = work.subject.site if spot.in_site else prefix_of(work.subject.site) or work.subject.site
    algorithms = tuple(dict.fromkeys((*_algorithms(known.listed, patched=False), *PROVING[:1])))
    looks = _look_below(root, {spot.path: Wanted(path=spot.path, algorithms=algorithms)}, lambda _: None)
    return attribute(path, looks[spot.path], known)


def _result_sizes(site: str, facts: Iterable[FileFact]) -> dict[str, int]:
    """The ledger has hashes alone; the stored results have sizes."""
    stored = {object_path(fact.result): fact.result for fact in facts if fact.result is not None}
    try:
        root_fd = open_root(site)
    except OSError:
        return {}
    try:
        return {stored[path]: size for path, size in sizes_of(root_fd, tuple(stored)).items()}
    finally:
        os.close(root_fd)


def _extras(work: Work, found: Distribution) -> tuple[Attribution, ...]:
    listed = [spot.path for _, row, spot in work.files if row is not None and spot is not None and spot.in_site]
    ours = [path for path, row, _ in work.files if row is None]
    return tuple(
        Attribution(path=path, state=FileState.EXTRA, reason=_why_extra(path))
        for path in find_unlisted(work.subject.site, found.info, listed, ours)
    )


def _why_extra(path: str) -> str:
    if is_byte_code(path):
        return "is byte code without a source, which an import would run, and nobody lists it"
    problem = path_problem(path)
    return "is in its packages, and nobody lists it" + (f"; its name {problem}" if problem is not None else "")
