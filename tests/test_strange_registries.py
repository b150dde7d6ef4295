"""A second registry, or one more entry in a trusted one, tries to take over what is applied.

What another registry applied stays as it is: nothing is renewed, replaced, excluded, retired or taken out in the name
of an entry that merely has its id, until the operator names that id.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from patchctl.registry import bundled_registry
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, Done, patchctl
from tests.sites import make_site, tree_state

pytestmark = pytest.mark.attack("registry-hijack")

ENGINE = "vllm/engine.py"
OLD = b"".join(b"line_%d = 1\n" % number for number in range(1, 41))
SAFE = OLD.replace(b"line_5 = 1\n", b"line_5 = 'safe'\n")
EVIL = OLD.replace(b"line_5 = 1\n", b"line_5 = 'evil'\n")
BESIDE = OLD.replace(b"line_30 = 1\n", b"line_30 = 'beside'\n")
WEAK = {"ref": "a/b#1", "role": "fixes", "evidence": [{"file": ENGINE, "contains": "line_1 = 1"}]}
DEADLINE = 60


class Two:
    """A site with the trusted registry's ``guard`` applied, and a second registry that is named from now on."""

    def __init__(self, where: Path) -> None:
        self.where = where
        self.site = make_site(where, {ENGINE: OLD})
        self.trusted = make_registry(where / "trusted", name="team")
        # the name of a registry is anybody's
        self.other = make_registry(where / "other", name="team")
        add_entry(self.trusted, "guard", make_diff({ENGINE: (OLD, SAFE)}))
        assert self.run("apply", registry=self.trusted).code == 0

    def run(self, *arguments: str, registry: Path | None = None) -> Done:
        return Desk(site=self.site, registry=registry or self.other).run(*arguments)

    def patch(self, id_: str, registry: Path | None = None) -> dict[str, object]:
        return Desk(site=self.site, registry=registry or self.other).json("status", id_).patch(id_)

    @property
    def engine(self) -> bytes:
        return (self.site / ENGINE).read_bytes()

    @property
    def receipt(self) -> dict[str, object]:
        ledger = json.loads((self.site / ".patchctl/ledger.json").read_bytes())
        (found,) = (receipt for receipt in ledger["receipts"] if receipt["id"] == "guard")
        assert isinstance(found, dict)
        return found


@pytest.fixture
def two(tmp_path: Path) -> Two:
    return Two(tmp_path)


Hijack = Callable[[Path], object]
HIJACKS: dict[str, Hijack] = {
    "newer revision": lambda it: add_entry(it, "guard", make_diff({ENGINE: (OLD, EVIL)}), revision=2),
    "same revision": lambda it: add_entry(it, "guard", make_diff({ENGINE: (OLD, EVIL)})),
    "replaces": lambda it: add_entry(it, "evil", make_diff({ENGINE: (OLD, EVIL)}), replaces=["guard"]),
    "replaces, over an entry between": lambda it: (
        add_entry(it, "evil", make_diff({ENGINE: (OLD, EVIL)}), replaces=["bridge"]),
        add_entry(it, "bridge", make_diff({ENGINE: (OLD, EVIL)}), default=False, replaces=["guard"]),
    ),
    "conflicts": lambda it: add_entry(it, "evil", make_diff({ENGINE: (OLD, EVIL)}), conflicts=["guard"]),
    "weaker evidence": lambda it: add_entry(it, "guard", make_diff({ENGINE: (OLD, SAFE)}), fixes=[WEAK]),
    "an advisory of that id": lambda it: add_entry(it, "guard", None, kind="advisory", avoid=[{"args": ["--x"]}]),
    "a newer advisory of that id": lambda it: add_entry(
        it, "guard", None, kind="advisory", avoid=[{"args": ["--x"]}], revision=9
    ),
    "a broken entry of that id": lambda it: (add_entry(it, "guard", b"x") / "patch.toml").write_text("id = 1\n"),
    "for no build": lambda it: add_entry(
        it, "guard", make_diff({ENGINE: (OLD, EVIL)}), revision=2, variant={"versions": "<0"}
    ),
}
BARE = (("apply",), ("apply", "--all"), ("retire",), ("adopt",), ("recover",), ("doctor", "--clean", "--gc"))


