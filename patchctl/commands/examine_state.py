"""What ``doctor`` sees of patchctl's own state in one site, and of what patches left there. Reads only."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from typing import NamedTuple

from patchctl.commands.diagnosis import Finding
from patchctl.disk import look_below, open_root, read_below
from patchctl.errors import PatchctlError
from patchctl.ledger import STATE_DIR, is_stored, read_ledger
from patchctl.ledger.named import named_hashes
from patchctl.model import FileFact, LedgerState, sha256_hex
from patchctl.model.layout import LAYOUT
from patchctl.model.shell import shell_line, shell_word
from patchctl.target.catalogue import Shelf, nameless
from patchctl.target.ground import Ground, closed_to_others, owner_of, stand
from patchctl.target.holdings import normal_name
from patchctl.transaction import find_litter, find_unnamed, journal_state, lock_state

_READABLE = 0o044
CLEAN = "patchctl doctor --clean"


class State(NamedTuple):
    """What is recorded in one site.

    Attributes:
        ledger: empty where there is none or it cannot be read.
        readable: whether it could be read.
        exists: whether there is a state directory.
        journal: whether a transaction is open.
        words: the state for people.
        findings: what is wrong with it.
    """

    ledger: LedgerState
    readable: bool
    exists: bool
    journal: bool
    words: str
    findings: tuple[Finding, ...]


class Orphan(NamedTuple):
    """A file that a patch added and whose distribution is gone.

    Attributes:
        path: relative to the site.
        fact: what the ledger recorded of it.
        data: its bytes.
        ours: they are as patchctl left them: it may go.
    """

    path: str
    fact: FileFact
    data: bytes
    ours: bool


def read_state(site: str) -> State:
    """Read ledger and journal of ``site`` (absolute); what is wrong with them becomes findings."""
    findings = []
    ledger, readable, journal = LedgerState(), True, False
    exists = look_below(site, STATE_DIR) is not None
    try:
        ledger = read_ledger(site)
        words = f"format {LAYOUT.decode()}" if exists else "none"
    except PatchctlError as error:
        readable, words = False, error.problem.message
        findings.append(_broken(site, error))
    try:
        found = journal_state(site)
        journal = found is not None
        if found is not None:
            message = f"transaction {found.transaction} is unfinished; nothing can be said of {len(found.paths)} files"
            remedy = "patchctl recover, unless another patchctl is at work right now"
            findings.append(Finding("unfinished-transaction", message, remedy, needed=True, site=site))
    except PatchctlError as error:
        journal = True
        findings.append(_broken(site, error))
    return State(ledger, readable, exists, journal, words, tuple(findings))


def _broken(site: str, error: PatchctlError) -> Finding:
    problem = error.problem
    remedy = problem.hint or "see the page on safety"
    return Finding(problem.code, problem.message, remedy, needed=True, site=site, path=problem.path)


def lock_words(site: str) -> tuple[str, tuple[Finding, ...]]:
    """Return who holds the lock of ``site`` in words, and what a stale note means."""
    lock = lock_state(site)
    if lock is None:
        return "none", ()
    who = f"process {lock.pid} on {lock.host}" if lock.pid is not None else "another patchctl"
    if lock.held:
        return f"held by {who}", ()
    if lock.leftover is None:
        return ("free", ()) if lock.pid is None else (f"perhaps held by {who}, which cannot be seen from here", ())
    why = "of another boot" if lock.leftover == "other-boot" else "which has ended"
    message = f"the lock file still names {who}, {why}: the kernel let go of its lock, so there is none"
    finding = Finding("stale-lock-note", message, "nothing: the next writing verb takes the lock", False, site=site)
    return "free", (finding,)


def of_permissions(site: str, ground: Ground, state: State) -> Iterator[Finding]:
    """Say whether a service user could read the state and the patched files."""
    if not state.exists:
        return
    closed = closed_to_others(site, STATE_DIR)
    if closed:
        message = f"{closed[0]} and {len(closed) - 1} more" if len(closed) > 1 else closed[0]
        message += " cannot be read by other users: a service user's check has no answer"
        remedy = f"chmod -R a+rX {shell_word(f'{site}/{STATE_DIR}')}"
        yield Finding("closed-state", message, remedy, needed=True, site=site, path=closed[0])
    owner, state_path = owner_of(site, STATE_DIR), f"{site}/{STATE_DIR}"
    if owner is not None and owner != ground.uid:
        message = f"{STATE_DIR} belongs to uid {owner}, the site to uid {ground.uid}"
        # Root's word counts in anybody's site; what somebody else says of one that is not his may be made up.
        remedy = f"chown -R --reference={shell_word(site)} {shell_word(state_path)}"
        if owner != 0:
            remedy = f"mv {shell_word(state_path)} {shell_word(f'{state_path}.untrusted')} && patchctl adopt"
        yield Finding("foreign-state", message, remedy, needed=True, site=site, path=STATE_DIR)
    modes = {path: fact.base_mode for path, fact in state.ledger.files.items() if fact.base_mode is not None}
    for file in stand(site, modes):
        lost = modes[file.path] & ~file.mode & _READABLE
        if file.kind == "file" and lost:
            message = f"{file.path} could be read by others before it was patched, and cannot any more"
            remedy = f"chmod {modes[file.path]:o} {shell_word(f'{site}/{file.path}')}"
            yield Finding("closed-file", message, remedy, needed=True, site=site, path=file.path)


def of_litter(site: str, state: State, directories: Collection[str]) -> Iterator[Finding]:
    """Say what dead transactions left; while one is open its files are no litter."""
    if state.journal:
        return
    found = find_litter(site, directories)
    if found:
        message = f"{len(found)} temporary files of transactions that are over, the first is {found[0]}"
        yield Finding("litter", message, CLEAN, needed=True, site=site, path=found[0])


def of_store(site: str, state: State) -> Iterator[Finding]:
    """Say how much is stored that nobody names any more, and which original is not stored although it is named."""
    if not state.exists or not state.readable or state.journal:
        return
    try:
        unnamed = find_unnamed(site, named_hashes(site, state.ledger))
    except PatchctlError as error:
        yield _broken(site, error)
        return
    if unnamed.paths:
        message = f"{len(unnamed.paths)} stored originals and diffs ({unnamed.size} bytes) are named by nothing"
        yield Finding("unnamed-objects", message, "patchctl doctor --gc", needed=False, site=site)
    bases = {fact.path: fact.base for fact in state.ledger.files.values() if fact.entries and fact.base is not None}
    lost = sorted(path for path, base in bases.items() if not is_stored(site, base))
    if lost:
        more = f" and of {len(lost) - 1} more files" if len(lost) > 1 else ""
        message = f"the recorded original of {lost[0]}{more} is missing or damaged: a revert could not give it back"
        remedy = f"patchctl restore {shell_line(lost)} --from WHEEL, the wheel of the very build that is installed"
        yield Finding("lost-original", message, remedy, needed=True, site=site, path=lost[0])


def of_orphans(site: str, state: State, shelves: Collection[Shelf]) -> Iterator[Finding]:
    """Say which files and receipts outlived their distribution."""
    for orphan in find_orphans(site, state.ledger, shelves):
        name = orphan.fact.distribution
        if orphan.ours:
            message = f"{orphan.path} was added by a patch to {name}, which is not installed any more"
            yield Finding("orphaned-file", message, CLEAN, needed=True, site=site, path=orphan.path)
        else:
            message = f"{orphan.path} was added by a patch to {name}, which is gone, and somebody edited it"
            yield Finding("edited-orphan", message, "look at it; patchctl leaves it", True, site=site, path=orphan.path)
    for name, path in _unlisted(site, state.ledger, shelves).items():
        message = f"{path} carries a patch to {name}, but nothing says any more that {name} is installed"
        remedy = f"reinstall {name}: until then nothing that was added to it is cleaned away"
        yield Finding("lost-metadata", message, remedy, needed=True, site=site, path=path)
    gone = gone_receipts(site, state.ledger, shelves)
    if gone:
        message = f"recorded as applied, but nothing that they were applied to is installed: {', '.join(gone)}"
        yield Finding("orphaned-receipts", message, f"{CLEAN} forgets them; or reinstall", needed=False, site=site)


def find_orphans(site: str, ledger: LedgerState, shelves: Collection[Shelf]) -> tuple[Orphan, ...]:
    """Return the files that patches added to distributions which are not in ``site`` any more, sorted.

    One that a distribution of the site lists is that one's, whatever is in it.
    """
    present = _present(site, ledger, shelves)
    facts = [fact for fact in ledger.files.values() if fact.base is None and fact.distribution not in present]
    if not facts:
        return ()
    listed = {path for shelf in shelves if shelf.distribution for path in shelf.distribution.record or ()}
    found = []
    root_fd = open_root(site)
    try:
        for fact in sorted(fact for fact in facts if fact.path not in listed):
            try:
                live = read_below(root_fd, fact.path)
            except OSError:
                continue  # a link or a directory took its place: nothing of ours
            if live is not None:
                ours = sha256_hex(live[0]) == fact.result
                found.append(Orphan(path=fact.path, fact=fact, data=live[0], ours=ours))
    finally:
        os.close(root_fd)
    return tuple(found)


def gone_receipts(site: str, ledger: LedgerState, shelves: Collection[Shelf]) -> tuple[str, ...]:
    """Return the ids of receipts of which no distribution is installed in the site any more.

    What was set aside for an upgrade waits for one.
    """
    present = _present(site, ledger, shelves)
    return tuple(
        receipt.id
        for receipt in ledger.receipts
        if receipt.set_aside is None
        and receipt.diffs
        and not any(diff.distribution in present for diff in receipt.diffs)
    )


def _present(site: str, ledger: LedgerState, shelves: Collection[Shelf]) -> set[str]:
    """The distributions that are there, those whose metadata alone is gone or lost its name included."""
    unnamed = {normal_name(entry.partition("-")[0]) for entry in nameless(site) if not entry.startswith("~")}
    return {shelf.name for shelf in shelves} | unnamed | set(_unlisted(site, ledger, shelves))


def _unlisted(site: str, ledger: LedgerState, shelves: Collection[Shelf]) -> dict[str, str]:
    """Return the distributions that no metadata speaks of, each with a file that it shipped and that is there.

    An uninstall takes such files along. Where they are, they still run, and may import what a patch added.
    """
    named = {shelf.name for shelf in shelves}
    listed = {path for shelf in shelves if shelf.distribution for path in shelf.distribution.record or ()}
    facts = [fact for fact in ledger.files.values() if fact.base is not None and fact.distribution not in named]
    paths = sorted((fact for fact in facts if fact.path not in listed), key=lambda fact: fact.path, reverse=True)
    return {fact.distribution: fact.path for fact in paths if look_below(site, fact.path) is not None}
