"""Whether source may be given to this interpreter's parser, which has no bound of its own on some shapes.

CPython 3.10 makes the tree of ``a.b().b()...`` by recursion without a limit: 120,000 levels, in 240 kB of text, end
the process. Every version joins the parts of ``import a.b.b...`` one by one, which takes quadratic time. A level of a
tree costs at least one character of its expression, so a bound on the length of expressions bounds both.
Not here: brackets and blocks, which the parser itself refuses beyond 200 and 100 levels.
"""

from __future__ import annotations

import re

from patchctl.evidence.tokens import CLOSING, OPENING, LexicalError, token_end

LONGEST_CHAIN = 8192
"""Characters of one expression, with those of its longest brackets. The longest in a released vLLM has 1,852, in the
standard library's tests 3,896; CPython 3.10 dies of 120,000 on a stack of 8 MB."""

_STRETCH = re.compile(r"(?:[ \t\f]+|\\\n|#[^\n]*)*([^()\[\]{},;\n\"'#\\ \t\f]*)")
_BLANKS = frozenset(" \t\f#\\")
_QUOTES = frozenset("\"'")
_PREFIX = frozenset("rRbBfFtTuU")
_FORMATTED = frozenset("fFtT")
_LONGEST_PREFIX = 2


def chains_too_long(text: str) -> bool:
    """Return whether an expression in ``text`` is longer than a parser should see, or a string literal never ends.

    Blanks, comments and plain string literals do not count; a formatted one counts in full, for its fields hold
    expressions.
    """
    try:
        return _longest_chain(text) > LONGEST_CHAIN
    except (LexicalError, RecursionError):
        return True


class _Scan:
    """What is being read inside the innermost open bracket.

    Attributes:
        length: of the expression itself, so far.
        inner: the longest in its own brackets.
        before: the longest of those that ended before it in the same bracket.
    """

    __slots__ = ("before", "inner", "length")

    def __init__(self) -> None:
        self.length = self.inner = self.before = 0

    def end(self) -> int:
        """End the expression; return the longest in this bracket."""
        self.before = max(self.before, self.length + self.inner)
        self.length = self.inner = 0
        return self.before


def _longest_chain(text: str) -> int:
    outer: list[_Scan] = []
    scan = _Scan()
    position = 0
    while position < len(text):
        start, end = _stretch(text, position)
        character = text[end : end + 1]
        if character in _QUOTES:
            begin = _prefix_start(text, start, end)
            position = token_end(text, begin)
            scan.length += begin - start if _FORMATTED.isdisjoint(text[begin:end]) else position - start
            continue
        scan.length += end - start
        position = end + 1
        if character in _BLANKS:
            # a backslash that continues no line is passed over: no Python
            position -= end > start
        elif character in ",;" or (character == "\n" and not outer):
            scan.end()
        elif character in OPENING:
            outer.append(scan)
            scan = _Scan()
        elif character in CLOSING and outer:
            inner, scan = scan.end(), outer.pop()
            scan.inner, scan.length = max(scan.inner, inner), scan.length + 1
    # Where brackets are still open it is no Python, and the parser stops before it makes a tree.
    return scan.end()


def _stretch(text: str, position: int) -> tuple[int, int]:
    """Pass over blanks and comments; return where the characters behind them begin, and end at one that decides."""
    found = _STRETCH.match(text, position)
    return found.span(1) if found is not None else (position, position)


def _prefix_start(text: str, position: int, end: int) -> int:
    """Return where the prefix of the string literal begins whose quotes stand at ``end``; ``end`` without one."""
    start = end
    while start > position and text[start - 1] in _PREFIX:
        start -= 1
    is_word = start > position and (text[start - 1].isalnum() or text[start - 1] == "_" or text[start - 1] > "\x7f")
    return end if is_word or end - start > _LONGEST_PREFIX else start
