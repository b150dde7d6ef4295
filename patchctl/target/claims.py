"""Whose RECORDs list a file: a file that two distributions list is nobody's to edit.

Whoever publishes a package writes what its RECORD lists, files of pip included. Only what installers left is read, and
a RECORD is taken apart only where its bytes name one of the top-level directories in question. Not here: what is the
distribution's own (``verdict.scope``), and what conda lists for packages without RECORD.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping

from patchctl.errors import TargetError
from patchctl.model.target import Claim, Target
from patchctl.target.holdings import normal_name, parse_headers, read_info
from patchctl.target.reading import open_site, read_metadata
from patchctl.target.record import parse_record

_INFO = ".dist-info"
_LARGEST_RECORD = 64 << 20
"""Bytes; as of the distributions that are wanted."""


def read_claims(target: Target, paths: Collection[str]) -> Mapping[str, tuple[Claim, ...]]:
    """Return path -> the distributions of the site whose RECORD lists it, those of the target first.

    One whose RECORD is there and cannot be read may list any file. Without RECORD, or without METADATA, it lists none:
    pip passes it by too.

    Args:
        target: the site, and those of its distributions that were read already.
        paths: POSIX, relative to the site.

    Raises:
        TargetError: the site directory itself cannot be read.
    """
    if not paths:
        return {}
    found: dict[str, list[Claim]] = {}
    for name, it in target.distributions.items():
        for path in paths:
            if path in (it.record or ()):
                found.setdefault(path, []).append(Claim(name=name))
    read = {it.info for it in target.distributions.values()}
    needles = sorted({_needle(path) for path in paths})
    root_fd = open_site(target.site)
    try:
        for info in sorted(os.listdir(root_fd)):
            # A leftover of an interrupted install (~) is no distribution.
            if info.endswith(_INFO) and info not in read and not info.startswith("~"):
                for path, claim in _claims(root_fd, info, paths, needles):
                    found.setdefault(path, []).append(claim)
    finally:
        os.close(root_fd)
    return {path: tuple(dict.fromkeys(claims)) for path, claims in found.items()}


def _needle(path: str) -> bytes:
    top, slash, _ = path.partition("/")
    return f"{top}{slash}".encode("utf-8", "surrogateescape")


def _claims(root_fd: int, info: str, paths: Collection[str], needles: Collection[bytes]) -> Iterator[tuple[str, Claim]]:
    try:
        data = read_metadata(root_fd, f"{info}/RECORD", limit=_LARGEST_RECORD)
        if data is None or not any(_begins_a_row(data, needle) for needle in needles):
            return
        record = parse_record(data)
        hits = [path for path in paths if record is None or path in record]
        name = _name(root_fd, info) if hits else None
    except TargetError:
        record, hits, name = None, list(paths), _spelt(info)
    if name is not None:
        yield from ((path, Claim(name=name, certain=record is not None)) for path in hits)


def _begins_a_row(data: bytes, needle: bytes) -> bool:
    """Whether some row begins like that; a path with a comma in it is quoted. Most RECORDs have it nowhere at all."""
    if needle not in data:
        return False
    if data.startswith((needle, b'"' + needle)):
        return True
    return data.find(b"\n" + needle) >= 0 or data.find(b'\n"' + needle) >= 0


def _name(root_fd: int, info: str) -> str | None:
    stated = read_info(root_fd, info, "METADATA")
    name = parse_headers(stated)[0] if stated is not None else None
    return normal_name(name) if name else None


def _spelt(info: str) -> str:
    return normal_name(info.removesuffix(_INFO).partition("-")[0])
