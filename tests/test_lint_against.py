"""``lint --against``: each kind of wrong claim, injected into a small registry, is found with file, key and line."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from patchctl.lint.outcome import unknown_names
from patchctl.model import sha256_hex
from tests.contract import complaints
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Done, on_a_terminal, patchctl, tree
from tests.sites import install
from tests.small_wheels import make_wheel

PATH = "vllm/engine.py"
OLD = b"""\
import logging

logger = logging.getLogger(__name__)


def admit(rows, places):
    number_of_rows = len(rows)
    if number_of_rows != places:
        raise ValueError("the number of rows is wrong")
    count = number_of_rows
    logger.debug("admitted")
    return rows
"""
RAISE = b'        raise ValueError("the number of rows is wrong")\n'
OURS = b'        logger.warning("rows cut from %d to %d", number_of_rows, places)\n        rows = rows[:places]\n'
FIXED = OLD.replace(b"    number_of_rows = len(rows)\n", b"    rows = aligned(rows, places)\n").replace(
    b"    if number_of_rows != places:\n" + RAISE, b""
)
LONGER = OLD.replace(b"import logging\n", b"import logging\nimport os\nimport sys\n")
REWRITTEN = OLD.replace(b"number_of_rows", b"found")
MOVED = OLD.replace(b"def admit", b"def accept")
DIFF = make_diff({PATH: (OLD, OLD.replace(RAISE, OURS))})
SIGNAL = {"log": r"rows cut from (?P<rows>\d+) to (?P<places>\d+)"}
EVIDENCE = {"file": PATH, "symbol": "admit", "contains": "rows = aligned(rows, places)"}
FIX: dict[str, Any] = {"ref": "vllm-project/vllm#1", "role": "fixes", "claimed": ">=3", "evidence": [EVIDENCE]}
ENTRY: dict[str, Any] = {"signal": SIGNAL, "fixes": [FIX], "variant": {"versions": ">=1,<3"}}


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    return make_registry(tmp_path / "registry")


class Trees:
    """Directories with one build each."""

    def __init__(self, where: Path) -> None:
        self._where = where

    def __call__(self, build: str, source: bytes = OLD, **others: bytes) -> str:
        """A directory with ``vllm/engine.py``, and with further modules by name."""
        site = self._where / f"tree-{build}"
        install(site, {PATH: source, **{f"vllm/{name}.py": data for name, data in others.items()}}, build=build)
        return str(site)


@pytest.fixture
def trees(tmp_path: Path) -> Trees:
    return Trees(tmp_path)


def entry(registry: Path, id_: str = "one", diff: bytes | None = DIFF, **changes: Any) -> Path:
    """An entry whose claims are right on 1.0, 2.0 and 3.0, but for ``changes``."""
    return add_entry(registry, id_, diff, **(ENTRY | changes))


def backport(registry: Path, id_: str, diff: bytes, **changes: Any) -> Path:
    """A back-port with the same claims; it writes no line."""
    return add_entry(
        registry, id_, diff, kind="backport", **({key: ENTRY[key] for key in ("fixes", "variant")} | changes)
    )


def lint(registry: Path, *arguments: str) -> Done:
    done = patchctl("lint", "--registry", str(registry), "--json", *arguments)
    assert done.document["exit_code"] == done.code
    assert complaints(done.document) == []
    return done


def against(registry: Path, *paths: str) -> Done:
    return lint(registry, "--matrix", "--against", *paths)


def found(done: Done) -> list[tuple[str, str, str]]:
    """(severity, code, key) of each finding."""
    return [(it["severity"], it["code"], it["key"]) for it in done.document["lint"]["findings"]]


def only(done: Done) -> Mapping[str, Any]:
    (finding,) = done.document["lint"]["findings"]
    assert isinstance(finding, dict)
    return finding


def cells(done: Done) -> list[tuple[Any, ...]]:
    """(build, rule, fit, offset, need) of each cell."""
    return [
        (it["tree"]["build"], it["match"]["rule"], it["fit"], it["offset"], it["need"])
        for it in done.document["lint"]["matrix"]
    ]


def line_of(file: Path, text: str) -> int:
    """The line on which ``text`` stands first."""
    return next(number for number, line in enumerate(file.read_text().split("\n"), start=1) if text in line)


def stated(finding: Mapping[str, Any], folder: Path, text: str) -> tuple[Any, ...]:
    """What a finding says of its place, and what it must say: the line of ``text`` in the entry's file."""
    file = folder / "patch.toml"
    assert (finding["path"], finding["line"]) == (str(file), line_of(file, text))
    return finding["severity"], finding["code"], finding["key"]


