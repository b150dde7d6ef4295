"""State of patchctl that an installer put into a site: a wheel brought it, and it tells what the wheel's author likes.

pip and uv list every file that they install in RECORD, whatever the wheel's own RECORD says; patchctl lists nothing
there. What was copied into a site without an installer is not seen here.
"""

from __future__ import annotations

import os

from patchctl.disk import look_below, open_parent
from patchctl.errors import TargetError
from patchctl.model.layout import JOURNAL_PATH, LEDGER_PATH, STATE_DIR
from patchctl.model.shell import shell_word
from patchctl.target.distributions import LARGEST_RECORD
from patchctl.target.reading import open_site, read_metadata
from patchctl.target.record import parse_record

_SLACK = 2.0
"""Seconds: an installer writes RECORD last, and file systems round."""


def refuse_brought_state(site: str) -> None:
    """Refuse a site (absolute) whose state was installed with a distribution.

    Raises:
        TargetError: ``brought-state``: a RECORD lists files of the state; ``unreadable-site``.
    """
    info = brought_by(site)
    if info is None:
        return
    name = info.partition("-")[0]
    message = f"{site}/{STATE_DIR} was installed with {info}, whose RECORD lists it: nothing in it is patchctl's own"
    hint = f"pip uninstall {shell_word(name)} removes it; patchctl adopt records what is in the files after that"
    raise TargetError("brought-state", message, hint=hint, path=f"{info}/RECORD")


def brought_by(site: str) -> str | None:
    """Return the dist-info directory whose RECORD lists files of patchctl's state in ``site``; None: there is none.

    Raises:
        TargetError: ``unreadable-site``.
    """
    if look_below(site, STATE_DIR) is None:
        return None
    root_fd = open_site(site)
    try:
        since = min(filter(None, (_changed(root_fd, path) for path in (LEDGER_PATH, JOURNAL_PATH))), default=0.0)
        for info in sorted(os.listdir(root_fd)):
            # One from before the last change is no news: the state was looked at before that change.
            if not info.endswith(".dist-info") or (_changed(root_fd, f"{info}/RECORD") or 0.0) + _SLACK < since:
                continue
            if _lists_state(root_fd, info):
                return info
    finally:
        os.close(root_fd)
    return None


def _changed(root_fd: int, path: str) -> float | None:
    try:
        parent, name = open_parent(root_fd, path)
    except OSError:
        return None
    try:
        return os.stat(name, dir_fd=parent, follow_symlinks=False).st_mtime
    except OSError:
        return None
    finally:
        os.close(parent)


def _lists_state(root_fd: int, info: str) -> bool:
    try:
        data = read_metadata(root_fd, f"{info}/RECORD", limit=LARGEST_RECORD) or b""
    except TargetError:  # what needs this distribution says so
        return False
    return STATE_DIR.encode() in data and any(map(_is_state, parse_record(data) or ()))


def _is_state(path: str) -> bool:
    """``pip install --target`` lists what lay in the wheel's data directory as it lay before it was moved."""
    parts = [part for part in path.split("/") if part not in {"", ".", ".."}]
    return parts[:1] == [STATE_DIR]
