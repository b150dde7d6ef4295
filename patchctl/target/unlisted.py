"""Files inside a distribution's own packages that nobody lists.

Own are the topmost directories in which RECORD lists a file, without metadata and ``bin``: below ``google`` only
``google/protobuf``, when that is where the files are. Passed over is what Python and installers make on the spot:
``__pycache__``, byte code beside its source, ``~`` leftovers, patchctl's own temporary files; and every file that
another distribution of the site lists.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator

from patchctl.disk import walk_below
from patchctl.errors import TargetError
from patchctl.model.paths import place_problem
from patchctl.target.reading import open_site, read_metadata
from patchctl.target.record import is_metadata, parse_record

_BYTE_CODE = (".pyc", ".pyo")
_RECORD_LIMIT = 64 << 20


def find_unlisted(site: str, info: str, listed: Collection[str], ours: Collection[str]) -> tuple[str, ...]:
    """Return what lies in the packages of one distribution and is listed by none, sorted.

    Args:
        site: absolute path of the site directory.
        info: the distribution's metadata directory.
        listed: paths below the site that its installer lists.
        ours: paths below the site that patchctl recorded.
    """
    known = {*listed, *ours}
    root_fd = open_site(site)
    try:
        found = [path for top in package_directories(listed) for path in _unknown(root_fd, top, known)]
        if found:
            others = _listed_by_others(root_fd, info)
            found = [path for path in found if path not in others]
    finally:
        os.close(root_fd)
    return tuple(sorted(found))


def package_directories(listed: Iterable[str]) -> tuple[str, ...]:
    """Return the topmost directories in which ``listed`` (paths below the site) has a file; those are its own."""
    holders = {path.rpartition("/")[0] for path in listed if _may_be_own(path)}
    return tuple(sorted(holder for holder in holders if not any(parent in holders for parent in _parents(holder))))


def _may_be_own(path: str) -> bool:
    inside = "/" in path and not path.startswith("bin/") and place_problem(path) is None
    return inside and not is_metadata(path) and "/__pycache__/" not in f"/{path}"


def _parents(directory: str) -> Iterator[str]:
    parts = directory.split("/")
    return ("/".join(parts[:depth]) for depth in range(1, len(parts)))


def _unknown(root_fd: int, top: str, known: Collection[str]) -> Iterator[str]:
    try:
        for directory, names, files, _ in walk_below(root_fd, top):
            names[:] = [name for name in names if name != "__pycache__" and not name.startswith("~")]
            beside = set(files)
            for name in files:
                path = f"{directory}/{name}"
                if path not in known and not _is_made_on_the_spot(name, beside):
                    yield path
    except OSError:
        return  # what may not be entered is said by the files that are listed there


def _is_made_on_the_spot(name: str, beside: Collection[str]) -> bool:
    if name.endswith(_BYTE_CODE):
        # Without a source beside it, it is what an import would run.
        return f"{name[:-4]}.py" in beside
    return name.startswith(("~", ".patchctl-"))


def _listed_by_others(root_fd: int, info: str) -> set[str]:
    others: set[str] = set()
    for name in os.listdir(root_fd):
        if name.endswith(".dist-info") and name != info and not name.startswith("~"):
            try:
                data = read_metadata(root_fd, f"{name}/RECORD", limit=_RECORD_LIMIT)
            except TargetError:  # a neighbour that cannot be read lists nothing
                continue
            others.update(parse_record(data or b"") or ())
    return others
