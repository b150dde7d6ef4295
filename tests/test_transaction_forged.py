"""State that somebody forged: journals, undo links and directories that would lead out of the site do nothing."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from patchctl.errors import PatchctlError, TransactionError
from patchctl.model import sha256_hex
from patchctl.transaction import journal_state, locked, recover
from patchctl.transaction.journal import Journal, JournalEdit, Stage, decode_journal, encode_journal
from tests.transaction_tree import (
    ADDED,
    do_not_wait_for_the_disk,
    in_child,
    kill_at,
    litter,
    make_tree,
    picture,
    put,
    run,
    the_edits,
)

Forge = Callable[[dict[str, Any]], object]
SHA = sha256_hex(b"")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    do_not_wait_for_the_disk(monkeypatch)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A directory no journal may reach; it has the files that a roll-back of the tree would change."""
    for path, data in (("a.py", b"A = 2\n"), ("b.py", b"B = 2\n"), ("old.py", b"OLD = 2\n")):
        put(tmp_path, f"outside/{path}", data)
    return tmp_path / "outside"


@pytest.fixture
def half_done(tmp_path: Path) -> Path:
    """A site whose transaction was killed before the ledger took its place."""
    site = make_tree(tmp_path)
    in_child(lambda: run(site, the_edits(), kill_at("ledger")))
    return site


def forge(site: Path, change: Forge) -> None:
    """Rewrite the open journal."""
    file = site / ".patchctl/journal.json"
    document = json.loads(file.read_bytes())
    change(document)
    file.write_text(json.dumps(document))


def set_edit(index: int, key: str, value: object) -> Forge:
    return lambda document: document["edits"][index].update({key: value})


def nothing_happens(site: Path, outside: Path, code: str) -> None:
    """Every way to act on the journal is refused with ``code``, and neither site nor surroundings change."""
    before = picture(site), picture(outside)
    for attempt in (lambda: recover(str(site)), lambda: run(site, the_edits())):
        with pytest.raises(PatchctlError) as caught:
            attempt()
        assert caught.value.problem.code == code
        assert caught.value.problem.hint
        assert (picture(site), picture(outside)) == before


@pytest.mark.parametrize(
    "change",
    [
        set_edit(0, "path", "../outside/a.py"),
        set_edit(0, "path", "pkg/../../outside/a.py"),
        set_edit(0, "path", "/etc/passwd"),
        set_edit(0, "path", ""),
        set_edit(0, "path", None),
        set_edit(0, "path", "evil.pth"),
        set_edit(0, "path", "vllm-1.dist-info/RECORD"),
        set_edit(0, "path", ".patchctl/lock"),
        set_edit(0, "path", "pkg/b.py"),
        set_edit(0, "before", "../../../outside/a.py"),
        set_edit(0, "before", 1),
        set_edit(0, "after", "A" * 64),
        set_edit(0, "after", sha256_hex(b"A = 1\n")),
        set_edit(0, "mode", 0o4755),
        set_edit(0, "mode", 0o2755),
        set_edit(0, "mode", -1),
        set_edit(0, "mode", True),
        set_edit(0, "new_mode", 0o4755),
        set_edit(0, "mtime_ns", 1 << 94),
        set_edit(0, "link", ""),
        set_edit(0, "link", "a\0b"),
        set_edit(0, "new_link", "x" * 5000),
        set_edit(0, "new_link", 3),
        lambda document: document.update(grafts={"pkg": "relative"}),
        lambda document: document.update(grafts={"a/b": "/src"}),
        lambda document: document.update(grafts=["/src"]),
        set_edit(0, "mtime_ns", 1.5),
        set_edit(3, "created", ["../outside"]),
        set_edit(3, "created", ["other"]),
        set_edit(3, "created", [""]),
        set_edit(3, "created", "pkg"),
        set_edit(3, "prune", ["/"]),
        set_edit(3, "prune", [ADDED]),
        set_edit(6, "created", [".patchctl"]),
        set_edit(0, "owner", 0),
        set_edit(-1, "after", None),
        lambda document: document.update(transaction="../../outside"),
        lambda document: document.update(transaction="0" * 31 + "/"),
        lambda document: document.update(transaction=7),
        lambda document: document.update(format="1"),
        lambda document: document.update(format=True),
        lambda document: document.update(format=0),
        lambda document: document.update(stage="done"),
        lambda document: document.update(stage=["replace"]),
        lambda document: document.update(edits=[]),
        lambda document: document.update(edits={}),
        lambda document: document.update(extra=1),
        lambda document: document["edits"].reverse(),
        lambda document: document["edits"].append(3),
        lambda document: document["edits"].extend(document["edits"]),
        lambda document: document.clear(),
    ],
)
@pytest.mark.attack("forged-state")
def test_a_journal_that_asks_for_too_much_is_refused(half_done: Path, outside: Path, change: Forge) -> None:
    forge(half_done, change)
    with pytest.raises(TransactionError):
        journal_state(str(half_done))
    nothing_happens(half_done, outside, "damaged-journal")


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b"1" * 10_000, b'{"a": NaN}'])
@pytest.mark.attack("forged-state")
def test_bytes_that_are_no_journal_are_refused(half_done: Path, outside: Path, data: bytes) -> None:
    (half_done / ".patchctl/journal.json").write_bytes(data)
    nothing_happens(half_done, outside, "damaged-journal")