@pytest.mark.parametrize("hijack", HIJACKS)
def test_another_registry_moves_nothing_that_was_applied(two: Two, hijack: str) -> None:
    HIJACKS[hijack](two.other)
    before = tree_state(two.where)
    for verb in BARE:
        dry = two.run(*verb, "--dry-run") if verb[0] in {"apply", "retire"} else two.run("status")
        assert dry.code in {0, 1, 3}, verb
        done = two.run(*verb)
        assert done.code in {0, 1, 3}, (verb, done)
        assert (two.engine, tree_state(two.where)) == (SAFE, before), verb
        if verb == ("apply",):
            check = two.run("check")
            assert check.code == 0 if done.code == 0 else check.code != 0
    patch = two.patch("guard") if hijack != "a broken entry of that id" else {"verdict": "applied"}
    assert patch["verdict"] == "applied"
    assert patch.get("need", "wanted") == "wanted"
    # the registry that it came from still decides about it, and the operator can take it out under either
    assert two.run("check", registry=two.trusted).code == 0
    assert two.run("revert", "guard").code == 0
    assert two.engine == OLD


@pytest.mark.parametrize("hijack", ["newer revision", "for no build", "replaces", "conflicts"])
def test_what_another_registry_would_change_is_for_the_operator_with_both_named(two: Two, hijack: str) -> None:
    HIJACKS[hijack](two.other)
    assert two.run("apply").code == two.run("check").code == 1
    id_ = "guard" if hijack in {"newer revision", "for no build"} else "evil"
    patch = two.patch(id_)
    assert patch["action"] == "inspect"
    if hijack != "conflicts":
        assert str(two.trusted) in str(patch["reason"])
    if id_ == "guard":
        assert str(two.other) in str(patch["reason"])
        assert str(patch["reason"]).endswith("; to take it over: patchctl apply guard")


def test_an_entry_with_other_evidence_is_told_and_not_due(two: Two) -> None:
    HIJACKS["weaker evidence"](two.other)
    done = two.run("check")
    assert done.code == 0
    assert f"guard: recorded from the registry team ({two.trusted})" in done.err
    assert two.patch("guard")["fixes"] == []
    assert "nothing to do" in two.run("retire").out
    assert two.patch("guard", two.trusted)["match"] != two.patch("guard")["match"]


def test_a_registry_behind_a_link_that_is_turned_to_a_new_release_is_the_same(tmp_path: Path) -> None:
    """git-sync and mounted ConfigMaps turn a link at every update."""
    site, current = make_site(tmp_path, {ENGINE: OLD}), tmp_path / "current"
    for number, change in ((1, SAFE), (2, BESIDE)):
        add_entry(make_registry(tmp_path / f"r{number}"), "guard", make_diff({ENGINE: (OLD, change)}), revision=number)
        current.unlink(missing_ok=True)
        current.symlink_to(f"r{number}")
        assert Desk(site=site, registry=current).run("apply").code == 0
        assert (site / ENGINE).read_bytes() == change
        assert Desk(site=site, registry=current).run("check").code == 0


def test_to_name_the_id_is_to_take_it_over(two: Two) -> None:
    HIJACKS["newer revision"](two.other)
    assert two.receipt["registry"] == {"name": "team", "bundled": False, "path": str(two.trusted)}
    assert two.run("apply", "guard").code == 0
    assert two.engine == EVIL
    assert two.receipt["registry"] == {"name": "team", "bundled": False, "path": str(two.other)}
    assert two.run("check").code == 0
    # and back again, by name alone
    add_entry(two.trusted, "guard", make_diff({ENGINE: (OLD, SAFE)}), revision=3)
    assert two.run("apply", registry=two.trusted).code == 1
    assert two.engine == EVIL


def test_to_name_it_is_to_believe_the_evidence_too(two: Two) -> None:
    HIJACKS["weaker evidence"](two.other)
    assert two.run("retire", "guard").code == 0
    assert two.engine == OLD


