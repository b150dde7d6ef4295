"""conda-meta: conda's own list of what a package brought, an oracle for pristine where RECORD is missing.

One JSON file a package, below the environment's prefix, with a sha256 for every file
(conda's documentation, "Package metadata": ``paths_data``).
"""

from __future__ import annotations

import binascii
import os
from collections.abc import Iterator

from patchctl.disk import open_root, read_below
from patchctl.documents import DocumentError, read_json

_LARGEST = 64 << 20
_DEPTH = 3  # prefix/lib/python3.10/site-packages


def conda_record(site: str, info: str) -> dict[str, str | None] | None:
    """Return what conda lists for the distribution recorded in ``info``, as RECORD's rows; None: nothing.

    Args:
        site: absolute path of the site directory.
        info: the distribution's dist-info or egg-info, relative to the site.
    """
    parts = site.rstrip("/").rsplit("/", _DEPTH)
    if len(parts) <= _DEPTH:
        return None
    prefix, below = parts[0], "/".join(parts[1:]) + "/"
    try:
        root_fd = open_root(f"{prefix}/conda-meta")
    except OSError:
        return None
    try:
        # Parsing is the dear part, so the text is asked first: a prefix has hundreds of packages.
        marks = tuple(f'"{below}{info}{end}'.encode() for end in ("/", '"'))
        for data in _documents(root_fd):
            if any(mark in data for mark in marks):
                rows = _rows(data, below)
                if any(path == info or path.startswith(f"{info}/") for path in rows):
                    return rows
    finally:
        os.close(root_fd)
    return None


def _documents(root_fd: int) -> Iterator[bytes]:
    for name in sorted(os.listdir(root_fd)):
        if name.endswith(".json"):
            try:
                found = read_below(root_fd, name, limit=_LARGEST)
            except OSError:
                continue
            if found is not None:
                yield found[0]


def _rows(data: bytes, below: str) -> dict[str, str | None]:
    """Return the rows below the site; one that is damaged has no hash, and a damaged document no rows."""
    try:
        document = read_json(data, limit=_LARGEST)
    except DocumentError:
        return {}
    about = document.get("paths_data") if isinstance(document, dict) else None
    listed = about.get("paths") if isinstance(about, dict) else None
    rows: dict[str, str | None] = {}
    for row in listed if isinstance(listed, list) else ():
        path = row.get("_path") if isinstance(row, dict) else None
        if isinstance(path, str) and path.startswith(below):
            # Where conda wrote the prefix into a file, its own hash of the outcome is the one that counts.
            rows[path.removeprefix(below)] = _hash(row.get("sha256_in_prefix") or row.get("sha256"))
    return rows


def _hash(text: object) -> str | None:
    try:
        digest = binascii.unhexlify(text) if isinstance(text, str) else b""
    except ValueError:
        return None
    if not digest:
        return None
    return "sha256=" + binascii.b2a_base64(digest, newline=False).rstrip(b"=").translate(_URLSAFE).decode("ascii")


_URLSAFE = bytes.maketrans(b"+/", b"-_")
