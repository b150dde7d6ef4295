"""Characters that make a text read otherwise than it is ("Trojan Source", CVE-2021-42574), or that nobody sees."""

from __future__ import annotations

BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Controls of the direction of writing."""

INVISIBLE = "\u00ad\u200b\u200c\u200d\u2028\u2029\u2060\ufeff"
"""Of no width, or line ends that most programs do not show as such."""
