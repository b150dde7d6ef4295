"""Small registries for tests: entries as keyword arguments, diffs made from before and after."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from patchctl.model import sha256_hex


def make_diff(changes: Mapping[str, tuple[bytes | None, bytes | None]], *, context: int = 3) -> bytes:
    """Return a unified diff with ``a/`` and ``b/`` names; None for a side that is not there."""
    out = b""
    for path, (before, after) in changes.items():
        old = b"/dev/null" if before is None else b"a/" + path.encode()
        new = b"/dev/null" if after is None else b"b/" + path.encode()
        sides = (before or b"").splitlines(keepends=True), (after or b"").splitlines(keepends=True)
        lines = difflib.diff_bytes(difflib.unified_diff, *sides, old, new, n=context)
        out += b"".join(line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n" for line in lines)
    return out


def make_registry(where: Path, *, name: str = "test") -> Path:
    """Make an empty registry at ``where`` and return it."""
    where.mkdir(parents=True, exist_ok=True)
    (where / "registry.toml").write_text(f'format = 1\nname = "{name}"\nrevision = 1\n')
    return where


def add_entry(
    registry: Path,
    id_: str,
    diff: bytes | None,
    *,
    distribution: str = "vllm",
    kind: str = "containment",
    revision: int = 1,
    default: bool = True,
    variant: Mapping[str, Any] | None = None,
    fixes: Sequence[Mapping[str, Any]] = (),
    **more: Any,
) -> Path:
    """Write an entry with one variant and return its folder; ``more`` are further top-level keys.

    Args:
        registry: from :func:`make_registry`.
        id_: of the entry.
        diff: bytes of its diff; None: an advisory.
        distribution: whose files it changes.
        kind: containment, backport or advisory.
        revision: of the entry.
        default: whether a bare apply takes it.
        variant: keys that say for which builds; the default is any version without a label.
        fixes: tables of ``[[fix]]``, evidence included.
    """
    folder = registry / distribution / id_
    folder.mkdir(parents=True, exist_ok=True)
    top: dict[str, Any] = {"id": id_, "title": more.pop("title", f"title of {id_}"), "kind": kind, "severity": "crash"}
    top |= {"revision": revision, "default": default, "why": "why", "how": "how", "removal": "removal", **more}
    table: dict[str, Any] = {"distribution": distribution}
    if diff is not None:
        (folder / "fix.diff").write_bytes(diff)
        table |= {"diff": "fix.diff", "sha256": sha256_hex(diff)}
    table |= dict(variant or {"versions": ">=0"})
    text = "".join(f"{key} = {_value(value)}\n" for key, value in top.items())
    text += "\n[[variant]]\n" + "".join(f"{key} = {_value(value)}\n" for key, value in table.items())
    for fix in fixes:
        text += "\n[[fix]]\n" + "".join(f"{key} = {_value(value)}\n" for key, value in fix.items())
    (folder / "patch.toml").write_text(text)
    return folder


def _value(value: Any) -> str:
    """A TOML value: JSON's strings, numbers, booleans and arrays are TOML too; tables are written inline."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return json.dumps(value)
