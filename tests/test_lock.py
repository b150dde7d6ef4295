"""Lock files from the command line: what is pinned, what comes in, and what a gate lets pass."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.contract import complaints
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, Done, tree
from tests.sites import install, make_site
from tests.small_wheels import make_wheel

PATH = "vllm/engine.py"
BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 41))
FIX = {
    "ref": "vllm-project/vllm#1",
    "role": "fixes",
    "evidence": [{"file": "vllm/other.py", "symbol": "step", "contains": "fixed(15)"}],
}
OTHER = b"def step():\n    return broken(15)\n"


def changed(line: int, text: bytes = b"changed", base: bytes = BASE) -> bytes:
    return base.replace(b"line_%d = 1\n" % line, b"line_%d = %s\n" % (line, text))


def diff_of(line: int, text: bytes = b"changed", context: int = 3) -> bytes:
    return make_diff({PATH: (BASE, changed(line, text))}, context=context)


class Bench(Desk):
    """A desk with a lock file beside it."""

    @property
    def file(self) -> str:
        return str(self.site.parent / "patchctl.lock")

    @property
    def entries(self) -> Path:
        assert self.registry is not None
        return self.registry

    def lock(self) -> Done:
        return self.run("lock", "--output", self.file)

    def locked(self, verb: str, *arguments: str) -> Done:
        done = self.json(verb, "--locked", self.file, *arguments)
        assert complaints(done.document) == []
        return done

    def text(self) -> str:
        return Path(self.file).read_text("utf-8")


def states(done: Done) -> dict[str, str]:
    return {it["id"]: it["state"] for it in done.document["lock"]["entries"]}


def codes(done: Done, key: str = "errors") -> list[str]:
    return [problem["code"] for problem in done.document[key]]


def pins(bench: Bench) -> dict[str, Any]:
    done = bench.json("lock", "--output", "-")
    assert complaints(done.document) == []
    return {it["id"]: it for it in done.document["lock"]["entries"]}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Two default entries and an optional one on one file, applied nowhere."""
    site = make_site(tmp_path, {PATH: BASE, "vllm/other.py": OTHER}, build="0.25.1")
    registry = make_registry(tmp_path / "registry")
    add_entry(registry, "a-low", diff_of(5))
    add_entry(registry, "b-high", diff_of(25), fixes=[FIX])
    add_entry(registry, "c-extra", diff_of(35), default=False)
    return Bench(site=site, registry=registry)


