"""The one escaper: what it escapes, that every shape of every value goes through it, and that nobody prints without."""

from __future__ import annotations

import ast
import json
import sys
import unicodedata
from collections.abc import Iterator
from functools import cache

import pytest
import typer

from patchctl.cli.app import app
from patchctl.commands import Report
from patchctl.commands.describe import Described
from patchctl.errors import Problem
from patchctl.model.characters import unseen
from patchctl.render.alone import alone_on_stdout
from patchctl.render.document import as_json
from patchctl.render.escape import json_text, visible, visible_block
from patchctl.render.hits.csv import hits_csv, neutral
from patchctl.render.hits.page import hits_page
from patchctl.render.hits.prometheus import hits_prometheus
from patchctl.render.matrix import matrix_page
from patchctl.render.pages import SHAPES, page_of
from patchctl.render.plain import as_plain
from patchctl.render.problems import environment_text, problem_text
from patchctl.render.terminal import as_terminal, diff_for_terminal
from tests.attack_text import BYTES, COMMANDS, HOSTILE, LONE, MARKUP, WIDE, live, must_be_escaped
from tests.made import Maker
from tests.test_layers import LINES, PACKAGE, modules

TURNS = 9
"""Each form of a field, and each word of an enumeration that a shape tells apart, has its turn in so many."""

_WORDS = {"DistributionCheck.oracle": "record", "Publication.state": "written"}
"""Fields that hold a word of the code."""

COLUMNS = ("Bar", "Download", "MofNComplete", "Text")
"""Of the progress bar."""

_UTF_8 = frozenset({"FileEdit.path", "LockWritten.data", "Publication.text"})
"""Fields whose text cannot hold bytes that are no UTF-8: the checker of paths and the writers of files see to it."""


def text_for(field: str) -> str:
    return _WORDS.get(field) or (HOSTILE if field in _UTF_8 else HOSTILE + BYTES + LONE)


def report(turn: int) -> Report:
    """A report of every part, in which every field of every value that holds text holds all of the hostile ones."""
    verbs = sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    made: Report = Maker(text_for, turn).make(Report)
    return made._replace(command=verbs[turn * 5 % len(verbs)], given=("--site", text_for("given")), alone="")


def described(turn: int) -> Described:
    made: Described = Maker(text_for, turn).make(Described)
    return made


class TestTheEscaper:
    def test_leaves_no_character_that_is_obeyed_or_that_nobody_sees(self) -> None:
        wrong = [
            f"U+{code:04X} {unicodedata.name(chr(code), '')}"
            for code in range(sys.maxunicode + 1)
            if must_be_escaped(chr(code)) and visible(chr(code)) == chr(code)
        ]
        assert wrong == []

    def test_leaves_every_other_character_as_it_is(self) -> None:
        """But those that no version of Unicode has assigned yet, where they are set aside as invisible."""
        wrong = [
            f"U+{code:04X} {unicodedata.name(chr(code), '')}"
            for code in range(sys.maxunicode + 1)
            if unseen().match(chr(code)) and not must_be_escaped(chr(code)) and unicodedata.category(chr(code)) != "Cn"
        ]
        assert wrong == []
        assert visible(WIDE) == WIDE

    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("\x1b[2J", r"\x1b[2J"),
            ("\x9b\x7f\x00", r"\x9b\x7f\x00"),
            ("\u202e", r"\u202e"),
            ("\U000e0041", r"\U000e0041"),
            ("\udc9b", r"\x9b"),
            ("\ud800", r"\ud800"),
            ("a\tb\r\n", r"a\x09b\x0d\x0a"),
        ],
    )
    def test_shows_what_was_there(self, text: str, shown: str) -> None:
        assert visible(text) == shown

    def test_keeps_line_ends_and_tabs_of_a_block_and_nothing_else(self) -> None:
        assert visible_block("a\tb\r\n\x0c\u2028\x1b") == "a\tb\\x0d\n\\x0c\\u2028\\x1b"

    def test_changes_nothing_twice(self) -> None:
        once = visible(HOSTILE + BYTES + LONE)
        assert visible(once) == visible_block(once) == once
        assert MARKUP in once

    def test_writes_json_that_is_safe_on_a_terminal_and_means_the_text(self) -> None:
        text = json_text({HOSTILE + BYTES + LONE: [HOSTILE + BYTES + LONE]})
        assert all(char == "\n" or " " <= char <= "~" for char in text)
        assert json.loads(text) == {HOSTILE + BYTES + LONE: [HOSTILE + BYTES + LONE]}

    @pytest.mark.parametrize("name", COMMANDS)
    def test_the_check_of_a_raw_stream_finds_each_of_them(self, name: str) -> None:
        """A check that finds nothing would let everything pass."""
        assert live(COMMANDS[name].encode("utf-8"), allowed="\t") != []
        assert live(visible(COMMANDS[name]).encode()) == []
        assert live(b"\x9b2J") != []
        assert live(b"\x1b[1;31mred\x1b[0m\r\x1b[2K\x1b[1A\x1b[2K\n") == []


