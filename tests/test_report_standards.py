"""CycloneDX and OpenVEX: valid by their schemas, true to the environment, the same bytes for the same build."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from jsonschema import Draft202012Validator, FormatChecker
from packageurl import PackageURL

from patchctl.render.pages.purl import purl_of
from tests.registries import add_entry, make_diff, make_registry
from tests.report_desk import BASE, BUILD, RULE, edited, make_desk, make_hostile_desk
from tests.running import Desk
from tests.sites import install

CLOCK = {"SOURCE_DATE_EPOCH": "1800000000"}
PURL = "pkg:pypi/vllm@0.20.0%2Bdas.dtk2604"

URI = {"type": "string", "format": "uri", "pattern": "^[a-z]+:"}
TIME = {"type": "string", "format": "date-time", "pattern": "Z$"}
WORDS = {"type": "string", "minLength": 1}
STATUSES = ["not_affected", "affected", "fixed", "under_investigation"]


def closed(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    """A schema of an object with these keys and no others."""
    keys = required | (optional or {})
    return {"type": "object", "properties": keys, "required": [*required], "additionalProperties": False}


PRODUCT = closed({"@id": URI, "identifiers": closed({"purl": {"type": "string", "pattern": "^pkg:pypi/"}})})
STATEMENT = closed(
    {
        "vulnerability": closed({"name": WORDS}),
        "products": {"type": "array", "items": PRODUCT, "minItems": 1, "uniqueItems": True},
        "status": {"enum": STATUSES},
    },
    {"status_notes": WORDS, "justification": {"const": "inline_mitigations_already_exist"}, "action_statement": WORDS},
)
# What OpenVEX 0.2.0 asks of a statement: a reason for not_affected, something to do for affected, neither elsewhere.
STATEMENT["allOf"] = [
    {
        "if": {"properties": {"status": {"const": status}}},
        "then": {"required": [key]},
        "else": {"not": {"required": [key]}},
    }
    for status, key in (("not_affected", "justification"), ("affected", "action_statement"))
]
OPENVEX = closed(
    {
        "@context": {"const": "https://openvex.dev/ns/v0.2.0"},
        "@id": URI,
        "author": WORDS,
        "timestamp": TIME,
        "version": {"type": "integer", "minimum": 1},
        "statements": {"type": "array", "items": STATEMENT, "minItems": 1, "uniqueItems": True},
    },
    {"role": WORDS, "tooling": WORDS},
)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return make_desk(tmp_path_factory.mktemp("desk"))


def made(desk: Desk, shape: str) -> Any:
    """The document in that format, held against its schema."""
    done = desk.run("report", "--format", shape, env=CLOCK)
    assert done.code == 0
    assert done.out.endswith("}\n")
    if shape == "cyclonedx":
        assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(done.out) is None
    else:
        found = Draft202012Validator(OPENVEX, format_checker=FormatChecker()).iter_errors(json.loads(done.out))
        assert [f"{error.json_path}: {error.message}" for error in found] == []
    return json.loads(done.out)


def statuses(desk: Desk) -> dict[str, str]:
    return {it["vulnerability"]["name"]: it["status"] for it in made(desk, "openvex")["statements"]}


class TestCycloneDx:
    def test_names_the_distribution_and_what_is_in_beyond_its_release(self, desk: Desk) -> None:
        document = made(desk, "cyclonedx")
        (component,) = document["components"]
        assert (component["name"], component["version"], component["purl"]) == ("vllm", BUILD, PURL)
        patches = {patch["resolves"][0]["id"]: patch for patch in component["pedigree"]["patches"]}
        ids = {issue["id"] for patch in patches.values() for issue in patch["resolves"]}
        assert ids == {"contained", "ported", "vllm-project/vllm#1", "CVE-2026-1001", "CVE-2026-1002"}
        assert {patch["type"] for patch in patches.values()} == {"unofficial", "backport"}

    def test_has_the_diff_whole(self, desk: Desk) -> None:
        (component,) = made(desk, "cyclonedx")["components"]
        diffs = {patch["diff"]["text"]["content"].encode() for patch in component["pedigree"]["patches"]}
        assert diffs == {
            make_diff({"vllm/a.py": (BASE, edited(3))}),
            make_diff({"vllm/b.py": (BASE, edited(5))}),
        }

    def test_says_what_each_patch_resolves_and_where_to_read_of_it(self, desk: Desk) -> None:
        (component,) = made(desk, "cyclonedx")["components"]
        issues = {it["id"]: it for patch in component["pedigree"]["patches"] for it in patch["resolves"]}
        assert issues["contained"] == {
            "type": "defect",
            "id": "contained",
            "name": "Pad a short image",
            "description": "One raise. It kills all.",
        }
        assert issues["vllm-project/vllm#1"]["references"] == ["https://example.org/1"]
        assert (issues["CVE-2026-1001"]["type"], "CVE-2026-1001" in issues["CVE-2026-1001"]["source"]["url"]) == (
            "security",
            True,
        )

    def test_is_the_same_for_the_same_build_and_another_for_another(self, desk: Desk, tmp_path: Path) -> None:
        first = desk.run("report", "--format", "cyclonedx", env=CLOCK).out
        assert desk.run("report", "--format", "cyclonedx", env=CLOCK).out == first
        later = desk.run("report", "--format", "cyclonedx", env={"SOURCE_DATE_EPOCH": "1800000001"}).out
        other = make_desk(tmp_path)
        assert other.run("revert", "contained").code == 0
        documents = [json.loads(text) for text in (first, later)] + [made(other, "cyclonedx")]
        assert len({document["serialNumber"] for document in documents}) == 3
        assert documents[0]["metadata"]["timestamp"] == "2027-01-15T08:00:00+00:00"

    def test_does_not_depend_on_the_seed_of_hashes(self, desk: Desk) -> None:
        script = "from patchctl.cli import main; main()"
        words = ["report", "--format", "cyclonedx", "--site", str(desk.site), "--registry", str(desk.registry)]
        outs = {
            subprocess.run(
                [sys.executable, "-c", script, *words],
                capture_output=True,
                check=True,
                env=CLOCK | {"PYTHONHASHSEED": seed},
            ).stdout
            for seed in ("1", "2", "3")
        }
        assert len(outs) == 1

    def test_holds_bytes_that_are_no_text(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path)
        diff = make_diff({"vllm/f.py": (BASE, edited(20, b"line_20 = '\xff'  # -*- latin-1\n"))})
        add_entry(desk.registry or tmp_path, "latin", diff, variant=RULE)
        assert desk.run("apply", "latin").code == 0
        (component,) = made(desk, "cyclonedx")["components"]
        texts = [patch["diff"]["text"] for patch in component["pedigree"]["patches"]]
        (text,) = [it for it in texts if it.get("encoding") == "base64"]
        assert base64.b64decode(text["content"]) == diff

    def test_of_an_environment_without_patches_has_no_pedigree(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path)
        assert desk.run("revert", "--all").code == 0
        (component,) = made(desk, "cyclonedx")["components"]
        assert "pedigree" not in component

    def test_of_hostile_text_is_valid_all_the_same(self, tmp_path: Path) -> None:
        made(make_hostile_desk(tmp_path), "cyclonedx")

    def test_without_the_library_says_which_extra_to_install(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "cyclonedx.output.json", None)
        done = desk.run("report", "--format", "cyclonedx")
        assert (done.code, done.out, "patchctl[sbom]" in done.err) == (3, "", True)
        document = desk.json("report", "--format", "cyclonedx").document
        assert document["errors"][0]["code"] == "missing-library"


class TestPackageUrl:
    @pytest.mark.parametrize("build", [BUILD, "0.5.4@4db5176d", "N/A", "1!2.0", "dev build"])
    def test_is_read_back_as_it_was_meant(self, build: str) -> None:
        found = PackageURL.from_string(purl_of("flash-attn", build))
        assert (found.type, found.name, found.version) == ("pypi", "flash-attn", build)


class TestOpenVex:
    def test_says_of_every_cve_what_it_means_here(self, desk: Desk) -> None:
        assert statuses(desk) == {
            "CVE-2026-1001": "not_affected",
            "CVE-2026-1002": "fixed",
            "CVE-2026-1003": "affected",
            "CVE-2026-1004": "under_investigation",
            "CVE-2026-1005": "affected",
            "CVE-2026-1006": "fixed",
            "CVE-2026-1007": "affected",
        }

    def test_says_what_to_do(self, desk: Desk) -> None:
        found = {it["vulnerability"]["name"]: it for it in made(desk, "openvex")["statements"]}
        assert found["CVE-2026-1003"]["action_statement"] == "patchctl apply waiting"
        assert found["CVE-2026-1005"]["action_statement"] == "patchctl unhold kept-out, then patchctl apply kept-out"
        assert found["CVE-2026-1007"]["action_statement"] == "start it with --max-num-seqs 1"
        assert found["CVE-2026-1003"]["products"] == [{"@id": PURL, "identifiers": {"purl": PURL}}]

    def test_a_patch_that_was_edited_away_protects_nobody(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path)
        (desk.site / "vllm" / "a.py").write_bytes(b"mine\n")
        assert statuses(desk)["CVE-2026-1001"] == "under_investigation"
        (desk.site / "vllm" / "a.py").write_bytes(BASE)
        assert statuses(desk)["CVE-2026-1001"] == "affected"

    def test_of_two_entries_for_one_cve_the_worse_counts(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path)
        more = make_diff({"vllm/f.py": (BASE, edited(20))})
        add_entry(desk.registry or tmp_path, "second-half", more, variant=RULE, cve=["CVE-2026-1001"])
        (found,) = [it for it in made(desk, "openvex")["statements"] if it["vulnerability"]["name"] == "CVE-2026-1001"]
        assert found["status"] == "affected"
        assert found["action_statement"] == "patchctl apply second-half"
        assert found["status_notes"].startswith("contained: contained by a local patch")
        assert desk.run("apply", "second-half").code == 0
        assert statuses(desk)["CVE-2026-1001"] == "not_affected"

    def test_without_a_cve_nothing_is_stated(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path)
        bare = Desk(site=desk.site, registry=make_registry(tmp_path / "bare"))
        add_entry(bare.registry or tmp_path, "plain", make_diff({"vllm/f.py": (BASE, edited(20))}), variant=RULE)
        file = tmp_path / "vex.json"
        file.write_text("old\n")
        for words in ((), ("--output", str(file))):
            done = bare.run("report", "--format", "openvex", *words)
            assert (done.code, "names a CVE" in done.err, "@context" in done.out) == (0, True, False)
        assert file.read_text() == "old\n"
        document = bare.json("report", "--format", "openvex").document
        assert document["report"] == {"format": "openvex", "state": "empty", "path": None, "text": None}

    def test_names_every_distribution_of_the_entry(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path)
        install(desk.site, {"aiter/x.py": BASE}, name="aiter", build="1.0")
        folder = desk.registry or tmp_path
        entry = add_entry(
            folder, "over-two", make_diff({"vllm/f.py": (BASE, edited(20))}), variant=RULE, cve=["CVE-2026-7777"]
        )
        other = make_diff({"aiter/x.py": (BASE, edited(20))})
        (entry / "aiter.diff").write_bytes(other)
        import hashlib

        digest = hashlib.sha256(other).hexdigest()
        more = f'\n[[variant]]\ndistribution = "aiter"\ndiff = "aiter.diff"\nsha256 = "{digest}"\nversions = ">=1"\n'
        (entry / "patch.toml").write_text((entry / "patch.toml").read_text() + more)
        assert desk.run("apply", "over-two").code == 0
        (found,) = [it for it in made(desk, "openvex")["statements"] if it["vulnerability"]["name"] == "CVE-2026-7777"]
        assert [product["@id"] for product in found["products"]] == [PURL, "pkg:pypi/aiter@1.0"]
        patched = {it["name"]: len(it["pedigree"]["patches"]) for it in made(desk, "cyclonedx")["components"]}
        assert patched == {"vllm": 3, "aiter": 1}

    def test_is_the_same_for_the_same_build(self, desk: Desk) -> None:
        first = desk.run("report", "--format", "openvex", env=CLOCK).out
        assert desk.run("report", "--format", "openvex", env=CLOCK).out == first
        assert made(desk, "openvex")["@id"].startswith("urn:uuid:")
