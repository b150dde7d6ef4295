"""JSON objects as text: read with caps, and edited inside, so that every other key keeps its place and its spelling."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from patchctl.documents import DocumentError, Member, members_of, read_json

LONGEST = 1 << 17
"""Characters of a value that are read: as many as Linux takes in one argument."""


def read_object(text: str) -> dict[str, object] | None:
    """Return the object that ``text`` is; None: it is none, or broken, or nested too deep to read."""
    try:
        value = read_json(text, limit=LONGEST)
    except DocumentError:
        return None
    return value if isinstance(value, dict) else None


def with_value(text: str, path: Sequence[str], value: object) -> str:
    """Return ``text``, an object, with one value set; whatever else is in it stays letter for letter.

    Args:
        text: what :func:`read_object` reads.
        path: keys, outermost first; what is missing of them is made, what is no object on the way is replaced.
        value: what JSON can say.
    """
    members, end = members_of(text)
    key, *inner = path
    # Of a key that is there twice the last counts; keys may be spelled with dashes.
    member = next((it for it in reversed(members) if same_key(it.key, key)), None)
    if member is None:
        return _inserted(text, members, end, key, _nested(inner, value))
    old = text[member.start : member.end]
    new = with_value(old, inner, value) if inner and old.startswith("{") else dumped(_nested(inner, value), text)
    return text[: member.start] + new + text[member.end :]


def looked_up(value: object, path: Sequence[str]) -> tuple[bool, object]:
    """Return whether ``path`` leads somewhere in a JSON value, and to what."""
    for key in path:
        if not isinstance(value, Mapping):
            return False, None
        name = next((it for it in reversed(list(value)) if same_key(it, key)), None)
        if name is None:
            return False, None
        value = value[name]
    return True, value


def leaves(value: Mapping[str, object], path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], object]]:
    """Return (path, value) of everything in an object that is no object itself, an empty one included."""
    found: list[tuple[tuple[str, ...], object]] = []
    for key, inner in value.items():
        here = (*path, key)
        found += leaves(inner, here) if isinstance(inner, dict) and inner else [(here, inner)]
    return found


def same_key(one: str, other: str) -> bool:
    """Whether two keys are one: vLLM takes dashes for underscores in some options, and none has keys that differ so."""
    return one.replace("-", "_") == other.replace("-", "_")


def dumped(value: object, like: str = "") -> str:
    """Return the value as JSON, with blanks behind colons where ``like`` has them."""
    spaced = re.search(r'"\s*:[ \t]', like) is not None
    return json.dumps(value, separators=(", ", ": ") if spaced else (",", ":"), ensure_ascii=like.isascii())


def _nested(keys: Sequence[str], value: object) -> object:
    for key in reversed(keys):
        value = {key: value}
    return value


def _inserted(text: str, members: Sequence[Member], end: int, key: str, value: object) -> str:
    member = dumped({key: value}, text)[1:-1]
    if not members:
        return f"{text[:end]}{member}{text[end:]}"
    spaced = re.search(r",[ \t\r\n]", text) is not None or re.search(r'"\s*:[ \t]', text) is not None
    last = members[-1].end
    return f"{text[:last]}{', ' if spaced else ','}{member}{text[last:]}"
