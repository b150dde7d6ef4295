"""One installed file as Python text: what it defines, and the source of a definition.

Two ways to look. ``looks_to_define`` reads lines as they are laid out and is cheap; it may say yes of code quoted in a
string, so it is good enough to say that evidence *fails* in a symbol, and never for more. ``definitions`` parses the
file, and only what it returns can make evidence hold. Not here: what to look for in a definition.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast
    from typing import TypeAlias

    Definition: TypeAlias = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

SIZE_LIMIT = 4 * 1024 * 1024
"""Bytes. The largest module of a released vLLM has about 350,000; more than this is not worth the parser's memory."""

INDENT = "    "
NESTED = ("body", "orelse", "finalbody", "handlers", "cases")


class SourceError(ValueError):
    """The file gives no answer: too large, undecodable, or not Python as this interpreter parses it."""


class Source:
    """The text of one file, decoded as Python decodes it; the syntax tree is made once, when it is first needed."""

    def __init__(self, data: bytes) -> None:
        """Decode ``data``.

        Raises:
            SourceError: it is too large, or it is not text in the encoding it declares (PEP 263; UTF-8 by default).
        """
        if len(data) > SIZE_LIMIT:
            raise SourceError(f"larger than {SIZE_LIMIT} bytes")
        self.text = _decode(data).replace("\r\n", "\n").replace("\r", "\n")
        self._tree: ast.Module | SourceError | None = None

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
        start, end = 0, len(self.text)
        names = symbol.split(".")
        for level, name in enumerate(names):
            found = self._header(name, INDENT * level, start, end)
            if found is None:
                return False
            start, end = found, self._block_end(INDENT * level, found, end)
        return True

    def missing_part(self, symbol: str) -> str:
        """Return the dotted name up to its first part of which the layout shows no definition; else all of it."""
        names = symbol.split(".")
        prefixes = (".".join(names[:count]) for count in range(1, len(names)))
        return next((prefix for prefix in prefixes if not self.looks_to_define(prefix)), symbol)

    def definitions(self, symbol: str | None) -> tuple[str, ...]:
        """Return the source of every class or function of that dotted name, decorators included, in file order.

        Definitions inside ``if``, ``try``, ``with``, loops and ``match`` count, and so do several of one name. The
        text is whole lines, indented as in the file. None: the whole file.

        Raises:
            SourceError: the file does not parse.
        """
        tree = self._parsed()
        if symbol is None:
            return (self.text,)
        first, *rest = symbol.split(".")
        found = list(_defined_in(tree, first))
        for name in rest:
            found = [inner for outer in found for inner in _defined_in(outer, name)]
        lines = self.text.split("\n")
        spans = sorted(_span(node, lines) for node in found)
        return tuple("\n".join(lines[start - 1 : end]) for start, end in spans)

    def _header(self, name: str, indent: str, start: int, end: int) -> int | None:
        """Return where the name ends in the first line that defines it at this indentation."""
        leads = {"class ": (indent,), "def ": (indent, f"{indent}async ")}
        ends = []
        for keyword, lead in leads.items():
            position = self.text.find(keyword + name, start, end)
            while position >= 0:
                after = position + len(keyword) + len(name)
                line = self.text.rfind("\n", 0, position) + 1
                if self.text[line:position] in lead and self.text[after : after + 1] in tuple("(:[ "):
                    ends.append(after)
                    break
                position = self.text.find(keyword + name, after, end)
        return min(ends, default=None)

    def _block_end(self, indent: str, start: int, end: int) -> int:
        """Return where the first line begins that is not indented more and can begin a statement or a string's end."""
        import re

        dedented = re.compile(rf"\n(?={'[ ]?' * len(indent)}[^\s#)\]}}])").search(self.text, start, end)
        return dedented.start() + 1 if dedented is not None else end

    def _parsed(self) -> ast.Module:
        if self._tree is None:
            self._tree = _parse(self.text)
        if isinstance(self._tree, SourceError):
            raise self._tree
        return self._tree


def _decode(data: bytes) -> str:
    head = data.split(b"\n", 2)[:2]
    encoding = "utf-8-sig"
    try:
        if any(b"coding" in line for line in head):
            import tokenize

            encoding, _ = tokenize.detect_encoding(iter([line + b"\n" for line in head]).__next__)
        return data.decode(encoding)
    except (SyntaxError, LookupError, ValueError) as error:
        raise SourceError(f"cannot be decoded: {error}") from error


def _parse(text: str) -> ast.Module | SourceError:
    import ast
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in somebody else's file are not our news
            return ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        return SourceError(f"cannot be parsed: {str(error) or type(error).__name__}")


def _defined_in(scope: ast.AST, name: str) -> Iterator[Definition]:
    """Yield the definitions of ``name`` in ``scope``: compound statements are entered, other scopes are not."""
    import ast

    pending = [scope]
    while pending:
        node = pending.pop()
        for child in (child for field in NESTED for child in getattr(node, field, ())):
            if not isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                pending.append(child)
            elif child.name == name:
                yield child


def _span(node: Definition, lines: list[str]) -> tuple[int, int]:
    """Return the first and last line (1-based) of a definition."""
    first = node.lineno
    if node.decorator_list:
        first = node.decorator_list[0].lineno
        while not lines[first - 1].lstrip().startswith("@"):  # "@(" may stand lines above its expression
            first -= 1
    return first, node.end_lineno or first
