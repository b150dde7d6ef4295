"""The published JSON Schemas say what the loader says, as far as a schema can."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from patchctl.patch import REGISTRY
from patchctl.patch.shapes import AVOID, ENTRY, EVIDENCE, FIX, SIGNAL, TRIGGER, VARIANT, Shape
from patchctl.registry import bundled_registry
from tests.test_patch_parse import ADVISORY, REFUSED, REFUSED_BY_MEANING, RICH

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DOCS = Path(__file__).parent.parent / "docs"


def schema(name: str) -> Any:
    return json.loads((DOCS / "schemas" / f"{name}.schema.json").read_bytes())


def complaints(text: str) -> list[str]:
    return [error.message for error in Draft202012Validator(schema("patch")).iter_errors(tomllib.loads(text))]


@pytest.mark.parametrize("name", ["patch", "registry"])
def test_the_schema_is_a_schema(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))


@pytest.mark.parametrize("text", [RICH, ADVISORY], ids=["rich", "advisory"])
def test_what_the_loader_reads_the_schema_accepts(text: str) -> None:
    assert complaints(text) == []


@pytest.mark.parametrize("text", [case[1] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_what_the_loader_refuses_for_its_form_the_schema_rejects(text: str) -> None:
    assert complaints(text) != []


def test_some_refusals_need_the_loader() -> None:
    """A schema cannot compare two values or read a version; if it could, the case belongs in the other table."""
    names = [name for name, text, *_ in REFUSED_BY_MEANING if complaints(text)]
    assert names == ["endless regex"]


def test_the_bundled_entries_are_accepted() -> None:
    files = sorted(Path(bundled_registry()).glob("*/*/patch.toml"))
    assert {str(file): complaints(file.read_text(encoding="utf-8")) for file in files} == {
        str(file): [] for file in files
    }
    registry = tomllib.loads((Path(bundled_registry()) / "registry.toml").read_text(encoding="utf-8"))
    assert list(Draft202012Validator(schema("registry")).iter_errors(registry)) == []


@pytest.mark.parametrize(
    ("shape", "properties"),
    [
        (ENTRY, schema("patch")["properties"]),
        (VARIANT, schema("patch")["$defs"]["variant"]["properties"]),
        (FIX, schema("patch")["$defs"]["fix"]["properties"]),
        (EVIDENCE, schema("patch")["$defs"]["evidence"]["properties"]),
        (TRIGGER, schema("patch")["$defs"]["trigger"]["properties"]),
        (AVOID, schema("patch")["$defs"]["avoid"]["properties"]),
        (SIGNAL, schema("patch")["$defs"]["signal"]["properties"]),
        (REGISTRY, schema("registry")["properties"]),
    ],
)
def test_loader_schema_and_documentation_know_the_same_keys(shape: Shape, properties: dict[str, Any]) -> None:
    assert sorted(shape.examples) == sorted(properties)
    documentation = (DOCS / "registry.md").read_text(encoding="utf-8")
    assert [key for key in shape.examples if f"`{key}`" not in documentation and f"{key}]" not in documentation] == []


def test_the_examples_in_hints_are_toml_that_the_loader_knows() -> None:
    for shape in (ENTRY, VARIANT, FIX, EVIDENCE, TRIGGER, AVOID, SIGNAL, REGISTRY):
        for key, example in shape.examples.items():
            if " or " not in example and example != "[[fix.evidence]]":
                assert list(tomllib.loads(example)) == [key]
