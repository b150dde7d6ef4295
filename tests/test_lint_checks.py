"""What ``lint`` judges: for each check a registry with the fault, found with file, key and line, and its clean twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from patchctl.lint.signals import longest_literal
from patchctl.model import sha256_hex
from tests.registries import add_entry, make_diff
from tests.test_lint import AFTER, BEFORE, DIFF, ENTRY, FIX, PATH, entry, findings, line_of, places, registry

__all__ = ["registry"]

RAISE = b'        raise ValueError("the number of rows is wrong")\n'
OTHER = {"distribution": "vllm", "diff": "fix.diff", "sha256": sha256_hex(DIFF)}


def variants(folder: Path, *tables: dict[str, Any]) -> Path:
    """Put these variants, one TOML line a key, in the place of the entry's only one; return its ``patch.toml``."""
    import json

    file = folder / "patch.toml"
    head, _, rest = file.read_text().partition("\n[[variant]]\n")
    fixes = "\n[[fix]]\n" + rest.partition("\n[[fix]]\n")[2] if "\n[[fix]]\n" in rest else ""
    text = head
    for table in tables:
        text += "\n[[variant]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in (OTHER | table).items())
    file.write_text(text + fixes)
    return file


def codes(found: Sequence[Mapping[str, Any]]) -> list[str]:
    return [it["code"] for it in found]


def line_in(diff: bytes, text: bytes) -> int:
    return next(number for number, line in enumerate(diff.split(b"\n"), start=1) if text in line)


class TestOverlaps:
    @pytest.mark.parametrize(
        ("first", "second", "witness"),
        [
            ({"versions": ">=1,<2"}, {"versions": ">=1.9,<3"}, "1.9"),
            ({"versions": ">=1,<=2"}, {"versions": ">=2,<3"}, "2"),
            ({"versions": ">=1,<2"}, {"versions": ">=1.9,<3", "label": "any"}, "1.9"),
            ({"versions": "==1.5", "label": ["das*"]}, {"versions": ">=1", "label": ["cu*", "*.hy3"]}, "1.5+das.hy3"),
        ],
    )
    def test_are_errors_with_both_variants_and_a_build_that_ties(
        self, registry: Path, first: dict[str, Any], second: dict[str, Any], witness: str
    ) -> None:
        file = variants(entry(registry), first, second)
        (found,) = findings(registry)
        versions = [
            number for number, line in enumerate(file.read_text().split("\n"), 1) if line.startswith("versions")
        ]
        assert places([found], registry) == [
            ("error", "overlapping-variants", "patch.toml", versions[1], "variant[1].versions")
        ]
        assert f"{witness} would fit variant[0] and variant[1]" in found["message"]

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ({"versions": ">=1,<2"}, {"versions": ">=2,<3"}),
            ({"versions": ">=1,<2"}, {"versions": ">=1,<2", "label": ["das*"]}),
            ({"versions": ">=1,<2", "label": "any"}, {"versions": ">=1,<2", "label": ["das*"]}),
            ({"versions": ">=1,<2", "label": ["das*"]}, {"versions": ">=1,<2", "label": ["dtk*"]}),
            ({"versions": ">=1,<2"}, {"builds": ["1.5"]}),
            ({"versions": "==1.5"}, {"versions": "==1.5", "builds": ["1.5"]}),
        ],
    )
    def test_are_none_where_one_of_the_two_is_better_or_nothing_is_in_both(
        self, registry: Path, first: dict[str, Any], second: dict[str, Any]
    ) -> None:
        variants(entry(registry), first, second)
        assert findings(registry) == []

    def test_of_two_distributions_are_none(self, registry: Path) -> None:
        fix = FIX | {"distribution": "vllm"}
        variants(entry(registry, fixes=[fix]), {"versions": ">=1"}, {"versions": ">=1", "distribution": "vllm-engine"})
        assert findings(registry) == []


