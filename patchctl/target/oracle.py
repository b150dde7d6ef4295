"""Who can say what a distribution's files should be: its RECORD, or conda's package record where there is none.

Rows are values; what the files are is not asked here. A row may lie outside the site (``../../../bin/vllm``): such a
file is looked at where it lies below the environment's prefix, and nowhere else.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from patchctl.documents import DocumentError, read_json
from patchctl.model.listing import Listed
from patchctl.model.paths import place_problem
from patchctl.model.target import Distribution
from patchctl.target.conda import LARGEST_DOCUMENT, Searched, search_meta
from patchctl.target.reading import open_site, read_metadata
from patchctl.target.record import parse_rows

_LIBRARIES = ("lib", "lib64")
_SITES = ("site-packages", "dist-packages")
_RECORD_LIMIT = 64 << 20


class Oracle(NamedTuple):
    """What a distribution's files should be.

    Attributes:
        kind: ``record``, ``conda-meta``, or None: nobody can say.
        rows: the files.
        reason: why nobody can say.
    """

    kind: str | None
    rows: tuple[Listed, ...] = ()
    reason: str | None = None


class Spot(NamedTuple):
    """Where a row's file is looked at: below the site or below the prefix, by a path without ``..``."""

    in_site: bool
    path: str


def prefix_of(site: str) -> str | None:
    """Return the prefix of the environment that ``site`` (absolute) belongs to, told by its path alone; None: none.

    ``<prefix>/lib/pythonX.Y/site-packages`` and Debian's ``dist-packages`` are known; a ``--target`` directory has no
    prefix.
    """
    parts = ["", "", *os.path.realpath(site).split("/")]
    known = parts[-1] in _SITES and parts[-2].startswith("python") and parts[-3] in _LIBRARIES
    return ("/".join(parts[2:-3]) or "/") if known else None


def spot_of(site: str, prefix: str | None, path: str) -> Spot | None:
    """Return where the file of a row lies; None: outside of site and prefix, or no path at all.

    Args:
        site: absolute, its links resolved.
        prefix: of its environment, absolute; None: it has none.
        path: as the row has it.
    """
    if place_problem(path) is None:
        return Spot(in_site=True, path=path)
    whole = os.path.normpath(os.path.join(site, path))
    for root, in_site in ((site, True), (prefix, False)):
        if path and root is not None and whole.startswith(f"{root}/"):
            below = whole[len(root) + 1 :]
            return Spot(in_site=in_site, path=below) if place_problem(below) is None else None
    return None


def read_oracle(site: str, distribution: Distribution) -> Oracle:
    """Return what can be known of the files of ``distribution`` in ``site`` (absolute).

    Raises:
        TargetError: RECORD is there but may not be read.
    """
    base, prefix = os.path.realpath(site), prefix_of(site)
    if distribution.editable and _redirects(distribution):
        return Oracle(kind=None, reason="it is an editable install: its modules lie elsewhere and nobody lists them")
    listed = None
    if distribution.info.endswith(".dist-info"):
        root_fd = open_site(site)
        try:
            listed = read_metadata(root_fd, f"{distribution.info}/RECORD", limit=_RECORD_LIMIT)
        finally:
            os.close(root_fd)
    rows = None if listed is None else parse_rows(listed)
    if rows is None:
        return _conda_oracle(base, prefix, distribution, damaged=listed is not None)
    if not any(row.digest for row in rows):
        return Oracle(kind=None, reason="its RECORD has no hash at all")
    return Oracle(kind="record", rows=rows)


def _redirects(distribution: Distribution) -> bool:
    """Return whether what looks editable leads elsewhere: stubs and metadata alone are no code either."""
    if distribution.record is None:
        return True
    return any(path.endswith(".pth") or path.startswith("__editable__") for path in distribution.record)


def rewritten_by_conda(site: str, distribution: Distribution) -> Mapping[str, str]:
    """Return path as RECORD has it -> sha256 of what conda wrote there, for a distribution that conda installed.

    conda writes the environment's prefix into scripts, so that they do not equal the RECORD that the package brought.
    Asked only when something differs; only records called like the distribution are read.
    """
    rows, _ = _conda_hashes(os.path.realpath(site), prefix_of(site), distribution, likely_only=True)
    return {path: row.digest for path, row in rows.items() if row.digest is not None}


def _conda_oracle(base: str, prefix: str | None, distribution: Distribution, *, damaged: bool) -> Oracle:
    rows, searched = _conda_hashes(base, prefix, distribution, likely_only=False)
    if rows:
        return Oracle(kind="conda-meta", rows=tuple(rows.values()))
    what = "its RECORD cannot be read as CSV" if damaged else "it has no RECORD"
    if searched.left_out is not None:
        return Oracle(kind=None, reason=f"{what}, and conda-meta {searched.left_out}: who lists its files is unknown")
    return Oracle(kind=None, reason=what + (" and no conda-meta record names its files" if searched.is_there else ""))


def _conda_hashes(
    base: str, prefix: str | None, distribution: Distribution, *, likely_only: bool
) -> tuple[dict[str, Listed], Searched]:
    """What conda recorded when it installed the package of this distribution; paths relative to the site."""
    if prefix is None or not base.startswith(f"{prefix}/"):
        return {}, Searched()
    info = f"{base[len(prefix) + 1 :]}/{distribution.info}"

    def rows_of(data: bytes) -> dict[str, Listed] | None:
        rows = _conda_rows(data)
        if not any(row.path == info or row.path.startswith(f"{info}/") for row in rows):
            return None
        return {row.path: row for row in (_relative(row, base, prefix) for row in rows)}

    rows, searched = search_meta(
        base, prefix, info, rows_of, lambda names: _likely(sorted(names), distribution, only=likely_only)
    )
    return rows or {}, searched


def _likely(names: list[str], distribution: Distribution, *, only: bool) -> list[str]:
    """Records called like the distribution; conda's names may differ from the index's, so the others come after."""
    stem = f"{distribution.name}-"
    likely = [name for name in names if name.replace("_", "-").startswith(stem)]
    return likely if only else [*likely, *(name for name in names if name not in likely)]


def _conda_rows(data: bytes) -> list[Listed]:
    """``paths_data`` of a conda package record (conda's ``PrefixRecord``, written since 4.4)."""
    try:
        record = read_json(data, limit=LARGEST_DOCUMENT)
    except DocumentError:
        return []
    data_of_paths = record.get("paths_data") if isinstance(record, dict) else None
    paths = data_of_paths.get("paths") if isinstance(data_of_paths, dict) else None
    return [row for item in (paths if isinstance(paths, list) else []) if (row := _conda_row(item)) is not None]


def _conda_row(item: object) -> Listed | None:
    if not isinstance(item, dict) or not isinstance(item.get("_path"), str):
        return None
    if item.get("path_type") not in (None, "hardlink", "softlink"):  # it may be anything, also a list
        return None  # byte code that conda compiled, and the like
    written = item.get("sha256_in_prefix")
    digest = written if isinstance(written, str) else item.get("sha256")
    size = item.get("size_in_bytes") if written is None or written == item.get("sha256") else None
    if not isinstance(digest, str) or item.get("path_type") == "softlink":
        return Listed(path=item["_path"])
    return Listed(
        path=item["_path"], algorithm="sha256", digest=digest.lower(), size=size if type(size) is int else None
    )


def _relative(row: Listed, base: str, prefix: str) -> Listed:
    return row._replace(path=os.path.relpath(f"{prefix}/{row.path}", base))
