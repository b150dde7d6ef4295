"""Command lines that may be shown: the values of options and variables that look like secrets are taken out.

Only what is shown is changed; nobody's process is touched. Too much may be taken out, too little must not be.
"""

from __future__ import annotations

from collections.abc import Sequence

HIDDEN = "***"
LONGEST = 200
"""Characters of a command line that are kept."""

_LONGEST_NAME = 100
_LONGEST_LINE = 2 * LONGEST

_WORDS = (
    r"api[-_]?keys?|keys?|tokens?|secrets?|pass|passwd|passwords?|passphrase|pwd|credentials?|creds?|auth|"
    r"authorization|bearer|cookies?|jwt|pat|sig|signature"
)
_ENDINGS = r"keys?|tokens?|secrets?|passwords?|passwd"
# The last word of the name, or the last but one ("tokenizer" and "keyfile" are none), or its ending ("hfToken").
_NAME = (
    rf"(?:(?:[A-Za-z0-9_.\-]*[-_.])?(?:{_WORDS})(?:[-_.](?:value|string|id|text|header))?"
    rf"|[A-Za-z0-9_.\-]*(?:{_ENDINGS}))"
)
_COUNTED = r"(?:^-*|[-_])(?:batched|new|output|input|max|min|num|scheduled|queued|spec|speculative|prompt)[-_]tokens$"
_KNOWN = (
    r"\bhf_[A-Za-z0-9]{8,}|\bsk-[A-Za-z0-9_\-]{8,}|\bgh[pousr]_[A-Za-z0-9]{8,}|\bAKIA[A-Z0-9]{12,}|"
    r"\bxox[abprs]-[A-Za-z0-9\-]{8,}|\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-.]+"
)


def redacted(arguments: Sequence[str]) -> str:
    """Return a command line on one line, secrets replaced by ``***``, at most :data:`LONGEST` characters.

    Args:
        arguments: as the process has them; one that rewrote them (``setproctitle``) may have all in one.
    """
    shown: list[str] = []
    hiding = False
    for argument in arguments:
        # The value of such an option may have blanks, and there may be several values (vLLM's --api-key).
        if hiding and not argument.startswith("-"):
            shown.append(HIDDEN)
            continue
        hiding = _is_secret(argument)
        name, sign, _ = argument.partition("=")
        if sign and _is_secret(name):
            shown.append(f"{name}={HIDDEN}")
            continue
        shown += _words(argument)
    return _shortened(_without_values(" ".join(shown)[:_LONGEST_LINE]))


def is_secret(name: str) -> bool:
    """Return whether an option or a variable looks as if its value were a secret."""
    return _is_secret(name)


def without_secrets(text: str) -> str:
    """Return a text with what looks like a secret in it replaced by ``***``; its length does not matter."""
    return _without_values(text)


def _words(argument: str) -> list[str]:
    """The words of one argument, without what stands behind an option among them."""
    shown: list[str] = []
    hiding = False
    for word in argument.split():
        if hiding and not word.startswith("-"):
            shown.append(HIDDEN)
            continue
        hiding = word.startswith("-") and _is_secret(word)
        shown.append(word)
    return shown


def _is_secret(word: str) -> bool:
    import re

    if len(word) > _LONGEST_NAME:  # no option is called so, and the expression takes its time over it
        return word.startswith("-")
    return re.fullmatch(rf"-*{_NAME}", word, re.IGNORECASE) is not None and not _counts(word)


def _counts(name: str) -> bool:
    """Whether it is a number of tokens, which is no secret and worth seeing."""
    import re

    return re.search(_COUNTED, name, re.IGNORECASE) is not None


def _without_values(line: str) -> str:
    """Take out ``Bearer value``, ``NAME=value``, ``"name": "value"``, ``user:password@``, and what looks like a key."""
    import re

    line = re.sub(r"\b(?:bearer|basic)\s+[^\s\"']+", HIDDEN, line, flags=re.IGNORECASE)
    # Several cookies stand in one header; quotes may be escaped, and a name may stand in brackets.
    line = re.sub(r"\b(cookie\s*:\s?)[^\"']+", rf"\1{HIDDEN}", line, flags=re.IGNORECASE)
    value = re.compile(r"\\\\?[\"'][^\"']*[\"']?|\"[^\"]*\"?|'[^']*'?|[^\s\"',;&}\]]+")
    shown, at = "", 0
    for found in re.finditer(r"(?<![\w.\-])([\w.\-]+)\\?[\"']?\]?\s?[=:]\s?", line):
        behind = value.match(line, found.end())
        if found.start() >= at and behind is not None and _is_secret(found[1]):
            shown += line[at : found.end()] + HIDDEN
            at = behind.end()
    line = shown + line[at:]
    line = re.sub(r"(?<=://)[^/\s@]+@", f"{HIDDEN}@", line)
    return re.sub(_KNOWN, HIDDEN, line)


def _shortened(line: str) -> str:
    return line if len(line) <= LONGEST else line[: LONGEST - 3] + "..."
