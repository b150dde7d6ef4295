"""Writes an answer into a file that the operator named, whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from patchctl.errors import PatchctlError


def save(path: str, text: str) -> None:
    """Put ``text`` at ``path`` in one step: whoever reads the file, a collector for instance, never sees half of it.

    Raises:
        PatchctlError: the file cannot be written, or something other than a regular file has that name.
    """
    target = Path(path)
    scratch = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        # A link or a device of that name would be replaced, not written through.
        if target.is_symlink() or (target.exists() and not stat.S_ISREG(target.lstat().st_mode)):
            raise PatchctlError(
                "cannot-write", f"{path} is no regular file", hint="leave --output out: stdout", path=path
            )
        # Exclusive, through no link: in a directory of somebody else's a name may be lying in wait.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(scratch, flags, 0o644), "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        scratch.replace(target)
    except OSError as error:
        with contextlib.suppress(OSError):
            scratch.unlink()
        raise PatchctlError("cannot-write", f"{path} cannot be written: {error.strerror}", path=path) from None
