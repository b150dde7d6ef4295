"""From a registry entry or a receipt to its diffs: choose variants, read and parse. What they mean here is not here.

A diff is parsed only when it may matter here: its variant matches the installed build, or its entry matches no build
and the question is whether the bytes would take it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from patchctl.build import BuildId, MatchOutcome, MatchRule, choose, parse_build
from patchctl.diff import FileDiff, parse_diff
from patchctl.errors import PatchctlError, Problem
from patchctl.ledger import read_patch
from patchctl.model import LedgerState, Receipt, ReceiptDiff, Target
from patchctl.patch import Patch, Variant
from patchctl.registry import Registry
from patchctl.verdict import Namesake, SourceDiff

Parsed = Mapping[tuple[str, int], tuple[FileDiff, ...]]
"""What a diff says, by the sha256 of its bytes and the strip level: the same bytes always say the same."""

NOTHING: Parsed = MappingProxyType({})
_WEAKEST = (MatchRule.NONE, MatchRule.RANGE, MatchRule.LABEL, MatchRule.EXACT, MatchRule.ASSUMED)


UNKNOWN = "it is not in the registry"
BROKEN = "its registry entry is broken"


@dataclass(slots=True, kw_only=True)
class Selection:
    """An entry with the diffs that may matter here, while it is put together.

    Attributes:
        id: of the entry.
        entry: what the registry says; None: only the ledger knows it.
        receipt: that it was applied.
        rule: the weakest over its distributions.
        reason: why, in words.
        options: per distribution the diffs in question: one where a variant matches, every variant where none does.
        recorded: the diffs that were applied.
        assumed: build string the operator gave, now or when it was applied.
        problems: what is broken in it.
        unusable: its registry entry cannot be used; a receipt still counts.
        unknown: it was applied, but what was applied cannot be read any more.
        namesake: the registry's entry of that id, where the receipt is of another registry's; then ``entry`` is None.
    """

    id: str
    entry: Patch | None
    receipt: Receipt | None
    rule: MatchRule = MatchRule.NONE
    reason: str = UNKNOWN
    options: dict[str, list[SourceDiff]] = field(default_factory=dict)
    recorded: tuple[SourceDiff, ...] = ()
    assumed: str | None = None
    problems: list[Problem] = field(default_factory=list)
    unusable: bool = False
    unknown: bool = False
    namesake: Namesake | None = None

    def all(self) -> tuple[SourceDiff, ...]:
        """Every diff in question, those that were applied included."""
        return (*(diff for diffs in self.options.values() for diff in diffs), *self.recorded)

    def paths(self) -> set[str]:
        """Every path that its diffs name."""
        return {path for diff in self.all() for file in diff.files for path in file.paths}


def select(
    registry: Registry,
    entry: Patch | None,
    target: Target,
    ledger: LedgerState,
    assumed: str | None,
    *,
    receipt: Receipt | None = None,
    namesake: Namesake | None = None,
    known: Parsed = NOTHING,
    stores: Sequence[str],
) -> Selection:
    """Choose an entry's variants for this environment and parse their diffs.

    Args:
        registry: where the diffs are read from.
        entry: the entry; None for a receipt whose entry the registry lost.
        target: the environment.
        ledger: receipts.
        assumed: build string given with ``--assume-build``.
        receipt: with ``entry`` None.
        namesake: with ``entry`` None: the entry of that id in another registry.
        known: what was parsed before.
        stores: site directories (absolute) whose state directory may hold the diffs that were applied.
    """
    if entry is not None:
        receipt = next((held for held in ledger.receipts if held.id == entry.id), None)
    known_by = entry or receipt
    if known_by is None:
        raise ValueError("neither an entry nor a receipt")
    selection = Selection(id=known_by.id, entry=entry, receipt=receipt, namesake=namesake)
    if receipt is not None and receipt.registry is not None and namesake is not None:
        selection.reason = f"it is from {receipt.registry}, and not the entry of that id in {namesake.registry}"
    elif entry is None and registry.problems_of(known_by.id):
        selection.reason = BROKEN
    names = [diff.distribution for diff in receipt.diffs] if receipt is not None else []
    for name in (*(entry.distributions if entry is not None else ()), *names):
        if (obstacle := target.obstacle(name)) is not None:
            # Whose files those are is unknown: nothing of it is judged, and what is recorded stays as it is.
            selection.problems.append(obstacle._replace(patch=selection.id))
            selection.unusable, selection.unknown = True, receipt is not None
            return selection
    if receipt is not None:
        _add_recorded(selection, receipt, stores, known)
        if assumed is None and receipt.assumed is not None and not _rebuilt(receipt, target):
            assumed = receipt.assumed
    selection.assumed = assumed
    if entry is not None:
        _choose_variants(selection, registry, entry, target, known)
    return selection


def _add_recorded(selection: Selection, receipt: Receipt, stores: Sequence[str], known: Parsed) -> None:
    """Read and parse what was applied. One receipt that cannot be read says nothing about the others."""
    diffs = []
    for recorded in receipt.diffs:
        try:
            diffs.append(_recorded(recorded, stores, known))
        except (PatchctlError, ValueError) as error:
            message = f"what was applied of {receipt.id} cannot be read any more: {error}"
            hint = f"patchctl revert {receipt.id} takes it out: the originals are recorded by themselves"
            selection.problems.append(Problem(code="recorded-diff-gone", message=message, hint=hint, patch=receipt.id))
            selection.unknown = True
            return
    selection.recorded = tuple(diffs)


def _recorded(recorded: ReceiptDiff, stores: Sequence[str], known: Parsed) -> SourceDiff:
    kept = (read_patch(store, recorded.sha256) for store in stores)
    data = next((data for data in kept if data is not None), None)
    if data is None:
        raise ValueError(f"the diff {recorded.sha256[:12]} is gone")
    same = known.get((recorded.sha256, recorded.strip))
    return SourceDiff(
        distribution=recorded.distribution,
        name=recorded.diff,
        sha256=recorded.sha256,
        strip=recorded.strip,
        data=data,
        files=same if same is not None else parse_diff(data, strip=recorded.strip),
        variant=None,
        rule=MatchRule(recorded.rule),
        reason=f"as applied to {recorded.build}",
    )


def _choose_variants(selection: Selection, registry: Registry, entry: Patch, target: Target, known: Parsed) -> None:
    by_distribution: dict[str, list[Variant]] = {}
    for variant in entry.variants:
        by_distribution.setdefault(variant.distribution, []).append(variant)
    outcomes = []
    for name, variants in by_distribution.items():
        installed = target.distributions.get(name)
        if installed is None:
            outcomes.append(MatchOutcome(rule=MatchRule.NONE, reason=f"{name} is not installed here"))
            continue
        build = parse_build(selection.assumed or installed.build)
        outcome, chosen = _choose(selection, registry, variants, build)
        outcomes.append(outcome)
        if any(variant.diff is None for variant in chosen):
            continue  # an advisory has no diff
        _parse(selection, registry, entry, name, chosen, outcome, known)
    weakest = min(outcomes, key=lambda outcome: _WEAKEST.index(outcome.rule))
    selection.rule, selection.reason = weakest.rule, weakest.reason


def _choose(
    selection: Selection, registry: Registry, variants: Sequence[Variant], build: BuildId
) -> tuple[MatchOutcome, list[Variant]]:
    index, outcome = choose([variant.rule for variant in variants], build)
    if outcome.tie and selection.entry is not None:
        first = selection.entry.variants.index(variants[outcome.tie[0]])
        file, line = registry.locate(selection.entry, f"variant[{first}]")
        message = f"two variants match {build.raw} equally well: {outcome.reason}"
        selection.problems.append(
            Problem(
                code="variant-tie",
                message=message,
                patch=selection.id,
                path=file,
                line=line,
                key=f"variant[{first}]",
                hint="narrow one of them",
            )
        )
        selection.unusable = True
    if index is None:
        return outcome, list(variants)
    if selection.assumed is not None:
        outcome = MatchOutcome(rule=MatchRule.ASSUMED, reason=f"as {build.raw}, said by --assume-build")
    return outcome, [variants[index]]


def _parse(
    selection: Selection,
    registry: Registry,
    entry: Patch,
    name: str,
    chosen: Iterable[Variant],
    outcome: MatchOutcome,
    known: Parsed,
) -> None:
    if selection.recorded:
        known = {**known, **{(diff.sha256, diff.strip): diff.files for diff in selection.recorded}}
    for variant in chosen:
        try:
            source = parse_variant(registry, entry, variant, outcome, known=known)
            selection.options.setdefault(name, []).append(source)
        except PatchctlError as error:
            selection.problems.append(error.problem)
            selection.unusable = True


def parse_variant(
    registry: Registry,
    entry: Patch,
    variant: Variant,
    outcome: MatchOutcome,
    *,
    known: Parsed = NOTHING,
) -> SourceDiff:
    """Read and parse the diff of one variant; what ``known`` has of the same digest is not parsed again.

    Raises:
        RegistryError: it cannot be read, or is not the one its digest names.
        DiffError: the coverage gate refuses it; the problem names entry, file, key and the diff's line.
    """
    data = registry.read_diff(entry, variant)
    same = known.get((variant.sha256 or "", variant.strip))
    try:
        files = same if same is not None else parse_diff(data, strip=variant.strip)
    except PatchctlError as error:
        number = entry.variants.index(variant)
        file, _ = registry.locate(entry, f"variant[{number}].diff")
        folder = file.rsplit("/", 1)[0] if "/" in file else "."
        problem = error.problem
        raise type(error)(
            problem.code,
            problem.message,
            hint=problem.hint,
            patch=entry.id,
            path=f"{folder}/{variant.diff}",
            line=problem.line,
            key=f"variant[{number}].diff",
        ) from None
    return SourceDiff(
        distribution=variant.distribution,
        name=variant.diff or "",
        sha256=variant.sha256 or "",
        strip=variant.strip,
        data=data,
        files=files,
        variant=variant,
        rule=outcome.rule,
        reason=outcome.reason,
    )


def _rebuilt(receipt: Receipt, target: Target) -> bool:
    """The entry was applied to another build than the one installed now."""
    for diff in receipt.diffs:
        installed = target.distributions.get(diff.distribution)
        if installed is None or installed.build != diff.build:
            return True
    return False
