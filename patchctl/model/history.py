"""The audit trail: one record a transaction, written once and never changed. No I/O, and no secrets in it."""

from __future__ import annotations

from typing import NamedTuple

from patchctl.model.state import Retirement


class Moment(NamedTuple):
    """An instant of one boot of one machine.

    Attributes:
        boot: the kernel's id of this boot; None: it cannot be read.
        boottime_ns: CLOCK_BOOTTIME, nanoseconds; processes are dated by it.
        realtime_ns: the wall clock at the same instant, nanoseconds since 1970; files are dated by it.
    """

    boot: str | None
    boottime_ns: int
    realtime_ns: int


class HistoryAuthor(NamedTuple):
    """Who ran the command.

    Attributes:
        uid: of the process, as the kernel has it.
        login: its name in the passwd database; None: it has none there.
        login_uid: the uid that logged in, as the kernel's audit keeps it over sudo and su; None: not set.
        sudo_uid: what SUDO_UID claims; an environment variable, so no more than a claim.
    """

    uid: int
    login: str | None = None
    login_uid: int | None = None
    sudo_uid: int | None = None


class HistoryEntry(NamedTuple):
    """What became of one entry.

    Attributes:
        id: the entry.
        what: ``applied``, ``adopted``, ``reverted``, ``retired``, ``set-aside`` (taken out for an upgrade), ``held``,
            ``unheld`` or ``forgotten`` (its distribution is gone).
        revision: of the entry that was moved; None where only a hold changed.
        diffs: (distribution, sha256 of the diff) of what went in or out.
        reason: of a hold, or for which upgrade it was set aside and what is expected of it; None otherwise.
        retirement: where it was retired, the proof; None also in records of versions that did not keep it.
    """

    id: str
    what: str
    revision: int | None = None
    diffs: tuple[tuple[str, str], ...] = ()
    reason: str | None = None
    retirement: Retirement | None = None


class HistoryFile(NamedTuple):
    """One file of the site that was written or removed.

    Attributes:
        path: POSIX, relative to the site.
        before: sha256 (hexadecimal); None: it was not there, or is not known any more.
        after: sha256; None: it is gone, or is not known any more.
    """

    path: str
    before: str | None = None
    after: str | None = None


class HistoryRegistry(NamedTuple):
    """A registry that was read for a change.

    Attributes:
        name: what it calls itself.
        revision: of the registry.
        path: of its folder, absolute and without links; None: the bundled one, under SOURCE_DATE_EPOCH, and in
            records of versions that did not keep it.
    """

    name: str
    revision: int
    path: str | None = None


class HistoryRecord(NamedTuple):
    """One transaction.

    Attributes:
        transaction: its id.
        at: UTC time, ISO 8601 with ``Z``; SOURCE_DATE_EPOCH where that is set.
        author: who.
        host: on which machine; None under SOURCE_DATE_EPOCH, where a build must not depend on it.
        command: the verb.
        named: ids given on the command line.
        decisions: options given there that decide, such as ``--despite-fix``.
        result: ``committed``; ``rolled-back`` by an error, a signal or ``recover``; ``finished``: a later command
            found it committed and cleaned up.
        entries: what became of each.
        files: that it touched.
        omitted: how many further files it touched, which would have made the record too large.
        reason: why it was rolled back.
        registries: those that decided; empty where none did, and in records of versions that did
            not keep it.
        moment: when the record was made, just before the files were replaced; None under SOURCE_DATE_EPOCH.
    """

    transaction: str
    at: str
    author: HistoryAuthor
    host: str | None
    command: str
    result: str
    named: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    entries: tuple[HistoryEntry, ...] = ()
    files: tuple[HistoryFile, ...] = ()
    omitted: int = 0
    reason: str | None = None
    moment: Moment | None = None
    registries: tuple[HistoryRegistry, ...] = ()

    @property
    def touched_files(self) -> bool:
        """Whether files of the site were changed for good."""
        return self.result != "rolled-back" and bool(self.files or self.omitted)


class StoredRecord(NamedTuple):
    """A record as it lies on the disk.

    Attributes:
        path: of its file, relative to the site.
        placed_ns: when the file took its place (``st_ctime``, wall clock, nanoseconds): after the files of the site
            took theirs, and just before the commit.
        record: its content.
    """

    path: str
    placed_ns: int
    record: HistoryRecord
