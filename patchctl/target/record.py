"""RECORD: the installer's own list of files and hashes. Read as the oracle for pristine, never written.

pip ends its lines in CRLF, uv in LF; file names with commas are quoted; byte code and RECORD itself have no hash; an
installer does not verify the hashes (the wheel specification, "The .dist-info directory").
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Mapping


def parse_record(data: bytes) -> dict[str, str | None] | None:
    """Return path -> hash (``sha256=<urlsafe base64>``, None without one) of RECORD's rows; None: it is damaged.

    A damaged RECORD is no oracle at all: half of its rows would make half of the files look foreign.
    """
    text = io.StringIO(data.decode("utf-8", "surrogateescape"), newline="")
    try:
        return {row[0]: (row[1] or None) if len(row) > 1 else None for row in csv.reader(text, strict=True) if row}
    except csv.Error:
        return None


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
