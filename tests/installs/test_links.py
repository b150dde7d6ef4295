"""Hard links into caches are broken, symbolic links replaced and put back; nothing behind either ever changes."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from patchctl.errors import RefusedError, TransactionError
from patchctl.model import EditKind, FileEdit, Link
from patchctl.transaction import recover
from tests.installs.making import BASE, FILES, NEW, PATCHED, PATH, Uv, desk_on, fresh_python, make_wheel
from tests.running import Desk, tree
from tests.sites import install, make_site, write
from tests.test_transaction_calls import number_of_calls, watch
from tests.transaction_tree import do_not_wait_for_the_disk, in_child, kill_at, ledger, litter, run

ADDED = "small/new/fresh.py"


@pytest.fixture
def uv(tmp_path: Path) -> Uv:
    return Uv(tmp_path / "uv")


def inodes(root: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.lstat().st_ino, path.lstat().st_mtime_ns) for path in sorted(root.rglob("*"))}


def unchanged(before: dict[str, object], after: dict[str, object], but: set[str]) -> bool:
    return {path: it for path, it in before.items() if path not in but} == {
        path: it for path, it in after.items() if path not in but
    }


@pytest.mark.slow
def test_c01_a_hard_linked_cache_and_the_other_environment_keep_their_bytes(uv: Uv, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path)
    one, two = (uv.environment(name, wheel, "hardlink") for name in ("one", "two"))
    if (one / PATH).stat().st_nlink < 3:
        pytest.skip("uv made no hard links here")
    desk = desk_on(one, tmp_path)
    before = tree(one)
    others = {where: (tree(where), inodes(where)) for where in (two, uv.cache)}
    for verb, found in ((["apply"], PATCHED), (["revert", "--all"], BASE)):
        assert desk.run(*verb).code == 0
        assert (one / PATH).read_bytes() == found
        assert (one / PATH).stat().st_nlink == 1
        for where, (content, places) in others.items():
            assert tree(where) == content
            assert inodes(where) == places
    assert tree(one) == before


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["copy", "clone"])
def test_c01_copies_and_clones_of_uv_are_patched_like_any_file(uv: Uv, tmp_path: Path, mode: str) -> None:
    site = uv.environment("one", make_wheel(tmp_path), mode)
    desk = desk_on(site, tmp_path)
    before, cache = tree(site), tree(uv.cache)
    assert desk.run("apply").code == 0
    assert desk.run("check").code == 0
    assert desk.run("revert", "--all").code == 0
    assert (tree(site), tree(uv.cache)) == (before, cache)


@pytest.mark.slow
def test_c02_links_into_uvs_cache_are_replaced_and_put_back_as_links(uv: Uv, tmp_path: Path) -> None:
    site = uv.environment("one", make_wheel(tmp_path), "symlink")
    assert (site / PATH).is_symlink()
    assert (site / "small-1.0.dist-info/METADATA").is_symlink()
    desk = desk_on(site, tmp_path)
    before = tree(site)
    cache = tree(uv.cache), inodes(uv.cache)
    assert desk.run("apply").code == 0
    assert not (site / PATH).is_symlink()
    assert (site / PATH).read_bytes() == PATCHED
    assert (site / ADDED).read_bytes() == NEW
    assert not (site / "small/old.py").is_symlink()
    assert fresh_python(site, "import small.a; print(small.a.VALUE)") == "2"
    assert desk.run("check").code == 0
    assert (tree(uv.cache), inodes(uv.cache)) == cache
    shutil.rmtree(site / "small/__pycache__")
    assert desk.run("revert", "--all").code == 0
    assert tree(site) == before
    assert (tree(uv.cache), inodes(uv.cache)) == cache


@pytest.mark.slow
def test_c02_after_a_cleaned_cache_revert_makes_files_of_their_own(uv: Uv, tmp_path: Path) -> None:
    site = uv.environment("one", make_wheel(tmp_path), "symlink")
    (site / "small-1.0.dist-info/METADATA").unlink()
    write(site / "small-1.0.dist-info/METADATA", b"Name: small\nVersion: 1.0\n")
    desk = desk_on(site, tmp_path)
    assert desk.run("apply").code == 0
    shutil.rmtree(uv.cache)
    done = desk.run("revert", "--all")
    assert done.code == 0
    assert f"{PATH} was a link to" in done.out
    assert not (site / PATH).is_symlink()
    assert (site / PATH).read_bytes() == BASE
    assert (site / "small/old.py").read_bytes() == FILES["small/old.py"]


def test_c03_a_sibling_that_shares_conda_style_hard_links_is_unchanged(tmp_path: Path) -> None:
    store = tmp_path / "pkgs/small-1.0"
    install(store, FILES, name="small", build="1.0", installer="conda")
    sites = []
    for name in ("one", "two"):
        site = tmp_path / name / "lib/python3.11/site-packages"
        shutil.copytree(store, site, copy_function=os.link)
        sites.append(site)
    one, two = sites
    assert (one / PATH).stat().st_nlink == 3
    before = tree(one)
    others = {where: (tree(where), inodes(where)) for where in (two, store)}
    desk = desk_on(one, tmp_path)
    for verb in (["apply"], ["revert", "--all"]):
        assert desk.run(*verb).code == 0
        assert {where: (tree(where), inodes(where)) for where in (two, store)} == others
    assert tree(one) == before


# --- which links are read through, without uv


def linked(where: Path) -> tuple[Desk, Path]:
    """Make a site whose files are links into a cache, as uv's symlink mode leaves them."""
    site = make_site(where, FILES, name="small", build="1.0", installer="uv")
    cache = where / "cache"
    for path in FILES:
        kept = cache / path
        kept.parent.mkdir(parents=True, exist_ok=True)
        (site / path).rename(kept)
        (site / path).symlink_to(kept)
    return desk_on(site, where), cache


