"""What diffs make of a module: is it Python still, and does it have a meaning for every name that it uses?

Only what is new counts: a module that did not parse before, or used such a name before, is not the diff's fault. What
the names stand for is not judged, and nothing is compiled or run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchctl.evidence.source import Source, SourceError, parse_python

if TYPE_CHECKING:
    import ast

_OF_A_MODULE = frozenset(
    {
        "__annotations__",
        "__builtins__",
        "__cached__",
        "__class__",
        "__debug__",
        "__dict__",
        "__doc__",
        "__file__",
        "__loader__",
        "__module__",
        "__name__",
        "__package__",
        "__path__",
        "__qualname__",
        "__spec__",
    }
)
"""Names that a module or a class body has without giving them."""


def broken_source(before: bytes | None, after: bytes) -> str | None:
    """Return why what a diff makes of a module is no Python any more, as a phrase; None: it is, or was none before.

    Args:
        before: the module without the diff; None: the diff adds it.
        after: with it.
    """
    reason = _unparsable(after)
    return None if reason is None or (before is not None and _unparsable(before) is not None) else reason


def unknown_names(before: bytes | None, after: bytes) -> tuple[str, ...]:
    """Return names that a module uses with a diff in and nowhere gives a meaning to, sorted; not those it used before.

    A name that is bound anywhere in the module counts as known, in whatever scope, and so does every name below an
    ``import *``: what is told is wrong for certain, unless something puts names into the module from outside.

    Args:
        before: the module without the diff; None: the diff adds it.
        after: with it.
    """
    return tuple(sorted(_unbound(after) - _unbound(before or b"")))


def _unparsable(data: bytes) -> str | None:
    try:
        parse_python(Source(data).text)
    except SourceError as error:
        return str(error)
    return None


def _unbound(data: bytes) -> frozenset[str]:
    import ast
    import builtins

    try:
        nodes = list(ast.walk(parse_python(Source(data).text)))
    except SourceError:
        return frozenset()
    used = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    bound = {name for node in nodes for name in _bound_by(node)}
    if "*" in bound:
        return frozenset()
    return frozenset(used - bound - _OF_A_MODULE - set(dir(builtins)))


def _bound_by(node: ast.AST) -> list[str]:
    """Names that a node gives a meaning to."""
    import ast

    if isinstance(node, ast.Name):
        return [] if isinstance(node.ctx, ast.Load) else [node.id]
    if isinstance(node, ast.alias):
        return [(node.asname or node.name).partition(".")[0]]
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, ast.Global | ast.Nonlocal):
        return node.names
    if isinstance(node, ast.MatchMapping):
        return [node.rest] if node.rest is not None else []
    # definitions, handlers, patterns, and the type parameters of newer Pythons
    name = getattr(node, "name", None)
    return [name] if isinstance(name, str) else []
