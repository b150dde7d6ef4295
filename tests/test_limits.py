"""Whatever has a size has a largest one: beyond it there is a sentence that says so, and nothing is read or written."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from patchctl import disk, documents
from patchctl.diff import names, source
from patchctl.diff.source import LARGEST_DIFF, LONGEST_LINE
from patchctl.evidence import nesting
from patchctl.evidence import source as evidence_source
from patchctl.evidence.nesting import LONGEST_CHAIN
from patchctl.evidence.source import SIZE_LIMIT
from patchctl.launch import yaml_text
from patchctl.ledger import codec
from patchctl.match import text
from patchctl.model import paths
from patchctl.patch import document, parse, patterns, rules, texts
from patchctl.patch.document import MAX_BYTES
from patchctl.registry import folder
from patchctl.target import conda, distributions, layout, reading, searching
from patchctl.transaction import journal, preflight
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, Done
from tests.sites import make_site, tree_state
from tests.test_docs import section, tables

MIB = 1 << 20
UNITS = {"KiB": 1 << 10, "MiB": MIB, "GiB": 1 << 30}
CODE = b"def f():\n    return 1\n\n\nA = 1\n"
CHANGED = CODE.replace(b"A = 1", b"A = 2")
DIFF = make_diff({"vllm/a.py": (CODE, CHANGED)})
INFO = "vllm-0.20.0.dist-info"
HOLDS = {"file": "vllm/b.py", "symbol": "f", "contains": "return 1"}
FAILS = HOLDS | {"contains": "return 2"}


def grow(path: Path, size: int) -> None:
    """Make a file larger without writing all of it."""
    os.truncate(path, size)


def fill(path: Path, size: int) -> None:
    """Make a file larger by bytes: one with a hole in it is refused for that."""
    with path.open("ab") as stream:
        stream.write(b"\n" * (size - stream.tell()))


def write_registry(where: Path, diff: bytes = DIFF, *, evidence: dict[str, str] = FAILS) -> Path:
    registry = make_registry(where / "registry")
    fixes = [{"ref": "a#1", "role": "fixes", "claimed": ">=9", "evidence": [evidence]}]
    add_entry(registry, "entry", diff, fixes=fixes)
    (registry / "vllm/entry/upstream.diff").write_bytes(make_diff({"vllm/b.py": (CODE, CHANGED)}))
    return registry


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    site = make_site(tmp_path, {"vllm/__init__.py": b"", "vllm/a.py": CODE, "vllm/b.py": CODE})
    return Desk(site=site, registry=write_registry(tmp_path))


def entry(desk: Desk) -> Path:
    assert desk.registry is not None
    return desk.registry / "vllm/entry"


def diff_of(desk: Desk, data: bytes) -> None:
    write_registry(desk.site.parent, data)


def too_large_diff(desk: Desk) -> None:
    grow(entry(desk) / "fix.diff", LARGEST_DIFF + 1)


def too_long_line(desk: Desk) -> None:
    diff_of(desk, DIFF.replace(b"+A = 2", b"+A = 2" + b" " * LONGEST_LINE))


def too_long_name(desk: Desk) -> None:
    diff_of(desk, DIFF.replace(b"vllm/a.py", b"vllm/" + b"a" * 20_000))


def too_large_entry(desk: Desk) -> None:
    with (entry(desk) / "patch.toml").open("ab") as stream:
        stream.write(b"#" * MAX_BYTES)


def enormous_entry(desk: Desk) -> None:
    grow(entry(desk) / "patch.toml", 17 * MIB)


def deep_entry(desk: Desk) -> None:
    with (entry(desk) / "patch.toml").open("ab") as stream:
        stream.write(b"x = " + b"[" * 1000 + b"]" * 1000 + b"\n")


def too_large_evidence_diff(desk: Desk) -> None:
    write_registry(desk.site.parent, evidence={"diff": "upstream.diff"})
    grow(entry(desk) / "upstream.diff", LARGEST_DIFF + 1)


def too_large_file(desk: Desk) -> None:
    grow(desk.site / "vllm/a.py", 64 * MIB + 1)


def too_large_record(desk: Desk) -> None:
    fill(desk.site / INFO / "RECORD", 64 * MIB + 1)


def too_large_metadata(desk: Desk) -> None:
    fill(desk.site / INFO / "METADATA", 16 * MIB + 1)


def state(desk: Desk, name: str, data: bytes, size: int | None = None) -> None:
    assert desk.run("apply", "entry").code == 0
    path = desk.site / ".patchctl" / name
    path.write_bytes(data)
    if size is not None:
        grow(path, size)


def too_large_ledger(desk: Desk) -> None:
    state(desk, "ledger.json", b"{}", 16 * MIB + 1)


def deep_ledger(desk: Desk) -> None:
    state(desk, "ledger.json", b"[" * 100_000)


def too_large_journal(desk: Desk) -> None:
    state(desk, "journal.json", b"{}", 16 * MIB + 1)


def deep_journal(desk: Desk) -> None:
    state(desk, "journal.json", b'{"a":' * 100_000)


def too_large_original(desk: Desk) -> None:
    assert desk.run("apply", "entry").code == 0
    for path in (desk.site / ".patchctl/objects").rglob("*"):
        if path.is_file():
            grow(path, 64 * MIB + 1)


REFUSED = [
    (too_large_diff, {3}, f"fix.diff of entry cannot be read: is larger than {LARGEST_DIFF} bytes"),
    (too_long_line, {3}, f"at most {LONGEST_LINE} are read"),
    (too_long_name, {3}, "the name in a header line is too long"),
    (too_large_entry, {3}, f"the file is larger than {MAX_BYTES} bytes"),
    (enormous_entry, {3}, "is larger than"),
    (deep_entry, {3}, "nest deeper than 16"),
    (too_large_evidence_diff, {3}, f"upstream.diff: is larger than {LARGEST_DIFF} bytes"),
    (too_large_file, {1}, f"vllm/a.py: is larger than {64 * MIB} bytes"),
    (too_large_record, {3}, f"RECORD is larger than {64 * MIB} bytes"),
    (too_large_metadata, {3}, f"METADATA is larger than {16 * MIB} bytes"),
    (too_large_ledger, {3}, f"is larger than {16 * MIB} bytes"),
    (deep_ledger, {3}, "is nested too deeply"),
    (too_large_journal, {3, 4}, f"is larger than {16 * MIB} bytes"),
    (deep_journal, {3, 4}, "is nested too deeply"),
    (too_large_original, {1}, "is missing or damaged"),
]


@pytest.mark.parametrize(("break_it", "codes", "message"), REFUSED, ids=[row[0].__name__ for row in REFUSED])
def test_what_is_too_large_is_refused_with_a_sentence(
    desk: Desk, break_it: Callable[[Desk], None], codes: set[int], message: str
) -> None:
    break_it(desk)
    before = tree_state(desk.site.parent)
    for verb in (("apply", "entry"), ("check",)):
        done = desk.run(*verb)
        assert done.code in codes, (verb, done)
        assert message in done.err + done.out, (verb, done)
    assert tree_state(desk.site.parent) == before


def evidence_reason(done: Done) -> tuple[str, str]:
    (fix,) = done.patch("entry")["fixes"]
    return fix["status"], str(done.patch("entry"))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (CODE + b"#" * SIZE_LIMIT, f"larger than {SIZE_LIMIT} bytes"),
        (CODE + b"x = a" + b".b()" * 100_000 + b"\n", f"longer than {LONGEST_CHAIN} characters"),
        (b"# coding: unicode_escape\n" + CODE + b"'\\d'\n", "no encoding of Python source"),
        (b"# coding: zlib\n" + CODE, "cannot be decoded"),
    ],
    ids=["too large", "too deep", "escapes", "compressed"],
)
def test_a_module_that_cannot_be_judged_proves_nothing(desk: Desk, data: bytes, reason: str) -> None:
    write_registry(desk.site.parent, evidence=HOLDS)
    before = evidence_reason(desk.json("status"))
    (desk.site / "vllm/b.py").write_bytes(data)
    after, told = evidence_reason(desk.json("status"))
    assert (before[0], after) == ("proven", "unknown")
    assert reason in told


def default_of(function: Any, parameter: str) -> int:
    found: int = inspect.signature(function).parameters[parameter].default
    return found


def test_the_limits_that_the_page_tells_are_those_of_the_code() -> None:
    (rows,) = tables(section("docs/limits.md", "Limits"))
    told = {what: int(most.split()[0].replace(",", "")) * UNITS.get(most.split()[-1], 1) for what, most, _ in rows}
    assert told == {
        "a diff of the registry": source.LARGEST_DIFF,
        "an evidence diff": folder.MAX_DIFF_BYTES,
        "a line of a diff": source.LONGEST_LINE,
        "a line of a diff with names": names.LONGEST_HEADER,
        "a path": paths.LONGEST_PATH,
        "a component of a path": paths.LONGEST_COMPONENT,
        "`patch.toml`, `registry.toml`": document.MAX_BYTES,
        "tables and arrays within each other": document.MAX_DEPTH,
        "variants of an entry": parse._MAX_VARIANTS,
        "globs of a variant's label": rules._MAX_GLOBS,
        "parts of a symbol": texts._MAX_PARTS,
        "a regular expression": patterns.LONGEST_PATTERN,
        "a file that is read or patched": default_of(disk.read_below, "limit"),
        "RECORD": distributions.LARGEST_RECORD,
        "METADATA and other notes of an installer": default_of(reading.read_metadata, "limit"),
        "a record of conda": conda.LARGEST_DOCUMENT,
        "records of one `conda-meta` that are searched": conda.MOST_DOCUMENTS,
        "`pyvenv.cfg`": layout._LARGEST_CFG,
        "a file to be hashed of which the disk holds less than a 64th": disk.reading._LARGE,
        "the ledger": codec.SIZE_LIMIT,
        "the journal": journal._SIZE_LIMIT,
        "a module that evidence is judged in": evidence_source.SIZE_LIMIT,
        "an expression in such a module": nesting.LONGEST_CHAIN,
        "a module that is searched for code that moved": searching.LARGEST_SEARCHED,
        "lists and objects within each other, in any JSON": documents.DEPTH,
        "lists and objects in one JSON document": documents.json._MOST_OPENED,
        "digits of an integer, in any JSON or YAML": documents.values.LONGEST_NUMBER,
        "a YAML file of launches": yaml_text.LARGEST,
        "lists and mappings within each other in it, aliases followed": documents.yaml.DEPTH,
        "values in it, aliases followed": documents.yaml._MOST_VALUES,
        "lines named for a hunk that fits several places": text.LISTED,
    }
    assert default_of(disk.read_below, "limit") == preflight._LARGEST
    assert folder.MAX_DIFF_BYTES == source.LARGEST_DIFF
