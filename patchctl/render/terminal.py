"""What a person reads: the environment on the first line, then one block an entry, what is due first in it.

Colour only underlines what the words say. Text is escaped where it is printed, in ``console``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from patchctl.commands import Change, Report
from patchctl.model import FileEdit, Target
from patchctl.render.console import (
    INDENT,
    new_console,
    print_blank,
    print_diff,
    print_field,
    print_head,
    print_line,
    print_verbatim,
    printed,
)
from patchctl.render.diffs import edits_as_diff
from patchctl.render.document import concerns
from patchctl.render.problems import environment_text
from patchctl.render.words import (
    FIX_WORDS,
    changed_mode,
    contradictions,
    fix_groups,
    restart_advice,
    summary,
)
from patchctl.verdict import Action, Assessment, Need, Verdict

if TYPE_CHECKING:
    from rich.console import Console

_STYLES = {
    Action.APPLY: "bold yellow",
    Action.ADOPT: "bold yellow",
    Action.PORT: "bold red",
    Action.INSPECT: "bold red",
    Action.RETIRE: "bold cyan",
    Action.NONE: "green",
}


def as_terminal(report: Report, *, colour: bool, width: int) -> str:
    """Return the answer laid out for a terminal of ``width`` columns, with ANSI colour when ``colour``."""
    console = new_console(colour=colour, width=width, given=report.given)
    _print_all(console, report)
    return printed(console)


def diff_for_terminal(edits: Iterable[FileEdit], *, colour: bool) -> str:
    """Return the planned edits as a unified diff for a terminal: coloured, escaped, never wrapped."""
    console = new_console(colour=colour, width=1 << 16)
    print_blank(console)
    print_diff(console, edits_as_diff(edits))
    return printed(console)


def _print_all(console: Console, report: Report) -> None:
    if report.target is not None:
        _print_environment(console, report.target)
    if report.journal is not None:
        print_line(
            console, f"unfinished transaction {report.journal.transaction}: run patchctl recover", style="bold red"
        )
    if report.listing is not None:
        from patchctl.render.listing import print_listing

        print_listing(console, report.listing)
    for text, style, indent in _examined(report):
        print_line(console, text, style=style, indent=indent)
    _print_audit(console, report)
    for found in report.assessments:
        # what a lock says of an entry that is as pinned is its line already
        told = report.review is not None and report.command == "check" and _is_aside(found, report)
        if (report.everything or concerns(found, report)) and not told:
            detailed = report.command == "status" and found.id in report.named
            _print_entry(console, found, brief=_is_aside(found, report), detailed=detailed)
    if report.assessments and all(_is_aside(found, report) for found in report.assessments):
        print_blank(console)
    if report.change is not None:
        _print_change(console, report.change)
    _print_last(console, report)


def _print_last(console: Console, report: Report) -> None:
    for note in (*report.notes, *restart_advice(report), *summary(report)):
        print_line(console, note, style="bold")
    if report.steps:
        print_line(console, "next, in this order:", style="bold")
        for step in report.steps:
            print_verbatim(console, " " * INDENT + step)


def _examined(report: Report) -> Iterator[tuple[str, str, int]]:
    """What the examining verbs found, in lines: (text, style, columns of indent)."""
    if report.verification is not None:
        from patchctl.render.verify import verification_lines

        yield from verification_lines(report.verification)
    if report.diagnosis is not None:
        from patchctl.render.doctor import diagnosis_lines

        yield from diagnosis_lines(report.diagnosis)
    if report.lint is not None:
        from patchctl.render.lint import lint_lines

        yield from lint_lines(report.lint)
    if report.publication is not None:
        from patchctl.render.publication import publication_lines

        yield from publication_lines(report.publication)
    if report.review is not None or report.locking is not None:
        from patchctl.render.lock import lock_lines

        yield from lock_lines(report)


def _print_audit(console: Console, report: Report) -> None:
    """What was done, or would come of an upgrade."""
    if report.prospects:
        from patchctl.render.preflight import print_prospects

        print_prospects(console, report.prospects)
    if report.advice is not None:
        from patchctl.render.advise import print_advice

        print_advice(console, report.advice)
    lines: list[tuple[str, str, int]] = []
    if report.history is not None:
        from patchctl.render.history import history_lines

        lines = list(history_lines(report.history))
    elif report.hits is not None:
        from patchctl.render.hits.table import hits_lines

        lines = list(hits_lines(report.hits))
    elif report.processes is not None and report.command == "ps":
        from patchctl.render.ps import process_lines

        lines = list(process_lines(report.processes))
    for text, style, level in lines:
        print_line(console, text, style=style, indent=INDENT * level)
    if lines:
        print_blank(console)


def _print_environment(console: Console, target: Target) -> None:
    print_line(console, environment_text(target), style="bold")
    print_blank(console)


def _is_aside(found: Assessment, report: Report) -> bool:
    """One line is enough for what was just changed, and for what a check has nothing to say about."""
    return report.change is not None or (report.command == "check" and found.action is Action.NONE)


def _print_entry(console: Console, found: Assessment, *, brief: bool, detailed: bool) -> None:
    state = found.verdict.value if found.verdict is not None else "advice only"
    word, style = _first_word(found)
    head = (f"{word:<8}", style), (found.id, "bold")
    if brief:
        print_head(console, *head, (f"  {_brief_state(found, state)}", ""))
        return
    print_head(console, *head)
    known = found.case.patch or found.case.receipt
    if known is not None:
        print_line(console, known.title, indent=INDENT)
    # What the diff would meet is beside the point where upstream has the change.
    fixed = found.need is Need.FIXED and found.case.receipt is None
    detailed = detailed and not fixed
    print_field(console, "state", "fixed upstream" if fixed else f"{state}, {found.need.value}")
    _print_facts(console, found, detailed=detailed)
    print_blank(console)
    if detailed:
        from patchctl.render.explain import print_explanation

        print_explanation(console, found)


def _brief_state(found: Assessment, state: str) -> str:
    """What the diff would meet is beside the point where upstream has the change, or the operator decided."""
    if found.need is Need.HELD:
        return found.reason
    return "fixed upstream" if found.need is Need.FIXED and found.case.receipt is None else state


def _first_word(found: Assessment) -> tuple[str, str]:
    """What a tired reader sees first: what is due; "ok" is said only of what is in, or need not be."""
    if found.action is not Action.NONE:
        return found.action.value, _STYLES[found.action]
    if found.need is Need.HELD:
        return "held", "yellow"
    if found.need is Need.FIXED:
        return "fixed", "green"
    return ("ok", "green") if found.verdict is Verdict.APPLIED else ("-", "dim")


def _print_facts(console: Console, found: Assessment, *, detailed: bool) -> None:
    case = found.case
    for claim in contradictions(found):
        print_field(console, "WARNING", claim, style="bold red")
    print_field(console, "build", f"{case.rule.value}: {case.reason}")
    if found.reason != case.reason:
        print_field(console, "because", found.reason)
    if found.action in {Action.PORT, Action.INSPECT, Action.ADOPT} or detailed:
        from patchctl.render.explain import misfit_rows

        for label, row in misfit_rows(found, detailed=detailed):
            print_field(console, label, row)
    for status, refs in fix_groups(case.fixes):
        print_field(console, "fixes", f"{FIX_WORDS.get(status, status)}: {', '.join(refs)}")
    if case.hold is not None and found.need is not Need.HELD:
        print_field(console, "hold", case.hold.reason)
    if case.assumed is not None:
        print_field(console, "assumed", f"--assume-build {case.assumed}")


def _print_change(console: Console, change: Change) -> None:
    verbs = {
        "applied": ("applied", "would apply"),
        "adopted": ("adopted", "would adopt"),
        "reverted": ("reverted", "would revert"),
        "retired": ("retired", "would retire"),
        "set_aside": ("set aside", "would set aside"),
        "held": ("held", "would hold"),
        "unheld": ("no longer held", "would unhold"),
    }
    for name, (done, planned) in verbs.items():
        ids = getattr(change, name)
        if ids:
            print_line(
                console, f"{planned if change.state == 'planned' else done}: {', '.join(ids)}", style="bold green"
            )
    for edit in change.edits:
        mode = changed_mode(edit)
        note = "" if mode is None else f" (mode {mode:o})"
        print_line(console, f"{edit.kind.value:<7} {edit.path}{note}", indent=INDENT)
    for path in change.paths:
        print_line(console, path, indent=INDENT)
