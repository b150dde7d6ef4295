"""The end of a test run lists the scenarios; nobody need count dots."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from tests.conftest import scenario_lines


def report(name: str, outcome: Literal["passed", "failed", "skipped"], when: str = "call", why: Any = None) -> Any:
    return pytest.TestReport(
        nodeid=f"tests/x.py::{name}",
        location=("tests/x.py", 1, name),
        keywords={},
        outcome=outcome,
        longrepr=why,
        when=when,  # type: ignore[arg-type]
    )


def test_each_scenario_is_listed_once_with_what_ran_and_why_something_did_not() -> None:
    reports = [
        report("test_c10_one[a]", "passed"),
        report("test_c10_one[a]", "passed", "setup"),
        report("test_c10_two", "failed"),
        report("test_c02_links", "skipped", "setup", ("x.py", 3, "Skipped: no uv")),
        report("test_something_else", "passed"),
    ]
    assert list(scenario_lines(reports)) == ["C2: 1 skipped (no uv)", "C10: 1 failed, 1 passed"]
