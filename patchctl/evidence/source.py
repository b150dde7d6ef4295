"""One installed file as Python text: what it defines, and the source of a definition.

Two ways to look. ``looks_to_define`` reads lines as they are laid out and is cheap; it may say yes of code quoted in a
string, so it is good enough to say that evidence *fails* in a symbol, and never for more. ``definitions`` parses the
file, and only what it returns can make evidence hold. Not here: what to look for in a definition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast
    from typing import TypeAlias

    Definition: TypeAlias = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

SIZE_LIMIT = 1 << 20
"""Bytes. The largest module of a released vLLM has about 350,000; the tree of this much takes up to a gigabyte."""

INDENT = "    "
NESTED = ("body", "orelse", "finalbody", "handlers", "cases")

CHARSETS = (
    r"ascii|utf-8(?:-sig)?|iso8859-\d+|cp\d+|koi8-[rtu]|mac-\w+|kz1048|ptcp154|tis-620|hp-roman8"
    r"|big5(?:hkscs)?|euc_\w+|gb\d+|gbk|hz|iso2022_\w+|johab|shift_jis\w*"
)
"""Encodings a file may declare, by the names Python's codecs give themselves. Others transform rather than encode
(``unicode_escape``, ``idna``, ``zlib``), or were registered by somebody: they give warnings, or take no end."""


class SourceError(ValueError):
    """The file gives no answer: too large, undecodable, or not Python as this interpreter parses it."""


class Source:
    """The text of one file, decoded as Python decodes it, and where its definitions stand.

    It is parsed once, when that is first asked for. The tree, which is many times larger than the text, is not kept.
    """

    def __init__(self, data: bytes) -> None:
        """Decode ``data``.

        Raises:
            SourceError: it is too large, or it is not text in the encoding it declares (PEP 263; UTF-8 by default).
        """
        if len(data) > SIZE_LIMIT:
            raise SourceError(f"larger than {SIZE_LIMIT} bytes")
        self.text = _decode(data).replace("\r\n", "\n").replace("\r", "\n")
        self._module: _Scope | SourceError | None = None

    def defines(self, symbol: str) -> bool:
        """Return whether ``symbol`` is defined here, by layout where that shows it, else by parsing.

        A name of which a part occurs nowhere in the text is not defined; one written with characters that Python
        would normalise to those of ``symbol`` (NFKC) is taken for another.

        Raises:
            SourceError: layout does not show it and the file does not parse.
        """
        if not all(name in self.text for name in symbol.split(".")):
            return False
        return self.looks_to_define(symbol) or bool(self.definitions(symbol))

    def looks_to_define(self, symbol: str) -> bool:
        """Return True when there are lines that read as the nested definitions of ``symbol``, four spaces a level.

        False means only that the layout does not show it: see :meth:`definitions`.
        """
        names = symbol.split(".")
        return self._levels_shown(names) == len(names)

    def missing_part(self, symbol: str) -> str:
        """Return the dotted name up to its first part of which the layout shows no definition; else all of it."""
        names = symbol.split(".")
        return ".".join(names[: self._levels_shown(names) + 1])

    def near(self, symbol: str) -> tuple[str, ...]:
        """Return dotted names defined here that are spelt like ``symbol`` where its first missing part should be.

        Read off the layout, four spaces a level; the nearest first, at most three.
        """
        import difflib

        names = symbol.split(".")
        level, start, end = 0, 0, len(self.text)
        while level < len(names) - 1 and (found := self._header(names[level], INDENT * level, start, end)) is not None:
            start, end, level = found, self._block_end(INDENT * level, found, end), level + 1
        header = rf"(?m)^{INDENT * level}(?:class|def|async def) (\w+)"
        there = dict.fromkeys(re.findall(header, self.text[start:end]))
        alike = difflib.get_close_matches(names[level], list(there), n=3)
        return tuple(".".join((*names[:level], name)) for name in alike)

    def definitions(self, symbol: str | None) -> tuple[str, ...]:
        """Return the source of every class or function of that dotted name, decorators included, in file order.

        Definitions inside ``if``, ``try``, ``with``, loops and ``match`` count, and so do several of one name. The
        text is whole lines, indented as in the file. None: the whole file.

        Raises:
            SourceError: the file does not parse.
        """
        if self._module is None:
            try:
                self._module = _outline(self.text)
            except SourceError as error:
                self._module = error
        if isinstance(self._module, SourceError):
            raise self._module
        if symbol is None:
            return (self.text,)
        scope: _Scope | None = self._module
        for name in symbol.split("."):
            scope = scope.inner.get(name) if scope is not None else None
        return tuple(self.text[start:end] for start, end in sorted(scope.spans if scope is not None else ()))

    def _levels_shown(self, names: list[str]) -> int:
        """Return how many of ``names``, from the first, the layout shows to be defined inside each other."""
        start, end = 0, len(self.text)
        for level, name in enumerate(names):
            found = self._header(name, INDENT * level, start, end)
            if found is None:
                return level
            start, end = found, self._block_end(INDENT * level, found, end)
        return len(names)

    def _header(self, name: str, indent: str, start: int, end: int) -> int | None:
        """Return where the name ends in the first line that defines it at this indentation."""
        leads = (f"{indent}class ", f"{indent}def ", f"{indent}async def ")
        ends = (self._name_end(f"{lead}{name}", start, end) for lead in leads)
        return min((found for found in ends if found is not None), default=None)

    def _name_end(self, head: str, start: int, end: int) -> int | None:
        """Return the end of the first ``head`` that begins a line and is a whole name."""
        position = self.text.find(head, start, end)
        while position >= 0:
            after = position + len(head)
            begins_line = position == 0 or self.text[position - 1] == "\n"
            if begins_line and self.text[after : after + 1] in tuple("(:[ "):
                return after
            position = self.text.find(head, after, end)
        return None

    def _block_end(self, indent: str, start: int, end: int) -> int:
        """Return where the first line begins that is not indented more and can begin a statement or a string's end."""
        dedented = re.compile(rf"\n(?=[ ]{{0,{len(indent)}}}[^\s#)\]}}])").search(self.text, start, end)
        return dedented.start() + 1 if dedented is not None else end


