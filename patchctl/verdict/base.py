"""Which bytes of a file are the base: what patches are folded over and evidence is judged on.

A back-port must not prove itself and one entry must not prove another's fix, so evidence never looks at bytes that
patchctl put there. The base is found from three witnesses: the live bytes, what the ledger recorded, and what the
distribution's own RECORD lists.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from patchctl.model import FileFact


class BaseKind(str, Enum):
    """Where the base bytes come from, or why there are none."""

    LIVE = "live"
    RECORDED = "recorded"
    FOREIGN = "foreign"


class Base(NamedTuple):
    """The base of one file.

    Attributes:
        kind: FOREIGN means that nobody knows the base: the bytes are neither ours nor what we found.
        data: the base bytes; None: the file is not part of the base (with FOREIGN: nothing is known).
        reason: for FOREIGN, one sentence for the operator.
        history: the recorded fact no longer describes this file: the build was replaced, or the file is back at its
            base. A receipt that rests on it is lost.
    """

    kind: BaseKind
    data: bytes | None
    reason: str | None = None
    history: bool = False


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
) -> Base:
    """Find the base of a file.

    Args:
        live: the bytes there now; None: nothing is there.
        live_sha256: their sha256 in hexadecimal.
        fact: what the ledger recorded about the file; None: we never patched it.
        recorded_base: the recorded original, read back and verified; None: it was absent, or cannot be had.
        fingerprint: of the file's distribution now.
        listed_sha256: what the distribution's RECORD lists for the file now, in hexadecimal; None: not listed.
    """
    if fact is None:
        return Base(kind=BaseKind.LIVE, data=live)
    rebuilt = is_rebuilt(fact, fingerprint)
    if live_sha256 == fact.base:
        return Base(kind=BaseKind.LIVE, data=live, history=live_sha256 != fact.result or rebuilt)
    if live_sha256 == fact.result:
        return _under_result(live, live_sha256, fact, recorded_base, listed_sha256, rebuilt=rebuilt)
    if rebuilt and (live is None or listed_sha256 in {None, live_sha256}):
        return Base(kind=BaseKind.LIVE, data=live, history=True)
    if rebuilt:
        reason = "the build was replaced, and the file is neither what the new RECORD lists nor what patchctl left"
        return Base(kind=BaseKind.FOREIGN, data=None, reason=reason)
    gone = "the file is gone" if live is None else "the file was edited after patchctl changed it"
    return Base(kind=BaseKind.FOREIGN, data=None, reason=gone)


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
