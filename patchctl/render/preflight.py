"""What ``preflight`` says of candidates: as records for a pipe, as blocks for a terminal.

The JSON form is in ``preflight_document``, the sentences in ``forecasts``; why a diff does not fit, line by line, in
``explain``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from patchctl.build import BuildChange
from patchctl.commands.forecast import STUCK, Forecast, Protection, worst_fix
from patchctl.evidence import FixStatus
from patchctl.render.console import print_blank, print_line, print_verbatim
from patchctl.render.departures import step_records
from patchctl.render.diffs import edits_as_diff
from patchctl.render.forecasts import about, closing_words, fixes_word, swap_words
from patchctl.render.misfits import diff_name
from patchctl.verdict import Assessment

if TYPE_CHECKING:
    from rich.console import Console

    from patchctl.commands.preflight import Prospect

_FIRST = {
    Protection.PATCH: ("ok", "green"),
    Protection.UPSTREAM: ("fixed", "green"),
    Protection.LOST: ("LOST", "bold red"),
    Protection.NONE: ("-", "dim"),
    Protection.UNKNOWN: ("?", "bold red"),
}
_SWAPS = {BuildChange.DOWNGRADE: "bold yellow", BuildChange.OTHER: "bold yellow"}
_COLUMNS = (6, 36, 20)
_INDENT = 6


def outcome_words(found: Prospect) -> str:
    """Return in one sentence what the upgrade costs."""
    lost, unknown = found.ids(Protection.LOST), found.ids(Protection.UNKNOWN)
    if found.target is None:
        return "cannot be judged"
    said = [f"loses {', '.join(lost)}"] if lost else []
    said += [f"does not say what becomes of {', '.join(unknown)}"] if unknown else []
    if said:
        return "; ".join(said)
    return "loses nothing, as far as could be judged" if found.errors else "loses nothing"


def comparison(prospects: Sequence[Prospect]) -> tuple[str, ...]:
    """Return a last line for each of several candidates."""
    if len(prospects) == 1:
        return ()
    return tuple(f"{_title(found)} {outcome_words(found)}" for found in prospects)


def _title(found: Prospect) -> str:
    builds = ", ".join(f"{swap.distribution} {swap.after}" for swap in found.swaps)
    return f"{builds} ({_basename(found.path)})" if builds else found.path


def _basename(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def problems_of(found: Prospect) -> Iterator[Assessment]:
    """Yield the entries whose diffs do not fit the candidate, explained."""
    for one in found.forecasts:
        if one.fate in STUCK and one.there is not None and any(file.explanation for file in one.there.files):
            yield one.there


def prospect_records(found: Prospect) -> Iterator[tuple[str, ...]]:
    """Yield the fields of the records of one candidate: what happens to it, and to each entry."""
    yield "candidate", found.path, f"kind={found.kind or '-'}", f"lost={len(found.ids(Protection.LOST))}"
    for swap in found.swaps:
        change = swap.change.value if swap.change is not None else "-"
        yield "upgrade", swap.distribution, f"from={swap.before or '-'}", f"to={swap.after}", f"change={change}"
    for note in found.notes:
        yield "note", note
    for one in found.forecasts:
        yield from _forecast_records(one)


def closing_records(found: Prospect) -> Iterator[tuple[str, ...]]:
    """Yield the fields of the records that end the account of a candidate: what is lost, and what to run."""
    for one in found.forecasts if found.detailed else ():
        for _, line in rest_lines(found, one.id):
            yield "diff", one.id, line
    for id_ in found.ids(Protection.LOST):
        yield "lost", id_, f"candidate={found.path}"
    yield from (("note", words) for words in closing_words(found))
    yield from step_records(found.steps)


def _forecast_records(found: Forecast) -> Iterator[tuple[str, ...]]:
    words = f"fate={found.fate.value}", f"protection={found.protection.value}", f"fixes={fixes_word(found)}"
    rule = found.there.case.rule.value if found.there is not None else "-"
    yield "forecast", found.id, *words, f"match={rule}", f"about={'; '.join(about(found))}"
    for finding in found.there.case.fixes if found.there is not None else ():
        yield "fix", found.id, finding.fix.ref, f"role={finding.fix.role.value}", f"status={finding.status.value}"
    for moved in found.moved:
        symbol = f"symbol={moved.symbol or '-'}", f"defined={moved.defined or '-'}"
        where = *symbol, f"paths={','.join(moved.paths) or '-'}"
        alike = ",".join(it.path for it in moved.alike) or "-"
        yield "moved", found.id, moved.path, *where, f"fits={','.join(moved.fits) or '-'}", f"alike={alike}"


def print_prospects(console: Console, prospects: Sequence[Prospect]) -> None:
    """Print one block a candidate: the table, what is lost, the commands; with several, a line of each at the end."""
    from patchctl.render.explain import print_explanation

    for found in prospects:
        _print_head(console, found)
        if found.target is None:
            continue
        _print_table(console, found)
        print_line(console, _sum(found), style="bold red" if found.ids(Protection.LOST) else "bold")
        stuck = list(problems_of(found))
        if stuck and not found.detailed:
            print_line(console, "where and why a patch does not fit, line by line: the same command with -v")
        if found.steps:
            print_blank(console)
            first = ", once what is lost is ported, held or reverted" if found.ids(Protection.LOST) else ""
            print_line(console, f"commands, in this order{first}:", style="bold")
        for command in found.steps:
            print_verbatim(console, f"  {command}")
        for words in closing_words(found):
            print_line(console, words)
        print_blank(console)
        for there in stuck if found.detailed else ():
            print_line(console, f"{there.id} there:", style="bold")
            print_explanation(console, there)
            _print_rest(console, found, there.id)
    for words in comparison(prospects):
        print_line(console, words, style="bold")


def _print_rest(console: Console, found: Prospect, id_: str) -> None:
    """What a diff that is cut again would be, as it can be copied into a file."""
    for name, line in rest_lines(found, id_):
        if name is not None:
            print_line(console, f"the rest of {name}, as a diff for that build:", style="bold")
        print_verbatim(console, line)
    print_blank(console)


def rest_lines(found: Prospect, id_: str) -> Iterator[tuple[str | None, str]]:
    """Yield the lines of the diff that is left of an entry, the first with the name of the whole one."""
    for one in found.forecasts:
        if one.id == id_ and one.rest and one.there is not None:
            text = edits_as_diff(one.rest).decode("utf-8", "surrogateescape").removesuffix("\n")
            name: str | None = diff_name(one.there, one.rest[0].path)
            for line in text.split("\n"):
                yield name, line
                name = None


def _print_head(console: Console, found: Prospect) -> None:
    """What happens to the distributions, and the candidate's path: whole, since it is copied."""
    if found.target is None:
        print_line(console, "no answer: the error says why", style="bold red")
    for swap in found.swaps:
        print_line(console, swap_words(swap), style=_SWAPS.get(swap.change or BuildChange.UPGRADE, "bold"))
    print_verbatim(console, found.path)
    for note in found.notes:
        print_line(console, note, style="yellow")
    print_blank(console)


def _print_table(console: Console, found: Prospect) -> None:
    if not found.forecasts:
        return
    print_line(console, _row("", "ENTRY", "PATCH", "FIXES"), style="dim")
    for one in found.forecasts:
        word, style = _FIRST[one.protection]
        print_line(console, _row(word, one.id, one.fate.value, fixes_word(one)), style=_style(one, style))
        for words in about(one):
            print_line(console, words, indent=_INDENT)
    print_blank(console)


def _row(*cells: str) -> str:
    """One line of the table; a long id pushes the rest, which says more than a cut one."""
    padded = [f"{cell:<{width - 1}} " for cell, width in zip(cells, _COLUMNS, strict=False)]
    return "".join(padded) + cells[-1]


def _style(found: Forecast, style: str) -> str:
    """What is safe, but is claimed to be fixed where it is not, is worth a look."""
    there = found.there
    if style == "green" and there is not None and worst_fix(there) is FixStatus.CONTRADICTED:
        return "yellow"
    return style


def _sum(found: Prospect) -> str:
    if not found.forecasts and not found.errors:
        return "no entry is applied or wanted, here or there"
    words = outcome_words(found)
    return f"this {words}" if words.startswith("does") else f"this upgrade {words}"
