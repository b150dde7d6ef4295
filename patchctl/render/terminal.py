"""What a person reads: the environment on the first line, then one block an entry, what is due first in it.

Colour only underlines what the words say. Rich wraps to the width it is given; its markup is never used, since every
text here may come from a registry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from patchctl.commands import Change, Listing, Report
from patchctl.model import FileEdit, Fix, Target
from patchctl.patch import Patch
from patchctl.render.diffs import edits_as_diff
from patchctl.render.document import concerns
from patchctl.render.escape import visible, visible_block
from patchctl.render.problems import environment_text
from patchctl.render.words import (
    FIX_WORDS,
    avoidance,
    changed_mode,
    contradictions,
    evidence_text,
    fix_groups,
    one_line,
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
_INDENT = 4


def as_terminal(report: Report, *, colour: bool, width: int) -> str:
    """Return the answer laid out for a terminal of ``width`` columns, with ANSI colour when ``colour``."""
    console = _console(colour=colour, width=width)
    _print_all(console, report)
    return _text(console)


def diff_for_terminal(edits: Iterable[FileEdit], *, colour: bool) -> str:
    """Return the planned edits as a unified diff for a terminal: coloured, escaped, never wrapped."""
    console = _console(colour=colour, width=1 << 16)
    console.print()
    _print_diff(console, edits_as_diff(edits))
    return _text(console)


def _console(*, colour: bool, width: int) -> Console:
    import io

    from rich.console import Console

    return Console(
        file=io.StringIO(),
        width=width,
        force_terminal=colour,
        no_color=not colour,
        color_system="standard" if colour else None,
        markup=False,
        highlight=False,
        emoji=False,
        legacy_windows=False,
        _environ={},
    )


def _text(console: Console) -> str:
    """What was printed; Rich pads lines to the full width, which is litter in a copied text."""
    text = str(console.file.getvalue())  # type: ignore[attr-defined]  # it is the StringIO of _console
    return "".join(line.rstrip(" ") + "\n" for line in text.split("\n")[:-1])


def _print_all(console: Console, report: Report) -> None:
    if report.target is not None:
        _print_environment(console, report.target)
    if report.journal is not None:
        _line(console, f"unfinished transaction {report.journal.transaction}: run patchctl recover", style="bold red")
    if report.listing is not None:
        _print_listing(console, report.listing)
    for text, style, indent in _examined(report):
        _line(console, text, style=style, indent=indent)
    _print_audit(console, report)
    for found in report.assessments:
        if report.everything or concerns(found, report):
            detailed = report.command == "status" and found.id in report.named
            _print_entry(console, found, brief=_is_aside(found, report), detailed=detailed)
    if report.assessments and all(_is_aside(found, report) for found in report.assessments):
        console.print()
    if report.change is not None:
        _print_change(console, report.change)
    for note in (*report.notes, *restart_advice(report), *summary(report)):
        _line(console, note, style="bold")


def _examined(report: Report) -> Iterator[tuple[str, str, int]]:
    """What the examining verbs found, in lines: (text, style, columns of indent)."""
    if report.verification is not None:
        from patchctl.render.verify import verification_lines

        yield from verification_lines(report.verification)
    if report.diagnosis is not None:
        from patchctl.render.doctor import diagnosis_lines

        yield from diagnosis_lines(report.diagnosis)


def _print_audit(console: Console, report: Report) -> None:
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
        _line(console, text, style=style, indent=_INDENT * level)
    if lines:
        console.print()


def _line(console: Console, text: str, *, style: str = "", indent: int = 0, hang: int = 0) -> None:
    from rich.padding import Padding
    from rich.text import Text

    body = Text(visible(text), style=style, overflow="fold")
    console.print(Padding(body, (0, 0, 0, indent + hang)) if indent + hang else body)


def _field(console: Console, label: str, text: str, *, style: str = "", labels: int = 8) -> None:
    """One labelled line of an entry, wrapped under itself."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=labels, no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(label, style="dim"), Text(visible(text), style=style, overflow="fold"))
    from rich.padding import Padding

    console.print(Padding(grid, (0, 0, 0, _INDENT)))


def _print_environment(console: Console, target: Target) -> None:
    _line(console, environment_text(target), style="bold")
    console.print()


def _is_aside(found: Assessment, report: Report) -> bool:
    """One line is enough for what was just changed, and for what a check has nothing to say about."""
    return report.change is not None or (report.command == "check" and found.action is Action.NONE)