@pytest.mark.attack("terminal-text")
class TestEveryValue:
    """No field of any value of a report is live in any shape, whichever text is in it."""

    @pytest.mark.parametrize("turn", range(TURNS))
    def test_on_a_terminal(self, turn: int) -> None:
        found = report(turn)
        shown = as_terminal(found, colour=True, width=80)
        assert live(shown.encode("utf-8", "surrogateescape"), allowed="\n") == []
        assert "[bold" in shown
        assert ":skull:" in shown.replace("\n", "")
        edits = found.change.edits if found.change is not None else ()
        assert live(diff_for_terminal(edits, colour=True).encode("utf-8", "surrogateescape"), allowed="\n\t") == []

    @pytest.mark.parametrize("turn", range(TURNS))
    def test_in_records(self, turn: int) -> None:
        shown = as_plain(report(turn))
        assert live(shown.encode("utf-8", "surrogateescape")) == []
        assert MARKUP in shown
        assert not any(line.startswith("note\tforged") for line in shown.split("\n"))

    @pytest.mark.parametrize("turn", range(TURNS))
    def test_in_json(self, turn: int) -> None:
        text = as_json(report(turn), 0)
        assert all(char == "\n" or " " <= char <= "~" for char in text)
        assert HOSTILE + BYTES + LONE in list(strings(json.loads(text)))

    @pytest.mark.parametrize("turn", range(TURNS))
    def test_alone_and_in_problems(self, turn: int) -> None:
        found = report(turn)
        problem: Problem = Maker(text_for, turn).make(Problem)
        texts = [problem_text(problem, colour=True, width=width, given=found.given) for width in (80, None)]
        texts += [environment_text(found.target)] if found.target is not None else []
        texts.append(alone_on_stdout(found._replace(alone="oneline")).decode())
        for text in texts:
            assert live(text.encode("utf-8", "surrogateescape"), allowed="\n") == []

    @pytest.mark.parametrize("turn", range(TURNS))
    def test_in_every_page(self, turn: int) -> None:
        found, about = report(turn), described(turn)
        pages = [page_of(about, shape) for shape in SHAPES]
        if found.hits is not None:
            pages += [hits_csv(found.hits), hits_page(found.hits), hits_prometheus(found.hits)]
        if found.lint is not None and found.lint.proof is not None:
            pages.append(matrix_page(found.lint.proof))
        assert len([page for page in pages if page]) >= len(SHAPES)
        for page in pages:
            assert live((page or "").encode("utf-8", "surrogateescape")) == []

    def test_every_part_of_a_report_has_its_turn(self) -> None:
        """What is always left out would be tried by no test above."""
        seen = [report(turn) for turn in range(TURNS)]
        assert [name for name in Report._fields if name != "alone" and not any(getattr(it, name) for it in seen)] == []


