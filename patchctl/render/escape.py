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
