"""Reads the ledger and the bytes it names below a site's ``.patchctl``; nothing here writes, locks or creates."""

from __future__ import annotations

import os

from patchctl.disk import NotRegularError, open_root, read_below
from patchctl.errors import LedgerError
from patchctl.ledger.codec import SIZE_LIMIT, decode_ledger
from patchctl.ledger.fields import damaged
from patchctl.model.files import sha256_hex
from patchctl.model.layout import FORMAT_PATH, LAYOUT, LEDGER_PATH, object_path, patch_path
from patchctl.model.state import LedgerState

_FORMAT_LIMIT = 64


def read_ledger(site: str) -> LedgerState:
    """Return what is recorded about ``site``; an empty state (``sha256`` None) when nothing is.

    Args:
        site: absolute path of the site directory.

    Raises:
        LedgerError: ``newer-ledger`` or ``damaged-ledger`` by its content, also when a link or anything but a regular
            file is there; ``unreadable-ledger`` when the system refuses to read it.
    """
    _refuse_newer(site)
    data = read_ledger_bytes(site)
    return LedgerState() if data is None else decode_ledger(data)


def _refuse_newer(site: str) -> None:
    """A reader must not judge by what it may misread, and a dry run must end as the real run would."""
    try:
        layout = _read(site, FORMAT_PATH, _FORMAT_LIMIT)
    except NotRegularError as error:
        raise damaged("the format file", f"{error.strerror}") from None
    if layout is not None and layout.strip() != LAYOUT:
        raise LedgerError(
            "newer-ledger",
            f"{FORMAT_PATH} names a layout that this patchctl does not know",
            hint="use the patchctl version that wrote it, or a newer one",
            path=FORMAT_PATH,
        )


def read_ledger_bytes(site: str) -> bytes | None:
    """Return the ledger file's bytes, which an edit of it must name; None when there is none. Errors as above."""
    try:
        return _read(site, LEDGER_PATH, SIZE_LIMIT)
    except NotRegularError as error:
        raise damaged("the file", f"{error.strerror}") from None


def read_object(site: str, sha256: str) -> bytes | None:
    """Return a recorded original or result; None when it is not kept.

    Args:
        site: absolute path of the site directory.
        sha256: lower-case hexadecimal.

    Raises:
        LedgerError: ``damaged-object`` when the bytes do not have that hash, ``unreadable-ledger`` when the system
            refuses to read them.
    """
    return _read_hashed(site, object_path(sha256), sha256)


def is_stored(site: str, sha256: str) -> bool:
    """Return whether a recorded original or result can be had, undamaged. Arguments as of :func:`read_object`."""
    try:
        return read_object(site, sha256) is not None
    except LedgerError:
        return False


def read_patch(site: str, sha256: str) -> bytes | None:
    """Return a recorded diff; None when it is not kept. Arguments and errors as of :func:`read_object`."""
    return _read_hashed(site, patch_path(sha256), sha256)


def _read_hashed(site: str, path: str, sha256: str) -> bytes | None:
    hint = f"remove {site}/{path} and reinstall the distribution to get its originals back"
    try:
        data = _read(site, path, None)
    except NotRegularError as error:
        raise LedgerError("damaged-object", f"{path} {error.strerror}", hint=hint, path=path) from None
    if data is not None and sha256_hex(data) != sha256:
        raise LedgerError("damaged-object", f"{path} does not have the bytes it is named after", hint=hint, path=path)
    return data


def _read(site: str, path: str, limit: int | None) -> bytes | None:
    try:
        root = open_root(site)
        try:
            found = read_below(root, path) if limit is None else read_below(root, path, limit=limit)
        finally:
            os.close(root)
    except NotRegularError:
        raise
    except OSError as error:
        raise LedgerError(
            "unreadable-ledger",
            f"{site}/{path} cannot be read: {error.strerror}",
            hint="run patchctl as the owner of the site",
            path=path,
        ) from None
    return None if found is None else found[0]
