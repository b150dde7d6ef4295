"""Typed getters over one table of a registry file, which report what is wrong and where.

A getter that finds a problem reports it and returns an empty value. What the keys mean is not here; see ``parse``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import TypeVar

from patchctl.documents.values import KeyPath
from patchctl.patch.document import Document
from patchctl.patch.shapes import SHAPES, Shape
from patchctl.patch.texts import distribution_hint, is_slug, normalised_name

Word = TypeVar("Word", bound=Enum)
Value = TypeVar("Value")


class Table:
    """One table of a document. Keys that its shape does not know are reported when it is opened.

    Attributes:
        document: where problems go.
        path: of the table itself.
        shape: the keys it may have.
    """

    def __init__(self, document: Document, path: KeyPath, values: Mapping[str, object], shape: Shape) -> None:
        self.document = document
        self.path = path
        self.shape = shape
        self._values = values
        for key in values:
            if key not in shape.examples:
                document.report("unknown-key", (*path, key), "is not a known key", _unknown_key_hint(key, shape))

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def report(self, code: str, key: str, message: str, hint: str | None = None) -> None:
        """Add a problem of one of the table's keys."""
        self.document.report(code, (*self.path, key), message, hint or self.example(key))

    def example(self, key: str) -> str:
        """How the key is written, as a hint."""
        return f"write it as: {self.shape.examples[key]}"

    def require(self, keys: Iterable[str]) -> None:
        """Report those of ``keys`` that are not there."""
        for key in keys:
            if key not in self:
                self.report("missing-key", key, "is missing")

    def text(self, key: str, *, one_line: bool = False) -> str:
        """Return a string that is not blank; empty when the key is absent."""
        value = self._value(key, str, "a string")
        if value is None:
            return ""
        if not value.strip():
            self.report("empty-value", key, "must not be empty")
        elif one_line and value.splitlines() != [value]:
            self.report("not-one-line", key, "must stand on one line")
        return value

    def checked(
        self,
        key: str,
        code: str,
        check: Callable[[str], str | None],
        *,
        one_line: bool = True,
        hint: Callable[[str], str] | None = None,
    ) -> str:
        """Return a string.

        Args:
            key: of it.
            code: of the problem.
            check: gives what is wrong with it, as the end of a sentence, or None.
            one_line: it has to be one.
            hint: gives what to do about a wrong one; None: how the key is written tells it.
        """
        value = self.text(key, one_line=one_line)
        problem = check(value) if value.strip() else None
        if problem is not None:
            self.report(code, key, problem, None if hint is None else hint(value))
        return value

    def distribution(self, check: Callable[[str], str | None]) -> str:
        """Return the normalised name of a distribution; empty when there is none."""
        return normalised_name(self.checked("distribution", "bad-distribution", check, hint=distribution_hint))

    def boolean(self, key: str, *, default: bool) -> bool:
        """Return true or false."""
        value = self._value(key, bool, "true or false")
        return default if value is None else value

    def integer(self, key: str, *, default: int, least: int, most: int = 1_000_000) -> int:
        """Return a whole number from ``least`` to ``most``."""
        value = self._value(key, int, "a whole number")
        if value is None:
            return default
        if not least <= value <= most:
            self.report("out-of-range", key, f"must be from {least} to {most}")
        return value

    def word(self, key: str, words: type[Word]) -> Word | None:
        """Return the member of ``words`` that the string names; None when it names none."""
        value = self._value(key, str, "a string")
        known = [str(member.value) for member in words]
        if value is None:
            return None
        if value not in known:
            near = _nearest(value, known)
            hint = f"did you mean `{near}`?" if near is not None else None
            self.report("unknown-value", key, f"must be one of {', '.join(known)}", hint)
            return None
        return words(value)

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of strings; empty when the key is absent."""
        found = []
        for index, item in enumerate(self._value(key, list, "a list of strings") or ()):
            if isinstance(item, str):
                found.append(item)
            else:
                self.report_item("wrong-type", key, index, f"must be a string, not {_type_name(item)}")
        return tuple(found)

    def slugs(self, key: str) -> tuple[str, ...]:
        """Return a list of entry ids, each once."""
        ids = self.texts(key)
        seen: set[str] = set()
        for index, item in enumerate(ids):
            if not is_slug(item):
                self.report_item("not-a-slug", key, index, f"is not an entry's id: {item!r}")
            elif item in seen:
                self.report_item("duplicate-value", key, index, f"names {item} again")
            seen.add(item)
        return ids

    def report_item(self, code: str, key: str, index: int, message: str, hint: str | None = None) -> None:
        """Add a problem of one item of a list."""
        self.document.report(code, (*self.path, key, index), message, hint or self.example(key))

    def table(self, key: str, shape: Shape) -> Table | None:
        """Return the table under ``key``; None when the key is absent."""
        value: dict[str, object] | None = self._value(key, dict, "a table")
        return None if value is None else Table(self.document, (*self.path, key), value, shape)

    def tables(self, key: str, shape: Shape) -> tuple[Table, ...]:
        """Return the tables of an array of tables; empty when the key is absent."""
        found = []
        for index, item in enumerate(self._value(key, list, "an array of tables") or ()):
            if isinstance(item, dict):
                found.append(Table(self.document, (*self.path, key, index), item, shape))
            else:
                self.report_item("wrong-type", key, index, f"must be a table, not {_type_name(item)}")
        return tuple(found)

    def strings(self, key: str) -> dict[str, str]:
        """Return a table whose keys are free and whose values are strings; empty when the key is absent."""
        found = {}
        items: dict[str, object] = self._value(key, dict, "a table of strings") or {}
        for name, item in items.items():
            if isinstance(item, str):
                found[name] = item
            else:
                message = f"must be a string, not {_type_name(item)}"
                self.document.report("wrong-type", (*self.path, key, name), message, self.example(key))
        return found

    def raw(self, key: str) -> object:
        """Return the value as TOML has it; None when the key is absent."""
        return self._values.get(key)

    def _value(self, key: str, kind: type[Value], expected: str) -> Value | None:
        value = self._values.get(key)
        if value is None:
            return None
        # bool is an int to Python, but not to TOML.
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            self.report("wrong-type", key, f"must be {expected}, not {_type_name(value)}")
            return None
        return value


def _type_name(value: object) -> str:
    if isinstance(value, bool):
        return "a boolean"
    names = {str: "a string", int: "an integer", float: "a float", list: "an array", dict: "a table"}
    return next((name for kind, name in names.items() if isinstance(value, kind)), "a date or time")


def _unknown_key_hint(key: str, shape: Shape) -> str:
    homes = [other.name for other in SHAPES if key in other.examples and shape in SHAPES]
    nearest = _nearest(key, list(shape.examples))
    if homes:
        here = f"; the nearest key here is `{nearest}`" if nearest is not None else ""
        return f"`{key}` belongs in {' or '.join(homes)}{here}"
    meant = f"did you mean `{nearest}`? " if nearest is not None else ""
    return f"{meant}Known in {shape.name}: {', '.join(shape.examples)}"


def _nearest(word: str, known: list[str]) -> str | None:
    """The word that is nearly meant; None: nothing is near, and a suggestion would mislead."""
    import difflib

    # The comparison is quadratic, and a value may be as long as the file.
    near = difflib.get_close_matches(word[:100], known, n=1)
    return near[0] if near else None
