"""The one escaper: nothing untrusted reaches a terminal with a live control character.

Registry text, paths, diffs and messages may hold escape sequences (CSI, OSC 8 and 52), C1 controls, or bidirectional
controls that make text read otherwise than it is ("Trojan Source", CVE-2021-42574). They are shown as escapes.
"""

from __future__ import annotations

from patchctl.model.characters import BIDI, INVISIBLE

_FIRST_BEYOND_LATIN1 = 0x100


def _table(keep: str) -> dict[int, str]:
    codes = [*range(0x20), *range(0x7F, 0xA0), *map(ord, BIDI + INVISIBLE)]
    return {code: _escape(code) for code in codes if chr(code) not in keep}


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < _FIRST_BEYOND_LATIN1 else f"\\u{code:04x}"


_LINE = _table(keep="")
_BLOCK = _table(keep="\n\t")

_MARKDOWN = {
    **{ord(char): f"\\{char}" for char in "\\`*_[]"},
    **{ord(char): f"&#{ord(char)};" for char in "|~$"},
    ord("&"): "&amp;",
    ord("<"): "&lt;",
    ord(">"): "&gt;",
}
_NOT_IN_CODE = frozenset("`<>&|$")


def visible(text: str) -> str:
    """Return ``text`` on one line: every control character, line ends and tabs included, shown as an escape."""
    return _surrogates(text.translate(_LINE))


def visible_block(text: str) -> str:
    """Return ``text`` with its line ends and tabs, every other control character shown as an escape."""
    return _surrogates(text.translate(_BLOCK))


def _surrogates(text: str) -> str:
    """Bytes that were no UTF-8 travel as lone surrogates; show them, since no stream could encode them."""
    if text.isascii():
        return text
    return "".join(f"\\x{ord(c) - 0xDC00:02x}" if "\udc80" <= c <= "\udcff" else _lone(c) for c in text)


def _lone(char: str) -> str:
    return f"\\u{ord(char):04x}" if "\ud800" <= char <= "\udfff" else char


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
