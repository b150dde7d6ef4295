"""The one exception root, and the outcomes a command can have.

An exception means "could not answer" or "could not do". A negative answer (a hunk does not fit, a fix is absent) is a
value, never an exception. Exit codes are not here: ``cli`` maps each :class:`Outcome` to one.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Outcome(Enum):
    """How a command ended, from best to worst; the worse of two wins."""

    OK = 0
    ATTENTION = 1
    CANNOT_ANSWER = 2
    USAGE = 3
    UNFINISHED = 4
    BUSY = 5
    INTERRUPTED = 6
    TERMINATED = 7
    BUG = 8

    def worse(self, other: Outcome) -> Outcome:
        """Return the worse of the two outcomes."""
        return self if self.value >= other.value else other


class Problem(NamedTuple):
    """One thing that went wrong, as a value: it can be reported while the rest of the answer stands.

    Attributes:
        code: kebab-case word that scripts may compare.
        message: one sentence: what happened, and where.
        hint: what to do about it; a command where one helps.
        patch: the registry entry concerned.
        path: the file concerned, POSIX, relative to the site, or a registry file's path as given.
        line: 1-based line in ``path``.
        key: key path in a registry file, such as ``variant[0].sha256``.
    """

    code: str
    message: str
    hint: str | None = None
    patch: str | None = None
    path: str | None = None
    line: int | None = None
    key: str | None = None


class PatchctlError(Exception):
    """Root of every error patchctl raises on purpose; carries the :class:`Problem` it stands for.

    ``others`` are problems found on the way, which may be what the error comes from.
    """

    outcome = Outcome.CANNOT_ANSWER
    others: tuple[Problem, ...] = ()

    def __init__(
        self,
        code: str,
        message: str,
        *,
        hint: str | None = None,
        patch: str | None = None,
        path: str | None = None,
        line: int | None = None,
        key: str | None = None,
    ) -> None:
        super().__init__(message)
        self.problem = Problem(code=code, message=message, hint=hint, patch=patch, path=path, line=line, key=key)


class DiffError(PatchctlError):
    """A diff was refused by the coverage gate; ``line`` counts in the diff."""


class RegistryError(PatchctlError):
    """A registry file cannot be read or used."""


class LockFileError(PatchctlError):
    """A lock file cannot be read or written, or does not say what a lock file says."""


class TargetError(PatchctlError):
    """The environment cannot be found, or does not hold what was asked for."""


class LedgerError(PatchctlError):
    """The recorded state cannot be read: damaged, forged, or of a newer format."""


class UsageError(PatchctlError):
    """The command line asks for something that cannot be meant."""

    outcome = Outcome.USAGE


class UntrustedError(PatchctlError):
    """Somebody else could have forged what the command would rest on; nothing was touched.

    Attributes:
        login: name, or ``#`` and uid, of the user whose it is and who can run the same command himself; None: what to
            do is the hint's to say.
        site: what he would name with ``--site``, absolute.
    """

    login: str | None = None
    site: str = ""


class RefusedError(PatchctlError):
    """A change was refused; nothing was written."""

    outcome = Outcome.ATTENTION


class TransactionError(PatchctlError):
    """A transaction failed, or an unfinished one stands in the way; the message says whether it was rolled back."""

    outcome = Outcome.UNFINISHED


class BusyError(PatchctlError):
    """Another patchctl holds the lock of this site."""

    outcome = Outcome.BUSY


class InterruptedByError(PatchctlError):
    """SIGINT or SIGTERM came in mid-transaction and everything was rolled back."""

    def __init__(self, message: str, *, terminated: bool) -> None:
        super().__init__("interrupted", message)
        self.outcome = Outcome.TERMINATED if terminated else Outcome.INTERRUPTED
