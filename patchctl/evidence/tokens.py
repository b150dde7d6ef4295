"""Python source as a list of token texts, the same under every interpreter, and the search of one in another.

White space, line ends, indentation and comments are no tokens, so formatting does not matter. Everything else counts
as it is written: a string literal is one token with its prefix and quotes (``'a'`` is not ``"a"``), and a trailing
comma is a token. A formatted string literal is one token too, replacement fields included, as it was for the standard
tokenizer before PEP 701; nothing inside any string literal, docstrings included, is ever found by a needle.

The standard ``tokenize`` is not used: it splits formatted strings since Python 3.12, and refuses a piece of source
with an unbalanced bracket, which a needle may well be. The rules are those of "Lexical analysis" in the Python
language reference, PEP 701 and PEP 750. Not here: whether the source is valid Python; the caller parses it first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

SKIPPED = re.compile(r"(?:[ \t\f\n]+|\\\n|#[^\n]*)+")
NUMBER = (
    r"0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO](?:_?[0-7])+"
    r"|(?:[0-9](?:_?[0-9])*(?:\.(?:[0-9](?:_?[0-9])*)?)?|\.[0-9](?:_?[0-9])*)(?:[eE][-+]?[0-9](?:_?[0-9])*)?[jJ]?"
)
OPERATOR = r"\*\*=|//=|>>=|<<=|\.\.\.|!=|->|:=|\*\*|//|>>|<<|[-+*/%&|^=<>@]=|[-+*/%&|^~<>=@.,:;()\[\]{}]"
QUOTES = r"\"\"\"|'''|\"|'"
PREFIX = r"[rR][bBfFtT]?|[bBfFtT][rR]?|[uU]"
TOKEN = re.compile(rf"(?P<prefix>{PREFIX})?(?P<quotes>{QUOTES})|(?:{NUMBER})|(?:\w|[^\x00-\x7f])+|(?:{OPERATOR})")
REST = {
    '"': re.compile(r'[^"\\\n]*(?:\\.[^"\\\n]*)*"', re.DOTALL),
    "'": re.compile(r"[^'\\\n]*(?:\\.[^'\\\n]*)*'", re.DOTALL),
    '"""': re.compile(r'[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""', re.DOTALL),
    "'''": re.compile(r"[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''", re.DOTALL),
}
OPENING, CLOSING = "([{", ")]}"


class LexicalError(ValueError):
    """The text cannot be split into Python tokens: a stray character, or a string that never ends."""


def tokens(source: str) -> tuple[str, ...]:
    """Split Python source, whole or a piece of it, into the texts of its tokens.

    Args:
        source: text whose lines end in a line feed alone.

    Raises:
        LexicalError: it is no sequence of Python tokens.
    """
    found = []
    position = _skip(source, 0)
    try:
        while position < len(source):
            end = token_end(source, position)
            found.append(source[position:end])
            position = _skip(source, end)
    except RecursionError as error:
        raise LexicalError("formatted strings are nested too deep") from error
    return tuple(found)


_SKIPPED_AT_MOST = 4
_BETWEEN = "\0"


def may_contain(source: str, needle: Sequence[str]) -> bool:
    """Return False when the tokens of ``needle`` surely do not stand in ``source``; True says nothing.

    The longest of them and all that follow it are looked for as plain text, in strings as well, with nothing but
    white space and comments between them.
    """
    longest = max(range(len(needle)), key=lambda number: len(needle[number]))
    needle = needle[longest:]
    position = source.find(needle[0])
    # A long run of comments would be skipped again from each of its lines: past this much, nothing is said.
    budget = _SKIPPED_AT_MOST * (len(source) + 1)
    while position >= 0 and budget > 0:
        stands, end = _stands_at(source, position, needle)
        if stands:
            return True
        budget -= end - position
        position = source.find(needle[0], position + 1)
    return position >= 0


def contains(haystack: Sequence[str], needle: Sequence[str]) -> bool:
    """Return whether the tokens of ``needle`` stand in ``haystack`` in this order and next to each other.

    Source that parses holds no NUL, so that NUL between tokens makes one search of text of it: linear, where comparing
    the needle with every place is not.
    """
    if any(_BETWEEN in token for token in needle):
        return False
    return _joined(needle) in _joined(haystack)


def _joined(parts: Sequence[str]) -> str:
    return f"{_BETWEEN}{_BETWEEN.join(parts)}{_BETWEEN}"


def _stands_at(source: str, position: int, needle: Sequence[str]) -> tuple[bool, int]:
    """Whether the tokens stand there, and how far the source was read for it."""
    for token in needle:
        if not source.startswith(token, position):
            return False, position
        position = _skip(source, position + len(token))
    return True, position


def _skip(source: str, position: int) -> int:
    skipped = SKIPPED.match(source, position)
    return skipped.end() if skipped is not None else position


def token_end(source: str, position: int) -> int:
    """Return the end of the token that begins at ``position``; raises LexicalError when none does."""
    match = TOKEN.match(source, position)
    if match is None:
        raise LexicalError(f"no Python token: {source[position]!r}")
    quotes = match["quotes"]
    if quotes is None:
        return match.end()
    prefix = (match["prefix"] or "").lower()
    if "f" in prefix or "t" in prefix:
        return _formatted_end(source, match.end(), quotes, raw="r" in prefix)
    rest = REST[quotes].match(source, match.end())
    if rest is None:
        raise LexicalError(f"a string literal never ends: {source[position : position + 20]!r}")
    return rest.end()


def _formatted_end(source: str, position: int, quotes: str, *, raw: bool) -> int:
    """Return the end of a formatted string literal whose literal text goes on at ``position``."""
    while position < len(source):
        if source.startswith(quotes, position):
            return position + len(quotes)
        character = source[position]
        if character == "\n" and len(quotes) == 1:
            break
        if character == "\\":
            position = _escape_end(source, position, raw=raw)
        elif source.startswith(("{{", "}}"), position):
            position += 2
        elif character == "{":
            position = _field_end(source, position + 1, quotes, raw=raw)
        else:
            position += 1
    raise LexicalError("a formatted string literal never ends")


def _escape_end(source: str, position: int, *, raw: bool) -> int:
    r"""Return the end of a backslash and what it takes with it: never a brace, but the braces of ``\N{NAME}``."""
    following = source[position + 1 : position + 3]
    if following == "N{" and not raw:
        closing = source.find("}", position)
        return closing + 1 if closing >= 0 else len(source)
    return position + 1 if following[:1] in ("{", "}") else position + 2


def _field_end(source: str, position: int, quotes: str, *, raw: bool) -> int:
    """Return the end of a replacement field, past its brace; ``position`` is where its expression begins."""
    depth = 0
    while (position := _skip(source, position)) < len(source):
        character = source[position]
        if depth == 0 and character == "}":
            return position + 1
        if depth == 0 and character == ":":
            return _specification_end(source, position + 1, quotes, raw=raw)
        if depth == 0 and character == "!" and not source.startswith("!=", position):
            position += 1
            continue
        depth += (character in OPENING) - (character in CLOSING)
        position = token_end(source, position)
    raise LexicalError("a replacement field never ends")


def _specification_end(source: str, position: int, quotes: str, *, raw: bool) -> int:
    """Return the end of a replacement field whose format specification begins at ``position``."""
    while position < len(source) and not source.startswith(quotes, position):
        character = source[position]
        if character == "}":
            return position + 1
        if character == "{":
            position = _field_end(source, position + 1, quotes, raw=raw)
        else:
            position = _escape_end(source, position, raw=raw) if character == "\\" else position + 1
    raise LexicalError("a format specification never ends")
