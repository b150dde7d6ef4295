"""What waits for the disk gets there, each inode once, and no descriptor is left open whatever happens."""

from __future__ import annotations

import errno
import os
from collections import Counter
from pathlib import Path

import pytest

from patchctl.transaction.unsynced import Unsynced


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Names of what was brought to the disk, and how often."""
    seen: Counter[str] = Counter()
    monkeypatch.setattr(os, "fsync", lambda fd: seen.update([Path(f"/proc/self/fd/{fd}").readlink().name]))
    return seen


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def add(unsynced: Unsynced, path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        unsynced.add(fd)
    finally:
        os.close(fd)


def test_many_files_get_there_and_few_are_held(tmp_path: Path, synced: Counter[str]) -> None:
    before = open_descriptors()
    with Unsynced() as unsynced:
        for number in range(1000):
            (tmp_path / str(number)).touch()
            add(unsynced, tmp_path / str(number))
            assert open_descriptors() - before < 200
        unsynced.settle()
    assert synced == Counter(map(str, range(1000)))
    assert open_descriptors() == before


def test_a_directory_that_is_added_often_waits_once(tmp_path: Path, synced: Counter[str]) -> None:
    with Unsynced() as unsynced:
        for _ in range(50):
            add(unsynced, tmp_path)
        unsynced.settle()
        unsynced.settle()
        assert synced == Counter([tmp_path.name])
        add(unsynced, tmp_path)
        unsynced.settle()
    assert synced == Counter({tmp_path.name: 2})


def test_an_error_reaches_the_caller_and_closes_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_fd: int) -> None:
        raise OSError(errno.EIO, "input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    before = open_descriptors()
    with Unsynced() as unsynced:
        for name in "abc":
            (tmp_path / name).touch()
            add(unsynced, tmp_path / name)
        with pytest.raises(OSError, match="input/output"):
            unsynced.settle()
        assert open_descriptors() == before + 2
    assert open_descriptors() == before