class TestOutcome:
    """A diff may fit, and make a module of it that nobody can import."""

    @pytest.fixture
    def folder(self, registry: Path, request: pytest.FixtureRequest) -> Path:
        ours: bytes = request.param
        return entry(registry, diff=make_diff({PATH: (OLD, OLD.replace(RAISE, OURS + ours))}))

    @pytest.mark.parametrize("folder", [b"        if rows\n"], indirect=True)
    def test_a_file_that_does_not_parse_any_more_is_an_error(self, registry: Path, folder: Path, trees: Trees) -> None:
        finding = only(against(registry, trees("1.0"), trees("2.0"), trees("3.0", FIXED)))
        assert stated(finding, folder, "diff = ") == ("error", "result-not-python", "variant[0].diff")
        assert "vllm/engine.py cannot be parsed: expected ':'" in finding["message"]

    @pytest.mark.parametrize("folder", [b"        os.sync()\n        del row_count\n"], indirect=True)
    def test_a_name_that_the_file_does_not_know_is_a_warning(self, registry: Path, folder: Path, trees: Trees) -> None:
        finding = only(against(registry, trees("1.0"), trees("3.0", FIXED)))
        assert stated(finding, folder, "diff = ") == ("warning", "result-unknown-name", "variant[0].diff")
        assert finding["message"].endswith("nowhere: os")

    @pytest.mark.parametrize("folder", [b"        os.sync()\n"], indirect=True)
    def test_where_the_file_imports_it_nothing_is_said(self, registry: Path, folder: Path, trees: Trees) -> None:
        assert found(against(registry, trees("2.0", LONGER), trees("3.0", FIXED))) == []

    @pytest.mark.parametrize("folder", [b"        os.sync()\n        (\n"], indirect=True)
    def test_what_was_so_before_is_not_the_diffs_fault(self, registry: Path, folder: Path, trees: Trees) -> None:
        assert found(against(registry, trees("1.0", b"print 'x'\n" + OLD), trees("3.0", FIXED))) == []

    @pytest.mark.parametrize(
        "source",
        [
            b"from x import *\nname\n",
            b"import a.name as b, name.c\nname\n",
            b"def f(*name, **more):\n    return name, more, print, __file__\n",
            b"try:\n    pass\nexcept ValueError as name:\n    name\n",
            b"match 1:\n    case {'a': a, **name}:\n        name, a\n    case [*more]:\n        more\n",
            b"match 1:\n    case [1, [it]] as name:\n        it, name\n",
            b"def f():\n    global name\n    name = 1\nname\n",
            b"[name for name in ()]\n(more := 1)\nmore\nfor it.x, [name] in ():\n    it = 1\n",
            b"class name:\n    __qualname__\n\n\nasync def more(a, /, b, *, c=name): a, b, c\nmore\n",
        ],
    )
    def test_every_way_to_give_a_name_a_meaning_is_known(self, source: bytes) -> None:
        assert unknown_names(None, source) == ()
        assert unknown_names(None, source + b"quite_unknown\n") == (() if b"*\n" in source else ("quite_unknown",))


