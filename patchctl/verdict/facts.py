"""The facts about one entry in one environment. They are never merged into one word.

``match`` says whether the entry is meant for this build, ``verdict`` what its bytes look like here, the fixes whether
upstream has it, ``need`` whether it ought to be in, ``action`` what is due.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from patchctl.build import MatchRule
from patchctl.diff import FileDiff
from patchctl.evidence import FixFinding
from patchctl.match import Fit, FitReport, HunkPlace
from patchctl.model import Claim, Content, Distribution, Hold, LedgerState, Receipt, RegistryPlace, Retirement, Snapshot
from patchctl.patch import Patch, Variant
from patchctl.verdict.base import Base

if TYPE_CHECKING:
    from patchctl.match.explain import Explanation


class Verdict(str, Enum):
    """What the bytes and the ledger say; the first that fits, in this order.

    Where the distribution itself is gone, an applied entry is LOST whatever became of its files.
    """

    MISSING = "missing"
    DRIFTED = "drifted"
    LOST = "lost"
    APPLIED = "applied"
    PRESENT = "present"
    APPLICABLE = "applicable"
    PARTIAL = "partial"
    UNDECIDED = "undecided"
    CONFLICT = "conflict"


class Need(str, Enum):
    """Whether the entry ought to be in; the first that fits, in this order."""

    FIXED = "fixed"
    HELD = "held"
    WANTED = "wanted"
    OPTIONAL = "optional"
    UNKNOWN_BUILD = "unknown-build"
    NOT_CONCERNED = "not-concerned"


class Action(str, Enum):
    """What is due."""

    APPLY = "apply"
    ADOPT = "adopt"
    RETIRE = "retire"
    PORT = "port"
    INSPECT = "inspect"
    NONE = "none"


DUE = frozenset({Action.APPLY, Action.ADOPT, Action.PORT, Action.INSPECT})
"""The actions that ``check`` fails for; the others are advice."""


class SourceDiff(NamedTuple):
    """One diff of an entry, parsed, with where it came from.

    Attributes:
        distribution: normalised name of the distribution whose files it changes.
        name: the diff's file name in the registry.
        sha256: of its bytes.
        strip: leading path components dropped.
        data: its bytes.
        files: what it says, per file.
        variant: the registry's variant; None for a diff that only the ledger has.
        rule: why it was chosen for this build.
        reason: the same, in words.
    """

    distribution: str
    name: str
    sha256: str
    strip: int
    data: bytes
    files: tuple[FileDiff, ...]
    variant: Variant | None
    rule: MatchRule
    reason: str


class Namesake(NamedTuple):
    """An entry with the id of a recorded one, in another registry than that one came from.

    Attributes:
        revision: of the entry.
        registry: where it is.
    """

    revision: int
    registry: RegistryPlace


class Case(NamedTuple):
    """One entry before judgement: everything the shell gathered about it.

    Attributes:
        id: of the entry.
        patch: what the registry says; None: only the ledger knows it.
        receipt: that it was applied.
        hold: the operator's decision about it.
        rule: the weakest rule over its distributions; NONE: not meant for this build.
        reason: why, in words.
        diffs: the registry's diffs for this build; for an unmatched entry its nearest, to see whether they fit.
        recorded: the diffs that were applied, from the ledger's own store.
        fixes: upstream changes, judged on base bytes.
        replaces: ids whose place it takes, also over entries between them.
        replaced_by: an entry of this registry that takes its place here.
        assumed: build string the operator gave for it.
        incomplete: a distribution that it names is not installed here.
        rebuilt: it was applied to another build than the one installed now.
        retirement: the last time that it was retired; None: never, or it came in again since.
        installed: distribution -> build string installed now, of those that it is about.
        namesake: the entry that this registry has under the id of a receipt from another one; then ``patch`` is None,
            since it is no word about what is recorded.
        trespasses: (id, registry) of recorded entries from elsewhere whose place it would take; it may not.
    """

    id: str
    patch: Patch | None
    receipt: Receipt | None
    hold: Hold | None
    rule: MatchRule
    reason: str
    diffs: tuple[SourceDiff, ...]
    recorded: tuple[SourceDiff, ...]
    fixes: tuple[FixFinding, ...]
    replaces: tuple[str, ...] = ()
    replaced_by: str | None = None
    assumed: str | None = None
    incomplete: bool = False
    rebuilt: bool = False
    retirement: Retirement | None = None
    installed: Mapping[str, str] = MappingProxyType({})
    namesake: Namesake | None = None
    trespasses: tuple[tuple[str, RegistryPlace], ...] = ()

    @property
    def due(self) -> tuple[SourceDiff, ...]:
        """The diffs that would bring it in now: the registry's for this build, else those that were applied."""
        return self.diffs if self.diffs and self.rule is not MatchRule.NONE else self.recorded or self.diffs

    @property
    def requires(self) -> tuple[str, ...]:
        """Ids that must be in for this entry to be in."""
        if self.patch is not None:
            return self.patch.requires
        return self.receipt.requires if self.receipt is not None else ()

    @property
    def newer(self) -> bool:
        """The registry has, for this build, a newer revision than the one that was applied."""
        if self.patch is None or self.receipt is None or self.rule is MatchRule.NONE or not self.diffs:
            return False
        return self.patch.revision > self.receipt.revision