class TestBuilds:
    @pytest.mark.parametrize("versions", [">=2,<1", ">1,<1", "==1,!=1.0", ">=1.5.post1,<=1.5.post0"])
    def test_that_no_version_meets_are_errors(self, registry: Path, versions: str) -> None:
        folder = entry(registry, variant={"versions": versions, "builds": ["7"]})
        file = folder / "patch.toml"
        assert places(findings(registry), registry) == [
            ("error", "empty-range", "patch.toml", line_of(file, "versions ="), "variant[0].versions")
        ]

    @pytest.mark.parametrize("versions", [">1,<1.0.1", ">=1a1,<1a2", "==1.*,!=1.0", ">=1.5.dev3,<1.5.dev4", "<0.0.1"])
    def test_that_some_version_meets_are_none(self, registry: Path, versions: str) -> None:
        entry(registry, variant={"versions": versions})
        assert findings(registry) == []

    def test_claimed_for_no_version_are_errors(self, registry: Path) -> None:
        folder = entry(registry, fixes=[FIX | {"claimed": ">=2,<1"}])
        assert places(findings(registry), registry) == [
            ("error", "empty-range", "patch.toml", line_of(folder / "patch.toml", "claimed"), "fix[0].claimed")
        ]

    def test_that_are_no_versions_are_worth_a_look(self, registry: Path) -> None:
        folder = entry(registry, variant={"builds": ["1.0", "1.0-das dtk"]})
        line = line_of(folder / "patch.toml", "builds")
        assert places(findings(registry), registry) == [
            ("warning", "odd-build", "patch.toml", line, "variant[0].builds[1]")
        ]

    def test_whose_label_another_glob_covers_are_worth_a_look(self, registry: Path) -> None:
        entry(registry, variant={"versions": ">=1,<2", "label": ["das*", "dtk*", "das.dtk*", "das*"]})
        assert [(it["code"], it["key"]) for it in findings(registry)] == [
            ("covered-label", "variant[0].label[2]"),
            ("covered-label", "variant[0].label[3]"),
        ]

    def test_of_another_distribution_than_the_folder_are_worth_a_look(self, registry: Path) -> None:
        entry(registry, distribution="vllm")
        (registry / "vllm").rename(registry / "vlm")
        (found,) = findings(registry)
        assert (found["code"], found["key"]) == ("other-folder", "variant[0].distribution")


class TestHeaders:
    HEADER = b"Description: Cut the rows\n The rest of it.\nOrigin: other, written here\nLast-Update: 2026-01-31\n"

    def test_of_dep_3_are_fine_and_so_is_none(self, registry: Path) -> None:
        entry(registry, self.HEADER + DIFF)
        assert findings(registry) == []

    @pytest.mark.parametrize(
        ("old", "new", "code", "line"),
        [
            (b"Description: Cut the rows\n The rest of it.\n", b"", "header-description", 1),
            (b"Origin: other, written here\n", b"", "header-origin", 1),
            (b"Origin: other, written here\n", b"Origin: somewhere\n", "header-field", 3),
            (b"2026-01-31", b"yesterday", "header-field", 4),
            (b"Last-Update", b"Last-Udpate", "header-field", 4),
            (b"Last-Update", b"Origin: other\nLast-Update", "header-field", 4),
        ],
    )
    def test_that_lack_or_misspell_a_field_are_worth_a_look(
        self, registry: Path, old: bytes, new: bytes, code: str, line: int
    ) -> None:
        entry(registry, self.HEADER.replace(old, new) + DIFF)
        assert places(findings(registry), registry) == [("warning", code, "fix.diff", line, "variant[0].diff")]

    def test_with_a_time_stamp_are_worth_a_look(self, registry: Path) -> None:
        entry(registry, DIFF.replace(b"+++ b/vllm/engine.py", b"+++ b/vllm/engine.py\t2026-01-31 10:00:00"))
        assert places(findings(registry), registry) == [("warning", "dated-header", "fix.diff", 2, "variant[0].diff")]