class TestRightClaims:
    def test_are_no_findings(self, registry: Path, trees: Trees) -> None:
        entry(registry)
        done = against(registry, trees("1.0"), trees("2.0", LONGER), trees("3.0", FIXED))
        assert (done.code, found(done)) == (0, [])
        assert cells(done) == [
            ("1.0", "range", "applicable", 0, "wanted"),
            ("2.0", "range", "applicable", 2, "wanted"),
            ("3.0", "none", "conflict", None, "fixed"),
        ]
        assert [it["fixes"][0]["status"] for it in done.document["lint"]["matrix"]] == ["absent", "absent", "proven"]
        assert done.document["lint"]["untested"] == []

    def test_may_cover_builds_that_have_the_fix(self, registry: Path, trees: Trees) -> None:
        entry(registry, variant={"versions": ">=1"})
        done = against(registry, trees("2.0"), trees("3.0", FIXED))
        assert found(done) == []
        assert cells(done)[1] == ("3.0", "range", "conflict", None, "fixed")

    def test_of_a_vendor_are_about_the_vendor(self, registry: Path, trees: Trees) -> None:
        """A back-port in a vendor's build, and a fix that it lacks, are news and no errors."""
        entry(registry, variant={"versions": ">=1", "label": "any"})
        done = against(registry, trees("2.0+das", FIXED), trees("3.0+das"))
        assert done.code == 0
        assert found(done) == [
            ("warning", "claim-contradicted", "fix[0].claimed"),
            ("warning", "evidence-too-early", "fix[0].evidence[0]"),
        ]

    def test_of_an_advisory_are_its_fixes_alone(self, registry: Path, trees: Trees) -> None:
        entry(registry, diff=None, kind="advisory", avoid=[{"args": ["--enforce-eager"]}], signal=SIGNAL)
        done = against(registry, trees("2.0", REWRITTEN), trees("3.0", FIXED))
        assert found(done) == []
        assert [cell[2] for cell in cells(done)] == [None, None]


