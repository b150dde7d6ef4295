"""Whose bytes an installed file has: the distribution's, ours, or somebody else's. For ``verify``.

Pure: what the installer lists, what is there and what the ledger recorded come in; a state comes out. Need, action and
hunks play no part here.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from patchctl.model.files import OWNER_EXECUTES
from patchctl.model.listing import Listed, Look
from patchctl.model.state import FileFact
from patchctl.verdict.base import is_rebuilt

PROVING = ("sha256", "sha384", "sha512")
"""Algorithms whose digest proves a file (the wheel specification forbids weaker ones in RECORD)."""

NO_HASH = "has no hash in RECORD"
NO_SIZE = "has no size in RECORD"
OUTSIDE = "lies outside of the environment and was not looked at"

_BYTE_CODE = (".pyc", ".pyo")


class FileState(str, Enum):
    """Whose bytes a file has, or why nobody can tell."""

    PRISTINE = "pristine"
    OURS = "ours"
    SAME_SIZE = "same-size"
    FOREIGN = "foreign"
    MISSING = "missing"
    EXTRA = "extra"
    ABSENT = "absent"
    UNCHECKED = "unchecked"


WRONG = frozenset({FileState.FOREIGN, FileState.MISSING, FileState.EXTRA})
"""States that a person should look at."""


class Attribution(NamedTuple):
    """What is said of one file.

    Attributes:
        path: as the installer lists it; below the site for what it does not list.
        state: whose bytes it has.
        reason: a phrase that follows the path; None where the state says it all.
        entries: ids of the entries whose changes are in it, in fold order.
        denied: it was not read: the question was not answered.
    """

    path: str
    state: FileState
    reason: str | None = None
    entries: tuple[str, ...] = ()
    denied: bool = False


class Facts(NamedTuple):
    """What is known of one file beside what is there.

    Attributes:
        listed: the installer's row; None: it lists no such file.
        fact: what the ledger recorded; None: we never patched it.
        fingerprint: of the distribution now.
        accepted: a baseline accepts that it is absent.
        rewritten: sha256 of what conda wrote there in place of what RECORD lists; None: nothing is known of that.
        result_size: bytes of the recorded result, for a look at sizes alone; None: unknown.
    """

    listed: Listed | None
    fact: FileFact | None
    fingerprint: str | None
    accepted: bool = False
    rewritten: str | None = None
    result_size: int | None = None


def attribute(path: str, live: Look | None, known: Facts) -> Attribution | None:
    """Say whose bytes a file has; None where there is nothing to say of it.

    Args:
        path: for the answer.
        live: what is there, with the digests that are needed; None: nothing.
        known: what is known of it.
    """
    early = _without_bytes(path, live, known)
    if early is not None or live is None:
        return early
    listed, fact = known.listed, known.fact
    if listed is not None and listed.digest is not None and live.digests.get(listed.algorithm or "") == listed.digest:
        return Attribution(path=path, state=FileState.PRISTINE)
    if fact is not None and live.digests.get("sha256") == fact.result:
        return _ours(path, live, known, fact)
    if known.rewritten is not None and live.digests.get("sha256") == known.rewritten:
        return Attribution(path=path, state=FileState.PRISTINE, reason="is as conda wrote it")
    why_not = unprovable(listed)
    if fact is None and why_not is not None:
        return Attribution(path=path, state=FileState.UNCHECKED, reason=why_not)
    return Attribution(path=path, state=FileState.FOREIGN, reason=_why_foreign(live, listed, fact))


def attribute_by_size(path: str, live: Look | None, known: Facts) -> Attribution | None:
    """Say what sizes alone can tell: that a file is gone, or cannot have the bytes it should; never that it has them.

    Arguments and answer as of :func:`attribute`; ``live`` needs no digests.
    """
    early = _without_bytes(path, live, known)
    if early is not None or live is None:
        return early
    if known.fact is not None and known.result_size == live.size:
        return Attribution(path=path, state=FileState.SAME_SIZE, entries=known.fact.entries)
    listed_size = known.listed.size if known.listed is not None else None
    sizes = {size for size in (listed_size, known.result_size) if size is not None}
    if live.size in sizes:
        return Attribution(path=path, state=FileState.SAME_SIZE)
    if not sizes or (known.fact is not None and known.result_size is None):
        return Attribution(path=path, state=FileState.UNCHECKED, reason=NO_SIZE)
    expected = " or ".join(map(str, sorted(sizes)))
    return Attribution(path=path, state=FileState.FOREIGN, reason=f"has {live.size} bytes instead of {expected}")


def unprovable(listed: Listed | None) -> str | None:
    """Return why the bytes of a listed file cannot be proven; None: they can, or nothing lists it."""
    if listed is None:
        return None
    if listed.algorithm is None:
        return NO_HASH
    if listed.algorithm not in PROVING:
        return f"has a hash of a kind that proves nothing or is not known ({listed.algorithm})"
    return "has a hash that cannot be read" if listed.digest is None else None


def is_byte_code(path: str) -> bool:
    """Return whether a path is byte code, which Python makes and drops as it likes."""
    return path.endswith(_BYTE_CODE)


def _without_bytes(path: str, live: Look | None, known: Facts) -> Attribution | None:
    """What can be said before any bytes count."""
    if live is None:
        return _of_nothing(path, known)
    if live.denied:
        return Attribution(path=path, state=FileState.UNCHECKED, reason=live.problem, denied=True)
    if live.problem is not None:
        return Attribution(path=path, state=FileState.FOREIGN, reason=live.problem)
    return None


def _of_nothing(path: str, known: Facts) -> Attribution | None:
    listed, fact = known.listed, known.fact
    if fact is not None and fact.result is None:
        if listed is None:
            return None
        return Attribution(path=path, state=FileState.OURS, reason="was removed", entries=fact.entries)
    if fact is not None and fact.base is not None:
        return Attribution(path=path, state=FileState.MISSING, reason="is gone, and it is a patched file")
    if listed is None or (listed.digest is None and is_byte_code(path)):
        # What we added and is gone is back at its base; an interpreter drops byte code as it likes.
        return None
    if known.accepted:
        return Attribution(path=path, state=FileState.ABSENT, reason="is gone, which the baseline accepts")
    return Attribution(path=path, state=FileState.MISSING, reason="is gone")


def _ours(path: str, live: Look, known: Facts, fact: FileFact) -> Attribution:
    if fact.result_mode is not None and (live.mode ^ fact.result_mode) & OWNER_EXECUTES:
        reason = "has our bytes, but its executable bit was changed after patchctl set it"
        return Attribution(path=path, state=FileState.FOREIGN, reason=reason)
    listed = known.listed.digest if known.listed is not None else None
    if is_rebuilt(fact, known.fingerprint) and listed != fact.base:
        reason = "carries the patch that was made for the build that was here before"
        return Attribution(path=path, state=FileState.FOREIGN, reason=reason)
    added = "was added" if fact.base is None else None
    return Attribution(path=path, state=FileState.OURS, reason=added, entries=fact.entries)


def _why_foreign(live: Look, listed: Listed | None, fact: FileFact | None) -> str:
    if fact is not None and fact.base is not None and live.digests.get("sha256") == fact.base:
        return "has the bytes from before our first patch, which RECORD does not list"
    if fact is not None:
        return "was edited after patchctl changed it"
    if listed is not None and listed.size is not None and listed.size != live.size:
        return f"has {live.size} bytes where {listed.size} are listed"
    return "has other bytes than are listed"
