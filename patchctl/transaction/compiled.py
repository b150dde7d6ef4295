"""Makes byte code with unchecked hashes anew after its source changed, in the same mode (PEP 552).

Whoever compiled it so (``uv pip install --compile-bytecode``, an image build) wants no look at sources at start-up; an
interpreter that finds none compiles with time stamps, or again and again where it may not write. Only byte code of the
Python that runs patchctl can be made: nothing of the target is started. Other byte code just stays away.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from patchctl.disk import read_below
from patchctl.transaction.bytecode import CACHE, Unchecked
from patchctl.transaction.files import Looks, open_directory, parent_of, sync, write_new
from patchctl.transaction.names import NEW, TMP
from patchctl.transaction.opening import OpenSite, open_state_directory

_UNCHECKED_HASH = (0b01).to_bytes(4, "little")
_LEVELS = {"": 0, "opt-1": 1, "opt-2": 2}


def compile_again(site: OpenSite, transaction: str, removed: Sequence[Unchecked]) -> tuple[str, ...]:
    """Compile what was removed from the sources as they are now; returns a sentence for what could not be.

    Called after the commit: nothing here is a failure of the change.
    """
    notes = []
    for item in removed:
        try:
            reason = _compile(site, transaction, item)
        except OSError as error:
            reason = error.strerror or str(error)
        if reason is not None:
            what = f"{item.name}, byte code of {item.path} with an unchecked hash"
            notes.append(f"{what}, is gone and was not made anew ({reason})")
    return tuple(notes)


def _compile(site: OpenSite, transaction: str, item: Unchecked) -> str | None:
    """Return why it was not done; None: it was."""
    parts = item.name.removesuffix(".pyc").split(".")
    level = parts.pop() if parts[-1].startswith("opt-") else ""
    tag = parts[-1]
    if tag != sys.implementation.cache_tag or level not in _LEVELS:
        return f"it was for {tag}, this patchctl runs on {sys.implementation.cache_tag}"
    found = read_below(site.root, item.path)
    if found is None:
        return None  # the source is gone: no byte code is right
    data = _byte_code(found[0], f"{site.directory_of(item.path)}/{item.path}", _LEVELS[level])
    if data is None:
        return "the source does not compile, or is longer than is tried"
    tmp = open_state_directory(site, (TMP, transaction))
    try:
        # Only root can give files away; everyone else made what he removed.
        owner = item.owner if site.owner is not None else None
        write_new(tmp, NEW, data, Looks(mode=item.mode, owner=owner))
        with parent_of(site.root, item.path) as (parent, _):
            cache = open_directory(parent, CACHE)
            try:
                os.replace(NEW, item.name, src_dir_fd=tmp, dst_dir_fd=cache)
                sync(cache)
            finally:
                os.close(cache)
    finally:
        os.close(tmp)
    return None


def _byte_code(source: bytes, path: str, level: int) -> bytes | None:
    """Return a ``.pyc`` whole; None where the source cannot be compiled. Compiling runs nothing of it."""
    import importlib.util
    import marshal
    import warnings

    from patchctl.evidence.nesting import chains_too_long
    from patchctl.evidence.source import Source

    try:
        if chains_too_long(Source(source).text):
            return None  # the compiler of Python 3.10 may end the process
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = compile(source, path, "exec", dont_inherit=True, optimize=level)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return None
    header = importlib.util.MAGIC_NUMBER + _UNCHECKED_HASH + importlib.util.source_hash(source)
    return header + marshal.dumps(code)
