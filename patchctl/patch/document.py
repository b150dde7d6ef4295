"""A TOML file of the registry while it is read: its bytes, its values, and every problem with its place.

What keys there are is not here; see ``table`` and ``shapes``. Whoever reads a file drops the result when problems were
reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from patchctl.documents import DocumentError, Flaw, clipped
from patchctl.documents.toml import read_toml
from patchctl.documents.values import TOML_DEPTH, KeyPath
from patchctl.errors import Problem
from patchctl.model.shell import shell_word

if TYPE_CHECKING:
    from patchctl.documents.toml_keys import KeyPositions

MAX_BYTES = 256 * 1024
MAX_DEPTH = TOML_DEPTH

_CODES = {
    Flaw.TOO_LARGE: "toml-too-large",
    Flaw.TOO_DEEP: "toml-too-deep",
    Flaw.BYTE_ORDER_MARK: "toml-bom",
    Flaw.NOT_UTF8: "toml-not-utf8",
}


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
            from patchctl.documents.toml_keys import locate_keys

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
        from patchctl.documents.toml_keys import key_text

        key = clipped(key_text(path))
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
        try:
            values = read_toml(data, limit=MAX_BYTES, depth=MAX_DEPTH)
        except DocumentError as error:
            code = _CODES.get(error.flaw, "toml-syntax")
            hint = error.problem.hint
            if error.flaw is Flaw.BYTE_ORDER_MARK:
                hint = rf"{hint}: sed -i '1s/^\xef\xbb\xbf//' {shell_word(self.file)}"
            self.report_line(code, error.line, f"the file {error.what}", hint)
            return None
        self._text = data.decode("utf-8")
        return values
