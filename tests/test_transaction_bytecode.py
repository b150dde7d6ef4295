"""Byte code of a changed source goes, of every tag and level; nothing else does, and no link is followed."""

from __future__ import annotations

import os
import py_compile
import subprocess
import sys
from pathlib import Path

import pytest

from patchctl.errors import TransactionError
from patchctl.transaction import locked
from tests.transaction_tree import (
    LEDGER,
    OLD,
    add,
    delete,
    in_child,
    kill_at,
    ledger,
    litter,
    make_tree,
    modify,
    picture,
    put,
    run,
    the_edits,
)

CHANGE_A = modify("pkg/a.py", b"A = 1\n", b"A = 2\n")
GOES = [
    "pkg/a.pyc",
    "pkg/__pycache__/a.cpython-310.pyc",
    "pkg/__pycache__/a.cpython-311.opt-1.pyc",
    "pkg/__pycache__/a.cpython-311.opt-2.pyc",
    "pkg/__pycache__/a.pypy310.pyc",
]
STAYS = [
    "pkg/__pycache__/aa.cpython-311.pyc",
    "pkg/__pycache__/a.b.cpython-311.pyc",
    "pkg/__pycache__/a.txt",
    "pkg/__pycache__/a.cpython-311.pyc.140",
    "pkg/__pycache__/b.cpython-311.pyc",
    "pkg/__pycache__/a..pyc",
    "other/__pycache__/a.cpython-311.pyc",
    "pkg/aa.pyc",
]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return make_tree(tmp_path)


def header(flags: int) -> bytes:
    """The first half of a .pyc (PEP 552): magic number and flags."""
    return b"\xa7\r\r\n" + flags.to_bytes(4, "little")


def test_every_tag_and_level_goes_and_nothing_else(site: Path) -> None:
    for path in GOES + STAYS:
        put(site, path, b"")
    run(site, [CHANGE_A, ledger()])
    assert [path for path in GOES if (site / path).exists()] == []
    assert [path for path in STAYS if not (site / path).exists()] == []


def test_it_goes_for_deleted_and_added_files_too(site: Path) -> None:
    paths = [put(site, f"other/__pycache__/{stem}.cpython-311.pyc", b"") for stem in ("old", "fresh")]
    run(site, [delete("other/old.py", b"OLD = 1\n"), add("other/fresh.py", b""), ledger()])
    assert not any(path.exists() for path in paths)


def test_it_goes_again_after_a_roll_back(site: Path) -> None:
    """An interpreter may have compiled the new text in between."""

    def compile_and_fail(step: str) -> None:
        if step == "ledger":
            put(site, "pkg/__pycache__/a.cpython-311.pyc", b"")
            raise RuntimeError(step)

    with pytest.raises(RuntimeError):
        run(site, [CHANGE_A, ledger()], compile_and_fail)
    assert not (site / "pkg/__pycache__/a.cpython-311.pyc").exists()


def test_files_without_byte_code_leave_the_cache_alone(site: Path) -> None:
    put(site, "pkg/a.json", b"{}")
    kept = put(site, "pkg/__pycache__/a.cpython-311.pyc", b"")
    run(site, [modify("pkg/a.json", b"{}", b"[]"), ledger()])
    assert kept.exists()


@pytest.mark.attack("purge-links")
def test_a_linked_pycache_is_left_alone_and_mentioned(site: Path, tmp_path: Path) -> None:
    elsewhere = put(tmp_path, "elsewhere/a.cpython-311.pyc", b"")
    (site / "pkg/__pycache__").symlink_to(elsewhere.parent)
    commit = run(site, [CHANGE_A, ledger()])
    assert elsewhere.exists()
    assert "link" in commit.notes[0]


@pytest.mark.attack("purge-links")
def test_linked_byte_code_is_unlinked_not_followed(site: Path, tmp_path: Path) -> None:
    elsewhere = put(tmp_path, "elsewhere.pyc", b"")
    (site / "pkg/__pycache__").mkdir()
    link = site / "pkg/__pycache__/a.cpython-311.pyc"
    link.symlink_to(elsewhere)
    run(site, [CHANGE_A, ledger()])
    assert elsewhere.exists()
    assert not link.is_symlink()


@pytest.mark.parametrize("spelling", ["real", "linked"])
def test_the_mirror_below_a_pycache_prefix_is_purged(site: Path, tmp_path: Path, spelling: str) -> None:
    (tmp_path / "link").symlink_to(site)
    named = site if spelling == "real" else tmp_path / "link"
    prefix = tmp_path / "prefix"
    mirror = str(named / "pkg").lstrip("/")
    gone = put(prefix, f"{mirror}/a.cpython-311.opt-1.pyc", b"")
    kept = put(prefix, f"{mirror}/b.cpython-311.pyc", b"")
    with locked(str(tmp_path / "link"), pycache_prefix=str(prefix)) as held:
        assert held.run([CHANGE_A, ledger()]).notes == ()
    assert not gone.exists()
    assert kept.exists()


