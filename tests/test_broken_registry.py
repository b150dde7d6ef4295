"""One broken entry never hides the others: each is named with file, key and line, and the rest works."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk
from tests.sites import make_site

PATH = "vllm/engine.py"
BASE = b"".join(b"line_%d = 1\n" % number for number in range(1, 31))
LOW = BASE.replace(b"line_5 = 1\n", b"line_5 = five\n")
HIGH = BASE.replace(b"line_25 = 1\n", b"line_25 = twenty_five\n")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A good entry among one broken TOML, one broken diff, one wrong digest, one for an absent distribution."""
    site = make_site(tmp_path, {PATH: BASE}, build="0.25.1")
    registry = make_registry(tmp_path / "registry")
    diff = make_diff({PATH: (BASE, LOW)})
    add_entry(registry, "good", diff)
    toml = add_entry(registry, "broken-toml", diff) / "patch.toml"
    toml.write_text(toml.read_text().replace("revision = 1", "revision = one"))
    add_entry(
        registry, "broken-diff", make_diff({PATH: (BASE, HIGH)}).replace(b"@@ -22,7 +22,7 @@", b"@@ -22,9 +22,9 @@")
    )
    digest = add_entry(registry, "wrong-digest", make_diff({PATH: (BASE, HIGH)}))
    (digest / "fix.diff").write_bytes(make_diff({PATH: (BASE, LOW)}))
    add_entry(registry, "elsewhere", make_diff({"aiter/x.py": (BASE, LOW)}), distribution="aiter")
    return Desk(site=site, registry=registry)


def test_every_broken_entry_is_named_with_file_key_and_line(desk: Desk) -> None:
    for verb in ("list", "status", "check"):
        errors = {error["patch"]: error for error in desk.json(verb).document["errors"]}
        assert set(errors) == {"broken-toml", "broken-diff", "wrong-digest"}, verb
        assert errors["broken-toml"]["path"].endswith("vllm/broken-toml/patch.toml")
        assert errors["broken-toml"]["line"] == 5
        assert errors["broken-diff"]["path"].endswith("vllm/broken-diff/fix.diff")
        assert errors["broken-diff"]["key"] == "variant[0].diff"
        assert errors["broken-diff"]["line"] == 3
        assert errors["wrong-digest"]["path"].endswith("vllm/wrong-digest/patch.toml")
        assert errors["wrong-digest"]["key"] == "variant[0].sha256"
        assert errors["wrong-digest"]["line"] > 1
        assert all(error["message"] for error in errors.values())
    text = desk.run("list").err
    assert "vllm/broken-toml/patch.toml:5" in text
    assert "vllm/broken-diff/fix.diff:3" in text


def test_all_others_work(desk: Desk) -> None:
    assert desk.json("status").patch("good")["action"] == "apply"
    assert desk.run("status").code == 0
    assert desk.run("apply", "good").code == 0
    assert (desk.site / PATH).read_bytes() == LOW
    assert desk.run("check", "good").code == 0
    assert desk.run("revert", "good").code == 0
    assert desk.run("retire").code == 0


def test_a_broken_entry_counts_for_the_verb_that_names_it_and_for_check(desk: Desk) -> None:
    for id_ in ("broken-toml", "broken-diff", "wrong-digest"):
        for verb in ("apply", "revert", "show", "check", "status"):
            assert desk.run(verb, id_).code == 3, (verb, id_)
    assert desk.run("check").code == 3


def test_a_bare_apply_lands_the_others_and_does_not_promise_a_green_check(desk: Desk) -> None:
    done = desk.run("apply")
    assert done.code == 3
    assert "applied\tgood" in done.out
    assert (desk.site / PATH).read_bytes() == LOW
    assert desk.run("check").code == 3


def test_an_entry_for_an_absent_distribution_is_not_concerned(desk: Desk) -> None:
    patch = desk.json("status", "--all").patch("elsewhere")
    assert (patch["need"], patch["action"]) == ("not-concerned", "none")
    assert "aiter is not installed here" in patch["reason"]
    assert "elsewhere" not in desk.run("status").out


def test_an_applied_entry_outlives_its_broken_registry_entry(desk: Desk) -> None:
    assert desk.registry is not None
    assert desk.run("apply", "good").code == 0
    (desk.registry / "vllm" / "good" / "fix.diff").write_bytes(b"garbage\n")
    add_entry(desk.registry, "upper", make_diff({PATH: (BASE, HIGH)}))
    assert desk.run("apply", "upper").code == 0
    assert (desk.site / PATH).read_bytes() == LOW.replace(b"line_25 = 1\n", b"line_25 = twenty_five\n")
    assert desk.run("revert", "--all").code == 0
    assert (desk.site / PATH).read_bytes() == BASE


def test_an_entry_whose_recorded_diff_is_gone_can_only_go(desk: Desk) -> None:
    assert desk.registry is not None
    assert desk.run("apply", "good").code == 0
    for diff in (desk.site / ".patchctl" / "patches").iterdir():
        diff.unlink()
    add_entry(desk.registry, "upper", make_diff({PATH: (BASE, HIGH)}))
    done = desk.run("apply", "upper")
    assert done.code == 1
    assert "cannot be read any more" in done.err
    assert (desk.site / PATH).read_bytes() == LOW
    assert desk.run("check").code == 3
    assert desk.run("revert", "good").code == 0
    assert (desk.site / PATH).read_bytes() == BASE


@pytest.mark.parametrize("name", ["registry.toml", "vllm/good/patch.toml"])
@pytest.mark.parametrize("language", ["C", "C.UTF-8"])
def test_a_byte_order_mark_is_refused_and_the_hint_takes_it_out_as_it_is_printed(
    tmp_path: Path, name: str, language: str
) -> None:
    """Editors of Windows write one; TOML of version 1.0 has no word about it, and readers differ."""
    registry = make_registry(tmp_path / "it's $a registry")
    add_entry(registry, "good", make_diff({PATH: (BASE, LOW)}))
    file = registry / name
    plain = file.read_bytes()
    file.write_bytes(b"\xef\xbb\xbf" + plain)
    desk = Desk(site=make_site(tmp_path, {PATH: BASE}, build="0.25.1"), registry=registry)
    (error,) = desk.json("list").document["errors"]
    assert error["code"] == "toml-bom"
    assert error["message"] == "the file begins with a byte order mark"
    hint = error["hint"].partition(": ")
    assert hint[0] == "save it as UTF-8 without BOM"
    subprocess.run(hint[2], shell=True, check=True, env={"LC_ALL": language, "PATH": os.environ["PATH"]})
    assert file.read_bytes() == plain
    assert desk.json("list").document["errors"] == []
