"""Characters that make a text read otherwise than it is ("Trojan Source", CVE-2021-42574), or that nobody sees.

Each name holds the inside of a character class of :mod:`re`.
"""

from __future__ import annotations

import re
from functools import cache

CONTROL = "\x00-\x1f\x7f-\x9f"
"""C0, DEL and C1: what a terminal obeys."""

BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Controls of the direction of writing."""

INVISIBLE = (
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\u2028\u2029"
)
"""Of no width, variation selectors and tags among them: Unicode's Default_Ignorable_Code_Point without BIDI, and the
annotation marks. At the end: line ends that most programs do not show as such."""

NO_TEXT = "\ud800-\udfff"
"""Lone surrogates: how bytes that are no UTF-8 travel."""


@cache
def unseen() -> re.Pattern[str]:
    """Return the pattern of every character that must not be shown as it is; few runs meet one, and need it."""
    return re.compile(f"[{CONTROL}{BIDI}{INVISIBLE}{NO_TEXT}]")
