"""Code that a diff changes and that is not in its file in a candidate: which class or function it is, and where it is.

What is sought is read off the file that is installed now; where that cannot be had, off the diff itself. Found are
definitions by their names, and, where no name leads anywhere, files that have the lines: that the code is the same is
for a person to see.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from patchctl.commands.judging import Scene
from patchctl.diff import ChangeKind, FileDiff, Hunk
from patchctl.match import Fit, judge_fit, locate
from patchctl.match.scope import LOOKED_BACK, headings
from patchctl.model import Distribution
from patchctl.target import Definers, Tree
from patchctl.verdict import Assessment, FileFinding, SourceDiff

LISTED = 10
"""Files named for one symbol."""

_HUNKS = 20
"""Hunks of a file whose symbols are sought."""
_RUNS = 10
"""Runs of changed lines of a hunk whose symbols are sought."""
_TRIED = 5
"""Files found into which the diff is tried."""
_LINES = 3
"""Lines that must be sought before likeness says anything."""
_SHORTEST = 8
_BATCH = 200
"""Files held in memory at a time."""
_TELLING = 3
"""In more files than that, the name of a function alone says nothing: ``forward`` is everywhere."""


class Alike(NamedTuple):
    """A file that has lines which a diff expects elsewhere; ``equal`` of ``size`` different ones, indentation aside."""

    path: str
    equal: int
    size: int


class Moved(NamedTuple):
    """Code that is not where a diff looks for it.

    Attributes:
        path: the file that the diff changes: POSIX, relative to the site; of a rename the old name.
        symbol: dotted name of the class or function that its hunks change; None: the file itself is gone.
        paths: other files of the distribution that define that, or have the file's name; the first ten. Empty: none.
        more: how many were found beyond these.
        fits: those of them that the file's part of the diff would fit as it is.
        defined: what ``paths`` define: the symbol, or the outermost or innermost of its names, where they have no more
            of it; None: the file itself is gone, or nothing was found.
        alike: where no name leads anywhere: the files that have most of the lines which the hunks expect, at most
            three.
    """

    path: str
    symbol: str | None
    paths: tuple[str, ...]
    more: int = 0
    fits: tuple[str, ...] = ()
    defined: str | None = None
    alike: tuple[Alike, ...] = ()


class _Sought(NamedTuple):
    id: str
    diff: FileDiff
    distribution: str
    symbols: tuple[tuple[str, ...], ...]
    lines: frozenset[bytes]
    gone: bool

    @property
    def path(self) -> str:
        """The file whose code is sought; of a rename the one that is to be renamed."""
        return self.diff.paths[0]


def moved_code(now: Scene, found: Iterable[Assessment], there: Tree) -> dict[str, tuple[Moved, ...]]:
    """Return entry -> what is not where its diff looks for it, with one search a distribution.

    Args:
        now: the environment, whose bytes show what the hunks change.
        found: entries that do not fit the candidate.
        there: the candidate.

    Raises:
        TargetError: the candidate cannot be read.
    """
    sought = [one for assessment in found for one in _sought_by(assessment, now)]
    moved: dict[str, tuple[Moved, ...]] = {}
    for name, distribution in there.target.distributions.items():
        mine = [one for one in sought if one.distribution == name]
        words = {word for one in mine for symbol in one.symbols for word in symbol}
        basenames = {_basename(one.path) for one in mine if one.gone}
        hits = there.search(distribution, words, basenames) if words or basenames else {}
        found_by_name = [tuple(_found(one, hits, there)) for one in mine]
        nowhere = [one for one, named in zip(mine, found_by_name, strict=True) if not any(it.paths for it in named)]
        alike = _alike(nowhere, distribution, there) if nowhere else {}
        for one, named in zip(mine, found_by_name, strict=True):
            first, *others = named
            moved[one.id] = (*moved.get(one.id, ()), first._replace(alike=alike.get(one, ())), *others)
    return moved


def _alike(sought: Sequence[_Sought], distribution: Distribution, there: Tree) -> dict[_Sought, tuple[Alike, ...]]:
    """The files of the distribution that have most of the lines; none where more than a few have as many."""
    found: dict[_Sought, list[Alike]] = {one: [] for one in sought if len(one.lines) >= _LINES}
    sources = sorted(path for path in distribution.record or () if path.endswith(".py"))
    for start in range(0, len(sources) if found else 0, _BATCH):
        for path, file in there.read(sources[start : start + _BATCH]).files.items():
            lines = set(map(bytes.strip, file.data.split(b"\n"))) if file is not None else set()
            for one, alike in found.items():
                equal = len(one.lines & lines)
                if 2 * equal > len(one.lines) and path != one.path:
                    alike.append(Alike(path=path, equal=equal, size=len(one.lines)))
    return {one: _nearest(alike) for one, alike in found.items()}


def _nearest(alike: Sequence[Alike]) -> tuple[Alike, ...]:
    most = max((one.equal for one in alike), default=0)
    best = tuple(one for one in alike if one.equal == most)
    return best if len(best) <= _TELLING else ()


def _sought_by(found: Assessment, now: Scene) -> Iterator[_Sought]:
    for file in found.files:
        if file.meeting is None or file.meeting.diff.kind is ChangeKind.ADD:
            continue
        source = _source_of(found, file)
        if source is None:
            continue
        diff, content = file.meeting.diff, file.meeting.content
        states = file.meeting.report.hunks
        lost = [hunk for hunk, state in zip(diff.hunks, states, strict=True) if state is Fit.CONFLICT]
        symbols = changed_symbols(diff, lost if content is not None else diff.hunks, _bytes_now(now, diff), source.data)
        if content is not None:
            symbols = tuple(symbol for symbol in symbols if set(Definers(symbol).found(content)) < set(symbol))
        if content is None or symbols:
            hunks = diff.hunks if content is None else lost
            yield _Sought(
                id=found.id,
                diff=diff,
                distribution=source.distribution,
                symbols=symbols,
                lines=frozenset(line.strip() for hunk in hunks for line in hunk.old_lines if _is_telling(line)),
                gone=content is None,
            )


def _is_telling(line: bytes) -> bool:
    """``else:`` is everywhere."""
    return len(line.strip()) >= _SHORTEST


def _source_of(found: Assessment, file: FileFinding) -> SourceDiff | None:
    sources = (*found.case.due, *found.case.recorded)
    return next((diff for diff in sources if any(part.path == file.path for part in diff.files)), None)


def _bytes_now(now: Scene, diff: FileDiff) -> bytes | None:
    base = now.site.bases.get(diff.paths[0])
    return base.data if base is not None else None


def changed_symbols(
    diff: FileDiff, hunks: Sequence[Hunk], source: bytes | None, text: bytes
) -> tuple[tuple[str, ...], ...]:
    """Return the classes and functions that hunks change, each as its names from the outermost on.

    Args:
        diff: all changes to the file.
        hunks: those of it that are asked about; the first twenty count.
        source: the file before the change; None: it cannot be had.
        text: of the whole diff, for what its ``@@`` lines say where a hunk has no place in ``source``.
    """
    places = locate(diff, source).hunks if source is not None else ()
    lines = [] if source is None else source.split(b"\n")
    names: dict[tuple[str, ...], None] = {}
    for hunk in hunks[:_HUNKS]:
        place = places[hunk.number - 1].line if places else None
        around = lines[: place - 1] if place is not None else [_section(text, hunk)]
        for scope in _scopes(hunk, around[-LOOKED_BACK:]):
            found = tuple(name for heading in scope if (name := _name(heading)))
            if found:
                names.setdefault(found)
    return tuple(names)


def _scopes(hunk: Hunk, above: Sequence[bytes]) -> Iterator[tuple[bytes, ...]]:
    """The headings around the first line of each run of changes, read off what stands above it before the change."""
    before, runs, last = list(above), 0, b" "
    for raw in hunk.body:
        tag, line = raw[:1], raw[1:].removesuffix(b"\n")
        if tag in {b"-", b"+"} and line.strip() and tag != last and runs < _RUNS:
            runs += 1
            scope = headings([*before[-LOOKED_BACK:], line], min(len(before), LOOKED_BACK))
            # what the diff brings itself is nowhere else
            yield scope[:-1] if tag == b"+" and scope and line.strip().startswith(scope[-1]) else scope
        if tag in {b"-", b" "}:
            before.append(line)
        if tag in {b"-", b"+", b" "}:
            last = tag if line.strip() else last


def _section(text: bytes, hunk: Hunk) -> bytes:
    """What follows the second ``@@``: the heading that the tool which cut the diff found above the hunk."""
    lines = text.split(b"\n", hunk.line)
    return lines[hunk.line - 1].split(b"@@", 2)[-1].strip()


def _name(heading: bytes) -> str | None:
    words = heading.removeprefix(b"async ").lstrip().split(None, 1)
    name = words[1] if len(words) > 1 else b""
    for end in b"(:[ ":
        name = name.partition(bytes([end]))[0]
    text = name.decode("utf-8", "replace")
    return text if text.isidentifier() else None


def _found(sought: _Sought, hits: Mapping[str, tuple[str, ...]], there: Tree) -> Iterator[Moved]:
    if sought.gone:
        yield _moved(sought, hits.get(_basename(sought.path), ()), there)
    for symbol in sought.symbols:
        defined, paths = _definers(symbol, hits)
        yield _moved(sought, paths, there, ".".join(symbol), defined)


def _definers(symbol: Sequence[str], hits: Mapping[str, tuple[str, ...]]) -> tuple[str, Collection[str]]:
    """What is defined, and in which files: all of the names, else the outermost, else the innermost if few do."""
    sets = [hits.get(name, ()) for name in symbol]
    whole = [path for path in sets[0] if all(path in paths for paths in sets)]
    if whole:
        return ".".join(symbol), whole
    if sets[0]:
        return symbol[0], sets[0]
    return symbol[-1], sets[-1] if len(sets[-1]) <= _TELLING else ()


def _moved(
    sought: _Sought, paths: Collection[str], there: Tree, symbol: str | None = None, defined: str | None = None
) -> Moved:
    others = [path for path in paths if path != sought.path]
    fits: tuple[str, ...] = ()
    if sought.diff.kind is ChangeKind.MODIFY and others:
        read = there.read(others[:_TRIED]).files
        fits = tuple(
            path
            for path, file in read.items()
            if file is not None and judge_fit(sought.diff, file.data).fit is Fit.APPLICABLE
        )
    return Moved(
        path=sought.path,
        symbol=symbol,
        defined=defined if others else None,
        paths=tuple(others[:LISTED]),
        more=max(0, len(others) - LISTED),
        fits=fits,
    )


def _basename(path: str) -> str:
    return path.rpartition("/")[2]