@pytest.mark.attack("forged-state")
def test_a_journal_larger_than_any_is_not_even_read(half_done: Path, outside: Path) -> None:
    with (half_done / ".patchctl/journal.json").open("r+b") as stream:
        stream.truncate(1 << 40)
    nothing_happens(half_done, outside, "damaged-journal")


def test_a_newer_journal_is_left_to_the_version_that_wrote_it(half_done: Path, outside: Path) -> None:
    forge(half_done, lambda document: document.update(format=2, hints=[]))
    nothing_happens(half_done, outside, "newer-journal")


def test_a_newer_layout_is_left_alone(half_done: Path, outside: Path) -> None:
    (half_done / ".patchctl/format").write_bytes(b"2\n")
    nothing_happens(half_done, outside, "newer-state")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/etc/passwd")])
@pytest.mark.attack("forged-state")
def test_anything_but_a_file_in_the_place_of_the_journal_is_refused(
    half_done: Path, outside: Path, make: Callable[[Path], None]
) -> None:
    journal = half_done / ".patchctl/journal.json"
    journal.unlink()
    make(journal)
    with pytest.raises(TransactionError):
        journal_state(str(half_done))
    nothing_happens(half_done, outside, "damaged-journal")


@pytest.mark.attack("forged-state")
def test_a_linked_state_directory_is_refused(half_done: Path, outside: Path) -> None:
    (half_done / ".patchctl").rename(outside / "state")
    (half_done / ".patchctl").symlink_to(outside / "state")
    with pytest.raises(TransactionError):
        journal_state(str(half_done))
    nothing_happens(half_done, outside, "untrusted-site")


@pytest.mark.attack("forged-state")
def test_a_parent_swapped_for_a_link_stops_the_roll_back(half_done: Path, outside: Path) -> None:
    (half_done / "pkg").rename(half_done / "moved")
    (half_done / "pkg").symlink_to(outside)
    nothing_happens(half_done, outside, "foreign-edit")
    (half_done / "pkg").unlink()
    (half_done / "moved").rename(half_done / "pkg")
    recover(str(half_done))
    assert (half_done / "pkg/a.py").read_bytes() == b"A = 1\n"
    assert litter(half_done) == []


@pytest.mark.parametrize("step", ["directories:0", "temp:1", "undo:0", "replace:0", "replace:1", "sync", "purge:0"])
def test_a_parent_swapped_for_a_link_in_mid_transaction_leads_nowhere(tmp_path: Path, outside: Path, step: str) -> None:
    site = make_tree(tmp_path)
    before = picture(outside)

    def swap(now: str) -> None:
        if now == step:
            (site / "pkg").rename(site / "moved")
            (site / "pkg").symlink_to(outside)

    with pytest.raises(PatchctlError):
        run(site, the_edits(), swap)
    assert picture(outside) == before
    (site / "pkg").unlink()
    (site / "moved").rename(site / "pkg")
    recover(str(site))
    for path in (site / "pkg").glob(".patchctl-*"):
        path.unlink()  # a directory moved away takes our temp files with it
    assert (site / "pkg/a.py").read_bytes() == b"A = 1\n"
    assert (site / "other/c.py").read_bytes() == b"C = 1\r\n"


