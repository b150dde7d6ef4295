"""Every row of the table of attacks is tried by a test, and what the run prints of it is true."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.attacks import Tried, attacks, outcome, table

TESTS = Path(__file__).parent


def marked() -> Iterator[tuple[str, str]]:
    """Yield (name of the attack, where it is marked) of every ``pytest.mark.attack(...)`` in the tests."""
    for path in sorted(TESTS.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.attack":
                (argument,) = node.args
                assert isinstance(argument, ast.Constant)
                yield str(argument.value), f"{path.relative_to(TESTS)}:{node.lineno}"


def test_every_attack_has_a_test_and_every_test_an_attack() -> None:
    rows = [row.id for row in attacks()]
    assert len(rows) == len(set(rows)) > 20
    assert {name for name, _ in marked()} == set(rows)


def test_the_page_has_no_row_that_is_read_otherwise() -> None:
    lines = [line for line in (TESTS.parent / "docs/attacks.md").read_text().splitlines() if line.startswith("| `")]
    assert [f"| `{row.id}` | {row.attack} | {row.rule} |" for row in attacks()] == lines


def test_one_failure_is_an_attack_that_was_not_held() -> None:
    tried = [
        Tried("links", "tests/test_x.py::test_y[1]", "passed"),
        Tried("links", "tests/test_x.py::test_z", "failed"),
    ]
    assert outcome(tried) == "NOT HELD: 1 failed"


def test_what_was_skipped_is_told_with_its_reason() -> None:
    skipped = Tried("links", "tests/test_x.py::test_y[2]", "skipped", "no unshare(1) here")
    assert outcome([skipped]) == "NOT TRIED; 1 not tried here (no unshare(1) here)"
    passed = Tried("links", "tests/test_x.py::test_y[1]", "passed")
    assert outcome([passed, skipped]) == "held in 1 cases; 1 not tried here (no unshare(1) here)"
    assert list(table([passed, skipped]))[-1].strip() == "test_x.py::test_y (2)"