class TestARange:
    def test_one_release_too_wide_is_an_error(self, registry: Path, trees: Trees) -> None:
        folder = entry(registry, variant={"versions": ">=1,<4"}, fixes=[FIX | {"claimed": ">=4"}])
        done = against(registry, trees("2.0"), trees("3.0", REWRITTEN))
        finding = only(done)
        assert stated(finding, folder, "versions") == ("error", "claim-does-not-fit", "variant[0].versions")
        assert finding["message"].startswith("3.0: it is named, but fix.diff does not fit: vllm/engine.py, hunk 1: ")
        assert "fuzz" not in finding["message"]
        tree = trees("3.0", REWRITTEN)
        assert f"; patchctl preflight --registry {registry} {tree} -v explains, hunk by hunk" in finding["hint"]
        assert done.code == 1

    def test_that_fits_with_fuzz_alone_does_not_fit_and_says_so(self, registry: Path, trees: Trees) -> None:
        folder = entry(registry)
        drifted = OLD.replace(b"    return rows\n", b"    return list(rows)\n")
        done = against(registry, trees("1.0"), trees("2.0", drifted))
        assert stated(only(done), folder, "versions") == ("error", "claim-does-not-fit", "variant[0].versions")
        assert "GNU patch would take it with fuzz 1" in only(done)["message"]
        assert done.document["lint"]["matrix"][1]["fuzz"] == 1

    def test_that_fits_at_several_places_has_no_fuzz_to_tell(self, registry: Path, trees: Trees) -> None:
        entry(registry, fixes=[])
        done = against(registry, trees("2.0", b"x = 1\n" + OLD * 2))
        assert found(done) == [("error", "claim-does-not-fit", "variant[0].versions")]
        assert done.document["lint"]["matrix"][0]["fuzz"] is None

    def test_may_lie_further_up(self, registry: Path, trees: Trees) -> None:
        entry(registry)
        assert cells(against(registry, trees("2.0", OLD.replace(b"\n\n\n", b"\n"))))[0][3] == 2

    def test_is_told_once_for_all_builds_that_it_is_wrong_for(self, registry: Path, trees: Trees) -> None:
        entry(registry, variant={"versions": ">=1"}, fixes=[])
        done = against(registry, *(trees(build, REWRITTEN) for build in ("1.0", "1.1")), trees("1.2", b"pass\n"))
        assert only(done)["message"].startswith("1.0, 1.1, 1.2: ")

    def test_says_of_a_missing_file_that_it_is_missing(self, registry: Path, tmp_path: Path) -> None:
        entry(registry)
        install(tmp_path / "empty", {"vllm/__init__.py": b""}, build="2.0")
        done = against(registry, str(tmp_path / "empty"))
        assert "vllm/engine.py: there is no such file" in only(done)["message"]

    def test_of_a_named_build_is_a_claim_too(self, registry: Path, trees: Trees) -> None:
        folder = entry(registry, variant={"builds": ["2.0+das"]})
        done = against(registry, trees("2.0+das", REWRITTEN))
        assert stated(only(done), folder, "builds") == ("error", "claim-does-not-fit", "variant[0].builds")

    def test_may_not_name_half_of_the_change(self, registry: Path, trees: Trees) -> None:
        both = make_diff({PATH: (OLD, OLD.replace(RAISE, OURS)), "vllm/b.py": (b"\nb = 1\n", b"\nb = 2\n")})
        entry(registry, diff=both, kind="backport")
        done = against(registry, trees("2.0", b=b"\nb = 2\n"))
        assert found(done) == [("error", "claim-does-not-fit", "variant[0].versions")]
        assert cells(done)[0][2] == "partial"

    def test_too_narrow_is_a_warning(self, registry: Path, trees: Trees) -> None:
        folder = entry(registry, variant={"versions": ">=1,<2"})
        done = against(registry, trees("1.0"), trees("2.0"))
        assert stated(only(done), folder, "versions") == ("warning", "range-too-narrow", "variant[0].versions")
        assert (done.code, cells(done)[1]) == (0, ("2.0", "none", "applicable", 0, "unknown-build"))
        assert lint(registry, "--strict", "--against", trees("2.0")).code == 1
        done = against(registry, *(trees(build) for build in ("2.1", "2.2", "2.3")))
        assert only(done)["message"].startswith("2.1, 2.2, 2.3: fix.diff fits it")

    def test_that_overlaps_is_an_error_of_both(self, registry: Path, trees: Trees) -> None:
        folder = entry(registry)
        with (folder / "patch.toml").open("a") as file:
            file.write(f'[[variant]]\ndistribution = "vllm"\ndiff = "fix.diff"\nsha256 = "{sha256_hex(DIFF)}"\n')
            file.write('versions = ">=2"\nlabel = "any"\n')
        done = against(registry, trees("1.0"), trees("2.0"))
        ties = [it for it in done.document["lint"]["findings"] if it["code"] == "variant-tie"]
        assert stated(ties[0], folder, "[[variant]]") == ("error", "variant-tie", "variant[0]")
        assert ties[0]["message"].startswith("2.0: variant[0] and variant[1] fit it equally well")
        assert cells(done)[1] == ("2.0", "none", None, None, None)
        assert done.code == 1


