"""conda-meta: conda's own list of what a package brought, an oracle for pristine where RECORD is missing.

One JSON file a package, below the environment's prefix, with a sha256 for every file
(conda's documentation, "Package metadata": ``paths_data``). What its rows mean to ``verify`` is not here.
"""

from __future__ import annotations

import binascii
import os
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from patchctl.disk import open_named, owner_to_heed, read_below, refuse_hole
from patchctl.documents import DocumentError, read_json
from patchctl.target.reading import open_site

LARGEST_DOCUMENT = 64 << 20
"""Bytes; conda's record of a package with 100,000 files takes half of it."""
MOST_DOCUMENTS = 4096
MOST_READ = 256 << 20
"""Bytes of all records that are searched for a distribution."""
MOST_PARSED = 64 << 20
"""Bytes of those that mention it: of an honest prefix it is one record."""
Answer = TypeVar("Answer")
_DEPTH = 3  # prefix/lib/python3.10/site-packages


class Searched(NamedTuple):
    """How far the records of a prefix were searched.

    Attributes:
        is_there: there are records at all.
        left_out: why not all of them were searched, as a phrase that follows "conda-meta"; None: they were.
    """

    is_there: bool = False
    left_out: str | None = None


def conda_record(site: str, info: str) -> dict[str, str | None] | None:
    """Return what conda lists for the distribution recorded in ``info``, as RECORD's rows; None: nothing.

    Args:
        site: absolute path of the site directory.
        info: the distribution's dist-info or egg-info, relative to the site.
    """
    parts = os.path.realpath(site).rsplit("/", _DEPTH)
    if len(parts) <= _DEPTH:
        return None
    prefix, below = parts[0], "/".join(parts[1:]) + "/"

    def rows_of(data: bytes) -> dict[str, str | None] | None:
        rows = _rows(data, below)
        return rows if any(path == info or path.startswith(f"{info}/") for path in rows) else None

    return search_meta(site, prefix, f"{below}{info}", rows_of)[0]


def search_meta(
    site: str,
    prefix: str,
    path: str,
    read: Callable[[bytes], Answer | None],
    order: Callable[[list[str]], Sequence[str]] = sorted,
) -> tuple[Answer | None, Searched]:
    """Return the first answer of a record that mentions a file or directory.

    Neither a link of another user is followed by root, nor a directory of another one entered: whoever owns the prefix
    may not read what root can. A file with a hole in it is no JSON, and is not read.

    Args:
        site: absolute path of the site directory.
        prefix: absolute, its links resolved.
        path: what must be mentioned, relative to the prefix.
        read: a record's bytes -> the answer; None: it is another's.
        order: names of the records -> those that are wanted, in that order.

    Raises:
        TargetError: the site directory cannot be read.
    """
    root_fd = _open(site, prefix)
    if root_fd is None:
        return None, Searched()
    try:
        names = _names(root_fd)
        if len(names) > MOST_DOCUMENTS:
            return None, Searched(is_there=True, left_out=f"has more than {MOST_DOCUMENTS:,} records")
        # Parsing is the dear part, so the text is asked first: a prefix has hundreds of packages.
        marks = tuple(f'"{path}{end}'.encode() for end in ("/", '"'))
        answer, left_out = _search(root_fd, order(names), marks, read)
        return answer, Searched(is_there=bool(names), left_out=left_out)
    finally:
        os.close(root_fd)


def _open(site: str, prefix: str) -> int | None:
    site_fd = open_site(site)
    try:
        return open_named(f"{prefix}/conda-meta", owner_to_heed(site_fd))
    except OSError:
        return None
    finally:
        os.close(site_fd)


def _names(root_fd: int) -> list[str]:
    """Return the records' names; one more than are searched, where there are too many."""
    names: list[str] = []
    with os.scandir(root_fd) as entries:
        for entry in entries:
            if entry.name.endswith(".json"):
                names.append(entry.name)
            if len(names) > MOST_DOCUMENTS:
                break
    return names


def _search(
    root_fd: int, names: Sequence[str], marks: tuple[bytes, ...], read: Callable[[bytes], Answer | None]
) -> tuple[Answer | None, str | None]:
    searched = parsed = 0
    for data in _documents(root_fd, names):
        searched += len(data)
        is_meant = any(mark in data for mark in marks)
        parsed += len(data) if is_meant else 0
        if searched > MOST_READ or parsed > MOST_PARSED:
            return None, "has more in its records than is searched"
        answer = read(data) if is_meant else None
        if answer is not None:
            return answer, None
    return None, None


def _documents(root_fd: int, names: Sequence[str]) -> Iterator[bytes]:
    for name in names:
        try:
            found = read_below(root_fd, name, limit=LARGEST_DOCUMENT, look=refuse_hole)
        except OSError:
            continue
        if found is not None:
            yield found[0]


def _rows(data: bytes, below: str) -> dict[str, str | None]:
    """Return the rows below the site; one that is damaged has no hash, and a damaged document no rows."""
    try:
        document = read_json(data, limit=LARGEST_DOCUMENT)
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
