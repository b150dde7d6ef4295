"""A wheel that brings a state of patchctl, or a RECORD that speaks of other places: believed nowhere."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.environments import PIP, install_wheel, make_environment
from tests.raw_zip import Entry
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, Done
from tests.sites import install, make_site, record_row, tree_state
from tests.wheel_tricks import DATA, FILE_NAME, INFO, NOTES, member, packed

pytestmark = pytest.mark.attack("wheel-tricks")

ONE = "vllm/one.py"
BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 31))
FIXED = BASE.replace(b"line_5 = 1\n", b"line_5 = 5\n")
EVIL = b"import evil\n"
HOLD = ("hold", "entry", "--reason", "later")
READING = (("status",), ("check",), ("history",), ("verify",), ("ps",))
WRITING = (("apply",), ("revert", "--all"), ("retire",), HOLD, ("unhold", "entry"), ("adopt", "entry"))
LAST = (("recover",), ("doctor", "--gc"), ("doctor", "--clean"), ("restore", ONE, "--from", "x.whl"))


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    registry = make_registry(tmp_path / "registry")
    add_entry(registry, "entry", make_diff({ONE: (BASE, FIXED)}))
    return registry


def state_of(where: Path, registry: Path, *verbs: tuple[str, ...]) -> list[Entry]:
    """The members of a wheel that make up the state which an attacker's own site has after these verbs."""
    desk = Desk(site=make_site(where, {ONE: BASE}, build="0.25.1"), registry=registry)
    for verb in verbs:
        assert desk.run(*verb).code == 0
    state = desk.site / ".patchctl"
    files = [path for path in sorted(state.rglob("*")) if path.is_file() and path.name != "lock"]
    return [member(f".patchctl/{path.relative_to(state).as_posix()}", path.read_bytes()) for path in files]


def wheel_of(where: Path, members: Sequence[Entry], *, listed: bool = True) -> Path:
    where.mkdir()
    wheel = where / FILE_NAME
    rows = None if listed else [record_row(ONE, members[0].data), *NOTES]
    wheel.write_bytes(packed(members, rows=rows))
    return wheel


def told(done: Done) -> str:
    assert done.code == 3, done
    assert "brought-state" in [error["code"] for error in done.document["errors"]], done
    return str(done.document["errors"][0]["message"])


def refuses_everything(desk: Desk, root: Path) -> None:
    before = tree_state(root)
    for verb in (*READING, *WRITING, *LAST):
        done = desk.json(*verb)
        assert "RECORD lists it" in told(done), verb
        assert tree_state(root) == before, verb
    doctor = desk.json("doctor")
    assert doctor.code == 1
    findings = {finding["code"]: finding for finding in doctor.document["diagnosis"]["findings"]}
    assert "pip uninstall vllm" in findings["brought-state"]["remedy"]
    assert tree_state(root) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "listed"),
    [(("apply", "entry"), True), (HOLD, False)],
    ids=["applied", "held, and not listed by the wheel"],
)
def test_what_a_wheel_says_is_applied_or_held_is_not_believed(
    tmp_path: Path, registry: Path, verb: tuple[str, ...], listed: bool
) -> None:
    forged = state_of(tmp_path / "forge", registry, verb)
    wheel = wheel_of(tmp_path / "wheel", [member(ONE, FIXED), *forged], listed=listed)
    root = tmp_path / "env"
    desk = Desk(site=make_environment(root, wheel), registry=registry)
    assert (desk.site / ".patchctl/ledger.json").exists()
    refuses_everything(desk, tmp_path)
    # the hint does what it says
    command = [sys.executable, "-m", "pip", *PIP, "--python", str(root / "bin/python"), "uninstall", "-y", "vllm"]
    subprocess.run(command, check=True)
    assert not (desk.site / ".patchctl/ledger.json").exists()
    install_wheel(root, wheel_of(tmp_path / "clean", [member(ONE, BASE)]))
    assert desk.json("status").patch("entry")["verdict"] != "applied"


