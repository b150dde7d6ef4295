"""What patchctl recorded about one site: receipts, file facts, holds, retirements. Paths are relative to the site."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from patchctl.model.files import Link
from patchctl.model.listing import Baseline


class ReceiptDiff(NamedTuple):
    """One diff of an applied entry; the bytes are kept under their sha256 (hexadecimal) beside the ledger.

    Attributes:
        distribution: normalised name of the distribution it patches.
        diff: its file name in the registry, for people.
        sha256: of the diff's bytes.
        strip: leading path components to drop.
        build: build string it was applied to.
        rule: why it was chosen: ``exact``, ``label``, ``range`` or ``assumed``.
    """

    distribution: str
    diff: str
    sha256: str
    strip: int
    build: str
    rule: str


class RegistryPlace(NamedTuple):
    """Which registry an entry came from: where that lies decides, since a name can be given to any folder.

    Attributes:
        name: what it calls itself.
        bundled: it came with patchctl.
        path: of its folder, absolute, as it was named; None: it is the bundled one, or was recorded under
            SOURCE_DATE_EPOCH, where what is recorded must not depend on where a build is made.
        real: that path without links, which may lead to a new release tomorrow; None: as ``path``, or it was recorded.
    """

    name: str
    bundled: bool
    path: str | None = None
    real: str | None = None

    def is_same(self, other: RegistryPlace) -> bool:
        """Return whether both are one registry: whoever may write to the one may write to the other."""
        if self.bundled or other.bundled:
            return self.bundled and other.bundled
        if self.path is None or other.path is None:
            return self.name == other.name
        return not {self.path, self.real or self.path}.isdisjoint((other.path, other.real or other.path))

    def __str__(self) -> str:
        """Return it in words."""
        if self.bundled:
            return "the bundled registry"
        return f"the registry {self.name}" + (f" ({self.path})" if self.path is not None else "")


EXPECTATIONS = ("retires", "returns", "lost")
"""What the bytes of a candidate promise of an entry that was taken out for it."""


class SetAside(NamedTuple):
    """That an applied entry was taken out for an upgrade, to be brought back or retired after it.

    Attributes:
        builds: distribution -> build string of the candidate that the upgrade was prepared for.
        fingerprints: distribution -> fingerprint of that candidate; None where it has no RECORD.
        expected: what the candidate's bytes promise, one of EXPECTATIONS: ``retires`` or ``returns``, or ``lost`` where
            it will do neither.
        since: UTC time, ISO 8601 with ``Z``.
    """

    builds: Mapping[str, str]
    fingerprints: Mapping[str, str | None]
    expected: str
    since: str


class Receipt(NamedTuple):
    """One applied entry, as it was when it was applied; order in the ledger is the order of folding.

    Attributes:
        id: the entry.
        kind: containment or backport.
        title: one line, for people whose registry has moved on.
        revision: of the entry when applied.
        diffs: what was applied, one per distribution.
        applied_at: UTC time, ISO 8601 with ``Z``.
        requires: ids that must stay in as long as this one does.
        conflicts: ids that must not come in beside it.
        assumed: build string given with ``--assume-build``; None: the detected build matched.
        despite_fix: applied although the bytes prove it fixed.
        set_aside: taken out for an upgrade; None: it is in.
        registry: where the entry came from; None in what older versions recorded.
    """

    id: str
    kind: str
    title: str
    revision: int
    diffs: tuple[ReceiptDiff, ...]
    applied_at: str
    requires: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    assumed: str | None = None
    despite_fix: bool = False
    set_aside: SetAside | None = None
    registry: RegistryPlace | None = None


class FileFact(NamedTuple):
    """What a patched file was before our first patch and after our last.

    Attributes:
        path: POSIX, relative to the site.
        distribution: normalised name of its distribution.
        fingerprint: of that distribution when the fact was recorded.
        base: sha256 (hexadecimal) before our first patch; None: the file was not there.
        result: sha256 after our last patch; None: we removed it.
        base_mode: permission bits of the base; None without base.
        base_mtime_ns: modification time of the base; None without base, or where nobody ever saw the base by itself.
        created_dirs: directories we made for it, relative to the site, deepest first.
        entries: ids of the entries whose changes are in ``result``, in fold order.
        result_mode: permission bits after our last patch; None where they are those of the base.
        base_link: the symbolic link that stood there and led to the base; None: a regular file did.
        base_xattrs: extended attributes of the base that a file which brings it back is given: the user's own and the
            access list, never what speaks of owner or privilege.
    """

    path: str
    distribution: str
    fingerprint: str | None
    base: str | None
    result: str | None
    base_mode: int | None = None
    base_mtime_ns: int | None = None
    created_dirs: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    result_mode: int | None = None
    base_link: Link | None = None
    base_xattrs: tuple[tuple[str, bytes], ...] = ()


class Hold(NamedTuple):
    """The operator's decision that an entry stays as it is, whatever the registry says."""

    id: str
    reason: str
    since: str


class ProvenFix(NamedTuple):
    """A fix that was proven when its entry was retired, with the evidence in words."""

    ref: str
    evidence: tuple[str, ...]


class Retirement(NamedTuple):
    """An entry that was taken out because the installed bytes proved every fix.

    Attributes:
        id: the entry.
        revision: of the entry that was retired.
        builds: distribution -> build string in which the fixes were proven.
        fingerprints: distribution -> fingerprint of that build; None where it had no RECORD.
        fixes: what was proven, and how.
        retired_at: UTC time, ISO 8601 with ``Z``.
        over: the entry was brought in again since: what became of it then counts, not this.
    """

    id: str
    revision: int
    builds: Mapping[str, str]
    fingerprints: Mapping[str, str | None]
    fixes: tuple[ProvenFix, ...]
    retired_at: str
    over: bool = False


class LedgerState(NamedTuple):
    """Everything recorded about one site.

    Attributes:
        receipts: applied entries in fold order.
        files: path -> its fact, for every file that a receipt changed.
        holds: id -> the operator's decision.
        retirements: oldest first; none is ever dropped.
        last_second: the latest whole second ever given to a patched file as its modification time; the next
            transaction uses a later one, so that byte code for an old text is never taken for a new one.
        sha256: of the ledger file read (hexadecimal); None: there is no file yet.
        baselines: distribution -> the absences that ``verify`` accepts.
    """

    receipts: tuple[Receipt, ...] = ()
    files: Mapping[str, FileFact] = MappingProxyType({})
    holds: Mapping[str, Hold] = MappingProxyType({})
    retirements: tuple[Retirement, ...] = ()
    last_second: int = 0
    sha256: str | None = None
    baselines: Mapping[str, Baseline] = MappingProxyType({})
