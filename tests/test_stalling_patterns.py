"""A registry whose patterns backtrack for hours: every verb answers, names the pattern, and calls nothing proven."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from patchctl.commands.signal_search import SignalSearch
from patchctl.lint.stalling import stalling_findings
from patchctl.patch import Kind, Patch, Severity, Signal
from patchctl.patch.patterns import pattern_problem
from patchctl.processes import Searcher
from patchctl.signals import Watch
from tests.log_lines import hit
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Done
from tests.sites import make_site, tree_state

pytestmark = [pytest.mark.attack("regex-stall")]

PATH = "vllm/engine.py"
BASE = b"x = '" + b"a" * 60 + b"'\na = 1\nb = 2\nc = 3\n"
AFTER = BASE.replace(b"b = 2", b"b = 3")
STALLING = "(a+)+0$"
MANY = 40
"""Patterns that would take 0.5 s each, if each had its own deadline and nothing else."""


ENOUGH = 7.5
"""Seconds of the processor, however busy it is: 3 for all patterns together, as much again for everything else."""


def evidence(pattern: str, number: int = 0) -> dict[str, object]:
    return {"ref": f"up#{number}", "role": "fixes", "claimed": ">=0", "evidence": [{"file": PATH, "matches": pattern}]}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site, and a registry with one good entry and a hostile one."""
    where = tmp_path_factory.mktemp("stalling")
    make_site(where, {PATH: BASE}, build="0.25.1")
    registry = make_registry(where / "registry")
    diff = make_diff({PATH: (BASE, AFTER)})
    add_entry(registry, "good", diff, fixes=[evidence(r"b = [3-9]")])
    fixes = [evidence(f"(a+)+{number}$", number) for number in range(MANY)]
    add_entry(registry, "hostile", None, kind="advisory", fixes=fixes, avoid=[{"args": ["--enforce-eager"]}])
    return where


