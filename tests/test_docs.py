"""The pages say what the code says: links, verbs, options, exit codes, words, rooms, paths, commands."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
import typer

import patchctl
from patchctl.build import MatchRule
from patchctl.cli import settings
from patchctl.cli.app import app
from patchctl.cli.runner import EXIT_CODES
from patchctl.commands.forecast import Fate, Protection
from patchctl.evidence import FixStatus, ItemStatus
from patchctl.verdict import Action, Need, Verdict
from patchctl.verdict.attribution import FileState
from tests.test_layers import LINES

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SHELL = ROOT / "patchctl" / "commands"
PAGES = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in [ROOT / "README.md", *DOCS.rglob("*.md")]}
EXAMINING = ("verify", "doctor", "lint")
EVERY_VERB = "Options of every verb"
SET_UP = 'python3 -m venv .venv && .venv/bin/pip install -e ".[dev]" && .venv/bin/python -m '


def section(page: str, title: str) -> str:
    """Return the text below a heading, up to the next one of any level."""
    pattern = rf"^#+ {re.escape(title)}\n(.*?)(?=^#+ |\Z)"
    found = re.search(pattern, PAGES[page], re.MULTILINE | re.DOTALL)
    assert found is not None, f"{page} has no section {title!r}"
    return found[1]


def page_of(verb: str) -> str:
    return PAGES[f"docs/commands/{verb}.md"]


def tables(text: str) -> Iterator[list[list[str]]]:
    """Every table as rows of cells, without its head."""
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        rows = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in block.strip().split("\n")]
        yield rows[2:]


def first_column(text: str) -> list[str]:
    return [row[0].strip() for table in tables(text) for row in table]


def code_words(text: str) -> set[str]:
    return set(re.findall(r"`([^`\n]+)`", text))


def shell_lines(text: str) -> Iterator[str]:
    """Every line in a code block, and every piece of inline code, that calls patchctl."""
    for line in [*re.findall(r"^ {4}(.*)$", text, re.MULTILINE), *re.findall(r"`([^`\n]+)`", text)]:
        for command in re.split(r"\s*(?:&&|\||;|#)\s*", line):
            words = command.removeprefix("sudo -u OWNER ")
            if words.startswith("patchctl "):
                yield words


def plain_records() -> set[str]:
    """Return the kinds of record that are written: the first field, also where a loop names it."""
    folder = ROOT / "patchctl" / "render"
    source = (folder / "plain.py").read_text("utf-8")
    found = set()
    for verb in EXAMINING:
        # What these verbs found comes as fields, which ``plain`` makes records of.
        fields = (folder / f"{verb}.py").read_text("utf-8").partition("_records(")[2]
        found |= set(re.findall(r'yield "([a-z]+)", ', fields.partition("\ndef ")[0]))
    for name in (
        "plain",
        "history",
        "ps",
        "advise",
        "matrix",
        "departures",
        "preflight",
        "lock",
        "publication",
        "hits/records",
    ):
        found |= set(re.findall(r'yield \(?\s*"([a-z]+)",', (folder / f"{name}.py").read_text("utf-8")))
    found |= set(re.findall(r'_record\(\s*"([a-z]+)"', source)) | set(re.findall(r'f"([a-z]+)\\t', source))
    for names in re.findall(r"for \w+ in \(([^)]*)\):", source):
        found |= {name.replace("_", "-") for name in re.findall(r'"([a-z_]+)"', names)}
    return found


def verbs() -> dict[str, Any]:
    found: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    return found


def options_of(command: Any) -> set[str]:
    named = {name for parameter in command.params for name in parameter.opts if name.startswith("-")}
    return named | {"-h", "--help"}


def options_in(text: str) -> set[str]:
    """Return the options that the first columns of a section's tables name."""
    return {word.split()[0] for cell in first_column(text) for word in code_words(cell) if word.startswith("-")}


COMMON = set.intersection(*(options_of(command) for command in verbs().values())) - {"--wait", "--dry-run"}


class TestLinks:
    @pytest.mark.parametrize("page", PAGES)
    def test_lead_somewhere_inside_the_checkout(self, page: str) -> None:
        here = (ROOT / page).parent
        broken = []
        for target in re.findall(r"\]\(([^)\s]+)\)", PAGES[page]):
            if re.match(r"https?://", target):
                continue
            path, _, anchor = target.partition("#")
            file = (here / path).resolve() if path else ROOT / page
            resolves = file.is_relative_to(ROOT) and file.exists()
            if not resolves or (anchor and anchor not in anchors(file)):
                broken.append(target)
        assert broken == []

    def test_reach_every_page_and_schema(self) -> None:
        reached = {ROOT / "README.md"}
        for page, text in PAGES.items():
            for target in re.findall(r"\]\(([^)#\s]+)", text):
                file = ((ROOT / page).parent / target).resolve()
                reached |= set(file.glob("*.md")) if file.is_dir() else {file}
        everything = {path.resolve() for path in [*DOCS.rglob("*.md"), *DOCS.rglob("*.json")]}
        assert everything - reached == set()


