"""Texts that a terminal, Rich, a browser or a spreadsheet would obey, and what of a raw stream is obeyed after all."""

from __future__ import annotations

import re
import unicodedata

COMMANDS = {
    "OSC 8, a link": "\x1b]8;;http://evil.example\x1b\\go\x1b]8;;\x1b\\",
    "OSC 52, the clipboard": "\x1b]52;c;cm0gLXJmIC8=\x07",
    "OSC 0, the title": "\x1b]0;owned\x07",
    "CSI": "\x1b[35m\x1b[2J\x1b[6n\x1b[8m",
    "CSI of one character": "\x9b35m\x9b2J",
    "OSC of one character": "\x9d0;owned\x9c",
    "DCS, APC, PM, SOS": '\x1bP$q"p\x1b\\\x1b_x\x1b\\\x1b^x\x1b\\\x1bXx\x1b\\\x90x\x9c',
    "reset, index, charset": "\x1bc\x1bM\x1b(0\x0e\x0f\x84\x85\x8d",
    "bell, backspace, tab, carriage return, form feed": "a\x07\x08\x08b\tc\rd\x0be\x0cf\x7f\x00",
    "line feed": "first\nnote\tforged",
    "bidi": "\u202eevil\u202d\u2066x\u2069\u200e\u200f\u061c\u202a\u202b\u202c\u2067\u2068",
    "of no width": "a\u200bb\u200cc\u200dd\u2060e\ufefff\u00adg\u034fh\u180ei\u2062j",
    "fillers, selectors, tags": "a\u115f\u1160\u3164\uffa0b\ufe0f\ufe00c\U000e0100\U000e0041\U000e007fd",
    "separators and notes": "a\u2028b\u2029c\ufff9d\ufffae\ufffb",
}
"""What they are -> text with characters that must not be shown as they are."""

MARKUP = "[bold red]x[/bold red] [link=http://evil.example]y[/link] [/] [@click=app.bell]z[/] :skull: :warning:"
"""What Rich would obey. It is printable, and must be there to the letter."""

WIDE = "\u5bbd\u4f53 \uff37\uff49\uff44\uff45 \U0001f480 a\u0301"
"""Honest text that must stay as it is: wide characters, a skull, and an accent that stands by itself."""

BYTES = "\udc9b2J\udcff\udc90\udc80"
"""Bytes that are no UTF-8, as Python reads names and arguments: among them the CSI of an 8-bit terminal."""

LONE = "\udc1b-\ud800"
"""Surrogates that are read from no bytes, but can stand in JSON."""

HOSTILE = " ".join((*COMMANDS.values(), MARKUP, WIDE))
"""All of it that UTF-8 can hold."""

ONE_LINE = " ".join(HOSTILE.splitlines())
"""The same without what Python takes for the end of a line."""

NAME = "\x1b]0;o\x07\x1b[35m\u202ex\x9b2J\r\u200b[bold]:skull:"
"""Enough for a name: short, and without a slash."""

_SEEN_ALTHOUGH_FORMAT = re.compile(
    "[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd\U00013430-\U0001343f]"
)
"""Signs of a script that Unicode counts among its format characters."""

_UNSEEN_BY_NAME = re.compile(
    r"VARIATION SELECTOR|^(?:HALFWIDTH )?HANGUL (?:CHOSEONG |JUNGSEONG )?FILLER"
    r"|GRAPHEME JOINER|^TAG |INHERENT A"
)
_OWN = re.compile(
    rb"\x1b\[(?:0|1|2|3[1-46]|1;3[1-46]|39|49|38;5;\d{1,3})m"  # colours and weights that patchctl gives a text
    rb"|\x1b\[\?25[lh]|\r?\x1b\[2K|\r?\x1b\[1A\x1b\[2K"  # the progress bar: the cursor off and on, a line drawn again
)


def must_be_escaped(char: str) -> bool:
    """Whether a character is one that nobody sees or that is obeyed, by Unicode's own words for it."""
    if unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"}:
        return True
    if unicodedata.category(char) == "Cf":
        return _SEEN_ALTHOUGH_FORMAT.match(char) is None
    return _UNSEEN_BY_NAME.search(unicodedata.name(char, "")) is not None


def live(raw: bytes, *, allowed: str = "\n\t") -> list[str]:
    """Return what in a raw stream is obeyed, or seen by nobody; patchctl's own sequences are left out."""
    text = _OWN.sub(b"", raw).decode("utf-8", "surrogateescape")
    return [
        f"{char!r} in {text[max(at - 30, 0) : at + 30]!r}" for at, char in enumerate(text) if _is_live(char, allowed)
    ]


def _is_live(char: str, allowed: str) -> bool:
    return not (char.isascii() and char.isprintable()) and char not in allowed and must_be_escaped(char)
