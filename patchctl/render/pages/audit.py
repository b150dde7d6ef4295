"""What was done to the environment and who runs it, as parts of the page; the newest change comes first."""

from __future__ import annotations

from collections.abc import Iterator

from patchctl.commands.report import ProcessReport
from patchctl.ledger import History
from patchctl.model.history import HistoryRecord
from patchctl.model.processes import Age
from patchctl.render.escape import markup
from patchctl.render.history import command_text, entry_text, who_text
from patchctl.render.ps import started_text, user_text

_MOST = 200
"""Records and processes that a page shows; more would bury the rest of it."""
_TINTS = {Age.STALE: "bad", Age.FRESH: "good", Age.UNKNOWN: "warn"}


def history_section(history: History) -> Iterator[str]:
    """Return the lines of the history."""
    records = history.records[::-1]
    yield "<section><h2>History</h2>"
    for problem in history.problems:
        yield f'<div class="problem"><p><b>warning</b> {markup(problem.message)}</p></div>'
    if not records:
        yield "<p>Nothing is recorded.</p></section>"
        return
    yield '<div class="wide"><table><tr><th>when</th><th>command</th><th>by</th><th>what</th></tr>'
    for stored in records[:_MOST]:
        yield _record(stored.record)
    yield "</table></div>"
    left = len(records) - len(records[:_MOST]) + history.omitted
    if left:
        yield f'<p class="soft">and {left} older ones: <code>patchctl history</code></p>'
    yield "</section>"


def _record(record: HistoryRecord) -> str:
    tint = "good" if record.result == "committed" else "warn"
    reason = f'<br><span class="soft">{markup(record.reason)}</span>' if record.reason else ""
    entries = "".join(f"<li>{markup(entry_text(entry))}</li>" for entry in record.entries)
    what = f"<ul>{entries}</ul>" if entries else ""
    files = "".join(f"<li><code>{markup(file.path)}</code></li>" for file in record.files)
    if record.omitted:
        files += f"<li>and {record.omitted} more</li>"
    if files:
        count = len(record.files) + record.omitted
        what += f"<details><summary>{count} file{'' if count == 1 else 's'}</summary><ul>{files}</ul></details>"
    command = (
        f'<code>{markup(command_text(record))}</code> <span class="tag {tint}">{markup(record.result)}</span>{reason}'
    )
    who = f"{markup(who_text(record.author))}<br>{markup(record.host or 'host not recorded')}"
    return f"<tr><td>{markup(record.at)}</td><td>{command}</td><td>{who}</td><td>{what}</td></tr>"


def process_section(report: ProcessReport) -> Iterator[str]:
    """Return the lines of the processes."""
    yield "<section><h2>Processes</h2>"
    if not report.recorded:
        yield "<p>No change of this environment is recorded: every process runs what is there.</p>"
    elif not report.judged:
        yield "<p>No process of this environment was seen.</p>"
    if report.judged:
        yield '<div class="wide"><table><tr><th>code</th><th>pid</th><th>user</th><th>since</th><th>command</th></tr>'
        for process, age in report.judged[:_MOST]:
            since = markup(started_text(process, report.census.now))
            tag = f'<span class="tag {_TINTS[age]}">{age.value}</span>'
            who = markup(user_text(report, process.uid))
            cells = f"<td>{tag}</td><td>{process.pid}</td><td>{who}</td><td>{since}</td>"
            yield f"<tr>{cells}<td><code>{markup(process.command)}</code></td></tr>"
        yield "</table></div>"
    if len(report.judged) > _MOST:
        yield f'<p class="soft">and {len(report.judged) - _MOST} more: <code>patchctl ps</code></p>'
    if not report.census.whole:
        yield '<p class="soft">Not every process of this machine could be inspected.</p>'
    yield "</section>"