def point(desk: Desk, target: Path | str) -> None:
    (desk.site / PATH).unlink()
    (desk.site / PATH).symlink_to(target)


@pytest.mark.parametrize("kind", ["other bytes", "nowhere", "directory", "fifo", "device", "loop", "shared file"])
@pytest.mark.attack("links")
def test_a_link_that_does_not_lead_to_the_listed_bytes_is_neither_shown_nor_patched(tmp_path: Path, kind: str) -> None:
    desk, cache = linked(tmp_path)
    secret = tmp_path / "secret"
    secret.write_bytes(BASE.replace(b"line_3 = 0", b"SECRET_WORD = 0"))
    target = {"other bytes": secret, "nowhere": tmp_path / "gone", "directory": cache, "device": Path("/dev/zero")}
    if kind == "fifo":
        os.mkfifo(tmp_path / "fifo")
        point(desk, tmp_path / "fifo")
    elif kind == "loop":
        point(desk, "a.py")
    elif kind == "shared file":
        (cache / PATH).chmod(0o666)
    else:
        point(desk, target[kind])
    before = tree(desk.site, but=())
    for verb in (["status"], ["status", "--json"], ["apply"], ["apply", "--dry-run"]):
        done = desk.run(*verb)
        assert "SECRET_WORD" not in done.out + done.err
        assert "is a symbolic link" in done.out + done.err
    assert desk.run("apply").code == 1
    assert tree(desk.site, but=()) == before


@pytest.mark.attack("links")
def test_a_directory_on_the_way_that_is_a_link_stays_refused(tmp_path: Path) -> None:
    desk, cache = linked(tmp_path)
    shutil.rmtree(desk.site / "small")
    (desk.site / "small").symlink_to(cache / "small")
    done = desk.run("apply")
    assert done.code == 1
    assert "on its way is a symbolic link" in done.err
    assert (cache / PATH).read_bytes() == BASE


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to own another user's files")
@pytest.mark.attack("links")
def test_a_link_to_a_file_of_a_stranger_is_refused(tmp_path: Path) -> None:
    desk, cache = linked(tmp_path)
    os.chown(cache / PATH, 12345, 12345)
    assert "somebody else may write" in desk.run("apply").err


