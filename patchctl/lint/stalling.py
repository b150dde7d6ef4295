"""Patterns that can take for ever: each is tried on texts made from itself, under the deadline that holds in service.

A finding is never a guess: the pattern did stall on such a text. One that stalls only on others is not found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from patchctl.lint.proof import items_of
from patchctl.lint.values import Finding, Search, warning
from patchctl.patch import Patch, parts_of, pattern_tree

_MANY = 20
"""Repetitions from which on a text is made that repeats."""
_COUNTS = (40, 3000)
"""The first for what grows exponentially, the second for what grows with the third power."""
_END = "\x01"
"""Fits next to nothing, so that the matcher comes back to try everything else."""
_MOST_TEXTS = 40
_LONGEST_BODY = 100
_SAMPLES = "a0 _!\n\u00e4"


def stalling_findings(patch: Patch, search: Search) -> Iterator[Finding]:
    """Return a warning for every pattern of an entry that stalls on a text like those it is meant for.

    Args:
        patch: the entry.
        search: the regular expression search, bounded by its own deadline.
    """
    patterns = [(f"{key}.matches", item.matches) for _, key, item in items_of(patch) if item.matches is not None]
    if patch.signal is not None:
        patterns.append(("signal.log", patch.signal.log))
    for key, pattern in patterns:
        if any(search(pattern, text) is None for text in islice(_texts(pattern_tree(pattern), ""), _MOST_TEXTS)):
            yield slow_pattern(key, pattern)


def slow_pattern(key: str, pattern: str) -> Finding:
    """Return the warning for a pattern that gave no answer in time."""
    hint = "write it without repetitions inside repetitions, and without several that fit the same text in a row"
    return warning("slow-pattern", f"the pattern {pattern!r} can take too long, and is unknown then", key, hint)


def _texts(tree: Iterable[Any], before: str) -> Iterator[str]:
    """Yield for every repetition a text that has it many times and then ends otherwise."""
    for node, argument in tree:
        operator = str(node)
        if operator.endswith("_REPEAT") and argument[1] >= _MANY:
            body = _sample(argument[2]) or "a"
            yield from (before + body * count + _END for count in _COUNTS)
        for part in parts_of(operator, argument):
            yield from _texts(part, before)
        before += _sample_of(operator, argument)


def _sample(tree: Iterable[Any]) -> str:
    """Return a text that the tree may fit, repetitions as short as they may be."""
    return "".join(_sample_of(str(node), argument) for node, argument in tree)[:_LONGEST_BODY]


def _sample_of(operator: str, argument: Any) -> str:
    if operator == "LITERAL":
        return chr(int(argument))
    if operator == "ANY":
        return "a"
    if operator == "NOT_LITERAL":
        return next(it for it in _SAMPLES if ord(it) != int(argument))
    if operator == "IN":
        return _member(argument)
    if operator.endswith("_REPEAT"):
        return _sample(argument[2]) * min(max(int(argument[0]), 1), _MANY)
    parts = parts_of(operator, argument) if operator in {"BRANCH", "SUBPATTERN", "ATOMIC_GROUP"} else ()
    return _sample(parts[0]) if parts else ""


def _member(items: Iterable[Any]) -> str:
    """Return a character of a class."""
    pairs = [(str(node), argument) for node, argument in items]
    negated = pairs[0][0] == "NEGATE"
    fitting = [it for it in _SAMPLES if any(_is_in(it, *pair) for pair in pairs) is not negated]
    named = [
        chr(argument if node == "LITERAL" else argument[0]) for node, argument in pairs if node in {"LITERAL", "RANGE"}
    ]
    return str(next(iter(fitting or named), "a"))


def _is_in(character: str, node: str, argument: Any) -> bool:
    if node == "LITERAL":
        return ord(character) == int(argument)
    if node == "RANGE":
        return int(argument[0]) <= ord(character) <= int(argument[1])
    if node != "CATEGORY":
        return False
    called = str(argument)
    kind = called.rpartition("_")[2]
    fits = {"DIGIT": character.isdecimal(), "SPACE": character.isspace()}.get(
        kind, character.isalnum() or character == "_"
    )
    return fits is not ("NOT" in called)
