"""One entry on the files of one tree: what is judged, and what can be read off it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from patchctl.build import BuildId, MatchRule, choose, parse_build
from patchctl.evidence import FixFinding
from patchctl.match import Fit
from patchctl.patch import Patch
from patchctl.verdict import Assessment, Clash, fits_alone


class Made(NamedTuple):
    """A Python file that an entry's diffs change or add: its path, and its bytes without and with them.

    ``before`` is None where it is added.
    """

    path: str
    before: bytes | None
    after: bytes


class Trial(NamedTuple):
    """An entry that was tried on a tree.

    Attributes:
        patch: the entry.
        builds: distribution (normalised) -> build string, of those that the entry names and the tree holds, in the
            entry's order; never empty.
        found: what it looks like there by itself, nothing of ours being in; None: the tree's files, two variants that
            match equally well, or a broken diff leave nothing to judge.
        clash: it fits by itself, and not over the registry's others.
        patched: its fixes, judged on what its own diffs make of the files; empty: they do not fit, or change no file
            that its evidence reads.
        near: (file, symbol) of evidence that the file does not define -> names in it that are spelt like it.
        made: the Python files that its diffs change or add, where they fit.
    """

    patch: Patch
    builds: Mapping[str, str]
    found: Assessment | None
    clash: Clash | None = None
    patched: tuple[FixFinding, ...] = ()
    near: Mapping[tuple[str, str], tuple[str, ...]] = MappingProxyType({})
    made: tuple[Made, ...] = ()

    @property
    def build(self) -> str:
        """The build in words: of several distributions each with its name."""
        if len(self.builds) == 1:
            return next(iter(self.builds.values()))
        return ", ".join(f"{name} {build}" for name, build in self.builds.items())

    @property
    def is_witness(self) -> bool:
        """Whether the files say something about the entry: they are as the build brought them, as far as RECORD tells.

        What was edited, or carries the change without being built with it, neither proves nor refutes a claim.
        """
        if self.found is None:
            return False
        if any(file.pristine is False for file in self.found.files):
            return False
        return self.found.fit is not Fit.PRESENT or all(file.built_in for file in self.found.files)

    @property
    def fixes(self) -> tuple[tuple[int, FixFinding], ...]:
        """The fixes of distributions that are there, each with its index in the entry."""
        findings = self.found.case.fixes if self.found is not None else ()
        return tuple((at, finding) for at, finding in enumerate(findings) if finding.fix.distribution in self.builds)

    @property
    def offset(self) -> int | None:
        """The largest distance in lines from where the diffs state their hunks; None: they do not fit."""
        if self.found is None or not fits_alone(self.found):
            return None
        offsets = [hunk.offset for file in self.found.files for hunk in file.hunks]
        return max((abs(offset) for offset in offsets if offset is not None), default=0)

    @property
    def fuzz(self) -> int | None:
        """The fuzz with which GNU patch would have taken diffs that do not fit; None: they fit, or none would do."""
        if self.found is None or self.found.fit is not Fit.CONFLICT:
            return None
        from patchctl.match.fuzz import fuzz_needed

        most = 0
        for file in self.found.files:
            if file.meeting is None:
                continue
            meeting = file.meeting
            needed = None if meeting.content is None else fuzz_needed(meeting.diff, meeting.content)
            if needed is None:
                return None
            most = max(most, needed)
        return most or None

    @property
    def ties(self) -> tuple[tuple[int, ...], ...]:
        """Indices of variants that fit a build equally well, so that none is chosen; for each distribution."""
        found = []
        for name, build in self.builds.items():
            at = [index for index, variant in enumerate(self.patch.variants) if variant.distribution == name]
            _, outcome = choose([self.patch.variants[index].rule for index in at], parse_build(build))
            if outcome.tie:
                found.append(tuple(at[index] for index in outcome.tie))
        return tuple(found)

    @property
    def rule(self) -> MatchRule:
        """Why the entry is meant for the build; NONE: it is not, or nothing can be said."""
        return self.found.case.rule if self.found is not None else MatchRule.NONE

    def build_of(self, finding: FixFinding) -> BuildId:
        """Return the build that a fix's claim speaks of."""
        return parse_build(self.builds[finding.fix.distribution])
