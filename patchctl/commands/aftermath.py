"""After files changed: who still runs the old code, and what was compiled from it. Nothing here undoes a commit."""

from __future__ import annotations

from patchctl.caches import NAMES, CacheOwner, Purge, cache_owner, purge_caches
from patchctl.commands.place import Consent, Place
from patchctl.commands.report import Report
from patchctl.commands.running import look, restart_note
from patchctl.errors import Problem

_TOP = "vllm"
"""Caches are known of vLLM alone; its plugins (``vllm_ascend`` ...) compile through it."""


def with_aftermath(report: Report, place: Place, consent: Consent) -> Report:
    """Return the report of a change, done or planned, with processes and caches added; never raises."""
    change = report.change
    if change is None or not change.edits or report.target is None:
        if consent.purge_caches and not report.errors:
            return report._replace(notes=(*report.notes, "no file changed, so no cache was purged"))
        return report
    done = change.state == "committed"
    try:
        report = _with_caches(report, place, consent, done=done)
        if done:
            found = look(place, report.target.site)  # type: ignore[union-attr]
            report = report._replace(
                processes=found, notes=(*report.notes, *restart_note(found, aside=bool(change.set_aside)))
            )
    except KeyboardInterrupt:
        return _with_note(report, "interrupted while looking for processes and caches; the change is committed")
    except Exception as error:
        return _with_note(report, f"processes and caches were not looked at: {error}")
    return report


def _with_note(report: Report, note: str) -> Report:
    return report._replace(notes=(*report.notes, note))


def _with_caches(report: Report, place: Place, consent: Consent, *, done: bool) -> Report:
    edits = report.change.edits if report.change is not None else ()
    if not any(edit.path.startswith(_TOP) for edit in edits):
        return report
    owner = cache_owner({} if place.handed_over else place.environ, consent.cache_user)
    if isinstance(owner, str):
        warning = Problem(code="cache-not-purged", message=f"the caches were not purged: {owner}")
        return report._replace(warnings=(*report.warnings, warning)) if consent.purge_caches else report
    if not consent.purge_caches:
        return _named(report, owner) if done else report
    purges = purge_caches(owner, remove=done)
    notes = tuple(_sentence(it) for it in purges if it.state in {"purged", "planned"})
    warnings = tuple(
        Problem(
            code="cache-not-purged",
            message=f"{it.path} was not purged{'' if it.state == 'refused' else ' whole'}: {it.reason}",
            hint="remove it as its owner; for caches of another user: --cache-user NAME",
        )
        for it in purges
        if it.state in {"refused", "partial"}
    )
    return report._replace(caches=purges, notes=(*report.notes, *notes), warnings=(*report.warnings, *warnings))


def _named(report: Report, owner: CacheOwner) -> Report:
    paths = " and ".join(f"{owner.root}/{name}" for name in NAMES)
    note = f"caches of {owner.name} may hold what was compiled from the old files: {paths}; --purge-caches removes them"
    return _with_note(report, note)


def _sentence(purge: Purge) -> str:
    verb = "purged" if purge.state == "purged" else "would purge"
    return f"{verb} {purge.path}: {purge.files} files, {purge.size} bytes"
