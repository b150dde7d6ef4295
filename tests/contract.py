"""The published schema of the JSON document, as tests hold documents against it.

Readers may meet keys that are newer than their schema, so the published one allows them. patchctl itself must not
print a key that nobody described: ``complaints`` judges by a closed form, in which every described object is complete.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

SCHEMA_FILE = Path(__file__).parent.parent / "docs" / "schemas" / "report.schema.json"


def published_schema() -> dict[str, Any]:
    """Return the schema as it is published."""
    found = json.loads(SCHEMA_FILE.read_bytes())
    assert isinstance(found, dict)
    return found


def closed_schema() -> dict[str, Any]:
    """Return the schema with every described object closed to keys it does not describe."""
    found = _closed(published_schema())
    assert isinstance(found, dict)
    return found


def complaints(document: Any, *, schema: dict[str, Any] | None = None) -> list[str]:
    """Return what is wrong with a document by ``schema`` (the closed one unless given); empty: nothing."""
    validator = Draft202012Validator(closed_schema() if schema is None else schema)
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]


def _closed(node: Any) -> Any:
    if isinstance(node, list):
        return [_closed(item) for item in node]
    if not isinstance(node, dict):
        return node
    closed = {key: _closed(value) for key, value in node.items()}
    describes_object = node.get("type") == "object" and isinstance(node.get("properties"), dict) and "required" in node
    return closed | {"additionalProperties": False} if describes_object else closed
