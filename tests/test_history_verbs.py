"""Every verb that writes leaves a record: also those whose transaction no entry's change is behind."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from patchctl.ledger import read_history
from tests.contract import complaints
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk
from tests.sites import make_site
from tests.small_wheels import make_wheel

PATH, GONE, ADDED = "vllm/engine.py", "vllm/gone.py", "vllm/added.py"
BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 31))
LOW = BASE.replace(b"line_5 = 1\n", b"line_5 = 5\n")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    site = make_site(tmp_path, {PATH: BASE, GONE: b"gone = 1\n"}, build="0.25.1")
    registry = make_registry(tmp_path / "registry")
    add_entry(registry, "a-low", make_diff({PATH: (BASE, LOW)}))
    add_entry(registry, "b-adds", make_diff({ADDED: (None, b"new = 1\n")}))
    return Desk(site=site, registry=registry)


def last(desk: Desk) -> dict[str, Any]:
    done = desk.json("history")
    assert complaints(done.document) == []
    record: dict[str, Any] = done.document["history"][-1]
    return record


def moved(record: dict[str, Any]) -> dict[str, str]:
    return {entry["id"]: entry["what"] for entry in record["entries"]}


def test_of_adopt_says_what_was_adopted_and_by_which_options(desk: Desk) -> None:
    (desk.site / PATH).write_bytes(LOW)
    assert desk.run("adopt", "a-low", "--unproven").code == 0
    record = last(desk)
    assert (record["command"], record["decisions"]) == ("adopt", ["--unproven"])
    assert moved(record) == {"a-low": "adopted"}
    assert record["files"] == []
    assert record["entries"][0]["diffs"]


def test_of_kept_edits_says_so(desk: Desk) -> None:
    assert desk.run("apply", "a-low").code == 0
    (desk.site / PATH).write_bytes(LOW.replace(b"line_25 = 1\n", b"line_25 = 7\n"))
    assert desk.run("revert", "a-low", "--keep-edits").code == 0
    record = last(desk)
    assert record["decisions"] == ["--keep-edits"]
    assert moved(record) == {"a-low": "reverted"}


def test_of_restore_names_the_file_and_its_hashes(desk: Desk, tmp_path: Path) -> None:
    (desk.site / PATH).write_bytes(b"mine = 1\n")
    wheel = make_wheel(tmp_path, [(PATH, BASE)])
    assert desk.run("restore", PATH, "--from", str(wheel)).code == 0
    record = last(desk)
    assert record["command"] == "restore"
    assert [file["path"] for file in record["files"]] == [PATH]
    assert all(record["files"][0].values())


@pytest.mark.parametrize("option", ["--baseline", "--drop-baseline"])
def test_of_a_baseline_names_the_option(desk: Desk, option: str) -> None:
    (desk.site / GONE).unlink()
    if option == "--drop-baseline":
        assert desk.run("verify", "--baseline").code == 0
    desk.run("verify", option)
    record = last(desk)
    assert (record["command"], record["decisions"]) == ("verify", [option])
    assert (record["entries"], record["files"]) == ([], [])


def test_of_a_cleaned_environment_names_what_was_forgotten_and_removed(desk: Desk) -> None:
    assert desk.run("apply").code == 0
    for info in desk.site.glob("*.dist-info"):
        shutil.rmtree(info)
    for path in (PATH, GONE):
        (desk.site / path).unlink()
    assert desk.run("doctor", "--clean").code in {0, 1}
    assert not (desk.site / ADDED).exists()
    # Nothing that the registry speaks of is here any more, so that the verb finds no environment; the records stay.
    record = read_history(str(desk.site)).records[-1].record
    assert (record.command, record.decisions) == ("doctor", ("--clean",))
    assert {entry.id: entry.what for entry in record.entries} == {"a-low": "forgotten", "b-adds": "forgotten"}
    assert [(file.path, file.after) for file in record.files] == [(ADDED, None)]


def test_of_a_base_installation_names_the_word_that_was_given(tmp_path: Path) -> None:
    site = make_site(tmp_path, {PATH: BASE}, build="0.25.1")
    registry = make_registry(tmp_path / "registry")
    add_entry(registry, "a-low", make_diff({PATH: (BASE, LOW)}))
    desk = Desk(site=site, registry=registry)
    assert desk.run("hold", "a-low", "--reason", "later", "--allow-base").code == 0
    assert last(desk)["decisions"] == ["--allow-base"]


def test_names_the_registries_that_decided(desk: Desk, tmp_path: Path) -> None:
    other = make_registry(tmp_path / "other", name="other")
    assert desk.run("apply", "a-low", "--registry", str(other)).code == 0
    registries = [
        {"name": "other", "revision": 1, "path": str(other)},
        {"name": "test", "revision": 1, "path": str(desk.registry)},
    ]
    assert last(desk)["registries"] == registries
    lines = desk.run("history").out.split("\n")
    assert f"registries=other revision 1 ({other}), test revision 1 ({desk.registry})" in lines[1]
    assert any(line.startswith(f"file\t{PATH}\ttransaction=") for line in lines)


def test_of_a_version_that_kept_no_registries_is_read(desk: Desk) -> None:
    assert desk.run("apply", "a-low").code == 0
    (file,) = (desk.site / ".patchctl" / "history").iterdir()
    document = json.loads(file.read_bytes())
    del document["registries"]
    file.write_text(json.dumps(document))
    assert last(desk)["registries"] == []
