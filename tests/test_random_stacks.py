"""Random stacks, accidents and verbs, checked after every step against what must always hold.

Entries change lines far from each other, so that what a file must carry is a set of marks and can be computed here
without the engine. The budget is that of a test suite; ``LONG_TESTS=1`` in the environment makes it a long run.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, Done, tree
from tests.sites import install, make_site
from tests.small_wheels import make_wheel

IDS = ("a", "b", "c")
FILES = ("vllm/f1.py", "vllm/f2.py")
MOVED = "vllm/moved/f2.py"
"""Where an entry may rename the second file to."""
BASE = b"".join(b"line_%d = 0\n" % number for number in range(40))
SOME_IDS = st.sets(st.sampled_from(IDS), max_size=2)
LONG = bool(os.environ.get("LONG_TESTS"))


def marked(id_: str, revision: int) -> bytes:
    line = 5 + 10 * IDS.index(id_)
    return BASE.replace(b"line_%d = 0\n" % line, b"line_%d = '%s%d'\n" % (line, id_.encode(), revision))


def marks(data: bytes) -> set[tuple[str, int]]:
    return {(mark[0], int(mark[1:])) for mark in re.findall(r"^line_\d+ = '(\w\d+)'$", data.decode(), re.MULTILINE)}


class Stacks(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.where = Path(tempfile.mkdtemp())
        self.site = make_site(self.where, dict.fromkeys(FILES, BASE), build="0.25.1")
        self.registry = make_registry(self.where / "registry")
        self.desk = Desk(site=self.site, registry=self.registry)
        self.revisions = dict.fromkeys(IDS, 0)
        self.build = 1

    def teardown(self) -> None:
        shutil.rmtree(self.where)

    @initialize()
    def two_plain_entries(self) -> None:
        for id_ in IDS[:2]:
            self.write_entry(id_, set(FILES), set(), set(), set(), default=True)

    def write_entry(
        self,
        id_: str,
        files: set[str],
        requires: set[str],
        conflicts: set[str],
        replaces: set[str],
        *,
        default: bool,
        moves: bool = False,
    ) -> None:
        self.revisions[id_] += 1
        revision = self.revisions[id_]
        diff = b"".join(
            self.section(path, marked(id_, revision), moves=moves and path == FILES[1]) for path in sorted(files)
        )
        # Requirements and replacements point one way, so that the registry has no circle to refuse.
        earlier = set(IDS[: IDS.index(id_)])
        add_entry(
            self.registry,
            id_,
            diff,
            revision=revision,
            default=default,
            requires=sorted(requires & earlier),
            conflicts=sorted(conflicts - {id_} - requires),
            replaces=sorted(replaces & earlier - requires),
        )

    def section(self, path: str, after: bytes, *, moves: bool) -> bytes:
        diff = make_diff({path: (BASE, after)})
        if not moves:
            return diff
        git = f"diff --git a/{path} b/{MOVED}\nrename from {path}\nrename to {MOVED}\n".encode()
        return git + diff.replace(f"+++ b/{path}".encode(), f"+++ b/{MOVED}".encode())

    def run(self, *arguments: str) -> Done:
        done = self.desk.json(*arguments)
        assert done.code != 70, done.document["errors"]
        return done

    def ledger(self) -> dict[str, Any]:
        path = self.site / ".patchctl" / "ledger.json"
        empty: dict[str, Any] = {"receipts": [], "holds": {}}
        return json.loads(path.read_text()) if path.exists() else empty

    @rule(
        id_=st.sampled_from(IDS),
        files=st.sets(st.sampled_from(FILES), min_size=1),
        requires=SOME_IDS,
        conflicts=SOME_IDS,
        replaces=SOME_IDS,
        default=st.booleans(),
        moves=st.booleans(),
    )
    def publish(
        self,
        id_: str,
        files: set[str],
        requires: set[str],
        conflicts: set[str],
        replaces: set[str],
        default: bool,
        moves: bool,
    ) -> None:
        self.write_entry(id_, files, requires, conflicts, replaces, default=default, moves=moves)

    @rule(path=st.sampled_from(FILES), accident=st.sampled_from(["restore", "edit", "unedit"]))
    def accident(self, path: str, accident: str) -> None:
        file = self.site / (MOVED if path == FILES[1] and accident == "edit" and self.is_moved() else path)
        if not file.exists() and accident != "restore":
            return
        data = file.read_bytes() if file.exists() else b""
        after = {"restore": BASE, "edit": data + b"mine\n", "unedit": data.replace(b"mine\n", b"")}
        file.write_bytes(after[accident])

    def is_moved(self) -> bool:
        return (self.site / MOVED).exists()

    def contents(self, path: str) -> list[bytes]:
        """What is at the names that a file may have."""
        names = (path, MOVED) if path == FILES[1] else (path,)
        return [(self.site / name).read_bytes() for name in names if (self.site / name).exists()]

    @rule()
    def upgrade(self) -> None:
        self.build += 1
        shutil.rmtree(next(self.site.glob("vllm-*.dist-info")))
        more = {"vllm/version.py": b"build = %d\n" % self.build}
        install(self.site, dict.fromkeys(FILES, BASE) | more, build=f"0.25.{self.build}")

    @rule(everything=st.booleans())
    def apply_bare(self, everything: bool) -> None:
        arguments = ["apply", "--all"] if everything else ["apply"]
        planned = self.run(*arguments, "--dry-run")
        done = self.run(*arguments)
        assert done.code == planned.code
        if done.code == 0:
            assert self.run("check").code == 0
            before = tree(self.site, but=())
            assert self.run(*arguments).code == 0
            assert tree(self.site, but=()) == before

    @rule(ids=st.sets(st.sampled_from(IDS), min_size=1, max_size=2))
    def apply_named(self, ids: set[str]) -> None:
        known = [id_ for id_ in sorted(ids) if self.revisions[id_]]
        if not known:
            return
        before = tree(self.site)
        done = self.run("apply", *known)
        if done.code != 0:
            assert tree(self.site) == before
        else:
            assert set(known) <= {receipt["id"] for receipt in self.ledger()["receipts"]}

    @rule(ids=st.sets(st.sampled_from(IDS), min_size=1, max_size=2))
    def revert(self, ids: set[str]) -> None:
        known = [id_ for id_ in sorted(ids) if self.revisions[id_]]
        before = tree(self.site)
        if known and self.run("revert", *known).code != 0:
            assert tree(self.site) == before

    @rule(ids=st.sets(st.sampled_from(IDS), min_size=1, max_size=2))
    def revert_keeping_edits(self, ids: set[str]) -> None:
        known = [id_ for id_ in sorted(ids) if self.revisions[id_]]
        before, edited = tree(self.site), self.edited()
        if not known:
            return
        if self.run("revert", *known, "--keep-edits").code != 0:
            assert tree(self.site) == before
        else:
            assert not set(known) & {receipt["id"] for receipt in self.ledger()["receipts"]}
            assert self.edited() == edited

    def edited(self) -> list[str]:
        """Which files somebody edited, whatever their names are by now."""
        return [path for path in FILES if any(b"mine\n" in data for data in self.contents(path))]

    @rule()
    def lose_the_ledger_and_adopt(self) -> None:
        """What comes back must be what was there; where not all of it does, the ledger turns up again."""
        state, aside = self.site / ".patchctl", self.where / "aside"
        if not state.exists():
            return
        before, was = tree(self.site), self.ledger()["receipts"]
        state.rename(aside)
        self.run("adopt")
        assert tree(self.site) == before, "adopting changes no file"
        receipts = {receipt["id"]: receipt["revision"] for receipt in self.ledger()["receipts"]}
        carried = {mark for path in FILES for data in self.contents(path) for mark in marks(data)}
        assert set(receipts.items()) <= carried, "what is adopted is in"
        patches = {patch["id"]: patch["verdict"] for patch in self.run("status", "--all").document["patches"]}
        assert {patches[id_] for id_ in receipts} <= {"applied"}
        if receipts == {receipt["id"]: receipt["revision"] for receipt in was}:
            shutil.rmtree(aside)
        else:
            shutil.rmtree(state, ignore_errors=True)
            aside.rename(state)

    @rule(path=st.sampled_from(FILES))
    def restore(self, path: str) -> None:
        wheel = make_wheel(self.where, [(file, BASE) for file in FILES])
        before = tree(self.site)
        done = self.run("restore", path, "--from", str(wheel))
        if done.code != 0:
            assert tree(self.site) == before
        elif done.document["transaction"] is not None:
            assert b"mine\n" not in b"".join(self.contents(path))

    @rule(id_=st.sampled_from(IDS[:2]), take_back=st.booleans())
    def hold(self, id_: str, take_back: bool) -> None:
        before = tree(self.site)
        arguments = ["unhold", id_] if take_back else ["hold", id_, "--reason", "x"]
        assert self.run(*arguments).code == 0
        assert tree(self.site) == before

    @invariant()
    def files_carry_receipts_and_nothing_else(self) -> None:
        ledger = self.ledger()
        receipts = {receipt["id"]: receipt["revision"] for receipt in ledger["receipts"]}
        patches = {patch["id"]: patch for patch in self.run("status", "--all").document["patches"]}
        for path in FILES:
            carried: set[tuple[str, int]] = set()
            for data in self.contents(path):
                found = marks(data)
                carried |= found
                assert len({id_ for id_, _ in found}) == len(found)
                if b"mine\n" not in data:
                    assert found <= set(receipts.items()), f"{path} carries what no receipt knows"
            for id_, revision in receipts.items():
                diff = (self.site / ".patchctl/patches" / digest(ledger, id_)).read_bytes()
                if patches[id_]["verdict"] == "applied" and path.encode() in diff:
                    assert (id_, revision) in carried, f"{path} does not carry {id_}"


def digest(ledger: dict[str, Any], id_: str) -> str:
    (receipt,) = (receipt for receipt in ledger["receipts"] if receipt["id"] == id_)
    return str(receipt["diffs"][0]["sha256"])


Stacks.TestCase.settings = settings(
    max_examples=400 if LONG else 20,
    stateful_step_count=25 if LONG else 12,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
    phases=[phase for phase in Phase if LONG or phase is not Phase.explain],
)
TestStacks = Stacks.TestCase
