"""A transaction that goes well: what changes, what does not, and how it is taken back."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from patchctl.ledger import object_path, patch_path, read_object, read_patch
from patchctl.model import sha256_hex
from patchctl.transaction import journal_state, locked, missing_directories, recover
from tests.transaction_tree import (
    ADDED,
    FILES,
    LEDGER,
    LEDGER_PATH,
    NEW,
    OLD,
    PATCH,
    add,
    change_mode,
    delete,
    ledger,
    litter,
    make_tree,
    modify,
    picture,
    put,
    run,
    the_edits,
)


def test_all_edits_are_done_and_nothing_else(tmp_path: Path) -> None:
    site = make_tree(tmp_path)
    before = picture(site)
    commit = run(site, the_edits())
    after = picture(site)
    assert (site / "pkg/a.py").read_bytes() == b"A = 2\n"
    assert (site / "other/c.py").read_bytes() == b"C = 22\r\n"
    assert (site / ADDED).read_bytes() == b"D = 1\n"
    assert not (site / "other/old.py").exists()
    assert (site / LEDGER_PATH).read_bytes() == LEDGER
    assert (site / "other/tool.py").stat().st_mode & 0o777 == 0o750
    assert after["other/tool.py"][3:] == before["other/tool.py"][3:], "bytes and time stay"
    touched = {"pkg/a.py", "pkg/b.py", "other/c.py", "other/old.py", "other/tool.py"}
    assert {path: before[path] for path in before.keys() - touched} == {
        path: after[path] for path in before.keys() - touched
    }
    assert litter(site) == []
    assert commit.paths == ("pkg/a.py", "pkg/b.py", "other/c.py", ADDED, "other/old.py", "other/tool.py")
    assert commit.created == ("pkg/new", "pkg/new/deep")
    assert commit.notes == ()


def test_a_new_file_keeps_mode_and_owner_and_takes_the_time_of_its_edit(tmp_path: Path) -> None:
    site = make_tree(tmp_path)
    if os.geteuid() == 0:
        os.chown(site / "pkg/b.py", 1234, 2345)
    was = (site / "pkg/b.py").stat()
    run(site, the_edits())
    now = (site / "pkg/b.py").stat()
    assert (stat.S_IMODE(now.st_mode), now.st_uid, now.st_gid) == (0o600, was.st_uid, was.st_gid)
    assert now.st_mtime_ns == NEW
    assert stat.S_IMODE((site / "other/c.py").stat().st_mode) == 0o755
    assert stat.S_IMODE((site / ADDED).stat().st_mode) == 0o644


def test_a_mode_in_the_edit_wins_without_its_set_id_bits(tmp_path: Path) -> None:
    site = make_tree(tmp_path)
    (site / "pkg/b.py").chmod(0o4755)
    run(
        site,
        [modify("pkg/a.py", b"A = 1\n", b"A = 2\n", mode=0o4711), modify("pkg/b.py", b"B = 1\n", b"B\n"), ledger()],
    )
    assert stat.S_IMODE((site / "pkg/a.py").stat().st_mode) == 0o711
    assert stat.S_IMODE((site / "pkg/b.py").stat().st_mode) == 0o755


def test_without_a_time_the_clock_gives_it(tmp_path: Path) -> None:
    site = make_tree(tmp_path)
    run(site, [modify("pkg/a.py", b"A = 1\n", b"A = 2\n", mtime_ns=None), ledger()])
    assert (site / "pkg/a.py").stat().st_mtime_ns not in {OLD, NEW}


def test_extended_attributes_are_carried_over_but_capabilities_are_not(tmp_path: Path) -> None:
    site = make_tree(tmp_path)
    file = site / "pkg/a.py"
    try:
        os.setxattr(file, "user.origin", b"wheel")
    except OSError as error:
        pytest.skip(f"no extended attributes here: {error}")
    if os.geteuid() == 0:
        # cap_net_raw, permitted and effective, revision 2
        os.setxattr(file, "security.capability", bytes.fromhex("0100000200200000000000000000000000000000"))
    run(site, [modify("pkg/a.py", b"A = 1\n", b"A = 2\n"), ledger()])
    assert os.getxattr(file, "user.origin") == b"wheel"
    assert "security.capability" not in os.listxattr(file)


def test_taking_it_back_restores_bytes_mode_and_time(tmp_path: Path) -> None:
    site = make_tree(tmp_path)
    before = picture(site)
    run(site, the_edits())
    modes = {path: mode for path, (_, mode) in FILES.items()}
    back = [
        modify("pkg/a.py", b"A = 2\n", b"A = 1\n", mode=modes["pkg/a.py"], mtime_ns=OLD),
        modify("pkg/b.py", b"B = 2\n", b"B = 1\n", mode=modes["pkg/b.py"], mtime_ns=OLD),
        modify("other/c.py", b"C = 22\r\n", b"C = 1\r\n", mode=modes["other/c.py"], mtime_ns=OLD),
        delete(ADDED, b"D = 1\n", prune=("pkg/new/deep", "pkg/new")),
        add("other/old.py", b"OLD = 1\n", mode=modes["other/old.py"], mtime_ns=OLD),
        change_mode("other/tool.py", b"T = 1\n", 0o750, 0o640),
        ledger(b"{}\n", before=LEDGER),
    ]
    run(site, back)
    assert picture(site) == before
    assert (site / LEDGER_PATH).read_bytes() == b"{}\n"
    assert litter(site) == []


def test_pruning_takes_an_emptied_pycache_and_stops_at_a_directory_in_use(tmp_path: Path) -> None:
    site = make_tree(tmp_path)
    run(site, [add(ADDED, b"D = 1\n"), ledger()])
    put(site, "pkg/new/deep/__pycache__/d.cpython-311.pyc", b"")
    put(site, "pkg/new/theirs.txt", b"")
    commit = run(site, [delete(ADDED, b"D = 1\n", prune=("pkg/new/deep", "pkg/new")), ledger(b"{}\n", before=LEDGER)])
    assert not (site / "pkg/new/deep").exists()
    assert (site / "pkg/new/theirs.txt").exists()
    assert commit.notes == ()


def test_missing_directories_are_those_that_an_addition_makes_deepest_first(tmp_path: Path) -> None:
    site = make_tree(tmp_path)
    assert missing_directories(str(site), ADDED) == ("pkg/new/deep", "pkg/new")
    assert missing_directories(str(site), "pkg/new.py") == ()
    assert missing_directories(str(site), "top.py") == ()
    assert not (site / "pkg/new").exists()
    created = run(site, [add(ADDED, b"D = 1\n"), ledger()]).created
    assert set(created) == {"pkg/new/deep", "pkg/new"}


def test_originals_results_and_diffs_can_be_read_back(tmp_path: Path) -> None:
    site = make_tree(tmp_path)
    run(site, the_edits())
    for data in (b"A = 1\n", b"A = 2\n", b"OLD = 1\n", b"D = 1\n"):
        assert read_object(str(site), sha256_hex(data)) == data
    assert read_patch(str(site), sha256_hex(PATCH)) == PATCH
    assert not list((site / ".patchctl").rglob("*.py"))


def test_a_damaged_object_is_stored_anew(tmp_path: Path) -> None:
    site = make_tree(tmp_path)
    damaged = put(site, object_path(sha256_hex(b"A = 1\n")), b"A = 0\n")
    run(site, the_edits())
    assert damaged.read_bytes() == b"A = 1\n"


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_state_is_readable_by_everyone_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    site = make_tree(tmp_path)
    old = os.umask(mask)
    try:
        run(site, the_edits())
    finally:
        os.umask(old)
    state = [site / ".patchctl", *(site / ".patchctl").rglob("*")]
    assert len(state) > 10
    for path in (*state, site / "pkg/new", site / "pkg/new/deep", site / ADDED):
        assert stat.S_IMODE(path.stat().st_mode) == (0o755 if path.is_dir() else 0o644), path


def test_a_state_directory_closed_to_others_is_opened(tmp_path: Path) -> None:
    site = make_tree(tmp_path)
    (site / ".patchctl").mkdir(mode=0o700)
    run(site, the_edits())
    assert stat.S_IMODE((site / ".patchctl").stat().st_mode) == 0o755


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_as_root_new_files_belong_to_the_group_of_the_site(tmp_path: Path) -> None:
    site = make_tree(tmp_path)
    os.chown(site, 0, 4321)
    run(site, the_edits())
    for path in (
        site / ".patchctl",
        site / ".patchctl/lock",
        site / LEDGER_PATH,
        site / patch_path(sha256_hex(PATCH)),
        site / ADDED,
    ):
        assert path.stat().st_gid == 4321, path


def test_a_hard_linked_sibling_keeps_its_bytes(tmp_path: Path) -> None:
    """Installers that link their cache into environments share the inode with all of them."""
    site = make_tree(tmp_path)
    cache = tmp_path / "cache.py"
    os.link(site / "pkg/a.py", cache)
    was = cache.stat()
    run(site, the_edits())
    assert cache.read_bytes() == b"A = 1\n"
    assert (cache.stat().st_ino, cache.stat().st_mtime_ns, cache.stat().st_mode) == (
        was.st_ino,
        was.st_mtime_ns,
        was.st_mode,
    )
    assert cache.stat().st_nlink == 1


def test_after_a_roll_back_the_file_is_the_same_inode_again(tmp_path: Path) -> None:
    site = make_tree(tmp_path)
    inode = (site / "pkg/a.py").stat().st_ino

    def fail(step: str) -> None:
        if step == "ledger":
            raise RuntimeError(step)

    with pytest.raises(RuntimeError):
        run(site, the_edits(), fail)
    assert (site / "pkg/a.py").stat().st_ino == inode


def test_several_transactions_run_under_one_lock(tmp_path: Path) -> None:
    site = make_tree(tmp_path)
    with locked(str(site)) as held:
        assert held.recovered is None
        first = held.run([modify("pkg/a.py", b"A = 1\n", b"A = 2\n"), ledger()])
        second = held.run([modify("pkg/a.py", b"A = 2\n", b"A = 3\n"), ledger(b"{}\n", before=LEDGER)])
    assert first.id != second.id
    assert (site / "pkg/a.py").read_bytes() == b"A = 3\n"


def test_looking_for_a_journal_writes_nothing(tmp_path: Path) -> None:
    site = make_tree(tmp_path)
    assert journal_state(str(site)) is None
    assert recover(str(site)) is None
    assert not (site / ".patchctl").exists()
    run(site, the_edits())
    times = {path: path.stat().st_mtime_ns for path in (site / ".patchctl").rglob("*")}
    assert journal_state(str(site)) is None
    assert recover(str(site)) is None
    assert {path: path.stat().st_mtime_ns for path in (site / ".patchctl").rglob("*")} == times


def test_state_holds_no_time_and_no_process(tmp_path: Path) -> None:
    """Two images built alike must come out alike."""
    sites = [make_tree(tmp_path / name) for name in ("one", "two")]
    for site in sites:
        run(site, the_edits())
    one, two = (
        {str(path.relative_to(site)): path.read_bytes() for path in (site / ".patchctl").rglob("*") if path.is_file()}
        for site in sites
    )
    assert one == two


@pytest.mark.parametrize(
    "edits",
    [
        [],
        [modify("pkg/a.py", b"A = 1\n", b"A = 2\n")],
        [ledger(), modify("pkg/a.py", b"A = 1\n", b"A = 2\n")],
        [modify("pkg/a.py", b"A = 1\n", b"A = 1\n"), ledger()],
        [modify("pkg/a.py", b"A = 1\n", b"A = 2\n"), delete("pkg/a.py", b"A = 2\n"), ledger()],
        [delete("pkg/a.py", b"A = 1\n", prune=("other",)), ledger()],
    ],
    ids=["nothing", "no ledger", "ledger first", "no change", "one file twice", "prune elsewhere"],
)
def test_what_is_no_transaction_is_a_mistake_of_the_caller(tmp_path: Path, edits: list[object]) -> None:
    site = make_tree(tmp_path)
    before = picture(site)
    with locked(str(site)) as held, pytest.raises(ValueError, match=r"transaction|changes nothing|on the way"):
        held.run(edits)  # type: ignore[arg-type]
    assert picture(site) == before
    assert litter(site) == []