class TestCommandLine:
    def test_every_verb_has_its_page_and_every_page_its_verb(self) -> None:
        pages = {path.stem: path.read_text("utf-8") for path in (DOCS / "commands").iterdir()}
        assert sorted(pages) == sorted(verbs())
        for verb, page in pages.items():
            assert page.startswith(f"# {verb}\n\n    patchctl {verb}"), verb

    def test_the_tables_of_verbs_say_what_the_help_says(self) -> None:
        (reading,), (writing,) = (
            tables(section("docs/cli.md", title)) for title in ("Verbs that read", "Verbs that write")
        )
        told = [(re.findall(r"^\[`(\w+)`\]\(commands/\1\.md\)$", row[0])[0], row[1]) for row in [*reading, *writing]]
        assert sorted(told) == sorted((verb, command.short_help) for verb, command in verbs().items())

    @pytest.mark.parametrize("verb", verbs())
    def test_the_page_of_a_verb_has_its_options_and_no_others(self, verb: str) -> None:
        assert options_in(page_of(verb)) == options_of(verbs()[verb]) - COMMON

    def test_the_options_of_every_verb_are_told_once(self) -> None:
        assert options_in(section("docs/cli.md", EVERY_VERB)) == COMMON

    def test_the_options_without_a_verb_are_told(self) -> None:
        told = {word for word in code_words(section("docs/cli.md", EVERY_VERB)) if word.startswith("-")}
        assert options_of(typer.main.get_command(app)) <= told

    @pytest.mark.parametrize("page", PAGES)
    def test_every_command_shown_exists(self, page: str) -> None:
        wrong = []
        for line in shell_lines(PAGES[page]):
            _, verb, *rest = line.split()
            rest = rest[: rest.index("--")] if "--" in rest else rest  # what follows is another command's
            if verb in {"VERB", "...", "--version", "--help"}:
                continue
            known = options_of(verbs()[verb]) if verb in verbs() else set()
            if verb not in verbs() or not {word for word in rest if word.startswith("-") and word != "-"} <= known:
                wrong.append(line)
        assert wrong == []

    def test_the_exit_codes_are_those_of_the_code(self) -> None:
        codes = sorted(EXIT_CODES.values())
        assert [int(cell) for cell in first_column(section("docs/cli.md", "Exit codes"))] == codes
        (line,) = re.findall(r"^Exit codes: [^.]*\.", PAGES["README.md"], re.MULTILINE)
        assert [int(number) for number in re.findall(r"\d+", line)] == codes
        assert [int(number) for number in re.findall(r"\d+", str(app.info.epilog))] == codes

    def test_the_variables_are_those_of_the_code(self) -> None:
        told = {
            word for cell in first_column(section("docs/cli.md", "Environment variables")) for word in code_words(cell)
        }
        assert {word for word in told if word.startswith("PATCHCTL_")} == set(settings._PLACES)


