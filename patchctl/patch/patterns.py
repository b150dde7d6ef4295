"""Is a text a sound regular expression? Told from its parts alone: nothing is compiled and nothing is searched.

Both may take without end where the pattern wants it (a class that ignores the case of 65,536 characters, repetitions of
repetitions of nothing), and every verb reads the registry. So the standard library's own parser takes the pattern
apart, which is linear, and the few questions that are left are answered on its tree.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable
from importlib import import_module
from typing import Any

LONGEST_PATTERN = 2000
_PARSER = "re._parser" if sys.version_info >= (3, 11) else "sre_parse"
_NEVER_EMPTY = frozenset({"LITERAL", "NOT_LITERAL", "ANY", "IN", "FAILURE"})
_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})


def pattern_tree(text: str) -> Any:
    """Return a regular expression as the tree of the standard library's parser: pairs of an operator and its argument.

    Raises:
        re.error: it is none.
        Warning: it is one that Python warns of, or will read otherwise in a later version.
        OverflowError, RecursionError: it is too large.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return import_module(_PARSER).parse(text)


def pattern_problem(text: str) -> str | None:
    """Return why it is no regular expression that says something; one that matches nothing at all proves nothing."""
    if len(text) > LONGEST_PATTERN:
        return f"is longer than {LONGEST_PATTERN} characters"
    try:
        tree = pattern_tree(text)
        if _looks_back_unevenly(tree):
            return "is not a sound regular expression: look-behind requires fixed-width pattern"
        return "matches even an empty text" if _fits_nothing(tree) else None
    except (re.error, Warning, OverflowError, RecursionError, MemoryError) as error:
        return f"is not a sound regular expression: {error}"


def parts_of(operator: str, argument: Any) -> tuple[Any, ...]:
    """Return the trees inside one node of a tree; ``operator`` is its name."""
    if operator in _REPEATS:
        return (argument[2],)
    if operator == "BRANCH":
        return tuple(argument[1])
    if operator == "SUBPATTERN":
        return (argument[-1],)
    if operator in {"ASSERT", "ASSERT_NOT"}:
        return (argument[1],)
    if operator == "ATOMIC_GROUP":
        return (argument,)
    if operator == "GROUPREF_EXISTS":
        return tuple(part for part in argument[1:] if part is not None)
    return ()


def _looks_back_unevenly(tree: Iterable[Any]) -> bool:
    """Whether a look-behind has no fixed width, which only the compiler would say."""
    for node, argument in tree:
        operator = str(node)
        if operator in {"ASSERT", "ASSERT_NOT"} and argument[0] < 0:
            least, most = argument[1].getwidth()
            if least != most:
                return True
        if any(_looks_back_unevenly(part) for part in parts_of(operator, argument)):
            return True
    return False


def _fits_nothing(tree: Iterable[Any]) -> bool:
    """Whether it fits the empty text; a reference to a group counts as fitting, as if the group took part."""
    return all(_node_fits_nothing(str(node), argument) for node, argument in tree)


def _node_fits_nothing(operator: str, argument: Any) -> bool:
    if operator in _NEVER_EMPTY:
        return False
    if operator == "AT":
        return str(argument) not in {"AT_BOUNDARY", "AT_NON_BOUNDARY"}
    if operator in _REPEATS and argument[0] == 0:
        return True
    inside = [_fits_nothing(part) for part in parts_of(operator, argument)]
    if operator == "ASSERT_NOT":
        return not inside[0]
    if operator == "GROUPREF_EXISTS" and argument[2] is None:
        return True
    return any(inside) if inside else True
