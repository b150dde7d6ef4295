"""``patch.toml`` bytes into one typed entry, or into every problem of the file at once.

Files are read by whoever calls: bytes come in, and the only other file asked for is an evidence diff. Whether ids that
the entry names exist is not here; ``registry`` sees the other entries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from patchctl.build import parse_build
from patchctl.errors import Problem
from patchctl.patch.advice import read_avoid, read_trigger
from patchctl.patch.document import Document
from patchctl.patch.entry import Kind, Patch, Severity, Signal, Variant
from patchctl.patch.fixes import Means, read_fixes
from patchctl.patch.patterns import pattern_problem
from patchctl.patch.rules import read_rule
from patchctl.patch.shapes import AVOID, ENTRY, SIGNAL, TRIGGER, VARIANT
from patchctl.patch.table import Table
from patchctl.patch.texts import (
    cve_problem,
    file_name_problem,
    is_slug,
    sha256_problem,
    target_problem,
)

_REQUIRED = ("id", "title", "kind", "severity", "why", "removal")
_MAX_STRIP = 32
_MAX_VARIANTS = 64


def parse_entry(
    data: bytes,
    *,
    file: str,
    folder: str,
    read_file: Callable[[str], bytes],
    split_tokens: Callable[[str], Sequence[str]] = str.split,
    registry: str = "",
) -> tuple[Patch | None, tuple[Problem, ...]]:
    """Read one entry.

    Args:
        data: the bytes of ``patch.toml``.
        file: its path, as problems show it.
        folder: directory of the entry; its last component is the id the entry must have.
        read_file: gives the bytes of a file of that name in the folder; raises OSError or RegistryError.
        split_tokens: splits Python source as the judge of evidence does, so that a needle it cannot use is refused
            here; raises ValueError. The default only tells blank text.
        registry: the registry's folder, kept in the entry.

    Returns:
        The entry, or None; and all problems of the file, by line. There is an entry exactly when there is no problem.
    """
    folder = folder.rstrip("/")
    name = folder.rpartition("/")[2]
    document = Document(file=file, patch=name)
    values = document.read(data)
    if values is None:
        return None, document.problems
    means = Means(read_file=read_file, split_tokens=split_tokens)
    patch = _read_patch(Table(document, (), values, ENTRY), name, folder, registry, means)
    return None if document.problems else patch, document.problems


def _read_patch(table: Table, name: str, folder: str, registry: str, means: Means) -> Patch:
    kind = table.word("kind", Kind)
    table.require(_REQUIRED if kind is Kind.ADVISORY else (*_REQUIRED, "how"))
    variants = _read_variants(table, kind)
    avoid = tuple(read_avoid(item) for item in table.tables("avoid", AVOID))
    if kind is Kind.ADVISORY and not avoid and "avoid" not in table:
        table.report("missing-key", "avoid", "is missing: an advisory has nothing else to say")
    return Patch(
        id=_read_id(table, name),
        title=table.text("title", one_line=True),
        kind=kind or Kind.ADVISORY,
        severity=table.word("severity", Severity) or Severity.CRASH,
        revision=table.integer("revision", default=1, least=1),
        default=table.boolean("default", default=True),
        why=table.text("why"),
        how=table.text("how"),
        removal=table.text("removal"),
        variants=variants,
        fixes=read_fixes(table, tuple(dict.fromkeys(v.distribution for v in variants if v.distribution)), means),
        avoid=avoid,
        triggers=tuple(read_trigger(item) for item in table.tables("trigger", TRIGGER)),
        signal=_read_signal(table),
        cve=_read_cve(table),
        folder=folder,
        registry=registry,
        **_read_relations(table, name),
    )


def _read_id(table: Table, name: str) -> str:
    text = table.text("id")
    if text.strip() and not is_slug(text):
        table.report("not-a-slug", "id", "must be lower-case letters, digits and single hyphens, at most 100")
    elif text.strip() and text != name:
        table.report("id-is-not-folder", "id", f"must equal the name of its folder, {name}", "rename one of the two")
    return text


def _read_cve(table: Table) -> tuple[str, ...]:
    ids = table.texts("cve")
    for index, text in enumerate(ids):
        if cve_problem(text) is not None:
            table.report_item("bad-cve", "cve", index, f"{cve_problem(text)}: {text!r}")
        elif text in ids[:index]:
            table.report_item("duplicate-value", "cve", index, f"names {text} again")
    return ids


def _read_relations(table: Table, name: str) -> dict[str, tuple[str, ...]]:
    relations = {key: table.slugs(key) for key in ("requires", "conflicts", "replaces")}
    for key, ids in relations.items():
        for index, other in enumerate(ids):
            if other == name:
                table.report_item("names-itself", key, index, "names the entry itself")
            elif key != "requires" and other in relations["requires"]:
                table.report_item("contradiction", key, index, f"names {other}, which the entry requires")
    return relations


def _read_variants(table: Table, kind: Kind | None) -> tuple[Variant, ...]:
    tables = table.tables("variant", VARIANT)
    if "variant" not in table or table.raw("variant") == []:
        table.report("missing-key", "variant", "is missing: an entry names the builds it is for")
    if len(tables) > _MAX_VARIANTS:
        # Variants are compared with each other: of very many, one entry would keep a review busy for hours.
        table.report("too-many", "variant", f"has {len(tables)} variants; at most {_MAX_VARIANTS} are read")
        return ()
    variants = tuple(_read_variant(item, kind) for item in tables)
    _report_equal_rank(tables, variants)
    return variants


def _read_variant(table: Table, kind: Kind | None) -> Variant:
    table.require(("distribution",))
    if kind is Kind.ADVISORY:
        for key in ("diff", "sha256", "strip"):
            if key in table:
                table.report("advisory-with-diff", key, "has no place in an advisory, which carries no diff")
    elif kind is not None:
        table.require(("diff", "sha256"))
    return Variant(
        distribution=table.distribution(target_problem),
        rule=read_rule(table),
        diff=table.checked("diff", "bad-file-name", file_name_problem) or None,
        sha256=table.checked("sha256", "bad-sha256", sha256_problem).lower() or None,
        strip=table.integer("strip", default=1, least=0, most=_MAX_STRIP),
    )


def _report_equal_rank(tables: Sequence[Table], variants: Sequence[Variant]) -> None:
    """Two variants that name one exact build would tie, and a tie is an error of the registry."""
    first: dict[tuple[str, ...], int] = {}
    for number, (table, variant) in enumerate(zip(tables, variants, strict=True)):
        for index, raw in enumerate(variant.rule.builds):
            build = parse_build(raw)
            # Two spellings of one version are one build; what is no version is compared as it stands.
            spelled = (build.public or "", build.label or "") if build.valid else (raw,)
            other = first.setdefault((variant.distribution, *spelled), number)
            if other != number:
                hint = "one exact build belongs to one variant"
                table.report_item("equal-rank", "builds", index, f": variant[{other}] names {raw} too", hint)


def _read_signal(table: Table) -> Signal | None:
    signal = table.table("signal", SIGNAL)
    if signal is None:
        return None
    signal.require(("log",))
    return Signal(log=signal.checked("log", "bad-pattern", pattern_problem, one_line=False))
