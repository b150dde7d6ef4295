"""``hits``: how often the containment patches worked, told from logs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from patchctl.build import MatchOutcome, MatchRule
from patchctl.commands.locating import locate
from patchctl.commands.place import Place
from patchctl.commands.report import Report
from patchctl.commands.scene import open_registry
from patchctl.commands.selection import parse_variant
from patchctl.commands.signal_search import SignalSearch
from patchctl.commands.status import unfinished_problems
from patchctl.errors import Outcome, PatchctlError, Problem, TargetError
from patchctl.ledger import read_ledger
from patchctl.logs import Followed, LogSet, OpenLog, find_logs, open_log, open_stdin
from patchctl.model import Target
from patchctl.patch import Patch
from patchctl.registry import Registry
from patchctl.signals import Counted, HeaderForm, Scanner, Tally, Wanted, Watch, required_literal
from patchctl.transaction import JournalState

_LOOK_SECONDS = 0.5
_REFRESH_SECONDS = 15.0
_PER = 1000


class Incidence(NamedTuple):
    """What the logs say.

    Attributes:
        counted: the counts.
        logs: labels of the logs that were read.
        scope: ``applied``: the entries that are recorded as applied; ``registry``: every one that has a signal.
        by: what tells instances apart: ``file``, ``port`` or ``pid``.
        given_requests: the operator's own count of requests.
        followed: it waited for more until it was interrupted.
    """

    counted: Counted
    logs: tuple[str, ...]
    scope: str
    by: str
    given_requests: int | None = None
    followed: bool = False

    @property
    def requests(self) -> int | None:
        """How many requests there were; None: nothing tells."""
        if self.given_requests is not None:
            return self.given_requests
        return sum(count for _, count in self.counted.requests) or None

    def rate(self, hits: float) -> float | None:
        """Return so many hits as a rate per 1,000 requests; None: the requests are not known."""
        return None if not self.requests else hits * _PER / self.requests


class Wish(NamedTuple):
    """What the operator asks of the logs.

    Attributes:
        everything: every entry of the registry that has a signal, applied or not.
        by: what tells instances apart.
        ranks: tensor-parallel ranks that write each line.
        requests: how many requests there were.
        prefix: what ``VLLM_LOGGING_PREFIX`` was set to.
        rotated: the older parts of each log too.
        follow: wait for more.
    """

    everything: bool = False
    by: str = "file"
    ranks: int | None = None
    requests: int | None = None
    prefix: str = ""
    rotated: bool = False
    follow: bool = False


class Viewer(NamedTuple):
    """Who looks on.

    Attributes:
        progress: is told bytes read and bytes in all.
        refresh: is given what was counted so far, now and then, while logs are followed.
    """

    progress: Callable[[int, int], None]
    refresh: Callable[[Report], None]


def hits(place: Place, names: Sequence[str], wish: Wish, viewer: Viewer) -> Report:
    """Count the hits in the logs ``names``: paths, globs, and ``-`` for standard input.

    CANNOT_ANSWER when a log cannot be read whole, or a signal not be searched for; the others are counted.

    Raises:
        PatchctlError: no entry with a signal, no registry, or no environment where one was named.
    """
    registry, target, journal, scope, entries = _entries(place, everything=wish.everything)
    watches, problems = _watches(registry, entries)
    if not watches:
        raise _no_signal(scope, problems)
    found = find_logs(names, rotated=wish.rotated)
    sets, wrong = found.logs, tuple(_no_log(name) for name in found.nothing)
    reading = _Reading(watches, wish, viewer)

    def report() -> Report:
        incidence = Incidence(
            counted=reading.tally.result(),
            logs=tuple(log.label for log in sets),
            scope=scope,
            by=wish.by,
            given_requests=wish.requests,
            followed=wish.follow,
        )
        errors = (*problems, *wrong, *reading.problems, *reading.search.problems(watches))
        outcome = Outcome.CANNOT_ANSWER if errors else Outcome.OK
        return Report(
            command="hits",
            outcome=outcome if journal is None else outcome.worse(Outcome.UNFINISHED),
            target=target,
            journal=journal,
            hits=incidence,
            warnings=found.warnings,
            errors=(*errors, *unfinished_problems(journal)),
        )

    try:
        if wish.follow:
            reading.follow(sets, lambda: viewer.refresh(report()))
        else:
            reading.read(sets)
    finally:
        reading.search.close()
    return report()


def _no_log(name: str) -> Problem:
    return Problem(code="no-log", message=f"no file fits {name}", hint="look at the spelling")


def _entries(
    place: Place, *, everything: bool
) -> tuple[Registry, Target | None, JournalState | None, str, tuple[Patch, ...]]:
    registry = open_registry(place)
    entries = tuple(entry for entry in registry.entries if entry.signal is not None)
    if everything:
        return registry, None, None, "registry", entries
    try:
        target, journal = locate(place)
    except TargetError:
        if place.site is not None or place.python is not None or place.distribution is not None:
            raise
        return registry, None, None, "registry", entries  # logs are often read where nothing is installed
    applied = {receipt.id for receipt in read_ledger(target.site).receipts}
    return registry, target, journal, "applied", tuple(entry for entry in entries if entry.id in applied)


def _no_signal(scope: str, problems: Sequence[Problem]) -> PatchctlError:
    if scope == "applied":
        message = "no applied entry of this environment writes a signal that could be counted"
        error = PatchctlError(
            "no-signal", message, hint="patchctl hits --all LOG... counts every entry of the registry"
        )
    else:
        error = PatchctlError("no-signal", "no entry of the registry has a signal that could be counted")
    error.others = tuple(problems)
    return error


def _watches(registry: Registry, entries: Sequence[Patch]) -> tuple[tuple[Watch, ...], tuple[Problem, ...]]:
    watches, problems = [], []
    for entry in entries:
        if entry.signal is None:
            continue
        try:
            files = _sources(registry, entry)
        except PatchctlError as error:
            problems.append(error.problem)  # without its diffs nobody knows which files may write the signal
            continue
        literal = required_literal(entry.signal.log)
        watches.append(Watch(id=entry.id, title=entry.title, pattern=entry.signal.log, literal=literal, files=files))
    return tuple(watches), tuple(problems)


def _sources(registry: Registry, entry: Patch) -> frozenset[str]:
    """Name the files that the entry's diffs change, as the logger shows them: by name, and as modules."""
    names: set[str] = set()
    for variant in entry.variants:
        if variant.diff is None:
            continue
        source = parse_variant(registry, entry, variant, MatchOutcome(rule=MatchRule.NONE, reason="read"))
        for file in source.files:
            path = file.path
            names |= {path.rpartition("/")[2], path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")}
    return frozenset(names)


class _Reading:
    """One run over logs: what is counted, what went wrong, how far it came."""

    def __init__(self, watches: Sequence[Watch], wish: Wish, viewer: Viewer) -> None:
        self.tally = Tally(watches, wish.ranks)
        self.search = SignalSearch()
        self.problems: list[Problem] = []
        self._wanted = Wanted(
            watches=watches,
            form=HeaderForm(wish.prefix.encode("utf-8", "surrogateescape")),
            search=self.search,
            by=wish.by,
            requests=wish.requests is None,
        )
        self._progress = viewer.progress
        self._done = self._size = 0

    def read(self, sets: Sequence[LogSet]) -> None:
        """Read every log to its end."""
        for log in sets:
            with self._scanner(log) as scanner:
                for path in log.paths:
                    opened = self._opened(path)
                    if opened is not None:
                        self._pour(opened, scanner)
                        opened.close()

    def follow(self, sets: Sequence[LogSet], refresh: Callable[[], None]) -> None:
        """Read every log to its end and then what is added, until SIGINT, which is how following ends."""
        followed: list[tuple[Followed, Scanner]] = []
        try:
            for log in sets:
                scanner = self._new_scanner(log)
                for path in log.paths:
                    opened = self._opened(path)
                    if opened is None:
                        continue
                    self._pour(opened, scanner)
                    if path == log.paths[-1]:
                        followed.append((Followed(opened), scanner))
                    else:
                        opened.close()
            self._wait(followed, refresh)
        except KeyboardInterrupt:
            pass
        for one, scanner in followed:
            scanner.finish()
            one.close()

    def _wait(self, followed: Sequence[tuple[Followed, Scanner]], refresh: Callable[[], None]) -> None:
        shown = -_REFRESH_SECONDS
        while followed:
            for one, scanner in followed:
                for block, written in one.more():
                    scanner.begin(written)
                    scanner.feed(block)
                scanner.catch_up()
            if time.monotonic() - shown >= _REFRESH_SECONDS:
                refresh()
                shown = time.monotonic()
            time.sleep(_LOOK_SECONDS)

    def _new_scanner(self, log: LogSet) -> Scanner:
        return Scanner(self._wanted, self.tally, log.label, int(time.time()))

    @contextmanager
    def _scanner(self, log: LogSet) -> Iterator[Scanner]:
        scanner = self._new_scanner(log)
        yield scanner
        scanner.finish()

    def _opened(self, path: str) -> OpenLog | None:
        try:
            return open_stdin() if path == "-" else open_log(path)
        except PatchctlError as error:
            self.problems.append(error.problem)
            return None

    def _pour(self, log: OpenLog, scanner: Scanner) -> None:
        self._size += log.size or 0
        scanner.begin(log.written)
        try:
            for block in log.blocks(self._advance):
                scanner.feed(block)
        except PatchctlError as error:
            self.problems.append(error.problem)

    def _advance(self, count: int) -> None:
        self._done += count
        self._progress(self._done, max(self._size, self._done))