def run(place: Path, *arguments: str, timeout: float = 45.0, most: float = ENOUGH) -> Done:
    """Run the command line as a process of its own: one that does not come back is a failure.

    So is one that lets patterns go on behind their deadline, which they spend calculating.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "patchctl", *arguments, "--registry", str(place / "registry")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime - before.ru_utime < most, "its processes calculated for longer than all patterns may take"
    return Done(code=done.returncode, out=done.stdout, err=done.stderr)


class TestEvidence:
    @pytest.mark.parametrize(
        ("arguments", "code"),
        [(("check",), 1), (("status", "-v", "--json"), 0)],
    )
    def test_is_unknown_and_the_pattern_is_named(self, place: Path, arguments: tuple[str, ...], code: int) -> None:
        site = next(place.rglob("vllm/engine.py")).parent.parent
        before = tree_state(site)
        done = run(place, *arguments, "--site", str(site))
        assert (done.code, STALLING in done.out + done.err) == (code, True)
        assert "proven" not in done.out
        assert tree_state(site) == before
        if "--json" in arguments:
            assert {fix["status"] for fix in done.patch("hostile")["fixes"]} == {"unknown"}
            assert done.patch("good")["verdict"] == "applicable"
            (told,) = (it for it in done.document["warnings"] if it["code"] == "slow-pattern")
            assert (told["patch"], told["message"].count("(a+)+")) == ("hostile", 3)

    def test_lint_warns_of_every_pattern_at_its_line(self, tmp_path: Path) -> None:
        registry = make_registry(tmp_path / "registry")
        fixes = [evidence(f"(a+)+{number}$", number) for number in range(4)]
        add_entry(registry, "hostile", make_diff({PATH: (BASE, AFTER)}), fixes=fixes)
        done = run(tmp_path, "lint", "--json")
        slow = [it for it in done.document["lint"]["findings"] if it["code"] == "slow-pattern"]
        assert len({it["line"] for it in slow}) == len(slow) == 4
        assert all(it["severity"] == "warning" and "hostile" in it["path"] for it in slow)


class TestReadingARegistry:
    """Every verb reads all of it, so that nothing may be compiled or searched there."""

    @pytest.mark.parametrize(
        "pattern",
        [
            "(?i)" + r"[\x00-\uffff]" * 140,
            r"(?:(?:(?:a?){65535}){65535}){65535}(?=x)",
            r"(?:(?:(?:){9999}){9999}){9999}x",
        ],
    )
    def test_takes_no_time_whatever_the_patterns(self, tmp_path: Path, pattern: str) -> None:
        registry = make_registry(tmp_path / "registry")
        fixes = [evidence(pattern, number) for number in range(100)]
        add_entry(registry, "one", None, kind="advisory", fixes=fixes, avoid=[{"args": ["--enforce-eager"]}])
        done = run(tmp_path, "list", "--json")
        assert (done.code, done.document["errors"]) == (0, [])

    @given(st.text(alphabet=list(r"ab.*+?|()[]{}^$\,0123:=!<>Pndws-\n"), max_size=12))
    @example("(?<=a+)b")
    @example("(?:(a)|b)*")
    @example("[[a]")
    @example("a{2,1}")
    @example("x" * 2001)
    @example("(" * 90 + "a" + ")" * 90)
    def test_finds_the_same_problems_as_compiling(self, pattern: str) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                sound, empty = True, re.compile(pattern).search("") is not None
        except (re.error, Warning, OverflowError, RecursionError):
            sound, empty = False, False
        problem = pattern_problem(pattern)
        if not sound or len(pattern) > 2000:
            assert problem is not None
        elif "\\" not in pattern:  # a reference to a group that took no part is taken for empty
            assert (problem is not None) is empty


class TestLint:
    @pytest.mark.parametrize(
        ("pattern", "stalls"),
        [
            ("(a+)+$", True),
            ("(a|aa)+b", True),
            ("(.*)*x", True),
            ("(a+?)+?$", True),
            ("(a{1,5000}){1,5000}b", True),
            (r"x=(\w+\s*)+:", True),
            (r"(?i)(?P<n>[^\W\d]+_?)+\.", True),
            (r"\s*\w*\s*\w*\s*\w*!\Z", True),
            (r"done\s*=\s*True", False),
            (r"mm placeholder: (?P<kind>pad|cut) (?P<n>\d+) to (?P<m>\d+) placeholders", False),
            (r"set_exception\(\w+(?:, \w+)*\)", False),
            (r"^[a-z]{65535}", False),
            (r"(?:ab){3}[^\n]*c", False),
        ],
    )
    def test_tries_a_pattern_on_texts_made_from_it(self, pattern: str, stalls: bool) -> None:
        patch = Patch(
            id="x",
            title="x",
            kind=Kind.ADVISORY,
            severity=Severity.CRASH,
            revision=1,
            default=False,
            why="",
            how="",
            removal="",
            variants=(),
            signal=Signal(log=pattern),
        )
        with Searcher(deadline=0.3, budget=None) as searcher:
            found = [finding.code for finding in stalling_findings(patch, searcher.search)]
        assert found == ["slow-pattern"] * stalls

    def test_makes_no_text_that_grows_with_the_nesting(self, tmp_path: Path) -> None:
        registry = make_registry(tmp_path / "registry")
        pattern = "(?:" * 80 + "ab" + "){20,}" * 80
        add_entry(
            registry, "one", None, kind="advisory", avoid=[{"args": ["--enforce-eager"]}], signal={"log": pattern}
        )
        assert "Traceback" not in run(tmp_path, "lint", timeout=90).err


class TestSignals:
    def test_that_stall_are_told_and_the_rest_of_the_log_is_counted(self, place: Path, tmp_path: Path) -> None:
        registry = make_registry(tmp_path / "registry")
        for name, pattern in (("slow", "slow (a+)+b"), ("good", "fine (?P<kind>[a-z]+)")):
            avoid = [{"args": ["--enforce-eager"]}]
            add_entry(registry, name, None, kind="advisory", avoid=avoid, signal={"log": pattern})
        log = tmp_path / "a.log"
        slow, fine = hit(message=b"slow " + b"a" * 60), hit(message=b"fine x", file="b.py")
        log.write_bytes((slow + hit(message=b"slow aab") + fine) * 500)
        done = run(tmp_path, "hits", "--all", str(log), "--json")
        assert done.code == 3
        (told,) = done.document["errors"]
        assert (told["code"], told["patch"], "'slow (a+)+b'" in told["message"]) == ("slow-signal", "slow", True)
        entries = {entry["id"]: entry for entry in done.document["hits"]["entries"]}
        assert (entries["good"]["lines"], entries["good"]["complete"]) == (500, True)
        assert entries["slow"]["complete"] is False
        assert entries["slow"]["lines"] + entries["slow"]["passed_over"][0]["lines"] == 1000
        assert "at least " in run(tmp_path, "hits", "--all", str(log), "--html").out

    def test_a_pattern_that_stays_below_the_deadline_has_a_budget_over_all_lines(self) -> None:
        """0.1 s a line, as long as the log is: without a budget, a million lines would take a day."""
        search, pattern = SignalSearch(), "(a+)+b"
        watch = Watch(id="x", title="", pattern=pattern, literal=b"")
        length = next(size for size in range(14, 40) if _seconds(pattern, "a" * size) > 0.03)
        try:
            answers = [search(pattern, "a" * length + f"c{number}")[0] for number in range(20_000)]
        finally:
            search.close()
        assert answers[0] is True
        assert answers[-1] is False
        (told,) = search.problems([watch])
        assert (told.patch, pattern in told.message) == ("x", True)


def _seconds(pattern: str, text: str) -> float:
    with Searcher(deadline=2.0) as searcher:
        searcher.match(pattern, text)
        return searcher.seconds_of(pattern)


@pytest.mark.parametrize("glob", ["*a" * 30 + "b", "?" * 60 + "*" * 60 + "b", "[a*" * 30, "*" * 5000 + "b"])
def test_globs_of_a_trigger_do_not_backtrack(tmp_path: Path, glob: str) -> None:
    site = make_site(tmp_path, {PATH: BASE}, build="0.25.1")
    registry = make_registry(tmp_path / "registry")
    folder = add_entry(registry, "one", None, kind="advisory", avoid=[{"args": ["--enforce-eager"]}])
    with (folder / "patch.toml").open("a") as file:
        file.write(f'\n[[trigger]]\nmodel = ["{glob}"]\nargs = {{"--served-model-name" = ["{glob}"]}}\n')
    name = "a" * 5000
    done = run(tmp_path, "advise", "--site", str(site), "--", "vllm", "serve", name, "--served-model-name", name)
    assert done.code in {0, 1}
