"""JSON bytes or text as plain values, and the places of an object's members for those who edit text.

The answers are Python's; the caps are ours. ``json`` is imported late: the usual ``status`` needs none.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from patchctl.documents.nesting import depth_of, opened
from patchctl.documents.values import LONGEST_NUMBER, DocumentError, Flaw, reason_of, text_of

if TYPE_CHECKING:
    from json import JSONDecoder

DEPTH = 64
"""Objects and lists within each other, where a caller has no reason to say otherwise."""

_MOST_OPENED = 1 << 20
"""Lists and objects, which take thirty times the memory of their text."""

_BLANKS = re.compile(r"[ \t\r\n]*")
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""Half of a character beyond U+FFFF; what stands alone is no character."""


class Member(NamedTuple):
    """One member of an object in its text: the key, and where its value stands."""

    key: str
    start: int
    end: int


def read_json(data: bytes | str, *, limit: int, depth: int = DEPTH, strict: bool = False) -> object:
    """Return the value of a JSON document.

    Args:
        data: UTF-8, or text.
        limit: bytes, or characters, that are read at most.
        depth: objects and lists within each other at most.
        strict: of a document whose readers must all believe the same: refuse a key that stands twice, numbers that are
            not finite, and text that no file system and no UTF-8 could hold. Else the last of two keys counts, as
            everywhere.

    Raises:
        DocumentError: it is no such document.
    """
    text = text_of(data, limit)
    brackets = opened(data)
    if brackets > _MOST_OPENED:
        raise DocumentError(Flaw.TOO_LARGE, f"has more than {_MOST_OPENED} lists and objects")
    if brackets > depth and depth_of(data) > depth:
        raise DocumentError(Flaw.TOO_DEEP, f"is nested too deeply: more than {depth} levels")
    try:
        value: object = _decoder(strict).decode(text)
        if strict and _HALF.search(text) is not None:
            _refuse_halves(value)
    except RecursionError:
        raise DocumentError(Flaw.TOO_DEEP, "is nested too deeply") from None
    except MemoryError:
        raise DocumentError(Flaw.TOO_LARGE, "takes more memory than there is") from None
    except ValueError as error:
        line = getattr(error, "lineno", None)
        raise DocumentError(Flaw.SYNTAX, f"is not readable as JSON ({reason_of(error)})", line=line) from None
    return value


def members_of(text: str) -> tuple[list[Member], int]:
    """Return the members of the object that begins ``text``, and where its closing bracket stands.

    Args:
        text: what :func:`read_json` takes for an object.
    """
    decoder = _decoder(strict=False)
    at = _blank(text, _blank(text, 0) + 1)
    found: list[Member] = []
    while text[at] != "}":
        key, at = decoder.raw_decode(text, at)
        begin = _blank(text, _blank(text, at) + 1)
        at = decoder.raw_decode(text, begin)[1]
        found.append(Member(key=key, start=begin, end=at))
        at = _blank(text, at)
        if text[at] == ",":
            at = _blank(text, at + 1)
    return found, at


def _blank(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found is not None else at


@lru_cache(maxsize=2)
def _decoder(strict: bool) -> JSONDecoder:
    """Made once: a log has a document in every line."""
    import json

    if not strict:
        return json.JSONDecoder(parse_int=_integer)
    return json.JSONDecoder(
        parse_int=_integer, parse_float=_finite, parse_constant=_no_constant, object_pairs_hook=_unique
    )


def _integer(digits: str) -> int:
    if len(digits) > LONGEST_NUMBER:
        raise ValueError(f"a number has more than {LONGEST_NUMBER} digits")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if value in {float("inf"), float("-inf")}:
        raise ValueError("a number is too large")
    return value


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON number")


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return value


def _refuse_halves(value: object) -> None:
    """Bytes of a name that are no UTF-8 are kept as halves too (PEP 383); those can be written as they were."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            waiting += [*item, *item.values()]
        elif isinstance(item, list):
            waiting += item
        elif isinstance(item, str):
            try:
                item.encode("utf-8", "surrogateescape")
            except UnicodeEncodeError:
                raise ValueError("a text has half a character") from None