class TestAClaimedFix:
    def test_that_the_bytes_lack_is_an_error(self, registry: Path, trees: Trees) -> None:
        folder = entry(registry, fixes=[FIX | {"claimed": ">=2"}])
        done = against(registry, trees("1.0"), trees("2.0"), trees("3.0", FIXED))
        finding = only(done)
        assert stated(finding, folder, "claimed") == ("error", "claim-contradicted", "fix[0].claimed")
        assert finding["message"].startswith("2.0: `>=2` claims vllm-project/vllm#1 for it, but evidence[0]: ")

    @pytest.mark.parametrize("source", [MOVED, b"pass\n"])
    def test_whose_code_is_not_in_its_place_is_an_error_of_the_evidence(
        self, registry: Path, trees: Trees, source: bytes
    ) -> None:
        folder = entry(registry)
        done = against(registry, trees("3.0", source, other=OLD))
        assert stated(only(done), folder, "evidence") == ("error", "claim-contradicted", "fix[0].evidence[0]")

    def test_names_the_item_that_fails(self, registry: Path, trees: Trees) -> None:
        second = {"file": PATH, "symbol": "consume", "contains": "admit("}
        entry(registry, fixes=[FIX | {"evidence": [EVIDENCE, second]}])
        done = against(registry, trees("3.0", FIXED))
        assert found(done) == [("error", "claim-contradicted", "fix[0].evidence[1]")]

    def test_of_another_role_is_a_warning(self, registry: Path, trees: Trees) -> None:
        entry(registry, fixes=[FIX, FIX | {"ref": "vllm-project/vllm#2", "role": "related", "claimed": ">=2"}])
        done = against(registry, trees("2.0"))
        assert (done.code, found(done)) == (0, [("warning", "claim-contradicted", "fix[1].claimed")])

    def test_whose_evidence_holds_too_early_is_an_error(self, registry: Path, trees: Trees) -> None:
        early = FIX | {"evidence": [EVIDENCE | {"contains": "number_of_rows = len(rows)"}]}
        folder = entry(registry, fixes=[early])
        done = against(registry, trees("2.0"))
        assert stated(only(done), folder, "evidence") == ("error", "evidence-too-early", "fix[0].evidence[0]")

    @pytest.mark.parametrize("build", ["3.0rc1", "3.0.dev5", "2.0+das"])
    def test_may_be_in_a_build_that_is_no_release_before(self, registry: Path, trees: Trees, build: str) -> None:
        entry(registry)
        done = against(registry, trees(build, FIXED))
        assert (done.code, found(done)) == (0, [("warning", "evidence-too-early", "fix[0].evidence[0]")])

    def test_that_nobody_claims_may_be_claimed_where_it_is_proven(self, registry: Path, trees: Trees) -> None:
        entry(registry, fixes=[{key: value for key, value in FIX.items() if key != "claimed"}])
        done = against(registry, trees("2.0"), trees("3.0", FIXED))
        assert found(done) == [("warning", "claim-missing", "fix[0].ref")]


class TestSelfCollision:
    EVIDENCE = EVIDENCE | {"contains": "rows = rows[:places]"}

    def test_of_a_containment_is_an_error(self, registry: Path, trees: Trees) -> None:
        folder = entry(registry, fixes=[FIX | {"evidence": [self.EVIDENCE]}])
        done = against(registry, trees("2.0"))
        exact = [it for it in done.document["lint"]["findings"] if it["message"].startswith("2.0: ")]
        assert stated(exact[0], folder, "evidence") == ("error", "self-collision", "fix[0].evidence[0]")
        assert done.code == 1

    def test_of_a_backport_is_its_nature(self, registry: Path, trees: Trees) -> None:
        entry(registry, kind="backport", fixes=[FIX | {"evidence": [self.EVIDENCE]}])
        assert found(against(registry, trees("2.0"))) == []

    def test_is_none_where_the_evidence_wants_more(self, registry: Path, trees: Trees) -> None:
        entry(registry, fixes=[FIX | {"evidence": [self.EVIDENCE, EVIDENCE]}])
        assert not [
            it for it in against(registry, trees("2.0")).document["lint"]["findings"] if "2.0:" in it["message"]
        ]