@pytest.mark.slow
def test_a_state_that_a_wheel_puts_over_ours_is_not_believed(tmp_path: Path, registry: Path) -> None:
    forged = state_of(tmp_path / "forge", registry, HOLD)
    root = tmp_path / "env"
    desk = Desk(site=make_environment(root, wheel_of(tmp_path / "clean", [member(ONE, BASE)])), registry=registry)
    assert desk.run("apply").code == 0
    assert desk.run("check").code == 0
    # it comes with a distribution that nobody looks at
    other = tmp_path / "other" / "stranger-1-py3-none-any.whl"
    other.parent.mkdir()
    notes = {
        "METADATA": b"Metadata-Version: 2.1\nName: stranger\nVersion: 1\n",
        "WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    members = [member("stranger.py", b""), *forged]
    members += [member(f"stranger-1.dist-info/{name}", data) for name, data in notes.items()]
    other.write_bytes(packed(members, info="stranger-1.dist-info", metadata=None, wheel=None))
    install_wheel(root, other)
    assert told(desk.json("check")).endswith("nothing in it is patchctl's own")
    assert "stranger-1.dist-info" in told(desk.json("apply"))


@pytest.mark.slow
def test_a_state_from_a_wheels_data_directory_is_not_believed(tmp_path: Path, registry: Path) -> None:
    forged = state_of(tmp_path / "forge", registry, HOLD)
    moved = [entry._replace(name=f"{DATA}/data/".encode() + entry.name) for entry in forged]
    wheel = wheel_of(tmp_path / "wheel", [member(ONE, BASE), *moved])
    site = tmp_path / "target"
    command = [sys.executable, "-m", "pip", *PIP, "install", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run([*command, "--target", str(site), str(wheel)], check=True)
    assert (site / ".patchctl/ledger.json").exists()
    refuses_everything(Desk(site=site, registry=registry), tmp_path)


def test_a_journal_from_a_wheel_is_not_carried_out(tmp_path: Path, registry: Path) -> None:
    site = make_site(tmp_path, {ONE: BASE}, build="0.25.1")
    desk = Desk(site=site, registry=registry)
    assert desk.run("apply").code == 0
    shutil.copy(site / ".patchctl/ledger.json", site / ".patchctl/journal.json")
    rows = [(".patchctl/journal.json", "", "")]
    install(site, {"stranger.py": b""}, name="stranger", build="1", extra_rows=rows)
    os.utime(site / "stranger-1.dist-info/RECORD")
    for verb in (("recover",), ("apply",), ("status",)):
        assert "stranger-1.dist-info" in told(desk.json(*verb))


def test_a_state_of_ours_is_read_whatever_was_installed_since(tmp_path: Path, registry: Path) -> None:
    site = make_site(tmp_path, {ONE: BASE}, build="0.25.1")
    desk = Desk(site=site, registry=registry)
    assert desk.run("apply").code == 0
    rows = [("stranger/.patchctl/x", "", ""), ("x.patchctl/y", "", "")]
    install(site, {"stranger.py": b""}, name="stranger", build="1", extra_rows=rows)
    os.utime(site / "stranger-1.dist-info/RECORD")
    os.mkfifo(site / "broken-1.dist-info")
    (site / "gone-1.dist-info").mkdir()
    (site / "link-1.dist-info").mkdir()
    (site / "link-1.dist-info/RECORD").symlink_to("/dev/zero")
    assert desk.run("check").code == 0


def test_a_candidate_with_a_state_that_its_record_lists_is_refused(tmp_path: Path, registry: Path) -> None:
    forged = state_of(tmp_path / "forge", registry, HOLD)
    desk = Desk(site=make_site(tmp_path, {ONE: BASE}, build="0.25.0"), registry=registry)
    rows = [(entry.name.decode(), "", "") for entry in forged]
    candidate = tmp_path / "candidate"
    install(candidate, {ONE: BASE}, build="0.25.1", extra_rows=rows)
    for entry in forged:
        path = candidate / entry.name.decode()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(entry.data)
    os.utime(candidate / INFO / "RECORD")
    told(desk.json("preflight", str(candidate)))
    wheel = wheel_of(tmp_path / "wheel", [member(ONE, BASE), *forged])
    done = desk.json("preflight", str(wheel))
    assert (done.code, done.document["errors"][0]["code"]) == (3, "unsafe-wheel")


def test_a_row_that_leads_out_of_the_site_is_followed_by_nobody(tmp_path: Path, registry: Path) -> None:
    root = tmp_path / "a"
    site = root / "b/site"
    outside = {name: root / "b" / name for name in ("file", "fifo", "link", "directory")}
    ways = [far for path in outside.values() for far in (f"../{path.name}", str(path), f"vllm/../../{path.name}")]
    install(site, {ONE: BASE}, build="0.25.1", extra_rows=[(far, "sha256=" + "A" * 43, "7") for far in ways])
    outside["file"].write_bytes(b"secret\n")
    os.mkfifo(outside["fifo"])
    outside["link"].symlink_to("/dev/zero")
    outside["directory"].mkdir()
    wheel = wheel_of(tmp_path / "wheel", [member(ONE, BASE)])
    verbs = [["verify", "--all"], ["doctor"], ["apply"], ["report", "--format", "html"], ["revert", "--all"]]
    verbs += [["restore", far, "--from", str(wheel)] for far in ways]
    script = (
        "import json, sys\n"
        "from tests.running import patchctl\n"
        "for verb in json.load(sys.stdin):\n"
        "    done = patchctl(*verb)\n"
        "    print(done.code, done.out, done.err)\n"
    )
    before = {path: told for path, told in tree_state(root).items() if "site" not in path}
    options = ["--site", str(site), "--registry", str(registry)]
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps([[*verb, *options] for verb in verbs]),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,  # a FIFO or a device that is read would never end
    )
    assert "secret" not in done.stdout
    assert {path: told for path, told in tree_state(root).items() if "site" not in path} == before