def test_metadata_is_read_through_links_that_record_vouches_for(tmp_path: Path) -> None:
    desk, cache = linked(tmp_path)
    info = desk.site / "small-1.0.dist-info"
    for name in ("METADATA", "INSTALLER"):
        (info / name).rename(cache / name)
        (info / name).symlink_to(cache / name)
    done = desk.json("status")
    assert done.code == 0
    assert [(it["build"], it["installer"]) for it in done.document["target"]["distributions"]] == [("1.0", "uv")]
    (cache / "INSTALLER").write_bytes(b"SECRET_WORD")
    done = desk.run("status")
    assert done.code == 3
    assert "SECRET_WORD" not in done.out + done.err


def test_evidence_and_moved_code_are_found_behind_links(tmp_path: Path) -> None:
    from patchctl.target import find_target, search_names

    desk, _ = linked(tmp_path)
    kept = tmp_path / "cache/small/a.py"
    kept.write_bytes(b"def wanted(): pass\n")
    target = find_target(site=str(desk.site), python=None, environ={}, names=["small"])
    assert search_names(target, target.distributions["small"], ["wanted"], []) == {"wanted": ()}
    install(desk.site, {"small/a.py": b"def wanted(): pass\n"}, name="small", build="1.0")
    kept.write_bytes(b"def wanted(): pass\n")
    (desk.site / PATH).unlink()
    (desk.site / PATH).symlink_to(kept)
    target = find_target(site=str(desk.site), python=None, environ={}, names=["small"])
    assert search_names(target, target.distributions["small"], ["wanted"], []) == {"wanted": (PATH,)}


@pytest.mark.attack("forged-state")
def test_a_forged_ledger_puts_no_link_to_other_bytes(tmp_path: Path) -> None:
    desk, _ = linked(tmp_path)
    before = (desk.site / PATH).readlink()
    assert desk.run("apply").code == 0
    evil = tmp_path / "evil.py"
    evil.write_bytes(b"EVIL = 1\n")
    state = desk.site / ".patchctl/ledger.json"
    state.write_text(state.read_text().replace(str(before), str(evil)))
    assert desk.run("revert", "--all").code == 0
    assert not (desk.site / PATH).is_symlink()
    assert (desk.site / PATH).read_bytes() == BASE


# --- a transaction over links, killed and failed at every call


def the_edits(cache: Path) -> list[FileEdit]:
    """A link becomes a file, a file becomes a link, a link goes, a link comes."""
    links = {name: str(cache / name) for name in ("a.py", "b.py", "c.py", "d.py")}
    second = 1_800_000_000 * 10**9
    return [
        FileEdit(
            path="pkg/a.py",
            kind=EditKind.MODIFY,
            before=b"A\n",
            after=b"AA\n",
            before_link=links["a.py"],
            mtime_ns=second,
        ),
        FileEdit(
            path="pkg/b.py",
            kind=EditKind.MODIFY,
            before=b"BB\n",
            after=b"B\n",
            link=Link(target=links["b.py"], mtime_ns=5),
        ),
        FileEdit(path="pkg/c.py", kind=EditKind.DELETE, before=b"C\n", after=None, before_link=links["c.py"]),
        FileEdit(
            path="pkg/d.py", kind=EditKind.ADD, before=None, after=b"D\n", link=Link(target=links["d.py"], mtime_ns=6)
        ),
        ledger(),
    ]


def linked_tree(where: Path, cache: Path) -> Path:
    site = where / "site"
    for name in ("a", "b", "c", "d"):
        write(cache / f"{name}.py", name.upper().encode() + b"\n")
    write(site / "pkg/b.py", b"BB\n")
    for name in ("a", "c"):
        (site / f"pkg/{name}.py").symlink_to(cache / f"{name}.py")
    return site


def test_a_transaction_over_links_killed_before_any_call_is_all_old_or_all_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    do_not_wait_for_the_disk(monkeypatch)
    cache = tmp_path / "cache"
    start = linked_tree(tmp_path / "start", cache)
    site = tmp_path / "site"

    def again() -> Path:
        shutil.rmtree(site, ignore_errors=True)
        return Path(shutil.copytree(start, site, symlinks=True))

    def attempt(call: int) -> None:
        watch(call, lambda: os.kill(os.getpid(), signal.SIGKILL))
        run(site, the_edits(cache))

    old = tree(again())
    total = number_of_calls(site, lambda: run(site, the_edits(cache)))
    new, kept = tree(site), tree(cache)
    assert {path: it[4] for path, it in new.items() if path.startswith("pkg/")} == {
        "pkg/a.py": b"AA\n",
        "pkg/b.py": str(cache / "b.py"),
        "pkg/d.py": str(cache / "d.py"),
    }
    assert (site / "pkg/b.py").lstat().st_mtime_ns == 5
    seen = set()
    for call in range(1, total + 1, 2):
        again()
        assert in_child(lambda call=call: attempt(call)) == -signal.SIGKILL  # type: ignore[misc]
        recover(str(site))
        committed = (site / ".patchctl/ledger.json").exists()
        seen.add(committed)
        assert tree(site) == (new if committed else old), call
        assert litter(site) == [], call
        assert tree(cache) == kept
    assert seen == {False, True}


