"""``list`` and ``show``: the registry itself. No environment is consulted."""

from __future__ import annotations

from patchctl.build import MatchOutcome, MatchRule
from patchctl.commands.place import Place
from patchctl.commands.report import Listing, Report
from patchctl.commands.scene import open_registry
from patchctl.commands.selection import parse_variant
from patchctl.commands.stack import unknown_entry
from patchctl.errors import Outcome, PatchctlError, Problem
from patchctl.patch import Patch
from patchctl.registry import Registry


def list_entries(place: Place) -> Report:
    """List the registry: every entry, and everything that is broken in it, diffs included."""
    registry = open_registry(place)
    problems = list(registry.problems)
    entries = [entry for entry in registry.entries if _concerns(entry, place.distribution)]
    for entry in entries:
        problems += _parsed(registry, entry)[1]
    listing = Listing(roots=registry.roots, entries=tuple(entries))
    return Report(command="list", listing=listing, errors=tuple(problems))


def show(place: Place, id_: str) -> Report:
    """Show one entry whole: metadata, fixes with claims and evidence, avoidance, diffs.

    Raises:
        UsageError: no entry is called so.
    """
    registry = open_registry(place)
    mine = [problem for problem in registry.problems if problem.patch == id_]
    entry = next((entry for entry in registry.entries if entry.id == id_), None)
    if entry is None and not mine:
        raise unknown_entry(id_, [entry.id for entry in registry.entries])
    diffs: tuple[tuple[str, bytes], ...] = ()
    if entry is not None:
        diffs, broken = _parsed(registry, entry)
        mine += broken
    listing = Listing(roots=registry.roots, entries=(entry,) if entry is not None else (), diffs=diffs, detailed=True)
    outcome = Outcome.CANNOT_ANSWER if mine else Outcome.OK
    return Report(command="show", outcome=outcome, named=(id_,), listing=listing, errors=tuple(mine))


def entry_ids(place: Place) -> tuple[str, ...]:
    """Return the ids of the registry's working entries, for shell completion; none where it cannot be read."""
    try:
        return tuple(entry.id for entry in open_registry(place).entries)
    except PatchctlError:
        return ()


def _concerns(entry: Patch, distribution: str | None) -> bool:
    return distribution is None or distribution in entry.distributions


def _parsed(registry: Registry, entry: Patch) -> tuple[tuple[tuple[str, bytes], ...], list[Problem]]:
    """Every diff of an entry through the coverage gate, whatever build it is for."""
    diffs, problems = [], []
    for variant in entry.variants:
        if variant.diff is None:
            continue
        try:
            source = parse_variant(registry, entry, variant, MatchOutcome(rule=MatchRule.NONE, reason="listed"))
        except PatchctlError as error:
            problems.append(error.problem)
        else:
            if (source.name, source.data) not in diffs:
                diffs.append((source.name, source.data))
    return tuple(diffs), problems