class TestSections:
    @pytest.mark.parametrize("crlf", [99, 1])
    def test_with_crlf_are_worth_a_look(self, registry: Path, crlf: int) -> None:
        before, after = (text[::-1].replace(b"\n", b"\n\r", crlf)[::-1] for text in (BEFORE, AFTER))
        entry(registry, make_diff({PATH: (before, after)}))
        (found,) = findings(registry)
        assert (found["severity"], found["code"], found["key"]) == ("warning", "crlf", "variant[0].diff")
        assert ("others do not" in found["message"]) == (crlf == 1)

    @pytest.mark.parametrize(
        "name", ["tests/test_engine.py", "src/vllm/engine.py", "setup.py", "README.md", "a-b/c.py"]
    )
    def test_outside_any_package_are_worth_a_look(self, registry: Path, name: str) -> None:
        diff = DIFF.replace(b"vllm/engine.py", name.encode())
        entry(registry, diff, fixes=[])
        assert places(findings(registry), registry) == [
            ("warning", "outside-package", "fix.diff", 1, "variant[0].diff")
        ]

    def test_in_another_package_than_the_distribution_are_worth_a_look(self, registry: Path) -> None:
        diff = DIFF + make_diff({"vlm/worker.py": (BEFORE, AFTER)})
        entry(registry, diff)
        line = line_in(diff, b"a/vlm/")
        assert places(findings(registry), registry) == [
            ("warning", "other-package", "fix.diff", line, "variant[0].diff")
        ]

    def test_of_a_distribution_that_is_called_otherwise_are_fine(self, registry: Path) -> None:
        entry(registry, DIFF.replace(b"vllm/", b"yaml/") + DIFF.replace(b"vllm/", b"_yaml/"), fixes=[])
        assert findings(registry) == []

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            (b"a = 1\n" * 9 + b")\n" * 9, b"a = 1\n" * 9 + b")\n" * 4 + b"b = 1\n" + b")\n" * 5),
            (b"x\n", b"x\ny\n"),
        ],
    )
    def test_with_whole_context_are_fine(self, registry: Path, before: bytes, after: bytes) -> None:
        entry(registry, make_diff({PATH: (before, after)}), kind="backport", default=False, signal=SIGNAL_OF_NONE)
        assert findings(registry) == []

    @pytest.mark.parametrize(
        ("hunk", "words"),
        [
            (b"@@ -9,2 +9,3 @@\n )\n+x = 1\n )\n", "shows 1 characters"),
            (b"@@ -9,2 +9,3 @@\n+x = 1\n a_rather_long_line(of_python)\n b_rather_long_line()\n", "above"),
            (b"@@ -9,2 +9,3 @@\n a_rather_long_line(of_python)\n b_rather_long_line()\n+x = 1\n", "below"),
        ],
    )
    def test_with_little_context_are_worth_a_look(self, registry: Path, hunk: bytes, words: str) -> None:
        diff = b"--- a/vllm/engine.py\n+++ b/vllm/engine.py\n" + hunk
        entry(registry, diff, kind="backport", default=False, signal=SIGNAL_OF_NONE)
        (found,) = findings(registry)
        assert places([found], registry) == [("warning", "thin-context", "fix.diff", 3, "variant[0].diff")]
        assert words in found["message"]

    def test_with_one_telling_line_are_fine(self, registry: Path) -> None:
        hunk = b"@@ -9,2 +9,3 @@\n rows = encoder_output[start_index:end_index]\n+x = 1\n \n"
        diff = b"--- a/vllm/engine.py\n+++ b/vllm/engine.py\n" + hunk
        entry(registry, diff, kind="backport", default=False, signal=SIGNAL_OF_NONE)
        assert findings(registry) == []


SIGNAL_OF_NONE = {"log": "x = 1|a"}
"""A pattern of which no literal text can be told, for diffs that log nothing."""