class SiteFacts(NamedTuple):
    """The environment as far as judgement needs it.

    Attributes:
        distributions: by name.
        snapshot: the files as they are.
        ledger: what is recorded.
        bases: path -> its base, for every path that a diff, evidence or the ledger names.
        tops: for a distribution without RECORD, its top-level packages and modules.
        claims: path -> distributions whose RECORD lists it, where there are any; of the paths that a diff chosen for
            this build names.
    """

    distributions: Mapping[str, Distribution]
    snapshot: Snapshot
    ledger: LedgerState
    bases: Mapping[str, Base]
    tops: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    claims: Mapping[str, tuple[Claim, ...]] = MappingProxyType({})

    def base_content(self, path: str) -> Content | None:
        """Return the base of ``path``; None when it is not part of the base."""
        return self.bases[path].content

    def live_content(self, path: str) -> Content | None:
        """Return ``path`` as it is now; None when nothing readable is there."""
        live = self.snapshot.files.get(path)
        return Content(data=live.data, mode=live.meta.mode) if live is not None else None


class Meeting(NamedTuple):
    """What a diff met in a file that it does not fit: enough to explain it, should anybody ask.

    Attributes:
        diff: changes to the file.
        content: the bytes it was judged on; None: no file is there.
        report: the judgement.
    """

    diff: FileDiff
    content: bytes | None
    report: FitReport


class FileFinding(NamedTuple):
    """One file of an entry.

    Attributes:
        path: POSIX, relative to the site. Of a rename: the new name.
        fit: what the entry's hunks look like in it.
        pristine: the live bytes equal what RECORD lists; None: unknown.
        built_in: the change is in the base, and the base equals what RECORD lists: the build itself carries it.
        sha256: of the live bytes; None: not there.
        hunks: where each hunk lies or would lie, or why it has no place.
        obstacle: why patchctl must not touch the file, whatever the hunks say: a link, a foreign edit, another
            distribution's file.
        reason: why the diff as a whole does not fit the file.
        old_path: the name that a rename takes the file from; while it is there, ``pristine`` and ``sha256`` are its.
        meeting: where the fit is neither PRESENT nor APPLICABLE: what met. None too where the file is not the
            entry's to read.
        explanation: why it does not fit, once somebody asked; see :func:`patchctl.verdict.explained`.
    """

    path: str
    fit: Fit
    pristine: bool | None
    built_in: bool
    sha256: str | None
    hunks: tuple[HunkPlace, ...]
    obstacle: str | None = None
    reason: str | None = None
    old_path: str | None = None
    meeting: Meeting | None = None
    explanation: Explanation | None = None


class Assessment(NamedTuple):
    """Everything known about one entry here. ``verdict`` and ``fit`` are None for an advisory, which has no diff."""

    case: Case
    verdict: Verdict | None
    fit: Fit | None
    files: tuple[FileFinding, ...]
    need: Need
    action: Action
    reason: str

    @property
    def id(self) -> str:
        """The entry's id."""
        return self.case.id
