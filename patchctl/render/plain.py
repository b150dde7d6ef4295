"""One record a line, tab-separated, for pipes and logs: no box, no colour, no wrapping.

The first field names the kind of record; the fields after it are ``key=value`` where a value may be missing, so that
``grep`` and ``cut`` are enough to read it. Values are escaped onto one line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from patchctl.commands import Change, Listing, Report
from patchctl.match import Fit
from patchctl.model import Fix, Target
from patchctl.patch import Patch
from patchctl.render.departures import step_records
from patchctl.render.document import concerns
from patchctl.render.escape import visible
from patchctl.render.spoken import record_with_options
from patchctl.render.words import (
    avoidance,
    changed_mode,
    evidence_text,
    one_line,
    restart_advice,
    summary,
    trigger_text,
    unsafe,
)
from patchctl.verdict import Action, Assessment, FileFinding

if TYPE_CHECKING:
    from patchctl.match.explain import HunkExplanation
    from patchctl.match.script import ScriptLine


def as_plain(report: Report) -> str:
    """Return the answer as lines, each ended by a newline."""
    return "".join(record_with_options(line, report.given) + "\n" for line in _lines(report))


def _lines(report: Report) -> Iterator[str]:
    if report.target is not None:
        yield from _environment(report.target)
    if report.journal is not None:
        yield _record("unfinished", report.journal.transaction, *(f"path={path}" for path in report.journal.paths))
    if report.listing is not None:
        yield from _listing(report.listing)
    yield from (_record(*fields) for fields in (*_examined(report), *_audit(report)))
    if report.prospects:
        yield from _prospects(report)
    for found in report.assessments:
        if report.everything or concerns(found, report):
            yield from _entry(found)
            if report.change is None:
                yield from _fixes(found)
                yield from _misplaced(found, detailed=report.command == "status" and found.id in report.named)
    if report.change is not None:
        yield from _change(report.change)
    yield from (_record(*fields) for fields in step_records(report.steps))
    for note in (*report.notes, *restart_advice(report), *summary(report)):
        yield _record("note", note)


def _prospects(report: Report) -> Iterator[str]:
    """What an upgrade would mean, each candidate followed by the places where a diff does not fit it."""
    from patchctl.render.preflight import closing_records, comparison, problems_of, prospect_records

    for found in report.prospects:
        yield from (_record(*fields) for fields in prospect_records(found))
        for there in problems_of(found):
            yield from _misplaced(there, detailed=found.detailed)
        yield from (_record(*fields) for fields in closing_records(found))
    yield from (_record("note", words) for words in comparison(report.prospects))


def _audit(report: Report) -> Iterator[tuple[str, ...]]:
    if report.history is not None:
        from patchctl.render.history import history_records

        yield from history_records(report.history)
    if report.processes is not None:
        from patchctl.render.ps import process_records

        yield from process_records(report.processes, timed=report.command == "ps")
    if report.hits is not None:
        from patchctl.render.hits.records import hits_records

        yield from hits_records(report.hits)
    for purge in report.caches:
        yield ("cache", purge.path, f"state={purge.state}", f"files={purge.files}", f"bytes={purge.size}")


def _examined(report: Report) -> Iterator[tuple[str, ...]]:
    """What the examining verbs found, as the fields of records."""
    if report.verification is not None:
        from patchctl.render.verify import verification_records

        yield from verification_records(report.verification)
    if report.diagnosis is not None:
        from patchctl.render.doctor import diagnosis_records

        yield from diagnosis_records(report.diagnosis)
    if report.lint is not None:
        from patchctl.render.lint import lint_records

        yield from lint_records(report.lint)
    if report.advice is not None:
        from patchctl.render.advise import advice_records

        yield from advice_records(report.advice)
    if report.publication is not None:
        from patchctl.render.publication import publication_records

        yield from publication_records(report.publication)
    if report.review is not None or report.locking is not None:
        from patchctl.render.lock import lock_records

        yield from lock_records(report)


def _record(*fields: str) -> str:
    return "\t".join(visible(field) for field in fields)


def _environment(target: Target) -> Iterator[str]:
    builds = [f"{name}={found.build}" for name, found in target.distributions.items()]
    yield _record("environment", target.site, f"chosen-by={target.origin}", *builds)


def _entry(found: Assessment) -> Iterator[str]:
    yield _record(
        "entry",
        found.id,
        f"action={found.action.value}",
        f"verdict={found.verdict.value if found.verdict is not None else '-'}",
        f"need={found.need.value}",
        f"match={found.case.rule.value}",
        f"match-reason={found.case.reason}",
        f"reason={found.reason}",
    )


def _misplaced(found: Assessment, *, detailed: bool) -> Iterator[str]:
    """Where the diff does not fit, for whoever has to port it."""
    if not detailed and found.action not in {Action.ADOPT, Action.PORT, Action.INSPECT}:
        return
    for file in found.files:
        if file.reason or file.obstacle:
            yield _record("misfit", found.id, file.path, f"reason={file.obstacle or file.reason}")
        if file.explanation is not None:
            yield from _explained(found, file, detailed=detailed)
            continue
        for hunk in file.hunks:
            if hunk.reason is not None:
                lines = ",".join(map(str, hunk.candidates)) or "-"
                where = f"hunk={hunk.number}", f"reason={hunk.reason}", f"lines={lines}"
                yield _record("misfit", found.id, file.path, *where)


def _explained(found: Assessment, file: FileFinding, *, detailed: bool) -> Iterator[str]:
    from patchctl.render.misfits import convert_command, file_words, todo_words

    explanation = file.explanation
    if explanation is None:
        return
    if explanation.line_ends is not None:
        yield _record("misfit", found.id, file.path, "reason=line-ends", f"words={file_words(file)}")
    if detailed:
        yield from _script(found.id, file.path, "-", explanation.whole)
    for hunk in explanation.hunks:
        yield _hunk(found.id, file.path, hunk)
        if detailed:
            for line in hunk.change if hunk.state in {Fit.CONFLICT, Fit.UNDECIDED} else ():
                yield _record("change", found.id, file.path, f"hunk={hunk.number}", _code(line))
            yield from _script(found.id, file.path, str(hunk.number), hunk.script)
    if detailed:
        for text in (todo_words(found, file), convert_command(found, file)):
            if text is not None:
                yield _record("todo", found.id, file.path, text)


def _hunk(id_: str, path: str, hunk: HunkExplanation) -> str:
    before, after = hunk.before, hunk.after
    looked = after if before.reason == "not-found" and after.reason != "not-found" else before
    nearest = f"{hunk.line}-{hunk.line + hunk.length - 1}" if hunk.line is not None and hunk.length else "-"
    return _record(
        "misfit",
        id_,
        path,
        f"hunk={hunk.number}",
        f"reason={looked.reason if hunk.state is Fit.CONFLICT else hunk.state.value}",
        f"lines={','.join(map(str, looked.candidates or filter(None, (before.line, after.line)))) or '-'}",
        f"nearest={nearest}",
        f"equal={hunk.equal}/{hunk.size}" if hunk.size else "equal=-",
    )


def _script(id_: str, path: str, hunk: str, script: Sequence[ScriptLine]) -> Iterator[str]:
    for line in script:
        where = f"hunk={hunk}", f"line={line.line or '-'}", f"mark={line.mark.value}"
        cut = line.cut_before + line.cut_after
        said = [f"remark={line.remark.value}"] if line.remark is not None else []
        said += [f"cut={cut}"] if cut else []
        text = f"{line.skipped} lines" if line.skipped else _code(line.text)
        yield _record("line", id_, path, *where, *said, text)


def _code(line: bytes) -> str:
    return line.removesuffix(b"\n").decode("utf-8", "surrogateescape")


def _fixes(found: Assessment) -> Iterator[str]:
    for finding in found.case.fixes:
        yield _record(
            "fix", found.id, finding.fix.ref, f"role={finding.fix.role.value}", f"status={finding.status.value}"
        )


def _change(change: Change) -> Iterator[str]:
    for name in ("applied", "adopted", "reverted", "retired", "set_aside", "held", "unheld"):
        for id_ in getattr(change, name):
            yield _record(name.replace("_", "-"), id_, f"state={change.state}")
    for edit in change.edits:
        mode = changed_mode(edit)
        extra = [] if mode is None else [f"mode={mode:o}"]
        yield _record("file", edit.path, f"edit={edit.kind.value}", f"state={change.state}", *extra)
    for path in change.paths:
        yield _record("file", path, f"state={change.state}")


def _listing(listing: Listing) -> Iterator[str]:
    for root in listing.roots:
        yield _record("registry", root.path, f"name={root.name}", f"revision={root.revision}")
    for entry in listing.entries:
        yield _record(
            "entry",
            entry.id,
            f"kind={entry.kind.value}",
            f"severity={entry.severity.value}",
            f"revision={entry.revision}",
            f"default={'yes' if entry.default else 'no'}",
            f"title={entry.title}",
        )
        if listing.detailed:
            yield from _details(entry, listing)


def _details(entry: Patch, listing: Listing) -> Iterator[str]:
    for key in ("why", "how", "removal"):
        yield _record(key, one_line(getattr(entry, key)))
    for relation in ("cve", "requires", "conflicts", "replaces"):
        for id_ in getattr(entry, relation):
            yield _record(relation, id_)
    for variant in entry.variants:
        label = variant.rule.label if isinstance(variant.rule.label, str) else ",".join(variant.rule.label)
        fields = [f"build={build}" for build in variant.rule.builds]
        fields += [f"versions={variant.rule.versions}", f"label={label}"] if variant.rule.versions else []
        yield _record("variant", variant.distribution, f"diff={variant.diff or '-'}", *fields)
    for fix in entry.fixes:
        yield from _fix(fix)
    yield from _launches(entry)
    if entry.signal is not None:
        yield _record("signal", entry.signal.log)
    for name, text in listing.diffs:
        for line in text.decode("utf-8", "surrogateescape").split("\n"):
            yield f"diff\t{visible(name)}\t{visible(line)}"


def _launches(entry: Patch) -> Iterator[str]:
    """Which launches can meet the bug, and the ways around it."""
    for trigger in entry.triggers:
        yield _record("trigger", trigger_text(trigger))
    for avoid in entry.avoid:
        conditions = f"when={one_line(avoid.when)}", f"cost={one_line(avoid.cost)}"
        problem = unsafe(avoid, entry)
        told = [f"problem={problem}"] if problem is not None else []
        yield _record("avoid", avoidance(avoid), *told, *conditions)


def _fix(fix: Fix) -> Iterator[str]:
    yield _record(
        "fix",
        fix.ref,
        f"role={fix.role.value}",
        f"claim={fix.claimed or '-'}",
        f"source={fix.source or '-'}",
    )
    for item in fix.evidence:
        yield _record("evidence", fix.ref, evidence_text(item))
