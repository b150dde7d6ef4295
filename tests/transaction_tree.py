"""A small site for transactions: three changes, an addition, a deletion, a change of mode, and the ledger."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from patchctl.model import EditKind, FileEdit, sha256_hex
from patchctl.transaction import Commit, locked

SECOND = 1_000_000_000
OLD = 1_700_000_000 * SECOND + 123_456_789
NEW = 1_800_000_000 * SECOND

FILES: dict[str, tuple[bytes, int]] = {
    "pkg/a.py": (b"A = 1\n", 0o644),
    "pkg/b.py": (b"B = 1\n", 0o600),
    "other/c.py": (b"C = 1\r\n", 0o755),
    "other/old.py": (b"OLD = 1\n", 0o640),
    "other/tool.py": (b"T = 1\n", 0o640),
    "other/bystander.py": (b"X = 1\n", 0o644),
}
ADDED = "pkg/new/deep/d.py"
PATCH = b"--- a\n+++ b\n"
LEDGER = b'{"the": "ledger"}\n'
LEDGER_PATH = ".patchctl/ledger.json"
RECORD_PATH = f".patchctl/history/00000001-{'0' * 32}.json"


def make_tree(where: Path) -> Path:
    """Make ``where/site``; every file has its own mode and a modification time with nanoseconds."""
    site = where / "site"
    for path, (data, mode) in FILES.items():
        put(site, path, data, mode=mode, mtime_ns=OLD)
    return site


def put(site: Path, path: str, data: bytes, *, mode: int = 0o644, mtime_ns: int = OLD) -> Path:
    """Write one file below the site."""
    file = site / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    file.chmod(mode)
    os.utime(file, ns=(mtime_ns, mtime_ns))
    return file


def modify(path: str, before: bytes, after: bytes, *, mode: int | None = None, mtime_ns: int | None = NEW) -> FileEdit:
    """Make a MODIFY edit."""
    return FileEdit(path=path, kind=EditKind.MODIFY, before=before, after=after, mode=mode, mtime_ns=mtime_ns)


def change_mode(path: str, data: bytes, before_mode: int, mode: int) -> FileEdit:
    """Make a MODIFY edit that keeps bytes and time."""
    kind = EditKind.MODIFY
    return FileEdit(path=path, kind=kind, before=data, after=data, before_mode=before_mode, mode=mode, mtime_ns=OLD)


def add(path: str, after: bytes, *, mtime_ns: int | None = NEW, mode: int | None = None) -> FileEdit:
    """Make an ADD edit."""
    return FileEdit(path=path, kind=EditKind.ADD, before=None, after=after, mtime_ns=mtime_ns, mode=mode)


def delete(path: str, before: bytes, *, prune: tuple[str, ...] = ()) -> FileEdit:
    """Make a DELETE edit."""
    return FileEdit(path=path, kind=EditKind.DELETE, before=before, after=None, prune=prune)


def ledger(after: bytes = LEDGER, *, before: bytes | None = None) -> FileEdit:
    """Make the edit that ends a transaction."""
    if before is None:
        return add(LEDGER_PATH, after, mtime_ns=None)
    return modify(LEDGER_PATH, before, after, mtime_ns=None)


def the_edits() -> list[FileEdit]:
    """Return the whole transaction on the tree."""
    return [
        modify("pkg/a.py", b"A = 1\n", b"A = 2\n"),
        modify("pkg/b.py", b"B = 1\n", b"B = 2\n"),
        modify("other/c.py", b"C = 1\r\n", b"C = 22\r\n"),
        add(ADDED, b"D = 1\n"),
        delete("other/old.py", b"OLD = 1\n"),
        change_mode("other/tool.py", b"T = 1\n", 0o640, 0o750),
        add(f".patchctl/patches/{sha256_hex(PATCH)}", PATCH, mtime_ns=None),
        add(RECORD_PATH, b"{}\n", mtime_ns=None),
        ledger(),
    ]


def run(site: Path, edits: list[FileEdit], checkpoint: Callable[[str], None] | None = None) -> Commit:
    """Lock the site and run one transaction."""
    if checkpoint is None:
        with locked(str(site)) as held:
            return held.run(edits)
    with locked(str(site), checkpoint=checkpoint) as held:
        return held.run(edits)


def do_not_wait_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let fsync do nothing: a killed process loses nothing that it wrote, and no test here cuts the power."""
    monkeypatch.setattr(os, "fsync", lambda _fd: None)


def picture(site: Path) -> dict[str, tuple[object, ...]]:
    """Return everything below the site but patchctl's state: kind, mode, owner, bytes and time of files."""
    found: dict[str, tuple[object, ...]] = {}
    for directory, names, files in os.walk(site):
        if directory == str(site) and ".patchctl" in names:
            names.remove(".patchctl")
        for name in names + files:
            path = Path(directory, name)
            status = path.lstat()
            what: tuple[object, ...] = (stat.filemode(status.st_mode), status.st_uid, status.st_gid)
            if stat.S_ISREG(status.st_mode):
                what = (*what, path.read_bytes(), status.st_mtime_ns)
            found[str(path.relative_to(site))] = what
    return found


def litter(site: Path, *, recorded: bool = False) -> list[str]:
    """Return whatever a settled transaction must not leave; ``recorded``: a verb kept that it rolled one back."""
    state = site / ".patchctl"
    left = [str(path.relative_to(site)) for path in site.rglob(".patchctl-*")]
    for path in state.rglob("*") if state.is_dir() else ():
        parts = path.relative_to(state).parts
        # A record is there exactly when its transaction is committed; its directory may stay.
        is_record = parts[0] == "history" and (recorded or len(parts) == 1 or (state / "ledger.json").exists())
        if not is_record and parts[0] not in {"lock", "format", "ledger.json", "objects", "patches"}:
            left.append(str(path.relative_to(site)))
    return left


def in_child(action: Callable[[], object]) -> int:
    """Run ``action`` in a process of its own and return how it ended: 0, or minus the signal that killed it."""
    pid = os.fork()
    if pid == 0:
        try:
            action()
        except BaseException:
            os._exit(99)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def kill_at(wanted: str) -> Callable[[str], None]:
    """Return a checkpoint that kills its process, as ``kill -9`` does, before the step ``wanted``."""

    def checkpoint(step: str) -> None:
        if step == wanted:
            os.kill(os.getpid(), signal.SIGKILL)

    return checkpoint


def steps_of(action: Callable[[Callable[[str], None]], object]) -> list[str]:
    """Return the steps that ``action`` goes through."""
    steps: list[str] = []
    action(steps.append)
    assert len(set(steps)) == len(steps), "two steps have one name"
    return steps
