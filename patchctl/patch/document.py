"""A TOML file of the registry while it is read: its bytes, its values, and every problem with its place.

What keys there are is not here; see ``table`` and ``shapes``. Whoever reads a file drops the result when problems were
reported.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from patchctl.errors import Problem

if TYPE_CHECKING:
    from patchctl.patch.positions import KeyPositions

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

KeyPath = tuple[str | int, ...]

MAX_BYTES = 256 * 1024
MAX_DEPTH = 16

_MANY_DOTS = 100
_MANY_BRACKETS = 400


class Document:
    """One file being read, with the problems found in it so far.

    Attributes:
        file: its path, as problems show it.
        patch: the entry it describes; None for a file that is no entry.
    """

    def __init__(self, *, file: str, patch: str | None = None) -> None:
        self.file = file
        self.patch = patch
        self._text = ""
        self._positions: KeyPositions | None = None
        self._problems: list[Problem] = []

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems so far, by line."""
        return tuple(sorted(self._problems, key=lambda problem: problem.line or 0))

    @property
    def count(self) -> int:
        """How many problems there are so far."""
        return len(self._problems)

    @property
    def positions(self) -> KeyPositions:
        """Lines of the keys; looked for only when something is to be told about one."""
        if self._positions is None:
            from patchctl.patch.positions import locate_keys

            self._positions = locate_keys(self._text)
        return self._positions

    def report(self, code: str, path: KeyPath, message: str, hint: str | None = None) -> None:
        """Add a problem of the key at ``path``.

        Args:
            code: kebab-case word.
            path: the key.
            message: a sentence that goes on behind the key's name, or a clause that begins with a colon.
            hint: what to do about it.
        """
        from patchctl.patch.positions import key_text

        key = key_text(path)
        self._problems.append(
            Problem(
                code=code,
                message=f"`{key}`{message}" if message.startswith(":") else f"`{key}` {message}",
                hint=hint,
                patch=self.patch,
                path=self.file,
                line=self.positions.line(path),
                key=key,
            )
        )

    def report_line(self, code: str, line: int | None, message: str, hint: str | None = None) -> None:
        """Add a problem of the file itself."""
        self._problems.append(
            Problem(code=code, message=message, hint=hint, patch=self.patch, path=self.file, line=line)
        )

    def read(self, data: bytes) -> Mapping[str, object] | None:
        """Return the values in the file's bytes; None when they are not TOML, which is reported."""
        text = self._decode(data)
        if text is None:
            return None
        self._text = text
        if _may_be_deep(text) and self.positions.too_deep is not None:
            message = f"keys or values nest deeper than {MAX_DEPTH}, or a key is longer than a key can be"
            self.report_line("toml-too-deep", self.positions.too_deep, message)
            return None
        return self._parse(text)

    def _decode(self, data: bytes) -> str | None:
        if len(data) > MAX_BYTES:
            self.report_line("toml-too-large", None, f"the file is larger than {MAX_BYTES} bytes")
            return None
        if data.startswith(b"\xef\xbb\xbf"):
            self.report_line("toml-bom", 1, "the file begins with a byte order mark", "save it as UTF-8 without BOM")
            return None
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            message = f"byte 0x{data[error.start]:02x} is not UTF-8"
            self.report_line("toml-not-utf8", line, message, "save the file as UTF-8")
            return None

    def _parse(self, text: str) -> Mapping[str, object] | None:
        try:
            return tomllib.loads(text)
        except RecursionError:
            self.report_line("toml-too-deep", self.positions.too_deep, "keys or values nest too deep to be read")
        except ValueError as error:
            # Not only TOMLDecodeError: an integer of thousands of digits is a plain ValueError.
            line, reason = _where(str(error), text)
            shown = text.split("\n")[line - 1].strip()[:120] if line is not None else ""
            hint = f"the line reads: {shown}" if shown else None
            self.report_line("toml-syntax", line, f"not valid TOML: {reason}", hint)
        return None


def _may_be_deep(text: str) -> bool:
    """Whether the text can nest so deep that a TOML parser's time or stack suffers: cheap, and never wrongly no.

    The time of a parser grows with the square of a dotted key's parts, which stand on one line; its stack grows with
    the brackets that are open at once.
    """
    if text.count("[") + text.count("{") > _MANY_BRACKETS:
        return True
    return text.count(".") > _MANY_DOTS and any(line.count(".") > _MANY_DOTS for line in text.split("\n"))


def _where(message: str, text: str) -> tuple[int | None, str]:
    """Take the line from a message such as ``Invalid value (at line 3, column 5)``."""
    reason, separator, place = message.rpartition(" (at ")
    if not separator:
        return None, message
    if place.startswith("line "):
        return int(place.removeprefix("line ").partition(",")[0]), f"{reason} ({place}"
    return max(1, text.rstrip("\n").count("\n") + 1), f"{reason} (at the end of the file)"
