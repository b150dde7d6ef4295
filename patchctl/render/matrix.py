"""Entries tried on trees: as JSON values, as records, as a table for a terminal, and as the page kept in the docs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from patchctl.build import MatchRule
from patchctl.evidence import FixFinding
from patchctl.model import FixRole
from patchctl.render.escape import markdown, markdown_code
from patchctl.render.words import one_line
from patchctl.verdict import Need

if TYPE_CHECKING:
    from patchctl.commands.proving import Cell, Proof
    from patchctl.lint import Trial
    from patchctl.patch import Patch

_WIDEST_BUILD = 24
"""Columns; a longer build string has a line of its own."""
_WORDS = (
    ("applies", "the diff fits, each hunk at the line it states"),
    ("offset N", "it fits, a hunk N lines away from there"),
    ("conflict", "it does not fit"),
    ("partial", "some of it is in, the rest could go in"),
    ("missing", "a file that it changes is not there"),
    ("present", "the files have the change"),
    ("undecided", "it fits both ways"),
    ("blocked", "it fits, and the file is not the distribution's to change"),
    ("fixed", "every fix is proven in the files, or the build carries the change: it is not needed"),
    ("advice", "there is no diff, only a way around the bug"),
    ("fits, unnamed", "the diff fits, and the entry does not name the build"),
    ("tie, broken", "the registry is in error"),
    ("-", "the entry does not name the build"),
)
_PAGE = """\
# Entries and builds

What the entries of the bundled registry come to on released wheels, read from the wheels' own files. This page is made
by one command, and a test holds it to the wheels:

    patchctl lint --matrix --markdown --against WHEEL... > docs/matrix.md

| word | meaning |
| --- | --- |
"""


def proof_json(proof: Proof | None, *, matrix: bool) -> dict[str, Any]:
    """Return what the trees add to the ``lint`` object; None: no tree was given."""
    if proof is None:
        return dict.fromkeys(("trees", "untested", "matrix"))
    return {
        "trees": [
            {
                "path": tree.path,
                "kind": tree.kind.value,
                "distributions": [{"name": name, "build": build} for name, build in tree.builds.items()],
            }
            for tree in proof.trees
        ],
        "untested": [problem._asdict() for problem in proof.untested],
        "matrix": [_cell(cell) for cell in proof.cells] if matrix else None,
    }


def _cell(cell: Cell) -> dict[str, Any]:
    trial, found = cell.trial, cell.trial.found
    reason = found.case.reason if found is not None else "two variants match, or its diff is broken"
    return {
        "patch": trial.patch.id,
        "tree": {"path": cell.tree.path, "kind": cell.tree.kind.value, "build": trial.build},
        "match": {"rule": trial.rule.value, "reason": reason},
        "fit": found.fit.value if found is not None and found.fit is not None else None,
        "offset": trial.offset,
        "fuzz": trial.fuzz,
        "need": found.need.value if found is not None else None,
        "fixes": [
            {
                "ref": finding.fix.ref,
                "role": finding.fix.role.value,
                "claim": finding.fix.claimed,
                "claimed": finding.claimed,
                "status": finding.status.value,
            }
            for _, finding in trial.fixes
        ],
    }


def proof_records(proof: Proof, *, matrix: bool) -> Iterator[tuple[str, ...]]:
    """Yield the fields of records: the trees, the cells, and what no tree was given for."""
    for tree in proof.trees:
        builds = [f"{name}={build}" for name, build in tree.builds.items()]
        yield "tree", tree.path, f"kind={tree.kind.value}", *builds
    for cell in proof.cells if matrix else ():
        trial = cell.trial
        need = f"need={trial.found.need.value if trial.found is not None else '-'}"
        fixes = [f"fix={finding.fix.ref} {finding.status.value}" for _, finding in _counting(trial)]
        yield "cell", trial.patch.id, trial.build, f"fit={_fit(trial)}", f"match={trial.rule.value}", need, *fixes
    for problem in proof.untested:
        yield "untested", f"{problem.path}:{problem.line}", problem.key or "-", problem.message


def proof_lines(proof: Proof, *, matrix: bool) -> Iterator[tuple[str, str, int]]:
    """Yield (text, style, columns of indent) for a terminal: one table an entry, then what is not tested."""
    for _, trials in _by_entry(proof) if matrix else ():
        yield from _table(trials)
        yield "", "", 0
    if proof.untested:
        yield "not tested, since no tree was given for it:", "bold", 0
        for problem in proof.untested:
            yield f"{problem.patch} {problem.key}: {problem.message}", "", 4


def _table(trials: Sequence[Trial]) -> Iterator[tuple[str, str, int]]:
    patch = trials[0].patch
    heads = ["build", "patch", "need", *_short_refs(patch)]
    rows = [_row(trial) for trial in trials]
    build = max(len(text) for text in (heads[0], *(row[0] for row in rows)) if len(text) <= _WIDEST_BUILD)
    widths = [max(len(row[at]) for row in (heads, *rows)) for at in range(1, len(heads))]
    yield patch.id, "bold", 0
    yield _aligned(heads, build, widths), "dim", 4
    for row, trial in zip(rows, trials, strict=True):
        if len(row[0]) > _WIDEST_BUILD:
            yield row[0], "", 4
            row[0] = ""
        yield _aligned(row, build, widths), "red" if _is_stuck(trial) else "", 4
    for short, fix in zip(_short_refs(patch), _fixes_of(patch), strict=True):
        yield f"{short}: {fix.ref}, claimed {fix.claimed or 'for no version'}", "dim", 4


def _aligned(row: Sequence[str], build: int, widths: Sequence[int]) -> str:
    pairs = zip(row, (build, *widths), strict=True)
    return "  ".join(f"{text:<{width}}" for text, width in pairs).rstrip()


def _row(trial: Trial) -> list[str]:
    need = trial.found.need.value if trial.found is not None else "-"
    status = {finding.fix.ref: finding.status.value for _, finding in trial.fixes}
    return [trial.build, _fit(trial), need, *(status.get(fix.ref, "-") for fix in _fixes_of(trial.patch))]


def _is_stuck(trial: Trial) -> bool:
    """The entry is meant for the build, is not fixed there, and cannot go in."""
    found = trial.found
    if found is None:
        return True
    named = trial.rule is not MatchRule.NONE and found.fit is not None
    return named and found.need is not Need.FIXED and trial.offset is None


def _fit(trial: Trial) -> str:
    """What the diff comes to, in one or two words; see the table of words."""
    found = trial.found
    if found is None:
        return "tie" if trial.ties else "broken"
    if trial.rule is MatchRule.NONE:
        return "fits, unnamed" if found.need is Need.UNKNOWN_BUILD and trial.offset is not None else "-"
    if found.fit is None:
        return "advice"
    if trial.offset is not None:
        return f"offset {trial.offset}" if trial.offset else "applies"
    return "blocked" if found.fit.value == "applicable" else found.fit.value


def _outcome(trial: Trial) -> str:
    """The same in one word for an entry as a whole: a fix that is in makes the diff a side issue."""
    is_fixed = trial.found is not None and trial.found.need is Need.FIXED
    return "fixed" if is_fixed else _fit(trial)


def _by_entry(proof: Proof) -> Iterator[tuple[str, list[Trial]]]:
    for id_ in dict.fromkeys(cell.trial.patch.id for cell in proof.cells):
        yield id_, [cell.trial for cell in proof.cells if cell.trial.patch.id == id_]


def _counting(trial: Trial) -> list[tuple[int, FixFinding]]:
    return [(at, finding) for at, finding in trial.fixes if finding.fix.role is FixRole.FIXES]


def _fixes_of(patch: Patch) -> list[Any]:
    return [fix for fix in patch.fixes if fix.role is FixRole.FIXES]


def _short_refs(patch: Patch) -> list[str]:
    """``#47312`` where a ref is one of a forge, else its place among the fixes."""
    fixes = _fixes_of(patch)
    found = [re.fullmatch(r"[\w.-]+/[\w.-]+(#\d+)", fix.ref) for fix in fixes]
    return [match[1] if match is not None else f"fix {at}" for at, match in enumerate(found, start=1)]