@pytest.mark.parametrize("undo", ["kept", "lost"])
def test_a_recovery_over_links_killed_before_any_call_is_done_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undo: str
) -> None:
    do_not_wait_for_the_disk(monkeypatch)
    cache = tmp_path / "cache"
    start = linked_tree(tmp_path / "start", cache)
    site = tmp_path / "site"

    def half_done() -> None:
        shutil.rmtree(site, ignore_errors=True)
        shutil.copytree(start, site, symlinks=True)
        in_child(lambda: run(site, the_edits(cache), kill_at("ledger")))
        if undo == "lost":
            shutil.rmtree(site / ".patchctl/tmp")

    def attempt(call: int) -> None:
        watch(call, lambda: os.kill(os.getpid(), signal.SIGKILL))
        recover(str(site))

    half_done()
    total = number_of_calls(site, lambda: recover(str(site)))
    old, kept = tree(start), tree(cache)
    assert tree(site) == old
    for call in range(1, total + 1, 2):
        half_done()
        assert in_child(lambda call=call: attempt(call)) == -signal.SIGKILL  # type: ignore[misc]
        recover(str(site))
        assert tree(site) == old, call
        assert litter(site) == [], call
        assert tree(cache) == kept


def test_a_link_that_somebody_turned_into_another_meanwhile_is_kept_and_all_others_go_back(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    site = linked_tree(tmp_path / "start", cache)
    old = tree(site)

    def meddle(step: str) -> None:
        if step == "replace:2":
            (site / "pkg/c.py").unlink()
            (site / "pkg/c.py").symlink_to(cache / "d.py")

    with pytest.raises(RefusedError) as caught:
        run(site, the_edits(cache), meddle)
    assert caught.value.problem.code == "changed-meanwhile"
    assert (site / "pkg/c.py").readlink() == cache / "d.py"
    assert {path: it for path, it in tree(site).items() if path != "pkg/c.py"} == {
        path: it for path, it in old.items() if path != "pkg/c.py"
    }
    assert litter(site) == []


def test_a_link_that_somebody_changed_after_the_death_is_never_overwritten(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    site = linked_tree(tmp_path / "start", cache)
    in_child(lambda: run(site, the_edits(cache), kill_at("ledger")))
    (site / "pkg/b.py").unlink()
    (site / "pkg/b.py").symlink_to(cache / "a.py")
    with pytest.raises(TransactionError) as caught:
        recover(str(site))
    assert caught.value.problem.code == "foreign-edit"
    assert (site / "pkg/b.py").readlink() == cache / "a.py"


@pytest.mark.parametrize("lost", [False, True])
def test_roll_back_makes_a_link_anew_where_the_kept_one_is_lost(tmp_path: Path, lost: bool) -> None:
    cache = tmp_path / "cache"
    site = linked_tree(tmp_path / "start", cache)
    old = tree(site)

    def fail(step: str) -> None:
        if step == "ledger":
            os.kill(os.getpid(), signal.SIGKILL)

    in_child(lambda: run(site, the_edits(cache), fail))
    shutil.rmtree(site / ".patchctl/tmp")
    if lost:
        (cache / "a.py").unlink()
        (cache / "c.py").unlink()
    recover(str(site))
    if not lost:
        assert tree(site) == old
    for name in ("a", "c"):
        assert (site / f"pkg/{name}.py").is_symlink() is not lost
        assert (site / f"pkg/{name}.py").read_bytes() == name.upper().encode() + b"\n"
