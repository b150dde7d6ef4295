"""TOML bytes as plain values. Where each key stands is told by ``toml_keys``."""

from __future__ import annotations

import sys

from patchctl.documents.values import TOML_DEPTH, DocumentError, Flaw, reason_of, text_of

_MANY_DOTS = 100
_MANY_BRACKETS = 400


def read_toml(data: bytes, *, limit: int, depth: int = TOML_DEPTH) -> dict[str, object]:
    """Return the values of a TOML document.

    Args:
        data: UTF-8.
        limit: bytes that are read at most.
        depth: tables and arrays within each other; a text of few brackets and dots is not looked at so closely, since
            no parser suffers from it.

    Raises:
        DocumentError: it is no such document; the line is where it is wrong.
    """
    text = text_of(data, limit)
    deep = f"has keys or values that nest deeper than {depth}, or a key that is longer than a key can be"
    if _may_be_deep(text) and (line := _too_deep(text, depth)) is not None:
        raise DocumentError(Flaw.TOO_DEEP, deep, line=line)
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise DocumentError(Flaw.TOO_DEEP, deep, line=_too_deep(text, depth)) from None
    except MemoryError:
        raise DocumentError(Flaw.TOO_LARGE, "takes more memory than there is") from None
    except ValueError as error:
        # Not only TOMLDecodeError: an integer of thousands of digits is a plain ValueError.
        line, reason = _where(error, text)
        shown = text.split("\n")[line - 1].strip()[:120] if line is not None else ""
        hint = f"the line reads: {shown}" if shown else None
        raise DocumentError(Flaw.SYNTAX, f"is not valid TOML: {reason}", line=line, hint=hint) from None


def _too_deep(text: str, depth: int) -> int | None:
    from patchctl.documents.toml_keys import locate_keys  # late: the usual document has few brackets

    return locate_keys(text, depth).too_deep


def _may_be_deep(text: str) -> bool:
    """Whether the text can nest so deep that a TOML parser's time or stack suffers: cheap, and never wrongly no.

    The time of a parser grows with the square of a dotted key's parts, which stand on one line; its stack grows with
    the brackets that are open at once.
    """
    if text.count("[") + text.count("{") > _MANY_BRACKETS:
        return True
    return text.count(".") > _MANY_DOTS and any(line.count(".") > _MANY_DOTS for line in text.split("\n"))


def _where(error: ValueError, text: str) -> tuple[int | None, str]:
    """Take the line from a message such as ``Invalid value (at line 3, column 5)``."""
    reason, separator, place = str(error).rpartition(" (at ")
    if not separator:
        return None, reason_of(error)
    reason = reason_of(ValueError(reason))
    if place.startswith("line "):
        return int(place.removeprefix("line ").partition(",")[0]), f"{reason} ({place}"
    return max(1, text.rstrip("\n").count("\n") + 1), f"{reason} (at the end of the file)"
