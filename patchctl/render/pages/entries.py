"""One entry as a part of the page: facts, fixes with their evidence, files, avoidance, and the diff in colour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from patchctl.commands.describe import Standing, may_go, receipt_of, standing_of
from patchctl.evidence import FixFinding, FixStatus, ItemFinding, ItemStatus
from patchctl.patch import Patch
from patchctl.render.escape import https_address, markup, markup_block
from patchctl.render.words import FIX_WORDS, avoidance, contradictions, evidence_text, one_line, unsafe
from patchctl.verdict import DUE, Action, Assessment, SourceDiff, Verdict

_TINTS = {
    Standing.IN: "good",
    Standing.FIXED: "good",
    Standing.DUE: "bad",
    Standing.HELD: "warn",
    Standing.ADVICE: "calm",
    Standing.OUT: "",
}
_FIX_TINTS = {
    FixStatus.PROVEN: "good",
    FixStatus.CONTRADICTED: "bad",
    FixStatus.MOVED: "warn",
    FixStatus.UNKNOWN: "warn",
}
_ITEM_TINTS = {ItemStatus.HOLDS: "good", ItemStatus.FAILS: ""}
_DIGEST = 12
"""Digits of a hash that a person is shown."""


def standing_tag(entry: Assessment) -> str:
    """Return the word for where an entry stands."""
    standing = standing_of(entry)
    if standing is Standing.DUE:
        return _tag(entry.action.value, "bad")
    return _tag(standing.value, _TINTS[standing])


def entry_article(entry: Assessment) -> Iterator[str]:
    """Return the lines of one entry."""
    case, patch, known = entry.case, entry.case.patch, entry.case.patch or entry.case.receipt
    yield f'<article id="{markup(entry.id)}" class="{_tint(entry)}">'
    yield f"<h3>{markup(known.title if known is not None else entry.id)}</h3>"
    words = [patch.kind.value, patch.severity.value] if patch is not None else ["not in the registry any more"]
    tags = "".join(f" {_tag(word)}" for word in words)
    yield f"<p>{standing_tag(entry)} <code>{markup(entry.id)}</code>{tags}</p>"
    for claim in contradictions(entry):
        yield f"<p>{_tag('claim contradicted', 'bad')} {markup(claim)}</p>"
    yield "<dl>" + "".join(f"<dt>{label}</dt><dd>{value}</dd>" for label, value in _facts(entry)) + "</dl>"
    if case.fixes:
        yield from _fixes(case.fixes)
    if patch is not None and patch.avoid:
        yield from _avoidances(patch)
    if entry.files:
        yield from _files(entry)
    for diff in case.recorded or case.due:
        yield from _diff(diff)
    yield "</article>"


def _tint(entry: Assessment) -> str:
    standing = standing_of(entry)
    unsettled = standing is Standing.IN and (may_go(entry) or entry.action in DUE)
    return "warn" if unsettled else _TINTS[standing]


def _tag(word: str, tint: str = "") -> str:
    return f'<span class="tag {tint}">{markup(word)}</span>'


def _facts(entry: Assessment) -> Iterator[tuple[str, str]]:
    case, patch, receipt = entry.case, entry.case.patch, entry.case.receipt
    if patch is not None:
        yield "why", markup(one_line(patch.why))
        if patch.how:
            yield "how", markup(one_line(patch.how))
        yield "may go", markup(one_line(patch.removal))
    verdict = entry.verdict.value if entry.verdict is not None else "advice only"
    yield "state", markup(f"{verdict}, {entry.need.value}: {entry.reason}")
    if entry.action is not Action.NONE:
        yield "due", markup(entry.action.value)
    yield "build", markup(f"{case.rule.value}: {case.reason}")
    if receipt is not None:
        builds = ", ".join(f"{diff.distribution} {diff.build}" for diff in receipt.diffs)
        label = "in since" if receipt_of(entry) is not None else "applied at"
        yield label, markup(f"{receipt.applied_at}, revision {receipt.revision}, on {builds}")
    if case.hold is not None:
        yield "held", markup(f"{case.hold.reason} (since {case.hold.since})")
    if case.assumed is not None:
        yield "assumed", markup(f"--assume-build {case.assumed}")
    if patch is not None and patch.signal is not None:
        yield "log line", f"<code>{markup(patch.signal.log)}</code>"
    if patch is not None and patch.cve:
        yield "CVE", markup(", ".join(patch.cve))


def _fixes(fixes: Sequence[FixFinding]) -> Iterator[str]:
    yield '<h4>Upstream fixes</h4><div class="wide"><table><tr><th>change</th><th>claimed</th><th>found</th></tr>'
    for finding in fixes:
        fix = finding.fix
        address = https_address(fix.source)
        ref = markup(fix.ref)
        if address is not None:
            ref = f'<a href="{address}" rel="noreferrer noopener">{ref}</a>'
        note = f'<br><span class="soft">{markup(one_line(fix.note))}</span>' if fix.note else ""
        status = _tag(FIX_WORDS.get(finding.status.value, finding.status.value), _FIX_TINTS.get(finding.status, ""))
        items = "".join(_evidence(item) for item in finding.items)
        proof = f"<ul>{items}</ul>" if items else ""
        claim = markup(fix.claimed or "for no version")
        yield f"<tr><td>{ref} {_tag(fix.role.value)}{note}</td><td>{claim}</td><td>{status}{proof}</td></tr>"
    yield "</table></div>"


def _evidence(item: ItemFinding) -> str:
    elsewhere = f" (elsewhere: {', '.join(item.elsewhere)})" if item.elsewhere else ""
    tag = _tag(item.status.value, _ITEM_TINTS.get(item.status, "warn"))
    reason = f'<br><span class="soft">{markup(item.reason + elsewhere)}</span>' if item.reason or elsewhere else ""
    return f"<li>{tag} <code>{markup(evidence_text(item.item))}</code>{reason}</li>"


def _avoidances(patch: Patch) -> Iterator[str]:
    yield "<h4>Avoidance</h4><ul>"
    for avoid in patch.avoid:
        words = ((label, one_line(text)) for label, text in (("when", avoid.when), ("cost", avoid.cost)) if text)
        more = "; ".join(f"{label}: {text}" for label, text in words)
        problem = unsafe(avoid, patch)
        # What is not allowed is told, and not written as a command that somebody may copy.
        way = f"<code>{markup(avoidance(avoid))}</code>" if problem is None else f"not shown: {markup(problem)}"
        yield f'<li>{way} <span class="soft">{markup(more)}</span></li>'
    yield "</ul>"


def _files(entry: Assessment) -> Iterator[str]:
    pristine = {True: "pristine", False: "changed", None: "not known"}
    yield '<h4>Files</h4><div class="wide"><table><tr><th>file</th><th>diff</th><th>RECORD</th><th>sha256</th></tr>'
    for file in entry.files:
        digest = file.sha256[:_DIGEST] if file.sha256 is not None else "-"
        reason = file.obstacle or file.reason
        note = f'<br><span class="soft">{markup(reason)}</span>' if reason else ""
        # An applied entry is judged by hashes; its fit is that of the base, which would puzzle the reader.
        fit = "applied" if entry.verdict is Verdict.APPLIED else file.fit.value
        cells = f"<td>{fit}{note}</td><td>{pristine[file.pristine]}</td><td><code>{markup(digest)}</code></td>"
        yield f"<tr><td><code>{markup(file.path)}</code></td>{cells}</tr>"
    yield "</table></div>"


def _diff(diff: SourceDiff) -> Iterator[str]:
    """Return the diff, each line by its kind; one line of HTML, since white space counts in it."""
    lines = diff.data.split(b"\n")
    lines = lines[:-1] if lines[-1] == b"" else lines
    body = "".join(_diff_line(line) for line in lines)
    title = f"{diff.name} for {diff.distribution}, {len(lines)} lines"
    yield f"<details><summary>{markup(title)}</summary><pre>{body}</pre></details>"


def _diff_line(line: bytes) -> str:
    text = markup_block(line.decode("utf-8", "surrogateescape"))
    kind = _kind(line)
    return f'<span class="{kind}">{text}</span>' if kind else f"<span>{text or ' '}</span>"


def _kind(line: bytes) -> str:
    if line == b"---" or line.startswith((b"--- ", b"+++ ", b"diff ", b"rename ", b"old mode", b"new mode", b"index ")):
        return "name"
    return {b"+": "add", b"-": "cut", b"@": "at"}.get(line[:1], "")
