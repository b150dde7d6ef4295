"""What gives a secret away: the name that it is given to, or its own look. Text in, text out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re

HIDDEN = "***"

_LONGEST_NAME = 100
_WORDS = (
    r"api[-_]?k(?:e(?:ys?)?)?|keys?|tokens?|secrets?|pass|passwd|passwords?|passphrase|pwd|credentials?|creds?|auth|"
    r"authorization|bearer|requirepass|masterauth|passcode|pw|userpwd|cookies?|jwt|pat|sig|signature|hf-t(?:o(?:ke?)?)?|(?:ssh|db|pg|sql|user|root|admin)pass"
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
    r"(?:^-*|[-_])(?:batched|new|output|input|max|min|num|scheduled|queued|spec|speculative|prompt|special|completion"
    r"|alignment|size|total|cached|draft)[-_]tokens$"
    r"|(?:^-*|[-_.])(?:eos|bos|pad|unk|sep|mask|stop|start|end|image|video|audio)[-_]tokens?[-_]ids?$"
    r"|(?:^-*|[-_])(?:per[-_]token|custom[-_]post[-_]pass|allow[-_]credentials)$"
    r"|^-*sort[-_]key$"
)
"""Of vLLM's own names those that sound like secrets and are none: numbers of tokens, a switch, a pass of a compiler."""
_GITLAB = r"gl(?:pat|oas|dt|rtr?|cbt|ptt|ft|imt|agent|wt|soat|ffct)"
# Long enough, or with a capital or a digit, where words begin likewise: --hf_overrides, hf_transfer, pplx-7b-online.
_KNOWN = (
    r"\bhf_(?:(?=[a-z]*[A-Z0-9])[A-Za-z0-9]{8,}|[a-z]{20,})|\bapi_org_[A-Za-z0-9]{16,}|\b[srp]k-[A-Za-z0-9_\-]{8,}|"
    r"\b[srp]k_(?:live|test)_[A-Za-z0-9]{8,}|\bgh[pousr]_[A-Za-z0-9]{8,}|\bgithub_pat_[A-Za-z0-9_]{8,}|"
    rf"\b{_GITLAB}-[A-Za-z0-9_\-.]{{12,}}|\bnvapi-[A-Za-z0-9_\-]{{8,}}|\bdckr_[a-z]{{2,4}}_[A-Za-z0-9_\-]{{8,}}|"
    r"\bnpm_[A-Za-z0-9]{16,}|\bpypi-[A-Za-z0-9_\-]{16,}|\bwhsec_[A-Za-z0-9]{8,}|\bAIza[A-Za-z0-9_\-]{16,}|"
    r"\bya29\.[A-Za-z0-9_\-]{8,}|\bGOCSPX-[A-Za-z0-9_\-]{16,}|\bA[KS]IA[A-Z0-9]{12,}|\bLTAI[A-Za-z0-9]{12,}|"
    r"\bxox[abeoprs]-[A-Za-z0-9\-]{8,}|\bxapp-\d-[A-Za-z0-9\-]{8,}|(?<=hooks\.slack\.com/services/)[A-Za-z0-9/]+|"
    r"\b(?:gsk|r8)_[A-Za-z0-9]{24,}|\b(?:pplx|xai)-[A-Za-z0-9]{32,}|\btvly-[A-Za-z0-9\-]{16,}|\bhv[bs]\.[\w\-]{20,}|"
    r"\bSG\.[\w\-]{16,}\.[\w\-]{16,}|\bdo[opr]_v1_[a-f0-9]{32,}|\bdapi[a-f0-9]{32}|\bglsa_\w{24,}|"
    r"\blsv2_(?:pt|sk)_\w{16,}|\bAGE-SECRET-KEY-1[A-Z0-9]{16,}|"
    r"\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-.]+|-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^-]*"
)
_DEEPEST = 3
"""Times that percent signs are taken for escapes: the value of a query may be a query."""

_HEADER = r"([\"'])((?:[\w\-]*-)?authorization\s?:\s?)(?:(?!\1).)*"
_VALUE = r"\\\\?[\"'][^\"']*[\"']?|\"[^\"]*\"?|'[^']*'?|[^\s\"',;&}\]]+"
_SCHEME = (  # of an Authorization header outside quotes: one word, or two, or a list of parameters behind the first
    r"(?:\\?\s)*(?!\*\*\*)[^\s\"',;&}\]\\]+(?:\\?\s)+(?!-|\w+://)"
    r"(?:[^\s\"',]|\"[^\"]*\")+(?:,\s?(?:[^\s\"',]|\"[^\"]*\")+)*"
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

    Each is replaced by ``***``, also where a URL has it in percent signs (``api%5Fkey=value``); how long the text is
    does not matter.
    """
    import re

    line = _without_plain(text)
    return line if "%" not in line else re.sub(r"[^\s\"'?&#;,]+", _without_disguised, line)


def _without_plain(text: str) -> str:
    import re

    # A header that stands in quotes is hidden to its end: a scheme and its parameters (Digest) are several words.
    line = re.sub(_HEADER, rf"\1\2{HIDDEN}", text, flags=re.IGNORECASE)
    line = re.sub(r"\b(?:bearer\s+|basic\s+(?!-))[^\s\"']+", HIDDEN, line, flags=re.IGNORECASE)
    # Several cookies stand in one header; quotes may be escaped, and a name may stand in brackets.
    line = re.sub(r"\b(cookie\s*:\s?)[^\"']+", rf"\1{HIDDEN}", line, flags=re.IGNORECASE)
    value, scheme = re.compile(_VALUE), re.compile(_SCHEME)
    shown, at = "", 0
    for found in re.finditer(r"(?<![\w.\-])([\w.\-]+)\\?[\"']?\]?\s?[=:]\s?", line):
        if found.start() < at or not is_secret(found[1]):
            continue
        several = found[1].lower().endswith("authorization")
        behind = (several and scheme.match(line, found.end())) or value.match(line, found.end())
        if behind:
            shown += line[at : found.end()] + HIDDEN
            at = behind.end()
    line = shown + line[at:]
    line = re.sub(r"(?<=://)[^/\s@]+@", f"{HIDDEN}@", line)
    line = re.sub(_LOGIN, f"{HIDDEN}@", line)
    return re.sub(_KNOWN, HIDDEN, line)


def _without_disguised(found: re.Match[str]) -> str:
    """A piece of a URL, without what its escapes hide; its name stays when the secret is not in that."""
    piece = found[0]
    if not _hides(piece):
        return piece
    name, sign, _ = piece.partition("=")
    return f"{name}={HIDDEN}" if sign and not _hides(name) else HIDDEN


def _hides(piece: str) -> bool:
    import re

    plain = piece
    for _ in range(_DEEPEST):
        if "%" not in plain:
            break
        plain = re.sub(r"%([0-9A-Fa-f]{2})", lambda escape: chr(int(escape[1], 16)), plain)
    return plain != piece and _without_plain(plain) != plain


def _counts(name: str) -> bool:
    """Whether it is a number of tokens or the like, which is no secret and worth seeing."""
    import re

    return re.search(_COUNTED, name, re.IGNORECASE) is not None
