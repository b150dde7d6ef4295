"""Who runs this process, and what users are called."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from patchctl.model.history import HistoryAuthor

_NOBODY = (1 << 32) - 1
_LONGEST_UID = len(str(_NOBODY))


def author(environ: Mapping[str, str]) -> HistoryAuthor:
    """Return who runs this process: by the kernel and the passwd database; of the environment only a claim."""
    uid = os.getuid()
    return HistoryAuthor(
        uid=uid,
        login=login_of(uid),
        login_uid=login_uid(),
        sudo_uid=sudo_uid(environ),
    )


def sudo_uid(environ: Mapping[str, str]) -> int | None:
    """Return the uid that SUDO_UID claims to have called root; None: it is not there, or no uid as sudo writes one."""
    text = environ.get("SUDO_UID", "")
    # A limit on the digits: Python refuses to read thousands of them, with an exception.
    if not (text.isascii() and text.isdigit() and len(text) <= _LONGEST_UID):
        return None
    return int(text) if int(text) < _NOBODY else None


def login_of(uid: int) -> str | None:
    """Return the name of a user in the passwd database; None: there is none."""
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OverflowError):
        return None


def login_uid() -> int | None:
    """Return the uid that logged in, None: nobody did; unlike an environment variable nobody but root can change it."""
    try:
        uid = int(Path("/proc/self/loginuid").read_bytes())
    except (OSError, ValueError):
        return None
    return uid if uid < _NOBODY else None
