"""Which bytes of a file are the base: what patches are folded over and evidence is judged on.

A back-port must not prove itself and one entry must not prove another's fix, so evidence never looks at bytes that
patchctl put there. The base is found from three witnesses: the live bytes, what the ledger recorded, and what the
distribution's own RECORD lists.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from patchctl.model import OWNER_EXECUTES, Content, FileFact


class BaseKind(str, Enum):
    """Where the base bytes come from, or why there are none.

    NEW is never found by looking: a command decided what its plan rests on, such as the live bytes without our hunks.
    """

    LIVE = "live"
    RECORDED = "recorded"
    FOREIGN = "foreign"
    NEW = "new"


class Base(NamedTuple):
    """The base of one file.

    Attributes:
        kind: FOREIGN means that nobody knows the base: the bytes are neither ours nor what we found.
        data: the base bytes; None: the file is not part of the base (with FOREIGN: nothing is known).
        mode: its permission bits; those of the live file unless a patch of ours changed them.
        reason: for FOREIGN, one sentence for the operator.
        history: the recorded fact no longer describes this file: the build was replaced, or the file is back at its
            base. A receipt that rests on it is lost.
    """

    kind: BaseKind
    data: bytes | None
    reason: str | None = None
    history: bool = False
    mode: int = 0o644

    @property
    def content(self) -> Content | None:
        """What patches are folded over; None: no file."""
        return None if self.data is None else Content(data=self.data, mode=self.mode)


def is_rebuilt(fact: FileFact, fingerprint: str | None) -> bool:
    """Return whether the file's distribution is another build than when the fact was recorded.

    A RECORD that is gone since tells nothing: then the hashes decide.
    """
    return fingerprint is not None and fact.fingerprint != fingerprint


def base_of(
    *,
    live: bytes | None,
    live_sha256: str | None,
    fact: FileFact | None,
    recorded_base: bytes | None,
    fingerprint: str | None,
    listed_sha256: str | None,
    live_mode: int = 0o644,
) -> Base:
    """Find the base of a file.

    Args:
        live: the bytes there now; None: nothing is there.
        live_sha256: their sha256 in hexadecimal.
        fact: what the ledger recorded about the file; None: we never patched it.
        recorded_base: the recorded original, read back and verified; None: it was absent, or cannot be had.
        fingerprint: of the file's distribution now.
        listed_sha256: what the distribution's RECORD lists for the file now, in hexadecimal; None: not listed.
        live_mode: permission bits of the live file; they count where a patch of ours changed them.
    """
    if fact is None:
        return Base(kind=BaseKind.LIVE, data=live, mode=live_mode)
    rebuilt = is_rebuilt(fact, fingerprint)
    is_result = live_sha256 == fact.result and _has_mode(live_mode, fact.result_mode)
    if live_sha256 == fact.base and (fact.result_mode is None or _has_mode(live_mode, fact.base_mode)):
        if is_result and not rebuilt:
            # Entries that undo one another all stand in it, though no byte shows; its mode and time may be ours.
            return Base(kind=BaseKind.RECORDED, data=live, mode=_mode_below(fact, live, live_mode))
        return Base(kind=BaseKind.LIVE, data=live, mode=live_mode, history=True)
    if is_result:
        below = _under_result(live, live_sha256, fact, recorded_base, listed_sha256, rebuilt=rebuilt)
        return below._replace(mode=_mode_below(fact, live, live_mode))
    if rebuilt and (live is None or listed_sha256 in {None, live_sha256}):
        return Base(kind=BaseKind.LIVE, data=live, mode=live_mode, history=True)
    if rebuilt:
        reason = "the build was replaced, and the file is neither what the new RECORD lists nor what patchctl left"
        return Base(kind=BaseKind.FOREIGN, data=None, reason=reason)
    return Base(kind=BaseKind.FOREIGN, data=None, reason=_edited(live_sha256, fact))


def _edited(live_sha256: str | None, fact: FileFact) -> str:
    """What somebody did to the file after patchctl did."""
    if live_sha256 is None:
        return "the file is gone"
    if live_sha256 in {fact.base, fact.result}:
        return "its mode was changed after patchctl changed it"
    if fact.result is None:
        return "there is another file now, where patchctl took one away"
    return "the file was edited after patchctl changed it"


def _has_mode(live_mode: int, mode: int | None) -> bool:
    """Tell whether two modes are one to git; None: nobody minds."""
    return mode is None or (live_mode & OWNER_EXECUTES) == (mode & OWNER_EXECUTES)


def _mode_below(fact: FileFact, live: bytes | None, live_mode: int) -> int:
    """The mode before our patches: the operator's own ``chmod`` stays, unless a patch changed the mode too."""
    if live is not None and fact.result_mode is None:
        return live_mode
    return 0o644 if fact.base_mode is None else fact.base_mode


def _under_result(
    live: bytes | None,
    live_sha256: str | None,
    fact: FileFact,
    recorded_base: bytes | None,
    listed_sha256: str | None,
    *,
    rebuilt: bool,
) -> Base:
    """The live bytes are our recorded result; the base lies below it, unless a new build ships these very bytes."""
    if rebuilt:
        if listed_sha256 == live_sha256:
            return Base(kind=BaseKind.LIVE, data=live, history=True)
        if listed_sha256 != fact.base:
            # An original of another build must never be put under this one.
            reason = "the build was replaced, but this file still carries the patch made for the old build"
            return Base(kind=BaseKind.FOREIGN, data=None, reason=reason)
    if fact.base is not None and recorded_base is None:
        return Base(kind=BaseKind.FOREIGN, data=None, reason="the recorded original of the file is missing or damaged")
    return Base(kind=BaseKind.RECORDED, data=recorded_base, history=rebuilt)