class TestTheStack:
    OTHER = make_diff({PATH: (OLD, OLD.replace(b"    count = number_of_rows\n", b"    count = places\n"))})

    def test_that_does_not_hold_is_an_error(self, registry: Path, trees: Trees) -> None:
        entry(registry)
        folder = backport(registry, "two", self.OTHER)
        done = against(registry, trees("2.0"))
        assert stated(only(done), folder, "diff =") == ("error", "stack-conflict", "variant[0].diff")
        assert "it fits by itself, and not over one: vllm/engine.py: hunk 1: its lines" in only(done)["message"]
        assert [cell[2] for cell in cells(done)] == ["applicable", "applicable"]

    def test_may_be_parted_by_a_declared_conflict(self, registry: Path, trees: Trees) -> None:
        entry(registry)
        backport(registry, "two", self.OTHER, conflicts=["one"])
        assert found(against(registry, trees("2.0"))) == []

    def test_is_without_what_is_fixed(self, registry: Path, trees: Trees) -> None:
        """A fix in one function may leave the place where another diff fits as it is."""
        entry(registry, fixes=[FIX | {"claimed": ">=2", "evidence": [{"file": PATH, "contains": "return rows"}]}])
        backport(registry, "two", self.OTHER, default=False)
        assert found(against(registry, trees("2.0"))) == []

    def test_is_without_what_is_replaced(self, registry: Path, trees: Trees) -> None:
        entry(registry)
        backport(registry, "two", self.OTHER, replaces=["one"])
        assert found(against(registry, trees("2.0"))) == []

    def test_may_rest_on_what_is_required(self, registry: Path, trees: Trees) -> None:
        entry(registry, "zero")
        patched = OLD.replace(RAISE, OURS)
        over = make_diff({PATH: (patched, patched.replace(b"count = number_of_rows", b"count = places"))})
        backport(registry, "one", over, requires=["zero"])
        done = against(registry, trees("2.0"))
        assert found(done) == []
        assert [cell[2] for cell in cells(done)] == ["applicable", "applicable"]

    def test_does_not_hide_a_diff_that_does_not_fit_by_itself(self, registry: Path, trees: Trees) -> None:
        """Judged over what is wanted, it would fit; alone, as somebody may apply it, it does not."""
        entry(registry, "one")
        patched = OLD.replace(RAISE, OURS)
        over = make_diff({PATH: (patched, patched.replace(b"count = number_of_rows", b"count = places"))})
        backport(registry, "two", over)
        done = against(registry, trees("2.0"))
        assert [(it["patch"], it["code"]) for it in done.document["lint"]["findings"]] == [
            ("two", "claim-does-not-fit")
        ]


