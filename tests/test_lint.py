"""``lint``: for each check a registry with the fault, found with file, key and line, and its clean twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from patchctl.model import sha256_hex
from tests.hostile_desk import shaped_registry, tries
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Done, patchctl

PATH = "vllm/engine.py"
BEFORE = b"""\
import logging

logger = logging.getLogger(__name__)


def admit(rows, places):
    number_of_rows = len(rows)
    if number_of_rows != places:
        raise ValueError("the number of rows is wrong")
    return rows
"""
AFTER = BEFORE.replace(
    b'        raise ValueError("the number of rows is wrong")\n',
    b'        logger.warning("rows cut from %d to %d", number_of_rows, places)\n        rows = rows[:places]\n',
)
DIFF = make_diff({PATH: (BEFORE, AFTER)})
SIGNAL = {"log": r"rows cut from (?P<rows>\d+) to (?P<places>\d+)"}
FIX = {
    "ref": "vllm-project/vllm#1",
    "role": "fixes",
    "claimed": ">=2",
    "evidence": [{"file": PATH, "symbol": "admit", "contains": "return rows[:places]"}],
}
ENTRY: dict[str, Any] = {"signal": SIGNAL, "fixes": [FIX], "variant": {"versions": ">=1,<2"}}


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    return make_registry(tmp_path / "registry")


def entry(registry: Path, diff: bytes | None = DIFF, **changes: Any) -> Path:
    """A clean entry, but for ``changes``."""
    return add_entry(registry, "one", diff, **(ENTRY | changes))


def lint(registry: Path, *arguments: str) -> Done:
    done = patchctl("lint", "--registry", str(registry), "--json", *arguments)
    assert done.document["exit_code"] == done.code
    return done


def findings(registry: Path, *arguments: str) -> list[dict[str, Any]]:
    found = lint(registry, *arguments).document["lint"]["findings"]
    assert isinstance(found, list)
    return found


def places(found: Sequence[Mapping[str, Any]], registry: Path) -> list[tuple[Any, ...]]:
    """(severity, code, file in the entry's folder, line, key) of each finding."""
    return [
        (it["severity"], it["code"], it["path"].removeprefix(f"{registry}/vllm/one/"), it["line"], it["key"])
        for it in found
    ]


def line_of(file: Path, text: str) -> int:
    """The line on which ``text`` stands first."""
    return next(number for number, line in enumerate(file.read_text().split("\n"), start=1) if text in line)


class TestTheVerb:
    def test_says_nothing_of_a_clean_entry(self, registry: Path) -> None:
        entry(registry)
        done = lint(registry, "--strict")
        assert done.document["lint"]["findings"] == []
        assert (done.code, done.document["lint"]["checked"]["diffs"]) == (0, 1)

    def test_finds_nothing_in_the_bundled_registry(self) -> None:
        done = patchctl("lint", "--strict", "--json")
        assert done.document["lint"]["findings"] == []
        assert done.document["lint"]["checked"]["entries"] > 1

    def test_exits_1_for_errors_and_with_strict_for_warnings(self, registry: Path) -> None:
        folder = entry(registry)
        (folder / "old.diff").write_bytes(DIFF)
        assert [lint(registry).code, lint(registry, "--strict").code] == [0, 1]
        (folder / "fix.diff").write_bytes(b"no diff\n")
        assert lint(registry).code == 1

    def test_shows_what_the_loader_reports_with_its_place(self, registry: Path) -> None:
        folder = entry(registry, severity="fatal")
        file = folder / "patch.toml"
        (found,) = findings(registry)
        assert places([found], registry) == [
            ("error", "unknown-value", "patch.toml", line_of(file, "severity"), "severity")
        ]

    def test_judges_the_named_entries_alone(self, registry: Path) -> None:
        entry(registry)
        add_entry(registry, "two", b"no diff\n")
        assert lint(registry, "one").code == 0
        assert {it["patch"] for it in findings(registry, "two")} == {"two"}
        assert lint(registry, "one", "--distribution", "other").code == 0
        assert lint(registry, "--distribution", "other").document["lint"]["checked"]["entries"] == 0

    def test_tells_what_belongs_to_one_entry_together(self, registry: Path) -> None:
        for name in ("one", "two"):
            folder = add_entry(registry, name, DIFF, **ENTRY)
            (folder / "old.diff").write_bytes(DIFF)
            (folder / "fix.diff").write_bytes(b"no diff\n")
        (registry / "vllm" / "one-more").mkdir()
        (registry / "vllm" / "one-more" / "x").write_bytes(b"")
        assert [it["patch"] for it in findings(registry)] == ["one"] * 3 + ["one-more"] + ["two"] * 3

    def test_speaks_of_an_unreadable_registry_with_3(self, tmp_path: Path) -> None:
        done = patchctl("lint", "--registry", str(tmp_path))
        assert (done.code, done.out) == (3, "")
        assert "holds no registry.toml" in done.err

    def test_writes_one_record_a_finding(self, registry: Path) -> None:
        folder = entry(registry)
        (folder / "old.diff").write_bytes(DIFF)
        done = patchctl("lint", "--registry", str(registry))
        first, last = done.out.splitlines()
        assert first.split("\t")[:4] == ["warning", "unused-file", f"{folder}/old.diff", "-"]
        assert last.split("\t")[0] == "linted"


class TestDiffs:
    def test_of_every_variant_go_through_the_gate(self, registry: Path) -> None:
        bad = DIFF.replace(b"@@ -6,5 +6,6 @@", b"@@ -6,5 +6,7 @@")
        entry(registry, bad)
        (found,) = findings(registry)
        assert places([found], registry) == [("error", "wrong-count", "fix.diff", 3, "variant[0].diff")]

    def test_of_another_digest_are_told_and_judged(self, registry: Path) -> None:
        folder = entry(registry)
        (folder / "fix.diff").write_bytes(b"no diff\n")
        found = findings(registry)
        assert {(it["code"], it["key"]) for it in found} == {
            ("empty", "variant[0].diff"),
            ("diff-digest", "variant[0].sha256"),
        }
        assert sha256_hex(b"no diff\n") in str(found)

    def test_of_evidence_go_through_the_gate(self, registry: Path) -> None:
        folder = registry / "vllm" / "one"
        folder.mkdir(parents=True)
        (folder / "up.diff").write_bytes(b"no diff\n")
        entry(registry, fixes=[FIX | {"evidence": [{"diff": "up.diff"}]}])
        assert places(findings(registry), registry) == [("error", "empty", "up.diff", None, "fix[0].evidence[0].diff")]

    def test_that_nothing_names_are_told(self, registry: Path) -> None:
        folder = entry(registry)
        (folder / "notes.md").write_text("notes")
        assert findings(registry) == []
        (folder / "old.diff").write_bytes(DIFF)
        assert places(findings(registry), registry) == [("warning", "unused-file", "old.diff", None, None)]

    @pytest.mark.parametrize(
        "path", ["site.pth", "sitecustomize.py", "usercustomize/__init__.py", "vllm-1.dist-info/RECORD", ".git/hooks/x"]
    )
    def test_with_forbidden_names_are_refused(self, registry: Path, path: str) -> None:
        entry(registry, make_diff({path: (None, b"import os\n")}))
        (found,) = findings(registry)
        assert places([found], registry) == [("error", "unsafe-path", "fix.diff", 2, "variant[0].diff")]


@pytest.mark.attack("bidi-diff")
class TestOddCharacters:
    @pytest.mark.parametrize("character", ["\u202e", "\u200b", "\x1b"])
    def test_in_an_added_line_are_errors(self, registry: Path, character: str) -> None:
        entry(registry, make_diff({PATH: (BEFORE, AFTER + f"# {character}\n".encode())}))
        (found,) = findings(registry)
        line = 3 + DIFF.count(b"\n") - 2
        assert places([found], registry) == [("error", "odd-character", "fix.diff", line, "variant[0].diff")]
        assert f"U+{ord(character):04X}" in found["message"]

    @pytest.mark.parametrize(("character", "severity"), [("\u202e", "error"), ("\u200b", "warning")])
    def test_in_a_line_of_upstream_are_errors_when_they_turn_the_direction(
        self, registry: Path, character: str, severity: str
    ) -> None:
        odd = f"    # {character}\n    return rows\n".encode()
        before, after = (text.replace(b"    return rows\n", odd) for text in (BEFORE, AFTER))
        entry(registry, make_diff({PATH: (before, after)}))
        assert [it["severity"] for it in findings(registry)] == [severity]

    def test_in_the_text_above_a_diff_are_errors(self, registry: Path) -> None:
        header = "Description: x\n that goes \u200b on\nOrigin: other\n"
        entry(registry, header.encode() + DIFF)
        assert places(findings(registry), registry) == [("error", "odd-character", "fix.diff", 2, "variant[0].diff")]

    def test_in_an_upstream_diff_are_upstreams(self, registry: Path) -> None:
        folder = registry / "vllm" / "one"
        folder.mkdir(parents=True)
        change = BEFORE.replace(b"return rows", "return rows  # \u200b".encode())
        (folder / "up.diff").write_bytes(make_diff({PATH: (BEFORE, change)}))
        entry(registry, fixes=[FIX | {"evidence": [{"diff": "up.diff"}]}])
        assert [(it["severity"], it["path"].rpartition("/")[2]) for it in findings(registry)] == [
            ("warning", "up.diff")
        ]

    def test_form_feeds_of_upstream_are_none(self, registry: Path) -> None:
        before, after = (text.replace(b"    return rows\n", b"    return rows\n\f\n") for text in (BEFORE, AFTER))
        entry(registry, make_diff({PATH: (before, after)}))
        assert findings(registry) == []

    def test_in_patch_toml_are_errors_as_they_stand(self, registry: Path) -> None:
        folder = entry(registry)
        file = folder / "patch.toml"
        file.write_text(file.read_text().replace('why = "why"', 'why = "w\u202ehy"'))
        assert places(findings(registry), registry) == [
            ("error", "odd-character", "patch.toml", line_of(file, "why"), "why")
        ]

    def test_in_patch_toml_are_errors_as_escapes(self, registry: Path) -> None:
        folder = entry(registry, avoid=[{"args": ["--enforce-eager"], "when": "a\u200bb"}])
        file = folder / "patch.toml"
        assert places(findings(registry), registry) == [
            ("error", "odd-character", "patch.toml", line_of(file, "avoid"), "avoid[0].when")
        ]

    @pytest.mark.parametrize("character", "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    @pytest.mark.parametrize("where", ["added", "removed", "context", "prose", "name", "heading"])
    def test_that_turn_the_direction_are_errors_wherever_they_stand_in_a_diff(
        self, registry: Path, character: str, where: str
    ) -> None:
        lines = DIFF.decode().split("\n")
        at = {"name": 1, "heading": 2, "prose": 0}.get(where)
        if at is None:
            sign = {"added": "+", "removed": "-", "context": " "}[where]
            at = next(number for number, line in enumerate(lines) if line.startswith(sign) and number > 2)
        if where == "prose":
            lines.insert(0, "it pads")
        lines[at] += character
        data = "\n".join(lines).replace(f"@@ -4,7 +4,7 @@{character}", f"@@ -4,7 +4,7 @@ {character}")
        entry(registry, data.encode())
        found = [it for it in findings(registry) if it["code"] == "odd-character"]
        assert ("error", "fix.diff", at + 1) in [
            (it["severity"], it["path"].rpartition("/")[2], it["line"]) for it in found
        ]

    def test_in_a_name_that_a_diff_spells_in_escapes_are_errors(self, registry: Path) -> None:
        quoted = rb'"%b/vllm/\342\200\256x.py"'
        text = DIFF.replace(b"a/" + PATH.encode(), quoted % b"a").replace(b"b/" + PATH.encode(), quoted % b"b")
        assert text.isascii()
        entry(registry, text)
        found = [it for it in findings(registry) if it["code"] == "odd-character"]
        assert places(found, registry) == [("error", "odd-character", "fix.diff", 1, "variant[0].diff")]
        assert "U+202E" in found[0]["message"]

    def test_in_the_name_of_a_file_beside_are_errors(self, registry: Path) -> None:
        (entry(registry) / "notes\u202ecod.txt").write_bytes(b"x")
        assert places(findings(registry), registry) == [("error", "odd-character", "notes\u202ecod.txt", None, None)]

    @pytest.mark.parametrize(
        ("old", "new", "key"),
        [("revision = 1", "revision = 1 # \u202e", "revision"), ('name = "test"', 'name = "t\\u202e"', "name")],
    )
    def test_in_the_file_of_a_registry_are_errors(self, registry: Path, old: str, new: str, key: str) -> None:
        entry(registry)
        file = registry / "registry.toml"
        file.write_text(file.read_text().replace(old, new))
        (found,) = findings(registry)
        assert (found["severity"], found["code"], found["path"]) == ("error", "odd-character", str(file))
        assert (found["line"], found["key"]) == (line_of(file, key), key)
        assert findings(registry, "one") == []

    @pytest.mark.parametrize("hidden", ["\u202e", "\u200b", "\ufe0f", "\U000e0041", "\u3164", "\x9b"])
    def test_in_any_text_of_an_entry_are_errors_whatever_the_key(self, tmp_path: Path, hidden: str) -> None:
        """The keys are those of the parser; what the loader refuses names its line, too."""
        registry = shaped_registry(tmp_path / "shaped", f"a{hidden}b")
        told: dict[str, list[dict[str, Any]]] = {}
        for found in findings(registry):
            if found["severity"] == "error" and found["path"].endswith("/patch.toml"):
                told.setdefault(found["patch"], []).append(found)
        missing = [one.id for one in tries("x") if one.id not in told]
        assert missing == []
        assert [found for several in told.values() for found in several if not found["line"]] == []
        loaded = {it["id"] for it in patchctl("list", "--registry", str(registry), "--json").document["entries"]}
        odd = {name for name, several in told.items() if any(found["code"] == "odd-character" for found in several)}
        assert {name for name in loaded if not name.startswith("path-")} <= odd

    @pytest.mark.parametrize("sign", ["+", " "])
    def test_a_byte_that_an_8_bit_terminal_obeys_is_odd_too(self, registry: Path, sign: str) -> None:
        odd = b"    # \x9b2J\n    return rows\n"
        before = BEFORE if sign == "+" else BEFORE.replace(b"    return rows\n", odd)
        entry(registry, make_diff({PATH: (before, AFTER.replace(b"    return rows\n", odd))}))
        (found,) = findings(registry)
        assert (found["severity"], found["code"]) == ("error" if sign == "+" else "warning", "odd-character")
        assert "the byte 9B" in found["message"]


def test_a_pipe_gets_the_hints_too(registry: Path) -> None:
    entry(registry, signal=None)
    (finding,) = findings(registry)
    assert finding["hint"]
    done = patchctl("lint", "--registry", str(registry))
    assert done.out.split("\n")[0].split("\t")[-1] == f"hint={finding['hint']}"
