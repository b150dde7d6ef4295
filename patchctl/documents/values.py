"""What can be wrong with a document, and the text in its bytes."""

from __future__ import annotations

from enum import Enum

from patchctl.errors import PatchctlError

KeyPath = tuple[str | int, ...]
"""Where something stands in a document: keys, and numbers of list items from 0."""

TOML_DEPTH = 16
"""Tables and arrays of TOML within each other, where a caller has no reason to say otherwise."""

LONGEST_NUMBER = 100
"""Digits of an integer. Python takes quadratic time to read one, or refuses it beyond a limit that its user sets."""

LONGEST_REASON = 200
"""Characters of what a parser says: some repeat the whole line, or the whole key."""


class Flaw(Enum):
    """Why a document gives no value."""

    TOO_LARGE = "too-large"
    TOO_DEEP = "too-deep"
    BYTE_ORDER_MARK = "byte-order-mark"
    NOT_UTF8 = "not-utf8"
    SYNTAX = "syntax"
    NO_LIBRARY = "no-library"


class DocumentError(PatchctlError):
    """A document gives no value.

    Attributes:
        flaw: why, for those who compare.
        what: why, for people: a predicate that follows the name of the document, such as ``is nested too deeply``.
        line: 1-based; None: it is not known, or it is the document as a whole.
    """

    def __init__(self, flaw: Flaw, what: str, *, line: int | None = None, hint: str | None = None) -> None:
        where = f" (line {line})" if line is not None else ""
        super().__init__(f"document-{flaw.value}", f"a document {what}{where}", hint=hint, line=line)
        self.flaw = flaw
        self.what = what
        self.line = line


def text_of(data: bytes | str, limit: int) -> str:
    """Return the text of a document.

    Args:
        data: UTF-8 without byte order mark, or text.
        limit: bytes, or characters, that are read at most.

    Raises:
        DocumentError: it is larger, or no such text.
    """
    if len(data) > limit:
        unit = "bytes" if isinstance(data, bytes) else "characters"
        raise DocumentError(Flaw.TOO_LARGE, f"is larger than {limit} {unit}")
    if data[:3] == b"\xef\xbb\xbf" or data[:1] == "\ufeff":
        hint = "save it as UTF-8 without BOM"
        raise DocumentError(Flaw.BYTE_ORDER_MARK, "begins with a byte order mark", line=1, hint=hint)
    if isinstance(data, str):
        return data
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        what = f"is not UTF-8 (byte 0x{data[error.start]:02x})"
        raise DocumentError(Flaw.NOT_UTF8, what, line=line, hint="save the file as UTF-8") from None


def reason_of(error: Exception) -> str:
    """Return what a parser says, on one line and not too long."""
    return clipped(" ".join(str(error)[: 4 * LONGEST_REASON].split())) or type(error).__name__


def clipped(text: str) -> str:
    """Return text of a document as a message may show it: a key or a value of megabytes is none."""
    return text if len(text) <= LONGEST_REASON else f"{text[:LONGEST_REASON]}..."
