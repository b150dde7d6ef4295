"""Words of a command as a shell reads them, so that a command can be copied whole whatever a path is called."""

from __future__ import annotations

import re
from collections.abc import Iterable

from patchctl.model.characters import unseen

_LONE = "[\ud800-\udc7f\udd00-\udfff]"
"""Surrogates that stand for no byte: no path has them."""


def shell_line(words: Iterable[str]) -> str:
    """Return a command line on one line, in characters that everybody sees."""
    return " ".join(map(shell_word, words))


def shell_word(text: str) -> str:
    r"""Return one word, quoted where it must be.

    What nobody would see is spelt out in bytes, as ``$'\033'`` (POSIX.1-2024, "Dollar-Single-Quotes").
    """
    from shlex import quote  # late: many answers name no command

    if (text.isascii() and text.isprintable()) or unseen().search(text) is None:
        return quote(text)
    plain = re.sub(_LONE, "?", text).replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{unseen().sub(_spelt, plain)}'"


def _spelt(found: re.Match[str]) -> str:
    # A digit behind the escape would be read as a part of it by some shells; three octal digits are never more.
    return "".join(f"\\{byte:03o}" for byte in found[0].encode("utf-8", "surrogateescape"))