def _print_entry(console: Console, found: Assessment, *, brief: bool, detailed: bool) -> None:
    from rich.text import Text

    state = found.verdict.value if found.verdict is not None else "advice only"
    head = Text(overflow="fold")
    word, style = _first_word(found)
    head.append(f"{word:<8}", style=style)
    head.append(visible(found.id), style="bold")
    if brief:
        head.append(visible(f"  {found.reason if found.need is Need.HELD else state}"))
        console.print(head)
        return
    console.print(head)
    known = found.case.patch or found.case.receipt
    if known is not None:
        _line(console, known.title, indent=_INDENT)
    # What the diff would meet is beside the point where upstream has the change.
    fixed = found.need is Need.FIXED and found.case.receipt is None
    detailed = detailed and not fixed
    _field(console, "state", "fixed upstream" if fixed else f"{state}, {found.need.value}")
    _print_facts(console, found, detailed=detailed)
    console.print()
    if detailed:
        from patchctl.render.explain import print_explanation

        print_explanation(console, found)


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
        _field(console, "WARNING", claim, style="bold red")
    _field(console, "build", f"{case.rule.value}: {case.reason}")
    if found.reason != case.reason:
        _field(console, "because", found.reason)
    if found.action in {Action.PORT, Action.INSPECT, Action.ADOPT} or detailed:
        from patchctl.render.explain import misfit_rows

        for label, row in misfit_rows(found, detailed=detailed):
            _field(console, label, row)
    for status, refs in fix_groups(case.fixes):
        _field(console, "fixes", f"{FIX_WORDS.get(status, status)}: {', '.join(refs)}")
    if case.hold is not None and found.need is not Need.HELD:
        _field(console, "hold", case.hold.reason)
    if case.assumed is not None:
        _field(console, "assumed", f"--assume-build {case.assumed}")


def _print_change(console: Console, change: Change) -> None:
    verbs = {
        "applied": ("applied", "would apply"),
        "adopted": ("adopted", "would adopt"),
        "reverted": ("reverted", "would revert"),
        "retired": ("retired", "would retire"),
        "held": ("held", "would hold"),
        "unheld": ("no longer held", "would unhold"),
    }
    for name, (done, planned) in verbs.items():
        ids = getattr(change, name)
        if ids:
            _line(console, f"{planned if change.state == 'planned' else done}: {', '.join(ids)}", style="bold green")
    for edit in change.edits:
        mode = changed_mode(edit)
        note = "" if mode is None else f" (mode {mode:o})"
        _line(console, f"{edit.kind.value:<7} {edit.path}{note}", indent=_INDENT)
    for path in change.paths:
        _line(console, path, indent=_INDENT)


def _print_listing(console: Console, listing: Listing) -> None:
    for root in listing.roots:
        _line(console, f"registry {root.name} revision {root.revision} ({root.path})", style="bold")
    console.print()
    for entry in listing.entries:
        _line(console, entry.id, style="bold")
        default = "default" if entry.default else "only by name or with --all"
        _field(console, "title", entry.title)
        _field(console, "kind", f"{entry.kind.value}, {entry.severity.value}, revision {entry.revision}, {default}")
        if listing.detailed:
            _print_details(console, entry, listing)
        console.print()


def _print_details(console: Console, entry: Patch, listing: Listing) -> None:
    for key in ("why", "how", "removal"):
        _field(console, key, one_line(getattr(entry, key)))
    for avoid in entry.avoid:
        _field(console, "avoid", avoidance(avoid) or "(no flag avoids it)")
        _field(console, "when", one_line(avoid.when))
        _field(console, "cost", one_line(avoid.cost))
    if entry.signal is not None:
        _field(console, "signal", entry.signal.log)
    for relation in ("requires", "conflicts", "replaces"):
        if getattr(entry, relation):
            _field(console, relation, ", ".join(getattr(entry, relation)), labels=9)
    for variant in entry.variants:
        label = variant.rule.label if isinstance(variant.rule.label, str) else ", ".join(variant.rule.label)
        builds = [*variant.rule.builds]
        builds += [f"{variant.rule.versions} with label {label}"] if variant.rule.versions else []
        _field(console, "builds", f"{variant.distribution} {'; '.join(builds)} -> {variant.diff or 'no diff'}")
    for fix in entry.fixes:
        _print_fix(console, fix)
    for name, text in listing.diffs:
        console.print()
        _line(console, name, style="bold")
        _print_diff(console, text)


def _print_fix(console: Console, fix: Fix) -> None:
    claim = f"claimed {fix.claimed}" if fix.claimed else "claimed for no version"
    _field(console, "fix", f"{fix.ref} ({fix.role.value}): {claim}")
    for text in (fix.note, fix.source):
        if text:
            _field(console, "", one_line(text))
    for item in fix.evidence:
        _field(console, "proof", evidence_text(item))


def _print_diff(console: Console, text: bytes) -> None:
    from rich.text import Text

    styles = {"+": "green", "-": "red", "@": "cyan"}
    for line in visible_block(text.decode("utf-8", "surrogateescape")).rstrip("\n").split("\n"):
        console.print(Text(line, style=styles.get(line[:1], ""), overflow="fold"), soft_wrap=True)