class TestWriting:
    def test_pins_what_is_in_and_what_a_bare_apply_would_bring(self, bench: Bench) -> None:
        assert sorted(pins(bench)) == ["a-low", "b-high"]
        bench.run("apply", "a-low", "c-extra")
        assert sorted(pins(bench)) == ["a-low", "b-high", "c-extra"]

    def test_the_same_environment_gives_the_same_bytes_and_nothing_is_written_twice(self, bench: Bench) -> None:
        assert bench.lock().code == 0
        first, before = bench.text(), Path(bench.file).stat().st_mtime_ns
        assert first == bench.run("lock", "--output", "-").out
        bench.run("apply")
        done = bench.lock()
        assert (done.code, "changed=no" in done.out) == (0, True)
        assert (bench.text(), Path(bench.file).stat().st_mtime_ns) == (first, before)

    def test_writes_to_the_working_directory_and_nothing_in_the_site(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.chdir(tmp_path)
        before = tree(bench.site, but=())
        assert bench.run("lock").code == 0
        assert (tmp_path / "patchctl.lock").read_text().startswith("# patchctl.lock:")
        assert tree(bench.site, but=()) == before
        assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []

    def test_every_diff_of_the_revision_is_pinned_so_that_other_builds_may_use_it(self, bench: Bench) -> None:
        folder = add_entry(bench.entries, "a-low", diff_of(5))
        (folder / "other.diff").write_bytes(diff_of(5, context=1))
        from patchctl.model import sha256_hex

        with (folder / "patch.toml").open("a") as stream:
            stream.write('\n[[variant]]\ndistribution = "vllm"\ndiff = "other.diff"\nbuilds = ["9.9"]\n')
            stream.write(f'sha256 = "{sha256_hex(diff_of(5, context=1))}"\n')
        for _ in range(2):
            assert [it["diff"] for it in pins(bench)["a-low"]["variants"]] == ["fix.diff", "other.diff"]
            bench.run("apply")

    def test_what_is_held_out_is_written_with_its_reason_and_what_is_held_in_is_pinned(self, bench: Bench) -> None:
        bench.run("apply", "a-low")
        bench.run("hold", "a-low", "--reason", 'in, "quoted" \\ and 中文')
        bench.run("hold", "b-high", "--reason", "the vendor ships its own")
        assert bench.lock().code == 0
        assert 'hold = "in, \\"quoted\\" \\\\ and 中文"' in bench.text()
        assert 'id = "b-high"\nreason = "the vendor ships its own"' in bench.text()
        assert states(bench.locked("check")) == {"a-low": "held"}
        bench.run("unhold", "a-low")
        done = bench.locked("check")
        assert (done.code, states(done)) == (0, {"a-low": "applied"})
        assert done.document["lock"]["held"] == [{"id": "b-high", "reason": "the vendor ships its own"}]

    def test_what_is_proven_fixed_and_not_in_is_not_pinned_and_that_is_said(self, bench: Bench) -> None:
        (bench.site / "vllm/other.py").write_bytes(OTHER.replace(b"broken", b"fixed"))
        done = bench.lock()
        assert (done.code, "not pinned, because proven fixed in this build: b-high" in done.out) == (0, True)
        assert sorted(pins(bench)) == ["a-low"]

    def test_advice_and_what_another_replaces_are_not_pinned(self, bench: Bench) -> None:
        add_entry(bench.entries, "d-advice", None, kind="advisory", avoid=[{"args": ["--x"]}])
        bench.run("apply", "a-low")
        add_entry(bench.entries, "e-better", diff_of(5, b"better"), replaces=["a-low"])
        assert sorted(pins(bench)) == ["b-high", "e-better"]

    def test_what_a_pinned_entry_requires_is_pinned_with_it(self, bench: Bench) -> None:
        add_entry(bench.entries, "d-upper", diff_of(15), requires=["c-extra"])
        assert sorted(pins(bench)) == ["a-low", "b-high", "c-extra", "d-upper"]
        bench.lock()
        assert bench.locked("apply").code == 0

    def test_an_environment_that_is_not_settled_is_not_locked(self, bench: Bench) -> None:
        (bench.site / PATH).write_bytes(changed(5, b"mine"))
        done = bench.lock()
        assert (done.code, done.out, Path(bench.file).exists()) == (1, "", False)
        assert "a-low cannot be pinned before it is settled (port)" in done.err
        bench.run("hold", "a-low", "--reason", "ours")
        assert bench.lock().code == 0

    def test_a_broken_entry_may_belong_into_the_lock_so_none_is_written(self, bench: Bench) -> None:
        add_entry(bench.entries, "d-broken", diff_of(15)).joinpath("fix.diff").write_bytes(b"no diff\n")
        assert (bench.lock().code, Path(bench.file).exists()) == (3, False)

    def test_a_revision_that_the_registry_left_behind_is_pinned_with_a_warning(self, bench: Bench) -> None:
        bench.run("apply")
        add_entry(bench.entries, "a-low", diff_of(5, b"second"), revision=2)
        done = bench.json("lock", "--output", bench.file)
        assert (done.code, codes(done, "warnings")) == (0, ["behind-registry"])
        assert pins(bench)["a-low"]["revision"] == 1
        assert bench.locked("check").code == bench.locked("apply").code == 0

    def test_a_diff_that_changed_under_its_revision_is_not_locked(self, bench: Bench) -> None:
        bench.run("apply")
        add_entry(bench.entries, "a-low", diff_of(5, b"second"))
        done = bench.json("lock", "--output", bench.file)
        assert (done.code, codes(done), Path(bench.file).exists()) == (1, ["pin-other-diff"], False)

    def test_another_file_is_not_overwritten_and_no_file_goes_into_the_site(self, bench: Bench, tmp_path: Path) -> None:
        notes = tmp_path / "notes"
        notes.write_text("mine\n")
        assert (bench.run("lock", "--output", str(notes)).code, notes.read_text()) == (2, "mine\n")
        inside = bench.site / "vllm" / "patchctl.lock"
        assert (bench.run("lock", "--output", str(inside)).code, inside.exists()) == (2, False)
        os.mkfifo(tmp_path / "pipe")
        assert bench.run("lock", "--output", str(tmp_path / "pipe")).code == 3
        nowhere = bench.run("lock", "--output", str(tmp_path / "nowhere" / "x.lock"), "--json")
        assert (nowhere.code, codes(nowhere)) == (3, ["lock-not-written"])

    def test_a_link_stays_and_the_mode_too(self, bench: Bench, tmp_path: Path) -> None:
        real, link = tmp_path / "real.lock", tmp_path / "patchctl.lock"
        link.symlink_to(real)
        bench.lock()
        real.chmod(0o640)
        bench.run("apply", "c-extra")
        assert bench.lock().code == 0
        assert (link.is_symlink(), "c-extra" in real.read_text(), real.stat().st_mode & 0o777) == (True, True, 0o640)


class TestApply:
    def test_brings_in_just_what_is_pinned(self, bench: Bench) -> None:
        bench.run("apply", "a-low", "c-extra")
        bench.run("hold", "b-high", "--reason", "out")
        bench.lock()
        bench.run("unhold", "b-high")
        bench.run("revert", "--all")
        assert bench.locked("check").code == 1
        dry = bench.locked("apply", "--dry-run")
        assert (dry.code, states(dry)) == (0, {"a-low": "due", "c-extra": "due"})
        done = bench.locked("apply")
        assert (done.code, done.document["transaction"]["applied"]) == (0, ["a-low", "c-extra"])
        assert (bench.site / PATH).read_bytes() == changed(35, base=changed(5))
        assert bench.locked("check").code == 0

    def test_is_all_or_nothing(self, bench: Bench) -> None:
        bench.lock()
        (bench.site / PATH).write_bytes(changed(5, b"mine"))
        before = tree(bench.site, but=())
        done = bench.locked("apply")
        assert (done.code, codes(done), states(done)["b-high"]) == (1, ["pin-stuck"], "due")
        assert tree(bench.site, but=()) == before

    def test_nothing_to_do_writes_nothing(self, bench: Bench) -> None:
        bench.run("apply")
        bench.lock()
        before = tree(bench.site, but=())
        assert bench.locked("apply").code == 0
        assert tree(bench.site, but=()) == before

    def test_what_is_in_and_not_pinned_stays_and_is_told(self, bench: Bench) -> None:
        bench.lock()
        bench.run("apply", "c-extra")
        done = bench.locked("apply")
        assert (done.code, codes(done)) == (1, ["not-pinned"])
        assert done.document["transaction"]["applied"] == ["a-low", "b-high"]
        assert done.document["lock"]["not_pinned"] == [{"id": "c-extra", "hold": None}]
        again = bench.locked("apply")
        assert (again.code, again.document["transaction"]) == (1, None)
        check = bench.locked("check")
        assert (check.code, codes(check, "warnings")) == (0, ["not-pinned"])
        assert bench.locked("check", "--strict").code == 1
        bench.run("hold", "c-extra", "--reason", "this machine needs it")
        assert (bench.locked("apply").code, codes(bench.locked("check"), "warnings")) == (0, [])

    def test_a_newer_entry_that_would_replace_a_pinned_one_stays_out(self, bench: Bench) -> None:
        bench.lock()
        add_entry(bench.entries, "e-better", diff_of(5, b"better"), replaces=["a-low"])
        assert bench.locked("apply").code == 0
        assert (bench.site / PATH).read_bytes() == changed(25, base=changed(5))
        assert bench.locked("check").code == 0

    def test_a_newer_entry_that_conflicts_with_a_pinned_one_stays_out(self, bench: Bench) -> None:
        bench.lock()
        add_entry(bench.entries, "e-rival", diff_of(15), conflicts=["a-low"])
        assert bench.run("check").code == 1
        assert bench.locked("apply").code == bench.locked("check").code == 0

    def test_nothing_comes_in_that_is_only_required(self, bench: Bench) -> None:
        bench.lock()
        add_entry(bench.entries, "a-low", diff_of(5), requires=["c-extra"])
        done = bench.locked("apply")
        assert (done.code, codes(done), (bench.site / PATH).read_bytes()) == (1, ["not-pinned"], BASE)

    def test_a_pinned_entry_takes_out_what_it_replaces(self, bench: Bench) -> None:
        bench.run("apply", "a-low")
        add_entry(bench.entries, "e-better", diff_of(5, b"better"), replaces=["a-low"])
        bench.lock()
        done = bench.locked("apply")
        assert (done.code, done.document["transaction"]["reverted"]) == (0, ["a-low"])
        assert done.document["lock"]["not_pinned"] == []

    def test_a_lost_entry_comes_back(self, bench: Bench) -> None:
        bench.run("apply")
        bench.lock()
        (bench.site / PATH).write_bytes(BASE)
        assert states(bench.locked("check")) == {"a-low": "due", "b-high": "due"}
        assert bench.locked("apply").code == bench.locked("check").code == 0

    def test_the_history_names_the_lock_file(self, bench: Bench) -> None:
        bench.lock()
        bench.locked("apply")
        assert bench.json("history").document["history"][0]["decisions"] == [f"--locked={bench.file}"]

    def test_the_lock_says_which_entries_so_nobody_else_does(self, bench: Bench) -> None:
        bench.lock()
        for words in (["apply", "a-low"], ["apply", "--all"], ["check", "a-low"], ["apply", "--despite-fix"]):
            assert bench.run(*words, "--locked", bench.file).code == 2


class TestGate:
    def test_a_newer_registry_with_two_more_default_entries_changes_nothing(self, bench: Bench) -> None:
        bench.run("apply")
        bench.lock()
        add_entry(bench.entries, "n-one", diff_of(15))
        add_entry(bench.entries, "n-two", diff_of(20))
        assert bench.run("check").code == 1
        done = bench.locked("check")
        assert (done.code, states(done)) == (0, {"a-low": "applied", "b-high": "applied"})
        status = bench.locked("status")
        assert (status.code, status.document["lock"]["new"]) == (0, ["n-one", "n-two"])
        assert "new, not in the lock: n-one, n-two" in bench.run("status", "--locked", bench.file).out
        before = (bench.site / PATH).read_bytes()
        assert bench.locked("apply").code == 0
        assert (bench.site / PATH).read_bytes() == before

    def test_broken_entries_beside_the_pinned_ones_change_nothing(self, bench: Bench) -> None:
        bench.run("apply")
        bench.lock()
        add_entry(bench.entries, "n-one", diff_of(15)).joinpath("fix.diff").write_bytes(b"no diff\n")
        assert bench.run("check").code == 3
        assert (bench.locked("check").code, codes(bench.locked("check"))) == (0, [])

    def test_a_broken_pinned_entry_is_an_error(self, bench: Bench) -> None:
        bench.run("apply")
        bench.lock()
        add_entry(bench.entries, "a-low", diff_of(5)).joinpath("fix.diff").write_bytes(b"no diff\n")
        assert (bench.locked("check").code, bench.locked("apply").code) == (3, 3)

    @pytest.mark.attack("digest-for-trust")
    @pytest.mark.parametrize("applied", [True, False])
    def test_a_pinned_diff_that_changed_without_a_revision_is_an_error_with_both_digests(
        self, bench: Bench, applied: bool
    ) -> None:
        from patchctl.model import sha256_hex

        if applied:
            bench.run("apply")
        bench.lock()
        add_entry(bench.entries, "a-low", diff_of(5, b"second"))
        done = bench.locked("check")
        assert (done.code, states(done)["a-low"], codes(done)) == (1, "other-diff", ["pin-other-diff"])
        message = done.document["errors"][0]["message"]
        assert "a-low" in message
        assert sha256_hex(diff_of(5)) in message
        assert sha256_hex(diff_of(5, b"second")) in message
        before = tree(bench.site, but=())
        assert bench.locked("apply").code == 1
        assert tree(bench.site, but=()) == before

    def test_one_more_variant_needs_no_new_revision(self, bench: Bench) -> None:
        bench.run("apply")
        bench.lock()
        folder = add_entry(bench.entries, "a-low", diff_of(5))
        (folder / "more.diff").write_bytes(diff_of(5, context=1))
        from patchctl.model import sha256_hex

        with (folder / "patch.toml").open("a") as stream:
            stream.write('\n[[variant]]\ndistribution = "vllm"\ndiff = "more.diff"\nbuilds = ["0.25.1"]\n')
            stream.write(f'sha256 = "{sha256_hex(diff_of(5, context=1))}"\n')
        assert bench.locked("check").code == 0
        bench.run("revert", "--all")
        done = bench.locked("apply")
        assert (done.code, states(done)["a-low"]) == (1, "other-diff")

    def test_what_is_applied_as_pinned_passes_whatever_the_registry_has_now(self, bench: Bench) -> None:
        bench.run("apply")
        bench.lock()
        add_entry(bench.entries, "a-low", diff_of(5, b"second"), revision=2)
        for path in (bench.entries / "vllm" / "b-high").iterdir():
            path.unlink()
        done = bench.locked("check")
        assert (done.code, states(done)) == (0, {"a-low": "applied", "b-high": "applied"})
        assert done.patch("a-low")["action"] == "none"
        assert bench.locked("apply").code == 0

    def test_what_is_not_in_comes_from_the_pinned_revision_or_not_at_all(self, bench: Bench) -> None:
        bench.lock()
        add_entry(bench.entries, "a-low", diff_of(5, b"second"), revision=2)
        done = bench.locked("check")
        assert (done.code, codes(done)) == (1, ["pin-other-revision"])
        assert "the lock pins revision 1; this registry has 2" in done.document["errors"][0]["message"]
        assert bench.locked("apply").code == 1
        assert (bench.site / PATH).read_bytes() == BASE
        for path in (bench.entries / "vllm" / "a-low").iterdir():
            path.unlink()
        assert states(bench.locked("check"))["a-low"] == "unknown"

    def test_another_revision_that_is_in_does_not_pass(self, bench: Bench) -> None:
        bench.run("apply")
        bench.lock()
        add_entry(bench.entries, "a-low", diff_of(5, b"second"), revision=2)
        bench.run("apply")
        done = bench.locked("check")
        assert (done.code, states(done)["a-low"]) == (1, "other-revision")
        assert "revision 2 is applied, the lock pins 1" in done.document["errors"][0]["message"]
        bench.lock()
        assert bench.locked("check").code == 0

    def test_a_pinned_newer_revision_takes_the_place_of_the_old_one(self, bench: Bench) -> None:
        bench.run("apply")
        add_entry(bench.entries, "a-low", diff_of(5, b"second"), revision=2)
        other = Bench(
            site=make_site(bench.site.parent / "other", {PATH: BASE}, build="0.25.1"), registry=bench.registry
        )
        assert other.run("lock", "--output", bench.file).code == 0
        assert states(bench.locked("check"))["a-low"] == "due"
        assert bench.locked("apply").code == 0
        assert (bench.site / PATH).read_bytes() == changed(25, base=changed(5, b"second"))

    def test_proven_fixed_passes_without_being_in(self, bench: Bench) -> None:
        bench.lock()
        bench.run("apply", "a-low")
        (bench.site / "vllm/other.py").write_bytes(OTHER.replace(b"broken", b"fixed"))
        done = bench.locked("check")
        assert (done.code, states(done)) == (0, {"a-low": "applied", "b-high": "fixed"})
        assert bench.locked("apply").code == 0

    def test_a_hold_on_this_machine_passes_and_is_shown(self, bench: Bench) -> None:
        bench.lock()
        bench.run("apply", "a-low")
        bench.run("hold", "b-high", "--reason", "breaks our tokenizer")
        done = bench.locked("check")
        assert (done.code, states(done)["b-high"]) == (0, "held")
        assert "breaks our tokenizer" in bench.run("check", "--locked", bench.file).out
        applied = bench.locked("apply")
        assert (applied.code, applied.document["transaction"]) == (0, None)
        assert bench.locked("check", "--strict").code == 1

    def test_a_build_that_no_variant_is_for_does_not_pass(self, bench: Bench, tmp_path: Path) -> None:
        bench.lock()
        site = make_site(tmp_path / "vendor", {PATH: BASE, "vllm/other.py": OTHER}, build="0.25.1+acme")
        vendor = Desk(site=site, registry=bench.registry)
        done = vendor.json("check", "--locked", bench.file)
        assert (done.code, states(done)) == (1, {"a-low": "no-match", "b-high": "no-match"})
        assert vendor.run("apply", "--locked", bench.file).code == 1
        assert (site / PATH).read_bytes() == BASE

    def test_a_distribution_that_is_not_there_does_not_pass(self, bench: Bench, tmp_path: Path) -> None:
        bench.lock()
        add_entry(bench.entries, "x-other", make_diff({"other/a.py": (b"a\n", b"b\n")}), distribution="other")
        site = make_site(tmp_path / "other", {"other/a.py": b"a\n"}, name="other", build="1.0")
        done = Desk(site=site, registry=bench.registry).json("check", "--locked", bench.file)
        assert (done.code, set(states(done).values())) == (1, {"no-match"})
        alone = Desk(site=site, registry=bench.registry).json(
            "check", "--locked", bench.file, "--distribution", "other"
        )
        assert (alone.code, states(alone)) == (0, {})

    @pytest.mark.parametrize("live", [changed(5) + b"mine\n", None])
    def test_drifted_and_missing_do_not_pass(self, bench: Bench, live: bytes | None) -> None:
        bench.run("apply")
        bench.lock()
        if live is None:
            (bench.site / PATH).unlink()
        else:
            (bench.site / PATH).write_bytes(live)
        done = bench.locked("check")
        assert (done.code, set(states(done).values())) == (1, {"stuck"})

    def test_a_rebuilt_distribution_lost_its_patches(self, bench: Bench) -> None:
        bench.run("apply")
        bench.lock()
        install(bench.site, {PATH: BASE, "vllm/other.py": OTHER, "vllm/more.py": b"x\n"}, build="0.25.1")
        assert bench.locked("check").code == 1
        assert bench.locked("apply").code == bench.locked("check").code == 0

    def test_an_entry_that_became_advice_cannot_come_in(self, bench: Bench) -> None:
        bench.lock()
        add_entry(bench.entries, "a-low", None, kind="advisory", avoid=[{"args": ["--x"]}])
        assert states(bench.locked("check"))["a-low"] == "unknown"

    def test_writes_nothing(self, bench: Bench) -> None:
        bench.lock()
        before = tree(bench.site.parent, but=())
        bench.locked("check")
        bench.locked("status")
        bench.locked("apply", "--dry-run")
        assert tree(bench.site.parent, but=()) == before


class TestUpgrade:
    def test_what_was_taken_out_for_an_upgrade_is_due_and_the_lock_brings_it_back(self, bench: Bench) -> None:
        bench.run("apply")
        bench.run("hold", "b-high", "--reason", "in, and to stay")
        bench.lock()
        text = bench.text()
        newer = {PATH: BASE, "vllm/other.py": OTHER, "vllm/new.py": b"new = 1\n"}
        wheel = make_wheel(bench.site.parent, list(newer.items()), build="0.26.0")
        assert bench.run("retire", "--for", str(wheel)).code == 0
        assert (bench.site / PATH).read_bytes() == BASE
        done = bench.locked("check")
        assert (done.code, states(done)) == (1, {"a-low": "due", "b-high": "due"})
        assert done.document["lock"]["not_pinned"] == []
        assert pins(bench)["b-high"]["hold"] == "in, and to stay"
        assert bench.run("lock", "--output", "-").out == text
        for path in next(bench.site.glob("*.dist-info")).iterdir():
            path.unlink()
        install(bench.site, newer, build="0.26.0")
        assert bench.locked("apply").code == bench.locked("check").code == 0
        assert (bench.site / PATH).read_bytes() == changed(25, base=changed(5))

    def test_what_was_taken_out_for_an_upgrade_is_not_in_though_nobody_pinned_it(self, bench: Bench) -> None:
        bench.lock()
        bench.run("apply", "--all")
        newer = {PATH: BASE, "vllm/other.py": OTHER}
        wheel = make_wheel(bench.site.parent, list(newer.items()), build="0.26.0")
        assert bench.run("retire", "--for", str(wheel)).code == 0
        assert bench.locked("check").document["lock"]["not_pinned"] == []


GOOD = """format = 1

[[entry]]
id = "a-low"
revision = 1

[[entry.variant]]
distribution = "vllm"
diff = "fix.diff"
sha256 = "{sha}"
"""
SHA = "0123456789abcdef" * 4
AGAIN = "[[entry.variant]]\n" + GOOD.format(sha=SHA).partition("variant]]\n")[2]


class TestTheFile:
    @pytest.mark.parametrize(
        ("text", "line", "key"),
        [
            ("", 1, "format"),
            ("format = 2\nnew = 1\n", 1, "format"),
            ("format = 1\nentries = []\n", 2, "entries"),
            ("format = 1\n[[entry]]\nid = 'a'\nrevision = 1\n", 2, "entry[0].variant"),
            (GOOD.format(sha="12"), 10, "entry[0].variant[0].sha256"),
            (GOOD.format(sha=SHA).replace("revision = 1", "revision = 0"), 5, "entry[0].revision"),
            (GOOD.format(sha=SHA).replace('"a-low"', '"A low"'), 4, "entry[0].id"),
            (GOOD.format(sha=SHA).replace("fix.diff", "../fix.diff"), 9, "entry[0].variant[0].diff"),
            (GOOD.format(sha=SHA) + "strip = 1\n", 11, "entry[0].variant[0].strip"),
            (GOOD.format(sha=SHA) + '[[held]]\nid = "a-low"\nreason = "x"\n', 12, "held[0].id"),
            (GOOD.format(sha=SHA) + '[[held]]\nid = "b-low"\n', 11, "held[0].reason"),
            (
                GOOD.format(sha=SHA) + AGAIN,
                13,
                "entry[0].variant[1].diff",
            ),
            (GOOD.format(sha=SHA) + "broken\n", 11, None),
        ],
    )
    def test_what_is_wrong_is_told_with_file_line_and_key(
        self, bench: Bench, text: str, line: int, key: str | None
    ) -> None:
        Path(bench.file).write_text(text)
        done = bench.json("check", "--locked", bench.file)
        assert done.code == 3
        problem = done.document["errors"][-1]
        assert (problem["path"], problem["line"], problem["key"]) == (bench.file, line, key)
        assert bench.run("apply", "--locked", bench.file).code == 3
        assert (bench.site / PATH).read_bytes() == BASE

    def test_a_registry_that_another_key_belongs_to_is_not_named(self, bench: Bench) -> None:
        Path(bench.file).write_text(GOOD.format(sha=SHA) + "strip = 1\n")
        assert "[[variant]]" not in str(bench.json("check", "--locked", bench.file).document["errors"][0]["hint"])

    def test_every_problem_is_told(self, bench: Bench) -> None:
        Path(bench.file).write_text(GOOD.format(sha="12").replace('"a-low"', '"A low"'))
        assert codes(bench.json("check", "--locked", bench.file)) == ["not-a-slug", "bad-sha256"]

    def test_that_is_not_there_or_no_file_is_an_error(self, bench: Bench, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        for path in (tmp_path / "nothing", tmp_path / "pipe", tmp_path):
            assert bench.run("check", "--locked", str(path)).code == 3

    def test_may_be_a_link_as_config_maps_are_mounted(self, bench: Bench, tmp_path: Path) -> None:
        bench.run("apply")
        bench.lock()
        link = tmp_path / "link.lock"
        link.symlink_to(bench.file)
        assert bench.run("check", "--locked", str(link)).code == 0

    def test_an_empty_lock_pins_nothing(self, bench: Bench) -> None:
        Path(bench.file).write_text("format = 1\n")
        bench.run("apply", "c-extra")
        done = bench.locked("check")
        assert (done.code, done.document["lock"]["new"]) == (0, ["a-low", "b-high"])


@pytest.mark.attack("digest-for-trust")
class TestTrust:
    """A diff is changed together with its digest in ``patch.toml``: nothing in the registry shows it."""

    EVIL = diff_of(5, b"evil")

    def test_the_digest_in_an_entry_vouches_for_nobody_and_the_lock_does(self, bench: Bench) -> None:
        bench.run("apply")
        bench.lock()
        digest = bench.run("status", "--digest").out.strip()
        assert bench.run("revert", "--all").code == 0
        add_entry(bench.entries, "a-low", self.EVIL)
        before = tree(bench.site, but=())
        assert bench.locked("apply").code == 1
        assert tree(bench.site, but=()) == before
        # without a lock the registry is believed, as it says
        assert bench.run("apply").code == 0
        assert b"evil" in (bench.site / PATH).read_bytes()
        done = bench.locked("check")
        assert (done.code, states(done)["a-low"]) == (1, "other-diff")
        assert bench.run("check", "--expect", digest).code == 1

    def test_a_changed_diff_alone_is_damage(self, bench: Bench) -> None:
        (bench.entries / "vllm/a-low/fix.diff").write_bytes(self.EVIL)
        done = bench.json("apply")
        assert (done.code, codes(done)) == (3, ["diff-digest"])
        assert b"evil" not in (bench.site / PATH).read_bytes()

    @pytest.mark.parametrize("verb", ["check", "status", "apply"])
    @pytest.mark.parametrize("how", ["file", "folder", "in the site"])
    def test_a_lock_that_others_may_write_is_told(self, bench: Bench, verb: str, how: str) -> None:
        bench.run("apply")
        bench.lock()
        assert "lock-of-others" not in codes(bench.locked(verb), "warnings")
        path = Path(bench.file)
        if how == "in the site":
            path = bench.site / "patchctl.lock"
            Path(bench.file).rename(path)
        else:
            (path if how == "file" else path.parent).chmod(0o666 if how == "file" else 0o777)
        try:
            done = bench.json(verb, "--locked", str(path))
        finally:
            path.parent.chmod(0o755)
        if "untrusted-lock-file" not in codes(done):
            assert "lock-of-others" in codes(done, "warnings")
