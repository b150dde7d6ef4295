"""What a team pinned: the lock file's content, whether an environment is as it says, and the digest of one.

``values`` has the types, ``file`` turns bytes into a :class:`Lock` and back, ``judge`` compares it with assessments,
``digest`` hashes what an environment carries. Nothing here reads or writes a file. A *lock* here is always the file;
the kernel's lock on a site is in ``transaction``.
"""

from patchctl.pins.digest import digest_problem, environment_digest, patched_paths
from patchctl.pins.file import HEAD, encode_lock, parse_lock
from patchctl.pins.judge import FINE, Extra, PinFinding, PinState, Review, problem_of, review
from patchctl.pins.values import Lock, LockedHold, LockedRegistry, Pin, PinnedDiff

__all__ = [
    "FINE",
    "HEAD",
    "Extra",
    "Lock",
    "LockedHold",
    "LockedRegistry",
    "Pin",
    "PinFinding",
    "PinState",
    "PinnedDiff",
    "Review",
    "digest_problem",
    "encode_lock",
    "environment_digest",
    "parse_lock",
    "patched_paths",
    "problem_of",
    "review",
]