@pytest.mark.parametrize("name", ["tmp", "objects", "patches"])
@pytest.mark.attack("forged-state")
def test_a_linked_directory_of_the_state_leads_nowhere(tmp_path: Path, outside: Path, name: str) -> None:
    site = make_tree(tmp_path)
    (site / ".patchctl").mkdir()
    (site / ".patchctl" / name).symlink_to(outside)
    before = picture(site), picture(outside)
    with pytest.raises(PatchctlError):
        run(site, the_edits())
    assert (picture(site), picture(outside)) == before


@pytest.mark.attack("forged-state")
def test_only_our_own_names_are_swept_and_no_link_is_followed(tmp_path: Path, outside: Path) -> None:
    site = make_tree(tmp_path)
    dead = "0123456789abcdef" * 2
    for path in (f"tmp/{dead}/0", f"tmp/{dead}/new", f"tmp/{dead}/theirs.txt", "tmp/theirs/0"):
        put(site, f".patchctl/{path}", b"")
    (site / f".patchctl/tmp/{'f' * 32}").symlink_to(outside)
    before = picture(outside)
    with locked(str(site)):
        pass
    left = sorted(str(path.relative_to(site)) for path in (site / ".patchctl/tmp").rglob("*"))
    assert left == [
        f".patchctl/tmp/{dead}",
        f".patchctl/tmp/{dead}/theirs.txt",
        f".patchctl/tmp/{'f' * 32}",
        ".patchctl/tmp/theirs",
        ".patchctl/tmp/theirs/0",
    ]
    assert picture(outside) == before


@pytest.mark.attack("forged-state")
def test_no_set_id_bit_comes_from_an_undo_link_or_a_journal(half_done: Path) -> None:
    (tmp,) = (half_done / ".patchctl/tmp").iterdir()
    for undo in tmp.iterdir():
        undo.chmod(0o6777)
    recover(str(half_done))
    for path in half_done.rglob("*.py"):
        assert not path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID), path
    assert (half_done / "pkg/a.py").read_bytes() == b"A = 1\n"


@pytest.mark.attack("forged-state")
def test_an_object_is_hashed_before_it_is_put_back(half_done: Path) -> None:
    (tmp,) = (half_done / ".patchctl/tmp").iterdir()
    for undo in tmp.iterdir():
        undo.unlink()
    for kept in (half_done / ".patchctl/objects").rglob("*"):
        if kept.is_file():
            kept.write_bytes(b"EVIL = 1\n")
    with pytest.raises(TransactionError) as caught:
        recover(str(half_done))
    assert caught.value.problem.code == "original-lost"
    assert b"EVIL" not in b"".join(path.read_bytes() for path in half_done.rglob("*.py"))


HASHES = st.one_of(st.none(), st.binary(max_size=3).map(sha256_hex))
LINKS = st.one_of(st.none(), st.text(min_size=1, max_size=8).filter(lambda text: "\0" not in text))
EDITS = st.builds(
    JournalEdit,
    path=st.from_regex(r"[a-z]{1,3}/[a-z]{1,8}\.py", fullmatch=True),
    before=HASHES,
    after=HASHES,
    created=st.just(()),
    prune=st.just(()),
    mode=st.one_of(st.none(), st.integers(0, 0o777)),
    mtime_ns=st.one_of(st.none(), st.integers(-(1 << 92), 1 << 92)),
    new_mode=st.one_of(st.none(), st.integers(0, 0o777)),
    link=LINKS,
    new_link=LINKS,
).filter(lambda edit: edit.before != edit.after or (edit.before is not None and edit.new_mode not in {None, edit.mode}))
LAST = JournalEdit(path=".patchctl/ledger.json", before=None, after=SHA)


@settings(deadline=None)
@given(
    edits=st.lists(EDITS, unique_by=lambda edit: edit.path, max_size=4),
    stage=st.sampled_from(Stage),
    grafted=st.booleans(),
)
def test_a_journal_reads_back_as_it_was_written(edits: list[JournalEdit], stage: Stage, grafted: bool) -> None:
    grafts = {"pkg": "/src/tree"} if grafted else {}
    journal = Journal(transaction="0a" * 16, stage=stage, edits=(*edits, LAST), grafts=grafts)
    assert decode_journal(encode_journal(journal)) == journal


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["format", "transaction", "stage", "edits", "path", "before"]), inner),
    ),
    max_leaves=12,
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.one_of(st.binary(), JSON.map(lambda value: json.dumps(value).encode())))
def test_no_bytes_make_the_journal_reader_fail_otherwise(data: bytes) -> None:
    with pytest.raises(TransactionError):
        decode_journal(data)