def test_the_same_diffs_under_another_path_are_taken_over_without_a_change_of_files(two: Two) -> None:
    """A checkout that moved: named once, its entries are renewed and retired from there again."""
    moved = two.where / "moved"
    shutil.copytree(two.trusted, moved)
    before = tree_state(two.site / "vllm")
    assert two.run("check", registry=moved).code == 0
    assert "nothing to do" in two.run("apply", registry=moved).out
    assert two.run("apply", "guard", registry=moved).code == 0
    assert two.receipt["registry"] == {"name": "team", "bundled": False, "path": str(moved)}
    assert tree_state(two.site / "vllm") == before
    assert "recorded from" not in two.run("check", registry=moved).err
    assert "nothing to do" in two.run("apply", "guard", registry=moved).out
    add_entry(moved, "guard", make_diff({ENGINE: (OLD, EVIL)}), revision=2)
    assert two.run("apply", registry=moved).code == 0
    assert two.engine == EVIL


def test_the_same_revision_with_other_bytes_is_never_taken_over(two: Two) -> None:
    HIJACKS["same revision"](two.other)
    before = tree_state(two.where)
    done = two.run("apply", "guard")
    assert (done.code, two.engine, tree_state(two.where)) == (0, SAFE, before)
    assert "applied already" in done.out


def test_a_registry_is_where_it_lies_whatever_leads_there(two: Two) -> None:
    """A link to it, another spelling, another branch checked out in its place: the same one."""
    add_entry(two.trusted, "guard", make_diff({ENGINE: (OLD, EVIL)}), revision=2)
    link = two.where / "link"
    link.symlink_to("trusted")
    assert two.run("apply", registry=link).code == 0
    assert two.engine == EVIL


def test_after_a_reinstall_nothing_of_another_registry_comes_in(two: Two) -> None:
    HIJACKS["newer revision"](two.other)
    (two.site / ENGINE).write_bytes(OLD)
    done = two.run("apply")
    assert two.engine == SAFE  # what was applied to this very build, from patchctl's own store
    # and the newer revision of the other registry is the operator's business, as the next check says
    assert (done.code, two.run("check").code, two.run("apply").code) == (1, 1, 1)
    assert "has revision" in done.err
    for info in two.site.glob("*.dist-info"):
        shutil.rmtree(info)
    make_site(two.where, {ENGINE: OLD, "vllm/new.py": b""}, build="0.21.0")
    assert (two.run("apply").code, two.engine) == (1, OLD)
    assert two.patch("guard")["action"] == "inspect"
    assert (two.run("apply", registry=two.trusted).code, two.engine) == (0, SAFE)


def test_what_was_set_aside_for_an_upgrade_comes_back_from_its_own_registry(two: Two) -> None:
    HIJACKS["newer revision"](two.other)
    candidate = two.where / "candidate"
    make_site(candidate, {ENGINE: OLD, "vllm/new.py": b""}, build="0.21.0")
    assert two.run("retire", "--for", str(candidate / "site")).code == 1  # it would be lost
    assert two.engine == SAFE
    assert two.run("retire", "--for", str(candidate / "site"), registry=two.trusted).code == 0
    for info in two.site.glob("*.dist-info"):
        shutil.rmtree(info)
    make_site(two.where, {ENGINE: OLD, "vllm/new.py": b""}, build="0.21.0")
    assert (two.run("apply").code, two.engine) == (1, OLD)
    assert (two.run("apply", registry=two.trusted).code, two.engine) == (0, SAFE)


class TestTheBundledOne:
    """What came with patchctl is the bundled registry, by whatever name it is read; nothing else is."""

    def test_is_bundled_by_its_path_too(self, tmp_path: Path) -> None:
        site = make_site(tmp_path, {ENGINE: OLD})
        link = tmp_path / "bundle"
        link.symlink_to(bundled_registry())
        for registry in (bundled_registry(), str(link)):
            document = patchctl("list", "--json", "--registry", registry).document
            assert document["exit_code"] == 0
            assert _places(site, registry) == [(True, None)]

    def test_is_none_that_has_its_name_or_a_copy_of_its_content(self, tmp_path: Path) -> None:
        site = make_site(tmp_path, {ENGINE: OLD})
        copy = tmp_path / "copy"
        shutil.copytree(bundled_registry(), copy)
        assert _places(site, str(copy)) == [(False, str(copy))]

    def test_keeps_what_it_applied_from_a_copy_with_its_name(self, two: Two) -> None:
        """As an upgrade of patchctl sees it: the path of the bundle does not count, that it is one does."""
        ledger = two.site / ".patchctl/ledger.json"
        document = json.loads(ledger.read_bytes())
        document["receipts"][0]["registry"] = {"name": "patchctl", "bundled": True, "path": None}
        ledger.write_text(json.dumps(document))
        (two.other / "registry.toml").write_text('format = 1\nname = "patchctl"\nrevision = 99\n')
        HIJACKS["newer revision"](two.other)
        assert (two.run("apply").code, two.engine) == (1, SAFE)
        assert "came from the bundled registry" in str(two.patch("guard")["reason"])


