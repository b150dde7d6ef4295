"""RECORD: the installer's own list of files and hashes. Read as the oracle for pristine, never written.

pip ends its lines in CRLF, uv in LF; file names with commas are quoted; byte code and RECORD itself have no hash; an
installer does not verify the hashes (the wheel specification, "The .dist-info directory").
"""

from __future__ import annotations

import binascii
import csv
import hashlib
import io
from collections.abc import Mapping
from types import MappingProxyType

from patchctl.model.listing import Listed

_LONGEST_NUMBER = 19
_NUL = b"\0"
"""In no path; the reader of Python 3.10 takes it for damage, later ones do not."""
_DIGEST_BYTES = MappingProxyType({"sha256": 32, "sha384": 48, "sha512": 64})


def parse_record(data: bytes, *, strict: bool = False) -> dict[str, str | None] | None:
    """Return path -> hash (``sha256=<urlsafe base64>``, None without one) of RECORD's rows; None: it is damaged.

    A damaged RECORD is no oracle at all: half of its rows would make half of the files look foreign.

    Args:
        data: RECORD.
        strict: bytes that are no UTF-8, and two rows for a path that disagree, damage it too.
    """
    if _NUL in data:
        return None
    try:
        text = io.StringIO(data.decode("utf-8", "strict" if strict else "surrogateescape"), newline="")
        pairs = [(row[0], (row[1] or None) if len(row) > 1 else None) for row in csv.reader(text, strict=True) if row]
    except (csv.Error, UnicodeDecodeError):
        return None
    found = dict(pairs)
    return None if strict and any(found[path] != digest for path, digest in pairs) else found


def parse_rows(data: bytes) -> tuple[Listed, ...] | None:
    """Return RECORD's rows in full, hash and size included, each path once; None: it is damaged."""
    if _NUL in data:
        return None
    text = io.StringIO(data.decode("utf-8", "surrogateescape"), newline="")
    try:
        rows = {row[0]: row for row in csv.reader(text, strict=True) if row}
    except csv.Error:
        return None
    return tuple(_listed(*[*row, "", ""][:3]) for row in rows.values())


def _listed(path: str, digest: str, size: str) -> Listed:
    algorithm, equals, value = digest.partition("=")
    length = int(size) if size.isascii() and size.isdecimal() and len(size) < _LONGEST_NUMBER else None
    if not digest:
        return Listed(path=path, size=length)
    name = algorithm.lower()
    return Listed(path=path, algorithm=name, digest=_hexadecimal(value, name) if equals else None, size=length)


def _hexadecimal(value: str, algorithm: str) -> str | None:
    """Urlsafe base64 without the padding (the wheel specification), which some tools write all the same."""
    text = value.rstrip("=").translate({45: "+", 95: "/"})
    try:
        digest = binascii.a2b_base64(text + "=" * (-len(text) % 4))
    except ValueError:
        return None
    # What is no base64 is skipped in silence, so that the length tells.
    return digest.hex() if len(digest) == _DIGEST_BYTES.get(algorithm, len(digest)) else None


def fingerprint(record: Mapping[str, str | None]) -> str:
    """Return a lower-case hexadecimal sha256 over the files a wheel brings, the same whoever installed it.

    Left out is what the installer makes on the spot: its own notes in dist-info, byte code, and scripts, which lie
    outside the site (``../../../bin``) or in ``bin`` (``uv pip install --target``).
    """
    rows = sorted(f"{path}\0{digest or ''}\n" for path, digest in record.items() if not _made_by_installer(path))
    return hashlib.sha256("".join(rows).encode("utf-8", "surrogateescape")).hexdigest()


def is_metadata(path: str) -> bool:
    """Return whether a RECORD path lies in a dist-info directory."""
    # A vendored distribution's metadata lies deeper and is content. The first test alone is nearly always enough.
    return ".dist-info/" in path and path.partition("/")[0].endswith(".dist-info")


def _made_by_installer(path: str) -> bool:
    return path.endswith(".pyc") or path.startswith(("../", "/", "bin/")) or "/../" in path or is_metadata(path)
