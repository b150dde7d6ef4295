r"""The raw lines of a diff: split on newline alone, within limits.

Other line separators (``\r``, ``\f``, U+2028 and the like) are content. Nothing is decoded here.
"""

from __future__ import annotations

from io import BytesIO

from patchctl.errors import DiffError

LARGEST_DIFF = 16 << 20
"""Bytes; a whole vLLM release against its neighbour makes about 10 MB."""

LONGEST_LINE = 1 << 20
"""Bytes, line end included."""

LONGEST_QUOTE = 200
"""Characters of a diff that a message quotes."""

_UTF8_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


def split_lines(data: bytes) -> list[bytes]:
    """Return the lines of ``data``, each with its newline; the last one has none when the data lacks it.

    A UTF-8 byte order mark in front is dropped: it belongs to the file, not to its first line.

    Raises:
        DiffError: too large, a line too long, or UTF-16.
    """
    if len(data) > LARGEST_DIFF:
        raise DiffError("too-large", f"the diff has {len(data)} bytes; at most {LARGEST_DIFF} are read")
    if data.startswith(_UTF16_BOMS):
        hint = "write it again as bytes or UTF-8; PowerShell's '>' makes UTF-16"
        raise DiffError("utf-16", "the diff is encoded in UTF-16", hint=hint, line=1)
    # a stream of bytes ends its lines at newlines alone
    lines = BytesIO(data.removeprefix(_UTF8_BOM)).readlines()
    if max(map(len, lines), default=0) > LONGEST_LINE:
        at = next(at for at, line in enumerate(lines) if len(line) > LONGEST_LINE)
        message = f"a line has {len(lines[at])} bytes; at most {LONGEST_LINE} are read"
        raise DiffError("line-too-long", message, line=at + 1)
    return lines


def bare(line: bytes) -> bytes:
    """Return ``line`` without its newline; a carriage return stays."""
    return line[:-1] if line.endswith(b"\n") else line


def header_text(lines: list[bytes], at: int) -> bytes:
    """Return the header line at index ``at`` without its newline.

    Raises:
        DiffError: it ends in a carriage return. Such a diff was converted as a whole, and nobody can tell any more
            which of its content lines ended in CRLF before.
    """
    text = bare(lines[at])
    if text.endswith(b"\r"):
        hint = "make the diff again, or convert it with dos2unix when the files have LF line ends"
        raise DiffError("crlf-headers", "the header lines of the diff end in CRLF", hint=hint, line=at + 1)
    return text


def shown(raw: bytes) -> str:
    """Return ``raw`` as text for a message: undecodable bytes as escapes, shortened."""
    text = raw.decode("utf-8", "backslashreplace")
    return text if len(text) <= LONGEST_QUOTE else text[:LONGEST_QUOTE] + "..."
