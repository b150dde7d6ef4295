"""Every malicious diff of ``tests/malicious`` is refused, and nothing in or around the site changes by a bit.

What each of them tries is in the sheet beside them.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from pathlib import Path

import pytest

from tests.registries import add_entry, make_registry
from tests.running import Desk
from tests.sites import Content, install, make_site, tree_state

pytestmark = pytest.mark.attack("hostile-diff")

HERE = Path(__file__).parent / "malicious"
SHEET = (HERE / "README.md").read_text("utf-8")
VERBS = (
    ("status",),
    ("check",),
    ("show", "ID"),
    ("apply", "--dry-run"),
    ("apply", "--dry-run", "--all"),
    ("apply", "--dry-run", "ID"),
    ("apply",),
    ("apply", "--all"),
    ("apply", "ID"),
    ("apply", "ID", "--despite-fix", "--max-offset", "100000"),
    ("revert", "--all"),
    ("retire",),
    ("recover",),
)
CODE = b"A = 1\n# end\n"
CANARY = b"CANARY = 1\n# end\n"


def attacks() -> dict[str, list[Path]]:
    """Return attack -> its diffs; the steps of one are entries of one registry."""
    found = defaultdict(list)
    for path in sorted(HERE.glob("*.diff")):
        found[re.sub(r"-step-[0-9]$", "", path.stem)].append(path)
    return dict(found)


ATTACKS = attacks()
CODES = dict(re.findall(r"^\| `([^`]+)\.diff` \| `([^`]+)` \| \S", SHEET, re.MULTILINE))
"""Diff -> the code of its refusal, as the sheet has it."""


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """A site with what an attacker would like to find there, a home, a place for temporary files, and a canary."""
    scratch = tmp_path / "scratch"
    canary = Content(data=CANARY, listed=False)
    files = dict.fromkeys(("vllm/__init__.py", "vllm/a.py", "vllm/real/b.py"), CODE)
    listed = [(f"vllm/{name}", "", "") for name in ("alias.py", "pipe.py", "linked/canary.py", "dangling.py")]
    site = make_site(scratch, {**files, "outsider.py": canary})
    record = site / "vllm-0.20.0.dist-info/RECORD"
    record.write_text(record.read_text() + "".join(f"{path},,\r\n" for path, _, _ in listed))
    install(site, {"torch/__init__.py": CODE, "torch/a.py": CODE}, name="torch", build="2.8.0")
    for name in ("outside", "home", "tmp"):
        (scratch / name).mkdir()
        (scratch / name / "canary.py").write_bytes(CANARY)
    (site / "vllm/linked").symlink_to("../../outside")
    (site / "vllm/step").symlink_to("../../outside")
    (site / "vllm/inward").symlink_to("real")
    (site / "vllm/alias.py").symlink_to("../../outside/canary.py")
    (site / "vllm/dangling.py").symlink_to("../../outside/new.py")
    (site / "vllm/a.py.rej").symlink_to("../../outside/canary.py")
    (site / "vllm/a.py.orig").symlink_to("../../outside/canary.py")
    (site / "vllm/linkless").mkdir()
    os.mkfifo(site / "vllm/pipe.py")
    return scratch


@pytest.mark.parametrize("attack", ATTACKS)
def test_is_refused_and_changes_nothing(attack: str, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = make_registry(scratch / "registry")
    ids = []
    for number, path in enumerate(ATTACKS[attack], 1):
        ids.append(f"attack-{number}")
        add_entry(registry, ids[-1], path.read_bytes())
    desk = Desk(site=scratch / "site", registry=registry)
    before = tree_state(scratch.parent)
    around = {"HOME": str(scratch / "home"), "TMPDIR": str(scratch / "tmp"), "XDG_CACHE_HOME": str(scratch / "home")}
    # an editor or a shell that somebody starts would start here
    monkeypatch.chdir(scratch / "tmp")
    for id_ in ids:
        for verb in VERBS:
            done = desk.run(*(id_ if word == "ID" else word for word in verb), env=around)
            assert tree_state(scratch.parent) == before, verb
            if "ID" in verb and verb[0] == "apply":
                assert done.code in {1, 3}, (verb, done)
                assert id_ in done.err, (verb, done)
            assert done.code in {0, 1, 3}, (verb, done)
        document = desk.json("apply", id_, env=around).document
        code = CODES[ATTACKS[attack][ids.index(id_)].stem]
        assert code in [error["code"] for error in document["errors"] if error["patch"] == id_]
    assert desk.run("check", env=around).code in {1, 3}
    assert tree_state(scratch.parent) == before


def test_the_sheet_tells_of_every_diff_and_of_no_other() -> None:
    assert sorted(CODES) == sorted(path.stem for path in HERE.glob("*.diff"))


def test_every_kind_of_hole_is_tried() -> None:
    kinds = {
        *("CVE-2010-4651", "CVE-2015-1196", "CVE-2015-1395", "CVE-2015-1396", "CVE-2018-1000156", "CVE-2019-13636"),
        *("CVE-2019-13638", "CVE-2023-23946", "CVE-2023-25652", "CVE-2026-24001", "CVE-2026-50015"),
    }
    assert {match[0] for attack in ATTACKS if (match := re.match(r"CVE-\d+-\d+", attack))} == kinds
