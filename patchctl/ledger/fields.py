"""Typed reading of one JSON document that nobody vouches for; an error names the place (``receipts[2].revision``).

Which fields a ledger has is not here.
"""

from __future__ import annotations

from patchctl.documents import DocumentError, Flaw, clipped, read_json
from patchctl.errors import LedgerError
from patchctl.model.layout import LEDGER_PATH

RANGE = 1 << 63
TIMES = RANGE * 1_000_000_000
"""Nanoseconds; file systems keep times as 64 bits of seconds, far beyond 2262 where 64 bits of nanoseconds end."""


def damaged(where: str, what: str) -> LedgerError:
    """Return the error for a ledger that cannot be believed; ``where`` is a key path, ``what`` the complaint."""
    return LedgerError(
        "damaged-ledger",
        f"{LEDGER_PATH} cannot be used: {where} {what}",
        hint="restore the file from a backup; without one move it away: patchctl adopt records again what is in the"
        " files, but not the holds",
        path=LEDGER_PATH,
        key=where,
    )


def parse_json(data: bytes, limit: int) -> object:
    """Return the JSON value in ``data``; raises LedgerError for anything else, and for more than ``limit`` bytes.

    Duplicate keys are refused because two readers could believe different ones.
    """
    try:
        return read_json(data, limit=limit, strict=True)
    except DocumentError as error:
        # Where bytes are counted it is the file that is meant, else what it says.
        raise damaged("the file" if error.flaw is Flaw.TOO_LARGE else "the document", error.what) from None


class Fields:
    """One JSON object: each key is taken with its type, and :meth:`close` refuses those that nobody took."""

    __slots__ = ("_rest", "where")

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise damaged(where or "the document", "is not an object")
        self._rest: dict[str, object] = dict(value)
        self.where = where

    def at(self, key: str) -> str:
        """Return the key path of ``key``."""
        return f"{self.where}.{clipped(key)}" if self.where else clipped(key)

    def has(self, key: str) -> bool:
        """Return whether ``key`` was given and not taken yet."""
        return key in self._rest

    def take(self, key: str) -> object:
        """Return the value of ``key`` whatever its type."""
        if key not in self._rest:
            raise damaged(self.at(key), "is missing")
        return self._rest.pop(key)

    def text(self, key: str) -> str:
        """Return a string."""
        return text(self.take(key), self.at(key))

    def optional_text(self, key: str) -> str | None:
        """Return a string or None for null."""
        value = self.take(key)
        return None if value is None else text(value, self.at(key))

    def number(self, key: str, *, least: int = 0, below: int = RANGE) -> int:
        """Return an integer in ``least <= n < below``; true and false are none."""
        value = self.take(key)
        if type(value) is not int or not least <= value < below:
            raise damaged(self.at(key), f"is not an integer from {least} to {below - 1}")
        return value

    def optional_number(self, key: str, *, least: int = 0, below: int = RANGE) -> int | None:
        """Return an integer in the range or None for null."""
        if key in self._rest and self._rest[key] is None:
            return self._rest.pop(key)  # type: ignore[return-value]
        return self.number(key, least=least, below=below)

    def flag(self, key: str) -> bool:
        """Return true or false."""
        value = self.take(key)
        if not isinstance(value, bool):
            raise damaged(self.at(key), "is neither true nor false")
        return value

    def items(self, key: str) -> list[tuple[object, str]]:
        """Return the elements of a list, each with its key path."""
        value = self.take(key)
        if not isinstance(value, list):
            raise damaged(self.at(key), "is not a list")
        return [(item, f"{self.at(key)}[{index}]") for index, item in enumerate(value)]

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of strings."""
        return tuple(text(item, where) for item, where in self.items(key))

    def entries(self, key: str) -> list[tuple[str, object, str]]:
        """Return the entries of an object: key, value, key path."""
        value = self.take(key)
        if not isinstance(value, dict):
            raise damaged(self.at(key), "is not an object")
        return [(name, item, f"{self.at(key)}[{clipped(repr(name))}]") for name, item in value.items()]

    def close(self) -> None:
        """Refuse keys that were not taken: this version would lose them when it writes the ledger again."""
        if self._rest:
            raise damaged(self.at(min(self._rest)), "is not known")


def text(value: object, where: str) -> str:
    """Return ``value`` when it is a string."""
    if not isinstance(value, str):
        raise damaged(where, "is not a string")
    return value
