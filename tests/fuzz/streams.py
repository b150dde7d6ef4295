"""What must hold of wheels and logs of any bytes at all; diffs are in ``oracles``, documents in ``readers``.

Each oracle takes bytes, and raises AssertionError, or whatever else the reader should not have raised.
"""

from __future__ import annotations

import io
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from patchctl.errors import PatchctlError, TargetError
from patchctl.logs import open_log
from patchctl.logs.holes import BLOCK
from patchctl.logs.opening import LogError
from patchctl.model import row_sha256, sha256_hex
from patchctl.signals import Counted, date_of
from patchctl.target import opened_candidate
from patchctl.target.wheel import wheel_tree
from tests.log_lines import WRITTEN, counted
from tests.wheel_tricks import FILE_NAME

MOST_PLACES = 64
"""Files of a wheel that are read; a mutated one has no more than its seed."""
SMALL = 1 << 13
"""Bytes of a log from which on its envelope is told before all of it is there."""
REFUSALS = {"unreadable-wheel", "unsafe-wheel", "wrong-record", "no-distribution"}


@contextmanager
def _written(name: str, data: bytes) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="patchctl-fuzz-"))
    try:
        path = folder / name
        path.write_bytes(data)
        yield path
    finally:
        shutil.rmtree(folder)


def check_wheel(data: bytes) -> bool:
    """Open ``data`` as a candidate: it is refused, or what is read is what zipfile, and so pip, would install.

    Returns:
        Whether it was read.
    """
    with _written(FILE_NAME, data) as path:
        try:
            with opened_candidate(str(path), names={"vllm"}, environ={}) as found, wheel_tree(str(path)) as tree:
                archive = tree._archive
                _check_names(data, archive.places)
                for place, member in list(archive.places.items())[:MOST_PLACES]:
                    _check_file(data, archive, place, member)
                snapshot = found.tree.read(list(archive.places)[:MOST_PLACES])
                assert all(live is not None for live in snapshot.files.values())
        except TargetError as error:
            problem = error.problem
            assert problem.code in REFUSALS, problem
            assert problem.message.startswith(str(path))
            assert problem.hint
            return False
    return True


def _check_names(data: bytes, places: object) -> None:
    assert isinstance(places, dict)
    names = zipfile.ZipFile(io.BytesIO(data)).namelist()
    assert len(names) == len(set(names))
    for place in places:
        assert not {"", ".", ".."} & set(place.split("/")), place
        assert not any(character < " " or character == "\\" for character in place), place
        parents = place.split("/")[:-1]
        assert not any("/".join(parents[:depth]) in places for depth in range(1, len(parents) + 1)), place


def _check_file(data: bytes, archive: object, place: str, member: str) -> None:
    try:
        file = archive.read(place)  # type: ignore[attr-defined]
    except TargetError as error:
        assert error.problem.code in REFUSALS, error.problem  # noqa: PT017
        return
    assert file is not None
    assert file.data == zipfile.ZipFile(io.BytesIO(data)).read(member), place
    assert sha256_hex(file.data) == row_sha256(archive.listed[member]), place  # type: ignore[attr-defined]


def check_log(data: bytes) -> Counted:
    """Count ``data`` as a log, in one piece and in many: nothing is raised, and the counts add up."""
    step = 1 + (len(data) and data[-1]) * 3
    found = counted(data)
    for by in ("port", "pid"):
        assert counted(data, by=by).entries[0].lines == found.entries[0].lines
    pieces = counted(data, step=step)
    if len(data) < SMALL:
        assert pieces == found
    assert found.size == len(data)
    (entry,) = found.entries
    lines = data.count(b"\n") + 1
    assert 0 <= entry.lines <= lines
    assert sum(count for _, count in found.requests) <= lines
    assert entry.lines == sum(count for _, count in entry.instances) == sum(count for *_, count in entry.cells)
    assert entry.lines == entry.undated + sum(count for _, count in entry.hours)
    assert all(len(label) <= 200 for table in (entry.kinds, entry.instances, entry.writers) for label, _ in table)
    assert (entry.first is None) == (entry.last is None)
    for stamp in (entry.first, entry.last):
        if stamp is not None:
            year, month, day = date_of(stamp.second // 86_400)
            assert -1 <= year <= 10_000
            assert 1 <= month <= 12
            assert 1 <= day <= 31
    return found


def check_packed(data: bytes) -> bytes | None:
    """Unpack ``data`` as a log: blocks of a bounded size, or LogError.

    Returns:
        What it unpacked to, the first megabytes; None: it is damaged.
    """
    out = []
    with _written("x.log", data) as path:
        log = open_log(str(path))
        try:
            read: list[int] = []
            for number, block in enumerate(log.blocks(read.append)):
                assert 0 < len(block) <= BLOCK or not data
                if number < 4:
                    out.append(block)
                if number > 64:
                    break
            else:
                assert sum(read) == path.stat().st_size or data[:2] == b"\x1f\x8b" or data[:6] == b"\xfd7zXZ\0"
        except LogError as error:
            assert isinstance(error, PatchctlError)  # noqa: PT017
            assert error.problem.message.startswith(str(path))  # noqa: PT017
            return None
        finally:
            log.close()
    assert counted(b"".join(out)[: 1 << 16], written=WRITTEN).entries
    return b"".join(out)
