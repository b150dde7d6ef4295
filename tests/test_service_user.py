"""Root changes, others read: umask, ownership, and places where nothing can be written."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.namespaces import in_mount_namespace
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, tree
from tests.sites import make_site, tree_state
from tests.test_kill import in_child, kill_at
from tests.users import as_service_user, open_the_way

ENGINE, ADDED = "vllm/engine.py", "vllm/new/added.py"
BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 31))
LOW = BASE.replace(b"line_5 = 1\n", b"line_5 = 5\n")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    site = make_site(tmp_path, {"vllm/__init__.py": b"", ENGINE: BASE}, build="0.25.1")
    registry = make_registry(tmp_path / "registry")
    add_entry(registry, "a-low", make_diff({ENGINE: (BASE, LOW), ADDED: (None, b"new = 1\n")}))
    open_the_way(site)
    return Desk(site=site, registry=registry)


def under_umask(umask: int, desk: Desk, *verb: str) -> int:
    before = os.umask(umask)
    try:
        return desk.run(*verb).code
    finally:
        os.umask(before)


@pytest.mark.parametrize("umask", [0o077, 0o022])
def test_c28_whatever_roots_umask_a_service_user_reads_the_state_and_answers_right(desk: Desk, umask: int) -> None:
    where = ["--site", str(desk.site), "--registry", str(desk.registry)]
    assert as_service_user("check", *where).code == 1
    assert under_umask(umask, desk, "apply") == 0
    done = as_service_user("check", "--json", *where)
    assert (done.code, done.patch("a-low")["verdict"]) == (0, "applied")
    for verb in (["verify"], ["doctor"], ["apply"], ["revert", "--all", "--dry-run"], ["recover"]):
        assert as_service_user(*verb, *where).code == 0, verb
    (desk.site / ENGINE).write_bytes(BASE)
    done = as_service_user("check", "--json", *where)
    assert (done.code, done.patch("a-low")["verdict"]) == (1, "lost")
    assert under_umask(umask, desk, "revert", "--all") == 0
    assert as_service_user("check", *where).code == 1


def test_c28_added_files_and_their_directories_are_readable_too(desk: Desk) -> None:
    assert under_umask(0o077, desk, "apply") == 0
    found = [path for path in [*desk.site.rglob("*")] if path.is_relative_to(desk.site / ".patchctl")]
    found += [desk.site / ADDED, desk.site / "vllm/new", desk.site / ENGINE]
    closed = [path for path in found if path.stat().st_mode & (0o055 if path.is_dir() else 0o044) == 0]
    assert closed == []


def test_a_service_user_who_may_not_write_is_told_so_and_changes_nothing(desk: Desk) -> None:
    before = tree_state(desk.site)
    done = as_service_user("apply", "--site", str(desk.site), "--registry", str(desk.registry))
    assert done.code == 1
    assert "cannot be written" in done.err
    assert "Traceback" not in done.err
    assert tree_state(desk.site) == before


READ_ONLY = "mount --bind {site} {site} && mount -o remount,bind,ro {site}"


@pytest.mark.parametrize(
    "arguments", [["apply"], ["apply", "a-low"], ["check"], ["verify"], ["doctor"], ["recover"]], ids=" ".join
)
def test_c32_read_only_site_packages_where_everything_is_applied(desk: Desk, arguments: list[str]) -> None:
    assert desk.run("apply").code == 0
    before = tree(desk.site, but=())
    done = in_mount_namespace(READ_ONLY.format(site=desk.site), *arguments, desk=desk)
    assert (done.code, done.err) == (0, "")
    if arguments[0] == "apply":
        assert "nothing to do" in done.out
    assert tree(desk.site, but=()) == before


def test_c32_and_where_something_is_due_it_is_refused_before_any_write(desk: Desk) -> None:
    before = tree(desk.site, but=())
    for verb in (["apply"], ["verify", "--baseline"]):
        (desk.site / "vllm/__init__.py").unlink(missing_ok=True)
        before.pop("vllm/__init__.py", None)
        done = in_mount_namespace(READ_ONLY.format(site=desk.site), *verb, desk=desk)
        assert done.code == 1
        assert "Read-only file system" in done.err
        assert "hint: the file system is read-only: mount it read-write" in done.err
    assert {path: it for path, it in tree(desk.site, but=()).items() if path != "vllm"} == {
        path: it for path, it in before.items() if path != "vllm"
    }


def test_c32_a_tree_without_write_permission_is_the_same_for_others(desk: Desk) -> None:
    assert desk.run("apply").code == 0
    before = tree_state(desk.site)
    done = as_service_user("apply", "--site", str(desk.site), "--registry", str(desk.registry))
    assert done.code == 0
    assert "nothing to do" in done.out
    assert tree_state(desk.site) == before


def test_c31_an_open_journal_is_4_on_a_read_only_mount_too_and_stays(desk: Desk) -> None:
    before = tree(desk.site)
    assert in_child(desk, ["apply"], kill_at(70, signal.SIGKILL)) == -signal.SIGKILL
    assert (desk.site / ".patchctl/journal.json").exists()
    left = tree(desk.site, but=())
    for verb in ("check", "status", "apply", "recover"):
        done = in_mount_namespace(READ_ONLY.format(site=desk.site), verb, desk=desk)
        assert done.code in ({4} if verb in {"check", "status"} else {1, 4}), verb
        assert "hint: " in done.out + done.err or "patchctl recover" in done.out + done.err
        assert "Traceback" not in done.err
        assert tree(desk.site, but=()) == left
    assert desk.run("recover").code == 0
    assert tree(desk.site) == before
