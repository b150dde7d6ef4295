"""One hash for an environment, and one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk
from tests.sites import install, make_site
from tests.small_wheels import make_wheel
from tests.test_contract import open_journal

PATH = "vllm/engine.py"
BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 31))
LOW = BASE.replace(b"line_5 = 1\n", b"line_5 = five\n")
HIGH = BASE.replace(b"line_25 = 1\n", b"line_25 = twenty_five\n")
FILES = {PATH: BASE, "vllm/other.py": b"other = 1\n"}


def make_desk(where: Path, registry: Path) -> Desk:
    where.mkdir(parents=True)
    desk = Desk(site=make_site(where, FILES, build="0.25.1"), registry=registry)
    assert desk.run("apply").code == 0
    return desk


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    made = make_registry(tmp_path / "registry")
    add_entry(made, "a-low", make_diff({PATH: (BASE, LOW)}))
    add_entry(made, "b-high", make_diff({PATH: (BASE, HIGH)}))
    return made


@pytest.fixture
def desk(tmp_path: Path, registry: Path) -> Desk:
    return make_desk(tmp_path / "here", registry)


def digest(desk: Desk, *arguments: str) -> str:
    done = desk.run("status", "--digest", *arguments)
    assert done.code == 0
    assert done.out.endswith("\n")
    return done.out.removesuffix("\n")


class TestDigest:
    def test_is_the_only_thing_on_stdout_and_the_same_in_the_document(self, desk: Desk) -> None:
        found = digest(desk)
        assert found.startswith("patchctl1:")
        assert len(found) == len("patchctl1:") + 64
        assert desk.json("status", "--digest").document["digest"] == found
        assert "digest" not in desk.json("status").document

    def test_is_equal_for_environments_built_alike_in_different_paths(
        self, desk: Desk, tmp_path: Path, registry: Path
    ) -> None:
        other = make_desk(tmp_path / "quite" / "elsewhere", registry)
        (other.site / PATH).chmod(0o664)
        assert digest(other) == digest(desk)

    def test_does_not_depend_on_the_way_to_the_same_state(self, desk: Desk, tmp_path: Path, registry: Path) -> None:
        other = make_desk(tmp_path / "there", registry)
        other.run("revert", "a-low")
        other.run("apply", "a-low")
        other.run("hold", "a-low", "--reason", "x")
        assert digest(other) == digest(desk)

    def test_does_not_depend_on_entries_that_are_not_in(self, desk: Desk, registry: Path) -> None:
        before = digest(desk)
        add_entry(registry, "c-new", make_diff({"vllm/other.py": (b"other = 1\n", b"other = 2\n")}))
        assert digest(desk) == before

    @pytest.mark.parametrize(
        "change",
        [
            lambda desk: (desk.site / PATH).write_bytes(LOW),
            lambda desk: (desk.site / PATH).write_bytes(BASE),
            lambda desk: (desk.site / PATH).unlink(),
            lambda desk: (desk.site / PATH).chmod(0o755),
            lambda desk: desk.run("revert", "a-low"),
            lambda desk: desk.run("revert", "--all"),
            lambda desk: install(desk.site, {**FILES, "vllm/more.py": b"x\n"}, build="0.25.1"),
        ],
    )
    def test_differs_after_a_change_to_a_patched_file_an_entry_or_the_build(
        self, desk: Desk, change: Callable[[Desk], object]
    ) -> None:
        before = digest(desk)
        change(desk)
        assert digest(desk) != before

    def test_differs_after_another_build_string_alone(self, desk: Desk) -> None:
        before = digest(desk)
        (info,) = desk.site.glob("*.dist-info")
        metadata = info / "METADATA"
        metadata.write_text(metadata.read_text().replace("Version: 0.25.1\n", "Version: 0.25.1+das\n", 1))
        assert digest(desk) != before

    @pytest.mark.parametrize("context", [2, 3])
    def test_differs_after_a_new_revision_even_with_the_same_result(
        self, desk: Desk, registry: Path, context: int
    ) -> None:
        before, bytes_before = digest(desk), (desk.site / PATH).read_bytes()
        add_entry(registry, "a-low", make_diff({PATH: (BASE, LOW)}, context=context), revision=2)
        assert desk.run("apply").code == 0
        assert (desk.site / PATH).read_bytes() == bytes_before
        assert digest(desk) != before

    def test_of_what_was_taken_out_for_an_upgrade_is_that_of_a_build_that_was_never_patched(
        self, desk: Desk, tmp_path: Path, registry: Path
    ) -> None:
        (tmp_path / "bare").mkdir()
        bare = Desk(site=make_site(tmp_path / "bare", FILES, build="0.25.1"), registry=registry)
        wheel = make_wheel(tmp_path, list(FILES.items()), build="0.26.0")
        assert digest(desk) != digest(bare)
        assert desk.run("retire", "--for", str(wheel)).code == 0
        assert digest(desk) == digest(bare)

    def test_without_record_says_what_it_does_not_tell(self, desk: Desk) -> None:
        next(desk.site.glob("*.dist-info/RECORD")).unlink()
        done = desk.run("status", "--digest")
        assert (done.code, done.out.startswith("patchctl1:")) == (0, True)
        assert "the digest does not tell it from another build of that version" in done.err
        live = digest(desk)
        (desk.site / PATH).write_bytes(LOW)
        assert digest(desk) != live

    def test_of_one_distribution_leaves_the_others_out(self, desk: Desk, registry: Path) -> None:
        before = digest(desk, "--distribution", "vllm")
        add_entry(registry, "x-other", make_diff({"other/a.py": (b"a\n", b"b\n")}), distribution="other")
        whole = digest(desk)
        install(desk.site, {"other/a.py": b"a\n"}, name="other", build="1.0")
        assert digest(desk) != whole
        assert digest(desk, "--distribution", "vllm") == before

    def test_without_an_answer_prints_nothing(self, desk: Desk, tmp_path: Path) -> None:
        empty = tmp_path / "empty"
        empty.mkdir()
        done = Desk(site=empty, registry=desk.registry).run("status", "--digest")
        assert (done.code, done.out) == (3, "")
        (desk.site / PATH).unlink()
        (desk.site / PATH).symlink_to("/dev/null")
        done = desk.run("status", "--digest")
        assert (done.code, done.out) == (3, "")
        assert PATH in done.err

    def test_of_an_unfinished_transaction_there_is_none(self, tmp_path: Path, registry: Path) -> None:
        desk = Desk(site=make_site(tmp_path / "open", FILES, build="0.25.1"), registry=registry)
        open_journal(desk)
        done = desk.run("status", "--digest")
        assert (done.code, done.out) == (4, "")

    def test_is_an_answer_of_its_own(self, desk: Desk) -> None:
        for words in (["--oneline"], ["--all"], ["a-low"], ["--locked", "x"]):
            assert desk.run("status", "--digest", *words).code == 2


class TestExpect:
    def test_fails_when_it_is_another_one_and_prints_both(self, desk: Desk) -> None:
        expected = digest(desk)
        assert desk.run("check", "--expect", expected).code == 0
        (desk.site / PATH).chmod(0o755)
        done = desk.run("check", "--expect", expected)
        assert done.code == 1
        assert expected in done.err
        assert digest(desk) in done.err

    def test_fails_for_what_is_due_all_the_same(self, desk: Desk) -> None:
        desk.run("revert", "a-low")
        assert desk.run("check", "--expect", digest(desk)).code == 1

    def test_counts_beside_a_lock_file(self, desk: Desk, tmp_path: Path) -> None:
        lock = str(tmp_path / "x.lock")
        desk.run("lock", "--output", lock)
        assert desk.run("check", "--locked", lock, "--expect", digest(desk)).code == 0
        assert desk.run("check", "--locked", lock, "--expect", "patchctl1:" + "0" * 64).code == 1

    @pytest.mark.parametrize("text", ["", "x", "0" * 64, "patchctl1:" + "0" * 63, "patchctl9:" + "0" * 64])
    def test_refuses_what_can_never_be_equal(self, desk: Desk, text: str) -> None:
        assert desk.run("check", "--expect", text).code == 2

    def test_of_a_file_that_cannot_be_read_there_is_no_answer(self, desk: Desk) -> None:
        expected = digest(desk)
        (desk.site / PATH).unlink()
        (desk.site / PATH).symlink_to("/dev/null")
        assert desk.run("check", "--expect", expected).code == 3


class TestOneline:
    def test_counts_what_is_applied_due_held_and_to_be_retired(self, desk: Desk) -> None:
        assert desk.run("status", "--oneline").out == "vllm 0.25.1: 2 applied, nothing due\n"
        desk.run("revert", "a-low")
        assert desk.run("status", "--oneline").out == "vllm 0.25.1: 1 applied, 1 due\n"
        desk.run("hold", "a-low", "--reason", "x")
        assert desk.run("status", "--oneline").out == "vllm 0.25.1: 1 applied, 1 held, nothing due\n"

    def test_says_what_can_retire(self, desk: Desk, registry: Path) -> None:
        evidence = [{"file": "vllm/other.py", "contains": "other = 1"}]
        fix = {"ref": "vllm-project/vllm#1", "role": "fixes", "evidence": evidence}
        add_entry(registry, "a-low", make_diff({PATH: (BASE, LOW)}), fixes=[fix])
        assert desk.run("status", "--oneline").out == "vllm 0.25.1: 2 applied, 1 can retire, nothing due\n"

    def test_has_errors_on_stderr_and_no_warnings(self, desk: Desk, registry: Path) -> None:
        next(desk.site.glob("*.dist-info/RECORD")).unlink()
        assert desk.run("status", "--oneline").err == ""
        add_entry(registry, "c-new", b"no diff\n")
        done = desk.run("status", "--oneline")
        assert (done.code, "1 broken" in done.out, "c-new" in done.err) == (0, True, True)

    def test_exits_as_status_does(self, tmp_path: Path, registry: Path) -> None:
        desk = Desk(site=make_site(tmp_path / "open", FILES, build="0.25.1"), registry=registry)
        open_journal(desk)
        done = desk.run("status", "--oneline")
        assert (done.code, done.out) == (4, f"{desk.site}: unfinished transaction\n")
