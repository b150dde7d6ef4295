"""A containment whose own lines satisfy the evidence of its own fix: then it would look like upstream's repair.

patchctl judges evidence on bytes without its patches, but the next reader, another tool, or an environment without a
ledger does not. For a back-port it is natural. Only hunks are known here: what surrounds them in a release is not, so
that a piece of a symbol that no hunk shows gives a warning. Real trees are judged elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from patchctl.diff import FileDiff, Hunk
from patchctl.evidence.tokens import contains, tokens
from patchctl.lint.proof import items_of
from patchctl.lint.stalling import slow_pattern
from patchctl.lint.values import Finding, ParsedDiff, Search, error, warning
from patchctl.model import EvidenceItem, FixRole
from patchctl.patch import Patch

_DEFINITION = re.compile(r"[ \t]*(?:async[ \t]+def|def|class)[ \t]+(\w+)")
_STRANGE = "\0"


class _Side(NamedTuple):
    """What a hunk shows of a file, before or after: as text, and as Python tokens."""

    text: str
    tokens: tuple[str, ...]


class _Fragment(NamedTuple):
    """One hunk: both sides, and the heading that git writes behind ``@@``."""

    before: _Side
    after: _Side
    heading: str


class _Own(NamedTuple):
    """A diff of the entry: its name, what it says, and for each file what its hunks show."""

    name: str
    files: tuple[FileDiff, ...]
    fragments: Mapping[str, tuple[_Fragment, ...]]


def collision_findings(patch: Patch, parsed: Sequence[ParsedDiff], search: Search) -> Iterator[Finding]:
    """Return the evidence that a containment's own diffs bring about.

    Args:
        patch: the entry.
        parsed: every diff that it names, those of evidence included.
        search: the regular expression search, bounded by its own deadline.
    """
    named = {item.file for _, _, item in items_of(patch)}
    ours = [_own(one, named) for one in parsed if not one.given.evidence]
    theirs = {one.given.name: one.files for one in parsed if one.given.evidence}
    for number, key, item in items_of(patch):
        if patch.fixes[number].role is not FixRole.FIXES:
            continue
        found = (_collision(item, key, own, theirs.get(item.diff_name or "", ()), search) for own in ours)
        finding = next((finding for finding in found if finding is not None), None)
        if finding is not None:
            yield finding


def _own(one: ParsedDiff, named: Collection[str]) -> _Own:
    lines = one.given.data.split(b"\n")
    fragments = {
        file.path: tuple(_fragment(hunk, lines) for hunk in file.hunks) for file in one.files if file.path in named
    }
    return _Own(name=one.given.name, files=one.files, fragments=fragments)


def _fragment(hunk: Hunk, lines: Sequence[bytes]) -> _Fragment:
    heading = lines[hunk.line - 1].split(b"@@", 2)[-1].decode("utf-8", "replace").strip()
    return _Fragment(before=_side(hunk.old_lines), after=_side(hunk.new_lines), heading=heading)


def _side(lines: Sequence[bytes]) -> _Side:
    text = b"".join(lines).decode("utf-8", "replace").replace("\r\n", "\n")
    return _Side(text=text, tokens=_tokens(text))


def _collision(item: EvidenceItem, key: str, own: _Own, upstream: Sequence[FileDiff], search: Search) -> Finding | None:
    if item.diff is not None:
        held = bool(upstream) and _holds_diff(own.files, upstream)
        return _said(f"{key}.diff", own.name, "the upstream diff") if held else None
    fragments = own.fragments.get(item.file, ())
    if item.matches is not None:
        before, after = ("\n".join(side.text for side in sides) for sides in _sides(fragments))
        found = search(item.matches, after), search(item.matches, before)
        if None in found:
            return slow_pattern(f"{key}.matches", item.matches)
        held = found == (True, False)
        return _said(f"{key}.matches", own.name, "the pattern", within=item.symbol) if held else None
    return _collision_of_tokens(item, key, own.name, fragments)


def _sides(fragments: Sequence[_Fragment]) -> tuple[list[_Side], list[_Side]]:
    return [part.before for part in fragments], [part.after for part in fragments]


def _collision_of_tokens(item: EvidenceItem, key: str, name: str, fragments: Sequence[_Fragment]) -> Finding | None:
    needle = _tokens(item.contains if item.contains is not None else item.absent or "")
    before, after = (any(contains(side.tokens, needle) for side in sides) for sides in _sides(fragments))
    if item.contains is not None and after and not before:
        sure = item.symbol is None or any(_shows(part, item.symbol, needle) for part in fragments)
        return _said(f"{key}.contains", name, "the source", within=None if sure else item.symbol)
    if item.absent is not None and before and not after:
        message = f"{name} takes away what `absent` asks to be gone; where that is all of it, the fix looks proven"
        hint = "ask for something that upstream's repair brings: `contains`"
        return warning("possible-self-collision", message, f"{key}.absent", hint)
    return None


def _said(key: str, name: str, what: str, *, within: str | None = None) -> Finding:
    """Say it; ``within``: the symbol in which it would have to be, where the hunks do not show it."""
    if within is None:
        hint = "choose evidence that upstream's repair has and this diff does not"
        message = f"{name} itself brings {what} that the fix is told by: the containment would prove its own fix"
        return error("self-collision", message, key, hint)
    message = f"{name} adds this very {what.removeprefix('the ')}; if that is inside {within}, "
    message += "the patch would prove its own fix"
    hint = (
        "lint --against WHEEL of a build without the fix decides it; so does a diff whose `@@` lines name the function"
    )
    return warning("possible-self-collision", message, key, hint)


def _tokens(text: str) -> tuple[str, ...]:
    """Split a piece of a file, which may begin or end inside a string: then line by line, without those that fail."""
    try:
        return tokens(text)
    except ValueError:
        found: list[str] = []
        for line in text.split("\n"):
            try:
                found += tokens(line)
            except ValueError:
                found.append(_STRANGE)
        return tuple(found)


def _shows(fragment: _Fragment, symbol: str, needle: Sequence[str]) -> bool:
    """Whether the hunk shows the definition that is meant around the needle, by its last name."""
    name = symbol.rpartition(".")[2]
    lines = fragment.after.text.split("\n")
    for number, line in enumerate(lines):
        found = _DEFINITION.match(line)
        if found is not None and found[1] == name and contains(_tokens(_block(lines, number)), needle):
            return True
    heading = _DEFINITION.match(fragment.heading)
    first = next((at for at, line in enumerate(lines) if _DEFINITION.match(line)), len(lines))
    return heading is not None and heading[1] == name and contains(_tokens("\n".join(lines[:first])), needle)


def _block(lines: Sequence[str], header: int) -> str:
    """Return a definition as far as the lines show it, read off the indentation."""
    indent = len(lines[header]) - len(lines[header].lstrip())
    end = header + 1
    while end < len(lines) and (not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > indent):
        end += 1
    return "\n".join(lines[header:end])


def _holds_diff(ours: Sequence[FileDiff], theirs: Sequence[FileDiff]) -> bool:
    """Whether every hunk of an upstream diff would fit in reverse on what our hunks leave, and some not before."""
    by_path = {file.path: file for file in ours}
    fresh = False
    for file in theirs:
        mine = by_path.get(file.path)
        if mine is None:
            return False
        for hunk in file.hunks:
            if not any(_stands(hunk.new_lines, other.new_lines) for other in mine.hunks):
                return False
            fresh = fresh or not any(_stands(hunk.new_lines, other.old_lines) for other in mine.hunks)
    return fresh


def _stands(block: Sequence[bytes], lines: Sequence[bytes]) -> bool:
    """Whether the lines hold the block; one search of bytes, since lines end in newlines."""
    return b"\n" + b"".join(block) in b"\n" + b"".join(lines)
