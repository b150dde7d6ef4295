"""The base bytes evidence is judged on, decoded and parsed once for all that is asked, and what was found elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from patchctl.evidence.findings import ItemFinding, ItemStatus, Sought
from patchctl.evidence.source import Source, SourceError
from patchctl.model import EvidenceItem

Search = Callable[[str, str], bool | None]
"""``search(pattern, text)``: whether the pattern is found; None: no answer, such as a deadline that passed."""

KEPT = 64
"""Files that are kept as text: in a large registry each is the concern of a few entries, which stand together."""

SHOWN = 3
"""Paths a reason spells out."""


class Installed:
    """What is known of the files. Paths are POSIX, relative to the site."""

    def __init__(
        self,
        *,
        files: Mapping[str, bytes | None],
        unreadable: Collection[str],
        elsewhere: Mapping[str, tuple[str, ...]],
        search: Search,
    ) -> None:
        """Take what was gathered.

        Args:
            files: path -> base bytes; None, or no such key: the file is not there.
            unreadable: paths whose base is not known, whatever ``files`` says: no regular file, or a foreign edit.
            elsewhere: name of a file, class or function -> paths that hold one.
            search: the regular expression search, bounded by its own deadline.
        """
        self.search = search
        self._files = files
        self._unreadable = unreadable
        self._elsewhere = elsewhere
        self._sources: dict[str, Source | SourceError | None] = {}

    def source(self, path: str) -> Source | None:
        """Return the text of a file; None when the file is not there.

        Raises:
            SourceError: there is something, and it gives no answer.
        """
        if path not in self._sources:
            if len(self._sources) >= KEPT:
                del self._sources[next(iter(self._sources))]
            self._sources[path] = self._read(path)
        source = self._sources[path]
        if isinstance(source, SourceError):
            raise source
        return source

    def data(self, path: str) -> bytes | None:
        """Return the base bytes of a file; None when it is not there.

        Raises:
            SourceError: its base is not known.
        """
        if path in self._unreadable:
            raise SourceError("cannot be judged: it is no regular file, or somebody else edited it")
        return self._files.get(path)

    def gone(self, item: EvidenceItem, wanted: Iterable[Sought], reason: str) -> ItemFinding:
        """Return the finding for evidence whose file or symbol is not in its place: gone, or moved elsewhere."""
        found = {path for one in wanted for path in self._elsewhere.get(one.name, ()) if path != one.file}
        if not found:
            return ItemFinding(item=item, status=ItemStatus.GONE, reason=reason)
        paths = tuple(sorted(found))
        more = f" and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
        reason = f"{reason}; found in {', '.join(paths[:SHOWN])}{more}"
        return ItemFinding(item=item, status=ItemStatus.MOVED, reason=reason, elsewhere=paths)

    def _read(self, path: str) -> Source | SourceError | None:
        try:
            data = self.data(path)
            return Source(data) if data is not None else None
        except SourceError as error:
            return error