def _decode(data: bytes) -> str:
    head = data.split(b"\n", 2)[:2]
    encoding = "utf-8-sig"
    try:
        if any(b"coding" in line for line in head):
            import codecs
            import tokenize

            encoding, _ = tokenize.detect_encoding(iter([line + b"\n" for line in head]).__next__)
            if not re.fullmatch(CHARSETS, codecs.lookup(encoding).name):
                raise SourceError(f"cannot be decoded: {encoding} is no encoding of Python source")
        return data.decode(encoding)
    except SourceError:
        raise
    except (SyntaxError, LookupError, ValueError) as error:
        raise SourceError(f"cannot be decoded: {error}") from error


def parse_python(text: str) -> ast.Module:
    """Return the syntax tree of a text that nobody vouches for; nothing of it runs.

    Raises:
        SourceError: it is no Python, or may take this interpreter's parser more than it has.
    """
    import ast
    import warnings

    from patchctl.evidence.nesting import LONGEST_CHAIN, chains_too_long

    if chains_too_long(text):
        message = f"an expression is longer than {LONGEST_CHAIN} characters, or a string literal never ends"
        raise SourceError(f"cannot be parsed: {message}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in somebody else's file are not our news
            return ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise SourceError(f"cannot be parsed: {str(error) or type(error).__name__}") from None


class _Scope:
    """What is defined by one name, or the module: all definitions of that name in their scope together.

    Attributes:
        spans: begin and end of the whole lines of each, in characters.
        inner: name -> what is defined by it inside them.
    """

    __slots__ = ("inner", "spans")

    def __init__(self) -> None:
        self.spans: list[tuple[int, int]] = []
        self.inner: dict[str, _Scope] = {}


def _outline(text: str) -> _Scope:
    """Return what a module defines.

    Raises:
        SourceError: it does not parse.
    """
    lines = text.split("\n")
    begins = [0, *accumulate(len(line) + 1 for line in lines)]
    module = _Scope()
    pending: list[tuple[_Scope, ast.AST]] = [(module, parse_python(text))]
    while pending:
        outer, tree = pending.pop()
        for node in _defined_in(tree):
            scope = outer.inner.setdefault(node.name, _Scope())
            first, last = _span(node, lines)
            scope.spans.append((begins[first - 1], begins[last] - 1))
            pending.append((scope, node))
    return module


def _defined_in(scope: ast.AST) -> Iterator[Definition]:
    """Yield the definitions in ``scope``: compound statements are entered, other scopes are not."""
    import ast

    pending = [scope]
    while pending:
        node = pending.pop()
        for child in (child for field in NESTED for child in getattr(node, field, ())):
            if not isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                pending.append(child)
            else:
                yield child


def _span(node: Definition, lines: list[str]) -> tuple[int, int]:
    """Return the first and last line (1-based) of a definition."""
    first = node.lineno
    if node.decorator_list:
        first = node.decorator_list[0].lineno
        while not lines[first - 1].lstrip().startswith("@"):  # "@(" may stand lines above its expression
            first -= 1
    return first, node.end_lineno or first
