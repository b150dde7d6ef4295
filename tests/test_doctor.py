"""``doctor``: what it sees, what it calls needed, and what ``--clean`` and ``--gc`` take away and leave."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.contract import complaints
from tests.environments import PIP, make_environment, without_decisions
from tests.namespaces import in_mount_namespace
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, Done, patchctl, tree
from tests.sites import Content, install, make_base_layout, make_site, make_venv_layout, record_row, write
from tests.test_contract import open_journal
from tests.users import as_service_user, open_the_way

ENGINE, ADDED = "vllm/engine.py", "vllm/new/added.py"
BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 31))
LOW = BASE.replace(b"line_5 = 1\n", b"line_5 = 5\n")
FILES = {"vllm/__init__.py": b"", ENGINE: BASE}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    site = make_site(tmp_path, FILES, build="0.25.1")
    return Desk(site=site, registry=two_entries(tmp_path))


def two_entries(where: Path) -> Path:
    registry = make_registry(where / "registry")
    add_entry(registry, "a-low", make_diff({ENGINE: (BASE, LOW)}))
    add_entry(registry, "b-adds", make_diff({ADDED: (None, b"new = 1\n")}))
    return registry


def findings(done: Done) -> dict[str, dict[str, Any]]:
    assert complaints(done.document) == []
    return {finding["code"]: finding for finding in done.document["diagnosis"]["findings"]}


def needed(done: Done) -> set[str]:
    return {code for code, finding in findings(done).items() if finding["needed"]}


def doctor(desk: Desk, *options: str, **env: str) -> Done:
    """Run it, and hold the exit code against the findings."""
    done = desk.json("doctor", *options, env=env)
    if "diagnosis" in done.document:
        assert done.code == (1 if needed(done) else 0)
        assert all(finding["remedy"] for finding in findings(done).values())
    return done


class TestSees:
    def test_nothing_where_nothing_is_wrong_and_writes_nothing(self, desk: Desk) -> None:
        before = tree(desk.site, but=())
        assert needed(doctor(desk)) == set()
        assert desk.run("apply").code == 0
        between = tree(desk.site, but=())
        assert needed(doctor(desk)) == set()
        assert before != between == tree(desk.site, but=())

    def test_state_installers_and_what_is_applied(self, desk: Desk) -> None:
        assert desk.run("apply").code == 0
        install(desk.site, {"small.py": b""}, name="small", build="2", installer="uv")
        (site,) = doctor(desk).document["diagnosis"]["sites"]
        assert site["state"] == "format 1"
        assert site["applied"] == ["a-low", "b-adds"]
        assert site["lock"] == "free"
        assert [(it["name"], it["installer"], it["concerned"]) for it in site["distributions"]] == [
            ("small", "uv", False),
            ("vllm", "pip", True),
        ]

    @pytest.mark.parametrize("kind", ["venv", "conda", "debian", "system", "user", "target"])
    def test_the_kind_of_environment(self, tmp_path: Path, kind: str) -> None:
        where = {"user": "home/.local", "debian": "usr"}.get(kind, "env")
        name = "dist-packages" if kind == "debian" else "site-packages"
        if kind == "venv":
            site = make_venv_layout(tmp_path / where)
        elif kind == "target":
            site = tmp_path / "packages"
        else:
            make_base_layout(tmp_path / where, sites=("lib/python{v}/" + name,))
            site = tmp_path / where / "lib/python3.11" / name
        if kind == "conda":
            (tmp_path / where / "conda-meta").mkdir()
        install(site, FILES)
        done = patchctl("doctor", "--json", "--site", str(site))
        assert done.document["diagnosis"]["kind"] == kind

    @pytest.mark.parametrize("entry", ["~llm", "~llm-0.20.0.dist-info", "nameless-1.dist-info"])
    def test_leftovers_of_interrupted_installs(self, desk: Desk, entry: str) -> None:
        write(desk.site / entry / "x.py", b"")
        assert findings(doctor(desk))["leftover"]["path"] == entry

    def test_the_last_record_of_a_distribution_is_not_to_be_removed(self, desk: Desk) -> None:
        (info,) = desk.site.glob("vllm-*.dist-info")
        assert (info / "RECORD").is_file()
        info.rename(desk.site / "~llm-0.25.1.dist-info")
        found = findings(doctor(desk))["leftover"]
        assert "rm -r" not in found["remedy"]
        assert "its RECORD may be all that tells" in found["remedy"]

    def test_a_second_record_of_one_distribution(self, desk: Desk) -> None:
        install(desk.site, FILES, build="0.20.0")
        assert "ambiguous-distribution" in needed(doctor(desk))

    def test_a_missing_record(self, tmp_path: Path) -> None:
        site = make_site(tmp_path, FILES, record=False)
        assert "no-record" in findings(doctor(Desk(site=site, registry=two_entries(tmp_path))))

    def test_links_among_the_files_that_patches_change(self, desk: Desk, tmp_path: Path) -> None:
        os.link(desk.site / ENGINE, tmp_path / "cache")
        assert "hard-linked-files" in findings(doctor(desk))
        (desk.site / ENGINE).unlink()
        (desk.site / ENGINE).symlink_to(tmp_path / "cache")
        assert findings(doctor(desk))["linked-files"]["path"] == ENGINE
        assert "linked-file" not in needed(doctor(desk))
        (tmp_path / "cache").write_bytes(b"other = 1\n")
        assert findings(doctor(desk))["linked-file"]["path"] == ENGINE
        assert "linked-file" in needed(doctor(desk))

    def test_an_open_transaction(self, desk: Desk) -> None:
        open_journal(desk)
        done = doctor(desk)
        assert findings(done)["unfinished-transaction"]["remedy"].startswith("patchctl recover")
        assert "litter" not in findings(done)
        for option in ("--gc", "--clean"):
            assert doctor(desk, option).code == 4
        assert desk.run("recover").code == 0
        assert needed(doctor(desk)) == set()

    @pytest.mark.parametrize("damage", ["ledger.json", "format"])
    def test_state_that_cannot_be_used(self, desk: Desk, damage: str) -> None:
        assert desk.run("apply").code == 0
        (desk.site / ".patchctl" / damage).write_bytes(b"2\n")
        assert needed(doctor(desk)) & {"damaged-ledger", "newer-ledger"}
        before = tree(desk.site, but=())
        assert doctor(desk, "--gc").code == 3
        assert tree(desk.site, but=()) == before

    @pytest.mark.parametrize("damage", ["missing", "damaged"])
    def test_originals_that_a_revert_could_not_give_back(self, desk: Desk, damage: str) -> None:
        assert desk.run("apply").code == 0
        for stored in (desk.site / ".patchctl/objects").glob("*/*"):
            stored.unlink() if damage == "missing" else stored.write_bytes(b"damaged")
        finding = findings(doctor(desk))["lost-original"]
        assert (finding["needed"], finding["path"]) == (True, ENGINE)

    def test_state_that_a_service_user_could_not_read(self, desk: Desk) -> None:
        assert desk.run("apply").code == 0
        (desk.site / ".patchctl/objects").chmod(0o700)
        found = findings(doctor(desk))["closed-state"]
        assert found["path"] == ".patchctl/objects"
        subprocess.run(found["remedy"].split(), check=True)
        assert needed(doctor(desk)) == set()

    def test_the_service_user_who_cannot_read_it_is_told_so(self, desk: Desk) -> None:
        open_the_way(desk.site)
        assert desk.run("apply").code == 0
        (desk.site / ".patchctl").chmod(0o700)
        done = as_service_user("doctor", "--json", "--site", str(desk.site), "--registry", str(desk.registry))
        assert {"closed-state", "unreadable-ledger"} <= needed(done)

    def test_a_package_that_somebody_removed_by_hand(self, desk: Desk) -> None:
        assert desk.run("apply").code == 0
        shutil.rmtree(desk.site / "vllm")
        assert doctor(desk).code == 0
        assert doctor(desk, "--clean", "--gc").code == 0
        assert desk.run("verify").code == 1

    def test_an_egg_of_somebody_else_needs_nobody(self, desk: Desk) -> None:
        write(desk.site / "other-1.0-py3.11.egg", b"PK")
        assert not findings(doctor(desk))["unreadable-distribution"]["needed"]

    def test_a_patched_file_that_others_could_read_before(self, desk: Desk) -> None:
        assert desk.run("apply").code == 0
        (desk.site / ENGINE).chmod(0o600)
        assert findings(doctor(desk))["closed-file"]["path"] == ENGINE

    def test_a_site_that_everybody_may_write_to(self, desk: Desk) -> None:
        desk.site.chmod(0o777)
        assert "writable-site" in needed(doctor(desk))

    def test_byte_code_settings_and_byte_code_that_looks_at_no_source(self, desk: Desk) -> None:
        import importlib.util

        assert "unchecked-byte-code" not in findings(doctor(desk))
        header = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little")
        write(desk.site / "vllm/__pycache__/engine.cpython-311.pyc", header + bytes(8))
        found = findings(doctor(desk, PYTHONPYCACHEPREFIX="/var/cache/pyc"))
        assert found["unchecked-byte-code"]["path"] == "vllm/__pycache__/engine.cpython-311.pyc"
        assert "/var/cache/pyc" in found["pycache-prefix"]["message"]

    def test_a_broken_registry_or_a_missing_distribution_keeps_nobody_from_looking(self, desk: Desk) -> None:
        assert Desk(site=desk.site, registry=desk.site).run("doctor").code == 0
        empty = desk.site.parent / "empty"
        empty.mkdir()
        assert Desk(site=empty, registry=desk.registry).run("doctor").code == 0

    def test_an_interpreter_that_is_gone(self, tmp_path: Path) -> None:
        root = tmp_path / "env"
        install(make_venv_layout(root), FILES)
        (tmp_path / "env.base/bin/python3.11").unlink()
        done = patchctl("doctor", "--json", "--python", str(root))
        assert "no-interpreter" in needed(done)

    def test_mounts_below_the_site(self, desk: Desk) -> None:
        done = in_mount_namespace(
            f"mount --bind {desk.site / ENGINE} {desk.site / ENGINE}", "doctor", "--json", desk=desk
        )
        assert findings(done)["mounted-file"]["path"] == ENGINE

    def test_a_read_only_mount(self, desk: Desk) -> None:
        script = f"mount --bind {desk.site} {desk.site} && mount -o remount,bind,ro {desk.site}"
        done = in_mount_namespace(script, "doctor", "--json", desk=desk)
        assert done.code == 0
        assert "read-only" in findings(done)

    def test_a_service_user_gets_the_same_page(self, desk: Desk) -> None:
        open_the_way(desk.site)
        assert desk.run("apply").code == 0
        done = as_service_user("doctor", "--json", "--site", str(desk.site), "--registry", str(desk.registry))
        assert needed(done) == set()
        assert "not-owner" in findings(done)

    def test_every_finding_is_a_line_in_a_pipe(self, desk: Desk) -> None:
        write(desk.site / "~llm/x.py", b"")
        lines = [line.split("\t") for line in desk.run("doctor").out.splitlines()]
        assert ["finding", "leftover", "needed=yes"] in [line[:3] for line in lines]
        assert "installed" in {line[0] for line in lines}


class TestLock:
    def note(self, desk: Desk, **note: Any) -> str:
        assert desk.run("apply").code == 0
        (desk.site / ".patchctl/lock").write_text(json.dumps(note))
        return str(doctor(desk).document["diagnosis"]["sites"][0]["lock"])

    def test_the_note_of_a_process_that_has_ended_is_no_lock(self, desk: Desk) -> None:
        child = subprocess.Popen([sys.executable, "-c", ""])
        child.wait()
        assert self.note(desk, pid=child.pid, host=os.uname().nodename, boot=boot(), start=1) == "free"
        assert "ended" in findings(doctor(desk))["stale-lock-note"]["message"]
        assert desk.run("revert", "--all").code == 0

    def test_the_note_of_another_boot_is_no_lock_even_if_the_pid_lives(self, desk: Desk) -> None:
        assert self.note(desk, pid=os.getpid(), host=os.uname().nodename, boot="another", start=1) == "free"
        assert "another boot" in findings(doctor(desk))["stale-lock-note"]["message"]
        assert desk.run("revert", "--all").code == 0

    def test_the_note_of_a_reused_pid_is_no_lock(self, desk: Desk) -> None:
        assert self.note(desk, pid=os.getpid(), host=os.uname().nodename, boot=boot(), start=1) == "free"

    def test_of_another_host_nothing_is_known(self, desk: Desk) -> None:
        assert "perhaps held by process 1 on elsewhere" in self.note(desk, pid=1, host="elsewhere", boot="x", start=1)

    def test_a_held_lock_names_its_holder(self, desk: Desk) -> None:
        from tests.test_transaction_lock import holder

        with holder(desk.site) as process:
            before = tree(desk.site, but=())
            lock = doctor(desk).document["diagnosis"]["sites"][0]["lock"]
            assert tree(desk.site, but=()) == before
            process.communicate("\n")
        assert f"held by process {process.pid} on {os.uname().nodename}" in lock


class TestClean:
    def uninstalled(self, desk: Desk) -> None:
        assert desk.run("apply").code == 0
        (info,) = desk.site.glob("*.dist-info")
        for path in [*info.iterdir(), *(desk.site / name for name in FILES)]:
            path.unlink()
        info.rmdir()

    def test_c16_an_uninstall_leaves_files_that_doctor_lists_and_cleans(self, tmp_path: Path) -> None:
        root = tmp_path / "env"
        site = make_environment(root, small_wheel(tmp_path))
        desk = Desk(site=site, registry=two_entries(tmp_path))
        assert desk.run("apply").code == 0
        command = [sys.executable, "-m", "pip", *PIP, "--python", str(root / "bin/python"), "uninstall", "-y", "vllm"]
        subprocess.run(command, check=True, capture_output=True, env=without_decisions(os.environ))
        assert (site / ADDED).is_file()
        done = doctor(desk)
        assert findings(done)["orphaned-file"]["path"] == ADDED
        assert "orphaned-receipts" in findings(done)
        planned = doctor(desk, "--clean", "--dry-run")
        assert planned.document["diagnosis"]["removed"] == [ADDED]
        assert (site / ADDED).is_file()
        done = doctor(desk, "--clean")
        assert done.document["diagnosis"]["removed"] == [ADDED]
        assert done.document["transaction"]["state"] == "committed"
        assert needed(done) == set()
        assert not (site / "vllm").exists()

    def test_a_file_that_somebody_edited_stays(self, desk: Desk) -> None:
        self.uninstalled(desk)
        (desk.site / ADDED).write_bytes(b"mine\n")
        assert "edited-orphan" in needed(doctor(desk))
        assert "edited-orphan" in needed(doctor(desk, "--clean"))
        assert (desk.site / ADDED).read_bytes() == b"mine\n"

    def test_a_file_that_another_record_lists_stays(self, desk: Desk) -> None:
        self.uninstalled(desk)
        row = record_row(ADDED, b"new = 1\n")
        install(desk.site, {"other.py": b""}, name="other", build="1", installer="uv", extra_rows=[row])
        doctor(desk, "--clean")
        assert (desk.site / ADDED).is_file()

    def test_nothing_is_touched_while_the_distribution_is_there(self, desk: Desk) -> None:
        assert desk.run("apply").code == 0
        before = tree(desk.site, but=())
        assert doctor(desk, "--clean", "--gc").code == 0
        assert tree(desk.site, but=()) == before
        assert desk.run("check").code == 0

    @pytest.mark.parametrize("trouble", ["gone", "unreadable", "nameless", "renamed"])
    def test_nothing_is_touched_where_only_the_metadata_is_lost(self, desk: Desk, trouble: str) -> None:
        """A slimmed image, an interrupted upgrade: the package is there, and may import what the patch added."""
        assert desk.run("apply").code == 0
        (info,) = desk.site.glob("*.dist-info")
        if trouble == "gone":
            shutil.rmtree(info)
        elif trouble == "renamed":
            info.rename(desk.site / "~llm-0.25.1.dist-info")
        else:
            (info / "METADATA").write_bytes(b"\xff\x00" if trouble == "unreadable" else b"Metadata-Version: 2.1\n")
        before = tree(desk.site, but=())
        done = doctor(desk, "--clean", "--gc")
        assert findings(done)["lost-metadata"]["path"] == ENGINE
        assert not {"orphaned-file", "orphaned-receipts"} & set(findings(done))
        assert tree(desk.site, but=()) == before

    def test_metadata_without_a_name_speaks_for_what_was_only_added_too(self, desk: Desk) -> None:
        assert desk.run("apply", "b-adds").code == 0
        (info,) = desk.site.glob("*.dist-info")
        (info / "METADATA").unlink()
        assert doctor(desk, "--clean").document["diagnosis"]["removed"] == []
        assert (desk.site / ADDED).is_file()

    def test_litter_of_dead_transactions_goes_and_nothing_like_it(self, desk: Desk) -> None:
        assert desk.run("apply").code == 0
        ours = [f"vllm/.patchctl-{'a' * 32}-0.tmp", f"vllm/new/.patchctl-{'b' * 32}-12.undo", ".patchctl-probe.tmp"]
        theirs = [f"vllm/.patchctl-{'a' * 31}-0.tmp", f"vllm/.patchctl-{'a' * 32}-x.tmp", f"vllm/{'a' * 32}-0.tmp"]
        for path in (*ours, *theirs):
            write(desk.site / path, b"x")
        assert "litter" in needed(doctor(desk))
        done = doctor(desk, "--clean")
        assert sorted(done.document["diagnosis"]["removed"]) == sorted(ours)
        assert [path for path in (*ours, *theirs) if (desk.site / path).exists()] == theirs

    def test_it_waits_for_the_lock_like_every_writer(self, desk: Desk) -> None:
        from tests.test_transaction_lock import holder

        self.uninstalled(desk)
        with holder(desk.site) as process:
            assert doctor(desk, "--clean").code == 5
            process.communicate("\n")

    def test_options_that_cannot_be_meant_are_refused(self, desk: Desk) -> None:
        assert desk.json("doctor", "--dry-run").code == 2


class TestCollect:
    def stored(self, desk: Desk) -> set[str]:
        state = desk.site / ".patchctl"
        return {path.name for where in ("objects", "patches") for path in (state / where).rglob("*") if path.is_file()}

    def test_only_what_nothing_names_goes(self, desk: Desk) -> None:
        assert desk.run("apply").code == 0
        kept = self.stored(desk)
        assert doctor(desk, "--gc").document["diagnosis"]["freed"] == []
        assert desk.run("revert", "--all").code == 0
        assert doctor(desk, "--gc", "--dry-run").document["diagnosis"]["freed"] == [], "the history names them"
        shutil.rmtree(desk.site / ".patchctl/history")
        planned = doctor(desk, "--gc", "--dry-run").document["diagnosis"]
        assert self.stored(desk) == kept
        done = doctor(desk, "--gc").document["diagnosis"]
        assert done["freed"] == planned["freed"]
        assert {path.rpartition("/")[2] for path in done["freed"]} == kept
        assert done["freed_bytes"] == planned["freed_bytes"] > len(BASE)
        assert self.stored(desk) == set()
        assert desk.run("apply").code == 0
        assert desk.run("check").code == 0

    def test_what_the_history_names_stays(self, desk: Desk) -> None:
        assert desk.run("apply").code == 0
        assert desk.run("revert", "--all").code == 0
        kept = self.stored(desk)
        assert doctor(desk, "--gc").document["diagnosis"]["freed"] == []
        assert self.stored(desk) == kept
        # Of two records the one that is left names its own alone.
        first, _second = sorted((desk.site / ".patchctl/history").iterdir())
        first.unlink()
        doctor(desk, "--gc")
        assert set() < self.stored(desk) <= kept

    def test_a_history_that_cannot_be_read_keeps_everything(self, desk: Desk) -> None:
        assert desk.run("apply").code == 0
        assert desk.run("revert", "--all").code == 0
        record = sorted((desk.site / ".patchctl/history").iterdir())[0]
        record.unlink()
        record.symlink_to("/dev/null")
        kept = self.stored(desk)
        assert desk.run("doctor", "--gc").code == 3
        assert self.stored(desk) == kept
        assert "unreadable-ledger" in needed(doctor(desk)), "and a look alone has its page all the same"

    def test_names_that_are_not_ours_stay_and_links_are_not_followed(self, desk: Desk, tmp_path: Path) -> None:
        assert desk.run("hold", "a-low", "--reason", "x").code == 0
        state = desk.site / ".patchctl"
        outside = tmp_path / "outside"
        write(outside / ("ab" + "c" * 62), b"x")
        (state / "objects").mkdir()
        (state / "objects/ab").symlink_to(outside)
        for name in ("notes.txt", "a" * 63, "A" * 64):
            write(state / "patches" / name, b"x")
        write(state / "objects/cd" / ("e" * 64), b"under another's prefix")
        before = tree(desk.site, but=())
        assert doctor(desk, "--gc").document["diagnosis"]["freed"] == []
        assert tree(desk.site, but=()) == before
        assert [path.name for path in outside.iterdir()] == ["ab" + "c" * 62]

    def test_root_touches_no_store_of_another_user(self, desk: Desk) -> None:
        if os.geteuid() != 0:
            pytest.skip("only root can be fooled so")
        assert desk.run("apply").code == 0
        assert desk.run("revert", "--all").code == 0
        os.chown(desk.site / ".patchctl", 1000, 1000)
        kept = self.stored(desk)
        assert desk.run("doctor", "--gc").code == 3
        assert desk.run("doctor", "--clean", "--dry-run").code == 3
        assert self.stored(desk) == kept
        assert "foreign-state" in needed(doctor(desk))


def small_wheel(where: Path) -> Path:
    """A real wheel of the two files under vLLM's name."""
    out = where / "vllm-0.25.1-py3-none-any.whl"
    info = "vllm-0.25.1.dist-info"
    members: dict[str, bytes | Content] = {
        **FILES,
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: vllm\nVersion: 0.25.1\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [",".join(record_row(path, data)) for path, data in members.items()]
    with zipfile.ZipFile(out, "w") as archive:
        for path, data in members.items():
            archive.writestr(path, data if isinstance(data, bytes) else data.data)
        archive.writestr(f"{info}/RECORD", "\n".join([*rows, f"{info}/RECORD,,"]) + "\n")
    return out


def boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
