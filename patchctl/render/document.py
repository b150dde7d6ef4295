"""The JSON document: one envelope for all verbs, published as a schema in ``docs/schemas/report.schema.json``.

Keys are snake_case, values kebab-case, paths POSIX relative to the site, absent is null, entries come in registry
order. Nothing in it is a time. ``SCHEMA`` changes only on a breaking change; new keys may appear.
"""

from __future__ import annotations

from typing import Any

from patchctl import __version__
from patchctl.build import parse_build
from patchctl.commands import Change, Report
from patchctl.errors import Problem
from patchctl.evidence import FixFinding
from patchctl.model import FileEdit, RegistryPlace, Target, sha256_hex
from patchctl.render.departures import retirement_document, set_aside_document
from patchctl.render.escape import json_text
from patchctl.render.misfit_document import explanation_of, hunks_of
from patchctl.render.spoken import document_with_options
from patchctl.render.words import changed_mode
from patchctl.verdict import Assessment, Need, SourceDiff

SCHEMA = 1
Json = dict[str, Any]


def as_json(report: Report, exit_code: int) -> str:
    """Return the document as text, with a final newline; every non-ASCII or control character is escaped."""
    return json_text(document_with_options(document(report, exit_code), report.given))


def document(report: Report, exit_code: int) -> Json:
    """Return the document as plain values."""
    shown = [found for found in report.assessments if report.everything or concerns(found, report)]
    body: Json = {
        "schema": SCHEMA,
        "patchctl": __version__,
        "command": report.command,
        "exit_code": exit_code,
        "target": target_json(report.target) if report.target is not None else None,
        "transaction": _transaction(report),
        "patches": [patch_json(found) for found in shown],
        "notes": list(report.notes),
        "warnings": [problem_json(problem) for problem in report.warnings],
        "errors": [problem_json(problem) for problem in report.errors],
    }
    if report.listing is not None:
        from patchctl.render.listing import listing_json

        body |= listing_json(report.listing)
    if report.steps:
        body["steps"] = list(report.steps)
    return body | _examined(report) | _audit(report)


def _examined(report: Report) -> Json:
    """What the examining verbs found; each shape is at home in the module that lays it out for people too."""
    found: Json = {}
    if report.verification is not None:
        from patchctl.render.verify import verification_json

        found["verification"] = verification_json(report.verification)
    if report.diagnosis is not None:
        from patchctl.render.doctor import diagnosis_json

        found["diagnosis"] = diagnosis_json(report.diagnosis)
    if report.lint is not None:
        from patchctl.render.lint import lint_json

        found["lint"] = lint_json(report.lint)
    if report.advice is not None:
        from patchctl.render.advise import advice_json

        found["advice"] = advice_json(report.advice)
    if report.publication is not None:
        from patchctl.render.publication import publication_json

        found["report"] = publication_json(report.publication)
    if any(it is not None for it in (report.review, report.locking, report.digest)):
        from patchctl.render.lock import lock_document

        found |= lock_document(report)
    if report.prospects:
        from patchctl.render.preflight_document import prospect_json

        found["candidates"] = [prospect_json(prospect) for prospect in report.prospects]
    return found


def _audit(report: Report) -> Json:
    """What was done, and who still runs the code from before."""
    found: Json = {}
    if report.history is not None:
        from patchctl.render.history import history_document

        found["history"] = history_document(report.history)
    if report.processes is not None:
        from patchctl.render.ps import processes_document

        found["processes"] = processes_document(report.processes, timed=report.command == "ps")
    if report.hits is not None:
        from patchctl.render.hits.document import hits_document

        found["hits"] = hits_document(report.hits)
    if report.caches:
        found["caches"] = [purge._asdict() for purge in report.caches]
    return found


def concerns(found: Assessment, report: Report) -> bool:
    """Return whether an entry is shown when not everything was asked for."""
    return found.need is not Need.NOT_CONCERNED or found.id in report.named


def target_json(target: Target) -> Json:
    """Return the object of an environment, or of a candidate."""
    distributions = []
    for name, found in target.distributions.items():
        build = parse_build(found.build)
        distributions.append(
            {
                "name": name,
                "build": found.build,
                "public": build.public,
                "label": build.label,
                "fingerprint": found.fingerprint,
                "installer": found.installer,
                "record": f"{found.info}/RECORD" if found.record is not None and found.oracle == "RECORD" else None,
                "oracle": found.oracle.lower() if found.record is not None else None,
                "source_build": found.source_build,
                "editable": found.editable,
                "modules": dict(sorted(found.grafts.items())),
            }
        )
    return {
        "site": target.site,
        "python": target.python,
        "origin": target.origin,
        "distributions": distributions,
        "passed_over": list(target.passed_over),
        "shared_by": target.shared_by,
    }