class TestLocality:
    def test_of_a_large_change_is_worth_a_look(self, registry: Path) -> None:
        more = b"".join(b"        logger.debug(%d)\n" % number for number in range(130))
        diff = make_diff({PATH: (BEFORE, AFTER.replace(b"        rows = rows[:places]\n", more))})
        entry(registry, diff)
        assert places(findings(registry), registry) == [
            ("warning", "large-containment", "fix.diff", 1, "variant[0].diff")
        ]
        entry(registry, diff, kind="backport", default=False)
        assert findings(registry) == []

    @pytest.mark.parametrize(
        ("old", "new", "gone"),
        [
            (b"    number_of_rows = len(rows)\n", b"", b"-    number_of_rows"),
            (b"    return rows\n", b"    return None\n", b"-    return rows"),
        ],
    )
    def test_of_a_line_that_goes_from_the_working_path_is_worth_a_look(
        self, registry: Path, old: bytes, new: bytes, gone: bytes
    ) -> None:
        diff = make_diff(
            {
                PATH: (
                    BEFORE,
                    AFTER.replace(old, new)
                    .replace(b", number_of_rows,", b", 0,")
                    .replace(b"rows = rows[:places]", b"pass"),
                )
            }
        )
        entry(registry, diff)
        found = findings(registry)
        assert places(found, registry) == [
            ("warning", "removed-outside-failure", "fix.diff", line_in(diff, gone), "variant[0].diff")
        ]
        assert "Look at it" in found[0]["message"]

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            (b"try:\n    work()\nexcept KeyError:\n    die()\n", b"try:\n    work()\nexcept KeyError:\n    go_on()\n"),
            (b"if bad:\n    text = 1\n    raise E(text)\n", b"if bad:\n    go_on()\n"),
            (b"if good:\n    go()\nelse:\n    raise E(\n        long,\n    )\n", b"if good:\n    go()\n"),
            (b"if bad: raise E(text)\n", b""),
            (b"if (\n        bad\n        and worse\n):\n    y = 1\n    raise E(y)\n", b""),
            (b"x = work(rows)\n", b"try:\n    x = work(rows)\nexcept KeyError:\n    x = None\n"),
            (b"x = 1\n\n# a comment\n", b"x = 1\n"),
            (b"assert count == expected, text\nx = 1\n", b"x = 1\n"),
        ],
    )
    def test_of_failures_and_of_lines_that_come_back_is_as_it_should_be(
        self, registry: Path, before: bytes, after: bytes
    ) -> None:
        around = b"a_line_that_is_long_enough = 1\nanother_line_that_is_long_enough = 2\nand_a_third_one = 3\n"
        diff = make_diff({PATH: (around + before + around, around + after + around)})
        entry(registry, diff, signal=SIGNAL_OF_NONE)
        assert findings(registry) == []

    def test_of_a_deleted_file_is_worth_a_look(self, registry: Path) -> None:
        entry(registry, DIFF + make_diff({"vllm/old.py": (BEFORE, None)}))
        assert codes(findings(registry)) == ["removed-file"]


class TestSelfCollision:
    def collide(self, registry: Path, *items: Mapping[str, Any], **more: Any) -> list[tuple[Any, ...]]:
        entry(registry, fixes=[FIX | {"evidence": list(items)}], **more)
        found = findings(registry)
        line = line_of(registry / "vllm" / "one" / "patch.toml", "evidence")
        assert {it["line"] for it in found} <= {line}
        return [(it["severity"], it["code"], it["key"]) for it in found]

    def test_is_an_error_where_the_diff_shows_it(self, registry: Path) -> None:
        place = "fix[0].evidence[0].contains"
        shown = {"file": PATH, "symbol": "admit", "contains": "rows=rows[:places]"}
        assert self.collide(registry, shown) == [("error", "self-collision", place)]
        assert self.collide(registry, shown | {"contains": "rows = rows[ : places ]"}) == [
            ("error", "self-collision", place)
        ]

    def test_is_an_error_in_a_whole_file(self, registry: Path) -> None:
        assert self.collide(registry, {"file": PATH, "contains": "rows = rows[:places]"}) == [
            ("error", "self-collision", "fix[0].evidence[0].contains")
        ]

    def test_is_found_in_an_alternative(self, registry: Path) -> None:
        parts = [{"file": "vllm/b.py", "contains": "x"}, {"file": PATH, "matches": r"rows\[:places\]"}]
        assert self.collide(registry, {"any": parts}) == [
            ("error", "self-collision", "fix[0].evidence[0].any[1].matches")
        ]

    def test_may_be_where_no_hunk_shows_the_symbol(self, registry: Path) -> None:
        assert self.collide(registry, {"file": PATH, "symbol": "other", "contains": "rows = rows[:places]"}) == [
            ("warning", "possible-self-collision", "fix[0].evidence[0].contains")
        ]

    def test_that_may_be_says_what_would_decide_it(self, registry: Path) -> None:
        self.collide(registry, {"file": PATH, "symbol": "other", "contains": "rows = rows[:places]"})
        (found,) = findings(registry)
        expected = "fix.diff adds this very source; if that is inside other, the patch would prove its own fix"
        assert found["message"] == expected
        assert found["hint"].startswith("lint --against WHEEL of a build without the fix decides it")

    def test_may_be_where_the_diff_takes_away_what_must_be_gone(self, registry: Path) -> None:
        assert self.collide(registry, {"file": PATH, "symbol": "admit", "absent": "raise ValueError"}) == [
            ("warning", "possible-self-collision", "fix[0].evidence[0].absent")
        ]

    def test_is_an_error_with_an_upstream_diff_that_the_own_one_brings(self, registry: Path) -> None:
        folder = registry / "vllm" / "one"
        folder.mkdir(parents=True)
        (folder / "up.diff").write_bytes(DIFF)
        assert self.collide(registry, {"diff": "up.diff"}) == [("error", "self-collision", "fix[0].evidence[0].diff")]
        (folder / "up.diff").write_bytes(make_diff({PATH: (BEFORE, BEFORE.replace(RAISE, b"        return None\n"))}))
        assert self.collide(registry, {"diff": "up.diff"}) == []
        counted = b"    number_of_rows = len(rows)\n"
        (folder / "up.diff").write_bytes(make_diff({PATH: (BEFORE.replace(counted, b""), BEFORE)}, context=1))
        assert self.collide(registry, {"diff": "up.diff"}) == []

    @pytest.mark.parametrize(
        "item",
        [
            {"file": PATH, "symbol": "admit", "contains": "return rows"},
            {"file": PATH, "symbol": "admit", "contains": "rows = rows[:1]"},
            {"file": "vllm/other.py", "contains": "rows = rows[:places]"},
            {"file": PATH, "matches": "def admit"},
            {"file": PATH, "absent": "return rows"},
        ],
    )
    def test_is_none_where_the_diff_does_not_bring_it(self, registry: Path, item: Mapping[str, Any]) -> None:
        assert self.collide(registry, item) == []

    def test_is_natural_for_a_backport_and_for_what_does_not_count(self, registry: Path) -> None:
        item = {"file": PATH, "contains": "rows = rows[:places]"}
        assert self.collide(registry, item, kind="backport", default=False) == []
        entry(registry, fixes=[FIX, FIX | {"ref": "b", "role": "related", "evidence": [item]}])
        assert findings(registry) == []

    def test_is_told_from_pieces_that_do_not_read_as_python(self, registry: Path) -> None:
        above = b'"""\n' + b"It goes on.\n" * 9 + b'It doesn\'t end here.\n"""\n'
        diff = make_diff({PATH: (above + BEFORE, above + AFTER)}, context=10)
        assert b"doesn't" in diff
        entry(registry, diff, fixes=[FIX | {"evidence": [{"file": PATH, "contains": "rows = rows[:places]"}]}])
        assert "self-collision" in codes(findings(registry))