class TestTrees:
    def test_read_alike_whatever_they_lie_in(self, registry: Path, tmp_path: Path) -> None:
        entry(registry)
        wheel = make_wheel(tmp_path, [(PATH, LONGER)], build="2.0")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(tmp_path / "extracted")
        documents = [against(registry, str(path)).document["lint"] for path in (wheel, tmp_path / "extracted")]
        assert [document["trees"][0]["kind"] for document in documents] == ["wheel", "directory"]
        for document in documents:
            for cell in document["matrix"]:
                del cell["tree"]["path"], cell["tree"]["kind"]
            del document["trees"]
        assert documents[0] == documents[1]

    def test_stay_as_they_are(self, registry: Path, trees: Trees, tmp_path: Path) -> None:
        entry(registry)
        paths = [trees("1.0"), str(make_wheel(tmp_path, [(PATH, OLD)], build="2.0"))]
        before = tree(tmp_path)
        assert against(registry, *paths).code == 0
        assert tree(tmp_path) == before

    def test_that_cannot_be_read_hide_no_others(self, registry: Path, trees: Trees, tmp_path: Path) -> None:
        entry(registry, fixes=[FIX | {"claimed": ">=2"}])
        done = against(registry, str(tmp_path / "gone.whl"), trees("2.0"))
        assert done.code == 3
        assert [error["code"] for error in done.document["errors"]] == ["no-candidate"]
        assert found(done) == [("error", "claim-contradicted", "fix[0].claimed")]

    def test_that_are_named_twice_count_once(self, registry: Path, trees: Trees) -> None:
        entry(registry)
        path = trees("2.0")
        assert len(against(registry, path, path).document["lint"]["matrix"]) == 1

    @pytest.mark.parametrize("edited", [OLD.replace(RAISE, OURS), REWRITTEN])
    def test_that_somebody_edited_prove_nothing(self, registry: Path, trees: Trees, edited: bytes) -> None:
        entry(registry)
        site = Path(trees("2.0"))
        (site / PATH).write_bytes(edited)
        done = against(registry, str(site))
        assert found(done) == []
        assert [it["code"] for it in done.document["warnings"]] == ["tree-changed"]
        assert [it["key"] for it in done.document["lint"]["untested"]] == ["variant[0].versions", "fix[0].claimed"]

    def test_that_carry_the_change_themselves_need_no_diff(self, registry: Path, trees: Trees) -> None:
        entry(registry)
        done = against(registry, trees("2.0", OLD.replace(RAISE, OURS)))
        assert (found(done), done.document["warnings"]) == ([], [])
        assert cells(done) == [("2.0", "range", "present", None, "fixed")]

    def test_of_another_distribution_have_no_cells(self, registry: Path, trees: Trees, tmp_path: Path) -> None:
        entry(registry)
        add_entry(registry, "aiter", None, distribution="aiter", kind="advisory", avoid=[{"args": ["--x"]}])
        install(tmp_path / "aiter", {"aiter/__init__.py": b""}, name="aiter", build="9")
        done = against(registry, trees("2.0"), str(tmp_path / "aiter"))
        assert [(it["patch"], it["tree"]["build"]) for it in done.document["lint"]["matrix"]] == [
            ("aiter", "9"),
            ("one", "2.0"),
        ]

    def test_hold_every_distribution_that_an_entry_wants(self, registry: Path, tmp_path: Path) -> None:
        folder = backport(registry, "one", DIFF)
        other = make_diff({"aiter/a.py": (b"\na = 1\n", b"\na = 2\n")})
        (folder / "aiter.diff").write_bytes(other)
        with (folder / "patch.toml").open("a") as file:
            file.write(f'[[variant]]\ndistribution = "aiter"\ndiff = "aiter.diff"\nsha256 = "{sha256_hex(other)}"\n')
            file.write('versions = ">=9"\n')
        text = (folder / "patch.toml").read_text().replace('role = "fixes"', 'role = "fixes"\ndistribution = "vllm"')
        (folder / "patch.toml").write_text(text)
        site = tmp_path / "both"
        install(site, {PATH: OLD}, build="2.0")
        install(site, {"aiter/a.py": b"\na = 3\n"}, name="aiter", build="9")
        done = against(registry, str(site))
        assert found(done) == [("error", "claim-does-not-fit", "variant[1].versions")]
        assert cells(done)[0][0] == "vllm 2.0, aiter 9"


class TestWhatIsNotTested:
    def test_is_told_by_key_and_counts_for_nothing(self, registry: Path, trees: Trees) -> None:
        folder = entry(registry, variant={"builds": ["2.0+das", "2.0+dtk"], "versions": ">=1,<3"})
        done = lint(registry, "--strict", "--against", trees("2.0+das"))
        assert done.code == 0
        untested = done.document["lint"]["untested"]
        assert [it["key"] for it in untested] == ["variant[0].builds[1]", "variant[0].versions", "fix[0].claimed"]
        assert untested[2]["line"] == line_of(folder / "patch.toml", "claimed")
        assert done.document["lint"]["matrix"] is None


class TestTheCommandLine:
    def test_takes_what_the_shell_makes_of_a_pattern(self, registry: Path, trees: Trees) -> None:
        entry(registry)
        entry(registry, "two", kind="backport", variant={"versions": ">=9"})
        paths = [trees("1.0"), trees("2.0")]
        for arguments in (["--against", *paths, "one"], ["one", "--against", paths[0], "--against", paths[1]]):
            done = lint(registry, "--matrix", *arguments)
            assert [(it["patch"], it["tree"]["path"]) for it in done.document["lint"]["matrix"]] == [
                ("one", path) for path in paths
            ]

    @pytest.mark.parametrize(
        "arguments",
        [("--matrix",), ("--against", "TREE", "--markdown"), ("--against", "TREE", "--matrix", "--markdown", "--json")],
    )
    def test_refuses_what_cannot_be_meant(self, registry: Path, trees: Trees, arguments: Sequence[str]) -> None:
        given = [trees("2.0") if word == "TREE" else word for word in arguments]
        assert patchctl("lint", "--registry", str(registry), *given).code == 2


