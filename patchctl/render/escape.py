"""The one escaper: nothing untrusted reaches a terminal with a live control character.

Registry text, paths, diffs and messages may hold escape sequences (CSI, OSC 8 and 52), C1 controls, or bidirectional
controls that make text read otherwise than it is ("Trojan Source", CVE-2021-42574). They are shown as escapes.
"""

from __future__ import annotations

import re
from typing import Any

from patchctl.model.characters import unseen

_FIRST_BEYOND_LATIN1 = 0x100
_FIRST_BEYOND_16_BITS = 0x10000
_FIRST_BYTE, _LAST_BYTE = 0xDC80, 0xDCFF
"""Lone surrogates as which Python reads bytes that are no UTF-8: 0xDC00 and the byte."""

_MARKDOWN = {
    **{ord(char): f"\\{char}" for char in "\\`*_[]"},
    **{ord(char): f"&#{ord(char)};" for char in "|~$"},
    ord("&"): "&amp;",
    ord("<"): "&lt;",
    ord(">"): "&gt;",
}
_NOT_IN_CODE = frozenset("`<&|$")


def visible(text: str) -> str:
    """Return ``text`` on one line: every control character, line ends and tabs included, shown as an escape.

    What is escaped already stays as it is.
    """
    if text.isascii() and text.isprintable():
        return text
    return unseen().sub(_escape, text)


def visible_block(text: str) -> str:
    """Return ``text`` with its line ends and tabs, every other control character shown as an escape."""
    return unseen().sub(lambda found: found[0] if found[0] in "\n\t" else _escape(found), text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if _FIRST_BYTE <= code <= _LAST_BYTE:
        code -= 0xDC00
    if code < _FIRST_BEYOND_LATIN1:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < _FIRST_BEYOND_16_BITS else f"\\U{code:08x}"


def json_text(value: Any) -> str:
    """Return a JSON document with a final newline, in printable ASCII and line ends alone: safe on any terminal."""
    import json

    return printable_json(json.dumps(value, indent=2)) + "\n"


def printable_json(text: str) -> str:
    """Return JSON that is ASCII already, as Python writes it, without the one character of that which is a control."""
    return text.replace("\x7f", "\\u007f")


def markup(text: str) -> str:
    """Return ``text`` on one line for HTML, as content or as the value of an attribute in double quotes."""
    import html

    return html.escape(visible(text))


def markup_block(text: str) -> str:
    """Return ``text`` for a preformatted block of HTML, with its line ends and tabs."""
    import html

    return html.escape(visible_block(text))


def markdown(text: str) -> str:
    """Return ``text`` on one line for Markdown, so that it reads as it stands: no HTML, no link, no emphasis, no cell.

    It must not begin a line, where a hyphen or a number would begin a list. What could pass for HTML, and so for the
    markers of a README, is written as entities, which no program takes for the real thing; ``://`` and ``www.`` too,
    of which some renderers make links by themselves.
    """
    escaped = visible(text).translate(_MARKDOWN)
    return escaped.replace("://", "&#58;//").replace("www.", "www&#46;")


def markdown_code(text: str) -> str:
    """Return ``text`` as code in Markdown."""
    plain = visible(text)
    if plain and not any(char in _NOT_IN_CODE for char in plain) and plain == plain.strip():
        return f"`{plain}`"
    return f"<code>{markdown(text)}</code>"


def https_address(text: str | None) -> str | None:
    """Return ``text`` escaped for an attribute, if it is an address that a reader may be sent to; None: it is not."""
    if text is None or not text.startswith("https://") or not text.isascii() or not text.isprintable() or " " in text:
        return None
    return markup(text)