def matrix_page(proof: Proof) -> str:
    """Return the matrix as a Markdown page. Builds are in it, the places of the trees are not."""
    text = _PAGE + "".join(f"| `{word}` | {meaning} |\n" for word, meaning in _WORDS)
    entries = list(_by_entry(proof))
    builds = list(dict.fromkeys(cell.trial.build for cell in proof.cells))
    text += "\n## All entries\n\n" + _md_row(["entry", *map(markdown, builds)]) + _md_row(["---"] * (len(builds) + 1))
    for id_, trials in entries:
        words = {trial.build: _outcome(trial) for trial in trials}
        text += _md_row([markdown_code(id_), *(words.get(build, "") for build in builds)])
    for id_, trials in entries:
        patch = trials[0].patch
        text += f"\n## {markdown(id_)}\n\n{markdown(one_line(patch.title))}\n\n"
        heads = ["build", "match", "patch", "need", *_short_refs(patch)]
        text += _md_row(heads) + _md_row(["---"] * len(heads))
        for trial in trials:
            build, *rest = _row(trial)
            text += _md_row([markdown(build), trial.rule.value, *rest])
        fixes = zip(_short_refs(patch), _fixes_of(patch), strict=True)
        lines = [f"- {short}: {markdown(one_line(fix.ref))}, claimed {_claim(fix.claimed)}\n" for short, fix in fixes]
        text += "\n" * bool(lines) + "".join(lines)
    return text


def _claim(claimed: str | None) -> str:
    return markdown_code(claimed) if claimed else "for no version"


def _md_row(cells: Sequence[str]) -> str:
    """Cells that are Markdown already."""
    return f"| {' | '.join(cells)} |\n"