class TestTheShapes:
    @pytest.fixture
    def arguments(self, registry: Path, trees: Trees) -> list[str]:
        entry(registry)
        entry(registry, "two", kind="backport", variant={"versions": ">=3"}, fixes=[])
        long = "2.0+das.opt1.rc2.dtk2604.20260128.g0bf89b0c"
        paths = [trees("2.0", LONGER), trees("3.0", FIXED), trees(long)]
        return ["lint", "--registry", str(registry), "--matrix", "--against", *paths]

    def test_of_a_pipe_is_one_record_a_cell(self, arguments: list[str]) -> None:
        lines = patchctl(*arguments).out.split("\n")
        assert next(line for line in lines if line.startswith("cell\tone\t")) == (
            "cell\tone\t2.0\tfit=offset 2\tmatch=range\tneed=wanted\tfix=vllm-project/vllm#1 absent"
        )
        assert sum(line.startswith("tree\t") for line in lines) == 3
        assert lines[-2] == "linted\tentries=2\tdiffs=2\terrors=1\twarnings=2"

    def test_of_a_terminal_is_a_table_an_entry_within_its_width(self, arguments: list[str]) -> None:
        text = on_a_terminal(*arguments, "--no-color").decode().replace("\r", "")
        assert "    build  patch          need           #1\n    2.0    offset 2       wanted         absent\n" in text
        assert "    3.0    -              fixed          proven\n" in text
        assert (
            "    2.0+das.opt1.rc2.dtk2604.20260128.g0bf89b0c\n           fits, unnamed  unknown-build  absent\n" in text
        )
        assert "    #1: vllm-project/vllm#1, claimed >=3\n" in text
        below_the_bar = text.rpartition("\x1b")[2]
        assert "build  patch" in below_the_bar
        assert max(len(line) for line in below_the_bar.split("\n")) <= 80

    def test_of_a_page_names_builds_and_no_places(self, arguments: list[str], tmp_path: Path) -> None:
        done = patchctl(*arguments, "--markdown")
        assert "\n| entry | 2.0 | 3.0 | 2.0+das.opt1.rc2.dtk2604.20260128.g0bf89b0c |\n" in done.out
        assert "\n| `one` | offset 2 | fixed | fits, unnamed |\n" in done.out
        assert "\n| 2.0 | range | offset 2 | wanted | absent |\n" in done.out
        assert str(tmp_path) not in done.out
        assert (done.code, done.err.count("error: "), done.err.count("warning: ")) == (1, 1, 2)


class TestAMisspeltSymbol:
    def test_is_told_with_the_names_that_are_near(self, registry: Path, trees: Trees) -> None:
        entry(registry, fixes=[FIX | {"evidence": [EVIDENCE | {"symbol": "admitt"}]}])
        (finding,) = (it for it in lint(registry, "--against", trees("3.0", FIXED)).document["lint"]["findings"])
        assert finding["code"] == "claim-contradicted"
        assert finding["hint"] == "is admitt spelt right? near it are admit"

    def test_of_a_method_is_looked_for_in_its_class(self, registry: Path, trees: Trees) -> None:
        source = FIXED + b"\n\nclass Engine:\n    def stop(self):\n        return 1\n\n\ndef step():\n    return 2\n"
        entry(registry, fixes=[FIX | {"evidence": [EVIDENCE | {"symbol": "Engine.stopp"}]}])
        (finding,) = (it for it in lint(registry, "--against", trees("3.0", source)).document["lint"]["findings"])
        assert finding["hint"] == "is Engine.stopp spelt right? near it are Engine.stop"

    def test_that_is_like_nothing_is_told_so(self, registry: Path, trees: Trees) -> None:
        entry(registry, fixes=[FIX | {"evidence": [EVIDENCE | {"symbol": "quite_another"}]}])
        (finding,) = (it for it in lint(registry, "--against", trees("3.0", FIXED)).document["lint"]["findings"])
        assert finding["hint"] == "is quite_another spelt right? nothing there is spelt like it"
