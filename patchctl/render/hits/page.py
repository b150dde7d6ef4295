"""``hits`` as one HTML page that opens from a file, offline: inline SVG, no script, nothing that is fetched.

Every text is escaped; the policy of the page is in ``pages.frame``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from patchctl.commands.hits import Incidence
from patchctl.render.escape import markup
from patchctl.render.hits.words import (
    day_text,
    days_of,
    hits_text,
    hour_text,
    mismatch_text,
    passed_text,
    ranks_text,
    remarks,
    requests_text,
    size_text,
    stamp_text,
)
from patchctl.render.pages.frame import framed
from patchctl.signals import EntryCount

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 2.5rem 0 0.2rem; overflow-wrap: anywhere; }
.big { font-size: 1.3rem; margin: 0.2rem 0; } .note { opacity: 0.75; }
svg { width: 100%; height: auto; } .bar { fill: #3572b0; } .spike { fill: #d1662b; }
.axis { stroke: currentColor; stroke-width: 1; opacity: 0.5; } .tick { fill: currentColor; font-size: 11px; }
table { border-collapse: collapse; margin: 0.5rem 0; } th { text-align: left; font-weight: 600; }
td, th { padding: 0.1rem 1rem 0.1rem 0; overflow-wrap: anywhere; vertical-align: top; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
"""
_WIDTH, _HEIGHT, _LEFT, _TOP = 900, 220, 50, 14
_MOST_BARS = 240
_MOST_ROWS = 200


def hits_page(found: Incidence) -> str:
    """Return the page."""
    return framed("patchctl hits", _STYLE, ("<h1>Hits of containment patches</h1>", *_body(found)))


def _body(found: Incidence) -> Iterator[str]:
    logs = "1 log" if len(found.logs) == 1 else f"{len(found.logs)} logs"
    yield f"<p>{markup(f'{logs}, {size_text(found.counted.size)}; {requests_text(found)}')}</p>"
    for entry in found.counted.entries:
        yield from _entry(entry, found)
    for remark in remarks(found):
        yield f'<p class="note">{markup(remark)}</p>'


def _entry(count: EntryCount, found: Incidence) -> Iterator[str]:
    yield f"<section>\n<h2>{markup(count.id)}</h2>\n<p>{markup(count.title)}</p>"
    yield f'<p class="big">{markup(hits_text(count, found))}</p>'
    if count.hours:
        yield from _chart(count)
    yield from _facts(count)
    for title, rows in (
        (count.kind_group or "kind", count.kinds),
        (found.by, count.instances),
        ("process", count.writers),
        ("day", tuple((day_text(day), lines) for day, lines in days_of(count))),
        ("not counted", tuple((passed_text(reason), lines) for reason, lines in count.passed_over)),
    ):
        yield from _table(title, rows)
    yield "</section>"


def _facts(count: EntryCount) -> Iterator[str]:
    facts = [("first", stamp_text(count.first)), ("last", stamp_text(count.last)), ("ranks", ranks_text(count))]
    facts += [
        (f"sum of {group}", f"{number.total:,} in {number.lines:,} lines, {number.least:,} to {number.most:,}")
        for group, number in count.numbers
    ]
    facts += [("largest mismatch", mismatch_text(count.mismatch))] if count.mismatch is not None else []
    facts += [
        ("spike", f"{hour_text(spike.hour)}: {spike.lines:,} lines, more than {spike.limit:,.1f}")
        for spike in count.spikes
    ]
    rows = [(label, value) for label, value in facts if value is not None]
    if rows and count.lines:
        body = "".join(f"<tr><th>{markup(label)}</th><td>{markup(value)}</td></tr>" for label, value in rows)
        yield f"<table>{body}</table>"


def _table(title: str, rows: Sequence[tuple[str, int]]) -> Iterator[str]:
    if not rows:
        return
    body = "".join(f'<tr><td>{markup(name)}</td><td class="n">{lines:,}</td></tr>' for name, lines in rows[:_MOST_ROWS])
    yield f"<table><tr><th>{markup(title)}</th><th>lines</th></tr>{body}</table>"
    if len(rows) > _MOST_ROWS:
        yield f"<p>and {len(rows) - _MOST_ROWS} more</p>"


def _chart(count: EntryCount) -> Iterator[str]:
    """Bars from the first hour to the last; several hours a bar where there are many."""
    first, last = count.hours[0][0], count.hours[-1][0]
    each = -(-(last - first + 1) // _MOST_BARS)
    bars: dict[int, int] = {}
    for hour, lines in count.hours:
        bars[(hour - first) // each] = bars.get((hour - first) // each, 0) + lines
    spiky = {(spike.hour - first) // each for spike in count.spikes}
    slots, most = (last - first) // each + 1, max(bars.values())
    step = (_WIDTH - _LEFT) / slots
    name = f"lines an hour, {count.id}" if each == 1 else f"lines in {each} hours, {count.id}"
    yield f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT + 40}" role="img" aria-label="{markup(name)}">'
    for slot, lines in sorted(bars.items()):
        height = max(_HEIGHT * lines / most, 1)
        place = f'x="{_LEFT + slot * step:.2f}" y="{_TOP + _HEIGHT - height:.2f}"'
        size = f'width="{max(min(step * 0.85, 40), 1):.2f}" height="{height:.2f}"'
        title = f"{hour_text(first + slot * each)}: {lines:,} lines"
        look = "spike" if slot in spiky else "bar"
        yield f'<rect class="{look}" {place} {size}><title>{markup(title)}</title></rect>'
    bottom = _TOP + _HEIGHT
    yield f'<line class="axis" x1="{_LEFT}" y1="{bottom}" x2="{_WIDTH}" y2="{bottom}"/>'
    yield f'<text class="tick" x="{_LEFT - 6}" y="{_TOP + 10}" text-anchor="end">{most:,}</text>'
    yield f'<text class="tick" x="{_LEFT - 6}" y="{bottom}" text-anchor="end">0</text>'
    yield f'<text class="tick" x="{_LEFT}" y="{bottom + 16}">{markup(hour_text(first))}</text>'
    if slots > 1:
        yield f'<text class="tick" x="{_WIDTH}" y="{bottom + 16}" text-anchor="end">{markup(hour_text(last))}</text>'
    yield "</svg>"
