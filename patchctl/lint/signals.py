"""Does the log line that an entry promises look like one that its diffs write? Literal text is compared, no more."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from patchctl.lint.values import Finding, ParsedDiff, warning
from patchctl.patch import pattern_tree

SHORTEST = 8
"""Characters of literal text that a pattern should have, for it to be found in no other line of the log."""

_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{[0-9]*,?[0-9]*\}|.", re.DOTALL)
_REPEAT = re.compile(r"\{(?:[0-9]+,?|,)[0-9]*\}")
_JOINED = re.compile(r"""["']\s*\n\s*[fFrRuU]{0,2}["']""")


def signal_findings(pattern: str, parsed: Sequence[ParsedDiff]) -> Iterator[Finding]:
    """Return what is odd about a signal.

    Args:
        pattern: regular expression that the loader let through.
        parsed: the entry's own diffs.
    """
    groups = pattern_tree(pattern).state
    if groups.groups - 1 > len(groups.groupdict):  # the first is the whole match
        message = "the pattern has a group without a name, which tells nobody what it holds"
        yield warning("unnamed-group", message, "signal.log", "write (?P<name>...), or (?:...) for a mere alternative")
    literal = longest_literal(pattern)
    if literal is None:
        return
    if len(literal.strip()) < SHORTEST:
        message = f"the pattern holds no more than {literal.strip()!r} as it stands: other lines of the log may match"
        yield warning("vague-signal", message, "signal.log", "begin with words that no other line has")
        return
    for one in parsed:
        if literal.strip() not in _written(one):
            message = f"{one.given.name} adds no line with {literal.strip()!r}: would its log line match?"
            yield warning("signal-not-written", message, "signal.log", "give the pattern the words of the log line")


def longest_literal(pattern: str) -> str | None:
    """Return the longest run of text that every match of a regular expression holds, as far as is easy to see.

    Groups are passed over, since one may be an alternative. None: the pattern as a whole is one.
    """
    runs, depth = [""], 0
    for piece in _PIECE.findall(pattern):
        depth += (piece == "(") - (piece == ")")
        if piece == "|" and depth == 0:
            return None
        literal = _literal(piece) if depth == 0 else None
        if piece in {"*", "?"} or _REPEAT.fullmatch(piece):
            # What stands before it may not be there at all.
            runs = [*runs[:-1], runs[-1][:-1], ""]
        elif literal is None:
            runs.append("")
        else:
            runs[-1] += literal
    return max(runs, key=len)


def _literal(piece: str) -> str | None:
    """Return the character that a piece of a pattern stands for; None: it is no plain character."""
    if piece.startswith("\\"):
        return None if piece[1:].isalnum() else piece[1:]
    return piece if len(piece) == 1 and piece not in "()[].^$+|" else None


def _written(parsed: ParsedDiff) -> str:
    """Return the text of the added lines, string literals that stand next to each other joined as Python joins them."""
    added = (
        row[1:].decode("utf-8", "replace")
        for file in parsed.files
        for hunk in file.hunks
        for row in hunk.body
        if row.startswith(b"+")
    )
    return _JOINED.sub("", "".join(added))
