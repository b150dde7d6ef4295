"""Fixtures that several test modules share."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.attacks import Tried, table
from tests.environments import install_wheel, make_environment, site_of
from tests.wheels import WheelUnavailableError, relabelled, slim_wheel

LONG = bool(os.environ.get("LONG_TESTS"))

TRIED = pytest.StashKey[list[Tried]]()
"""What became of the tests that perform an attack of ``docs/attacks.md``."""

TABLES = pytest.StashKey[list[str]]()
"""Lines that tests want to be seen at the end of a run, whatever became of the tests."""

# The suite tries the same examples every time, so that a red run can be repeated; a long run looks for new ones.
settings.register_profile("suite", derandomize=not LONG, deadline=None)
settings.load_profile("suite")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """A wheel that cannot be had is no failure of the project: skip, and say which."""
    return (yield from _skip_without_wheel())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """The same in the test itself."""
    return (yield from _skip_without_wheel())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember what became of an attack."""
    report = yield
    if report.when == "call" or not report.passed:
        reason = report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else None
        for mark in item.iter_markers("attack"):
            tried = Tried(attack=mark.args[0], test=item.nodeid, outcome=report.outcome, reason=reason)
            item.config.stash.setdefault(TRIED, []).append(tried)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the tables of the run, what became of each attack, and which scenarios ran and which were skipped and why.

    Output of passed tests is not shown, and a log without them proves nothing.
    """
    reports = [report for kind in terminalreporter.stats.values() for report in kind]
    scenarios = scenario_lines(report for report in reports if isinstance(report, pytest.TestReport))
    tried: list[Tried] = config.stash.get(TRIED, [])
    told = (("tables", config.stash.get(TABLES, [])), ("scenarios", list(scenarios)), ("attacks", list(table(tried))))
    for title, lines in told:
        if lines:
            terminalreporter.section(title)
            for line in lines:
                terminalreporter.write_line(line)


def _skip_without_wheel() -> Generator[None, object, object]:
    try:
        return (yield)
    except WheelUnavailableError as error:
        pytest.skip(str(error))


def scenario_lines(reports: Iterable[pytest.TestReport]) -> Iterator[str]:
    """Yield one line for each scenario (tests called ``test_cNN_...``): what passed and failed, why one was skipped."""
    counts: dict[str, dict[str, int]] = {}
    for report in reports:
        found = re.search(r"::test_c(\d\d)_", report.nodeid)
        if found is None or (report.when != "call" and report.passed):
            continue
        words: str = report.outcome
        if report.skipped and isinstance(report.longrepr, tuple):
            words += f" ({report.longrepr[2].removeprefix('Skipped: ')})"
        told = counts.setdefault(f"C{int(found[1])}", {})
        told[words] = told.get(words, 0) + 1
    for name in sorted(counts, key=lambda it: int(it[1:])):
        yield f"{name}: " + ", ".join(f"{number} {words}" for words, number in sorted(counts[name].items()))


@pytest.fixture
def installed(tmp_path: Path) -> Callable[..., Path]:
    """Install a real vLLM with pip into a venv of its own: ``installed("0.20.0", build=...)`` -> its site directory.

    With ``over`` the site of an earlier call: the new wheel is installed over it, as an upgrade.
    """
    count = 0

    def install(version: str, *, build: str | None = None, over: Path | None = None) -> Path:
        nonlocal count
        count += 1
        wheel = slim_wheel(version) if build is None else relabelled(version, build, tmp_path)
        if over is not None:
            root = over.parents[2]
            install_wheel(root, wheel)
            return site_of(root)
        return make_environment(tmp_path / f"venv{count}", wheel)

    return install
