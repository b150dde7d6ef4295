"""Properties of stacks of entries on miniature sites: order of revert, folding, and the recorded originals."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, tree
from tests.sites import make_site

LONG = bool(os.environ.get("LONG_TESTS"))
FILES = ("vllm/one.py", "vllm/two.py")
BASE = b"".join(b"line_%d = 0\n" % number for number in range(80))


def changed(line: int, name: str) -> bytes:
    return BASE.replace(b"line_%d = 0\n" % line, b"line_%d = '%s'\n" % (line, name.encode()))


@st.composite
def stacks(draw: st.DrawFn) -> list[tuple[str, dict[str, int]]]:
    """Entries that change lines far from each other, each in one or both files."""
    lines = draw(st.permutations(range(5, 76, 10)))
    count = draw(st.integers(2, 4))
    entries = []
    for number in range(count):
        files = draw(st.sets(st.sampled_from(FILES), min_size=1))
        entries.append((f"entry-{number}", {path: lines[2 * number + FILES.index(path)] for path in files}))
    return entries


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(stack=stacks(), data=st.data())
def test_any_order_of_revert_over_a_stack_returns_the_base(
    stack: list[tuple[str, dict[str, int]]], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        where = Path(scratch)
        site = make_site(where, dict.fromkeys(FILES, BASE))
        registry = make_registry(where / "registry")
        for id_, lines in stack:
            add_entry(registry, id_, make_diff({path: (BASE, changed(line, id_)) for path, line in lines.items()}))
        desk, before = Desk(site=site, registry=registry), tree(site)
        for id_ in data.draw(st.permutations([id_ for id_, _ in stack])):
            assert desk.run("apply", id_).code == 0
        left = dict(stack)
        for id_ in data.draw(st.permutations(list(left))):
            assert desk.run("revert", id_).code == 0
            del left[id_]
            for path in FILES:
                expected = BASE
                for other, lines in left.items():
                    if path in lines:
                        line = lines[path]
                        expected = expected.replace(
                            b"line_%d = 0\n" % line, b"line_%d = '%s'\n" % (line, other.encode())
                        )
                assert (site / path).read_bytes() == expected
        assert tree(site) == before


def test_apply_and_revert_within_one_second_never_leave_stale_byte_code(tmp_path: Path) -> None:
    """Same size, and by default the same whole second: only a new time and purged byte code tell them apart."""
    import subprocess
    import sys

    base = b"value = 'a'\n" + BASE
    patched = base.replace(b"'a'", b"'b'")
    site = make_site(tmp_path, {"vllm/one.py": base, "vllm/__init__.py": b""})
    registry = make_registry(tmp_path / "registry")
    add_entry(registry, "same-size", make_diff({"vllm/one.py": (base, patched)}))
    desk = Desk(site=site, registry=registry)
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}

    def imported() -> str:
        code = "import vllm.one; print(vllm.one.value)"
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=site, env=environ, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    assert imported() == "a"
    for _ in range(3):
        desk.run("apply")
        assert imported() == "b"
        desk.run("revert", "--all")
        assert imported() == "a"
    assert (site / "vllm" / "__pycache__").is_dir()


SLOTS: dict[str, Callable[[bytes, bytes], list[bytes]]] = {
    "change": lambda line, word: [b"changed by %s\n" % word],
    "drop": lambda line, word: [],
    "put": lambda line, word: [line, *(b"put %d by %s\n" % (number, word) for number in range(4))],
    "shrink": lambda line, word: [line[:3] + b"\n"],
}
"""What an entry does to the one line that is its own."""


def with_entries(rows: list[bytes], edits: dict[int, tuple[str, str]]) -> bytes:
    """``rows`` with some lines edited: line -> (kind, id)."""
    return b"".join(
        part
        for at, row in enumerate(rows)
        for part in (SLOTS[edits[at][0]](row, edits[at][1].encode()) if at in edits else [row])
    )


@settings(max_examples=400 if LONG else 8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    kinds=st.lists(st.sampled_from(sorted(SLOTS)), min_size=2, max_size=4),
    extras=st.lists(st.sampled_from(["", "add", "delete"]), min_size=4, max_size=4),
    above=st.integers(0, 12),
    data=st.data(),
)
def test_any_order_of_revert_over_entries_that_move_each_others_lines_returns_the_base(
    kinds: list[str], extras: list[str], above: int, data: st.DataObject
) -> None:
    """The site's file has lines on top that the diffs do not know, so that everything goes in by an offset."""
    rows = [b"line_%d = 0\n" % number for number in range(50)]
    drift = b"".join(b"# drift %d\n" % number for number in range(above))
    own = {f"entry-{number}": (10 * number + 8, kind, extras[number]) for number, kind in enumerate(kinds)}
    start = {FILES[0]: drift + b"".join(rows), FILES[1]: BASE}
    start |= {f"vllm/{id_}.py": b"its own\n" for id_, (_, _, extra) in own.items() if extra == "delete"}
    with tempfile.TemporaryDirectory() as scratch:
        site = make_site(Path(scratch), start)
        registry = make_registry(Path(scratch) / "registry")
        for id_, (line, kind, extra) in own.items():
            changes: dict[str, tuple[bytes | None, bytes | None]] = {
                FILES[0]: (b"".join(rows), with_entries(rows, {line: (kind, id_)}))
            }
            if extra:
                sides = (None, b"its own\n") if extra == "add" else (b"its own\n", None)
                changes[f"vllm/{id_}.py"] = sides
            add_entry(registry, id_, make_diff(changes))
        desk, before = Desk(site=site, registry=registry), tree(site)
        left: set[str] = set()
        order = [*data.draw(st.permutations(sorted(own))), *data.draw(st.permutations(sorted(own)))]
        for id_ in order:
            verb = "revert" if id_ in left else "apply"
            assert desk.run(verb, id_).code == 0
            left ^= {id_}
            edits = {own[other][0]: (own[other][1], other) for other in left}
            assert (site / FILES[0]).read_bytes() == drift + with_entries(rows, edits)
            for other, (_, _, extra) in own.items():
                if extra:
                    assert (site / f"vllm/{other}.py").exists() is ((extra == "add") is (other in left))
        assert tree(site) == before