class TestEvidence:
    def test_in_a_file_that_is_no_python_is_worth_a_look(self, registry: Path) -> None:
        items = [{"file": "vllm/a.json", "contains": "x"}, {"file": "vllm/a.json", "matches": "x"}]
        entry(registry, fixes=[FIX | {"evidence": items}])
        line = line_of(registry / "vllm" / "one" / "patch.toml", "evidence")
        assert places(findings(registry), registry) == [
            ("warning", "evidence-not-python", "patch.toml", line, "fix[0].evidence[0].file")
        ]

    @pytest.mark.parametrize(("name", "code"), [("vlm/a.py", "other-package"), ("tests/a.py", "outside-package")])
    def test_outside_the_package_is_worth_a_look(self, registry: Path, name: str, code: str) -> None:
        entry(registry, fixes=[FIX | {"evidence": [{"file": name, "contains": "x"}]}])
        assert [(it["code"], it["key"]) for it in findings(registry)] == [(code, "fix[0].evidence[0].file")]

    def test_of_a_diff_without_prefixes_is_stripped_too_far(self, registry: Path) -> None:
        bare = DIFF.replace(b"a/vllm/", b"vllm/").replace(b"b/vllm/", b"vllm/")
        folder = entry(registry, diff=bare)
        (found,) = [it for it in findings(registry) if it["code"] != "signal-not-written"]
        assert places([found], registry) == [
            ("error", "stripped-package", "fix.diff", line_in(bare, b"--- "), "variant[0].diff")
        ]
        assert found["hint"].startswith("write `strip = 0`, or cut it with `diff --label a/FILE")
        file = folder / "patch.toml"
        file.write_text(file.read_text().replace('diff = "fix.diff"', 'diff = "fix.diff"\nstrip = 0'))
        assert findings(registry) == []

    def test_of_a_diff_without_prefixes_may_be_right_where_no_evidence_names_the_package(self, registry: Path) -> None:
        bare = DIFF.replace(b"a/vllm/", b"vllm/").replace(b"b/vllm/", b"vllm/")
        entry(registry, diff=bare, fixes=[FIX | {"evidence": [{"file": "other/a.py", "contains": "x"}]}])
        assert ("warning", "other-package") in [(it["severity"], it["code"]) for it in findings(registry)]

    def test_that_is_lacking_keeps_an_entry_for_ever(self, registry: Path) -> None:
        bare = {"ref": "a#1", "role": "fixes", "claimed": ">=2"}
        folder = entry(registry, fixes=[bare])
        line = line_of(folder / "patch.toml", "ref =")
        assert places(findings(registry), registry) == [
            ("warning", "fix-without-evidence", "patch.toml", line, "fix[0].ref")
        ]
        entry(registry, fixes=[bare | {"role": "rejected"}])
        assert findings(registry) == []


