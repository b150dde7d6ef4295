"""One hash over what an environment carries, so that machines are compared by a line. Reading it is not here.

What counts is what would make two machines behave differently because of patches: the builds, the applied entries, and
the bytes of the patched files as they are now. Paths of the environment, times, owners and holds do not count.
"""

from __future__ import annotations

from collections.abc import Iterator

from patchctl.model import OWNER_EXECUTES, LedgerState, Receipt, Snapshot, Target, sha256_hex
from patchctl.model.layout import is_sha256

VERSION = "patchctl1"
"""Before every digest: another way to compute it gets another word, so that two kinds are never compared."""


def digest_problem(text: str) -> str | None:
    """Return why ``text`` is no digest that this patchctl computes, as the end of a sentence; None: it is one."""
    version, separator, digits = text.partition(":")
    if not separator or not is_sha256(digits):
        return f"is not a digest: {VERSION}: and 64 hexadecimal digits"
    return None if version == VERSION else f"was computed in another way ({version}, not {VERSION})"


def environment_digest(
    target: Target, ledger: LedgerState, snapshot: Snapshot, *, distribution: str | None = None
) -> str:
    """Return the digest, such as ``patchctl1:`` and 64 hexadecimal digits.

    Args:
        target: the distributions that the registry or the ledger speaks of.
        ledger: what is applied.
        snapshot: the patched files as they are; it covers :func:`patched_paths`, and none of them is a problem.
        distribution: normalised name; leave everything else out. None: nothing is left out.
    """
    # NUL and LF stand in no build string, id or path that can be recorded: no two environments give one text.
    text = "".join("\0".join(fields) + "\n" for fields in _lines(target, ledger, snapshot, distribution))
    return f"{VERSION}:{sha256_hex(text.encode('utf-8', 'surrogatepass'))}"


def patched_paths(ledger: LedgerState, distribution: str | None = None) -> tuple[str, ...]:
    """Return the files whose bytes count, POSIX relative to the site, sorted."""
    inside = {receipt.id for receipt in _counted(ledger, distribution)}
    return tuple(sorted(path for path, fact in ledger.files.items() if inside & set(fact.entries)))


def _lines(
    target: Target, ledger: LedgerState, snapshot: Snapshot, distribution: str | None
) -> Iterator[tuple[str, ...]]:
    yield (VERSION,)
    receipts = _counted(ledger, distribution)
    names = {diff.distribution for receipt in receipts for diff in receipt.diffs} | set(target.distributions)
    for name in sorted(names if distribution is None else names & {distribution}):
        found = target.distributions.get(name)
        yield (
            ("distribution", name, "-", "-")
            if found is None
            else (
                "distribution",
                name,
                found.build,
                found.fingerprint or "-",
            )
        )
    for receipt in receipts:
        diffs = sorted(f"{diff.distribution}={diff.sha256}" for diff in receipt.diffs)
        yield ("entry", receipt.id, str(receipt.revision), *diffs)
    for path in patched_paths(ledger, distribution):
        live = snapshot.files[path]
        executes = "x" if live is not None and live.meta.mode & OWNER_EXECUTES else "-"
        yield ("file", path, "-" if live is None else live.sha256, executes)


def _counted(ledger: LedgerState, distribution: str | None) -> list[Receipt]:
    """The entries that are in, by id; what was taken out for an upgrade is not."""
    return sorted(
        (
            receipt
            for receipt in ledger.receipts
            if receipt.set_aside is None
            and (distribution is None or any(diff.distribution == distribution for diff in receipt.diffs))
        ),
        key=lambda receipt: receipt.id,
    )