def _places(site: Path, registry: str) -> list[tuple[bool, str | None]]:
    from patchctl.registry import load_registry

    assert site.is_dir()
    return [(root.place.bundled, root.place.path) for root in load_registry([registry]).roots]


class TestRecords:
    def test_of_an_older_version_name_no_registry_and_are_anybodys_until_named(self, two: Two) -> None:
        ledger = two.site / ".patchctl/ledger.json"
        document = json.loads(ledger.read_bytes())
        assert document["format"] == 2
        del document["receipts"][0]["registry"]
        ledger.write_text(json.dumps(document | {"format": 1}))
        HIJACKS["newer revision"](two.other)
        assert two.patch("guard")["action"] == "apply"
        assert two.run("apply", "guard", registry=two.trusted).code == 0
        assert two.receipt["registry"] == {"name": "team", "bundled": False, "path": str(two.trusted)}
        assert two.patch("guard")["action"] == "inspect"

    def test_say_so_in_status_and_history(self, two: Two) -> None:
        place = {"name": "team", "bundled": False, "path": str(two.trusted)}
        assert two.patch("guard", two.trusted)["applied_registry"] == place
        (record,) = Desk(site=two.site, registry=two.trusted).json("history").document["history"]
        assert record["registries"] == [{"name": "team", "revision": 1, "path": str(two.trusted)}]

    def test_under_a_fixed_time_have_no_path_and_the_name_decides(self, tmp_path: Path) -> None:
        fixed = {"SOURCE_DATE_EPOCH": "1700000000"}
        site = make_site(tmp_path, {ENGINE: OLD})
        for name in ("build", "production", "stranger"):
            add_entry(make_registry(tmp_path / name, name="team"), "guard", make_diff({ENGINE: (OLD, SAFE)}))
        make_registry(tmp_path / "stranger", name="stranger")
        assert Desk(site=site, registry=tmp_path / "build").run("apply", env=fixed).code == 0
        ledger = (site / ".patchctl/ledger.json").read_text()
        assert str(tmp_path) not in ledger
        for name, action in (("stranger", "inspect"), ("production", "apply")):
            add_entry(tmp_path / name, "guard", make_diff({ENGINE: (OLD, EVIL)}), revision=2)
            desk = Desk(site=site, registry=tmp_path / name)
            assert desk.json("status", "guard").patch("guard")["action"] == action


