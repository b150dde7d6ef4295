"""Reads a text file that the operator names: a unit, a manifest, a file of variables. ``-`` is standard input."""

from __future__ import annotations

import os
import stat
import sys

from patchctl.errors import PatchctlError

LARGEST = 1 << 20
"""Bytes that are read."""


class FileError(PatchctlError):
    """The file cannot be read."""


def read_text(path: str) -> str:
    """Return the text of a file; bytes that are no UTF-8 become lone surrogates.

    Raises:
        FileError: it cannot be opened, is no regular file, or is too large.
    """
    if path == "-":
        return _decoded(sys.stdin.buffer.read(LARGEST + 1), "standard input")
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise FileError("unreadable-file", f"{path} cannot be read: {_reason(error)}") from None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise FileError("unreadable-file", f"{path} is no regular file")
        with os.fdopen(os.dup(fd), "rb") as file:
            return _decoded(file.read(LARGEST + 1), path)
    except OSError as error:
        raise FileError("unreadable-file", f"{path} cannot be read: {_reason(error)}") from None
    finally:
        os.close(fd)


def text_or_none(path: str) -> str | None:
    """Return the text of a file, None where it cannot be read."""
    try:
        return read_text(path)
    except FileError:
        return None


def _decoded(data: bytes, name: str) -> str:
    if len(data) > LARGEST:
        raise FileError("file-too-large", f"{name} is larger than {LARGEST} bytes")
    return data.decode("utf-8", "surrogateescape")


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror or "") if isinstance(error, OSError) else str(error)
