"""What gives a secret away: the name that it is given to, or its own look. Text in, text out."""

from __future__ import annotations

HIDDEN = "***"

_LONGEST_NAME = 100
_WORDS = (
    r"api[-_]?k(?:e(?:ys?)?)?|keys?|tokens?|secrets?|pass|passwd|passwords?|passphrase|pwd|credentials?|creds?|auth|"
    r"authorization|bearer|cookies?|jwt|pat|sig|signature|hf-t(?:o(?:ke?)?)?|(?:ssh|db|pg|sql|user|root|admin)pass"
)
_ENDINGS = (
    r"tokens?|secrets?|passwords?|passwd|(?:api|auth|access|secret|private|account|shared)keys?|(?-i:[a-z0-9]Keys?)"
)
# The last word of the name, or the last but one ("tokenizer" and "keyfile" are none), or its ending ("hfToken").
_NAME = (
    rf"(?:(?:[A-Za-z0-9_.\-]*[-_.])?(?:{_WORDS})(?:[-_.](?:value|string|id|text|header))?"
    rf"|[A-Za-z0-9_.\-]*(?:{_ENDINGS}))"
)
_COUNTED = (
    r"(?:^-*|[-_])(?:batched|new|output|input|max|min|num|scheduled|queued|spec|speculative|prompt)[-_]tokens$"
    r"|(?:^-*|[-_.])(?:eos|bos|pad|unk|sep|mask|stop|image|video|audio)[-_]tokens?[-_]ids?$"
    r"|^-*sort[-_]key$"
)
_KNOWN = (
    r"\bhf_[A-Za-z0-9]{8,}|\b[srp]k-[A-Za-z0-9_\-]{8,}|\b[srp]k_(?:live|test)_[A-Za-z0-9]{8,}|\bgh[pousr]_[A-Za-z0-9]{8,}|"
    r"\bgithub_pat_[A-Za-z0-9_]{8,}|\bgl[a-z]{2,5}-[A-Za-z0-9_\-]{12,}|\bnvapi-[A-Za-z0-9_\-]{8,}|"
    r"\bdckr_[a-z]{2,4}_[A-Za-z0-9_\-]{8,}|\bnpm_[A-Za-z0-9]{16,}|\bpypi-[A-Za-z0-9_\-]{16,}|\bwhsec_[A-Za-z0-9]{8,}|"
    r"\bAIza[A-Za-z0-9_\-]{16,}|\bya29\.[A-Za-z0-9_\-]{8,}|\bA[KS]IA[A-Z0-9]{12,}|\bxox[abeprs]-[A-Za-z0-9\-]{8,}|"
    r"\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-.]+|-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^-]*"
)
_LOGIN = r"(?<![\w./:@-])[\w.+-]+:(?!//)[^\s:@/\"']+@(?!sha256:)(?=[\w\[])"


def is_secret(name: str) -> bool:
    """Return whether an option or a variable looks as if its value were a secret."""
    import re

    if len(name) > _LONGEST_NAME:  # no option is called so, and the expression takes its time over it
        return name.startswith("-")
    return re.fullmatch(rf"-*{_NAME}", name, re.IGNORECASE) is not None and not _counts(name)


def without_secrets(text: str) -> str:
    """Return a text without ``Bearer value``, ``NAME=value``, ``"name": "value"``, ``user:password@`` and known keys.

    Each is replaced by ``***``; how long the text is does not matter.
    """
    import re

    line = re.sub(r"\b(?:bearer|basic)\s+[^\s\"']+", HIDDEN, text, flags=re.IGNORECASE)
    # Several cookies stand in one header; quotes may be escaped, and a name may stand in brackets.
    line = re.sub(r"\b(cookie\s*:\s?)[^\"']+", rf"\1{HIDDEN}", line, flags=re.IGNORECASE)
    value = re.compile(r"\\\\?[\"'][^\"']*[\"']?|\"[^\"]*\"?|'[^']*'?|[^\s\"',;&}\]]+")
    shown, at = "", 0
    for found in re.finditer(r"(?<![\w.\-])([\w.\-]+)\\?[\"']?\]?\s?[=:]\s?", line):
        if found.start() < at or not is_secret(found[1]):
            continue
        behind = value.match(line, found.end())
        if behind is not None:
            shown += line[at : found.end()] + HIDDEN
            at = behind.end()
    line = shown + line[at:]
    line = re.sub(r"(?<=://)[^/\s@]+@", f"{HIDDEN}@", line)
    line = re.sub(_LOGIN, f"{HIDDEN}@", line)
    return re.sub(_KNOWN, HIDDEN, line)


def _counts(name: str) -> bool:
    """Whether it is a number of tokens or the like, which is no secret and worth seeing."""
    import re

    return re.search(_COUNTED, name, re.IGNORECASE) is not None
