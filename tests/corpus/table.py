"""The counts as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tests.corpus.outcomes import CLASSES, TRUST
from tests.corpus.survey import PATCHED, RIGHT, Figures, Survey
from tests.corpus.tools import TOOLS, versions

BASES = (RIGHT, PATCHED, "1 older", "2 older", "4 older", "8 older")
ANSWERS = ("exact", "offset", "present", "undecided", "partial", "ambiguous", "out-of-order", "not-found", "missing")
HOW = ("same", "both refuse", "tool only", "ours only", "other bytes")
OPINIONS = ("right", "wrong", "no opinion")


def tables(found: Survey) -> Iterator[str]:
    """Lines of all tables."""
    yield f"compared with {versions()}"
    yield ""
    yield "what patchctl answers"
    yield _row("", ("cases", *ANSWERS))
    for label, figures in _rows(found):
        yield _row(label, [figures.answers.total(), *(figures.answers[word] for word in ANSWERS)])
    for tool in TOOLS:
        yield ""
        yield f"beside {'git apply' if tool == 'git' else 'patch --fuzz=0'}"
        yield _row("", HOW)
        for label, figures in _rows(found):
            yield _row(label, [figures.compared[tool, how] for how in HOW])
    yield ""
    yield "why they differ, and what a three-way merge says about the tool's result"
    yield from _classes(found)
    yield ""
    yield "why results on older bases are right"
    yield _row("", TRUST)
    for label, figures in _rows(found):
        if figures.trusted:
            yield _row(label, [figures.trusted[why] for why in TRUST])
    yield ""
    yield f"rules broken: {len(found.broken)}"


def _rows(found: Survey) -> Iterator[tuple[str, Figures]]:
    for base in BASES:
        for scope in ("files", "hunks"):
            figures = found.figures.get((base, scope))
            if figures is not None:
                yield f"{scope}, {base}", figures


def _classes(found: Survey) -> Iterator[str]:
    groups = {"right base": (RIGHT,), "patched": (PATCHED,), "older": BASES[2:]}
    yield _row("", [f"{tool} {opinion}" for tool in TOOLS for opinion in OPINIONS])
    for group, bases in groups.items():
        total: Counter[tuple[str, str, str]] = Counter()
        for (base, _), figures in found.figures.items():
            if base in bases:
                total.update(figures.classes)
        for name in CLASSES:
            counts = [total[tool, name, opinion] for tool in TOOLS for opinion in OPINIONS]
            if any(counts):
                yield _row(f"{group}: {name}", counts)


def _row(label: str, cells: Sequence[object] | dict[str, str]) -> str:
    return f"{label:<28}" + "".join(f"{cell!s:>13}" for cell in cells)