def _transaction(report: Report) -> Json | None:
    if report.change is not None:
        return _change(report.change)
    if report.journal is None:
        return None
    return _change(Change(state="unfinished", id=report.journal.transaction, paths=report.journal.paths))


def _change(change: Change) -> Json:
    return {
        "id": change.id,
        "state": change.state,
        "applied": list(change.applied),
        "adopted": list(change.adopted),
        "reverted": list(change.reverted),
        "retired": list(change.retired),
        "set_aside": list(change.set_aside),
        "held": list(change.held),
        "unheld": list(change.unheld),
        "files": [_edit(edit) for edit in change.edits]
        + [{"path": path, "kind": None, "before": None, "after": None, "mode": None} for path in change.paths],
    }


def _edit(edit: FileEdit) -> Json:
    return {
        "path": edit.path,
        "kind": edit.kind.value,
        "before": sha256_hex(edit.before) if edit.before is not None else None,
        "after": sha256_hex(edit.after) if edit.after is not None else None,
        "mode": f"{new_mode:o}" if (new_mode := changed_mode(edit)) is not None else None,
    }


def patch_json(found: Assessment) -> Json:
    """Return the object of an entry as it was judged."""
    case = found.case
    patch, receipt = case.patch, case.receipt
    known = patch or receipt
    return {
        "id": found.id,
        "kind": _word(patch.kind if patch is not None else receipt.kind if receipt is not None else None),
        "severity": patch.severity.value if patch is not None else None,
        "title": known.title if known is not None else None,
        "revision": patch.revision if patch is not None else None,
        "applied_revision": receipt.revision if receipt is not None else None,
        "applied_registry": _registry(receipt.registry) if receipt is not None and receipt.registry else None,
        "match": {"rule": case.rule.value, "reason": case.reason},
        "variants": [_variant(diff) for diff in case.due],
        "verdict": _word(found.verdict),
        "need": found.need.value,
        "action": found.action.value,
        "reason": found.reason,
        "hold": case.hold.reason if case.hold is not None else None,
        "assumed_build": case.assumed,
        "despite_fix": receipt.despite_fix if receipt is not None else False,
        "set_aside": set_aside_document(receipt),
        "retirement": retirement_document(case.retirement),
        "fixes": [_fix_finding(finding) for finding in case.fixes],
        "files": [
            {
                "path": file.path,
                "old_path": file.old_path,
                "fit": file.fit.value,
                "pristine": file.pristine,
                "sha256": file.sha256,
                "reason": file.obstacle or file.reason,
                "explanation": explanation_of(found, file),
                "hunks": hunks_of(file),
            }
            for file in found.files
        ],
    }


def _registry(place: RegistryPlace) -> dict[str, Any]:
    return {"name": place.name, "bundled": place.bundled, "path": place.path}


def _word(value: Any) -> str | None:
    return None if value is None else str(getattr(value, "value", value))


def _variant(diff: SourceDiff) -> Json:
    return {
        "distribution": diff.distribution,
        "diff": diff.name,
        "sha256": diff.sha256,
        "match": {"rule": diff.rule.value, "reason": diff.reason},
    }


def _fix_finding(finding: FixFinding) -> Json:
    return {
        "ref": finding.fix.ref,
        "role": finding.fix.role.value,
        "claim": finding.fix.claimed,
        "claimed": finding.claimed,
        "status": finding.status.value,
        "reason": finding.reason,
        "evidence": [
            {
                "file": item.item.file or None,
                "symbol": item.item.symbol,
                "status": item.status.value,
                "reason": item.reason,
                "elsewhere": list(item.elsewhere),
            }
            for item in finding.items
        ],
    }


def problem_json(problem: Problem) -> Json:
    """Return the object of a problem."""
    return {
        "code": problem.code,
        "message": problem.message,
        "hint": problem.hint,
        "patch": problem.patch,
        "path": problem.path,
        "line": problem.line,
        "key": problem.key,
    }
