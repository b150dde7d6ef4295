"""One self-contained page of the environment. Every text goes through the one escaper.

Entries are in ``entries``, what was done and who runs here in ``audit``, the policy of the page in ``frame``.
"""

from __future__ import annotations

from collections.abc import Iterator

from patchctl import __version__
from patchctl.commands.describe import Described, Standing, may_go
from patchctl.errors import Problem
from patchctl.model.processes import Age
from patchctl.render.escape import markup
from patchctl.render.pages.audit import history_section, process_section
from patchctl.render.pages.entries import entry_article, standing_tag
from patchctl.render.pages.frame import framed
from patchctl.render.pages.style import STYLE
from patchctl.render.problems import problem_place

_ORDER = (Standing.DUE, Standing.IN, Standing.HELD, Standing.ADVICE, Standing.FIXED, Standing.OUT)
"""What somebody has to see to comes first."""


def html_page(found: Described) -> str:
    """Return the page."""
    return framed(f"Local patches of {_builds(found)}", STYLE, ("<main>", *_body(found), "</main>"))


def _builds(found: Described) -> str:
    return ", ".join(f"{name} {build}" for name, build in found.builds.items()) or "no distribution"


def _body(found: Described) -> Iterator[str]:
    yield f"<header><h1>Local patches of {markup(_builds(found))}</h1>"
    target = found.target
    python = f", interpreter <code>{markup(target.python)}</code>" if target.python is not None else ""
    yield f"<p>in <code>{markup(target.site)}</code>{python}</p>"
    yield f'<p class="soft">as of {markup(found.clock.stamp)}</p></header>'
    yield from _tiles(found)
    for problem in found.errors:
        yield _problem(problem, "error", "problem bad")
    for problem in found.warnings:
        yield _problem(problem, "warning", "problem")
    yield from _entries(found)
    if found.history is not None:
        yield from history_section(found.history)
    if found.processes is not None:
        yield from process_section(found.processes)
    yield f"<footer><p>Made by patchctl {markup(__version__)}: <code>patchctl report --format html</code></p></footer>"


def _entries(found: Described) -> Iterator[str]:
    yield "<section><h2>Entries</h2>"
    if not found.entries:
        yield "<p>No entry of the registry concerns this environment.</p>"
    ordered = [entry for standing in _ORDER for entry in found.of_standing(standing)]
    links = (f'<li>{standing_tag(it)} <a href="#{markup(it.id)}">{markup(it.id)}</a></li>' for it in ordered)
    yield f"<nav><ul>{''.join(links)}</ul></nav>"
    for entry in ordered:
        yield from entry_article(entry)
    yield "</section>"


def _tiles(found: Described) -> Iterator[str]:
    carried = found.of_standing(Standing.IN)
    stale = len(found.processes.of_age(Age.STALE)) if found.processes is not None else 0
    tiles = [
        (len(carried), "in", "good" if carried else ""),
        (len(found.of_standing(Standing.DUE)), "due, not in", "bad"),
        (sum(may_go(entry) for entry in carried), "in, proven fixed", "warn"),
        (len(found.of_standing(Standing.HELD)), "held", "warn"),
        (len(found.of_standing(Standing.FIXED)), "fixed upstream", ""),
        (len(found.of_standing(Standing.ADVICE)), "advice only", ""),
        (stale, "processes with old code", "bad"),
    ]
    shown = [(count, words, tint) for count, words, tint in tiles if count or words in {"in", "due, not in"}]
    rows = (f'<li class="{tint if count else ""}"><b>{count}</b> {markup(words)}</li>' for count, words, tint in shown)
    yield f'<ul class="tiles">{"".join(rows)}</ul>'


def _problem(problem: Problem, label: str, kind: str) -> str:
    place = problem_place(problem)
    named = (word for word in (problem.patch, place) if word and word not in problem.message)
    who = " ".join(f"<code>{markup(word)}</code>" for word in named)
    hint = f'<p class="soft">{markup(problem.hint)}</p>' if problem.hint else ""
    return f'<div class="{kind}"><p><b>{label}</b> {who} {markup(problem.message)}</p>{hint}</div>'