class TestSeveralAtOnce:
    """Both registries are named: equal ids are nobody's, and what one says of the other's entries counts for little."""

    def run(self, two: Two, *arguments: str) -> Done:
        words = ("--registry", str(two.trusted), "--registry", str(two.other))
        return patchctl(*arguments, "--site", str(two.site), *words)

    @pytest.mark.parametrize("hijack", [it for it in HIJACKS if "conflicts" not in it])
    def test_an_applied_entry_stays_and_the_answer_is_an_error(self, two: Two, hijack: str) -> None:
        HIJACKS[hijack](two.other)
        before = tree_state(two.where)
        for verb in (("apply",), ("retire",), ("apply", "guard"), ("retire", "guard")):
            done = self.run(two, *verb)
            assert done.code in {0, 1, 3}, verb
            assert (two.engine, tree_state(two.where)) == (SAFE, before), verb
        assert self.run(two, "check").code == 3

    def test_a_conflict_that_a_newcomer_declares_keeps_the_newcomer_out_alone(self, two: Two) -> None:
        assert two.run("revert", "guard", registry=two.trusted).code == 0
        add_entry(two.other, "evil", make_diff({ENGINE: (OLD, BESIDE)}), conflicts=["guard"])
        for order in ((two.trusted, two.other), (two.other, two.trusted)):
            words = [word for folder in order for word in ("--registry", str(folder))]
            document = patchctl("status", "--json", "--site", str(two.site), *words).document
            assert {it["id"]: it["action"] for it in document["patches"]} == {"guard": "apply", "evil": "inspect"}
        assert self.run(two, "apply").code == self.run(two, "check").code == 1
        assert two.engine == SAFE

    def test_within_one_registry_a_conflict_binds_both(self, two: Two) -> None:
        assert two.run("revert", "guard", registry=two.trusted).code == 0
        add_entry(two.trusted, "evil", make_diff({ENGINE: (OLD, BESIDE)}), conflicts=["guard"])
        actions = {two.patch(id_, two.trusted)["action"] for id_ in ("guard", "evil")}
        assert actions == {"inspect"}

    def test_a_default_entry_of_the_second_adds_and_takes_nothing(self, two: Two) -> None:
        add_entry(two.other, "extra", make_diff({ENGINE: (OLD, BESIDE)}))
        assert self.run(two, "apply").code == self.run(two, "check").code == 0
        assert two.engine == SAFE.replace(b"line_30 = 1\n", b"line_30 = 'beside'\n")
        assert two.run("check", registry=two.trusted).code == 0

    def test_what_a_lock_pins_may_come_from_wherever_its_bytes_are(self, two: Two) -> None:
        lock = two.where / "patchctl.lock"
        assert two.run("lock", "--output", str(lock), registry=two.trusted).code == 0
        shutil.copytree(two.trusted / "vllm", two.other / "vllm")
        assert two.run("check", "--locked", str(lock)).code == 0
        (two.site / ENGINE).write_bytes(OLD)
        assert two.run("apply", "--locked", str(lock)).code == 0
        assert two.engine == SAFE
        shutil.rmtree(two.other / "vllm")
        HIJACKS["newer revision"](two.other)
        assert two.run("apply", "--locked", str(lock)).code == 0
        assert two.engine == SAFE
        (two.site / ENGINE).write_bytes(OLD)
        assert two.run("apply", "--locked", str(lock)).code == 1
        assert two.engine == OLD