@pytest.mark.attack("csv-formula")
class TestSpreadsheets:
    @pytest.mark.parametrize("sign", ["=", "+", "-", "@", "|", "%", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
    @pytest.mark.parametrize("before", ["", " ", "  \u3000", '"', "x;", 'x; "', "x;y;'"])
    def test_no_cell_begins_like_a_formula_wherever_a_spreadsheet_parts_cells(self, sign: str, before: str) -> None:
        shown = neutral(f"{before}{sign}cmd|'/C calc'!A0")
        for part in shown.split(";"):
            assert part.startswith("'") or part.lstrip("\"' \u3000")[:1] != sign

    @pytest.mark.parametrize("cell", ["\t=1", "\r=1", "\n=1", "\x00=1"])
    def test_a_tab_or_a_line_end_is_spelt_out_and_hides_no_formula(self, cell: str) -> None:
        assert neutral(cell).startswith("\\x")

    @pytest.mark.parametrize("cell", ["pad", "a.log", "2026-07-01T12:00", "-", "a-b=c", "12", "x; y"])
    def test_what_is_no_formula_stays_as_it_is(self, cell: str) -> None:
        assert neutral(cell) == cell


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from (key, *strings(item))
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


@cache
def rooms() -> list[tuple[str, str, ast.Module]]:
    """Every module: its room, its file relative to the package, its syntax."""
    return [(room, str(path.relative_to(PACKAGE)), tree) for room, path, tree in modules()]


def calls(room: str) -> Iterator[tuple[str, ast.Call]]:
    """Yield (file relative to the package, call) of every call in a room."""
    for name, path, tree in modules():
        if name == room:
            yield from ((str(path.relative_to(PACKAGE)), node) for node in ast.walk(tree) if isinstance(node, ast.Call))


def imported(room: str) -> Iterator[tuple[str, str]]:
    """Yield (file, what it imports from where), the imports for the type checker left out."""
    for name, file, tree in rooms():
        if name == room:
            checker = {inner for node in ast.walk(tree) if _is_for_checkers(node) for inner in ast.walk(node)}
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and node not in checker:
                    yield from ((file, f"{node.module}.{it.name}") for it in node.names)
                elif isinstance(node, ast.Import) and node not in checker:
                    yield from ((file, it.name) for it in node.names)


def _parses(node: ast.AST) -> bool:
    found = (inner.func for inner in ast.walk(node) if isinstance(inner, ast.Call))
    return any(
        (isinstance(name, ast.Name) and name.id == "compile") or ast.unparse(name) == "ast.parse"
        for name in found
        if isinstance(name, ast.Name | ast.Attribute)
    )


def _is_for_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


@pytest.mark.attack("terminal-text")
class TestWhoPrints:
    """The floor plan of printing; that a library is known to its owner alone is in ``test_layers``."""

    def test_one_module_feeds_rich(self) -> None:
        known = {
            "render/console.py": {"Console", "Padding", "Table", "Text"},
            "render/progress.py": {
                "Console",
                "BarColumn",
                "DownloadColumn",
                "MofNCompleteColumn",
                "Progress",
                "TextColumn",
            },
            "render/explain.py": {"chop_cells", "set_cell_size"},  # they measure
        }
        found: dict[str, set[str]] = {}
        for file, what in imported("render"):
            if what.startswith("rich"):
                found.setdefault(file, set()).add(what.rpartition(".")[2])
        assert found == known

    def test_every_text_that_rich_is_fed_is_escaped_on_the_spot(self) -> None:
        """The first argument of each ``Text`` and ``append`` is an escaper's answer, or a line of one."""
        escaped = {"visible(text)", "visible(label)", "sentence(console, text)", "line"}
        fed = [
            ast.unparse(node.args[0])
            for file, node in calls("render")
            if file == "render/console.py" and ast.unparse(node.func) in {"Text", "head.append"} and node.args
        ]
        assert len(fed) > 4
        assert set(fed) <= escaped

    def test_nobody_switches_markup_on(self) -> None:
        wrong = []
        for file, node in calls("render"):
            given = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
            if any(given.get(name, "False") != "False" for name in ("markup", "emoji", "highlight", "link")):
                wrong.append(file)
            if ast.unparse(node.func).rpartition(".")[2] in {
                "from_markup",
                "from_ansi",
                "print_json",
                "inspect",
                "rule",
            }:
                wrong.append(file)
            if ast.unparse(node.func) == "Console":
                assert (given["markup"], given["emoji"]) == ("False", "False")
        assert wrong == []

    def test_nobody_but_the_console_prints_on_it(self) -> None:
        wrong = [
            file
            for file, node in calls("render")
            if ast.unparse(node.func) in {"console.print", "console.log", "console.out"} and file != "render/console.py"
        ]
        assert wrong == []

    def test_streams_are_written_in_four_places_and_what_they_get_is_a_shape(self) -> None:
        """Rendered text in the runner; two sentences of our own; the version."""
        known = {
            "cli/runner.py": {
                "sys.stderr.write(f'error: the answer cannot be written: {error.strerror}\\n')",
                "sys.stdout.buffer.write(data)",
                "sys.stdout.write(text)",
                "sys.stderr.write(''.join((line + '\\n' for line in spaced)))",
                "sys.stderr.write(f'setting: {name} = {visible(value)} ({source})\\n')",
            },
            "cli/observers.py": {"sys.stderr.write('following; Ctrl-C ends it with the answer\\n')"},
            "cli/app.py": {"typer.echo(f'patchctl {__version__}')"},
        }
        found: dict[str, set[str]] = {}
        for file, node in calls("cli"):
            name = ast.unparse(node.func)
            if name.startswith(("sys.stdout", "sys.stderr")) and name.endswith("write"):
                found.setdefault(file, set()).add(ast.unparse(node))
            if name in {"typer.echo", "typer.secho", "print", "os.write"} or name.endswith("excepthook"):
                found.setdefault(file, set()).add(ast.unparse(node))
        assert found == known

    def test_one_place_writes_json(self) -> None:
        writers = {file for file, node in calls("render") if ast.unparse(node.func) == "json.dumps"}
        # openvex makes the id of its document from the content; it prints nothing of that
        assert writers == {"render/escape.py", "render/pages/openvex.py"}

    def test_whoever_names_a_command_quotes_with_the_one_function(self) -> None:
        """``shlex`` quotes a control character as it is, which on a terminal is then shown as other text."""
        found = {file for room in LINES for file, what in imported(room) if what.split(".")[0] == "shlex"}
        assert {file for file in found if not file.startswith("launch/")} == {"model/shell.py"}

    def test_whoever_parses_somebody_elses_python_silences_its_warnings(self) -> None:
        """A warning quotes characters of the source on standard error, as they are."""
        wrong = []
        for _, file, tree in rooms():
            for node in ast.walk(tree):
                text = ast.unparse(node) if isinstance(node, ast.FunctionDef) and _parses(node) else None
                if text is not None and ("catch_warnings()" not in text or "simplefilter('ignore')" not in text):
                    wrong.append(f"{file}: {ast.unparse(node).partition(':')[0]}")
        assert wrong == []
