"""Characters that nobody sees, or that make a text read otherwise than it is: in registry files, diffs and file names.

Where upstream's own lines have them, a diff must quote them: there only those that change the direction of writing
are errors, since a reviewer of the diff cannot trust what is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from patchctl.documents.toml_keys import key_text, locate_keys
from patchctl.lint.values import Entry, Finding, Grade, NamedDiff, ParsedDiff, error, in_diff
from patchctl.model.characters import BIDI, INVISIBLE

_HINT = "take it out; where it is meant, write it as an escape of the language"
_NAME_HINT = "give the file a name that everybody can read"
_ODD = re.compile(f"[{BIDI}{INVISIBLE}\x00-\x08\x0b-\x1f\x7f-\x9f\udc80-\udc9f]")
_TURNS = re.compile(f"[{BIDI}]")
_LAST_CONTROL = 0x9F
_BYTES = 0xDC00
"""A byte that is no UTF-8 is read as this and itself; a terminal of 8 bits takes some of them for controls."""
_NOT_WRITTEN = frozenset({"registry", "folder"})
_WRITTEN_AS = {
    "variants": "variant",
    "fixes": "fix",
    "triggers": "trigger",
    "alternatives": "any",
    "diff_name": "diff",
}
"""Fields of the values that are called otherwise in the file; ``rule`` stands for the table it is in."""
_KEPT_BY_UPSTREAM = "\f"
"""A form feed parts the sections of a Python file, by old custom."""


class _Odd(NamedTuple):
    """One character: what it is called, and whether it changes the direction of writing."""

    name: str
    turns: bool


def text_findings(entry: Entry) -> Iterator[Finding]:
    """Return what is odd in the entry's texts: the first of each kind of place, not every character."""
    yield from _raw(entry.text)
    yield from _escaped(entry)
    for name in entry.names:
        odd = odd_in(name)
        if odd is not None:
            yield error("odd-character", f"the name of the file holds {odd}", hint=_NAME_HINT)._replace(file=name)
    seen = set()
    for given in entry.diffs:
        if given.name not in seen:
            seen.add(given.name)
            yield from _in_diff(given)


def name_findings(parsed: ParsedDiff) -> Iterator[Finding]:
    """Return what is odd in the names that a diff quotes: in its lines they are escapes, on the disk they are not."""
    given = parsed.given
    for file in parsed.files:
        for path in file.paths:
            found = _ODD.search(path)
            if found is not None and found[0].encode() not in given.data:
                odd = _named(found[0])
                finding = error("odd-character", f"the name of a file comes to hold {odd.name}", hint=_NAME_HINT)
                if given.evidence and not odd.turns:
                    finding = finding._replace(grade=Grade.WARNING)
                yield in_diff(finding, given, file.line)


def registry_findings(text: str, name: str) -> Iterator[Finding]:
    """Return what is odd in a registry's own file.

    Args:
        text: the file.
        name: what it says that the registry is called.
    """
    yield from _raw(text)
    found = _ODD.search(name)
    if found is not None and found[0] not in text:
        finding = error("odd-character", f"`name` comes to hold {_named(found[0]).name}", key="name", hint=_HINT)
        yield finding._replace(line=locate_keys(text).line_of("name"))


def odd_in(text: str) -> str | None:
    """Return the name of the first odd character, such as ``U+202E``; None: there is none."""
    found = _ODD.search(text)
    return _named(found[0]).name if found is not None else None


def _named(character: str) -> _Odd:
    code = ord(character)
    if code >= _BYTES and code <= _BYTES | 0xFF:
        return _Odd(name=f"the byte {code - _BYTES:02X} (a control character of some terminals)", turns=False)
    if _TURNS.match(character):
        return _Odd(name=f"U+{code:04X} (it changes the direction of writing)", turns=True)
    is_control = code <= _LAST_CONTROL and character != "\u00ad"
    return _Odd(name=f"U+{code:04X} ({'a control character' if is_control else 'it is invisible'})", turns=False)


def _raw(text: str) -> Iterator[Finding]:
    """Look at the file as it stands: comments are read by people too."""
    positions = None
    for number, line in enumerate(text.split("\n"), start=1):
        name = odd_in(line.removesuffix("\r"))
        if name is not None:
            positions = positions or locate_keys(text).lines
            key = _key_at(positions, number)
            yield error("odd-character", f"the line holds {name}", key=key, hint=_HINT)._replace(line=number)


def _key_at(positions: Mapping[tuple[str | int, ...], int], line: int) -> str | None:
    """Return the key that stands last at or above a line."""
    above = [(at, len(path), path) for path, at in positions.items() if at <= line]
    return key_text(max(above, key=lambda it: it[:2])[2]) if above else None


def _escaped(entry: Entry) -> Iterator[Finding]:
    """Look at the values: an escape in TOML hides the character from who reads the file."""
    for path, value in _texts(entry.patch, ()):
        found = _ODD.search(value)
        if found is not None and found[0] not in entry.text:
            key = key_text(path)
            yield error("odd-character", f"`{key}` comes to hold {_named(found[0]).name}", key=key, hint=_HINT)


def _texts(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield every text of a value made from ``patch.toml``, keys of tables too, with the path of its key."""
    if isinstance(value, str) and not isinstance(value, Enum):
        yield path, value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield (*path, name), name
            yield from _texts(item, (*path, name))
    elif hasattr(value, "_asdict"):
        for name, item in value._asdict().items():
            if name not in _NOT_WRITTEN:
                yield from _texts(item, path if name == "rule" else (*path, _WRITTEN_AS.get(str(name), str(name))))
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for index, item in enumerate(value):
            yield from _texts(item, (*path, index))


def _in_diff(given: NamedDiff) -> Iterator[Finding]:
    """One finding for each side of the diff: the first character of its kind. Of evidence all lines are upstream's."""
    seen, in_hunk = set(), False
    for number, raw in enumerate(given.data.split(b"\n"), start=1):
        text = raw.decode("utf-8", "surrogateescape").removesuffix("\r")
        in_hunk = in_hunk or text.startswith("@@ ")
        ours = not given.evidence and not (in_hunk and text.startswith((" ", "-")))
        for found in _ODD.finditer(text):
            odd = _named(found[0])
            if not ours and found[0] in _KEPT_BY_UPSTREAM:
                continue
            if (ours, odd) not in seen:
                seen.add((ours, odd))
                yield in_diff(_in_line(odd, ours=ours), given, number)


def _in_line(odd: _Odd, *, ours: bool) -> Finding:
    whose = "the line" if ours else "the line, which is upstream's own,"
    finding = error("odd-character", f"{whose} holds {odd.name}", hint=_HINT if ours else None)
    if ours or odd.turns:
        return finding
    return finding._replace(grade=Grade.WARNING, hint="look at what it does there: a reviewer does not see it")
