"""Values of any type of patchctl, made from the annotations of its fields: no field that holds text can be left out.

Every text is one that a test gives, numbers are small, and of several forms that a field may have each gets its turn.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from itertools import count
from types import ModuleType
from typing import Any, ForwardRef, Literal, Union, get_args, get_origin

from patchctl.model import EditKind, EvidenceItem, FileEdit

DEEPEST = 24
_RECURSIVE = 10
"""Steps that one value inside another of its kind counts for."""


class Maker:
    """Makes values; ``turn`` chooses among the members of an enumeration and the forms of a union."""

    def __init__(self, text: Callable[[str], str], turn: int = 0) -> None:
        """Take what makes a text for the name of a field, and the turn."""
        self._text, self._turn, self._depth = text, turn, 0
        self._numbers = count(1)

    def make(self, kind: Any, field: str = "") -> Any:
        """Return a value of ``kind``, which is a type or an annotation."""
        origin, inner = get_origin(kind), get_args(kind)
        if origin in {Union, types.UnionType}:
            return self._of_union(inner, field)
        if origin is Literal:
            return inner[self._turn % len(inner)]
        if origin is tuple:
            return self._tuple(inner, field)
        if origin is not None and issubclass(origin, Mapping):
            return {self.make(inner[0], f"{field}.key"): self.make(inner[1], field)} if self._depth < DEEPEST else {}
        if origin is not None and issubclass(origin, frozenset | set):
            return frozenset({self.make(inner[0], field)})
        if origin is not None and issubclass(origin, Sequence):
            return (self.make(inner[0], field),)
        return self._plain(kind, field)

    def _of_union(self, inner: tuple[Any, ...], field: str) -> Any:
        """Return a form that says something; in one of nine turns what need not be there is left out."""
        forms = [form for form in inner if form is not type(None)]
        is_deep = self._depth > DEEPEST and forms[0] not in {str, bytes, int}
        if len(forms) < len(inner) and (is_deep or (self._turn + next(self._numbers)) % 9 == 8):
            return None
        return self.make(forms[self._turn % len(forms)], field)

    def _tuple(self, inner: tuple[Any, ...], field: str) -> Any:
        if len(inner) == 2 and inner[1] is Ellipsis:
            return (self.make(inner[0], field),) if self._depth < DEEPEST else ()
        return tuple(self.make(one, field) for one in inner)

    def _plain(self, kind: Any, field: str) -> Any:
        if kind is str or kind is Any:
            return self._text(field)
        if kind is bytes:
            return self._text(field).encode("utf-8", "surrogatepass")
        if kind is bool:
            return (self._turn + next(self._numbers)) % 2 == 0
        if kind in {int, float}:
            return kind(1 + next(self._numbers) % 7)
        if kind is type(None):
            return None
        if isinstance(kind, type) and issubclass(kind, Enum):
            members = list(kind)
            return members[(self._turn + next(self._numbers)) % len(members)]
        return self._tupled(kind, field)

    def _tupled(self, kind: Any, field: str) -> Any:
        if not (hasattr(kind, "_fields") or is_dataclass(kind)):
            raise TypeError(f"the value of {field} is a {kind}: say here how one is made")
        depth, self._depth = self._depth, self._depth + (_RECURSIVE if kind is EvidenceItem else 1)
        given = {name: self.make(hint, f"{kind.__name__}.{name}") for name, hint in fields_of(kind).items()}
        self._depth = depth
        if kind is FileEdit:
            given |= _sides(given["kind"], self._text("FileEdit.before").encode("utf-8", "surrogatepass"))
        return kind(**given)


def _sides(kind: EditKind, text: bytes) -> dict[str, bytes | None]:
    """The bytes before and after that an edit of that kind must have."""
    before = None if kind is EditKind.ADD else text + b"\nbefore\n"
    return {"before": before, "after": None if kind is EditKind.DELETE else text + b"\nafter\n"}


@cache
def fields_of(kind: Any) -> Mapping[str, Any]:
    """Return the fields of a named tuple or data class with their types."""
    module = importlib.import_module(kind.__module__)
    names = vars(module) | dict(_for_checkers(module))
    annotations = inspect.get_annotations(kind)
    found = [field.name for field in fields(kind)] if is_dataclass(kind) else kind._fields
    return {name: _resolved(annotations[name], names) for name in found}


def _resolved(annotation: Any, names: dict[str, Any]) -> Any:
    while isinstance(annotation, str | ForwardRef):
        text = annotation.__forward_arg__ if isinstance(annotation, ForwardRef) else annotation
        annotation = eval(text, names)  # our own annotation
    return annotation


def _for_checkers(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield the names that a module imports below ``if TYPE_CHECKING``."""
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for inner in node.body:
                if isinstance(inner, ast.ImportFrom) and inner.module is not None:
                    other = importlib.import_module(inner.module)
                    yield from ((alias.asname or alias.name, getattr(other, alias.name)) for alias in inner.names)