class TestAdvice:
    @pytest.mark.attack("hostile-advice")
    @pytest.mark.parametrize(
        ("avoid", "code", "key"),
        [
            ({"env": {"LD_PRELOAD": "x.so"}}, "unsafe-advice", "env.LD_PRELOAD"),
            ({"env": {"LD_LIBRARY_PATH": "/x"}}, "unsafe-advice", "env.LD_LIBRARY_PATH"),
            ({"env": {"PYTHONPATH": "/x"}}, "unsafe-advice", "env.PYTHONPATH"),
            ({"env": {"PYTHONSTARTUP": "/x"}}, "unsafe-advice", "env.PYTHONSTARTUP"),
            ({"env": {"PATH": "/x"}}, "unsafe-advice", "env.PATH"),
            ({"env": {"VLLM_API_KEY": "x"}}, "unsafe-advice", "env.VLLM_API_KEY"),
            ({"env": {"VLLM_X": "$(id)"}}, "shell-characters", "env.VLLM_X"),
            ({"args": ["--api-key", "x"]}, "unsafe-advice", "args[0]"),
            ({"args": ["--trust-remote-code"]}, "unsafe-advice", "args[0]"),
            ({"args": ["--max-num-seqs", "1; reboot"]}, "shell-characters", "args[1]"),
            ({"args": ["--max-num-seqs", "`id`"]}, "shell-characters", "args[1]"),
            ({"args": ["--port 4"]}, "unsafe-advice", "args[0]"),
            ({"args": ["--port\t4=5"]}, "unsafe-advice", "args[0]"),
            ({"remove_args": ["--api-key"]}, "unsafe-advice", "remove_args[0]"),
            ({"remove_args": ["speculative-config"]}, "unsafe-advice", "remove_args[0]"),
            ({"remove_args": ["--api_key"]}, "unsafe-advice", "remove_args[0]"),
            ({"args": ["--trust_remote_co"]}, "unsafe-advice", "args[0]"),
        ],
    )
    def test_that_could_do_harm_is_an_error(
        self, registry: Path, avoid: Mapping[str, Any], code: str, key: str
    ) -> None:
        folder = entry(registry, avoid=[avoid])
        assert places(findings(registry), registry) == [
            ("error", code, "patch.toml", line_of(folder / "patch.toml", "avoid"), f"avoid[0].{key}")
        ]

    @pytest.mark.parametrize(
        "avoid",
        [{"args": ["--max-num-sequences", "1"]}, {"remove_args": ["--no-such"]}, {"args": ["--max.x", "1"]}],
    )
    def test_with_an_option_that_vllm_does_not_have_is_a_warning(
        self, registry: Path, avoid: Mapping[str, Any]
    ) -> None:
        entry(registry, avoid=[avoid])
        assert [(severity, code) for severity, code, *_ in places(findings(registry), registry)] == [
            ("warning", "unknown-option")
        ]

    @pytest.mark.parametrize(
        "avoid",
        [
            {"env": {"VLLM_USE_DEEP_GEMM": "0", "CUDA_HOME": "/usr/local/cuda", "TOKENIZERS_PARALLELISM": "false"}},
            {"args": ["--speculative-config", '{"method":"dspark","num_speculative_tokens":5}'], "remove_args": ["-O"]},
            {"args": ["--structured-outputs-config.backend", "xgrammar"], "remove_args": ["--speculative-config"]},
        ],
    )
    def test_that_switches_features_is_fine(self, registry: Path, avoid: Mapping[str, Any]) -> None:
        entry(registry, avoid=[avoid])
        assert findings(registry) == []

    def test_may_set_the_variables_of_its_own_distribution(self, registry: Path) -> None:
        diff = DIFF.replace(b"vllm/", b"acme_server/")
        more = ENTRY | {"fixes": [], "avoid": [{"env": {"ACME_SERVER_ROWS": "0"}}]}
        add_entry(registry, "one", diff, distribution="acme-server", **more)
        assert findings(registry) == []


