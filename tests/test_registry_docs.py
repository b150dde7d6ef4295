"""The worked example of docs/registry.md is an entry that loads and does what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from patchctl.diff import parse_diff
from patchctl.match import locate, splice
from patchctl.model import sha256_hex
from patchctl.patch import Patch
from patchctl.registry import Registry, load_registry
from tests.running import patchctl

DOCUMENTATION = Path(__file__).parent.parent / "docs" / "registry.md"


def block(language: str) -> str:
    """The only fenced block of a language, without the indentation of its list item."""
    text = DOCUMENTATION.read_text(encoding="utf-8")
    (found,) = re.findall(rf"(?ms)^   ```{language}\n(.*?)^   ```$", text)
    return re.sub(r"(?m)^   ", "", found)


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    folder = tmp_path / "acme-server" / "acme-cache-mismatch"
    folder.mkdir(parents=True)
    (folder / "patch.toml").write_text(block("toml"), encoding="utf-8")
    (folder / "1.4.diff").write_bytes(block("diff").encode())
    (tmp_path / "registry.toml").write_text('format = 1\nname = "my-patches"\nrevision = 1\n')
    return load_registry([str(tmp_path)])


def only(registry: Registry) -> Patch:
    assert registry.problems == ()
    (patch,) = registry.entries
    return patch


def test_the_example_loads_and_its_digest_is_that_of_its_diff(registry: Registry) -> None:
    patch = only(registry)
    assert registry.read_diff(patch, patch.variants[0]) == block("diff").encode()
    assert patch.variants[0].sha256 == sha256_hex(block("diff").encode())


def test_lint_finds_nothing_in_the_example(registry: Registry) -> None:
    done = patchctl("lint", "--strict", "--registry", registry.roots[0].path)
    assert (done.code, done.out) == (0, "linted\tentries=1\tdiffs=1\terrors=0\twarnings=0\n")


def test_the_diff_of_the_example_turns_the_original_into_the_edit(registry: Registry) -> None:
    patch = only(registry)
    (diff,) = parse_diff(registry.read_diff(patch, patch.variants[0]), strip=patch.variants[0].strip)
    assert diff.path == "acme_server/cache.py"
    before = block("python").encode()
    match = locate(diff, before)
    assert match.exact
    after = splice(diff, before, match)
    assert after is not None
    scope: dict[str, Any] = {"__name__": "acme_server.cache"}
    exec(compile(after, diff.path, "exec"), scope)
    assert scope["fit"]([1], 3) == [1, 0, 0]
    assert scope["fit"]([1, 2, 3], 2) == [1, 2]
    assert scope["fit"]([1, 2], 2) == [1, 2]


def test_the_signal_of_the_example_reads_the_line_that_its_diff_writes(registry: Registry) -> None:
    signal = only(registry).signal
    assert signal is not None
    line = "cache mismatch: %d rows for %d places"
    assert line in block("diff")
    found = re.search(signal.log, line % (303, 327))
    assert found is not None
    assert found.groupdict() == {"rows": "303", "places": "327"}