class TestWords:
    @pytest.mark.parametrize(
        ("title", "kinds"),
        [
            ("Match", [MatchRule]),
            ("Verdict", [Verdict]),
            ("Fix", [ItemStatus, FixStatus]),
            ("Need", [Need]),
            ("Action", [Action]),
        ],
    )
    def test_of_a_fact_are_in_its_table_and_no_others(self, title: str, kinds: Iterable[type[Enum]]) -> None:
        for rows, kind in zip(tables(section("docs/architecture.md", title)), kinds, strict=True):
            assert {row[0].strip("`") for row in rows} == {word.value for word in kind}

    def test_of_forecasts_are_in_the_tables_of_preflight(self) -> None:
        told = [[word for row in rows for word in code_words(row[0])] for rows in tables(page_of("preflight"))]
        assert told[0] == [fate.value for fate in Fate]
        assert told[1] == [protection.value for protection in Protection]

    def test_of_files_are_in_the_table_of_verify(self) -> None:
        (states, *_) = tables(page_of("verify"))
        assert {row[0].strip("`") for row in states} == {state.value for state in FileState}

    def test_of_findings_are_in_the_table_of_the_doctor(self) -> None:
        (findings, *_) = tables(page_of("doctor"))
        told = {word for row in findings for word in code_words(row[0])}
        made: set[str] = set()
        for name in ("examine_install", "examine_state"):
            source = (SHELL / f"{name}.py").read_text("utf-8")
            made |= set(re.findall(r'Finding\(\s*"([a-z-]+)"', source))
            made |= {word for pair in re.findall(r'code = "([a-z-]+)" if .* else "([a-z-]+)"', source) for word in pair}
        assert told == made

    def test_of_lint_are_in_its_table_with_their_severity(self) -> None:
        (rows,) = tables(section("docs/registry.md", "Lint"))
        told = {(word, row[1]) for row in rows for word in code_words(row[0])}
        made = set()
        for path in (ROOT / "patchctl" / "lint").glob("*.py"):
            if path.name == "claims.py":
                continue
            calls = re.findall(
                r'\b(error|warning|_at|_said)\(\s*(?:\w+(?:\[0\])?, )?"([a-z-]+)"', path.read_text("utf-8")
            )
            made |= {(code, "error" if kind == "error" else "warning") for kind, code in calls}
        assert told == made

    def test_of_lint_on_trees_are_in_its_table(self) -> None:
        (rows,) = tables(section("docs/registry.md", "Lint on real trees"))
        told = {word for row in rows for word in code_words(row[0])}
        source = (ROOT / "patchctl" / "lint" / "claims.py").read_text("utf-8")
        assert told == set(re.findall(r'(?:\b(?:error|warning)\(\s*|code=)"([a-z-]+)"', source))

    def test_of_every_action_say_what_to_do(self) -> None:
        told = {word for cell in first_column(page_of("status")) for word in code_words(cell)}
        assert {word for word in told if not word.startswith("-")} == {action.value for action in Action}

    def test_of_warnings_are_those_of_the_code(self) -> None:
        told = {word for cell in first_column(section("docs/cli.md", "Codes of warnings")) for word in code_words(cell)}
        made = set()
        for name in (
            "warnings",
            "change",
            "aftermath",
            "advise",
            "ps",
            "describe",
            "../ledger/history",
            "../logs/naming",
        ):
            made |= set(re.findall(r'\bcode="([a-z-]+)"', (SHELL / f"{name}.py").read_text("utf-8")))
        assert told == made

    def test_of_plain_records_are_those_of_the_code(self) -> None:
        told = {word for cell in first_column(section("docs/cli.md", "Through a pipe")) for word in code_words(cell)}
        assert told == plain_records()

    def test_that_are_codes_are_in_the_code(self) -> None:
        told = {word for cell in first_column(section("docs/json.md", "Codes")) for word in code_words(cell)}
        known = {f"needs-{action.value}" for action in Action}
        for path in Path(patchctl.__file__).parent.rglob("*.py"):
            tree = ast.parse(path.read_bytes())
            known |= {
                node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
            }
        assert told - known == set()


class TestTheHouse:
    def test_has_the_rooms_and_lines_that_the_layer_test_holds(self) -> None:
        (rows,) = tables(section("docs/architecture.md", "Rooms and lines"))
        told = {room.strip("`"): int(line) for line, room, *_ in rows}
        assert told == {room: line for room, line in LINES.items() if not room.startswith("__")}

    def test_has_the_core_rooms_that_are_called_so(self) -> None:
        (rows,) = tables(section("docs/architecture.md", "Rooms and lines"))
        assert {int(line) for line, *_, kind in rows if kind.startswith("core")} == set(range(6))

    @pytest.mark.parametrize("page", PAGES)
    def test_has_every_file_that_a_page_names(self, page: str) -> None:
        named = re.findall(r"`((?:patchctl|tests|docs|patches|\.ci)/[\w./*-]*)(?:::([\w:]+))?`", PAGES[page])
        wrong = []
        for pattern, inside in named:
            if "VERB" in pattern or "_patches" in pattern:
                continue
            files = list(ROOT.glob(pattern.rstrip("/")))
            names = [name for name in inside.split("::") if name]
            if not files or not all(
                re.search(rf"\b(?:def|class) {name}\b", files[0].read_text("utf-8")) for name in names
            ):
                wrong.append(pattern + inside)
        assert wrong == []


class TestPages:
    @pytest.mark.parametrize("page", PAGES)
    def test_stand_alone(self, page: str) -> None:
        assert "/".join(("..", "shared")) not in PAGES[page]
        assert re.findall(r"/(?:root|home|work)/", PAGES[page]) == []

    def test_of_the_set_up_are_two_commands_and_the_gate_runs_the_second(self) -> None:
        shown = re.findall(r"^ {4}(python3 -m venv .*)$", PAGES["README.md"], re.MULTILINE)
        assert shown == [SET_UP + "tests.demo", SET_UP + "pytest"]
        assert shown[1] in (ROOT / ".ci" / "run").read_text("utf-8").split("\n")

    def test_of_decisions_are_numbered_and_have_the_same_parts(self) -> None:
        pages = sorted((DOCS / "decisions").glob("*.md"))
        assert [page.name[:4] for page in pages] == [f"{number:04}" for number in range(1, len(pages) + 1)]
        for page in pages:
            text = page.read_text("utf-8")
            assert text.startswith(f"# {page.name[:4]}: "), page.name
            assert re.findall(r"^## (.*)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences"], page.name

    def test_of_changes_begin_with_this_version(self) -> None:
        first = re.search(r"^## (\S+)", PAGES["docs/changelog.md"], re.MULTILINE)
        assert first is not None
        assert first[1] == patchctl.__version__


def anchors(file: Path) -> set[str]:
    """The anchors of a page's headings, as the usual renderers make them."""
    headings = re.findall(r"^#+ (.*)$", file.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