class TestSignals:
    @pytest.mark.parametrize(
        ("log", "code"),
        [
            (r"rows cut from (\d+) to", "unnamed-group"),
            (r"(?P<all>.+)", "vague-signal"),
            (r"rows cut in (?P<n>\d+)", "signal-not-written"),
        ],
    )
    def test_that_tell_little_are_worth_a_look(self, registry: Path, log: str, code: str) -> None:
        folder = entry(registry, signal={"log": log})
        assert places(findings(registry), registry) == [
            ("warning", code, "patch.toml", line_of(folder / "patch.toml", "signal"), "signal.log")
        ]

    def test_are_missed_in_a_containment_alone(self, registry: Path) -> None:
        file = entry(registry) / "patch.toml"
        text = "".join(line for line in file.read_text().splitlines(True) if not line.startswith("signal"))
        file.write_text(text)
        assert places(findings(registry), registry) == [
            ("warning", "no-signal", "patch.toml", line_of(file, "kind ="), "kind")
        ]
        file.write_text(text.replace('"containment"', '"backport"'))
        assert findings(registry) == []

    def test_may_be_written_over_several_lines(self, registry: Path) -> None:
        parts = b'            "rows cut "\n            "from %d to %d", number_of_rows, places\n'
        after = AFTER.replace(
            b'logger.warning("rows cut from %d to %d", number_of_rows, places)',
            b"logger.warning(\n" + parts + b"        )",
        )
        entry(registry, make_diff({PATH: (BEFORE, after)}))
        assert findings(registry) == []

    @pytest.mark.parametrize(
        ("pattern", "literal"),
        [
            (r"a \(b\) (?P<c>\w+) is", "a (b) "),
            (r"ab*cd", "cd"),
            (r"ab?cd+", "cd"),
            (r"ab{0,2}cd", "cd"),
            (r"x[abc]yz[]\]]+w", "yz"),
            (r"^abc.de$", "abc"),
            (r"abc|de", None),
            (r"\d+ rows", " rows"),
            (r"a{b", "a{b"),
            (r"(?:long alternative|other) ab", " ab"),
        ],
    )
    def test_are_known_by_the_text_that_every_match_holds(self, pattern: str, literal: str | None) -> None:
        assert longest_literal(pattern) == literal


class TestRelations:
    def test_with_nobody_are_worth_a_look(self, registry: Path) -> None:
        folder = entry(registry, conflicts=["two"], replaces=["old-name"])
        assert places(findings(registry), registry) == [
            ("warning", "unknown-conflict", "patch.toml", line_of(folder / "patch.toml", "conflicts"), "conflicts[0]")
        ]
        add_entry(registry, "two", b"broken, but there", **ENTRY)
        assert findings(registry, "one") == []

    @pytest.mark.parametrize(
        "two", [{"conflicts": ["one"]}, {"requires": ["three"]}], ids=["excludes its own", "over another"]
    )
    def test_that_keep_an_entry_out_for_ever_are_errors(self, registry: Path, two: dict[str, Any]) -> None:
        folder = entry(registry, requires=["two"])
        add_entry(registry, "two", DIFF, **(ENTRY | two))
        add_entry(registry, "three", DIFF, **(ENTRY | {"conflicts": ["two"] if "requires" not in two else ["one"]}))
        found = findings(registry, "one")
        assert places(found, registry) == [
            ("error", "never-in", "patch.toml", line_of(folder / "patch.toml", "requires"), "requires[0]")
        ]

    def test_to_entries_that_exclude_each_other_are_errors(self, registry: Path) -> None:
        entry(registry, requires=["four", "two", "three"])
        add_entry(registry, "two", DIFF, **(ENTRY | {"conflicts": ["three"]}))
        for name in ("three", "four"):
            add_entry(registry, name, DIFF, **ENTRY)
        assert [(it["code"], it["key"]) for it in findings(registry)] == [("never-in", "requires[1]")]
