"""Names that are gone from their file: where else in the distribution are they?

Called only when a file or symbol that evidence names is missing, so that ``moved`` can be told from ``absent``. Reads
every Python file of the distribution, some 30 MB for vLLM: one directory descriptor after the other, one pass a file.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping

from patchctl.disk import Roots, link_text, open_parent, read_linked, walk_below
from patchctl.model.paths import place_problem
from patchctl.model.target import Distribution, Target, listed_sha256
from patchctl.target.holdings import read_info
from patchctl.target.reading import open_site, open_target
from patchctl.target.record import is_metadata

LARGEST_SEARCHED = 2 << 20
"""Bytes of a source that is searched."""
_CODE = (".py", ".so")
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def search_names(
    target: Target,
    distribution: Distribution,
    words: Collection[str],
    names: Collection[str],
    *,
    directories: Collection[str] | None = None,
) -> Mapping[str, tuple[str, ...]]:
    """Return where in the distribution each word is defined and each file name occurs.

    Args:
        target: the site.
        distribution: one of its distributions.
        words: identifiers; a file counts that has ``def WORD``, ``async def WORD`` or ``class WORD`` at the start of a
            line, indented or not.
        names: base names of files, such as ``gpu_model_runner.py``.
        directories: read only files that lie directly in one of these (relative to the site); None: all of them.

    Returns:
        Every word and name -> sorted paths (POSIX, relative to the site), from RECORD, or from the top-level packages
        where there is none. Files over 2 MB, unreadable ones, and links to bytes that RECORD does not list,
        define nothing.

    Raises:
        TargetError: the site directory itself cannot be read.
    """
    with open_target(target.site, distribution.grafts) as roots:
        paths = _paths(roots, distribution)
        found: dict[str, list[str]] = {key: [] for key in (*words, *names)}
        for path in paths:
            name = path.rpartition("/")[2]
            if name in names:
                found[name].append(path)
        if words:
            sources = [path for path in paths if path.endswith(".py")]
            if directories is not None:
                sources = [path for path in sources if path.rpartition("/")[0] in directories]
            _search(roots, distribution, sources, words, found)
    return {key: tuple(dict.fromkeys(hits)) for key, hits in found.items()}


def top_levels(target: Target, distribution: Distribution) -> tuple[str, ...]:
    """Return the top-level packages and modules of a distribution as names relative to the site, sorted.

    From RECORD; without one, from its ``top_level.txt``, or else the name the distribution's own name suggests. Those
    of an editable install are where its redirection leads.
    """
    if distribution.grafts:
        return tuple(sorted(distribution.grafts))
    if distribution.record is not None:
        return listed_tops(distribution.record)
    root_fd = open_site(target.site)
    try:
        return _stated_tops(root_fd, distribution)
    finally:
        os.close(root_fd)


def listed_tops(record: Iterable[str]) -> tuple[str, ...]:
    """Return the top-level packages and modules that the paths of a RECORD lie in, sorted."""
    code = (path for path in record if path.endswith(_CODE) and is_listed_below(path))
    return tuple(sorted({path.partition("/")[0] for path in code}))


def _stated_tops(root_fd: int, distribution: Distribution) -> tuple[str, ...]:
    listed = None
    if distribution.info.endswith((".dist-info", ".egg-info")) and _is_directory(root_fd, distribution.info):
        listed = read_info(root_fd, distribution.info, "top_level.txt")
    words = (listed or b"").decode("utf-8", "replace").split() or [distribution.name.replace("-", "_")]
    words = [word for word in words if "/" not in word and "\0" not in word and word not in {".", ".."}]
    tops = [name for word in words for name in (word, f"{word}.py")]
    return tuple(sorted(name for name in tops if _exists(root_fd, name)))


def _paths(roots: Roots, distribution: Distribution) -> list[str]:
    if distribution.grafts:
        return sorted(path for top in distribution.grafts for path in _walk(roots.of(top), top))
    if distribution.record is not None:
        return sorted(path for path in distribution.record if is_listed_below(path))
    return sorted(path for top in _stated_tops(roots.site, distribution) for path in _walk(roots.site, top))


def _walk(root_fd: int, top: str) -> Iterator[str]:
    if not _is_directory(root_fd, top):
        yield top
        return
    try:
        for directory, _, files, _ in walk_below(root_fd, top):
            if not directory.endswith("/__pycache__"):
                yield from (f"{directory}/{name}" for name in files)
    except OSError:
        return  # what may not be read defines nothing


def _search(
    roots: Roots, distribution: Distribution, paths: list[str], words: Collection[str], found: dict[str, list[str]]
) -> None:
    """Add the files that define a word; ``paths`` is sorted, so that each directory is opened about once."""
    definers = Definers(words)
    opened, parent = "", -1
    for path in paths:
        directory, _, name = path.rpartition("/")
        if directory != opened or parent < 0:
            if parent >= 0:
                os.close(parent)
                parent = -1
            try:
                parent, _ = open_parent(roots, path)
            except OSError:
                continue
            opened = directory
        data = _read(parent, name) or _read_link(roots, distribution, path)
        for word in definers.found(data):
            found[word].append(path)
    if parent >= 0:
        os.close(parent)


class Definers:
    """Finds which of some identifiers a source defines: ``def WORD``, ``async def WORD`` or ``class WORD``."""

    def __init__(self, words: Collection[str]) -> None:
        """Take the identifiers."""
        import re

        self._patterns = [(word, word.encode(), re.compile(_definition(re.escape(word.encode())))) for word in words]

    def found(self, data: bytes) -> tuple[str, ...]:
        """Return the identifiers that the source ``data`` defines."""
        # Plain search throws out nearly every file at a tenth of the pattern's cost.
        return tuple(word for word, plain, pattern in self._patterns if plain in data and pattern.search(data))


def _definition(word: bytes) -> bytes:
    return rb"(?m)^[ \t]*(?:async[ \t]+def|def|class)[ \t]+" + word + rb"(?![\w\x80-\xff])"


def _read(parent: int, name: str) -> bytes:
    """Return the bytes of a regular file of moderate size, empty for everything else."""
    try:
        fd = os.open(name, _READ, dir_fd=parent)
    except OSError:
        return b""
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_SEARCHED:
            return b""
        return os.read(fd, status.st_size)
    except OSError:
        return b""
    finally:
        os.close(fd)


def _read_link(roots: Roots, distribution: Distribution, path: str) -> bytes:
    """Return the bytes of a file that uv's symlink mode made a link of, empty for everything else."""
    listed = listed_sha256(distribution, path)
    try:
        if listed is None or link_text(roots, path) is None:
            return b""
        return read_linked(roots, path, {listed}, {os.fstat(roots.site).st_uid}, limit=LARGEST_SEARCHED).data
    except OSError:
        return b""


def is_listed_below(path: str) -> bool:
    """Return whether a path of RECORD is a file of the site that the distribution brings, not metadata."""
    return place_problem(path) is None and not is_metadata(path)


def _is_directory(root_fd: int, name: str) -> bool:
    return _exists(root_fd, name) and stat.S_ISDIR(os.stat(name, dir_fd=root_fd, follow_symlinks=False).st_mode)


def _exists(root_fd: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=root_fd, follow_symlinks=False)
    except OSError:
        return False
    return True
