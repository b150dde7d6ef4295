"""Characters that nobody sees, or that make a text read otherwise than it is, in ``patch.toml`` and in diffs.

Where upstream's own lines have them, a diff must quote them: there only those that change the direction of writing
are errors, since a reviewer of the diff cannot trust what is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from patchctl.documents.toml_keys import key_text, locate_keys
from patchctl.lint.values import Entry, Finding, Grade, NamedDiff, error, in_diff
from patchctl.model.characters import BIDI, INVISIBLE
from patchctl.patch import Avoid

_HINT = "take it out; where it is meant, write it as an escape of the language"
_ODD = re.compile(f"[{BIDI}{INVISIBLE}\x00-\x08\x0b-\x1f\x7f-\x9f\U000e0000-\U000e007f]")
_LAST_CONTROL = 0x9F
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
    seen = set()
    for given in entry.diffs:
        if given.name not in seen:
            seen.add(given.name)
            yield from _in_diff(given)


def odd_in(text: str) -> str | None:
    """Return the name of the first odd character, such as ``U+202E``; None: there is none."""
    found = _ODD.search(text)
    return _named(found[0]).name if found is not None else None


def _named(character: str) -> _Odd:
    name = f"U+{ord(character):04X}"
    if character in BIDI:
        return _Odd(name=f"{name} (it changes the direction of writing)", turns=True)
    is_control = ord(character) <= _LAST_CONTROL and character not in INVISIBLE
    kind = "a control character" if is_control else "it is invisible"
    return _Odd(name=f"{name} ({kind})", turns=False)


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
    for key, value in _values(entry):
        found = _ODD.search(value)
        if found is not None and found[0] not in entry.text:
            yield error("odd-character", f"`{key}` comes to hold {_named(found[0]).name}", key=key, hint=_HINT)


def _values(entry: Entry) -> Iterator[tuple[str, str]]:
    patch = entry.patch
    for key in ("title", "why", "how", "removal"):
        yield key, getattr(patch, key)
    for number, fix in enumerate(patch.fixes):
        yield f"fix[{number}].ref", fix.ref
        yield f"fix[{number}].note", fix.note or ""
        for index, item in enumerate(fix.evidence):
            for part in (item, *item.alternatives):
                yield f"fix[{number}].evidence[{index}]", (part.contains or "") + (part.absent or "")
    for number, avoid in enumerate(patch.avoid):
        yield from ((f"avoid[{number}].{key}", text) for key, text in _of_avoidance(avoid))
    if patch.signal is not None:
        yield "signal.log", patch.signal.log


def _of_avoidance(avoid: Avoid) -> Iterator[tuple[str, str]]:
    yield "when", avoid.when
    yield "cost", avoid.cost
    yield from ((f"args[{index}]", word) for index, word in enumerate(avoid.args))
    yield from ((f"remove_args[{index}]", word) for index, word in enumerate(avoid.remove_args))
    yield from ((f"env.{name}", value) for name, value in avoid.env.items())


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
