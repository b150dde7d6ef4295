"""What ``doctor`` found: as JSON values, as records for a pipe, as lines for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from patchctl.commands.diagnosis import Diagnosis, Finding, Installed, SiteView


def diagnosis_json(found: Diagnosis) -> dict[str, Any]:
    """Return the ``diagnosis`` object of the document."""
    return {
        "kind": found.kind,
        "root": found.root,
        "python": found.python,
        "settings": dict(found.settings),
        "sites": [
            {
                "path": site.path,
                "file_system": site.file_system,
                "read_only": site.read_only,
                "state": site.state,
                "applied": list(site.applied),
                "lock": site.lock,
                "distributions": [
                    {
                        "name": it.name,
                        "build": it.build,
                        "installer": it.installer,
                        "oracle": it.oracle,
                        "concerned": it.concerned,
                    }
                    for it in site.distributions
                ],
            }
            for site in found.sites
        ],
        "findings": [
            {
                "code": finding.code,
                "needed": finding.needed,
                "message": finding.message,
                "remedy": finding.remedy,
                "site": finding.site,
                "path": finding.path,
            }
            for finding in found.findings
        ],
        "freed": list(found.freed),
        "freed_bytes": found.freed_bytes,
        "removed": list(found.removed),
    }


def diagnosis_records(found: Diagnosis) -> Iterator[tuple[str, ...]]:
    """Yield the fields of every record."""
    yield "kind", found.kind, f"root={found.root or '-'}", f"python={found.python or '-'}"
    for site in found.sites:
        more = f"read-only={'yes' if site.read_only else 'no'}", f"state={site.state}", f"lock={site.lock}"
        yield "site", site.path, f"file-system={site.file_system or '-'}", *more, f"applied={','.join(site.applied)}"
        for it in _shown(site, found):
            more = f"installer={it.installer or '-'}", f"oracle={it.oracle or '-'}", f"site={site.path}"
            yield "installed", it.name, f"build={it.build}", *more
    for finding in found.findings:
        where = [f"site={finding.site}"] if finding.site else []
        where += [f"path={finding.path}"] if finding.path else []
        word = "yes" if finding.needed else "no"
        yield "finding", finding.code, f"needed={word}", finding.message, f"remedy={finding.remedy}", *where
    for path in found.removed:
        yield "removed", path
    for path in found.freed:
        yield "freed", path
    if found.freed:
        yield "note", _freed(found)


def diagnosis_lines(found: Diagnosis) -> Iterator[tuple[str, str, int]]:
    """Yield (text, style, columns of indent) for a terminal."""
    yield f"{found.kind}{f' at {found.root}' if found.root else ''}, interpreter {found.python or 'not known'}", "", 0
    for site in found.sites:
        yield site.path, "bold", 0
        read_only = ", read-only" if site.read_only else ""
        yield f"on {site.file_system or 'an unknown file system'}{read_only}; {_census(site)}", "", 4
        applied = f", applied: {', '.join(site.applied)}" if site.applied else ""
        yield f"state: {site.state}{applied}; lock: {site.lock}", "", 4
        for it in _shown(site, found):
            yield f"{it.name} {it.build} ({_provenance(it)})", "", 4
    for finding in found.findings:
        yield from _finding_lines(finding)
    for path in found.removed:
        yield f"removed {path}", "", 0
    if found.freed:
        yield _freed(found), "bold", 0
    needed = sum(finding.needed for finding in found.findings)
    style = "bold red" if needed else "bold green"
    yield f"{needed} finding{'' if needed == 1 else 's'} that need a person" if needed else "nothing to do", style, 0


def _finding_lines(finding: Finding) -> Iterator[tuple[str, str, int]]:
    label, style = ("needed", "bold red") if finding.needed else ("note", "yellow")
    yield f"{label}: {finding.message}", style, 0
    yield finding.remedy, "", 4


def _census(site: SiteView) -> str:
    """How many distributions each installer left."""
    counts = Counter(it.installer or "an unknown installer" for it in site.distributions)
    parts = [f"{count} from {name}" for name, count in counts.most_common()]
    count = len(site.distributions)
    return f"{count} distribution{'' if count == 1 else 's'}{': ' + ', '.join(parts) if parts else ''}"


def _provenance(it: Installed) -> str:
    oracle = {"record": "has a RECORD", "conda-meta": "conda lists its files"}.get(it.oracle or "", "no list of files")
    return f"{it.installer or 'unknown installer'}, {oracle}"


def _shown(site: SiteView, found: Diagnosis) -> list[Installed]:
    return [it for it in site.distributions if found.listed or it.concerned]


def _freed(found: Diagnosis) -> str:
    return f"{len(found.freed)} stored originals and diffs that nothing names, {found.freed_bytes} bytes"
