"""Notes that a reading command leaves for the next one, in the caller's own cache directory and nowhere else.

A note may be lost at any time and is never needed. Whatever is odd about the directory or the file (another owner,
others who may write, a link, damage) means that there is no note; nothing here raises. What a note says, and when it
may be believed, is not known here.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import suppress

from patchctl.documents import DocumentError, read_json

Note = Mapping[str, tuple[str, ...]]

_FOLDER = "patchctl"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_LARGEST = 16 << 20


def recall(environ: Mapping[str, str], key: str) -> Note | None:
    """Return the note of that key (hexadecimal); None when there is none that can be trusted to be the caller's."""
    try:
        directory = _open_folder(environ, make=False)
        try:
            data = _read(directory, key)
        finally:
            os.close(directory)
        note = read_json(data, limit=_LARGEST, strict=True)
    except (OSError, DocumentError):
        return None
    return _note_of(note)


def remember(environ: Mapping[str, str], key: str, note: Note) -> None:
    """Keep a note, in one step: it is there whole or not at all. Where that cannot be done, it is not kept."""
    import json

    data = json.dumps(note).encode("ascii")
    waiting = f"{key}.{os.getpid()}"
    with suppress(OSError):
        directory = _open_folder(environ, make=True)
        try:
            fd = os.open(waiting, _NEW, 0o600, dir_fd=directory)
            try:
                with os.fdopen(fd, "wb") as stream:
                    stream.write(data)
                os.replace(waiting, key, src_dir_fd=directory, dst_dir_fd=directory)
            except OSError:
                os.unlink(waiting, dir_fd=directory)
                raise
        finally:
            os.close(directory)


def _open_folder(environ: Mapping[str, str], *, make: bool) -> int:
    """Return a descriptor of patchctl's folder: below XDG_CACHE_HOME, else below HOME (XDG base directory rules).

    As root with the HOME of the user who called sudo there is none: it is not root's.
    """
    named = environ.get("XDG_CACHE_HOME", "")
    root, parts = (named, (_FOLDER,)) if os.path.isabs(named) else (environ.get("HOME", ""), (".cache", _FOLDER))
    if not os.path.isabs(root):
        raise FileNotFoundError("no cache directory")
    current = os.open(root, _DIRECTORY)
    try:
        _refuse_foreign(current)
        for part in parts:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o700, dir_fd=current)
            following = os.open(part, _DIRECTORY | os.O_NOFOLLOW, dir_fd=current)
            os.close(current)
            current = following
            _refuse_foreign(current)
    except BaseException:
        os.close(current)
        raise
    return current


def _read(directory: int, key: str) -> bytes:
    fd = os.open(key, _READ, dir_fd=directory)
    with os.fdopen(fd, "rb") as stream:
        _refuse_foreign(fd)
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            raise PermissionError("not a note")
        return stream.read(_LARGEST)


def _refuse_foreign(fd: int) -> None:
    """Somebody else's, or writable by others: they could make it say anything."""
    status = os.fstat(fd)
    if status.st_uid != os.geteuid() or status.st_mode & _OTHERS:
        raise PermissionError("not the caller's alone")


def _note_of(value: object) -> Note | None:
    if not isinstance(value, dict):
        return None
    for words in value.values():
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            return None
    return {name: tuple(words) for name, words in value.items()}
