"""Reads ``[[fix]]`` and its evidence. Whether the evidence holds anywhere is not here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from patchctl.build import specifier_problem
from patchctl.errors import RegistryError
from patchctl.model import EvidenceItem, Fix, FixRole
from patchctl.model.paths import path_problem
from patchctl.patch.patterns import pattern_problem
from patchctl.patch.shapes import EVIDENCE, FIX
from patchctl.patch.table import Table
from patchctl.patch.texts import (
    distribution_problem,
    file_name_problem,
    source_problem,
    symbol_problem,
)

_TESTS = ("contains", "absent", "matches", "diff")


class Means(NamedTuple):
    """What reading evidence takes from outside.

    Attributes:
        read_file: gives the bytes of a file of that name in the entry's folder; raises OSError or RegistryError.
        split_tokens: splits Python source, or a piece of it, as the judge of evidence does; raises ValueError.
    """

    read_file: Callable[[str], bytes]
    split_tokens: Callable[[str], Sequence[str]]


def read_fixes(entry: Table, distributions: Sequence[str], means: Means) -> tuple[Fix, ...]:
    """Read every ``[[fix]]`` of an entry.

    Args:
        entry: the whole file.
        distributions: normalised names of those the entry has variants for.
        means: to read evidence with.
    """
    fixes: list[Fix] = []
    seen: set[tuple[str, str]] = set()
    for table in entry.tables("fix", FIX):
        fix = _read_fix(table, distributions, means)
        if fix.ref and (fix.ref, fix.distribution) in seen:
            table.report("duplicate-value", "ref", f"names {fix.ref} again")
        seen.add((fix.ref, fix.distribution))
        fixes.append(fix)
    return tuple(fixes)


def _read_fix(table: Table, distributions: Sequence[str], means: Means) -> Fix:
    table.require(("ref", "role"))
    distribution = table.distribution(distribution_problem)
    if not distribution and len(distributions) == 1:
        distribution = distributions[0]
    if "distribution" not in table and len(distributions) > 1:
        named = ", ".join(distributions)
        table.report("missing-key", "distribution", f"is missing: the entry's variants are for {named}")
    return Fix(
        ref=table.text("ref", one_line=True),
        role=table.word("role", FixRole) or FixRole.RELATED,
        claimed=table.checked("claimed", "bad-specifier", _claim_problem) or None,
        source=table.checked("source", "bad-source", source_problem) or None,
        note=table.text("note") or None,
        distribution=distribution,
        evidence=tuple(_read_item(item, means) for item in table.tables("evidence", EVIDENCE)),
    )


def _claim_problem(text: str) -> str | None:
    problem = specifier_problem(text)
    return None if problem is None else f": {problem}"


def _read_item(table: Table, means: Means, *, nested: bool = False) -> EvidenceItem:
    if "any" in table:
        return _read_alternatives(table, means, nested=nested)
    given = [test for test in _TESTS if test in table]
    if len(given) != 1:
        wanted = "exactly one of `contains`, `absent`, `matches` and `diff`, or `any` with alternatives"
        found = f"not {' and '.join(f'`{test}`' for test in given)}" if given else "and has none"
        table.document.report("evidence-one-test", table.path, f"must have {wanted}, {found}")
    if "diff" in given and "symbol" in table:
        table.report("evidence-one-test", "symbol", "means nothing beside `diff`, whose hunks say where they belong")
    if "diff" not in given:
        table.require(("file",))
    return EvidenceItem(
        file=table.checked("file", "bad-path", path_problem),
        symbol=table.checked("symbol", "bad-symbol", symbol_problem) or None,
        contains=_source(table, "contains", means),
        absent=_source(table, "absent", means),
        matches=table.checked("matches", "bad-pattern", pattern_problem, one_line=False) or None,
        diff=_read_diff(table, means),
        diff_name=table.text("diff") or None,
    )


def _read_alternatives(table: Table, means: Means, *, nested: bool) -> EvidenceItem:
    for key in table.shape.examples:
        if key != "any" and key in table:
            table.report("evidence-any-alone", key, "must not stand beside `any`: write it into the alternatives")
    if nested:
        table.report("evidence-any-nested", "any", "must not stand inside another `any`")
        return EvidenceItem()
    items = table.tables("any", EVIDENCE)
    if not items and table.raw("any") == []:
        table.report("empty-value", "any", "must name at least one alternative")
    return EvidenceItem(alternatives=tuple(_read_item(item, means, nested=True) for item in items))


def _source(table: Table, key: str, means: Means) -> str | None:
    text = table.text(key)
    if not text.strip():
        return None
    try:
        if not means.split_tokens(text):
            table.report("bad-tokens", key, "holds no Python token")
    except ValueError as error:
        table.report("bad-tokens", key, f"does not read as Python: {error}")
    return text


def _read_diff(table: Table, means: Means) -> bytes | None:
    name = table.checked("diff", "bad-file-name", file_name_problem)
    if not name.strip() or file_name_problem(name) is not None:
        return None
    try:
        data = means.read_file(name)
    except (OSError, RegistryError) as error:
        reason = error.strerror or str(error) if isinstance(error, OSError) else error.problem.message
        table.report("evidence-diff-unreadable", "diff", f"cannot be read: {name}: {reason}")
        return None
    if not data:
        table.report("evidence-diff-unreadable", "diff", f"names an empty file: {name}")
    return data
