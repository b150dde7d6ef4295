"""Advice in its shapes: JSON, one record a line, and what a person reads, with commands that can be copied whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from patchctl.advice import Coverage, EntryAdvice, Exposure, LaunchAdvice, Way
from patchctl.render.words import avoidance, one_line

if TYPE_CHECKING:
    from rich.console import Console

    from patchctl.commands.report import Advice
    from patchctl.launch import Item, Launch

_WIDTH = 76
_STYLES = {Exposure.EXPOSED: "bold red", Exposure.POSSIBLE: "bold yellow", Exposure.NOT_EXPOSED: "dim"}
_COVERED = {
    Coverage.FIXED: "fixed: this build contains the upstream fix, proven",
    Coverage.PATCHED: "patched: the patch is in these files",
    Coverage.AVOIDED: "avoided by this very command line",
    Coverage.NOT_NEEDED: "not exposed",
    Coverage.UNCOVERED: "nothing",
}


def advice_json(advice: Advice) -> dict[str, Any]:
    """Return the ``advice`` object of the document."""
    return {
        "hardware": {
            "chips": None if advice.chips is None else list(advice.chips),
            "reason": advice.chips_from,
        },
        "launches": [_launch_json(found) for found in advice.launches],
    }


def advice_records(advice: Advice) -> Iterator[tuple[str, ...]]:
    """Yield the fields of every record: a launch, its entries, the ways around each, and the corrected command."""
    chips = "-" if advice.chips is None else ",".join(advice.chips)
    yield "hardware", chips, f"reason={advice.chips_from}"
    for found in advice.launches:
        if found.launch is not None:
            yield "launch", found.source, f"command={found.launch.line()}"
        for entry in found.entries:
            yield (
                "advice",
                entry.patch.id,
                f"exposure={entry.exposure.value}",
                f"coverage={entry.coverage.value}",
                f"reason={one_line(entry.reason)}",
            )
            for way in () if entry.covered else entry.ways:
                command = [f"command={way.launch.line()}"] if way.launch is not None else []
                problem = [f"problem={way.problem}"] if way.problem is not None else []
                cost = f"cost={one_line(way.avoid.cost)}"
                yield "way", entry.patch.id, avoidance(way.avoid), *command, *problem, cost
        if found.corrected is not None:
            remaining = [f"remaining={','.join(found.remaining)}"] if found.remaining else []
            yield "corrected", found.source, f"command={found.corrected.line()}", *remaining


def print_advice(console: Console, advice: Advice) -> None:
    """Print the advice for every launch."""
    from patchctl.render.console import print_blank, print_line

    chips = "not known" if advice.chips is None else ", ".join(advice.chips)
    print_line(console, f"hardware: {chips} ({advice.chips_from})")
    print_blank(console)
    for found in advice.launches:
        if found.launch is not None:
            print_line(console, f"{found.source}:", style="bold")
            _print_command(console, found.launch)
            print_blank(console)
        for entry in sorted(found.entries, key=_rank):
            _print_entry(console, entry)
        if found.corrected is not None:
            print_line(console, _corrected_words(found), style="bold green")
            _print_command(console, found.corrected)
            print_blank(console)


def _rank(entry: EntryAdvice) -> tuple[bool, int]:
    """What is to be done first; among equals the order of the registry stays."""
    return entry.covered, list(Exposure).index(entry.exposure)


def _corrected_words(found: LaunchAdvice) -> str:
    if found.remaining:
        return f"corrected, but still open: {', '.join(found.remaining)}"
    several = sum(not entry.covered for entry in found.entries) > 1
    return "corrected, with one avoidance for each:" if several else "corrected:"


def _print_entry(console: Console, entry: EntryAdvice) -> None:
    from patchctl.render.console import INDENT, print_blank, print_field, print_head, print_line

    if entry.covered:
        print_head(console, (f"{'ok':<9}", "green"), (entry.patch.id, "bold"))
        covered = _COVERED[entry.coverage]
        told = f"{covered}: {one_line(entry.reason)}" if entry.coverage is Coverage.NOT_NEEDED else covered
        print_line(console, told, indent=INDENT)
        print_blank(console)
        return
    print_head(
        console,
        (f"{entry.exposure.value:<9}", _STYLES[entry.exposure]),
        (entry.patch.id, "bold"),
        (f"  ({entry.patch.severity.value})", ""),
    )
    print_line(console, entry.patch.title, indent=INDENT)
    print_field(console, "because", one_line(entry.reason))
    if entry.remedy:
        print_field(console, "patch", f"patchctl apply {entry.patch.id}")
    for way in entry.ways:
        _print_way(console, way)
    print_blank(console)


def _print_way(console: Console, way: Way) -> None:
    from patchctl.render.console import print_field

    print_field(console, "avoid", avoidance(way.avoid) or "(no flag avoids it)", style="cyan")
    if way.problem is not None:
        print_field(console, "but", way.problem, style="yellow")
    if way.launch is None and way.avoid.when:
        print_field(console, "when", one_line(way.avoid.when))
    if way.avoid.cost:
        print_field(console, "cost", one_line(way.avoid.cost))
    if way.launch is not None and not way.in_force:
        print_field(console, "launch", "")
        _print_command(console, way.launch)


def _print_command(console: Console, launch: Launch) -> None:
    """Print a command in lines that end in a backslash; what is too wide for a line stays whole, to be copied."""
    from patchctl.render.console import print_verbatim

    for line in _command_lines(launch):
        print_verbatim(console, f"    {line}")


def _command_lines(launch: Launch) -> Iterator[str]:
    groups = [launch._replace(items=()).line()]
    groups += [" ".join(word.printed for word in item.words) for item in launch.items]
    line = ""
    for group in groups:
        if line and len(line) + len(group) + 3 > _WIDTH - 4:
            yield f"{line} \\"
            line = f"  {group}"
        else:
            line = f"{line} {group}" if line else group
    yield line


def _launch_json(found: LaunchAdvice) -> dict[str, Any]:
    return {
        "source": found.source or None,
        "launch": None if found.launch is None else _command_json(found.launch, found),
        "entries": [_entry_json(entry) for entry in found.entries],
        "corrected": None if found.corrected is None else found.corrected.line(),
        "remaining": list(found.remaining),
        "old_code": found.stale,
    }


def _command_json(launch: Launch, found: LaunchAdvice) -> dict[str, Any]:
    return {
        "command": launch.line(),
        "words": [word.text for word in launch.words],
        "model": list(found.model.names),
        "options": [
            *(_option_json(item, origin="config") for item in launch.config),
            *(_option_json(item, origin="command") for item in launch.items if item.name),
        ],
        "config": launch.config_file,
        "warnings": list(launch.warnings),
    }


def _option_json(item: Item, *, origin: str) -> dict[str, Any]:
    return {
        "name": item.name,
        "key": ".".join(item.keys) or None,
        "values": [value.text for value in item.values],
        "off": item.negated,
        "known": item.known,
        "origin": origin,
    }


def _entry_json(entry: EntryAdvice) -> dict[str, Any]:
    return {
        "id": entry.patch.id,
        "title": entry.patch.title,
        "severity": entry.patch.severity.value,
        "exposure": entry.exposure.value,
        "reason": one_line(entry.reason),
        "coverage": entry.coverage.value,
        "covered": entry.covered,
        "applicable": entry.remedy,
        "avoidances": [_way_json(way) for way in entry.ways],
    }


def _way_json(way: Way) -> dict[str, Any]:
    return {
        "args": list(way.avoid.args),
        "env": dict(way.avoid.env),
        "remove_args": list(way.avoid.remove_args),
        "in_force": way.in_force,
        "command": None if way.launch is None else way.launch.line(),
        "problem": way.problem,
        "when": one_line(way.avoid.when),
        "cost": one_line(way.avoid.cost),
    }