class TestOneMoreEntry:
    """An attacker who gets an entry merged: what is outside the distribution, or keeps a reviewer busy for hours."""

    @pytest.mark.parametrize("name", ["patchctl", "pip", "PIP", "setuptools", "Wheel", "uv", "conda", "virtualenv"])
    def test_what_installs_packages_is_no_distribution_of_an_entry(self, tmp_path: Path, name: str) -> None:
        code = b"A = 1\n# end\n"
        package = name.lower()
        site = make_site(tmp_path, {f"{package}/__init__.py": code}, name=name, build="1.0")
        registry = make_registry(tmp_path / "registry")
        diff = make_diff({f"{package}/__init__.py": (code, b"A = 2\n# end\n")})
        add_entry(registry, "tool", diff, distribution=name)
        before = tree_state(tmp_path)
        done = patchctl("apply", "--json", "--site", str(site), "--registry", str(registry))
        assert done.code == 3
        first = done.document["errors"][0]
        assert first["code"] == "bad-distribution"
        assert f"names {name.lower()}, which no entry may be about" in first["message"]
        assert tree_state(tmp_path) == before

    @pytest.mark.parametrize(
        "variants",
        [
            ['versions = ">=0"'] * 100_000,
            [f'builds = ["0.20.0+x{number}"]' for number in range(100_000)],
            [f'versions = ">={number},<{number}.1"' for number in range(100_000)],
            ['versions = ">=0"'] * 64,
            [f'versions = "!={number}.1.1"' for number in range(64)],
            [f'versions = ">=0"\nlabel = ["{"*a" * 60}{number}*"]' for number in range(64)],
            ['versions = ">=0"\nlabel = [' + ",".join(f'"a{number}*"' for number in range(30_000)) + "]"],
        ],
        ids=[
            "a flood",
            "a flood of names",
            "a flood of ranges",
            "many that tie",
            "many ranges",
            "absurd globs",
            "a flood of globs",
        ],
    )
    @pytest.mark.parametrize("verb", ["lint", "check"])
    def test_variants_without_end_end(self, two: Two, variants: list[str], verb: str) -> None:
        folder = add_entry(two.other, "flood", make_diff({ENGINE: (OLD, EVIL)}))
        text = (folder / "patch.toml").read_text()
        head, table = text.split("[[variant]]\n")
        digest = next(line for line in table.splitlines() if line.startswith("sha256"))
        for variant in variants:
            more = f'[[variant]]\ndistribution = "vllm"\ndiff = "fix.diff"\n{digest}\n{variant}\n\n'
            if len(head) + len(more) > 256 << 10:
                break
            head += more
        (folder / "patch.toml").write_text(head)
        place = ["--site", str(two.site)] if verb == "check" else []
        command = [sys.executable, "-m", "patchctl", verb, "--registry", str(two.other), *place]
        done = subprocess.run(command, capture_output=True, check=False, timeout=DEADLINE)
        assert done.returncode in {0, 1, 3}
        assert len(done.stdout) + len(done.stderr) < 100_000

    @pytest.mark.parametrize("verb", ["list", "apply", "lint"])
    def test_pipes_devices_and_links_in_a_registry_are_refused_without_waiting(self, two: Two, verb: str) -> None:
        secret = two.where / "secret"
        secret.write_text('id = "secret"\ntitle = "TOPSECRET"\n')
        folder = two.other / "vllm"
        for name in ("piped", "endless", "leaked", "diff-piped", "diff-leaked"):
            add_entry(two.other, name, make_diff({ENGINE: (OLD, EVIL)}))
        for name, make in (
            ("piped/patch.toml", os.mkfifo),
            ("endless/patch.toml", lambda it: it.symlink_to("/dev/zero")),
            ("leaked/patch.toml", lambda it: it.symlink_to(secret)),
            ("diff-piped/fix.diff", os.mkfifo),
            ("diff-leaked/fix.diff", lambda it: it.symlink_to(secret)),
        ):
            (folder / name).unlink()
            make(folder / name)
        (two.other / "linked").symlink_to(two.trusted / "vllm")
        (folder / "guard").symlink_to(two.trusted / "vllm/guard")
        (folder / ".hidden").mkdir()
        (folder / "_aside").mkdir()
        os.mkfifo(folder / "pipe")
        before = tree_state(two.where)
        place = ["--site", str(two.site)] if verb == "apply" else []
        command = [sys.executable, "-m", "patchctl", verb, "--registry", str(two.other), *place]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=DEADLINE)
        assert done.returncode == {"list": 0, "lint": 1, "apply": 3}[verb]
        assert "TOPSECRET" not in done.stdout + done.stderr
        assert tree_state(two.where) == before

    @pytest.mark.parametrize("make", [os.mkfifo, lambda it: it.symlink_to("/dev/zero"), lambda it: it.mkdir()])
    def test_a_registry_file_that_is_none_is_refused_without_waiting(
        self, two: Two, make: Callable[[Path], object]
    ) -> None:
        (two.other / "registry.toml").unlink()
        make(two.other / "registry.toml")
        command = [sys.executable, "-m", "patchctl", "list", "--registry", str(two.other)]
        assert subprocess.run(command, capture_output=True, check=False, timeout=DEADLINE).returncode == 3

    @pytest.mark.parametrize(
        ("folder", "id_"),
        [
            ("Guard", "Guard"),
            ("guard", "Guard"),
            ("gu\N{CYRILLIC SMALL LETTER A}rd", "gu\N{CYRILLIC SMALL LETTER A}rd"),
            ("guard\N{ZERO WIDTH SPACE}", "guard"),
            ("guard ", "guard "),
            ("guard\n", "guard\n"),
            ("other", "guard"),
            ("guard.", "guard."),
            ("--all", "--all"),
        ],
    )
    def test_no_id_looks_like_anothers(self, two: Two, folder: str, id_: str) -> None:
        add_entry(two.other, "one", make_diff({ENGINE: (OLD, EVIL)})).rename(two.other / "vllm" / folder)
        file = two.other / "vllm" / folder / "patch.toml"
        file.write_text(file.read_text().replace('"one"', json.dumps(id_)))
        done = patchctl("list", "--json", "--registry", str(two.other))
        assert (done.document["entries"], bool(done.document["errors"])) == ([], True)
