"""The audit trail: every transaction leaves one record, committed with it; no record keeps anybody from working."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from patchctl.commands.author import author
from patchctl.errors import LedgerError
from patchctl.ledger import encode_record, last_change, next_record_path, read_history
from patchctl.ledger.records import SIZE_LIMIT, decode_record
from patchctl.model import sha256_hex
from patchctl.model.history import HistoryAuthor, HistoryEntry, HistoryFile, HistoryRecord, Moment
from patchctl.model.layout import record_number, record_path
from patchctl.transaction import locked
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, on_a_terminal
from tests.sites import make_site
from tests.test_contract import live_controls
from tests.test_ps import as_nobody, open_to_all

PATH = "vllm/engine.py"
BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 21))
AFTER = BASE.replace(b"line_5 = 1\n", b"line_5 = five\n")
DIFF = make_diff({PATH: (BASE, AFTER)})
HISTORY = ".patchctl/history"
RECORD = HistoryRecord(
    transaction="ab" * 16,
    at="2026-01-01T00:00:00Z",
    author=HistoryAuthor(uid=0, login="root", login_uid=1000, sudo_uid=1001),
    host="node1",
    command="apply",
    result="committed",
    named=("one",),
    decisions=("--despite-fix",),
    entries=(HistoryEntry(id="one", what="applied", revision=2, diffs=(("vllm", "0" * 64),), reason="x"),),
    files=(HistoryFile(path=PATH, before="1" * 64, after=None),),
    omitted=3,
    reason="because",
    moment=Moment(boot="b", boottime_ns=1, realtime_ns=2),
)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    site = make_site(tmp_path, {PATH: BASE}, build="0.25.1")
    registry = make_registry(tmp_path / "registry")
    add_entry(registry, "one", DIFF, revision=3)
    return Desk(site=site, registry=registry)


def records(desk: Desk, *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = desk.json("history", *arguments).document["history"]
    return found


class TestRecords:
    def test_say_who_did_what_when_and_to_which_bytes(self, desk: Desk) -> None:
        done = desk.json("apply", "one")
        (record,) = records(desk)
        assert record["transaction"] == done.document["transaction"]["id"]
        assert record["author"]["uid"] == os.getuid()
        assert record["author"]["login"] == pwd.getpwuid(os.getuid()).pw_name
        assert record["host"] == os.uname().nodename
        assert (record["command"], record["named"], record["result"]) == ("apply", ["one"], "committed")
        assert record["entries"] == [
            {
                "id": "one",
                "what": "applied",
                "revision": 3,
                "diffs": [{"distribution": "vllm", "sha256": sha256_hex(DIFF)}],
                "reason": None,
                "retirement": None,
            }
        ]
        assert record["files"] == [{"path": PATH, "before": sha256_hex(BASE), "after": sha256_hex(AFTER)}]
        assert record["boot"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()

    def test_are_kept_of_every_kind_of_change_in_order(self, desk: Desk) -> None:
        desk.run("apply")
        desk.run("hold", "one", "--reason", "wait for 0.26")
        desk.run("unhold", "one")
        desk.run("revert", "--all")
        whats = [[(entry["id"], entry["what"], entry["reason"]) for entry in it["entries"]] for it in records(desk)]
        assert whats == [
            [("one", "applied", None)],
            [("one", "held", "wait for 0.26")],
            [("one", "unheld", None)],
            [("one", "reverted", None)],
        ]
        assert records(desk)[3]["entries"][0]["revision"] == 3

    def test_are_not_made_where_nothing_is_done(self, desk: Desk) -> None:
        assert "nothing is recorded" in desk.run("history").out
        desk.run("apply", "--dry-run")
        assert not (desk.site / ".patchctl").exists()
        desk.run("apply")
        desk.run("apply")
        desk.run("unhold", "one")
        assert len(records(desk)) == 1

    def test_are_chosen_by_entry_and_number(self, desk: Desk) -> None:
        assert desk.registry is not None
        add_entry(desk.registry, "two", make_diff({PATH: (BASE, BASE + b"more = 1\n")}), default=False)
        for _ in range(3):
            desk.run("hold", "two", "--reason", "x")
            desk.run("unhold", "two")
        desk.run("apply")
        assert len(records(desk)) == 7
        assert len(records(desk, "two")) == 6
        assert [it["command"] for it in records(desk, "two", "--last", "2")] == ["hold", "unhold"]
        assert [it["command"] for it in records(desk, "--last", "1")] == ["apply"]
        assert records(desk, "nobody") == []

    def test_take_the_name_from_the_passwd_database_and_of_sudo_a_claim(self, desk: Desk) -> None:
        desk.run("apply", env={"USER": "mallory", "LOGNAME": "mallory", "SUDO_UID": "4242", "SUDO_USER": "mallory"})
        (record,) = records(desk)
        assert record["author"]["login"] == pwd.getpwuid(os.getuid()).pw_name
        assert record["author"]["sudo_uid"] == 4242
        assert "mallory" not in json.dumps(record)
        assert "SUDO_UID claims 4242" in desk.run("history").out

    @pytest.mark.parametrize("claim", ["", "-1", "x", "9" * 30, "\u0661"])
    def test_take_no_claim_that_is_no_uid(self, claim: str) -> None:
        assert author({"SUDO_UID": claim}).sudo_uid is None

    def test_keep_decisions_and_no_secrets(self, desk: Desk) -> None:
        done = desk.run("apply", "one", "--despite-fix", "--assume-build", "9", "--allow-running", "--max-offset", "5")
        assert done.code == 0
        (record,) = records(desk)
        assert set(record["decisions"]) == {
            "--despite-fix",
            "--assume-build=9",
            "--allow-running",
            "--max-offset=5",
        }

    def test_under_a_fixed_time_are_the_same_whoever_builds_where(self, tmp_path: Path) -> None:
        contents = []
        for name in ("a", "b"):
            site = make_site(tmp_path / name, {PATH: BASE}, build="0.25.1")
            registry = make_registry(tmp_path / name / "registry")
            add_entry(registry, "one", DIFF)
            desk = Desk(site=site, registry=registry)
            env = {"SOURCE_DATE_EPOCH": "1700000000"}
            for arguments in (("apply",), ("revert", "--all"), ("apply",)):
                assert desk.run(*arguments, env=env).code == 0
            assert {(it["host"], it["boot"]) for it in records(desk)} == {(None, None)}
            state = site / ".patchctl"
            contents.append({str(p.relative_to(site)): p.read_bytes() for p in state.rglob("*") if p.is_file()})
        assert contents[0] == contents[1]
        assert len([name for name in contents[0] if name.startswith(HISTORY)]) == 3
        text = b"".join(contents[0].values())
        assert b"2023-11-14T22:13:20Z" in text

    def test_read_well_on_a_terminal_and_no_reason_gets_out_alive(self, desk: Desk) -> None:
        desk.run("hold", "one", "--reason", "\x1b[2J\u202e x")
        raw = on_a_terminal("history", "--site", str(desk.site), "--registry", str(desk.registry))
        assert live_controls(raw) == []
        assert b"held one" in raw

    def test_c28_can_be_read_by_others_whatever_the_umask(self, desk: Desk) -> None:
        if os.geteuid() != 0:
            pytest.skip("only root can become somebody else")
        before = os.umask(0o077)
        try:
            assert desk.run("apply").code == 0
        finally:
            os.umask(before)
        open_to_all(desk.site)
        read_history(str(desk.site))  # what it imports is loaded before the rights go

        def look() -> str:
            found = read_history(str(desk.site))
            return f"{len(found.records)} {len(found.problems)} {(desk.site / '.patchctl/ledger.json').stat().st_size}"

        assert as_nobody(look).split()[:2] == ["1", "0"]
        for path in (desk.site / HISTORY).iterdir():
            assert path.stat().st_mode & 0o777 == 0o644


class TestCommit:
    def test_a_rolled_back_change_leaves_only_the_record_that_it_was(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from patchctl.transaction import run as running
        from patchctl.transaction import swap

        desk.run("hold", "one", "--reason", "x")
        desk.run("unhold", "one")
        real = swap.put_in_place

        def fail_at_the_ledger(site: Any, transaction: str, index: int, edit: Any) -> None:
            if edit.path.endswith("ledger.json"):
                raise OSError(28, "No space left on device")
            real(site, transaction, index, edit)

        monkeypatch.setattr(running, "put_in_place", fail_at_the_ledger)
        assert desk.run("apply").code == 4
        monkeypatch.setattr(running, "put_in_place", real)
        assert (desk.site / PATH).read_bytes() == BASE
        *_, last = records(desk)
        assert (last["command"], last["result"]) == ("apply", "rolled-back")
        assert "No space left" in last["reason"]
        assert last["entries"][0]["id"] == "one"
        assert len(records(desk)) == 3
        assert not (desk.site / ".patchctl/tmp").exists()
        assert last_change(str(desk.site)) is None

    @pytest.mark.slow
    @pytest.mark.parametrize("step", ["replace:2", "ledger", "finish-journal"])
    @pytest.mark.parametrize("verb", ["recover", "apply"])
    def test_after_a_kill_the_history_says_what_became_of_it(self, desk: Desk, step: str, verb: str) -> None:
        code = (
            "import os, sys; from patchctl.transaction import site as s; real = s.opened\n"
            "def opened(site, prefix, checkpoint, grafts):\n"
            f"    kill = lambda name: os.kill(os.getpid(), 9) if name == {step!r} else None\n"
            "    return real(site, prefix, kill, grafts)\n"
            "s.opened = opened\n"
            "from patchctl.cli import main; sys.argv[0] = 'patchctl'; main()"
        )
        where = ["--site", str(desk.site), "--registry", str(desk.registry)]
        killed = subprocess.run([sys.executable, "-c", code, "apply", *where], capture_output=True, check=False)
        assert killed.returncode == -9
        unfinished = desk.json("history")
        assert unfinished.code == 4
        committed = step == "finish-journal"
        assert len(unfinished.document["history"]) == (1 if committed else 0)
        assert desk.run(verb).code == 0
        found = [(it["command"], it["result"]) for it in records(desk)]
        if committed:
            assert found == [("apply", "committed"), (verb, "finished")]
        elif verb == "recover":
            assert found == [("recover", "rolled-back")]
        else:
            assert found == [("apply", "rolled-back"), ("apply", "committed")]
        assert records(desk)[-1]["files"] != []

    def test_a_record_is_not_put_beside_an_open_transaction(self, desk: Desk) -> None:
        desk.run("apply")
        with locked(str(desk.site)) as held:
            (desk.site / ".patchctl/journal.json").write_bytes(b"{}")
            try:
                with pytest.raises(Exception, match="journal"):
                    held.keep_record(record_path(9, "0" * 32), b"{}\n")
            finally:
                (desk.site / ".patchctl/journal.json").unlink()
            with pytest.raises(ValueError, match="no history record"):
                held.keep_record("vllm/engine.py", b"")


class TestDamage:
    def test_of_one_record_hides_no_other_and_stops_no_verb(self, desk: Desk) -> None:
        desk.run("apply")
        (first,) = (desk.site / HISTORY).iterdir()
        first.write_bytes(b"{")
        done = desk.json("revert", "--all")
        assert done.code == 0
        found = desk.json("history")
        assert found.code == 0
        assert [it["command"] for it in found.document["history"]] == ["revert"]
        (warning,) = found.document["warnings"]
        assert (warning["code"], warning["path"]) == ("damaged-history", f"{HISTORY}/{first.name}")
        assert first.read_bytes() == b"{"

    @pytest.mark.parametrize("kind", ["file", "link"])
    def test_of_the_directory_stops_no_verb_and_is_said(self, desk: Desk, tmp_path: Path, kind: str) -> None:
        (desk.site / ".patchctl").mkdir()
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        if kind == "file":
            (desk.site / HISTORY).write_bytes(b"x")
        else:
            (desk.site / HISTORY).symlink_to(elsewhere)
        done = desk.json("apply")
        assert done.code == 0
        assert (desk.site / PATH).read_bytes() == AFTER
        assert [warning["code"] for warning in done.document["warnings"]] == ["not-recorded"]
        found = desk.json("history")
        assert found.document["history"] == []
        assert [warning["code"] for warning in found.document["warnings"]] == ["damaged-history"]
        assert list(elsewhere.iterdir()) == []

    def test_links_fifos_and_giants_are_no_records(self, desk: Desk, tmp_path: Path) -> None:
        desk.run("apply")
        history = desk.site / HISTORY
        (tmp_path / "secret").write_bytes(encode_record(RECORD))
        (history / record_path(2, "2" * 32).rpartition("/")[2]).symlink_to(tmp_path / "secret")
        os.mkfifo(history / record_path(3, "3" * 32).rpartition("/")[2])
        (history / record_path(4, "4" * 32).rpartition("/")[2]).write_bytes(b" " * (SIZE_LIMIT + 1))
        (history / record_path(5, "5" * 32).rpartition("/")[2]).write_bytes(encode_record(RECORD))
        (history / "notes.txt").write_bytes(b"not ours")
        found = read_history(str(desk.site))
        assert len(found.records) == 1
        assert len(found.problems) == 4
        assert desk.run("revert", "--all").code == 0
        assert len(read_history(str(desk.site)).records) == 2

    def test_a_number_at_the_end_keeps_the_order_of_names(self, desk: Desk) -> None:
        desk.run("apply")
        record = RECORD._replace(transaction="0" * 32)
        last = desk.site / record_path(10**9, "0" * 32)
        last.write_bytes(encode_record(record))
        path = next_record_path(str(desk.site), "1" * 32)
        assert path == f"{HISTORY}/99999999-{'1' * 32}.json"
        assert desk.run("revert", "--all").code == 0

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
    def test_a_directory_that_cannot_be_written_stops_no_verb(self, desk: Desk) -> None:
        desk.run("apply")
        (desk.site / HISTORY).chmod(0o555)
        assert desk.run("revert", "--all").code == 0


class TestBytes:
    def test_lead_back_to_the_record(self) -> None:
        assert decode_record(encode_record(RECORD)) == RECORD
        bare = HistoryRecord(
            transaction="0" * 32, at="", author=HistoryAuthor(uid=5), host=None, command="recover", result="finished"
        )
        assert decode_record(encode_record(bare)) == bare

    def test_may_have_keys_of_a_later_version(self) -> None:
        document = json.loads(encode_record(RECORD))
        document["news"] = [1]
        assert decode_record(json.dumps(document).encode()) == RECORD

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("format", 2),
            ("format", 0),
            ("transaction", "../x"),
            ("result", "fine"),
            ("at", 5),
            ("author", {"uid": -1}),
            ("author", None),
            ("host", 1),
            ("named", "one"),
            ("entries", [{"id": "x"}]),
            ("files", [{"path": "a", "before": "zz", "after": None}]),
            ("omitted", -1),
            ("moment", {"boot": "b", "boottime_ns": "1", "realtime_ns": 2}),
            ("moment", 1),
        ],
    )
    def test_that_are_no_record_are_refused(self, key: str, value: object) -> None:
        document = json.loads(encode_record(RECORD))
        document[key] = value
        with pytest.raises(LedgerError):
            decode_record(json.dumps(document).encode())

    def test_stay_within_their_limit_and_say_what_was_left_out(self) -> None:
        many = tuple(HistoryFile(path=f"vllm/{'x' * 10}{number}.py", before="1" * 64) for number in range(5000))
        record = decode_record(encode_record(RECORD._replace(files=many, omitted=0)))
        assert (len(record.files), record.omitted) == (2000, 3000)
        long = tuple(HistoryFile(path="x" * 2000) for _ in range(1000))
        record = decode_record(encode_record(RECORD._replace(files=long, omitted=0, reason="y" * 10**6)))
        assert (len(record.files), record.omitted) == (0, 1000)
        assert len(record.reason or "") == 2000


@pytest.mark.parametrize(
    "name",
    [
        "1-" + "0" * 32 + ".json",
        "00000001-" + "0" * 31 + ".json",
        "00000001-" + "0" * 32,
        "0000000\u0661-" + "0" * 32 + ".json",
        "00000001_" + "0" * 32 + ".json",
        "00000001-" + "G" * 32 + ".json",
        "",
    ],
)
def test_other_names_are_no_records(name: str) -> None:
    assert record_number(name) is None