@pytest.mark.attack("purge-links")
def test_a_link_on_the_way_to_the_mirror_is_not_followed(site: Path, tmp_path: Path) -> None:
    prefix = tmp_path / "prefix"
    elsewhere = put(tmp_path, "elsewhere/pkg/a.cpython-311.pyc", b"")
    where = prefix / str(site).lstrip("/")
    where.parent.mkdir(parents=True)
    where.symlink_to(elsewhere.parent.parent)
    with locked(str(site), pycache_prefix=str(prefix)) as held:
        commit = held.run([CHANGE_A, ledger()])
    assert elsewhere.exists()
    assert "link" in commit.notes[0]


def test_a_prefix_that_is_not_there_is_no_problem(site: Path, tmp_path: Path) -> None:
    with locked(str(site), pycache_prefix=str(tmp_path / "absent")) as held:
        assert held.run([CHANGE_A, ledger()]).notes == ()


def test_recovery_purges_the_mirror_too(site: Path, tmp_path: Path) -> None:
    in_child(lambda: run(site, [CHANGE_A, ledger()], kill_at("ledger")))
    stale = put(tmp_path / "prefix", f"{str(site / 'pkg').lstrip('/')}/a.cpython-311.pyc", b"")
    with locked(str(site), pycache_prefix=str(tmp_path / "prefix")):
        assert not stale.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make another user's byte code")
class TestByteCodeOfAnotherUser:
    """Root imported first: its byte code lies in a directory that the owner of the sources cannot write."""

    def attempt(self, site: Path) -> int:
        for path in (site, *site.rglob("*")):
            os.chown(path, 65534, 65534)
        for path in (site / "pkg/__pycache__", *(site / "pkg/__pycache__").iterdir()):
            os.chown(path, 0, 0)
        inside = os.open(site, os.O_RDONLY)

        def as_owner() -> None:
            os.fchdir(inside)
            os.setgid(65534)
            os.setuid(65534)
            try:
                commit = run(Path(), [CHANGE_A, ledger()])
            except TransactionError as error:
                os._exit(7 if "byte code" in str(error) else 8)
            assert "the next import renews it" in commit.notes[0]

        try:
            return in_child(as_owner)
        finally:
            os.close(inside)

    @pytest.mark.parametrize("flags", [0b00, 0b11], ids=["by time", "by checked hash"])
    def test_what_is_checked_against_the_source_may_stay(self, site: Path, flags: int) -> None:
        put(site, "pkg/__pycache__/a.cpython-311.pyc", header(flags) + bytes(8))
        assert self.attempt(site) == 0
        assert (site / "pkg/a.py").read_bytes() == b"A = 2\n"

    @pytest.mark.parametrize("data", [header(0b01) + bytes(8), None], ids=["unchecked hash", "unreadable"])
    def test_what_would_run_unchecked_rolls_the_transaction_back(self, site: Path, data: bytes | None) -> None:
        file = put(site, "pkg/__pycache__/a.cpython-311.pyc", data or b"", mode=0o644 if data else 0o600)
        before = picture(site)
        assert self.attempt(site) == 7
        assert {path: what[3:] for path, what in picture(site).items()} == {
            path: what[3:] for path, what in before.items()
        }
        assert file.exists()
        assert litter(site) == []


@pytest.mark.parametrize("mode", [mode.name for mode in py_compile.PycInvalidationMode])
def test_an_interpreter_runs_the_text_that_is_there(site: Path, mode: str) -> None:
    """Same size and one second: only the purge and the new time keep the old code from running again."""

    def runs() -> bytes:
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        return subprocess.run(
            [sys.executable, "-c", "import pkg.a; print(pkg.a.A)"],
            cwd=site,
            env=environment,
            capture_output=True,
            check=True,
        ).stdout

    def compile_it() -> None:
        py_compile.compile(str(site / "pkg/a.py"), invalidation_mode=py_compile.PycInvalidationMode[mode])

    compile_it()
    assert runs() == b"1\n"
    run(site, [modify("pkg/a.py", b"A = 1\n", b"A = 2\n"), ledger()])
    assert runs() == b"2\n"
    compile_it()
    run(site, [modify("pkg/a.py", b"A = 2\n", b"A = 1\n", mtime_ns=OLD), ledger(b"{}\n", before=LEDGER)])
    assert runs() == b"1\n"


def test_the_whole_transaction_purges_whatever_it_edits(site: Path) -> None:
    stale = [
        put(site, f"{directory}/__pycache__/{stem}.cpython-313.pyc", b"")
        for directory, stem in (("pkg", "a"), ("pkg", "b"), ("other", "c"), ("other", "old"))
    ]
    kept = put(site, "other/__pycache__/bystander.cpython-313.pyc", b"")
    run(site, the_edits())
    assert not any(path.exists() for path in stale)
    assert kept.exists()
