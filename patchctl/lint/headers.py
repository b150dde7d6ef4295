"""The header of a diff, where it has one: fields as DEP-3 (https://dep-team.pages.debian.net/deps/dep3/) gives them.

A diff needs no header. One that has it should say what the diff does and where it comes from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from patchctl.lint.values import Finding, ParsedDiff, in_diff, warning

_FIELD = re.compile(rb"([A-Za-z][A-Za-z0-9-]*):(?:[ \t]+(.*))?\Z")
_MAIL = re.compile(rb"From [0-9a-f]{40} ")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_ORIGINS = ("upstream", "backport", "vendor", "other")
_FIELDS = (
    "Description",
    "Subject",
    "Origin",
    "Bug",
    "Forwarded",
    "Author",
    "From",
    "Reviewed-by",
    "Acked-by",
    "Last-Update",
    "Applied-Upstream",
)
_ONCE = frozenset({"description", "subject", "origin", "forwarded", "last-update", "applied-upstream"})


class _Field(NamedTuple):
    """One field: its name as it is written, the first line of its value, the 1-based line of the diff."""

    name: str
    value: str
    line: int


def header_findings(parsed: ParsedDiff) -> Iterator[Finding]:
    """Return what a diff's header lacks or says wrongly."""
    lines = parsed.given.data.split(b"\n")[: parsed.files[0].line - 1]
    fields = _fields(lines)
    if fields:
        found = (*_lacking(fields), *_doubled(fields), *_wrong(fields))
        yield from (in_diff(finding, parsed.given, finding.line) for finding in found)


def _fields(lines: Sequence[bytes]) -> list[_Field]:
    """Return the fields of the first paragraph; none when that is prose."""
    found: list[_Field] = []
    for number, raw in enumerate(lines, start=1):
        line = raw.rstrip(b"\r")
        if _MAIL.match(line) or (not line.strip() and not found):
            continue
        field = _FIELD.match(line)
        if field is not None:
            value = (field[2] or b"").decode("utf-8", "replace").strip()
            found.append(_Field(name=field[1].decode(), value=value, line=number))
        elif not found or not line.startswith((b" ", b"\t")):
            break
    return found


def _lacking(fields: Sequence[_Field]) -> Iterator[Finding]:
    names = {field.name.lower() for field in fields}
    if not names & {"description", "subject"}:
        message = "the header does not say what the diff does: it has no Description"
        yield _at(fields[0], "header-description", message)
    if not names & {"origin", "author", "from"}:
        message = "the header does not say where the diff comes from: it has neither Origin nor Author"
        yield _at(fields[0], "header-origin", message, "such as: Origin: other, written for this registry")


def _doubled(fields: Sequence[_Field]) -> Iterator[Finding]:
    seen: set[str] = set()
    for field in fields:
        name = field.name.lower()
        if name in seen and name in _ONCE:
            yield _at(field, "header-field", f"the header has {field.name} twice")
        seen.add(name)


def _wrong(fields: Sequence[_Field]) -> Iterator[Finding]:
    for field in fields:
        name = field.name.lower()
        if name == "last-update" and not _DATE.fullmatch(field.value):
            yield _at(field, "header-field", f"Last-Update is no date such as 2026-01-31: {field.value}")
        if name == "origin" and not _is_origin(field.value):
            words = ", ".join(_ORIGINS)
            yield _at(field, "header-field", f"Origin begins with none of {words}, and is no address: {field.value}")
        near = _misspelt(field.name)
        if near is not None:
            yield _at(field, "header-field", f"{field.name} is no field of a header", f"did you mean {near}?")


def _is_origin(value: str) -> bool:
    return value.partition(",")[0].strip().lower() in _ORIGINS or value.startswith(("https://", "http://"))


def _misspelt(name: str) -> str | None:
    """Return the field that a name nearly is; None: it is one, or something else altogether."""
    import difflib

    known = {field.lower(): field for field in _FIELDS}
    if name.lower() in known or name.lower().startswith(("bug-", "x-")):
        return None
    near = difflib.get_close_matches(name.lower()[:40], known, n=1, cutoff=0.85)
    return known[near[0]] if near else None


def _at(field: _Field, code: str, message: str, hint: str | None = None) -> Finding:
    return warning(code, message, hint=hint)._replace(line=field.line)
